"""Writes random programs about who shows whose memory: views, names, stores through them, branches, loops, helpers.

The writer evaluates what it writes with arrays of the same shapes and dtypes, so nearly all programs run: an expression
that NumPy refuses is none of the program. A name keeps its shape and dtype.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.truth.quiet import quiet

__all__ = ["Call", "Program", "arguments_of", "program_of"]

PRELUDE = """
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import as_strided, sliding_window_view


@dataclass
class Pair:
    first: object
    second: object


def same(a):
    return a


def bumped(a):
    a += 1
    return a


def part(a):
    return a[1:]


def both(a):
    return a, a[::-1]


def either(a, b, flag):
    return a if flag else b


def swapped(a, b):
    return b, a


def turned(a, k):
    for i in range(k):
        a = a[::-1]
        a[0] += i
    return a


def fresh(a):
    b = a.copy()
    b[...] = 3
    return b
"""

VIEWS = (
    """
A[:]|A[...]|A.view()|np.asarray(A)|A.T|A.T.T|A.reshape(-1)|A.ravel()|np.ravel(A)|A.squeeze()|np.squeeze(A)
np.atleast_1d(A)|np.atleast_2d(A)|A[None]|np.expand_dims(A, -1)|A.real|A.imag|np.real(A)|np.flip(A)
np.ascontiguousarray(A)|np.asfortranarray(A)|A.astype(A.dtype, copy=False)|np.asanyarray(A)|A.transpose()
np.broadcast_to(A, (2, *A.shape))|np.nan_to_num(A, copy=False)|np.array(A, copy=None)|A[1:]|A[:-1]|A[::2]|A[::-1]
A[-2:]|A[1:2]|A[k:]|A[:k]|A[k - 1 : k + 1]|np.array_split(A, 2)[0]|np.array_split(A, 2)[1]|A[0]|A[-1]|A[k]|A[..., 0]
A[..., 1:]|A[:, ::-1]|A[:, 1]|A[:, k]|A.swapaxes(0, 1)|np.moveaxis(A, 0, -1)|A.diagonal()|np.diagonal(A)|np.diag(A)
np.rot90(A)|np.fliplr(A)|np.vsplit(A, 2)[0]|A.reshape(2, -1)|A.reshape(-1, 2)|A.reshape(3, -1)
A.reshape(A.shape[::-1])|A.reshape(-1, order="F")|A.T.reshape(-1)|same(A)|part(A)|both(A)[1]|both(A)[0]|bumped(A)
turned(A, k)|[*A][0]|[*A][-1]|np.permute_dims(A)|A.flatten()|np.conjugate(A)|np.split(A, 2)[1]
A[np.newaxis, ..., np.newaxis]|A[::-1][::-1]|A.swapaxes(0, -1)|np.broadcast_arrays(A, A)[0]
np.meshgrid(A, A, copy=False)[0]|np.ix_(np.arange(2), np.arange(3))[0]|np.require(A)
""".replace("\n", "|")
    .strip("|")
    .split("|")
)

ODD_VIEWS = (
    """
A.view(np.int64)|A.view(np.float64)|A.view(np.uint8)|A.view(np.float32)|A.view("c8")|sliding_window_view(A, 2)
sliding_window_view(A, 2, axis=0)|as_strided(A, A.shape, A.strides)|np.frombuffer(A, A.dtype)
np.frombuffer(A, np.int32)|sliding_window_view(A, 3)[::2]|A.view(np.int32)[1:]|A.view(np.uint64).reshape(-1)
as_strided(A, (2, 2), A.strides * 2)
""".replace("\n", "|")
    .strip("|")
    .split("|")
)

NEW = (
    """
np.zeros(6)|np.ones((2, 3))|np.zeros_like(A)|A + 1|A.copy()|A * 2|np.full(4, 2.5)|np.arange(6.0)
np.concatenate([A, A])|np.where(A > 1, A, 2)|np.clip(A, 0, 2)|np.sort(A)|np.copy(A)|np.array(A)|A[[0, 1]]
np.stack([A, A])|fresh(A)|np.ones_like(A)|np.empty(0)|np.eye(3)|np.zeros((3, 2), order="F")|A.astype(np.float32)
A + 1j|np.arange(6).reshape(2, 3)|np.full_like(A, 2)|A.copy(order="K")|np.array(A, order="F")|-A
np.zeros(6).reshape(2, 3)|np.zeros((2, 3))[:]|np.ones(6)[::2]|np.tile(A, 2)|np.eye(3, dtype=int)
np.linspace(0, 1, 5)|np.array([1.0, 2.0, 3.0])|np.array([[1, 2], [3, 4]])|A.astype(float)|np.zeros(())
""".replace("\n", "|")
    .strip("|")
    .split("|")
)

OF_TWO = "A + B|np.maximum(A, B)|either(A, B, flag)|A if flag else B|swapped(A, B)[0]|np.where(A > B, A, B)".split("|")

STORES = (
    """
