"""`print` and text with traced values: the very characters of plain Python, in the program's order."""

# ruff: noqa: F507, UP030, UP031, UP032
from __future__ import annotations

import sys
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.errors import UserNotImplementedError
from jitflow.ir.parser import parse
from jitflow.ir.printer import print_function
from tests.frontend.interpreted import interpreted

LAYERS = 7
WORDS = "{:>8.3f} and {a[0]}"
WEIGHTS = {"w7": 2.0, "w3": 5.0}
NUMBER = "%d"
Pair = namedtuple("Pair", "first second")


@dataclass
class Record:
    first: Any
    second: Any = 3


class Shown:
    def __init__(self, number: float) -> None:
        self.number = number

    def __repr__(self) -> str:
        return f"Shown({self.number})"


SHOWN = Shown(3.0)


def values(x: Any, n: Any) -> None:
    print(x, n, x[0], x.max(), x > 1, n > 3, x * 1j, len(x), x.shape, LAYERS, None, "text", [1, "a"])
    print(
        x.astype(np.float32) / 3,
        x[0].astype(np.float32) / 3,
        (x > 1).astype(np.int8),
        x[1].astype(np.float16) / 3,
        x[:0],
    )
    print(x[:, None] * x, x[0] * 1j, x[2] * x[2] * -1j, np.float32(0.1) * n, x.reshape(-1)[0:1], np.array(x[1]))


def structures(x: Any, n: Any) -> None:
    print([x[0], n, "s", [True]], (n,), (), [], {}, {"k": x, 1: (x[1], n)}, Pair(n, x[1]), Record(x[1]))
    print([np.float32(2) * n, n > 2, x[0] > 1, len(x), x.shape], f"{[x[0]]} {Pair(n, 2)!r}")


def layouts(x: Any, n: Any) -> None:
    print(x[0], f"{x[0]:.3f} {n:>5d} {n!r} {x[0]!r} {n!s:>4} {x!r} {n=} {x[0]=:.1f}", sep="|", end="!\n")
    print(f"{x.max():{5 + 3}.{2}f} {n!s:>6}| {3.5:.{n}f} {'ab':>{n}} {x[0]:{n}.2f} {{}}", flush=True)
    print("%5.2f%% and %d %s %r %-6sx %s" % (x[1], n, x, n, n, [x[0]]), "%s" % x[0], "%(a)d" % {"a": n})
    print(
        "{:.1f} {a[0]} {b.shape}".format(x[2], a=[n, 2], b=x), WORDS.format(x[0], a=(n,)), "{1!r} {0}".format(n, x[0])
    )
    print(str(x.max()) + " end", "a" + f"{n}" + "b", ", ".join([str(v) for v in (x[0], n)]), "".join(map(str, (n, 1))))
    print(repr(x[0]), format(x[0], ".2e"), format(n, "04d"), format(n), str(n), repr([n]), f"{f'{n}':>4}", sep="")
    print(n, x[0], sep=None, end=None)
    print()


def loops(x: Any, n: Any) -> Any:
    total = 0.0
    for i in range(n):
        print(i, x[i % 3], f"{i:03d}")
        total += inner(x, i)
        if total > 2:
            print("large", total)
        else:
            print("small")
    while total > 1:
        print(f"halving {total}", file=sys.stderr)
        total /= 2
    return total


def inner(x: Any, i: Any) -> Any:
    print("inside", i)
    return x[i % 3]


def moments(x: Any, n: Any) -> None:
    text = f"before {x}"
    print(x)
    x[0] = 100.0
    print(x, text)
    x += n
    print(text, x[0], f"after {x}")


def choices(x: Any, n: Any) -> None:
    text = f"value {x[0]}" if x[0] > n else f"value {x[1]}"
    for i in range(n):
        text = f"value {x[0] + i}"
    print(text)


def static(x: Any, n: Any) -> None:
    print("known", 3, 2.5, [1, (2,)], np.float64(0.5), np.float32, x.dtype, type(n), type(n).__name__, Pair(1, 2), None)


@pytest.mark.parametrize("run", [jitflow.function, interpreted], ids=["compiled", "interpreted"])
@pytest.mark.parametrize("program", [values, structures, layouts, loops, moments, choices, static])
def test_it_prints_what_python_prints(program: Any, run: Any, capsys: pytest.CaptureFixture[str]):
    compiled = run(program)
    for x, n in ((np.array([1.0, 2.5, 1e-7]), 4), (np.array([np.nan, -0.0, 1e20]), 3)):
        program(x.copy(), n)
        expected = capsys.readouterr()
        compiled(x.copy(), n)
        assert capsys.readouterr() == expected


def test_nothing_is_compiled_anew(capsys: pytest.CaptureFixture[str]):
    compiled = jitflow.function(layouts)
    for n in range(3, 6):
        compiled(np.arange(n + 0.0), n)
    assert compiled.cache_info().misses == 1
    assert capsys.readouterr().out


def test_options_of_printing_are_those_of_the_call(capsys: pytest.CaptureFixture[str]):
    compiled = jitflow.function(lambda x: print(x))
    compiled(np.ones(3) / 3)
    with np.printoptions(precision=2):
        compiled(np.ones(3) / 3)
    assert capsys.readouterr().out == "[0.33333333 0.33333333 0.33333333]\n[0.33 0.33 0.33]\n"


def test_the_template_is_in_the_ir():
    text = jitflow.function(loops).ir(np.ones(3), 4)
    assert 'routine="jitflow.runtime.objects.texts.print_text"' in text
    assert print_function(parse(text)) == text


