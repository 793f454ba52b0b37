"""Reading the text of schedules (`text.py`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NoReturn, cast

from jitflow.errors import UserValueError
from jitflow.ir.core import Op, Value
from jitflow.ir.dims import Dim, symbols
from jitflow.ir.parser import parse_dim
from jitflow.ir.tokens import ParseError
from jitflow.passes.fusion.nest import Loop, is_folded
from jitflow.passes.schedule.text import ScheduleNames
from jitflow.passes.schedule.tree import (
    Deviate,
    Fold,
    For,
    How,
    Keep,
    Locate,
    Match,
    Node,
    Reduce,
    Schedule,
    Stage,
    Store,
    Tail,
    When,
)

__all__ = ["parse_schedule"]

_FOR = re.compile(
    r"for (?P<loop>\w+) by (?P<step>\d+)"
    r"(?P<written> written out)?(?P<chunks> in chunks)?(?: in lanes, (?P<tail>apart|masked|narrow (?P<narrow>\d+)))?"
    r"(?: in threads of (?P<threads>[^{]+?))?(?P<parallel> in parallel)?(?P<undecided> while undecided)?"
    r"(?: ahead (?P<ahead>\d+))? \{"
)
_OTHERS = re.compile(r"(reduce|fold|deviate|locate|match|stage|keep|store|when|\} else)\b ?(.*?)( \{)?")


def parse_schedule(text: str, names: ScheduleNames, vector: Loop | None, first_line: int = 1) -> Schedule:
    """The schedule that a text describes. Raises `UserValueError` at the line that is none of its nodes."""
    return Schedule(_Reader(text, names, first_line).nodes(None), vector)


class _Reader:
    """Reads nodes, a line each."""

    def __init__(self, text: str, names: ScheduleNames, first_line: int) -> None:
        lines = ((number, line.split(";")[0].strip()) for number, line in enumerate(text.splitlines(), first_line))
        self.lines = [(number, line) for number, line in lines if line]
        self.names = names
        self.number = 0

    def nodes(self, closing: str | None) -> tuple[Node, ...]:
        """The nodes up to the line that closes them."""
        found: list[Node] = []
        while self.lines:
            self.number, line = self.lines.pop(0)
            if line == closing:
                return tuple(found)
            found.append(self.node(line))
        if closing is not None:
            self.fail("the text ends", f"{closing!r}")
        return tuple(found)

    def node(self, line: str) -> Node:
        if parts := _FOR.fullmatch(line):
            return self.loop(parts.groupdict())
        parts = _OTHERS.fullmatch(line)
        if parts is None:
            self.fail(f"{line!r} is no node of a schedule", "for, reduce, fold, keep, store, when...")
        word, rest, opens = parts.groups()
        if opens:
            return self.opened(word, rest)
        if word in _LEAVES:
            return _LEAVES[word](self, rest)
        return self.fail(f"{line!r} needs what it does", "'{' at its end")

    def opened(self, word: str, rest: str) -> Node:
        """A node with others inside."""
        if word == "when":
            return When(self.dim(rest), self.nodes("} else {"), self.nodes("}"))
        if word == "reduce":
            in_memory = rest.endswith(" in memory")
            return Reduce(self.ops(rest.removesuffix(" in memory")), self.nodes("}"), in_memory)
        if word != "locate":
            self.fail(f"{word!r} has nothing inside", "no '{'")
        return Locate(self.op(rest), self.nodes("}"))

    def loop(self, parts: Mapping[str, str | None]) -> For:
        """A loop of these properties."""
        name, tail = parts["loop"] or "", (parts["tail"] or "apart").split()[0]
        if name not in self.names.by_loop:
            self.fail(f"there is no loop {name}", self.names.loops_text)
        how = "written out" if parts["written"] else "lanes" if parts["tail"] else "serial"
        how = "chunks" if parts["chunks"] else how
        return For(
            self.names.by_loop[name], int(parts["step"] or 1), self.nodes("}"), cast(How, how), cast(Tail, tail),
            narrow=int(parts["narrow"] or 0), threads=self.dim(parts["threads"]) if parts["threads"] else 0,
            parallel=bool(parts["parallel"]), while_undecided=bool(parts["undecided"]), ahead=int(parts["ahead"] or 0),
        )  # fmt: skip

    def dim(self, text: str) -> Dim:
        """A size."""
        try:
            dim = parse_dim(text)
        except ParseError as error:
            self.fail(str(error), "a size")
        for name in symbols(dim):
            if name not in self.names.sizes:
                self.fail(f"there is no size {name}", ", ".join(sorted(self.names.sizes)) or "numbers")
        return dim

    def values(self, text: str) -> tuple[Value, ...]:
        return tuple(self.value(name) for name in text.split(", "))

    def value(self, name: str) -> Value:
        if name not in self.names.by_value:
            self.fail(f"there is no value {name}", ", ".join(self.names.by_value))
        return self.names.by_value[name]

    def ops(self, text: str) -> tuple[Op, ...]:
        """The reductions of these names."""
        values = self.values(text)
        for value in values:
            if not is_folded(self.names.producer[value]):
                self.fail(f"{self.names.text([value])} is no reduction", "one")
        return tuple(self.names.producer[value] for value in values)

    def op(self, text: str) -> Op:
        """The one reduction of this name."""
        op, *others = self.ops(text)
        if others:
            self.fail("there are several reductions", "one")
        return op

    def fail(self, what: str, expected: str) -> NoReturn:
        raise UserValueError(f"line {self.number} of the schedule: {what}", expected=expected)


def _keep(reader: _Reader, text: str) -> Node:
    value, _, into = text.partition(" in ")
    return Keep(reader.value(value), None if into in ("scratch", "chip") else reader.value(into), into == "chip")


def _store(reader: _Reader, text: str) -> Node:
    values, _, past = text.partition(" past caches where ")
    return Store(reader.values(values), tuple(map(reader.dim, _separated(past))))


def _separated(text: str) -> list[str]:
    """The parts between commas that stand in no parentheses."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part]


_LEAVES: dict[str, Callable[[_Reader, str], Node]] = {
    "fold": lambda reader, text: Fold(reader.ops(text)),
    "deviate": lambda reader, text: Deviate(reader.ops(text)),
    "match": lambda reader, text: Match(reader.op(text)),
    "store": _store,
    "stage": lambda reader, text: Stage(reader.values(text)),
    "keep": _keep,
}
