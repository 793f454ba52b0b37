"""Texts: ciphers, counts, codes."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict


def caesar(text: str, key: int) -> str:
    """Each letter moved on.

    >>> caesar("The quick brown fox", 8)
    'Bpm ycqks jzwev nwf'
    >>> caesar(caesar("abc", 3), -3)
    'abc'
    """
    result = ""
    for character in text:
        if character.isupper():
            result += chr((ord(character) - 65 + key) % 26 + 65)
        elif character.islower():
            result += chr((ord(character) - 97 + key) % 26 + 97)
        else:
            result += character
    return result


def is_palindrome(text: str) -> bool:
    """Whether a text reads backwards as well.

    >>> is_palindrome("level")
    True
    >>> is_palindrome("abc")
    False
    """
    end = len(text) // 2
    n = len(text)
    return all(text[i] == text[n - i - 1] for i in range(end))


def word_count(text: str) -> dict[str, int]:
    """How often each word comes.

    >>> word_count("SHaLLow ocean ocean")
    {'SHaLLow': 1, 'ocean': 2}
    """
    counts: dict[str, int] = defaultdict(int)
    for word in text.split():
        counts[word] += 1
    return dict(counts)


def letter_counts(codes: list[int]) -> dict[int, int]:
    """How often each code comes, most often first.

    >>> letter_counts([3, 1, 3, 2, 3, 1])
    {3: 3, 1: 2, 2: 1}
    """
    counts = Counter(codes)
    return dict(sorted(counts.items(), key=lambda pair: pair[1], reverse=True))


def anagrams(first: str, second: str) -> bool:
    """Whether two texts have the same letters.

    >>> anagrams("Silent", "Listen")
    True
    >>> anagrams("There", "Their")
    False
    """
    first, second = first.lower().strip(), second.lower().strip()
    if len(first) != len(second):
        return False
    count: dict[str, int] = defaultdict(int)
    for i in range(len(first)):
        count[first[i]] += 1
        count[second[i]] -= 1
    return all(value == 0 for value in count.values())


def roman_to_int(roman: str) -> int:
    """A number of the Romans.

    >>> roman_to_int("III")
    3
    >>> roman_to_int("MMMCMXCIX")
    3999
    """
    values = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
    total = 0
    place = 0
    while place < len(roman):
        if place + 1 < len(roman) and values[roman[place]] < values[roman[place + 1]]:
            total += values[roman[place + 1]] - values[roman[place]]
            place += 2
        else:
            total += values[roman[place]]
            place += 1
    return total


def int_to_roman(number: int) -> str:
    """A number as the Romans wrote it.

    >>> int_to_roman(3)
    'III'
    >>> int_to_roman(154)
    'CLIV'
    """
    table = [
        (1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"),
        (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
    ]  # fmt: skip
    result = []
    for arabic, roman in table:
        factor, number = divmod(number, arabic)
        result.append(roman * factor)
        if number == 0:
            break
    return "".join(result)


def binary_to_decimal(text: str) -> int:
    """The number that digits of base 2 write.

    >>> binary_to_decimal("101")
    5
    >>> binary_to_decimal("-11101")
    -29
    >>> binary_to_decimal("a")
    Traceback (most recent call last):
        ...
    ValueError: Non-binary value was passed to the function
    """
    text = str(text).strip()
    if not text:
        raise ValueError("Empty string was passed to the function")
    is_negative = text[0] == "-"
    if is_negative:
        text = text[1:]
    if not all(character in "01" for character in text):
        raise ValueError("Non-binary value was passed to the function")
    decimal = 0
    for character in text:
        decimal = 2 * decimal + int(character)
    return -decimal if is_negative else decimal


def run_length(text: str) -> list[tuple[str, int]]:
    """Runs of equal letters.

    >>> run_length("AAAABBBCCDAA")
    [('A', 4), ('B', 3), ('C', 2), ('D', 1), ('A', 2)]
    """
    encoded = []
    count = 1
    for i in range(len(text)):
        if i + 1 < len(text) and text[i] == text[i + 1]:
            count += 1
        else:
            encoded.append((text[i], count))
            count = 1
    return encoded


def hamming_distance(first: str, second: str) -> int:
    """In how many places two texts differ.

    >>> hamming_distance("karolin", "kathrin")
    3
    >>> hamming_distance("python", "Python3")
    Traceback (most recent call last):
        ...
    ValueError: String lengths must match!
    """
    if len(first) != len(second):
        raise ValueError("String lengths must match!")
    count = 0
    for one, other in zip(first, second):
        if one != other:
            count += 1
    return count


def balanced(text: str) -> bool:
    """Whether brackets close as they open.

    >>> balanced("[()]{}{[()()]()}")
    True
    >>> balanced("[(])")
    False
    """
    pairs = {"(": ")", "[": "]", "{": "}"}
    stack: list[str] = []
    for bracket in text:
        if bracket in pairs:
            stack.append(bracket)
        elif bracket in (")", "]", "}") and (not stack or pairs[stack.pop()] != bracket):
            return False
    return not stack


def prefix_function(text: str) -> list[int]:
    """Knuth, Morris and Pratt's function.

    >>> prefix_function("aabcdaabc")
    [0, 1, 0, 0, 0, 1, 2, 3, 4]
    """
    result = [0] * len(text)
    for i in range(1, len(text)):
        j = result[i - 1]
        while j > 0 and text[i] != text[j]:
            j = result[j - 1]
        if text[i] == text[j]:
            j += 1
        result[i] = j
    return result


def huffman_lengths(frequencies: list[int]) -> list[int]:
    """How many bits the code of each symbol has.

    >>> huffman_lengths([45, 13, 12, 16, 9, 5])
    [1, 3, 3, 3, 4, 4]
    """
    n = len(frequencies)
    parent = [0] * (2 * n - 1)
    heap = [(frequency, symbol) for symbol, frequency in enumerate(frequencies)]
    heapq.heapify(heap)
    following = n
    while len(heap) > 1:
        first, one = heapq.heappop(heap)
        second, other = heapq.heappop(heap)
        parent[one] = parent[other] = following
        heapq.heappush(heap, (first + second, following))
        following += 1
    lengths = []
    for symbol in range(n):
        node, length = symbol, 0
        while node != 2 * n - 2:
            node = parent[node]
            length += 1
        lengths.append(length)
    return lengths


def crc(data: list[int]) -> int:
    """A check sum of eight bits.

    >>> crc([0x31, 0x32, 0x33])
    192
    """
    value = 0
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = ((value << 1) ^ 0x07) & 0xFF if value & 0x80 else (value << 1) & 0xFF
    return value