A[...] = 2|A += 1|A[1:] = A[:-1]|A[0] = 5|A[::-1] *= 2|A.fill(3)|np.add(A, 1, out=A)|A[A > 2] = 1|A.sort()
A.flat[1] = 4|A[k] = 7|A.T[...] = 6|A[[0, -1]] += 1|np.put(A, 0, 8)|np.fill_diagonal(A, 9)|A[...] = A[::-1]
A[:, 0] = 1|A[0] += A[-1]|A.ravel()[0] = 3|A.reshape(-1)[1:] += 1|np.multiply(A[::2], 2, out=A[::2])|A -= A[::-1]
A[:2], A[-2:] = A[-2:], A[:2]|np.clip(A, 0, 2, out=A)|A.real[...] = 1|A.imag[0] = 2|A.partition(1)|A[::2][0] = 11
bumped(A)|turned(A, k)|A[..., -1] = 12|A[k:] = 13|A = A + 1|A = A[::-1]|A = A.copy()
A = np.add(A, 1, out=A)|A = np.sort(A)|np.subtract(A, A, out=A)|A.view(np.uint8)[0] = 1
A[1:][0] = 2|A[A.argmax() if A.ndim == 1 else 0] = 0|np.copyto(A, 4)|A[:] += A
""".replace("\n", "|")
    .strip("|")
    .split("|")
)

STORES_OF_TWO = (
    """
