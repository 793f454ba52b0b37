"""Expressions of a wanted kind over the names that a random program has.

All arithmetic here gives the same bits in whatever order it is done: sums are of small whole numbers (`total`), and
there are no elementary functions. So results are compared exactly, and a decision on a float goes the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.truth.whole.kinds import Array, Kind, Number, cuts, python_kind

__all__ = ["PRELUDE", "Expressions", "NothingFits"]

PRELUDE = """\
def total(x):
    return np.rint(np.clip(x, -99, 99)).sum()

"""

Choose = Callable[[int], int]


class NothingFits(Exception):
    """No name has what is asked for."""


class Expressions:
    """Writes expressions. ``names`` says what each name is that is bound here; ``positions`` are loop variables."""

    def __init__(self, choose: Choose) -> None:
        self.choose = choose
        self.names: dict[str, Kind] = {}
        self.positions: dict[str, str] = {}
        """From the variables of loops to the length that they stay below."""

    def pick(self, items: Any) -> Any:
        """One of several."""
        return items[self.choose(len(items))]

    def chance(self, one_in: int) -> bool:
        """True once in so many times."""
        return self.choose(one_in) == one_in - 1

    def having(self, test: Callable[[Kind], bool]) -> list[str]:
        """The names of a kind, later ones first."""
        return [name for name, kind in self.names.items() if test(kind)][::-1]

    def arrays(self, rank: int | None = None, dtype: str | None = None) -> list[str]:
        """The names of arrays."""
        return self.having(
            lambda kind: isinstance(kind, Array) and rank in (None, kind.rank) and dtype in (None, kind.dtype)
        )

    def array_kind(self, name: str) -> Array:
        """What an array's name stands for."""
        kind = self.names[name]
        assert isinstance(kind, Array)
        return kind

    # -- arrays ----------------------------------------------------------------------------------

    def array(self, kind: Array, depth: int = 0) -> str:
        """An array of a dtype and lengths."""
        if depth > 2 or self.choose(3 + depth) > 1:
            return self.leaf(kind)
        inner = [self._binary, self._binary, self._binary, self._unary, self._unary, self._selected, self._moved]
        return str(self.pick(inner)(kind, depth))

    def leaf(self, kind: Array) -> str:
        """A name, or a slice of one, or a new array."""
        found: list[str] = []
        for name in self.arrays(dtype=kind.dtype):
            found += self._slices_of(name, kind)
        if found and not self.chance(12):
            return str(self.pick(found[:24]))
        return self._made(kind)

    def _slices_of(self, name: str, kind: Array) -> list[str]:
        own = self.array_kind(name)
        if own.rank == kind.rank:
            axes = [cuts(source, wanted) for source, wanted in zip(own.lengths, kind.lengths, strict=True)]
            found = [
                f"{name}[{', '.join(items)}]".replace("[:]", "").replace("[:, :]", "") for items in _products(axes)
            ]
            if kind.rank == 2 and own.lengths == kind.lengths[::-1]:
                found.append(f"{name}.T")
            return list(dict.fromkeys(found))
        if own.rank == 2 and kind.rank == 1:
            rows = [
                f"{name}[{self.index(own.lengths[0])}, {cut}]" for cut in cuts(own.lengths[1], kind.lengths[0])[-1:]
            ]
            columns = [
                f"{name}[{cut}, {self.index(own.lengths[1])}]" for cut in cuts(own.lengths[0], kind.lengths[0])[:1]
            ]
            return rows + columns
        return []

    def _made(self, kind: Array) -> str:
        like = self._of_lengths(kind)
        dtype = f"np.{NUMPY_NAMES[kind.dtype]}"
        fill = self.number(Number(python_kind(kind.dtype)), 2) if kind.dtype != "?" else self.condition(2)
        size = f"{like}.shape" if kind.rank > 1 or self.choose(2) else f"len({like})"
        if kind.rank == 1 and kind.dtype != "?" and self.choose(3) == 0:
            return f"np.arange(len({like}), dtype={dtype})"
        return str(self.pick((f"np.zeros({size}, {dtype})", f"np.full({size}, {fill}, {dtype})",
                              f"np.ones_like({like}, dtype={dtype})")))  # fmt: skip

    def _of_lengths(self, kind: Array) -> str:
        found = [text for name in self.arrays() for text in self._slices_of(name, kind)]
        if not found:
            raise NothingFits
        return str(self.pick(found))

    def _operand(self, kind: Array, depth: int) -> str:
        """What meets an array of a kind: another one, one that broadcasts, or a number."""
        way = self.choose(6)
        if way > 3:
            return self.number(Number(self.pick((python_kind(kind.dtype), kind.dtype))), depth + 1)
        if way == 3 and kind.rank == 2:
            if self.choose(2):
                return self.array(Array(kind.dtype, kind.lengths[1:]), depth + 1)
            return f"{self.leaf(Array(kind.dtype, kind.lengths[:1]))}[:, None]"
        return self.array(kind, depth + 1)

    def _binary(self, kind: Array, depth: int) -> str:
        left = self.array(kind, depth + 1)
        if kind.dtype == "?":
            return f"({left} {self.pick('&|^')} {self.array(kind, depth + 1)})"
        if self.chance(6):
            divisor = f"(abs({self.array(kind, depth + 1)}) + 1)"
            return f"({left} {'/' if kind.dtype[0] == 'f' else self.pick(('//', '%'))} {divisor})"
        operator = self.pick("+-*") if kind.dtype[0] == "f" else self.pick("+-*&|^")
        right = self._operand(kind, depth)
        return f"({right} {operator} {left})" if self.choose(4) == 3 else f"({left} {operator} {right})"

    def _unary(self, kind: Array, depth: int) -> str:
        inner = self.array(kind, depth + 1)
        if kind.dtype == "?":
            return f"(~{inner})" if self.choose(2) else self.mask(kind.lengths, depth)
        patterns = ["-{}", "abs({})", "{}.copy()", "np.clip({}, -4, 5)", "np.sign({})", "({} * 2)"]
        if kind.dtype[0] == "f":
            patterns += ["np.floor({})", "np.sqrt(abs({}))", "({} * 0.5)"]
        return str(self.pick(patterns)).format(inner)

    def _selected(self, kind: Array, depth: int) -> str:
        if kind.dtype == "?":
            return self.mask(kind.lengths, depth)
        left, right = self.array(kind, depth + 1), self._operand(kind, depth)
        if self.choose(2):
            return f"np.where({self.mask(kind.lengths, depth + 1)}, {left}, {right})"
        return f"np.{self.pick(('minimum', 'maximum'))}({left}, {right})"

    def _moved(self, kind: Array, depth: int) -> str:
        inner = self.array(kind, depth + 1)
        if kind.rank == 2:
            if self.choose(2):
                return f"{self.array(Array(kind.dtype, kind.lengths[::-1]), depth + 1)}.T"
            return f"{inner}[::-1]"
        choices = [
            f"np.roll({inner}, {self.pick((1, -1, 2))})",
            f"{inner}[::-1]",
            f"np.concatenate(({inner}[1:], {inner}[:1]))",
        ]
        if kind.dtype != "?":
            choices += [f"np.sort({inner})", f"np.maximum.accumulate({inner})"]
        return str(self.pick(choices))

    def mask(self, lengths: tuple[str, ...], depth: int = 0) -> str:
        """An array of bools."""
        dtypes = [kind.dtype for kind in self.names.values() if isinstance(kind, Array) and kind.lengths == lengths]
        dtype = self.pick([one for one in dtypes if one != "?"] or ["f8"])
        kind = Array(dtype, lengths)
        one = f"({self.array(kind, depth + 1)} {self.pick(COMPARISONS)} {self._operand(kind, depth + 1)})"
        if depth < 2 and self.chance(4):
            return f"({one} {self.pick('&|')} {self.mask(lengths, depth + 1)})"
        return one

    # -- numbers ---------------------------------------------------------------------------------

    def number(self, kind: Number, depth: int = 0) -> str:
        """A number of a kind."""
        if kind.kind == "bool":
            return self.condition(depth)
        names = self.having(lambda one: one == kind)
        if names and (depth > 2 or self.choose(2)):
            return str(self.pick(names))
        if depth > 2 or self.chance(5):
            return self._literal(kind.kind)
        if self.chance(9):
            return (
                f"({self.number(kind, depth + 1)} if {self.condition(depth + 1)} else {self.number(kind, depth + 1)})"
            )
        ways = {"int": self._int, "float": self._float}
        return ways.get(kind.kind, self._numpy_number)(kind.kind, depth)

    def _literal(self, kind: str) -> str:
        if kind == "int":
            return str(self.pick((1, 2, 0, 3, -1)))
        if kind == "float":
            return str(self.pick((0.5, 2.0, -1.5, 0.25, 0.0)))
        return f"np.{NUMPY_NAMES[kind]}({self.pick((1, 3, 0, 2))})"

    def _int(self, kind: str, depth: int) -> str:
        ints = Number("int")
        way = self.choose(9)
        if way == 0:
            return f"len({self.pick(self._some(self.arrays()))})"
        if way == 1:
            name = self.pick(self._some(self.arrays()))
            return f"{name}.shape[{self.choose(self.array_kind(name).rank)}]"
        if way == 2:
            return f"int({self.element(self.pick(('i8', 'i4')))}) % 7"
        if way == 3:
            name = self.pick(self._some(self.arrays()))
            return f"int({self.mask(self.array_kind(name).lengths, 2)}.sum())"
        if way == 4:
            return f"{self.pick(('min', 'max'))}({self.number(ints, depth + 1)}, {self.number(ints, depth + 1)})"
        if way == 5:
            return f"{self.number(ints, depth + 1)} {self.pick(('//', '%'))} {self.pick((2, 3, -2))}"
        if way == 6:
            return f"({self.number(ints, depth + 1)} * {self.number(ints, depth + 1)}) % 11"
        return f"({self.number(ints, depth + 1)} {self.pick('+-')} {self.number(ints, depth + 1)})"

    def _float(self, kind: str, depth: int) -> str:
        way = self.choose(8)
        one = Number("float")
        if way == 0:
            return f"float({self.element(self.pick(('f8', 'f4')))})"
        if way == 1:
            return f"float(total({self.leaf(self._some_kind('f8'))}))"
        if way == 2:
            return f"{self.pick(('min', 'max'))}({self.number(one, depth + 1)}, {self.number(one, depth + 1)})"
        if way == 3:
            return f"abs({self.number(one, depth + 1)})"
        if way == 4:
            return f"({self.number(one, depth + 1)} {self.pick('+-*')} {self.number(Number('int'), depth + 1)})"
        if way == 5:
            return f"{self.number(one, depth + 1)} / (abs({self.number(one, depth + 1)}) + 1)"
        return f"({self.number(one, depth + 1)} {self.pick('+-*')} {self.number(one, depth + 1)})"

    def _numpy_number(self, kind: str, depth: int) -> str:
        way = self.choose(6)
        if way == 0:
            return f"total({self.leaf(self._some_kind(kind))})" if kind in ("f8", "f4") else self.element(kind)
        if way == 1:
            return f"{self.leaf(self._some_kind(kind))}.{self.pick(('max', 'min'))}()"
        if way == 2:
            operand = self.number(Number(self.pick((kind, python_kind(kind)))), depth + 1)
            return f"({self.number(Number(kind), depth + 1)} {self.pick('+-*')} {operand})"
        return self.element(kind)

    def element(self, dtype: str) -> str:
        """One element of an array."""
        name = self.pick(self._some(self.arrays(dtype=dtype)))
        lengths = self.array_kind(name).lengths
        indices = [self.index(length) for length in lengths]
        return f"{name}[{']['.join(indices) if self.chance(8) else ', '.join(indices)}]"

    def index(self, length: str) -> str:
        """An index of an axis, mostly one that is in range."""
        good = [name for name, below in self.positions.items() if below == length and name in self.names]
        if good and self.choose(4):
            name = self.pick(good)
            return str(self.pick((name, name, f"{name} - 1", f"-{name} - 1", f"-1 - {name}")))
        way = self.choose(8)
        if way < 5:
            return str(self.pick((0, -1, 0, -1, 1)))
        sized = [name for name in self.arrays() if self.array_kind(name).lengths[0] == length]
        ints = self.having(lambda kind: kind == Number("int"))
        if sized and way < 7:
            return f"{self.number(Number('int'), 2)} % max(len({self.pick(sized)}), 1)"
        return str(self.pick(ints)) if ints else "0"

    def _some(self, names: list[str]) -> list[str]:
        if not names:
            raise NothingFits
        return names

    def _some_kind(self, dtype: str) -> Array:
        return self.array_kind(self.pick(self._some(self.arrays(dtype=dtype))))

    # -- conditions ------------------------------------------------------------------------------

    def condition(self, depth: int = 0) -> str:
        """A bool, Python's or NumPy's."""
        way = self.choose(12)
        if depth < 2 and way < 2:
            return f"({self.condition(depth + 1)} {self.pick(('and', 'or'))} {self.condition(depth + 1)})"
        if depth < 2 and way == 2:
            return f"not {self.condition(depth + 1)}"
        if way == 3 and self.chance(3):
            items = [self.number(Number("int"), 2) for _ in range(4)]
            return str(self.pick((f"({items[0]}, {items[1]}) == ({items[2]}, {items[3]})",
                                  f"{items[0]} in ({items[1]}, {items[2]}, {items[3]})",
                                  f"{items[0]} < {items[1]} <= {items[2]} != {items[3]}")))  # fmt: skip
        if way == 3:
            low, high = (self.number(Number("int"), 2) for _ in range(2))
            return f"{low} <= {self.number(Number('int'), 2)} < {high}"
        if way in (4, 5):
            name = self.pick(self._some(self.arrays()))
            return f"{self.mask(self.array_kind(name).lengths, 2)}.{self.pick(('any', 'all'))}()"
        if way in (6, 7):
            return f"{self.number(Number('int'), 1)} % {self.pick((2, 3))} == {self.choose(2)}"
        bools = self.having(lambda kind: kind == Number("bool"))
        if way == 8 and bools:
            return str(self.pick(bools))
        kind = Number(self.pick(("float", "int", "f8")))
        return f"{self.number(kind, 1)} {self.pick(COMPARISONS)} {self.number(kind, 2)}"


COMPARISONS = ("<", ">", "<=", ">=", "==", "!=")
NUMPY_NAMES = {"f8": "float64", "f4": "float32", "i8": "int64", "i4": "int32", "i2": "int16", "u1": "uint8",
               "?": "bool_"}  # fmt: skip


def _products(axes: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = [()]
    for items in axes:
        found = [(*start, item) for start in found for item in dict.fromkeys(items)]
    return found
