"""Handing on what arrays hold instead of the arrays, where their shadows could not be handed on.

A loop that swaps arrays hands on their shadows with them (`shadows.py`). Inside of another loop a reverse turn does not
know what the forward turn showed, and an array that a turn makes anew has a shadow in that turn alone. Such a loop, or
branch, is given what the arrays hold: each turn begins and ends with a copy, and every variable lives in one turn.

    %u, %v = for ... %a, %b (..., %1, %2) {           %u', %v' = for ... (load %a), (load %b) (..., %1', %2') {
      store %2, ...                            ->       %1 = variable %1'; %2 = variable %2'
      yield %2, %1                                      store %2, ...
    }                                                   yield (load %2), (load %1)
                                                      }
                                                      %u = variable %u'; %v = variable %v'

It is right where an array *moves*: whoever hands it on never uses it again by another name, nor hands it on twice. What
a turn makes and hands on may lie in memory from outside of the loop, which each turn fills at its end; that is a new
array in each turn. And it is right where a branch chooses what is *read*, before anything is written that it may show:

    previous = rows[t - 1] if t > 0 else first
    rows[t] = np.tanh(w @ previous)

Where neither holds, all stays as it is, and the gradient is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field, replace

from jitflow.ir.core import Builder, Function, Op, Region, Value, uses, walk
from jitflow.ir.effects import Access, Effects, carried_in
from jitflow.ir.types import Place, Tensor, dims_of
from jitflow.passes.derivatives.notation import is_differentiable
from jitflow.records import dataclass

__all__ = ["with_contents"]


def with_contents(function: Function) -> Function:
    """The function with copies instead of places, in what is differentiated and could not be otherwise."""
    if not any(map(_positions, walk(function.region))):
        return function
    effects = Effects(function)
    region = _rewritten(function.region, effects)
    return function if region is function.region else replace(function, region=region)


def _rewritten(region: Region, effects: Effects) -> Region:
    """``region`` itself where nothing changes."""
    ops = []
    for op in region.ops:
        regions = tuple(_rewritten(inner, effects) for inner in op.regions)
        if op.name == "vjp":
            regions = tuple(_differentiable(inner, effects) for inner in regions)
        changed = any(new is not old for new, old in zip(regions, op.regions, strict=True))
        ops.append(replace(op, regions=regions) if changed else op)
    changed = any(new is not old for new, old in zip(ops, region.ops, strict=True))
    return Region(region.parameters, tuple(ops)) if changed else region


def _differentiable(region: Region, effects: Effects) -> Region:
    read = frozenset(_choices(region, effects, _hard(region)))
    if read:
        region = _Copies(read).region(region)
    if not _hard(region):
        return region
    filled = _Filling(region, effects).run()
    moves = _Moves(filled)
    return _Copies(_hard(filled)).region(filled) if moves.hold() else region


def _positions(op: Op) -> tuple[int, ...]:
    """The positions among the results of an op of the arrays that it hands on."""
    if not op.regions:
        return ()
    return tuple(
        number
        for number, value in enumerate(op.results)
        if isinstance(value.type, Place) and is_differentiable(value.type)
    )


def _giving(op: Op) -> Sequence[Region]:
    """The regions whose yields are the results."""
    return op.regions if op.name == "if" else op.regions[-1:]


def _initial(op: Op) -> Sequence[Value]:
    return () if op.name == "if" else op.operands[3:] if op.name == "for" else op.operands


def _hard(region: Region) -> frozenset[Op]:
    """The loops and branches whose shadows cannot be handed on."""
    found = set()
    for op in region.body:
        inside = [inner for part in op.regions for inner in walk(part)]
        found |= {inner for inner in inside if _positions(inner)}
        if positions := _positions(op):
            if op.name == "if":
                made = {result for inner in inside for result in inner.results}
                hard = any(part.yielded[number] in made for part in op.regions for number in positions)
            else:
                own = {carried_in(op, op.regions[-1])[number] for number in positions}
                hard = {op.regions[-1].yielded[number] for number in positions} != own
            found |= {op} if hard else set()
    return frozenset(found)


# -- what is chosen to be read


def _choices(region: Region, effects: Effects, hard: frozenset[Op]) -> Iterator[Op]:
    """The branches whose arrays are read only, each before anything is written to what it may show."""
    for number, op in enumerate(region.ops):
        for inner in op.regions:
            yield from _choices(inner, effects, hard)
        if op in hard and op.name == "if":
            behind = region.ops[number + 1 :]
            if all(_Reads(op.results[position], effects).all_in_time(behind) for position in _positions(op)):
                yield op


class _Reads:
    """What is done with an array that has been chosen."""

    def __init__(self, place: Value, effects: Effects) -> None:
        self.shown, self.effects = {place}, effects
        self.access = effects.access("reads", place)

    def all_in_time(self, ops: Sequence[Op], written: bool = False) -> bool:
        """Whether ``ops`` do nothing but read it, and not after a write to it, of which there may have been one."""
        for op in ops:
            if self.shown.intersection(op.operands):
                if "view" in op.definition.traits:
                    self.shown.add(op.result)
                elif op.name != "load" or written:
                    return False
            writes = any(self._is_write(access) for access in self.effects.of(op))
            before = written or (writes and op.name != "if")  # by a turn of a loop, for the next one
            if not all(self.all_in_time(region.ops, before) for region in op.regions):
                return False
            written = written or writes
        return True

    def _is_write(self, access: Access) -> bool:
        return access.kind == "writes" and self.effects.overlap(self.access, access)


# -- memory that each turn fills


class _Filling:
    """New variables for memory from outside that a region fills at its end and hands on."""

    def __init__(self, region: Region, effects: Effects) -> None:
        self.whole, self.effects = region, effects
        self.made = {op.result for op in walk(region) if op.name == "variable"}
        self.uses = uses(region)

    def run(self) -> Region:
        return self._region(self.whole)

    def _region(self, region: Region) -> Region:
        ops = []
        for op in region.ops:
            if op.regions:
                regions = tuple(map(self._region, op.regions))
                first = len(regions) - len(_giving(op))
                positions = _positions(op)
                filled = tuple(self._filled(inner, positions) for inner in regions[first:])
                op = replace(op, regions=(*regions[:first], *filled))
            ops.append(op)
        return Region(region.parameters, tuple(ops))

    def _filled(self, region: Region, positions: Sequence[int]) -> Region:
        ops = list(region.ops)
        for number in positions:
            memory = region.yielded[number]
            stores = [at for at, op in enumerate(ops) if op.name == "store" and op.operands[0] is memory]
            if memory not in self.made or self.uses[memory] != 2 or len(stores) != 1:
                continue
            (at,) = stores
            value = ops[at].operands[1]
            if dims_of(value.type) != dims_of(memory.type) or self._is_seen(memory, ops[at + 1 : -1]):
                continue
            builder = Builder(loc=ops[at].loc)
            fresh = builder.make("variable", value)
            ops[at] = builder.ops[0]
            ops[-1] = replace(ops[-1], operands=tuple(fresh if one is memory else one for one in ops[-1].operands))
        return Region(region.parameters, tuple(ops))

    def _is_seen(self, memory: Value, behind: Sequence[Op]) -> bool:
        """Whether an op may touch memory by another name."""
        own = self.effects.access("reads", memory)
        return any(
            access.kind in ("reads", "writes") and self.effects.overlap(own, access)
            for op in behind
            for access in self.effects.of(op)
        )


# -- whether arrays move


@dataclass(eq=False)
class _Moves:
    """How the arrays of a region are handed on."""

    region: Region
    bases: dict[Value, Value] = field(default_factory=dict)
    """What a view is a view of."""
    homes: dict[Value, Region] = field(default_factory=dict)
    """The region in which an array is made, or arrives."""

    def __post_init__(self) -> None:
        self._enter(self.region)

    def _enter(self, region: Region) -> None:
        for parameter in region.parameters:
            self.homes[parameter] = region
        for op in region.ops:
            if "view" in op.definition.traits:
                self.bases[op.result] = self._base(op.operands[0])
            elif op.name == "variable" or op.regions:
                self.homes.update(dict.fromkeys(op.results, region))
            for inner in op.regions:
                self._enter(inner)

    def _base(self, value: Value) -> Value:
        return self.bases.get(value, value)

    def hold(self) -> bool:
        """Whether every array that is handed on moves."""
        moved = {base for op in walk(self.region) if _positions(op) for base in self._handed(op)}
        return all(base in self.homes and self._once(base, self.homes[base]) for base in moved)

    def _handed(self, op: Op) -> Iterator[Value]:
        for number in _positions(op):
            yield from (self._base(value) for value in _initial(op)[number : number + 1])
            yield from (self._base(region.yielded[number]) for region in _giving(op))

    def _once(self, base: Value, region: Region) -> bool:
        """Whether the last op of a region that uses an array is the only one that hands it on, and once at that."""
        users = [op for op in region.ops if self._mentions(op, base)]
        if any(self._hands_on(op, base) for op in users[:-1]):
            return False
        return not users or self._ends(users[-1], base)

    def _ends(self, op: Op, base: Value) -> bool:
        if not self._hands_on(op, base):
            return True
        if op.name == "if":
            return all(self._once(base, region) for region in op.regions)
        return [self._base(value) for value in op.operands].count(base) == 1 and not self._inside(op, base)

    def _hands_on(self, op: Op, base: Value) -> bool:
        if op.name in ("yield", "for", "while") and base in map(self._base, op.operands):
            return True
        return any(self._hands_on(inner, base) for region in op.regions for inner in region.ops)

    def _inside(self, op: Op, base: Value) -> bool:
        return any(self._mentions(inner, base) for region in op.regions for inner in region.ops)

    def _mentions(self, op: Op, base: Value) -> bool:
        return base in map(self._base, op.operands) or self._inside(op, base)


# -- copies


class _Copies:
    """Rewrites the loops and branches ``chosen`` to hand on what arrays hold."""

    def __init__(self, chosen: frozenset[Op]) -> None:
        self.chosen = chosen
        self.values: dict[Value, Value] = {}

    def region(self, region: Region, taken: Sequence[Value] = (), given: Sequence[int] = ()) -> Region:
        """The region, in which what arrives as ``taken`` is no place any more, nor what it yields at ``given``."""
        builder = Builder(loc=region.ops[0].loc)
        arriving = {place: _contents(place) for place in taken}
        for place, value in arriving.items():
            self.values[place] = builder.make("variable", value)
        for op in region.ops:
            builder.loc = op.loc
            operands = [self.values.get(operand, operand) for operand in op.operands]
            if op.name == "yield":
                self._load(builder, operands, given)
            if op in self.chosen:
                self._copying(builder, op, operands)
            else:
                regions = tuple(map(self.region, op.regions))
                builder.ops.append(replace(op, operands=tuple(operands), regions=regions))
        return Region(tuple(arriving.get(place, place) for place in region.parameters), tuple(builder.ops))

    def _load(self, builder: Builder, operands: list[Value], positions: Sequence[int]) -> None:
        for number in positions:
            operands[number] = builder.make("load", operands[number])

    def _copying(self, builder: Builder, op: Op, operands: list[Value]) -> None:
        """Append ``op`` as it is then, and the variables that hold its results."""
        positions = _positions(op)
        if op.name != "if":
            first = len(operands) - len(op.results)
            self._load(builder, operands, [first + number for number in positions])
        regions = []
        for inner in op.regions:
            taken = [] if op.name == "if" else [carried_in(op, inner)[number] for number in positions]
            regions.append(self.region(inner, taken, positions if inner in _giving(op) else ()))
        results = [_contents(value) if number in positions else value for number, value in enumerate(op.results)]
        builder.ops.append(replace(op, operands=tuple(operands), results=tuple(results), regions=tuple(regions)))
        for number in positions:
            self.values[op.results[number]] = builder.make("variable", results[number])


def _contents(place: Value) -> Value:
    kind = place.type
    assert isinstance(kind, Place)
    return Value(Tensor(kind.dtype, kind.dims), place.name)
