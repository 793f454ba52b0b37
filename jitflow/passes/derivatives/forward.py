"""Forward mode: tangents ride along with values.

    %2: f64[n] = sin %x           %2: f64[n] = sin %x
    %3: f64[n] = multiply %2, %x  %4: f64[n] = cos %x
                             ->   %2': f64[n] = multiply %x', %4
                                  %3: f64[n] = multiply %2, %x
                                  %3': f64[n] = add (multiply %2', %x), (multiply %x', %2)

Every active value has a tangent of its dtype and dims; None is zero. Every active variable has a *twin*, storage that
holds the tangent of what the variable holds, and places have the same places in the twin: loads and stores of the one
are followed by loads and stores of the other. Branches and loops carry tangents and twins beside what they carry. So
forward mode keeps nothing, and the order of the program is that of its derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from jitflow.errors import UserNotImplementedError
from jitflow.ir.core import Builder, Op, Region, Value, walk
from jitflow.ir.types import Place, Variable
from jitflow.passes.analyses.order import bound_sizes, named_sizes
from jitflow.passes.derivatives.activity import Activity
from jitflow.passes.derivatives.factors import scaled
from jitflow.passes.derivatives.notation import Notation, dtype_of, plain
from jitflow.passes.derivatives.partials import PARTIALS
from jitflow.passes.derivatives.reductions import WEIGHTS
from jitflow.passes.derivatives.renew import renewed
from jitflow.passes.derivatives.reverse import CHOOSING, ROOTS
from jitflow.passes.derivatives.rules import Change, Refused, no_rule, total
from jitflow.passes.derivatives.transposes import LINEAR, TANGENTS

__all__ = ["Forward"]


class Forward:
    """The tangents of one region. ``fresh`` names a new size after another one, ``known`` are those bound around it."""

    def __init__(
        self, activity: Activity, producers: Mapping[Value, Op], fresh: Callable[[str], str], known: frozenset[str]
    ) -> None:
        self.activity = activity
        self.known = known
        self.producers = producers
        self.tangents: dict[Value, Value] = {}
        self.twins: dict[Value, Value] = {}
        self.masked: set[Value] = set()
        """Tangents that are zero where an arm was not taken."""
        self.doubtful = False
        """Whether there may be such tangents, so that what regions and storage hand on may be one."""
        self.before = Notation(Builder(), fresh)
        """Writes what stands before the region: the twins of storage from outside."""
        self.m = Notation(Builder(), fresh)

    def run(self, region: Region, tangents: Sequence[Value], outputs: int) -> tuple[list[Op], list[Value]]:
        """The ops of a region with those of its tangents, and the tangents of its first ``outputs`` results."""
        for parameter, tangent in zip(region.parameters, tangents, strict=True):
            if self.is_active(parameter):
                self.tangents[parameter] = self.m.fitted(tangent, parameter.type)
        self.doubtful = any(op.name in CHOOSING for op in walk(region))
        self.ops(region)
        found = [self.tangent_or_zeros(value) for value in region.yielded[:outputs]]
        return [*self.before.builder.ops, *self.m.builder.ops], found

    def is_active(self, value: Value) -> bool:
        """Whether a value, variable or place has a tangent."""
        return value in self.activity

    def ops(self, region: Region) -> None:
        """Append the ops of a region, and behind each what gives the tangents of its results."""
        self.known |= {name for parameter in region.parameters for name in named_sizes(parameter.type)}
        for op in region.body:
            self.known |= set(bound_sizes(op))
            self.m.builder.loc = op.loc
            if op.name in _REGIONS:
                _REGIONS[op.name](self, op)
                continue
            self.m.builder.ops.append(op)
            if op.name in _STORAGE:
                _STORAGE[op.name](self, op)
            elif "view" in op.definition.traits and isinstance(op.result.type, Place):
                pass  # its twin is made where it is needed
            elif any(self.is_active(result) for result in op.results):
                self.values(op)

    # -- tangents

    def tangent(self, value: Value) -> Change:
        """The tangent of a value, None if it is zero."""
        return self.tangents.get(value)

    def tangent_or_zeros(self, value: Value) -> Value:
        """The tangent of a value, of its dtype and dims."""
        tangent = self.tangent(value)
        return self.m.zeros(plain(value.type)) if tangent is None else self.m.fitted(tangent, plain(value.type))

    def enter(self, value: Value, tangent: Change, masked: bool = False) -> None:
        """Give a value its tangent."""
        if tangent is None or not self.is_active(value):
            return
        tangent = self.tangents[value] = self.m.fitted(tangent, plain(value.type))
        if masked:
            self.masked.add(tangent)

    def values(self, op: Op) -> None:
        """An op that computes its results of its operands' values."""
        tangents = [self.tangent(operand) for operand in op.operands]
        if all(tangent is None for tangent in tangents):
            return
        masked = op.name in CHOOSING or not self.masked.isdisjoint(filter(None, tangents))
        for result, tangent in zip(op.results, self.changes(op, tangents, masked), strict=True):
            if not isinstance(tangent, Refused):
                self.enter(result, tangent, masked)
            elif self.is_active(result):
                raise no_rule(op, tangent.mend)

    def changes(self, op: Op, tangents: Sequence[Change], masked: bool) -> Sequence[Change | Refused]:
        """The tangents of an op's results."""
        m = self.m
        if op.name in TANGENTS:
            return TANGENTS[op.name](m, op, tangents)
        if op.name in PARTIALS:
            pairs = zip(tangents, PARTIALS[op.name](m, op), strict=True)
            masked = masked or op.name in ROOTS
            return (total(m, [None if t is None else scaled(m, t, factor, masked=masked) for t, factor in pairs]),)
        if op.name in WEIGHTS:
            (tangent,) = tangents
            assert tangent is not None
            weighted = scaled(m, tangent, WEIGHTS[op.name](m, op), masked=masked)
            assert weighted is not None
            return (m("reduce_add", weighted, axes=op.attributes["axes"]),)
        if op.name in LINEAR:
            linear = op.operands[:1] if op.name == "gather" else op.operands
            operands = [*map(self.tangent_or_zeros, linear), *op.operands[len(linear) :]]
            return (m(op.name, *operands, **dict(op.attributes)),)
        raise no_rule(op)

    # -- storage

    def twin(self, place: Value) -> Value:
        """The place in the twin that stands for a place."""
        known = self.twins.get(place)
        if known is not None:
            return known
        if isinstance(place.type, Variable):  # from outside: all others have got theirs where they were made
            known = self.twins[place] = self.before("variable", self.before.zeros(place.type))
            return known
        op = self.producers.get(place)
        if op is None or "view" not in op.definition.traits:
            raise UserNotImplementedError(
                "the derivative of what is written to an array that loops or branches around the function hand on",
                mend="write to a copy of it: u = u.copy()",
            )
        return self.m(op.name, self.twin(op.operands[0]), **dict(op.attributes))

    def variable(self, op: Op) -> None:
        if self.is_active(op.result):
            self.twins[op.result] = self.m("variable", self.tangent_or_zeros(op.operands[0]))

    def load(self, op: Op) -> None:
        (place,) = op.operands
        if self.is_active(place) and self.is_active(op.result):
            self.enter(op.result, self.m("load", self.twin(place)), self.doubtful)

    def store(self, op: Op) -> None:
        place, value = op.operands
        if self.is_active(place):
            self.m.add("store", self.twin(place), self.stored(value))

    def scatter(self, op: Op) -> None:
        place, *indices, value = op.operands
        if self.is_active(place) and not (op.attributes.get("combine") == "add" and self.tangent(value) is None):
            self.m.add("scatter", self.twin(place), *indices, self.stored(value), **dict(op.attributes))

    def stored(self, value: Value) -> Value:
        """The tangent of a value that is written somewhere: the number 0 if it has none."""
        tangent = self.tangent(value)
        return self.m.number(0, dtype_of(value)) if tangent is None else self.m.fitted(tangent, plain(value.type))

    def tape(self, op: Op) -> None:
        if self.is_active(op.result):
            (self.twins[op.result],) = self.m.add("tape", dtype=op.attributes["dtype"])

    def push(self, op: Op) -> None:
        tape, value = op.operands
        if self.is_active(tape):
            self.m.add("push", self.twins[tape], self.tangent_or_zeros(value))

    def pop(self, op: Op) -> None:
        (tape,) = op.operands
        if self.is_active(tape):  # what was pushed has to go, wanted or not
            (tangent,) = self.m.add("pop", self.twins[tape], types=[plain(op.result.type)])
            self.enter(op.result, tangent, self.doubtful)

    def peek(self, op: Op) -> None:
        tape, count = op.operands
        if self.is_active(tape):
            (tangent,) = self.m.add("peek", self.twins[tape], count, types=[plain(op.result.type)])
            self.enter(op.result, tangent, self.doubtful)

    def poke(self, op: Op) -> None:
        tape, count, value = op.operands
        if self.is_active(tape):
            self.m.add("poke", self.twins[tape], count, self.stored(value))

    def nothing(self, op: Op) -> None:
        """An op that has no results with a tangent."""

    # -- branches and loops

    def branch(self, op: Op) -> None:
        carried = [number for number, value in enumerate(op.results) if self.is_active(value)]
        regions = []
        for region in op.regions:
            regions.append(self.inside(region, (), [region.yielded[number] for number in carried]))
        self.append(op, op.operands, regions, [op.results[number] for number in carried])

    def loop(self, op: Op) -> None:
        first, shift = (3, 1) if op.name == "for" else (0, 0)
        body = op.regions[-1]
        carried = [
            number
            for number, values in enumerate(zip(body.parameters[shift:], op.results, strict=True))
            if any(map(self.is_active, values))
        ]
        initial = [self.companion(op.operands[first + number]) for number in carried]
        regions = []
        for region in op.regions:
            parameters = [region.parameters[shift + number] for number in carried]
            yielded = [region.yielded[number] for number in carried] if region is body else []
            regions.append(self.inside(region, parameters, yielded))
        self.append(op, (*op.operands, *initial), regions, [op.results[number] for number in carried])

    def recomputed(self, op: Op) -> None:
        (region,) = op.regions
        taken = [number for number, value in enumerate(region.parameters) if self.is_active(value)]
        given = [number for number, value in enumerate(op.results) if self.is_active(value)]
        initial = [self.companion(op.operands[number]) for number in taken]
        parameters = [region.parameters[number] for number in taken]
        inside = self.inside(region, parameters, [region.yielded[number] for number in given])
        self.append(op, (*op.operands, *initial), [inside], [op.results[number] for number in given])

    def custom(self, op: Op) -> None:
        """A function whose reverse is given, which is linear in what it takes: the reverse of that is its tangent."""
        self.m.builder.ops.append(op)
        if not any(map(self.is_active, op.results)):
            return
        m, rule = self.m, op.regions[1]
        taken = tuple(Value(result.type) for result in op.results)
        ops, yielded = renewed(rule, (*op.operands, *taken), m.fresh, self.known)
        zeros = [m.converted(m.zeros(result.type), result.type) for result in op.results]
        seeds = [m.converted(self.tangent_or_zeros(operand), operand.type) for operand in op.operands]
        found = m.add(
            "vjp", *zeros, *seeds, regions=(Region(taken, (*ops, replace(rule.ops[-1], operands=yielded))),),
            inputs=len(zeros), outputs=len(seeds), variables=0,
            types=[*(operand.type for operand in op.operands), *(result.type for result in op.results)],
        )  # fmt: skip
        self.tangents.update(zip(op.results, found[len(seeds) :], strict=True))

    def companion(self, value: Value) -> Value:
        """The tangent of a value, the twin of a place."""
        return self.twin(value) if isinstance(value.type, Place | Variable) else self.tangent_or_zeros(value)

    def meet(self, value: Value) -> Value:
        """A new value for the tangent or the twin of something that a region takes or an op gives."""
        is_place = isinstance(value.type, Place)
        new = Value(value.type if is_place else plain(value.type))
        (self.twins if is_place else self.tangents)[value] = new
        if not is_place and self.doubtful:
            self.masked.add(new)
        return new

    def inside(self, region: Region, parameters: Sequence[Value], yielded: Sequence[Value]) -> Region:
        """A region with its tangents, which takes those of ``parameters`` and yields those of ``yielded``."""
        outside, self.m = self.m, self.m.inside()
        taken = [self.meet(value) for value in parameters]
        self.ops(region)
        found = [self.companion(value) for value in yielded]
        closing = replace(region.ops[-1], operands=(*region.yielded, *found))
        result = Region((*region.parameters, *taken), (*self.m.builder.ops, closing))
        self.m = outside
        return result

    def append(self, op: Op, operands: Sequence[Value], regions: Sequence[Region], more: Sequence[Value]) -> None:
        """Append ``op`` with the tangents of ``more`` of its results."""
        results = (*op.results, *map(self.meet, more))
        self.m.builder.ops.append(replace(op, operands=tuple(operands), results=results, regions=tuple(regions)))


_STORAGE: dict[str, Callable[[Forward, Op], None]] = {
    "variable": Forward.variable,
    "load": Forward.load,
    "store": Forward.store,
    "scatter": Forward.scatter,
    "tape": Forward.tape,
    "push": Forward.push,
    "pop": Forward.pop,
    "peek": Forward.peek,
    "poke": Forward.poke,
    "check": Forward.nothing,
    "print": Forward.nothing,
    "mark": Forward.nothing,
}

_REGIONS: dict[str, Callable[[Forward, Op], None]] = {
    "if": Forward.branch,
    "for": Forward.loop,
    "while": Forward.loop,
    "recompute": Forward.recomputed,
    "custom_vjp": Forward.custom,
}
