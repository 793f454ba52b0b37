"""Sorting lists."""

from __future__ import annotations


def bubble_sort(collection: list[int]) -> list[int]:
    """By exchanging neighbours.

    >>> bubble_sort([0, 5, 2, 3, 2])
    [0, 2, 2, 3, 5]
    >>> bubble_sort([])
    []
    >>> bubble_sort([-2, -45, -5])
    [-45, -5, -2]
    >>> bubble_sort([1.5, 0.25]) == sorted([1.5, 0.25])
    True
    """
    length = len(collection)
    for i in reversed(range(length)):
        swapped = False
        for j in range(i):
            if collection[j] > collection[j + 1]:
                swapped = True
                collection[j], collection[j + 1] = collection[j + 1], collection[j]
        if not swapped:
            break
    return collection


def insertion_sort(collection: list[int]) -> list[int]:
    """By inserting each where it belongs.

    >>> insertion_sort([0, 5, 3, 2, 2])
    [0, 2, 2, 3, 5]
    >>> insertion_sort([]) == sorted([])
    True
    >>> insertion_sort([-2, -5, -45])
    [-45, -5, -2]
    """
    for insert_index in range(1, len(collection)):
        insert_value = collection[insert_index]
        while insert_index > 0 and insert_value < collection[insert_index - 1]:
            collection[insert_index] = collection[insert_index - 1]
            insert_index -= 1
        collection[insert_index] = insert_value
    return collection


def selection_sort(collection: list[int]) -> list[int]:
    """By looking for the smallest of what is left.

    >>> selection_sort([0, 5, 3, 2, 2])
    [0, 2, 2, 3, 5]
    >>> selection_sort([-2, -5, -45])
    [-45, -5, -2]
    """
    length = len(collection)
    for i in range(length - 1):
        min_index = i
        for k in range(i + 1, length):
            if collection[k] < collection[min_index]:
                min_index = k
        if min_index != i:
            collection[i], collection[min_index] = collection[min_index], collection[i]
    return collection


def merge_sort(collection: list[int]) -> list[int]:
    """By merging halves that are sorted.

    >>> merge_sort([0, 5, 3, 2, 2])
    [0, 2, 2, 3, 5]
    >>> merge_sort([])
    []
    >>> merge_sort([-2, -5, -45])
    [-45, -5, -2]
    """

    def merge(left: list[int], right: list[int]) -> list[int]:
        result = []
        while left and right:
            result.append(left.pop(0) if left[0] <= right[0] else right.pop(0))
        result.extend(left)
        result.extend(right)
        return result

    if len(collection) <= 1:
        return collection
    mid_index = len(collection) // 2
    return merge(merge_sort(collection[:mid_index]), merge_sort(collection[mid_index:]))


def quick_sort(collection: list[int]) -> list[int]:
    """By splitting at a pivot.

    >>> quick_sort([0, 5, 3, 2, 2])
    [0, 2, 2, 3, 5]
    >>> quick_sort([])
    []
    >>> quick_sort([-2, 5, 0, -45])
    [-45, -2, 0, 5]
    """
    if len(collection) < 2:
        return collection
    pivot = collection[0]
    lesser = [item for item in collection[1:] if item <= pivot]
    greater = [item for item in collection[1:] if item > pivot]
    return [*quick_sort(lesser), pivot, *quick_sort(greater)]


def quick_sort_in_place(array: list[int], left: int, right: int) -> None:
    """By splitting where the numbers are.

    >>> numbers = [3, 1, 2, 9, -4]
    >>> quick_sort_in_place(numbers, 0, 4)
    >>> numbers
    [-4, 1, 2, 3, 9]
    """
    if left < right:
        pivot = array[right]
        i = left - 1
        for j in range(left, right):
            if array[j] <= pivot:
                i += 1
                array[i], array[j] = array[j], array[i]
        array[i + 1], array[right] = array[right], array[i + 1]
        quick_sort_in_place(array, left, i)
        quick_sort_in_place(array, i + 2, right)


