"""Texts that the running program makes: Python's methods, over texts that only the run knows, and programs of them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.errors import UserNotImplementedError


def texts(one: Any, other: Any, third: Any, i: int, j: int, k: int) -> Any:
    s, p, q = "", "", ""
    for x in one:
        s += chr(x)
    for x in other:
        p += chr(x)
    for x in third:
        q += chr(x)
    return [
        (s + p, s * k, len(s), s[i:j], s[i:], s[:j], s[::-1], s[::2], s[i:j:2], s[j:i:-1]),
        (p in s, s == p, s != p, s < p, s <= p, s > p, s >= p, s == s[:], p == ""),
        (s.find(p), s.rfind(p), s.find(p, i), s.find(p, i, j), s.count(p), s.count(p, i, j)),
        (s.startswith(p), s.endswith(p), s.startswith(p, i), s.endswith(p, i, j), s.startswith(("a", p))),
        (s.replace(p, q), s.replace(p, q, k), s.replace("a", "bb"), s.replace("", "-")),
        (s.split(), s.split(None, k), s.splitlines(), s.splitlines(True), s.split("a"), s.split(" ", k)),
        (s.strip(), s.lstrip(), s.rstrip(), s.strip(p), s.lstrip("ab"), s.rstrip("ab")),
        (s.removeprefix(p), s.removesuffix(p), s.ljust(i + 5), s.rjust(j), s.center(i), s.center(j, "*"), s.zfill(i)),
        f"{s:>7}|{s:<6}|{s:*^9}|{k:03d}|{k:>4}|{k:x}|{i:+d}|{i:^7}|{i:08b}|{i:#x}|{i:#06x}",
        ("-".join([s, p, q]), p.join(list(s)), "".join(sorted(s)), "".join(reversed(s)), s.isspace()),
        (str(i), bin(i), oct(j), hex(k), f"{i}{j!r}", "%d-%s-%05d" % (i, s, k), "{} {:>4}".format(i, p)),  # noqa: UP031, UP032
        ([s, p, q][k % 3], sorted([s, p, q]), max(s, p), min(s + "z")),
    ]


def letters(codes: Any) -> Any:
    s = ""
    for x in codes:
        s += chr(x)
    asked = s.isupper(), s.islower(), s.isalpha(), s.isdigit(), s.isalnum(), s.isdecimal(), s.isascii()
    return s.upper(), s.lower(), s.title(), s.capitalize(), s.swapcase(), asked


def integer(codes: Any) -> int:
    s = "".join(chr(x) for x in codes)
    return int(s)


def as_codes(text: str) -> Any:
    return np.array([ord(letter) for letter in text], np.int64)


def outcome(function: Any, *arguments: Any) -> str:
    try:
        return repr(function(*arguments))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def test_methods_are_pythons() -> None:
    generator = np.random.default_rng(3)
    compiled = [jitflow.function(function) for function in (texts, letters, integer)]
    for alphabet in ("ab", "ab \n", "\x1c\x85\u3000 a\r\n", "\ud800\U0001f600aé"):
        for _ in range(3):
            given = ["".join(generator.choice([*alphabet], generator.integers(0, most))) for most in (12, 3, 3)]
            numbers = [int(number) for number in generator.integers(-6, 14, 2)], int(generator.integers(0, 4))
            arguments = (*map(as_codes, given), *numbers[0], numbers[1])
            assert outcome(compiled[0], *arguments) == outcome(texts, *arguments)
    for alphabet in ("aAbB1 -_", "-+1_ ", "0123"):
        for _ in range(6):
            codes = as_codes("".join(generator.choice([*alphabet], generator.integers(0, 6))))
            assert outcome(compiled[1], codes) == outcome(letters, codes)
            assert outcome(compiled[2], codes) == outcome(integer, codes)


MORSE = {"0": "-----", "1": ".----", "2": "..---", "9": "----."}


def in_base(n: int, base: int) -> str:
    digits, found = "0123456789ABCDEF", ""
    while n:
        found = digits[n % base] + found
        n //= base
    return found or "0"


def words(n: int) -> Any:
    text = f"{n} apples and {n * 2} pears"
    counts: dict[str, int] = {}
    for word in text.split():
        counts[word] = counts.get(word, 0) + 1
    return " ".join(text.split()[::-1]), counts, Counter(str(n)), "-".join(str(i * i) for i in range(n))


def look_and_say(n: int) -> str:
    text = "1"
    for _ in range(n):
        following, i = "", 0
        while i < len(text):
            j = i
            while j < len(text) and text[j] == text[i]:
                j += 1
            following += str(j - i) + text[i]
            i = j
        text = following
    return text


def brackets(n: int) -> list[str]:
    found: list[str] = []

    def put(text: str, opened: int, closed: int) -> None:
        if len(text) == 2 * n:
            found.append(text)
            return
        if opened < n:
            put(text + "(", opened + 1, closed)
        if closed < opened:
            put(text + ")", opened, closed + 1)

    put("", 0, 0)
    return found


def chosen(n: int) -> Any:
    if n < 0:
        return None
    text = ""
    for i in range(n):
        text += "x" + str(i)
    if n > 4:
        raise ValueError(text + "?")
    if n == 3:
        known = {"3": 1}
        known[text] = 2
        return known[str(n + 1)]
    return text, " ".join(MORSE[digit] for digit in str(n)), "short" if len(text) < 3 else text


def padded(n: int) -> list[str]:
    text = ""
    for i in range(n):
        text += chr(97 + i)
    fields = [
        f"{text:05}|{text:>08}|{text:<07}|{text:0^8}",
        f"{text:.2}|{text:<6.3}|{text:*^9.4}|{text:08.3s}",
        f"{text!s:.1}|{n!s:05}|{n!r:.1}|{n!s:>5.2}|{n:>05}|{n:<05d}",
        f"{bin(n)[2:]:>08}|{text + bin(n):.5}|{'%.2s' % text}",  # noqa: UP031
    ]
    return [field[::-1] for field in fields]


def read_again(x: float, n: int) -> Any:
    text = ""
    for i in range(n):
        text += str(i)
    try:
        whole = float(text)
    except ValueError:
        whole = -1.0
    return float(f"{x:.2f}"), float("%.1e" % x) + 1, float(" " + text + ".5\n"), whole, float(text)  # noqa: UP031


DIGITS = {"zero": 0, "one": 1, "two": 2}


def number_of(words: Any) -> Any:
    text = ""
    for word in words:
        text += str(DIGITS[word])
    return int(text), float(text), int(text, 3)


@pytest.mark.parametrize(
    ("function", "calls"),
    [
        (padded, [(0,), (5,), (11,)]),
        (read_again, [(2.567, 3), (-0.05, 0), (float("inf"), 2)]),
        (number_of, [(["one", "zero", "two"],), (["two"],)]),
        (in_base, [(255, 16), (0, 2), (10, 2)]),
        (words, [(3,), (0,)]),
        (look_and_say, [(5,)]),
        (brackets, [(3,)]),
        (chosen, [(-1,), (0,), (1,), (2,), (3,), (5,)]),
    ],
)
def test_programs_of_texts(function: Any, calls: list[Any]) -> None:
    compiled = jitflow.function(function)
    for call in calls:
        assert outcome(compiled, *call) == outcome(function, *call)


def test_what_only_python_knows_is_refused() -> None:
    def order(n: int) -> str:
        found = ""
        for letter in set(str(n)):
            found += letter
        return found

    with pytest.raises(UserNotImplementedError, match="the order of a set of texts"):
        jitflow.function(order)(12)

    def beyond(n: int) -> str:
        return (chr(n) + "a").upper()

    assert jitflow.function(beyond)(98) == "BA"
    with pytest.raises(NotImplementedError, match="beyond ASCII"):
        jitflow.function(beyond)(223)
