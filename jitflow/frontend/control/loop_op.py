"""The op that a traced turn makes, and the locals behind it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import jitflow.frontend.tracers as tracers
from jitflow.frontend.arrays.runtime_sizes import bind
from jitflow.frontend.control.carried import Flow, Local, Turn
from jitflow.frontend.control.cells import UNBOUND
from jitflow.frontend.control.changing_lists import drain_lists
from jitflow.frontend.control.identity import pairs_of, remember_choice, remember_made_of, remember_torn
from jitflow.frontend.control.joining import outside_type, whether_bound
from jitflow.frontend.control.leaves import flatten
from jitflow.frontend.control.merge import (
    MaybeUnbound,
    Way,
    names_of,
    resolved,
    result_of,
    word,
)
from jitflow.frontend.control.same import is_numbered, note_replaced
from jitflow.frontend.control.steps import Source
from jitflow.frontend.control.told import is_replaced
from jitflow.frontend.control.turns import OneTurn, left_by
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.ir.core import Value, walk_ops
from jitflow.ir.dims import Dim
from jitflow.ir.dtypes import BOOL, I64
from jitflow.ir.types import Index, Place, Scalar, Tensor

__all__ = ["LoopOp"]


class LoopOp(OneTurn):
    """A loop whose turn has been traced."""

    def _finish(
        self, turn: Turn, locals_: list[Local], source: Source | None, tested: bool,
        flows: list[Flow], initial: list[Value], yielded: list[Value],
    ) -> None:  # fmt: skip
        """Append the op, and bind the locals to its results."""
        trace = current_trace()
        path = turn.path
        slots = [flow.slot for flow in flows]
        types = [outside_type(self._outer_kind(local, number)) for local in locals_
                 for number, slot in enumerate(local.slots) if slot is not None]  # fmt: skip
        hints = [word(slot.name) for slot in slots]
        partly = self._bits(turn, locals_, tested)
        for local in partly:
            initial.append(whether_bound(local.before))
            with trace.region(path.scope):
                yielded.append(whether_bound(True if path.ended else path.locals[local.name]))
            types.append(Scalar(BOOL))
            hints.append(f"{word(local.name)}_is_bound")
            turn.parameters.append(local.bits[-1])
            turn.condition_parameters += local.bits[:-1]
        replaced = {flow for flow in flows if isinstance(flow.slot.type, Tensor) and is_replaced(flow.entry, flow.left)
                    and not is_numbered(self.key, flow.slot.name.partition("[")[0])}  # fmt: skip
        if replaced and tested:  # whether there was a turn
            initial.append(values.constant(False, BOOL))
            with trace.region(path.scope):
                yielded.append(values.constant(True, BOOL))
            types.append(Scalar(BOOL))
            hints.append("had_a_turn")
            turn.parameters.append(Value(Scalar(BOOL), "had_a_turn"))
            turn.condition_parameters.append(Value(Scalar(BOOL), "had_a_turn"))
        with trace.region(path.scope):
            drain_lists()
        found: Sequence[Value]
        if tested:
            found = self._add_while(turn, initial, yielded, types, hints, source)
        else:
            assert source is not None
            region = path.scope.close(turn.parameters, yielded)
            bounds = [values.size(0), values.size(source.count), values.size(1)]
            found = trace.add("for", *bounds, *initial, types=types, regions=(region,), names=hints)
        bits = {local.name: value for local, value in zip(partly, found[len(slots) :], strict=False)}
        flag, found = found[len(slots) + len(partly) :], found[: len(slots)]
        for flow, value in zip(flows, found, strict=True):
            trace.storage.arrive(value, flow.arrays)
            if flow in replaced:
                note_replaced(value, flow.entry, flow.left, flag[0] if flag else self._ran(source))
        self._bind(locals_, found, bits, source)
        made = [local for local in locals_ if local.made]
        for local in made:
            self._remember(local)
        began = [content for local in made for content in local.found]
        for number in range(max((len(local.made) for local in made), default=0)):
            pairs = (pairs_of(left_by(path, local), local.made[number]) for local in made)
            remember_torn((([left], thing) for left, thing in itertools.chain(*pairs)), self._before, began)

    def _bind(
        self, locals_: Sequence[Local], found: Sequence[Value], bits: Mapping[str, Value], source: Source | None
    ) -> None:
        """Let the locals be what the loop has ``found``; ``bits`` say which are bound."""
        results = iter(found)
        self.cells.write(dict.fromkeys(self.temporaries, UNBOUND))
        ran = self._ran(source)
        for local in locals_:
            items = list(local.leaves.items)
            for number, slot in enumerate(local.slots):
                if slot is not None:
                    value, outside = next(results), slot
                    if isinstance(value.type, Tensor | Place):
                        kind = Tensor(value.type.dtype, value.type.dims)
                        outside = replace(slot, kind=kind)
                    items[number] = result_of(outside, value)
            if local.is_made:
                thing = local.make(items)
                holds = bits.get(local.name, ran if local.entry is UNBOUND else None)
                self.cells.set(local.name, thing if holds is None else MaybeUnbound(thing, holds))

    def _remember(self, local: Local) -> None:
        """A turn may leave an object that others know, and what goes round is made anew."""
        things, site = [resolved(local.before), local.left], self._identity_site(local.name)
        for thing, made in itertools.product(things, local.made):
            remember_made_of(thing, made, site)
        remember_choice(site, things, local.made, self._before, whole=True, found=local.found)

    def _bits(self, turn: Turn, locals_: list[Local], tested: bool) -> list[Local]:
        """The locals of which turns hand on whether they are bound.

        There is no need to where each turn binds the local before it asks: then it is bound if there was a turn.
        """
        scopes = [scope for scope in (turn.path.scope, turn.condition) if scope is not None]
        asked = {operand for scope in scopes for op in walk_ops(scope.builder.ops) for operand in op.operands}
        found = []
        for local in locals_:
            left = turn.path.locals.get(local.name, UNBOUND)
            binds = (
                not tested and local.before is UNBOUND and left is not UNBOUND and not isinstance(left, MaybeUnbound)
            )
            if local.may_be_unbound and (turn.path.ended or not binds or not asked.isdisjoint(local.bits)):
                found.append(local)
        return found

    def _flows(self, turn: Turn, locals_: list[Local], counted: bool) -> Iterator[Flow]:
        """What is carried, in the order of the parameters."""
        number = int(counted)
        for local in locals_:
            thing = turn.path.locals.get(local.name, UNBOUND)
            left = flatten(resolved(thing), is_itself=self._is_itself(local.name))
            for part, slot in enumerate(local.slots):
                if slot is None:
                    continue
                item = UNBOUND if turn.path.ended or left.shape != local.leaves.shape else left.items[part]
                parameters = [values[number] for values in (turn.parameters, turn.condition_parameters) if values]
                yield Flow(slot, local.leaves.items[part], item, parameters)
                number += 1

    def _sent(
        self, flows: list[Flow], turn: Turn, since: tuple[int, int]
    ) -> tuple[list[Flow], list[Value], list[Value]]:
        """What goes in, and what a turn hands on: first what it reads, then what it puts into memory made before.

        ``since``: when the loop began, in the storage's count.
        """
        trace = current_trace()
        storage, home, path = trace.storage, trace.scope, turn.path
        for flow in flows:
            for parameter in flow.parameters:
                storage.arrive(parameter, flow.arrays)
        storage.end_turn([scope for scope in (path.scope, turn.condition) if scope is not None], since)
        names = names_of(flow.left for flow in flows)
        yielded: dict[Flow, Value] = {}
        for flow in sorted(flows, key=lambda flow: flow.slot.as_place):
            others = [other.left._value for other in flows if other is not flow and other.slot.as_place
                      and isinstance(other.left, tracers.ArrayTracer)]  # fmt: skip
            reused = not any(storage.may_be(value, flow.parameters[0]) for value in others)
            yielded[flow] = flow.slot.incoming(flow.left, path.scope, Way(home, names, reused, path.scope, since))
        initial = [flow.slot.incoming(flow.entry, home, Way(home, turn=path.scope, since=since)) for flow in flows]
        return flows, initial, [yielded[flow] for flow in flows]

    def _add_while(
        self, turn: Turn, initial: list[Value], yielded: list[Value], types: list[Any], hints: list[str],
        source: Source | None,
    ) -> Sequence[Value]:  # fmt: skip
        trace, counted = current_trace(), source is not None
        assert turn.condition is not None
        assert turn.proceed is not None
        if counted:
            initial = [values.size(0), *initial]
            types = [Index(), *types]
            hints = ["position", *hints]
            with trace.region(turn.path.scope):
                position = turn.parameters[0].type
                assert isinstance(position, Index)
                assert position.dim is not None
                yielded = [values.size(position.dim + 1), *yielded]
        regions = (
            turn.condition.close(turn.condition_parameters, [turn.proceed]),
            turn.path.scope.close(turn.parameters, yielded),
        )
        found = trace.add("while", *initial, types=types, regions=regions, names=hints)
        if counted:
            assert source is not None
            self._next_turn = values.cast(found[0], I64), source.count
        return found[1:] if counted else found

    def _outer_kind(self, local: Local, number: int) -> Any:
        slot = local.slots[number]
        assert slot is not None
        kind, opened = slot.type, local.open_axes[number]
        if not isinstance(kind, Tensor | Place) or not opened:
            return kind
        dims = (local.new_size(number, axis) if axis in opened else dim for axis, dim in enumerate(kind.dims))
        return replace(kind, dims=tuple(dims))

    def _ran(self, source: Source | None) -> Value | None:
        """Whether there was a turn; None where that is known, or nobody can tell."""
        if source is None or current_trace().known(source.count, ">=", 1):
            return None
        return values.emit("greater_equal", values.size(source.count), values.size(1))

    def _stand_in(self, locals_: Sequence[Local], source: Source | None) -> None:
        """Go on with some values of the kinds that are known so far: what is recorded with them is given up."""
        if source is not None:
            self._next_turn = Value(Scalar(I64)), source.count
        kinds = [outside_type(self._outer_kind(local, number)) for local in locals_
                 for number, slot in enumerate(local.slots) if slot is not None]  # fmt: skip
        bits = {local.name: Value(Scalar(BOOL)) for local in locals_ if isinstance(local.before, MaybeUnbound)}
        self._bind(locals_, [Value(kind) for kind in kinds], bits, source)

    def next_turn(self) -> Dim:
        """Behind a loop over a source that has a test: the turn that is next."""
        number, count = self._next_turn
        return bind(number, "turn", count)
