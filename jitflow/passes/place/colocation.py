"""What must be together, and what must be somewhere.

Ops on storage stay where it is: a union-find over everything that may show a variable, through views, branches, loops
and swaps. Where storage is, say, in this order: the function's ``devices`` for what lives longer than a call (the
caller's arrays are at home), the scope in which it was made, the first that writes to it, the first that reads it. What
other scopes compute of it crosses, as it does to be stored there. Calls of Python, and all that is ordered with the
world outside, are at home, and so is what a scope wants on a GPU that has no code for one. Everything else is where its
scope says, if it says anything, or where all arguments are (`gpus`). Of the caller's arrays, a GPU may want one that is
written to, since it can be lent.

    %0 = variable %x        ; on cpu:1
    store %0, %y            ; on cpu:2        stays on cpu:1, where the array was made
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from jitflow.errors import UserValueError
from jitflow.ir.core import Function, Op, Region, Value, walk_inside
from jitflow.ir.effects import is_storage
from jitflow.ir.location import NOWHERE, Loc
from jitflow.machines.hardware import HOME, is_gpu
from jitflow.passes.analyses.homebound import calls_python, reason_to_stay
from jitflow.passes.place.gpus import common_gpu, may_lend

__all__ = ["Colocation"]

_AT_HOME = (HOME, NOWHERE, "an argument")


class Colocation:
    """The groups of a function's storage, and the device of each, empty if it may be anywhere.

    ``wishes`` are devices of ops that come from a plan, which win over scopes. Raises ValueError, at the user's lines,
    where one group has to be on two devices.
    """

    def __init__(self, function: Function, wishes: dict[Op, str] | None = None) -> None:
        self.function = function
        self.wishes = wishes or {}
        self.common = common_gpu(function)
        self._parent: dict[Value, Value] = {}
        self._device: dict[Value, tuple[str, Loc, str]] = {}
        """For each group where it is, who says so, and why."""
        self._connect(function)
        self._pin(function)

    def find(self, value: Value) -> Value:
        """The representative of the group of a piece of storage."""
        parent = self._parent.setdefault(value, value)
        while parent is not value:
            self._parent[value] = self._parent[parent]
            value, parent = self._parent[value], self._parent[self._parent[value]]
        return value

    def device(self, value: Value) -> str:
        """Where a group is; empty if nothing says."""
        return self._device.get(self.find(value), ("",))[0]

    def groups_of(self, op: Op) -> set[Value]:
        """The groups of all that an op works on, with what is inside of it."""
        return {self.find(value) for inner in (op, *walk_inside(op)) for value in _storage_of(inner)}

    def wanted(self, op: Op) -> tuple[str, str]:
        """Where an op has to be, and why; two empty strings if it may be anywhere."""
        if calls_python(op):
            return HOME, "calls Python"
        for value in _storage_of(op):
            device = self.device(value)
            if device:
                return device, "storage"
        return self._asked(op)

    def _asked(self, op: Op) -> tuple[str, str]:
        """Where an op is asked to be by what is not storage, and who asks."""
        wish = self.wishes.get(op, "")
        asked = (wish, "plan") if wish else (op.loc.device, "scope") if op.loc.device else (self.common, "arguments")
        reason = reason_to_stay(op) if is_gpu(asked[0]) else ""
        return (HOME, reason) if reason else asked if asked[0] else ("", "")

    def join(self, values: Sequence[Value], device: str) -> None:
        """Make one group of several, on a device if one is given; none of them is on another one."""
        for value in values[1:]:
            self._unite(values[0], value, NOWHERE)
        if values and device:
            self._device.setdefault(self.find(values[0]), (device, NOWHERE, "used"))

    def _unite(self, one: Value, other: Value, where: Loc) -> None:
        first, second = self.find(one), self.find(other)
        if first is second:
            return
        ours, theirs = self._device.get(first), self._device.pop(second, None)
        self._parent[second] = first
        if ours is not None and theirs is not None and ours[0] != theirs[0]:
            raise _contradiction(ours, theirs, where)
        if theirs is not None:
            self._device[first] = theirs

    def _connect(self, function: Function) -> None:
        given = function.attributes.get("devices") or ("",) * len(function.parameters)
        lasting = [value for value in function.parameters if is_storage(value)]
        lends = may_lend(function)
        for value, device in zip(function.parameters, given, strict=True):
            if is_storage(value) and (device or not lends):
                self._device[self.find(value)] = (device or HOME, NOWHERE, value.name or "an argument")
        if function.attributes.get("overlap"):
            for value in lasting[1:]:
                self._unite(lasting[0], value, NOWHERE)
        for one, other, where in _meetings(function.region):
            self._unite(one, other, where)

    def _pin(self, function: Function) -> None:
        callers = {self.find(value) for value in function.parameters if is_storage(value)}
        for asked in (_made_by, _written_by, _storage_of):
            for op in _all(function.region):
                device, why = self._asked(op)
                if not device or op.regions:
                    continue
                for value in asked(op):
                    group, found = self.find(value), (device, op.loc, f"the {why}")
                    at_home = group in callers and not is_gpu(device)
                    known = self._device.setdefault(group, _AT_HOME if at_home else found)
                    if why == "plan" and known[0] != device:
                        raise _contradiction(known, found, op.loc)
        for group in callers:
            self._device.setdefault(group, _AT_HOME)


def _contradiction(one: tuple[str, Loc, str], other: tuple[str, Loc, str], where: Loc) -> UserValueError:
    said = ", and ".join(f"on {device} ({_who(loc, why)})" for device, loc, why in (one, other))
    return UserValueError(
        f"one piece of memory would have to be {said}",
        mend="copy the array where it is to be on the other device, or use one scope for all that works on it",
        location=next((loc for loc in (other[1], where, one[1]) if loc.line > 0), None),
    )


def _who(loc: Loc, why: str) -> str:
    return f"{why} at {loc}" if loc.line > 0 else why


def _all(region: Region) -> Iterator[Op]:
    for op in region.ops:
        yield op
        yield from walk_inside(op)


def _storage_of(op: Op) -> Iterator[Value]:
    return (value for value in (*op.operands, *op.results) if is_storage(value))


def _made_by(op: Op) -> Iterator[Value]:
    return (value for value in op.results if op.name in ("variable", "tape"))


def _written_by(op: Op) -> Iterator[Value]:
    return (op.operands[effect.operand] for effect in op.own_effects if effect.kind == "writes")


def _meetings(region: Region) -> Iterator[tuple[Value, Value, Loc]]:
    """Pairs of names for what may be one piece of storage."""
    for op in region.ops:
        if "view" in op.definition.traits and is_storage(op.result):
            yield op.operands[0], op.result, op.loc
        for inner in op.regions:
            yield from _meetings(inner)
        for ours, theirs in _edges(op):
            for one, other in zip(ours, theirs, strict=True):
                if is_storage(one):
                    yield other, one, op.loc


def _edges(op: Op) -> Iterable[tuple[Sequence[Value], Sequence[Value]]]:
    if op.name == "if":
        for region in op.regions:
            yield op.results, region.yielded
    elif op.name in ("for", "while"):
        initial = op.operands[3:] if op.name == "for" else op.operands
        yield op.results, initial
        yield op.results, op.regions[-1].yielded
        for region in op.regions:
            yield region.parameters[1:] if op.name == "for" else region.parameters, initial
    elif op.regions:
        for region in op.regions:
            pairs = [pair for pair in zip(region.parameters, op.operands, strict=False) if is_storage(pair[0])]
            yield [one for one, _ in pairs], [other for _, other in pairs]
