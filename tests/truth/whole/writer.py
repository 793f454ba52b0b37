"""Writes random programs with statements: branches, loops, stores through views, helpers.

A `Writer` asks ``choose(n)`` for one of ``n`` possibilities over and over, so a seed says what it writes. It keeps to
programs that mostly make sense: it knows the kind of each name (see `kinds`), and a name keeps its kind.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.truth.whole.expressions import PRELUDE, NothingFits
from tests.truth.whole.kinds import Array, Kind, Number
from tests.truth.whole.richer import Richer

__all__ = ["Text", "Writer"]

DEEPEST = 3
DTYPES = ("f8", "f8", "f8", "f8", "i8", "i8", "f4", "i4", "i2", "u1")


@dataclass(frozen=True)
class Text:
    """A program's source, which defines ``program``, and the kinds of its parameters."""

    source: str
    parameters: dict[str, Kind]


class Writer(Richer):
    # -- functions -------------------------------------------------------------------------------

    def program(self) -> Text:
        """A program, perhaps with helpers."""
        self.lines = [PRELUDE]
        for _ in range(self.pick((0, 0, 0, 1))):
            self._helper()
        parameters = self._parameters()
        results = tuple(self.pick(list(parameters.values())) for _ in range(1 + self.choose(4)))
        self.inside_helper = False
        self._function("program", parameters, self.length, results)
        return Text("\n".join(self.lines) + "\n", parameters)

    def _parameters(self) -> dict[str, Kind]:
        dtype = self.pick(DTYPES)
        kinds: dict[str, Kind] = {"u": Array(dtype, ("n",)), "v": Array(dtype, ("n",))}
        if self.choose(2):
            kinds["w"] = Array(self.pick(DTYPES), ("n",))
        if self.choose(2):
            kinds["A"] = Array(dtype, self.pick((("n", "m"), ("n", "n"), ("m", "n"))))
        kinds["k"] = Number("int")
        if self.choose(2):
            kinds["lo"], kinds["hi"] = Number("int"), Number("int")
        kinds["s"] = Number("float")
        if self.choose(2):
            kinds["flag"] = Number("bool")
        if self.chance(3):
            kinds["z"] = Number("f8")
        return kinds

    def _helper(self) -> None:
        kinds: dict[str, Kind] = {"x": Array(self.pick(DTYPES), ("n",)), "j": Number("int")}
        if self.choose(2):
            kinds["y"] = Array(self.pick(DTYPES), ("n",))
        result: Kind = self.pick((kinds["x"], Number("int"), Number("float")))
        name = f"helper{len(self.helpers)}"
        self.inside_helper = True
        self._function(name, kinds, 3, (result,))
        if not self.lines[-2].endswith("return None"):
            self.helpers.append((name, kinds, result))

    def _function(self, name: str, parameters: dict[str, Kind], length: int, results: tuple[Kind, ...]) -> None:
        self.names, self.positions, self.results, self.kept = dict(parameters), {}, results, set()
        self.seen = {}
        self.lines.append(f"def {name}({', '.join(parameters)}):")
        with self._indented():
            for _ in range(2 + self.choose(length)):
                self.statement()
            self._return()
        self.lines.append("")

    def _return(self) -> None:
        self.line(f"return {self._returned()}")

    # -- blocks ----------------------------------------------------------------------------------

    @contextmanager
    def _indented(self) -> Iterator[None]:
        self.depth += 1
        names, positions = dict(self.names), dict(self.positions)
        yield
        self.seen |= dict.fromkeys(self.names)
        self.names, self.positions = names, positions
        self.depth -= 1

    def block(self, most: int = 3) -> None:
        """Some statements, indented; the names that they bind are not known after."""
        with self._indented():
            before = len(self.lines)
            for _ in range(1 + self.choose(most)):
                self.statement()
            if len(self.lines) == before:
                self.line("pass")

    def statement(self) -> None:
        """One statement; several tries, where what was chosen does not fit."""
        simple = [self._assign, self._assign, self._augment, self._augment, self._store, self._store, self._store,
                  self._store_element, self._store_element, self._store_masked, self._view, self._view, self._number,
                  self._number, self._count_up, self._swap, self._call, self._jump, self._mutate, self._selection,
                  self._rare, self._swap_numbers, self._store_chain, self._call_inner, self._star_function,
                  self._raise_text, self._return_another_kind]  # fmt: skip
        compound = [self._branch, self._branch, self._for, self._for, self._for, self._while, self._inner_function,
                    self._try]  # fmt: skip
        for _ in range(20):
            choices = simple if self.depth > DEEPEST else [*simple, *compound, *compound]
            before = len(self.lines), self.depth, dict(self.names), dict(self.positions), self.loops, dict(self.seen)
            try:
                self.pick(choices)()
                return
            except NothingFits:
                del self.lines[before[0] :]
                self.depth, self.names, self.positions, self.loops, self.seen = before[1:]

    # -- compound statements ---------------------------------------------------------------------

    def _branch(self) -> None:
        self.line(f"if {self.condition()}:")
        self.block()
        if self.chance(4):
            self.line(f"elif {self.condition()}:")
            self.block(2)
        if self.choose(2):
            self.line("else:")
            self.block()

    def _body(self, bound: dict[str, Kind], positions: dict[str, str], first: str = "") -> None:
        names, before = dict(self.names), dict(self.positions)
        self.names.update(bound)
        self.positions.update(positions)
        self.kept |= {*bound}
        self.loops += 1
        if first:
            self.line(f"    {first}")
        self.block()
        self.loops -= 1
        self.names, self.positions = names, before
        if self.chance(6):
            self.line("else:")
            self.block(1)

    def _for(self) -> None:
        position = self._fresh("i")
        way = self.choose(9)
        ints = Number("int")
        bound: dict[str, Kind] = {position: ints}
        positions: dict[str, str] = {}
        name = self.pick(self._some(self.arrays()))
        kind = self.array_kind(name)
        length = kind.lengths[0]
        if way < 3:
            source = self.pick((f"range(len({name}))", f"range({name}.shape[0])", f"range(1, len({name}))",
                                f"range(len({name}) - 1, -1, -1)", f"range(0, len({name}), 2)"))  # fmt: skip
            positions[position] = length
            target = position
        elif way == 3:
            source, target = f"range({self.pick((2, 3, 4, 6))})", position
        elif way == 4:
            source = f"range({self.number(ints, 2)}, {self.number(ints, 2)} + {self.pick((2, 5))})"
            target = position
        elif way == 5:
            source, target = f"range(max({self.number(ints, 2)}, 1))", position
        elif way == 6 and kind.rank == 2:
            source, target = name, self._fresh("row")
            bound = {target: Array(kind.dtype, kind.lengths[1:])}
        elif way == 7 and kind.rank == 1 and kind.dtype != "?":
            item = self._fresh("x")
            source, target = f"enumerate({name})", f"{position}, {item}"
            bound[item], positions[position] = Number(kind.dtype), length
        elif kind.rank == 1 and kind.dtype != "?":
            others = [
                one
                for one in self.arrays(rank=1)
                if self.array_kind(one).lengths == kind.lengths and self.array_kind(one).dtype != "?"
            ]
            other, items = self.pick(others), (self._fresh("x"), self._fresh("x"))
            source, target = f"zip({name}, {other})", ", ".join(items)
            bound = {items[0]: Number(kind.dtype), items[1]: Number(self.array_kind(other).dtype)}
        else:
            source, target = f"range({name}.shape[{kind.rank - 1}])", position
            positions[position] = kind.lengths[-1]
        self.line(f"for {target} in {source}:")
        self._body(bound, positions)

    def _while(self) -> None:
        counter = self._fresh("c")
        self.line(f"{counter} = 0")
        self.names[counter] = Number("int")
        self.kept.add(counter)
        limit = self.pick((5, 3, 8))
        test = f"{counter} < {limit}"
        if self.choose(3):
            test += f" and {self.condition(1)}"
        self.line(f"while {test}:")
        self._body({}, {}, f"{counter} += 1")
