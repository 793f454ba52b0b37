"""Characters whose numbers the run computes, and texts that a program gives, as plain Python has them."""

from __future__ import annotations

import numpy as np
import pytest

import jitflow
from tests.truth.whole.same import assert_does_what_python_does

PROGRAMS = {}


def program(*calls):
    """Enter a program and the arguments of its calls."""

    def enter(function):
        PROGRAMS[function.__name__] = function, calls
        return function

    return enter


@program(("hello", 3), ("xyz", -5), ("", 1))
def a_cipher(text, key):
    moved = "".join([chr((ord(letter) - 97 + key) % 26 + 97) for letter in text])
    back = ""
    for letter in moved:
        back += chr((ord(letter) - 97 - key) % 26 + 97)
    return moved, back == text, back != text, len(moved), moved[1:], moved * 2, list(moved[:2])


@program(("hello", 3), ("vvv", 5))
def what_a_character_is(text, key):
    vowels, early = 0, 0
    for letter in text:
        moved = chr((ord(letter) - 97 + key) % 26 + 97)
        if moved in "aeiou":
            vowels += 1
        if "a" <= moved <= "f" or moved == "z":
            early += 1
    return vowels, early


def same_from_both_ends(text, first, last):
    if first >= last:
        return True
    return text[first] == text[last] and same_from_both_ends(text, first + 1, last - 1)


@program(("abcba", 5), ("abcda", 5), ("a", 1), ("abc", 7), ("abc", -1))
def characters_at_places_of_the_run(text, n):
    total = 0
    for i in range(n):
        total += ord("0123456789abcdef"[(n + i) % 16]) * i
    return total, same_from_both_ends(text, 0, n - 1), text[n - 1]


def common_length(one, other):
    table = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for i in range(1, len(one) + 1):
        for j in range(1, len(other) + 1):
            if one[i - 1] == other[j - 1]:
                table[i][j] = table[i - 1][j - 1] + 1
            else:
                table[i][j] = max(table[i - 1][j], table[i][j - 1])
    return table[-1][-1]


def test_a_nest_over_long_texts_is_native():
    """Each turn would know its characters if it were written out, but there are hundreds."""
    compiled = jitflow.function(common_length)
    texts = "abcbdab" * 3, "bdcaba" * 4
    assert "cannot be one native loop" not in str(compiled.explain(*texts))
    assert compiled(*texts) == common_length(*texts)


@program((65,), (8364,), (-1,), (0x110000,), (np.int64(66),), (True,), (2.0,))
def a_number_as_a_character(n):
    return chr(n)


@program((1.25, 7), (-0.5, -3))
def texts_that_are_given(x, n):
    return f"{x:.1f} and {n:>4}", {"n": str(n)}, "yes" if n > 0 else f"no {n}", f"{np.arange(2) * n}"


@pytest.mark.parametrize("name", PROGRAMS)
def test_text_is_that_of_python(name):
    function, calls = PROGRAMS[name]
    assert_does_what_python_does(function, calls)
