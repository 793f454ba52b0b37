"""The reverse sweep: ops in reverse order, each handing the cotangents of its results on to its operands.

A value has a cotangent, an SSA value that contributions are added to. A value that is used in a loop or a branch, an
array of which parts are used, and every variable has an *accumulator* instead: storage of its shape, which
contributions are added to in place. For a variable this is its *shadow*: at each moment of the reverse sweep it holds
the cotangent of what the variable held at that moment of the forward one. So loads add to the shadow and stores take
from it, and views of the variable are the same views of the shadow.

    store %p, %x        ->     %1 = load %p'; store %p', 0; cotangent of %x += %1
    %y = load %p        ->     store %p', load %p' + cotangent of %y

``where`` never leaks: what comes from the arm not taken is a zero, and behind one a product is a zero where the
cotangent is, though its factor be infinite (`factors.scaled`). What comes out of storage or a region may have met such
a choice on its way, so it counts as behind one if there is any. Where a root has its infinite slope, what does not move
has none: the gradient of a norm at 0 is 0, as that of ``absolute`` is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import field
from functools import partial

from jitflow.ir.core import Builder, Op, Region, Value, walk
from jitflow.ir.types import Tape, Type, Variable, dims_of
from jitflow.passes.derivatives.activity import Activity
from jitflow.passes.derivatives.cleared import put_where_cleared
from jitflow.passes.derivatives.factors import scaled
from jitflow.passes.derivatives.indexing import scattered
from jitflow.passes.derivatives.notation import Notation, dtype_of, is_differentiable, plain
from jitflow.passes.derivatives.overlapping import add_in_one_sweep
from jitflow.passes.derivatives.partials import PARTIALS
from jitflow.passes.derivatives.reductions import WEIGHTS, spread
from jitflow.passes.derivatives.remember import Keeping, Level
from jitflow.passes.derivatives.rules import Part, no_rule
from jitflow.passes.derivatives.shadows import Shadows
from jitflow.passes.derivatives.transposes import TRANSPOSES
from jitflow.records import dataclass

__all__ = ["CHOOSING", "ROOTS", "Reversal", "Sweep", "active_outside", "zeros_where_none"]

CHOOSING = frozenset("select maximum minimum fmax fmin".split())
"""Ops that hand zeros on to the operand that they did not choose."""


ROOTS = frozenset("sqrt cbrt power".split())
"""Ops that are finite where their slope is infinite: a change of 0 is still none."""

MIXING = frozenset("matmul contract host_call".split())
"""Ops behind which it is not known any more which elements were infinite."""


@dataclass(eq=False)
class Reversal:
    """What the sweeps of one reversal share. ``fresh`` names a new size after another one."""

    activity: Activity
    keeping: Keeping
    shadows: Shadows
    producers: dict[Value, Op]
    fresh: Callable[[str], str]
    alone: Set[Op]
    """Slices whose elements nothing else reads (`alone.py`)."""
    gathers: Mapping[Op, Value]
    """The places that gathers read from, if these still hold what is read when the gather comes."""
    doubtful: bool
    """Whether there are ops that choose, so that what comes out of storage and regions may be ``masked``."""
    masked: set[Value] = field(default_factory=set)
    """Cotangents that are zero where an arm was not taken."""
    unbounded: set[Value] = field(default_factory=set)
    """Cotangents that may be infinite where a value is finite."""
    cleared: set[Op] = field(default_factory=set)
    """The stores of zeros where a cotangent was taken out, and the accumulators that start with zeros."""


class Sweep:
    """The reverse of one region of the forward sweep."""

    def __init__(self, reversal: Reversal, level: Level, outer: Sweep | None = None) -> None:
        self.reversal = reversal
        self.level = level
        self.outer = outer
        self.m = Notation(Builder(), reversal.fresh)
        self.cotangents: dict[Value, Value] = {}
        self.accumulators: dict[Value, Value] = {}

    def run(self, region: Region) -> None:
        """Go through the ops of a region in reverse."""
        for op in reversed(region.body):
            self.m.builder.loc = op.loc
            self.op(op)
        ops = put_where_cleared(self.m.builder.ops, self.reversal.cleared)
        if self.outer is not None and self.level.turns is not None:
            ops = add_in_one_sweep(ops, self.outer.m, self.outer.level.known)
        else:
            ops = add_in_one_sweep(ops, None, ())
        self.m.builder.ops[:] = ops

    def op(self, op: Op) -> None:
        """Hand on what one op has got."""
        from jitflow.passes.derivatives.reverse_regions import REGIONS

        if op.name in REGIONS:
            REGIONS[op.name](self, op)
        elif op.name in _STORAGE:
            _STORAGE[op.name](self, op)
        else:
            self.values(op)

    # -- cotangents

    def is_active(self, value: Value) -> bool:
        return value in self.reversal.activity

    def accumulator(self, value: Value) -> Value | None:
        """The accumulator of a value or variable, if it has one."""
        sweep: Sweep | None = self
        while sweep is not None:
            if value in sweep.accumulators:
                return sweep.accumulators[value]
            sweep = sweep.outer
        return self.reversal.shadows.early.get(value)

    def accumulate(self, value: Value) -> Value:
        """The accumulator of a value or variable, made here if there is none."""
        found = self.accumulator(value)
        if found is None:
            if isinstance(value.type, Tape):
                (found,) = self.m.add("tape", dtype=value.type.dtype)
                self.accumulators[value] = found
                return found
            start = self.cotangents.pop(value, None)
            found = self.m("variable", self.m.zeros(value.type) if start is None else start)
            self.accumulators[value] = found
            if start is None:
                self.reversal.cleared.add(self.m.builder.ops[-1])
        return found

    def cotangent(self, value: Value) -> Value | None:
        """What has arrived at a value, None if nothing has."""
        if value in self.accumulators:
            return self.read(self.accumulators[value])
        return self.cotangents.get(value)

    def read(self, shadow: Value) -> Value:
        """What an accumulator or a part of it holds."""
        found = self.m("load", shadow)
        if self.reversal.doubtful:
            self.reversal.masked.add(found)
        return found

    def contribute(
        self, value: Value, arriving: Value | Part | None, masked: bool = False, unbounded: bool = False,
        alone: bool = False,
    ) -> None:  # fmt: skip
        """Add to the cotangent of a value; ``alone``: a part of it to which nothing else is added."""
        if arriving is None or not self.is_active(value):
            return
        if isinstance(arriving, Part):
            add = arriving.put_in if alone and arriving.put_in is not None else arriving.add_to
            add(self.m, self.accumulate(value))
            return
        masked = masked or arriving in self.reversal.masked
        arriving = self.m.fitted(arriving, value.type)
        accumulator = self.accumulator(value)
        if accumulator is not None:
            self.m.increase(accumulator, arriving)
            return
        before = self.cotangents.get(value)
        total = arriving if before is None else self.m("add", before, arriving)
        self.cotangents[value] = total
        if masked or before in self.reversal.masked:
            self.reversal.masked.add(total)
        if unbounded or before in self.reversal.unbounded:
            self.reversal.unbounded.add(total)

    # -- ops on values

    def values(self, op: Op) -> None:
        """An op that computes its results of its operands' values."""
        if not any(self.is_active(operand) for operand in op.operands):
            return
        cotangents = [self.cotangent(result) for result in op.results]
        if all(cotangent is None for cotangent in cotangents):
            return
        present = [cotangent for cotangent in cotangents if cotangent is not None]
        masked = op.name in CHOOSING or not self.reversal.masked.isdisjoint(present)
        unbounded = op.name not in MIXING and not self.reversal.unbounded.isdisjoint(present)
        scale = partial(scaled, self.m, adjoint=True, masked=masked or op.name in ROOTS, unbounded=unbounded)
        if op.name in TRANSPOSES:
            arriving = TRANSPOSES[op.name](self.m, op, cotangents)
        elif op.name in PARTIALS:
            arriving = [scale(present[0], factor) for factor in PARTIALS[op.name](self.m, op)]
        elif op.name in WEIGHTS:
            arriving = [scale(spread(self.m, present[0], op), WEIGHTS[op.name](self.m, op))]
        else:
            raise no_rule(op)
        place = self.reversal.gathers.get(op)
        for operand, what in zip(op.operands, arriving, strict=True):
            if place is not None and isinstance(what, Part):
                what.add_to(self.m, self.shadow(place))
            else:
                self.contribute(operand, what, masked, unbounded or op.name in ROOTS, op in self.reversal.alone)

    # -- storage

    def shadow(self, place: Value) -> Value:
        """The place in the shadow that stands for a place."""
        known = self.accumulator(place)
        if known is not None:
            return known
        if isinstance(place.type, Variable):
            return self.accumulate(place)
        handed_on = self.reversal.shadows.of.get(place)
        if handed_on is not None:
            return handed_on
        op = self.reversal.producers[place]
        return self.m(op.name, self.shadow(op.operands[0]), **dict(op.attributes))

    def load(self, op: Op) -> None:
        cotangent, place = self.cotangent(op.result), op.operands[0]
        if cotangent is None or not self.is_active(place):
            return
        window = self.reversal.producers.get(place)
        if window is not None and window.name == "window":  # of a shadow it would show elements several times
            (arriving,) = TRANSPOSES["window"](self.m, window, [cotangent])
            shadow = self.shadow(window.operands[0])
            if isinstance(arriving, Part):
                arriving.add_to(self.m, shadow)
            elif arriving is not None:
                self.m.increase(shadow, arriving)
            return
        self.m.increase(self.shadow(place), cotangent)

    def store(self, op: Op) -> None:
        place, value = op.operands
        if not self.is_active(place):
            return
        shadow = self.shadow(place)
        cotangent = self.read(shadow) if self.is_active(value) else None
        self.m.add("store", shadow, self.m.number(0, dtype_of(shadow)))
        self.reversal.cleared.add(self.m.builder.ops[-1])
        self.contribute(value, cotangent)

    def scatter(self, op: Op) -> None:
        place, *indices, value = op.operands
        if not self.is_active(place):
            return
        shadow = self.shadow(place)
        arriving = scattered(self.m, shadow, op) if self.is_active(value) else None
        if op.attributes.get("combine") != "add":
            zero = self.m.number(0, dtype_of(shadow))
            self.m.add("scatter", shadow, *indices, zero, axis=op.attributes["axis"], combine="set")
        self.contribute(value, arriving, self.reversal.doubtful)

    def variable(self, op: Op) -> None:
        shadow = self.accumulator(op.result)
        if shadow is not None and self.is_active(op.operands[0]):
            self.contribute(op.operands[0], self.read(shadow))

    def push(self, op: Op) -> None:
        tape, value = op.operands
        if self.is_active(tape):
            (cotangent,) = self.m.add("pop", self.accumulate(tape), types=[plain(value.type)])
            self.contribute(value, cotangent, self.reversal.doubtful)

    def pop(self, op: Op) -> None:
        (tape,) = op.operands
        if self.is_active(tape):
            cotangent = zeros_where_none(self.m, self.cotangent(op.result), plain(op.result.type))
            self.m.add("push", self.accumulate(tape), cotangent)

    def peek(self, op: Op) -> None:
        """The cotangents on a tape are as many as the values on its own were."""
        tape, count = op.operands
        cotangent = self.cotangent(op.result)
        if self.is_active(tape) and cotangent is not None:
            shadow = self.accumulate(tape)
            (before,) = self.m.add("peek", shadow, count, types=[plain(op.result.type)])
            self.m.add("poke", shadow, count, self.m("add", before, cotangent))

    def poke(self, op: Op) -> None:
        tape, count, value = op.operands
        if self.is_active(tape):
            shadow = self.accumulate(tape)
            (cotangent,) = self.m.add("peek", shadow, count, types=[plain(value.type)])
            self.m.add("poke", shadow, count, self.m.number(0, dtype_of(value)))
            self.contribute(value, cotangent, self.reversal.doubtful)

    def nothing(self, op: Op) -> None:
        """An op that no cotangent passes."""