A[...] = B|A += B|np.copyto(A, B)|np.minimum(A, B, out=A)|A, B = B, A|A[...], B[...] = B, A|A = B|A[...] = B[::-1]
A[0] = B[0]|np.add(A, B, out=B)|A[B > 2] = 0|A = either(A, B, flag)|A, B = swapped(A, B)|A[1:] = B[:-1]
np.add(B, 1, out=A)|A = B[:]|A = np.add(A, 1, out=B)|A = B if flag else A|A = B[::-1]|B = A + 1
""".replace("\n", "|")
    .strip("|")
    .split("|")
)

CONDITIONS = ["flag", "k > 1", "not flag", "A.sum() > 3", "A.flat[0] > 1", "flag and k > 1"]
LOOPS = [
    "for iI in range(k + 1):",
    "for iI in range(3):",
    "for iI in range(k):",
    "while A.flat[0] < 3:",
    "for iI in range(9 * k):",
]
DTYPES = ("f8", "f8", "f8", "f8", "i8", "f4", "c16", "i4", "u1")
SHAPES = ((6,), (6,), (4,), (2, 3), (3, 3), (4, 2), (2, 3, 2), (1, 4), (1,), ())


@dataclass(frozen=True)
class Program:
    """A source that defines ``program``, and the shapes and dtypes of the two arrays that it takes."""

    source: str
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[str, ...]


@dataclass(frozen=True)
class Call:
    """How the arguments lie (`arguments_of`), and the numbers."""

    layouts: tuple[str, str]
    k: int
    flag: bool


@dataclass
class _Writer:
    random: random.Random
    lines: list[str]
    arrays: dict[str, Any]
    """Arrays like those of the names."""
    holders: dict[str, Any]
    depth: int = 1
    names: int = 0

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Within, names that are new are not known behind."""
        self.line(head)
        arrays, holders, self.depth = dict(self.arrays), dict(self.holders), self.depth + 1
        yield
        self.arrays, self.holders, self.depth = arrays, holders, self.depth - 1

    def name(self) -> str:
        return self.random.choice(list(self.arrays))

    def filled(self, text: str, one: str, other: str = "") -> str:
        return "".join({"A": one, "B": other}.get(part, part) for part in _tokens(text))

    def worth(self, text: str) -> Any:
        """What an expression of the names gives; None if NumPy refuses it."""
        try:
            with quiet():
                return eval(text, dict(_SCOPE), {**self.arrays, **self.holders, "k": 1, "flag": True})
        except Exception:
            return None

    def expression(self) -> tuple[str, Any]:
        for _ in range(50):
            kinds = (VIEWS, VIEWS, VIEWS, NEW, OF_TWO, ODD_VIEWS if self.odd else VIEWS)
            text = self.filled(self.random.choice(self.random.choice(kinds)), self.name(), self.name())
            found = self.worth(text)
            if isinstance(found, np.ndarray) and found.size < 40 and found.ndim < 5:
                return text, found
        return next(iter(self.arrays.items()))

    odd = False

    def statement(self) -> None:
        getattr(self, self.random.choice(_KINDS if self.depth < 4 else _KINDS[:-4]))()

    def binding(self) -> None:
        text, found = self.expression()
        same = [one for one, array in self.arrays.items() if _alike(array, found)]
        if same and self.random.random() < 0.4:
            self.line(f"{self.random.choice(same)} = {text}")
            return
        self.names += 1
        self.line(f"v{self.names} = {text}")
        self.arrays[f"v{self.names}"] = found.copy()

    def store(self) -> None:
        for _ in range(50):
            one, other = self.name(), self.name()
            text = self.filled(self.random.choice(self.random.choice((STORES, STORES_OF_TWO))), one, other)
            arrays = {name: array.copy() for name, array in self.arrays.items()}
            try:
                with quiet():
                    exec(text, dict(_SCOPE, k=1, flag=True), arrays)
            except Exception:
                continue
            if all(
                isinstance(arrays[name], np.ndarray) and _alike(arrays[name], self.arrays[name])
                for name in (one, other)
            ):
                self.line(text)
                return

    def holder(self) -> None:
        """A list or dict of arrays, or something done with one."""
        if self.holders and self.random.random() < 0.6:
            name = self.random.choice(list(self.holders))
            held, one = self.holders[name], self.name()
            key = self.random.randrange(len(held)) if isinstance(held, list) else "p"
            kind = self.random.randrange(4)
            if kind == 0:
                self.names += 1
                self.line(f"v{self.names} = {name}[{key!r}]")
                self.arrays[f"v{self.names}"] = held[key].copy()
            elif kind == 1 and held[key].size:
                self.line(f"{name}[{key!r}][...] = {self.names + 2}")
            elif kind == 2 and isinstance(held, list):
                with self.block(f"for one in {name}:"):
                    self.line(self.random.choice(("one += 1", "one[...] = 2", "one *= one")))
            elif _alike(held[key], self.arrays[one]):
                self.line(f"{name}[{key!r}] = {one}")
            return
        self.names += 1
        one, other = self.name(), self.name()
        text = self.random.choice(
            (f"[{one}, {other}]", f"{{'p': {one}, 'q': {other}}}", f"[{one}, {one}]", f"[*{one}]")
        )
        found = self.worth(text)
        if found and all(
            isinstance(part, np.ndarray) for part in (found if isinstance(found, list) else found.values())
        ):
            self.line(f"h{self.names} = {text}")
            self.holders[f"h{self.names}"] = found

    def branch(self) -> None:
        with self.block(f"if {self.filled(self.random.choice(CONDITIONS), self.name())}:"):
            self.some(2)
        if self.random.random() < 0.5:
            with self.block("else:"):
                self.some(2)

    def loop(self) -> None:
        self.names += 1
        head = self.filled(self.random.choice(LOOPS), self.name()).replace("iI", f"i{self.names}")
        counter = f"c{self.names}"
        if head.startswith("while"):
            self.line(f"{counter} = 0")
        with self.block(head):
            if head.startswith("while"):
                self.line(f"{counter} += 1")
                self.line(f"if {counter} > k + 1:")
                self.line("    break")
            self.some(3)

    def early(self) -> None:
        """An early return, perhaps of the same form as the last."""
        with self.block(f"if {self.filled(self.random.choice(CONDITIONS), self.name())}:"):
            self.some(1)
            self.line(f"return {self.result()}")

    def some(self, most: int) -> None:
        for _ in range(1 + self.random.randrange(most)):
            self.statement()
        if self.lines[-1].endswith(":"):
            self.line("pass")

    def result(self) -> str:
        """What a program returns."""
        items = []
        for _ in range(1 + self.random.randrange(3)):
            kind = self.random.random()
            items.append(
                self.expression()[0]
                if kind < 0.2
                else self.name()
                if kind < 0.9 or not self.holders
                else self.random.choice(list(self.holders))
            )
        form = self.random.randrange(8)
        if form == 0:
            return f"Pair({items[0]}, {items[-1]})"
        if form == 1:
            return "{" + ", ".join(f"{number}: {item}" for number, item in enumerate(items)) + "}"
        return f"[{', '.join(items)}]" if form == 2 else ", ".join(items)