def heap_sort(unsorted: list[int]) -> list[int]:
    """By a heap.

    >>> heap_sort([0, 5, 3, 2, 2])
    [0, 2, 2, 3, 5]
    >>> heap_sort([])
    []
    >>> heap_sort([3, 7, 9, 28, 123, -5, 8, -30, -200, 0, 4])
    [-200, -30, -5, 0, 3, 4, 7, 8, 9, 28, 123]
    """

    def heapify(heap: list[int], index: int, heap_size: int) -> None:
        largest = index
        left_index = 2 * index + 1
        right_index = 2 * index + 2
        if left_index < heap_size and heap[left_index] > heap[largest]:
            largest = left_index
        if right_index < heap_size and heap[right_index] > heap[largest]:
            largest = right_index
        if largest != index:
            heap[largest], heap[index] = heap[index], heap[largest]
            heapify(heap, largest, heap_size)

    n = len(unsorted)
    for i in range(n // 2 - 1, -1, -1):
        heapify(unsorted, i, n)
    for i in range(n - 1, 0, -1):
        unsorted[0], unsorted[i] = unsorted[i], unsorted[0]
        heapify(unsorted, 0, i)
    return unsorted


def counting_sort(collection: list[int]) -> list[int]:
    """By counting.

    >>> counting_sort([0, 5, 3, 2, 2])
    [0, 2, 2, 3, 5]
    >>> counting_sort([])
    []
    >>> counting_sort([-2, -5, -45])
    [-45, -5, -2]
    """
    if collection == []:
        return []
    coll_len = len(collection)
    coll_max = max(collection)
    coll_min = min(collection)
    counting_arr_length = coll_max + 1 - coll_min
    counting_arr = [0] * counting_arr_length
    for number in collection:
        counting_arr[number - coll_min] += 1
    for i in range(1, counting_arr_length):
        counting_arr[i] = counting_arr[i] + counting_arr[i - 1]
    ordered = [0] * coll_len
    for i in reversed(range(coll_len)):
        ordered[counting_arr[collection[i] - coll_min] - 1] = collection[i]
        counting_arr[collection[i] - coll_min] -= 1
    return ordered


def shell_sort(collection: list[int]) -> list[int]:
    """By insertion over gaps.

    >>> shell_sort([0, 5, 3, 2, 2])
    [0, 2, 2, 3, 5]
    >>> shell_sort([-2, -5, -45])
    [-45, -5, -2]
    """
    gaps = [701, 301, 132, 57, 23, 10, 4, 1]
    for gap in gaps:
        for i in range(gap, len(collection)):
            insert_value = collection[i]
            j = i
            while j >= gap and collection[j - gap] > insert_value:
                collection[j] = collection[j - gap]
                j -= gap
            if j != i:
                collection[j] = insert_value
    return collection


def bucket_sort(numbers: list[float], bucket_count: int = 10) -> list[float]:
    """By buckets.

    >>> bucket_sort([-1, 2, -5, 0])
    [-5, -1, 0, 2]
    >>> bucket_sort([9, 8, 7, 6, -12])
    [-12, 6, 7, 8, 9]
    >>> bucket_sort([.4, 1.2, .1, .2, -.9])
    [-0.9, 0.1, 0.2, 0.4, 1.2]
    """
    if len(numbers) == 0 or bucket_count <= 0:
        return []
    min_value, max_value = min(numbers), max(numbers)
    bucket_size = (max_value - min_value) / bucket_count
    buckets: list[list[float]] = [[] for _ in range(bucket_count)]
    for value in numbers:
        index = min(int((value - min_value) / bucket_size), bucket_count - 1)
        buckets[index].append(value)
    return [value for bucket in buckets for value in sorted(bucket)]


def radix_sort(numbers: list[int]) -> list[int]:
    """By digits.

    >>> radix_sort([0, 5, 3, 2, 2])
    [0, 2, 2, 3, 5]
    >>> radix_sort([1, 100, 10, 1000])
    [1, 10, 100, 1000]
    """
    placement = 1
    max_digit = max(numbers)
    while placement <= max_digit:
        buckets: list[list[int]] = [[] for _ in range(10)]
        for i in numbers:
            buckets[int((i / placement) % 10)].append(i)
        a = 0
        for b in range(10):
            for i in buckets[b]:
                numbers[a] = i
                a += 1
        placement *= 10
    return numbers


def is_sorted(numbers: list[int]) -> bool:
    """Whether no number is smaller than the one before.

    >>> is_sorted([1, 2, 2, 5])
    True
    >>> is_sorted([1, 3, 2])
    False
    """
    return all(a <= b for a, b in zip(numbers, numbers[1:]))
