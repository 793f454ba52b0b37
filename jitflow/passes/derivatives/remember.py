"""What a reverse sweep needs of the forward one: kept where it was computed, or computed again.

A reverse sweep runs the turns of loops and the branches of decisions once more, the last first, and its ops mention
values of the forward turn. Values from outside of the loop are still there; of the others, numbers and arrays that
cost little are computed again from what is there, and the rest is kept: in an array with an axis for each loop, indexed
by the turn, if the sizes are known before the outermost loop begins; else on a tape.

    for ... (%i: index[i], %s: f64) {              %kept: var f64[n] = variable ...
      %1: f64 = sin %s                             for ... (%i: index[i], %s: f64) {
      ...                                   ->       store (%kept at i), %s
    }                                                ...
                                                   for ... (%k: index[k], ...) {
                                                     %2: f64 = load (%kept at n - 1 - k)

`Level` is a region of the forward sweep, `Keeping` knows what is put where.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace

from jitflow.ir.core import Builder, Op, Region, Value, clone_op, walk_ops
from jitflow.ir.dims import Dim, product, symbol, symbols
from jitflow.ir.dtypes import I64
from jitflow.ir.effects import Effects
from jitflow.ir.types import Index, Scalar, Tensor, Type, dims_of
from jitflow.passes.analyses.mincut import bytes_of, likely_sizes, minimum_cut
from jitflow.passes.analyses.order import bound_sizes, named_sizes, sizes_inside
from jitflow.passes.derivatives.notation import Notation
from jitflow.passes.derivatives.shadows import Shadows
from jitflow.records import dataclass

__all__ = ["Keeping", "Level", "Turns"]

_EXPENSIVE = frozenset(
    """
    power sqrt cbrt exp exp2 expm1 log log1p log2 log10 logaddexp logaddexp2 sin cos tan arcsin arccos arctan arctan2
    hypot sinh cosh tanh arcsinh arccosh arctanh erf erfc
    """.split()
)


@dataclass(frozen=True, eq=False)
class Turns:
    """The turns of a loop: how many there are, and the number of the forward turn, None where nobody knows before."""

    count: Dim
    number: Dim | None


@dataclass(eq=False)
class Level:
    """A region of the forward sweep, the op that it belongs to, and the level around it. The outermost has no op.

    ``known`` are the sizes that are bound before it.
    """

    region: Region
    known: frozenset[str]
    op: Op | None = None
    outer: Level | None = None
    turns: Turns | None = None
    defined: dict[Value, Op | None] = field(init=False)
    sizes: dict[str, Op | Value] = field(init=False)
    """What binds each size that is bound here: an op, or a parameter."""

    def __post_init__(self) -> None:
        self.defined = dict.fromkeys(self.region.parameters)
        self.sizes = {}
        for parameter in self.region.parameters:
            self._bind(named_sizes(parameter.type), parameter)
        self.enter(self.region.body)

    def _bind(self, names: Iterable[str], source: Op | Value) -> None:
        for name in names:
            if name not in self.known:
                self.sizes[name] = source
                self.known |= {name}

    def enter(self, ops: Iterable[Op]) -> None:
        """Know ops that stand in the region from now on."""
        for op in ops:
            self.defined.update(dict.fromkeys(op.results, op))
            self._bind(bound_sizes(op), op)

    def turn_of(self, name: str) -> bool:
        """Whether a size is the position of the loop that the level is a turn of."""
        if self.op is None or self.op.name != "for":
            return False
        return name in named_sizes(self.region.parameters[0].type)

    def around(self) -> Iterator[Level]:
        """The level and those around it, without the outermost, the innermost first."""
        level: Level | None = self
        while level is not None and level.op is not None:
            yield level
            level = level.outer


@dataclass(eq=False)
class _Slot:
    """Where a value is kept: an array, and the positions in it, or a tape."""

    memory: Value
    place: tuple[Dim, ...] | None


class Keeping:
    """What is kept of a forward sweep, and the ops that do it."""

    def __init__(self, effects: Effects, written: frozenset[Value], shadows: Shadows, hints: Mapping[str, int]) -> None:
        self.effects = effects
        self.shadows = shadows
        self.sizes = likely_sizes(hints.items())
        self.written = written
        self.before: dict[Op, list[Op]] = {}
        self.after: dict[Value, list[Op]] = {}
        self._counted: dict[Op, tuple[Value, Value]] = {}
        self.decisions: dict[Value, str] = {}
        """What became of values that a reverse sweep needs again, a line for each, as `explain` shows it."""
        self._slots: dict[Value, _Slot] = {}
        self._sizes: dict[str, _Slot] = {}
        self._bound: dict[Op, frozenset[str]] = {}

    def count_turns(self, loop: Op, level: Level) -> Value:
        """How often a ``while`` of a level has turned, as another result of it."""
        count = Value(Scalar(I64))
        self._counted[loop] = count, self.ahead_of(loop).number(0, I64)
        level.defined[count] = loop
        return count

    def ahead_of(self, op: Op) -> Notation:
        """What writes ops that stand before ``op``."""
        builder = Builder(loc=op.loc)
        builder.ops = self.before.setdefault(op, [])
        return Notation(builder)

    def behind(self, value: Value) -> Notation:
        """What writes ops that stand behind the one that makes ``value``."""
        builder = Builder()
        builder.ops = self.after.setdefault(value, [])
        return Notation(builder)

    # -- the reverse side

    def recall(
        self, level: Level, ops: Sequence[Op], fresh: Callable[[str], str]
    ) -> tuple[list[Op], dict[Value, Value], dict[str, Dim]]:
        """The ops that give what ``ops`` mention of a level, the values that stand for its values, and the sizes."""
        operands = [operand for op in walk_ops(ops) for operand in op.operands]
        kept = minimum_cut(
            [operand for operand in dict.fromkeys(operands) if operand in level.defined],
            lambda value: self.sources(level, value),
            self.weight,
        )
        recalling = _Recalling(self, level, fresh, kept)
        for operand in operands:
            recalling.value(operand)
        for op in walk_ops(ops):
            for name in op.sizes:
                recalling.size(name)
        return recalling.m.builder.ops, recalling.values, recalling.sizes

    def sources(self, level: Level, value: Value) -> Sequence[Value] | None:
        """The values of a level that one of its values can be computed again of, None if it cannot be or should not."""
        op = level.defined[value]
        if isinstance(value.type, Index) and value.type.dim is not None:
            return ()
        if op is None or op.regions or op.name in _EXPENSIVE:
            return None
        if op.name == "load":
            if not self.written.isdisjoint(self.effects.places(op.operands[0])):
                return None
        elif not op.definition.traits & {"view", "creation", "elementwise"} and op.name != "to_index":
            return None
        return [operand for operand in op.operands if operand in level.defined]

    def weight(self, value: Value) -> float:
        """The bytes that a value takes, or about so many."""
        kind = value.type
        if not isinstance(kind, Tensor | Scalar):
            return 8 if isinstance(kind, Index) else float("inf")
        return bytes_of(value, self.sizes)

    def decide(self, level: Level, value: Value, what: str) -> None:
        """Note what becomes of a value of a level."""
        kind, op = value.type, level.defined[value]
        place = op or level.op
        if not isinstance(kind, Tensor | Scalar) or place is None:
            return
        loops = any(around.turns is not None for around in level.around())
        size = f"{product(dims_of(kind)) * kind.dtype.itemsize} bytes{' a turn' if loops else ''}"
        words = [word for word in (value.name, op.name if op else "") if word]
        name = " = ".join(words) or "what is carried round"
        self.decisions.setdefault(value, f"{name} ({place.loc}): {kind}, {size}, {what}")

    # -- the forward side

    def slot(self, level: Level, value: Value, kind: Type) -> _Slot:
        """Where a value of a level is kept; from now on the forward sweep does so."""
        slot = self._slots.get(value)
        if slot is None:
            slot = self._slots[value] = self._make_slot(level, kind)
            self._fill(slot, value, self.behind(value))
            self.decide(level, value, "kept on a tape" if slot.place is None else "kept in an array")
        return slot

    def slot_of_size(self, level: Level, name: str, source: Op | Value) -> _Slot:
        """Where a size of a level is kept, which ``source`` binds."""
        slot = self._sizes.get(name)
        if slot is None:
            slot = self._sizes[name] = self._make_slot(level, Scalar(I64))
            m = self.behind(source if isinstance(source, Value) else source.results[-1])
            self._fill(slot, m.size(symbol(name)), m)
        return slot

    def _make_slot(self, level: Level, kind: Type) -> _Slot:
        levels = [*level.around()][::-1]
        outermost = levels[0].op
        assert outermost is not None
        assert isinstance(kind, Tensor | Scalar)
        turns = [level.turns for level in levels if level.turns is not None]
        dims = (*(turn.count for turn in turns), *dims_of(kind))
        m = self.ahead_of(outermost)
        inside = self._bound_inside(outermost, levels[0].outer)
        if any(turn.number is None for turn in turns) or any(name in inside for dim in dims for name in symbols(dim)):
            (tape,) = m.add("tape", dtype=kind.dtype)
            return _Slot(tape, None)
        memory = m("variable", m("empty", dtype=kind.dtype, dims=dims))
        return _Slot(memory, tuple(turn.number for turn in turns if turn.number is not None))

    def _bound_inside(self, op: Op, outer: Level | None) -> frozenset[str]:
        """The sizes that are bound in the regions of an op of a level."""
        known = self._bound.get(op)
        if known is None:
            names = frozenset(name for region in op.regions for name in sizes_inside(region))
            known = self._bound[op] = names - (outer.known if outer is not None else frozenset())
        return known

    def _fill(self, slot: _Slot, value: Value, m: Notation) -> None:
        kept = m("cast", value, dtype=I64) if isinstance(value.type, Index) else value
        if slot.place is None:
            m.add("push", slot.memory, kept)
        else:
            m.add("store", place_of(m, slot, dims_of(kept.type)), kept)

    def restored(self, m: Notation, slot: _Slot, kind: Type) -> Value:
        """The value that is in a slot, in a reverse sweep."""
        assert isinstance(kind, Tensor | Scalar)
        if slot.place is None:
            (value,) = m.add("pop", slot.memory, types=[kind])
            return value
        shown = m("load", place_of(m, slot, dims_of(kind)))
        return m.converted(shown, kind)

    # -- the forward sweep as it is then

    def rebuilt(self, region: Region) -> Region:
        """A region of the forward sweep with what keeping takes."""
        ops: list[Op] = []
        for parameter in region.parameters:
            ops += self.after.get(parameter, ())
        for op in region.ops:
            ops += self.before.get(op, ())
            ops += self.shadows.ahead_of(op)
            changed = self._rebuilt(op)
            ops.append(self.shadows.extended(op, changed))
            for result in changed.results:
                ops += self.shadows.making.get(result, ())
                ops += self.after.get(result, ())
        return Region(region.parameters, tuple(ops))

    def _rebuilt(self, op: Op) -> Op:
        if not op.regions:
            return op
        changed = replace(op, regions=tuple(map(self.rebuilt, op.regions)))
        return self._counting(changed, *self._counted[op]) if op in self._counted else changed

    def _counting(self, loop: Op, count: Value, zero: Value) -> Op:
        """A ``while`` that carries the number of its turns as well, from ``zero`` to the result ``count``."""
        test, body = loop.regions
        number = Value(Scalar(I64))
        m = Notation(Builder(loc=loop.loc))
        after = m("add", number, 1)
        closing = body.ops[-1]
        closing = replace(closing, operands=(*closing.operands, after))
        return replace(
            loop,
            operands=(*loop.operands, zero),
            results=(*loop.results, count),
            regions=(
                Region((*test.parameters, Value(Scalar(I64))), test.ops),
                Region((*body.parameters, number), (*body.body, *m.builder.ops, closing)),
            ),
        )


def place_of(m: Notation, slot: _Slot, dims: tuple[Dim, ...]) -> Value:
    """The place of a slot at the present turns, or where ``dims`` of it are."""
    assert slot.place is not None
    if not slot.place:
        return slot.memory
    turns = len(slot.place)
    starts = (*slot.place, *(0 for _ in dims))
    sizes = (*(1 for _ in slot.place), *dims)
    row = m("slice", slot.memory, starts=starts, sizes=sizes, steps=(1,) * (turns + len(dims)))
    return m("reshape", row, dims=dims)


class _Recalling:
    """Gives a reverse region what it mentions of the forward one."""

    def __init__(self, keeping: Keeping, level: Level, fresh: Callable[[str], str], kept: set[Value]) -> None:
        self.keeping, self.level, self.fresh, self.kept = keeping, level, fresh, kept
        self.m = Notation()
        self.values: dict[Value, Value] = {}
        self.sizes: dict[str, Dim] = {}

    def value(self, value: Value) -> Value:
        """What stands for a value."""
        if value not in self.level.defined:
            return value
        known = self.values.get(value)
        if known is None:
            known = self.values[value] = self._again(value)
        return known

    def _again(self, value: Value) -> Value:
        kind, op = value.type, self.level.defined[value]
        if isinstance(kind, Index) and kind.dim is not None:
            for name in _named(kind):
                self.size(name)
            return self.m.size(kind.dim)
        again = value not in self.kept and self.keeping.sources(self.level, value) is not None
        if op is not None and again:  # what only a size needs is in no cut, and kept if it must be
            if "binds" in op.attributes:
                self.size(op.attributes["binds"])
                return self.values[value]
            for operand in op.operands:
                self.value(operand)
            for name in op.sizes:
                self.size(name)
            self.m.builder.ops.append(clone_op(_unchecked(op), self.values))
            if "elementwise" in op.definition.traits:
                self.keeping.decide(self.level, value, "computed again")
            return self.values[value]
        for name in _named(kind):
            self.size(name)
        slot = self.keeping.slot(self.level, value, Scalar(I64) if isinstance(kind, Index) else kind)
        if isinstance(kind, Index):
            return self.m("to_index", self.keeping.restored(self.m, slot, Scalar(I64)), binds=self.fresh("size"))
        return self.keeping.restored(self.m, slot, kind)

    def size(self, name: str) -> None:
        """Bind a size that the forward region binds by a name of its own."""
        source = self.level.sizes.get(name)
        if source is None or name in self.sizes or self.level.turn_of(name):
            return
        renamed = self.fresh(name)
        self.sizes[name] = symbol(renamed)
        if isinstance(source, Op) and source.name == "to_index":
            self.values[source.result] = self.m("to_index", self.value(source.operands[0]), binds=renamed)
        else:
            slot = self.keeping.slot_of_size(self.level, name, source)
            self.m("to_index", self.keeping.restored(self.m, slot, Scalar(I64)), binds=renamed)


def _unchecked(op: Op) -> Op:
    """An op of the forward sweep that did not fail, and will not when it is computed again."""
    if not op.attributes.get("checked"):
        return op
    return replace(op, attributes={name: value for name, value in op.attributes.items() if name != "checked"})


def _named(kind: Type) -> Iterator[str]:
    dims: tuple[Dim, ...] = (kind.dim,) if isinstance(kind, Index) and kind.dim is not None else dims_of(kind)
    for dim in dims:
        yield from symbols(dim)