_KINDS = ("binding", "binding", "binding", "store", "store", "store", "holder", "branch", "branch", "loop", "early")


def _tokens(text: str) -> Sequence[str]:
    parts, word = [], ""
    for letter in text:
        if letter.isidentifier() or (word and letter.isdigit()):
            word += letter
        else:
            parts += [word, letter]
            word = ""
    return [*parts, word]


def _alike(one: Any, other: Any) -> bool:
    return bool(one.shape == other.shape and one.dtype == other.dtype)


_SCOPE: dict[str, Any] = {}
exec(PRELUDE, _SCOPE)


def program_of(seed: int, length: int = 5, *, odd: bool = False) -> tuple[Program, list[Call]]:
    """The program of a seed, and calls of it."""
    source = random.Random(seed)
    shape = source.choice(SHAPES)
    shapes = (shape, shape if source.random() < 0.6 else source.choice(SHAPES))
    dtype = source.choice(DTYPES)
    dtypes = (dtype, dtype if source.random() < 0.7 else source.choice(DTYPES))
    arrays = {name: np.ones(shape, dtype) for name, shape, dtype in zip("xy", shapes, dtypes, strict=True)}
    writer = _Writer(source, [PRELUDE, "", "def program(x, y, k, flag):"], arrays, {})
    writer.odd = odd
    for _ in range(1 + source.randrange(length)):
        writer.statement()
    writer.line(f"return {writer.result()}")
    calls = [
        Call(_layouts(source, shapes, dtypes), source.randrange(1, 3), source.random() < 0.5) for _ in range(4)
    ]  # fmt: skip
    return Program("\n".join(writer.lines) + "\n", shapes, dtypes), [Call(("own", "own"), 1, True), *calls]


# -- arguments -------------------------------------------------------------------------------------

LAYOUTS = ("own", "own", "fortran", "reversed", "strided", "inner", "frozen", "repeated")
TOGETHER = ("same", "shifted", "turned")


def _layouts(source: random.Random, shapes: Sequence[Any], dtypes: Sequence[str]) -> tuple[str, str]:
    first = source.choice(LAYOUTS)
    together = shapes[0] == shapes[1] and dtypes[0] == dtypes[1] and first != "repeated"
    return first, source.choice(TOGETHER if together and source.random() < 0.4 else LAYOUTS)


def arguments_of(program: Program, call: Call) -> tuple[Any, ...]:
    """Arguments of a call, which nobody has seen before."""
    (shape, other), (dtype, another) = program.shapes, program.dtypes
    first = _laid(shape, dtype, call.layouts[0])
    layout = call.layouts[1]
    if layout == "same":
        second = first
    elif layout == "turned":
        second = first[::-1] if first.ndim else first[...]
    elif layout == "shifted":
        memory = np.arange(2.0 * first.size + 3).astype(dtype)
        first, second = (memory[start : start + first.size].reshape(shape) for start in (0, 1))
    else:
        second = _laid(other, another, layout)
    return first, second, call.k, call.flag


def _laid(shape: tuple[int, ...], dtype: str, layout: str) -> Any:
    values = np.array((np.arange(float(np.prod(shape))).reshape(shape) % 5).astype(dtype))
    if dtype == "c16":
        values += 1j
    match layout:
        case "fortran":
            return np.array(values, order="F")
        case "reversed" if shape:
            return np.array(values[::-1])[::-1]
        case "strided" if shape:
            memory = np.zeros((*shape[:-1], 2 * shape[-1]), dtype)
            memory[..., ::2] = values
            return memory[..., ::2]
        case "inner" if shape:
            memory = np.zeros((shape[0] + 2, *shape[1:]), dtype)
            memory[1:-1] = values
            return memory[1:-1]
        case "frozen":
            values.flags.writeable = False
        case "repeated" if shape:
            return np.broadcast_to(values[:1], shape)
    return values