def test_what_python_needs_itself_is_fixed_for_sizes_and_globals():
    @jitflow.function
    def program(x):
        return WEIGHTS[f"w{LAYERS}"] * x, WEIGHTS[f"w{len(x)}"], getattr(x, f"{'T' if len(x) > 2 else 'size'}")

    first, second, third = program(np.ones(3))
    np.testing.assert_array_equal((first, third), (np.full(3, 2.0), np.ones(3)))
    assert second == 5.0


def test_a_loop_whose_turns_need_their_text_is_unrolled():
    @jitflow.function
    def program(x):
        for i in range(20):
            x = x + {f"w{k}": k for k in range(20)}[f"w{i}"]
        return x

    np.testing.assert_array_equal(program(np.ones(2)), np.full(2, 191.0))


MISUSES: list[tuple[Callable[..., Any], type[Exception], str]] = [
    (lambda x: x * (f"{x}" == "[1.]"), UserNotImplementedError, "needs the text itself"),
    (lambda x: x * len(str(x)), UserNotImplementedError, "needs the text itself"),
    (lambda x: print(str(x).upper()), UserNotImplementedError, "needs the text itself"),
    (lambda x: print(x, file=SHOWN), UserNotImplementedError, "print to a file"),
    (lambda x: print(x, sep=3), TypeError, "sep must be None or a string, not int"),
    (lambda x: ascii(SHOWN), UserNotImplementedError, "the text of an object of type Shown"),
    (lambda x: ascii([x]), UserNotImplementedError, "the text of an object of type list"),
    (lambda x: print({x.shape[0]: x}.values()), UserNotImplementedError, "the text of an object of type dict_values"),
    (lambda x: print(inner), UserNotImplementedError, "the text of an object of type function"),
    (lambda x: print(f"{[x[0]]:>3}"), TypeError, "unsupported format string passed to list.__format__"),
    (lambda x: print("%d %d" % x[0]), TypeError, "not enough arguments for format string"),
    (lambda x: print("%d" % (x[0], x[1])), TypeError, "not all arguments converted"),
    (lambda x: print("%*d" % (3, x[0])), UserNotImplementedError, "write an f-string"),
    (lambda x: print(", ".join([f"{x[0]}", 3])), TypeError, "sequence item 1: expected str instance, int found"),
    (lambda x: print(NUMBER % x[0]), UserNotImplementedError, "known only when the compiled code runs"),
    (lambda x: np.zeros(3, f"{x[0]}"), UserNotImplementedError, "needs the text itself"),
]


@pytest.mark.parametrize(("program", "kind", "message"), MISUSES)
def test_other_uses_are_errors(program: Any, kind: type[Exception], message: str):
    with pytest.raises(kind, match=message) as caught:
        jitflow.function(program)(np.ones(3))
    assert str(caught.traceback[-1].path) == __file__


class Said:
    def __init__(self, thing: Any) -> None:
        self.thing = thing

    def __str__(self) -> str:
        return "nothing" if self.thing is None else f"<{self.thing}>"

    def __repr__(self) -> str:
        return "Said(" + repr(self.thing) + ")"

    def __format__(self, specification: str) -> str:
        return format(self.thing, specification) + "!"


class Sign:
    def __init__(self, number: Any) -> None:
        self.number = number

    def __repr__(self) -> str:
        return "below" if self.number < 0 else str(self.number)


def by_all_ways(x, said):
    one, other = Said(x), Sign(x)
    texts = str(one), repr(one), f"{one} {one!s:>8} {one!r} {one:.2f}", "%s %8s %r" % (one, other, one)
    return (
        texts,
        "{} {!r} {:4}".format(one, other, one),
        f"{other!s}{other}",
        format(one, "6.1f"),
        str(SHOWN),
        str(said),
    )


def in_containers(x, said):
    return str([Said(x), Sign(-x)]), f"{ {'a': Sign(x)} }", str((Said(Said(x)),)), f"{[said, SHOWN]}"


def of_an_object_that_is_stored_to(x, said):
    said.thing = x + 1
    return str(said), f"{Sign(x) if x > 2 else said}"


@pytest.mark.parametrize("program", [by_all_ways, in_containers, of_an_object_that_is_stored_to])
@pytest.mark.parametrize("x", [2, -1.5, 7])
def test_objects_say_what_their_methods_make(program: Any, x: Any):
    assert jitflow.function(program)(x, Said(4)) == program(x, Said(4))


def test_what_they_say_is_text():
    class Wrong:
        def __init__(self, number: Any) -> None:
            self.number = number

        def __str__(self) -> str:
            return self.number

    with pytest.raises(TypeError, match=r"^__str__ returned non-string \(type int\)$"):
        jitflow.function(lambda n: str(Wrong(n)))(3)


def test_texts_that_the_run_chooses_are_joined():
    def program(words, n):
        return "-".join(word[::-1] if len(word) > n else 5 if n > 8 else word for word in words)

    compiled = jitflow.function(program)
    for n in (1, 3, 7):
        assert compiled(("ab", "cdef"), n) == program(("ab", "cdef"), n)
    with pytest.raises(TypeError, match="sequence item 0: expected str instance, int found"):
        compiled(("ab", "cdef"), 9)


def test_a_wrong_format_is_an_error_of_the_call():
    @jitflow.function
    def program(x):
        print(f"{x:.2f}")

    with pytest.raises(TypeError, match="unsupported format string") as caught:
        program(np.ones(3))
    assert caught.traceback[-1].frame.code.path.name == "test_texts.py"
