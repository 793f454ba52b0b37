"""A program that raises leaves every variable that outlives it as it was: updates wait for the last op that can fail.

Where an op that may fail (a check, a call out, a loop that Ctrl-C ends) can come after a store to such a variable, the
program writes to a local one up to the last op that may fail. Behind it the local one is stored to the variable, and
from there on the program writes to that. Where nothing can fail after the first store, all stays as it is.

    store %w, %0                            %1: f64[n] = load %w
    check %ok                               %2: var f64[n] = variable %1
    store %w, %3                     ->     store %2, %0
                                            check %ok
                                            %4: f64[n] = load %2
                                            store %w, %4
                                            store %w, %3

`promote` makes values of local variables in straight code, so that a kernel still writes its result to the variable in
place; what a loop writes to stays a copy. Allocations are none of this pass's business: `lower.settle` puts them in
front of what is written here. Relies on the attribute ``variables`` of the function, the positions of the
parameters that outlive it, and on `jitflow.ir.effects`; results show no place of these.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain
from types import MappingProxyType

from jitflow.ir.core import Builder, Function, Op, Region, Value, walk
from jitflow.ir.effects import ANYTHING, Effects, is_pure, may_fail
from jitflow.ir.types import Place, Variable
from jitflow.passes.analyses.order import bound_sizes

__all__ = ["Needs", "commit"]


def commit(function: Function) -> Function:
    """The function with its updates of lasting variables behind the last op that may fail."""
    positions = function.attributes.get("variables", ())
    lasting = [value for value in map(function.parameters.__getitem__, positions) if isinstance(value.type, Variable)]
    if not lasting:
        return function
    if any(op.name == "host_call" for op in walk(function.region)):
        function = replace(function, region=_with_failing_calls(function.region))
    function = replace(function, region=_with_early_checks(function, frozenset(lasting)))
    effects = Effects(function)
    search = _Search(effects, frozenset(lasting))
    search.ops(function.region.ops, frozenset())
    if not search.torn:
        return function
    torn = [value for value in lasting if value in search.torn]
    ops = function.region.ops
    last = len(ops) - 1  # the ``yield``
    if not _flow(function.region, effects, search.torn):
        last = 1 + max(number for number, op in enumerate(ops) if _may_end(op))
    return replace(function, region=_committed(function.region, torn, last))


def _with_failing_calls(region: Region) -> Region:
    """The region with calls of Python that may fail: if by nothing else, then by Ctrl-C or for want of memory."""
    ops = []
    for op in region.ops:
        attributes = op.attributes
        if op.name == "host_call" and attributes["effect"] == "none":
            attributes = MappingProxyType({**attributes, "effect": "check"})
        ops.append(replace(op, attributes=attributes, regions=tuple(map(_with_failing_calls, op.regions))))
    return Region(region.parameters, tuple(ops))


def _with_early_checks(function: Function, lasting: frozenset[Value]) -> Region:
    """The checks of the function that need nothing but arithmetic come before its first store to a lasting variable.

    Nobody sees that store if a check behind it fails. What else may fail keeps its place among the checks, and so does
    a store to anything else that the caller sees.
    """
    effects, ops = Effects(function), function.region.ops
    search, seen = _Search(effects, lasting), {ANYTHING, *function.parameters} - lasting
    first = next((number for number, op in enumerate(ops) if search.ops([op], frozenset())), len(ops))
    early: dict[Op, None] = {}
    needs = Needs(ops, first)
    for place in range(first, len(ops)):
        if ops[place].name == "check":
            needed = needs.of(place)
            if not needed:
                break
            early.update(dict.fromkeys(needed))
        elif _may_end(ops[place]) or not seen.isdisjoint(effects.written(ops[place])):
            break
    rest = (op for op in ops[first:] if op not in early)
    return Region(function.region.parameters, (*ops[:first], *early, *rest))


class Needs:
    """What ops need of those before them, from the position ``first`` on: who gives operands, or binds their sizes."""

    def __init__(self, ops: Sequence[Op], first: int) -> None:
        self._ops = ops
        self._givers: dict[Value | str, list[int]] = {}
        for place in range(first, len(ops)):
            for given in chain[Value | str](ops[place].results, bound_sizes(ops[place])):
                self._givers.setdefault(given, []).append(place)

    def of(self, place: int) -> list[Op]:
        """The op at ``place`` with the pure ones that it needs, in order; nothing if it needs another one."""
        found = {place}
        frontier = [place]
        while frontier:
            op = self._ops[last := frontier.pop()]
            for wanted in chain[Value | str](op.operands, op.sizes):
                for giver in self._givers.get(wanted, ()):
                    if giver < last and giver not in found:
                        if self._ops[giver].regions or not is_pure(self._ops[giver]):
                            return []
                        found.add(giver)
                        frontier.append(giver)
        return [self._ops[number] for number in sorted(found)]


def _may_end(op: Op) -> bool:
    """Whether the program may end with an exception here: loops are interrupted as well."""
    loops = any(inner.name in ("for", "while") for region in op.regions for inner in walk(region))
    return op.name in ("for", "while") or loops or may_fail(op)


class _Search:
    """Goes over the ops in order and finds the variables that an op may fail behind a store to."""

    def __init__(self, effects: Effects, lasting: frozenset[Value]) -> None:
        self.effects = effects
        self.lasting = lasting
        self.torn: set[Value] = set()

    def ops(self, ops: Iterable[Op], written: frozenset[Value]) -> frozenset[Value]:
        """Go over ops that begin when ``written`` have been stored to; returns those that have been at the end."""
        for op in ops:
            if op.name in ("for", "while"):
                self.torn |= written
                inside = self.ops((inner for region in op.regions for inner in region.ops), written)
                self.torn |= inside  # the next turn may fail, or be interrupted
                written = inside
            elif op.regions:
                written = written.union(*(self.ops(region.ops, written) for region in op.regions))
            else:
                if may_fail(op):
                    self.torn |= written
                written |= self.stored_by(op)
        return written

    def stored_by(self, op: Op) -> frozenset[Value]:
        """The lasting variables that an op writes to. One that may fail as well does that first."""
        written = self.effects.written(op)
        return self.lasting if ANYTHING in written else self.lasting & written


def _flow(region: Region, effects: Effects, variables: set[Value]) -> bool:
    """Whether a place of these variables flows into a region or out of one, where it may be another's as well."""
    flowing = [value for op in walk(region) for inner in op.regions for value in inner.parameters]
    flowing += [result for op in walk(region) if op.regions for result in op.results]
    return any(
        isinstance(value.type, Place | Variable) and not variables.isdisjoint(effects.places(value))
        for value in flowing
    )


def _committed(region: Region, torn: Sequence[Value], last: int) -> Region:
    """The region with local variables in the place of ``torn`` in its first ops, and stored to them behind these."""
    builder = Builder()
    local = {value: builder.make("variable", builder.make("load", value)) for value in torn}
    for op in region.ops[:last]:
        if "view" in op.definition.traits and op.operands[0] in local:
            builder.ops.append(op)  # for those that come later
            local[op.result] = Value(op.result.type, op.result.name)
            op = replace(op, results=(local[op.result],))
        builder.ops.append(_renamed(op, local))
    builder.loc = region.ops[max(last - 1, 0)].loc
    for value in torn:
        builder.add("store", value, builder.make("load", local[value]))
    return Region(region.parameters, (*builder.ops, *region.ops[last:]))


def _renamed(op: Op, names: dict[Value, Value]) -> Op:
    regions = tuple(
        Region(region.parameters, tuple(_renamed(inner, names) for inner in region.ops)) for region in op.regions
    )
    return replace(op, operands=tuple(names.get(value, value) for value in op.operands), regions=regions)
