"""Random straight-line NumPy programs, as source text, with the arguments of several calls.

A `Generator` asks its ``choose(n)`` for one of n possibilities, over and over, so the same programs come from
Hypothesis (which can shrink them) and from a seeded generator (which is faster). It runs every statement with NumPy as
it writes it, and so knows which shapes and dtypes there are; a statement that NumPy rejects is dropped, or ends the
program.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.truth.data import LAYOUTS, array, number, view
from tests.truth.quiet import quiet
from tests.truth.statements import ROWS, Row

__all__ = ["Generator", "Program", "Statement", "programs"]

DTYPES = ("f4", "f8", "i8", "i4", "f4", "f8", "?", "f2", "c8", "c16", "u1", "i2", "u4", "i1", "u8", "u2")
PYTHON = ("int", "float", "bool", "complex")
SIZES = (2, 3, 5, 1, 0, 4, 7, 8, 17, 33, 64, 65, 130, 1025)
NUMPY_DTYPES = "float32 float64 int64 int32 float16 complex64 complex128 bool int8 uint8 uint32 uint64"
DTYPE_TEXTS = (*(f"np.{name}" for name in NUMPY_DTYPES.split()), "float", "int")
SHAPES = ("n", "nm", "n", "nm", "mn", "m", "1m", "n1", "", "nmk", "nn", "k", "n1k", "1")
LARGEST = 20_000
GLOBALS: dict[str, Any] = {"np": np, "array": array, "number": number, "view": view}

Choose = Callable[[int], int]


@dataclass(frozen=True)
class Statement:
    name: str
    text: str
    closeness: str


@dataclass
class Program:
    """What to run. ``calls`` are the arguments, as expressions; names in ``outside`` are globals of the program."""

    parameters: tuple[str, ...]
    outside: tuple[str, ...]
    statements: list[Statement]
    calls: list[dict[str, str]]
    kept: tuple[str, ...] = field(default=())
    mistake: str = ""
    """The message of the exception that the last statement raises at the first call, if it does."""

    @property
    def names(self) -> tuple[str, ...]:
        """All results."""
        return tuple(statement.name for statement in self.statements)

    def source(self, results: tuple[str, ...] | None = None) -> str:
        """The function, which returns all values, or the given ones."""
        results = self.names if results is None else results
        lines = [f"    {statement.name} = {statement.text}" for statement in self.statements]
        parameters = ", ".join(name for name in self.parameters if name not in self.outside)
        return "\n".join([f"def program({parameters}):", *lines, f"    return {', '.join(results)},"])

    def script(self) -> str:
        """A script that shows what NumPy and jitflow make of it."""
        lines = ["import numpy as np, jitflow", "from tests.truth.data import array, number, view", "", self.source()]
        lines.append("\ncompiled = jitflow.function(program)")
        given = ", ".join(name for name in self.parameters if name not in self.outside)
        for call in self.calls:
            lines += [f"{name} = {text}" for name, text in call.items()]
            lines += [f"print(program({given}))", f"print(compiled({given}))"]
        return "\n".join(lines)


class Generator:
    """Writes one program, with the arguments of two calls. ``captured``: the first argument is a number outside."""

    def __init__(self, choose: Choose, statements: int = 6, calls: int = 2, *, captured: bool = False) -> None:
        self.choose = choose
        self.length = statements
        self.call_count = calls
        self.captured = captured

    def pick(self, items: Any) -> Any:
        return items[self.choose(len(items))]

    def chance(self, one_in: int) -> bool:
        return self.choose(one_in) == one_in - 1

    # -- arguments -------------------------------------------------------------------------------

    def program(self) -> Program:
        """A program whose last statement may be one that NumPy rejects."""
        count = 2 + self.choose(3)
        names = tuple(f"a{place}" for place in range(count))
        outside = tuple(name for name in names if self.chance(8))
        if self.captured:
            outside = (names[0], *(name for name in outside if name != names[0]))
        self.any_outside = bool(outside)
        self.kinds = [self._kind(place, name in outside) for place, name in enumerate(names)]
        if self.captured:
            self.kinds[0] = ("number", self.pick(("float", "int", *DTYPES)))
        calls = [self._call(self.kinds)]
        for _ in range(self.call_count - 1):
            calls.append(self._call([self._other_layout(kind) for kind in self.kinds]))
        self.program_ = Program(names, outside, [], calls)
        self.values = evaluate(calls[0])
        self._statements()
        results = self.program_.names
        self.program_.kept = tuple(name for name in results if self.chance(3)) or results[-1:]
        return self.program_

    def _kind(self, place: int, outside: bool) -> tuple[str, ...]:
        if place and self.chance(10):
            return ("view", f"a{place - 1}", self.pick(("same", "reversed", "tail", "transposed", "step")))
        if self.chance(6):
            return ("number", self.pick((*PYTHON, *DTYPES)))
        layout = "C" if self.choose(2) == 0 else self.pick(LAYOUTS)
        if layout == "unaligned" and (outside or self.any_outside):
            layout = "gaps"  # captured arrays must be aligned, says an error
        return ("array", self.pick(DTYPES), self.pick(SHAPES), layout)

    def _other_layout(self, kind: tuple[str, ...]) -> tuple[str, ...]:
        changes = kind[0] == "array" and self.chance(6)
        return (*kind[:3], self.pick([one for one in LAYOUTS if one != "unaligned"])) if changes else kind

    def _call(self, kinds: list[tuple[str, ...]]) -> dict[str, str]:
        sizes = {"n": self.pick(SIZES), "m": self.pick(SIZES), "k": self.pick(SIZES[:8]), "1": 1}
        if sizes["n"] * sizes["m"] * sizes["k"] > LARGEST:
            sizes["m"] = 3
        call = {}
        for place, kind in enumerate(kinds):
            if kind[0] == "view":
                text = f"view({kind[1]}, {kind[2]!r})"
            elif kind[0] == "number":
                text = f"number({kind[1]!r}, {self.choose(8)})"
            else:
                shape = tuple(sizes[letter] for letter in kind[2])
                text = f"array({kind[1]!r}, {shape}, {kind[3]!r}, {self.choose(16)})"
            call[f"a{place}"] = text
        return call

    # -- statements ------------------------------------------------------------------------------

    def _statements(self) -> None:
        program = self.program_
        wanted = 1 + self.choose(self.length)
        for _ in range(4 * self.length):
            if len(program.statements) >= wanted:
                return
            row = self.pick(self.pick(ROWS))
            text = self._text(row)
            if text is None:
                continue
            name = f"v{len(program.statements)}"
            with quiet():
                try:
                    result = eval(text, GLOBALS, self.values)
                except MemoryError:
                    continue  # an outer product of outer products
                except (TypeError, ValueError, IndexError, OverflowError, ZeroDivisionError, AttributeError) as error:
                    if stable(error, text) and self.choose(12) == 11 and program.statements:
                        program.statements.append(Statement(name, text, "error"))
                        program.mistake = str(error)
                        return
                    continue
            if usable(result):
                program.statements.append(Statement(name, text, row.closeness))
                self.values[name] = result
        if not program.statements:
            program.statements.append(Statement("v0", "a0", "exact"))

    def _text(self, row: Row) -> str | None:
        chosen: dict[str, str] = {}

        def fill(match: re.Match[str]) -> str:
            key = match.group(1)
            if key not in chosen:
                chosen[key] = self._field(key, chosen)
            return chosen[key]

        try:
            return re.sub(r"\{(\w+)\}", fill, row.pattern)
        except NothingFits:
            return None

    def _field(self, key: str, chosen: Mapping[str, str]) -> str:
        first = self.values.get(next(iter(chosen.values()), ""), None)
        rank = np.ndim(first)
        match key:
            case "a" | "f" | "z" | "i" | "t" | "m" | "M":
                partner = first if key == "t" else None
                return self._operand(key, partner)
            case "b" | "c":
                if self.chance(4):
                    return self.pick(("2", "1.5", "0", "True", "-1", "np.float32(0.5)", "1j", "100", "3", "np.int8(3)"))
                return self._operand("a", first)
            case "axis":
                return str(self.pick((0, -1, 1, -2, 2)[: max(1, 2 * rank - 1)])) if not self.chance(20) else "2"
            case "axes":
                options = ["None", "0", "-1", "1", "(0, 1)", "()", "(-1,)", "(0, 2)"]
                return str(self.pick(options[: 2 + 2 * rank]))
            case "keep":
                return str(self.choose(2) == 1)
            case "k":
                return str(self.pick((0, 1, -1, 2, -2, 3)))
            case "n":
                return str(self.pick((2, 1, 0, 3, 4)))
            case "dtype":
                return str(self.pick(DTYPE_TEXTS))
            case "shape":
                return self._shape(first)
            case "index":
                return self._index(first)
        raise AssertionError(key)

    def _operand(self, key: str, partner: Any) -> str:
        test = _WANTED[key]
        names = [name for name, value in self.values.items() if test(value)]
        if partner is not None and not self.chance(12):
            names = [name for name in names if broadcasts(self.values[name], partner)]
        if not names:
            raise NothingFits
        names = names[::-1]  # later ones first: they are the simpler choice
        return str(self.pick(names))

    def _shape(self, first: Any) -> str:
        size = int(np.size(first))
        pairs = [(d, size // d) for d in range(1, min(size, 40) + 1) if size % d == 0] if size else [(0, 3), (2, 0)]
        options: list[Any] = [(-1,), (-1, 1), *pairs[:6], (1, size), (2, -1), (-1, 3)]
        return str(self.pick(options))

    def _index(self, first: Any) -> str:
        rank = np.ndim(first)
        items: list[str] = []
        for axis in range(rank):
            size = np.shape(first)[axis]
            if self.chance(5):
                break
            items.append(self._index_item(size))
        if self.chance(6):
            items.insert(self.choose(len(items) + 1), "None")
        if self.chance(8):
            items.insert(self.choose(len(items) + 1), "...")
        if not items:
            return "..."
        return items[0] if len(items) == 1 else ", ".join(items)

    def _index_item(self, size: int) -> str:
        way = self.choose(10)
        if way < 2:
            return str(self.choose(size) - (size if self.chance(3) else 0)) if size else "0"
        if way == 2:
            return f"[{', '.join(str(self.choose(max(size, 1)) - (size if self.chance(4) else 0)) for _ in range(3))}]"
        if way == 3:
            return "[[0, -1], [1, 0]]"
        start, stop = (self.pick(("", "1", "-2", "2", "0", "-1", "5", "100")) for _ in range(2))
        step = self.pick(("", ":2", ":-1", ":", ":-2", ":3"))
        return f"{start}:{stop}{step}"


class NothingFits(Exception):
    """No value has what a pattern asks for."""


def _kind_of(value: Any) -> str:
    return np.asarray(value).dtype.kind


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray | np.generic)


_WANTED: dict[str, Callable[[Any], bool]] = {
    "a": lambda value: True,
    "f": lambda value: _kind_of(value) == "f" and _is_array(value),
    "z": lambda value: _kind_of(value) == "c" and _is_array(value),
    "i": lambda value: _kind_of(value) in "iu" and _is_array(value),
    "t": lambda value: _kind_of(value) == "b" and _is_array(value),
    "m": lambda value: np.ndim(value) >= 1,
    "M": lambda value: np.ndim(value) >= 2,
}


def broadcasts(value: Any, partner: Any) -> bool:
    try:
        np.broadcast_shapes(np.shape(value), np.shape(partner))
    except ValueError:
        return False
    return True


def usable(result: Any) -> bool:
    """Whether the result may be a value of the program: numbers that jitflow has, and not too many."""
    if isinstance(result, np.ndarray | np.generic):
        return result.dtype.kind in "biufc" and result.dtype.itemsize <= 16 and result.size <= LARGEST \
            and result.dtype not in (np.longdouble, np.clongdouble) and result.ndim <= 5  # fmt: skip
    if type(result) is int:
        return abs(result) < 2**40
    return type(result) in (bool, float, complex)


def stable(error: Exception, text: str) -> bool:
    """Whether jitflow promises the same error: not for attributes of Python numbers and the like."""
    return not isinstance(error, AttributeError)


def evaluate(call: Mapping[str, str]) -> dict[str, Any]:
    """The arguments of a call."""
    values: dict[str, Any] = {}
    with quiet():
        for name, text in call.items():
            values[name] = eval(text, GLOBALS, values)
    return values


@st.composite
def programs(draw: Any, statements: int = 6, calls: int = 2) -> Program:
    """Random programs."""

    def choose(count: int) -> int:
        return int(draw(st.integers(0, count - 1))) if count > 1 else 0

    return Generator(choose, statements, calls).program()
