"""Searching lists and texts."""

from __future__ import annotations


def linear_search(sequence: list[int], target: int) -> int:
    """Where the target is, or -1.

    >>> linear_search([0, 5, 7, 10, 15], 0)
    0
    >>> linear_search([0, 5, 7, 10, 15], 15)
    4
    >>> linear_search([0, 5, 7, 10, 15], 6)
    -1
    """
    for index, item in enumerate(sequence):
        if item == target:
            return index
    return -1


def binary_search(collection: list[int], item: int) -> int:
    """Where the item is in a sorted list, or -1.

    >>> binary_search([0, 5, 7, 10, 15], 0)
    0
    >>> binary_search([0, 5, 7, 10, 15], 15)
    4
    >>> binary_search([0, 5, 7, 10, 15], 6)
    -1
    >>> binary_search([3, 1], 1)
    Traceback (most recent call last):
        ...
    ValueError: sorted_collection must be sorted in ascending order
    """
    if list(collection) != sorted(collection):
        raise ValueError("sorted_collection must be sorted in ascending order")
    left = 0
    right = len(collection) - 1
    while left <= right:
        midpoint = left + (right - left) // 2
        current = collection[midpoint]
        if current == item:
            return midpoint
        elif item < current:
            right = midpoint - 1
        else:
            left = midpoint + 1
    return -1


def binary_search_recursive(collection: list[int], item: int, left: int = 0, right: int = -1) -> int:
    """The same by recursion.

    >>> binary_search_recursive([0, 5, 7, 10, 15], 5)
    1
    >>> binary_search_recursive([0, 5, 7, 10, 15], 6)
    -1
    """
    if right < 0:
        right = len(collection) - 1
    if right < left:
        return -1
    midpoint = left + (right - left) // 2
    if collection[midpoint] == item:
        return midpoint
    elif collection[midpoint] > item:
        return binary_search_recursive(collection, item, left, midpoint - 1) if midpoint > left else -1
    else:
        return binary_search_recursive(collection, item, midpoint + 1, right)


def bisect_left(collection: list[int], item: int) -> int:
    """Where an item belongs in a sorted list.

    >>> bisect_left([0, 5, 7, 10, 15], 0)
    0
    >>> bisect_left([0, 5, 7, 10, 15], 6)
    2
    >>> bisect_left([0, 5, 7, 10, 15], 20)
    5
    """
    low = 0
    high = len(collection)
    while low < high:
        middle = low + (high - low) // 2
        if collection[middle] < item:
            low = middle + 1
        else:
            high = middle
    return low


def quick_select(items: list[int], index: int) -> int:
    """The item that would be at an index of the sorted list.

    >>> quick_select([2, 4, 5, 7, 899, 54, 32], 5)
    54
    >>> quick_select([2, 4, 5, 7, 899, 54, 32], 1)
    4
    >>> quick_select([5, 4, 3, 2], 2)
    4
    """
    pivot = items[len(items) // 2]
    smaller = [item for item in items if item < pivot]
    equal = [item for item in items if item == pivot]
    larger = [item for item in items if item > pivot]
    count = len(equal)
    m = len(smaller)
    if m <= index < m + count:
        return pivot
    elif m > index:
        return quick_select(smaller, index)
    else:
        return quick_select(larger, index - (m + count))


def ternary_minimum(left: float, right: float) -> float:
    """Where (x - 2) ** 2 is smallest.

    >>> round(ternary_minimum(0.0, 5.0), 6)
    2.0
    """
    while right - left > 1e-9:
        first = left + (right - left) / 3
        second = right - (right - left) / 3
        if (first - 2) ** 2 < (second - 2) ** 2:
            right = second
        else:
            left = first
    return (left + right) / 2


def two_sum(numbers: list[int], target: int) -> list[int]:
    """Which two numbers have a sum.

    >>> two_sum([2, 7, 11, 15], 9)
    [0, 1]
    >>> two_sum([15, 2, 11, 7], 13)
    [1, 2]
    >>> two_sum([3, 4], 100)
    []
    """
    seen: dict[int, int] = {}
    for index, number in enumerate(numbers):
        if target - number in seen:
            return [seen[target - number], index]
        seen[number] = index
    return []


def max_subarray(numbers: list[int]) -> int:
    """The largest sum of neighbours.

    >>> max_subarray([-2, 1, -3, 4, -1, 2, 1, -5, 4])
    6
    >>> max_subarray([-3, -1, -2])
    -1
    """
    best = current = numbers[0]
    for number in numbers[1:]:
        current = max(number, current + number)
        best = max(best, current)
    return best


def peak(numbers: list[int]) -> int:
    """The peak of numbers that rise and fall.

    >>> peak([1, 2, 3, 4, 5, 4, 3, 2, 1])
    5
    >>> peak([1, 10, 9, 8, 7, 6, 5, 4])
    10
    """
    m = len(numbers) // 2
    three = numbers[m - 1 : m + 2]
    if three[1] > three[0] and three[1] > three[2]:
        return three[1]
    elif three[0] < three[2]:
        if len(numbers[:m]) == 2:
            m -= 1
        return peak(numbers[m:])
    else:
        if len(numbers[:m]) == 2:
            m += 1
        return peak(numbers[:m])


def naive_search(text: str, pattern: str) -> list[int]:
    """Where a pattern occurs in a text.

    >>> naive_search("ABAAABCDBBABCDDEBCABC", "ABC")
    [4, 10, 18]
    >>> naive_search("ABC", "ABAAABCDBBABCDDEBCABC")
    []
    """
    length = len(pattern)
    position = []
    for i in range(len(text) - length + 1):
        found = True
        for j in range(length):
            if text[i + j] != pattern[j]:
                found = False
                break
        if found:
            position.append(i)
    return position


def unique(numbers: list[int]) -> list[int]:
    """Each number once, in the order of its first coming.

    >>> unique([3, 1, 3, 2, 1])
    [3, 1, 2]
    """
    seen = set()
    result = []
    for number in numbers:
        if number not in seen:
            seen.add(number)
            result.append(number)
    return result


def longest_run(numbers: list[int]) -> int:
    """How many successive integers a list holds, in any order.

    >>> longest_run([100, 4, 200, 1, 3, 2])
    4
    >>> longest_run([])
    0
    """
    numbers_set = set(numbers)
    best = 0
    for number in numbers:
        if number - 1 not in numbers_set:
            length = 1
            while number + length in numbers_set:
                length += 1
            best = max(best, length)
    return best
