"""Statements without blocks: assignments, stores, views, calls, jumps."""

from __future__ import annotations

from collections.abc import Callable

from tests.truth.whole.expressions import NUMPY_NAMES, Expressions, NothingFits
from tests.truth.whole.kinds import CUTS, Array, Kind, Number, python_kind

__all__ = ["Statements"]


class Statements(Expressions):
    """Appends statements to ``lines``, and knows what they bind."""

    def __init__(self, choose: Callable[[int], int], length: int = 3) -> None:
        super().__init__(choose)
        self.length = length
        self.lines: list[str] = []
        self.depth = 0
        self.loops = 0
        self.count = 0
        self.helpers: list[tuple[str, dict[str, Kind], Kind]] = []
        self.results: tuple[Kind, ...] = ()
        """What the function that is being written returns, wherever it does."""
        self.inside_helper = False
        self.inside_inner = False
        self.seen: dict[str, None] = {}
        """Names that have been assigned somewhere, perhaps on a path that was not taken."""
        self.kept: set[str] = set()
        """Names that are not assigned: those of loops and counters."""

    def line(self, text: str) -> None:
        """Append a line."""
        self.lines.append("    " * self.depth + text)

    def _fresh(self, start: str) -> str:
        self.count += 1
        return f"{start}{self.count}"

    def _value(self, kind: Kind) -> str:
        return self.array(kind) if isinstance(kind, Array) else self.number(kind)

    def _value_or(self, kind: Kind, names: list[str]) -> str:
        try:
            return self._value(kind)
        except NothingFits:
            return names[0] if names else "None"

    def _returned(self) -> str:
        texts = []
        for kind in self.results:
            names = self.having(lambda one, kind=kind: one == kind)  # type: ignore[misc]
            texts.append(self.pick(names) if names and self.choose(6) else self._value_or(kind, names))
        return texts[0] if self.inside_helper else f"{', '.join(texts)},"

    # -- simple statements -----------------------------------------------------------------------

    def _assign(self) -> None:
        """An array gets a new object."""
        name = self.pick(self._some(self.arrays()))
        kind = self.array_kind(name)
        text = self.array(kind)
        if self.choose(3) == 0:
            name = self._fresh("t")
        self.line(f"{name} = {text}")
        self.names[name] = kind

    def _augment(self) -> None:
        name = self.pick(self._some(self.arrays()))
        kind = self.array_kind(name)
        if kind.dtype == "?":
            self.line(f"{name} {self.pick('&|^')}= {self.array(kind)}")
        else:
            self.line(f"{name} {self.pick('+-*')}= {self._operand(kind, 0)}")

    def _store(self) -> None:
        """A slice is written."""
        name = self.pick(self._some(self.arrays()))
        kind = self.array_kind(name)
        if self.chance(3):
            self._store_between(name, kind)
            return
        slices, lengths = [], []
        for length in kind.lengths:
            if kind.rank == 2 and self.chance(3):
                slices.append(self.index(length))
                continue
            group = self.pick(("", *CUTS))
            slices.append(self.pick(CUTS[group]) if group else ":")
            lengths.append(length + group)
        if not lengths:
            slices[-1], lengths = ":", [kind.lengths[-1]]
        part = Array(kind.dtype, tuple(lengths))
        operator = "" if kind.dtype == "?" or self.choose(2) else self.pick("+-*")
        value = self.array(part, 1) if self.choose(4) or kind.dtype == "?" else self._operand(part, 1)
        self.line(f"{name}[{', '.join(slices)}] {operator}= {value}")

    def _bounds(self) -> tuple[str, str]:
        ints = self.having(lambda kind: kind == Number("int"))
        options = [*ints, *(f"{name} + 1" for name in ints), *(f"-{name}" for name in ints), "", "1", "-1", "2"]
        return str(self.pick(options)), str(self.pick(options))

    def _store_between(self, name: str, kind: Array) -> None:
        """A slice with bounds that only the running program knows is written."""
        low, high = self._bounds()
        step = self.pick(("", "", "", ":2", ":-1"))
        slice_ = f"{low}:{high}{step}"
        others = [one for one in self.arrays(dtype=kind.dtype) if self.array_kind(one).lengths == kind.lengths]
        value = f"{self.pick(others)}[{slice_}]"
        way = self.choose(5)
        if kind.dtype == "?":
            value = f"~{value}"
        elif way == 0:
            value = self.number(Number(python_kind(kind.dtype)))
        elif way == 1:
            value = f"{value} {self.pick('+-*')} {self.pick(others)}[{slice_}]"
        elif way == 2:
            value = f"abs({value}) + {self.number(Number(python_kind(kind.dtype)), 2)}"
        elif way == 3 and self.chance(4):
            value = f"{self.pick(others)}[{low}:]"
        operator = "" if kind.dtype == "?" or self.choose(2) else self.pick("+-*")
        self.line(f"{name}[{slice_}] {operator}= {value}")

    def _store_element(self) -> None:
        name = self.pick(self._some(self.having(lambda kind: isinstance(kind, Array) and kind.dtype != "?")))
        kind = self.array_kind(name)
        indices = [self.index(length) for length in kind.lengths]
        number = Number(self.pick((python_kind(kind.dtype), kind.dtype, "int")))
        operator = self.pick(("", "", "+", "-", "*"))
        target = f"{name}[{']['.join(indices) if self.chance(6) else ', '.join(indices)}]"
        self.line(f"{target} {operator}= {self.number(number)}")

    def _store_masked(self) -> None:
        name = self.pick(self._some(self.having(lambda kind: isinstance(kind, Array) and kind.dtype != "?")))
        kind = self.array_kind(name)
        masks = [one for one in self.arrays(dtype="?") if self.array_kind(one).lengths == kind.lengths]
        mask = self.pick(masks) if masks and self.choose(2) else self.mask(kind.lengths, 1)
        if not masks and self.chance(3):
            new = self._fresh("mask")
            self.line(f"{new} = {mask}")
            self.names[new], mask = Array("?", kind.lengths), new
        number = self.number(Number(self.pick((python_kind(kind.dtype), kind.dtype))))
        others = [one for one in self.arrays(dtype=kind.dtype) if self.array_kind(one).lengths == kind.lengths]
        operator = self.pick(("", "", "+", "-", "*"))
        value = self.pick((number, f"{self.pick(others)}[{mask}]", f"{self.pick(others)}[{mask}] * 2"))
        self.line(f"{name}[{mask}] {operator}= {value}")

    def _view(self) -> None:
        """A name for a part of an array."""
        name = self.pick(self._some(self.arrays()))
        kind = self.array_kind(name)
        way = self.choose(6)
        new = self._fresh("p")
        if kind.rank == 2 and way < 3:
            texts = [(f"{name}[{self.index(kind.lengths[0])}]", kind.lengths[1:]),
                     (f"{name}[:, {self.index(kind.lengths[1])}]", kind.lengths[:1]),
                     (f"{name}.T", kind.lengths[::-1])]  # fmt: skip
            text, lengths = texts[way]
        elif way == 3:
            low, high = self._bounds()
            text, lengths = f"{name}[{low}:{high}]", (self._fresh("q"), *kind.lengths[1:])
        elif way == 4:
            text, lengths = name, kind.lengths
        else:
            group = self.pick(tuple(CUTS))
            text, lengths = f"{name}[{self.pick(CUTS[group])}]", (kind.lengths[0] + group, *kind.lengths[1:])
        same = [one for one in self.arrays() if self.names[one] == Array(kind.dtype, lengths) and one not in self.kept]
        if same and self.choose(2):
            new = self.pick(same)
        elif same and self.chance(3):
            text = f"{text} if {self.condition(1)} else {self.pick(same)}"
        self.line(f"{new} = {text}")
        self.names[new] = Array(kind.dtype, lengths)

    def _assignable(self) -> list[str]:
        return [name for name in self.having(lambda kind: isinstance(kind, Number)) if name not in self.kept]

    def _number(self) -> None:
        names = self._assignable()
        if names and self.choose(3):
            name = self.pick(names)
            kind = self.names[name]
        else:
            kind = Number(self.pick(("int", "float", "f8", "bool", "f4", "i8")))
            name = self._fresh(kind.kind[0])
        assert isinstance(kind, Number)
        if kind.kind == "bool":
            kind, text = Number("bool"), f"bool({self.condition()})"
        else:
            text = self.number(kind)
        self.line(f"{name} = {text}")
        self.names[name] = kind

    def _count_up(self) -> None:
        name = self.pick(self._some(self._assignable()))
        kind = self.names[name]
        if kind == Number("bool"):
            self.line(f"{name} = not {name}")
        elif kind == Number("int"):
            self.line(f"{name} += {self.pick((1, 2, -1))}")
        else:
            assert isinstance(kind, Number)
            self.line(f"{name} {self.pick('+-*')}= {self.number(kind, 1)}")

    def _swap(self) -> None:
        names = self.arrays()
        first = self.pick(self._some(names))
        same = [name for name in names if self.names[name] == self.names[first] and name != first]
        second = self.pick(self._some(same))
        if self.choose(3) == 2:
            self.line(f"{first}, {second} = {second}, {self.array(self.array_kind(first))}")
        else:
            self.line(f"{first}, {second} = {second}, {first}")

    def _call(self) -> None:
        name, kinds, result = self.pick(self._some(self.helpers))
        if self.inside_helper:
            raise NothingFits
        given = []
        length = self.pick(("n", "n~1", "m"))
        for kind in kinds.values():
            if isinstance(kind, Array):
                given.append(self.leaf(Array(kind.dtype, (length,))))
            else:
                given.append(self.number(kind, 2))
        if isinstance(result, Array):
            result = Array(result.dtype, (length,))
        same = [one for one, kind in self.names.items() if kind == result and one not in self.kept]
        target = self.pick(same) if same and self.choose(2) else self._fresh("h")
        self.line(f"{target} = {name}({', '.join(given)})")
        self.names[target] = result

    def _jump(self) -> None:
        if self.depth < 2:
            raise NothingFits
        if self.loops and self.choose(3):
            self.line(f"if {self.condition()}:")
            self.line(f"    {self.pick(('break', 'continue'))}")
        else:
            self.line(f"if {self.condition()}:")
            self.line(f"    return {self._returned()}" if self.choose(6) else f"    raise ValueError({self.choose(9)})")

    def _mutate(self) -> None:
        name = self.pick(self._some(self.having(lambda kind: isinstance(kind, Array) and kind.dtype != "?")))
        kind = self.array_kind(name)
        fill = self.number(Number(python_kind(kind.dtype)), 1)
        texts = [f"{name}.fill({fill})", f"np.copyto({name}, {self.array(kind)})", f"{name}.sort()",
                 f"np.{self.pick(('add', 'maximum'))}({self.array(kind, 1)}, {self.leaf(kind)}, out={name})",
                 f"{name}[:] = {self.array(kind)}", f"{name}[...] = {self._operand(kind, 0)}"]  # fmt: skip
        if kind.rank == 1:
            texts.append(f"np.add.at({name}, np.array([0, -1, 0]), {fill})")
            texts.append(f"{name}[np.array([0, -1])] = {fill}")
        self.line(self.pick(texts))

    def _selection(self) -> None:
        """The elements where a mask holds, an array of a length that only the running program knows."""
        name = self.pick(self._some(self.arrays(rank=1)))
        kind = self.array_kind(name)
        new = self._fresh("e")
        self.line(f"{new} = {name}[{self.mask(kind.lengths, 1)}]")
        self.names[new] = Array(kind.dtype, (self._fresh("q"),))

    def _rare(self) -> None:
        way = self.choose(4)
        if way == 0:
            self.line(f"assert {self.condition()}, 'no'")
        elif way == 1 and self.depth > 1:
            name = self.pick(self._some([name for name in self.seen if name not in self.names]))
            self.line(f"{self._fresh('t')} = {name}")
        elif way == 2:
            rows = self._fresh("rows")
            self.line(f"{rows} = [{', '.join(self.leaf(Array('f8', ('n',))) for _ in range(2))}]")
            self.line(f"{rows}[{self.choose(2)}][{self.index('n')}] = {self.number(Number('float'))}")
        else:
            new = self._fresh("t")
            kind = self.array_kind(self.pick(self._some(self.arrays())))
            dtype = self.pick(("f8", "f4", "i8"))
            # What becomes of a float that no integer is depends on the processor.
            exact = kind.dtype[0] != "f" or dtype[0] == "f"
            source = self.array(kind) if exact else self.mask(kind.lengths)
            self.line(f"{new} = {source}.astype(np.{NUMPY_NAMES[dtype]})")
            self.names[new] = Array(dtype, kind.lengths)