_STORAGE: dict[str, Callable[[Sweep, Op], None]] = {
    "load": Sweep.load,
    "store": Sweep.store,
    "scatter": Sweep.scatter,
    "variable": Sweep.variable,
    "tape": Sweep.nothing,
    "push": Sweep.push,
    "pop": Sweep.pop,
    "peek": Sweep.peek,
    "poke": Sweep.poke,
    "check": Sweep.nothing,
    "print": Sweep.nothing,
    "mark": Sweep.nothing,
}


def active_outside(sweep: Sweep, op: Op) -> tuple[list[Value], list[Value]]:
    """The active values from outside that the regions of an op use: arrays and storage, and numbers."""
    inside = {value for region in op.regions for value in _defined(region)}
    arrays: dict[Value, None] = {}
    numbers: dict[Value, None] = {}
    for used in (operand for region in op.regions for each in walk(region) for operand in _used_by(sweep, each)):
        storage = isinstance(used.type, Variable | Tape)
        roots: Iterable[Value] = (used,)
        if not storage and not is_differentiable(used.type):
            continue
        if used in sweep.reversal.activity.effects.sets or storage:
            roots = sweep.reversal.activity.roots(used)
        for value in roots:
            if value not in inside and sweep.is_active(value):
                (arrays if dims_of(value.type) or isinstance(value.type, Variable | Tape) else numbers)[value] = None
    return list(arrays), list(numbers)


def _used_by(sweep: Sweep, op: Op) -> Iterable[Value]:
    """What an op uses; of what is gathered from a place, that place."""
    place = sweep.reversal.gathers.get(op)
    return op.operands if place is None else (place, *op.operands[1:])


def _defined(region: Region) -> Iterable[Value]:
    yield from region.parameters
    for op in region.ops:
        yield from op.results
        for inner in op.regions:
            yield from _defined(inner)


def zeros_where_none(m: Notation, value: Value | None, kind: Type) -> Value:
    """A cotangent of a type, which is zero if nothing has arrived."""
    return m.zeros(kind) if value is None else m.fitted(value, kind)
