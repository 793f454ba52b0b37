"""What a server holds: some variables of a model, and the optimiser that steps along them.

Slots are made here and never travel. A round is committed once, by whoever asks first; everybody who asks gets the new
values. The optimiser is a copy of the user's, and its step is compiled here, for this processor.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from jitflow.cluster.groups import Group, add_up
from jitflow.cluster.memory import Address, mapped
from jitflow.cluster.rounds import Aborted, Contribution, Fenced, Late, Round, Settings
from jitflow.errors import UserRuntimeError
from jitflow.runtime.snapshots import snapshot
from jitflow.runtime.variable import Variable

__all__ = ["Memories", "Shard"]

Array = np.ndarray[Any, Any]
_LONGEST_WAIT = 600.0
"""Seconds in which replica 0 brings the variables of a group."""


class Memories:
    """The blocks of other processes that this one has mapped: mapping one costs more than reading it."""

    def __init__(self) -> None:
        self._mapped: dict[Address, Array] = {}

    def at(self, address: Address) -> Array:
        """The bytes of a block."""
        if address not in self._mapped:
            while len(self._mapped) > 256:  # of replicas that have gone
                self._mapped.pop(next(iter(self._mapped)))
            try:
                self._mapped[address] = mapped(address)
            except UserRuntimeError as error:
                raise Aborted(f"a replica has died: {error}") from None
        return self._mapped[address]

    def laid_down(self, group: Group, given: Contribution) -> list[Array]:
        """The variables of a group, as they lie in the block of a contribution."""
        assert given.block is not None
        return group.arrays(self.at(given.block), given.start)


class _Held:
    """The variables of one group that are held here, at places ``mine`` of the group."""

    def __init__(self, group: Group, mine: Sequence[int], optimiser: Any, values: Sequence[Array], first: int) -> None:
        self.group, self.mine, self.optimiser, self.first = group, tuple(mine), optimiser, first
        self.variables = [Variable(value, group.names[place]) for place, value in zip(mine, values, strict=True)]
        # The sum is clipped, by value before its norm is taken: not what is left of it here.
        optimiser.clip_value = optimiser.clip_norm = optimiser.schedule = None
        self.sums = [np.empty(group.shapes[place], group.dtypes[place]) for place in mine]
        self.round = self.summed = Round(first - 1, 0)
        self.updates = 0

    def state(self) -> dict[str, Array]:
        """All that a checkpoint of the whole model holds of this part."""
        name = self.group.optimiser
        numbers = {f"{name}.learning_rate": self.optimiser.learning_rate, f"{name}.steps": self.optimiser.steps}
        named = {str(variable.name): variable for variable in self.variables}
        slots = {
            f"{name}.slots.{slot}.{self.group.positions[place]}": self.optimiser.slots[slot][number]
            for slot in self.optimiser.slot_names
            for number, place in enumerate(self.mine)
            if number < len(self.optimiser.slots[slot])
        }
        everything = {**numbers, **named, **slots}
        return dict(zip(everything, snapshot([*everything.values()]), strict=True))


class Shard(Fenced):
    """The part of a model that server ``number`` of ``count`` holds. Every ``every`` steps it keeps a copy.

    ``replicas`` is how many asynchronous steps count as one. Any thread may call any method.
    """

    def __init__(self, number: int, count: int, every: int = 0, replicas: int = 1) -> None:
        super().__init__()
        self.number, self.count, self.every, self.replicas = number, count, every, replicas
        self._held: dict[int, _Held] = {}
        self._deposits: dict[tuple[Round, int], Sequence[Array]] = {}
        self._snapshots: dict[int, dict[str, Array]] = {}
        self._memories = Memories()

    def _clear(self, step: int) -> None:
        self._held, self._deposits, self._snapshots = {}, {}, {}

    def hold(self, generation: int, group: Group, packed: bytes, first: int) -> None:
        """Hold a group's variables from step ``first`` on, unless that is so already."""
        with self._changed:
            self._require(generation)
            if group.number not in self._held:
                optimiser, values = pickle.loads(packed)
                mine = group.shares(self.count)[self.number]
                self._held[group.number] = _Held(group, mine, optimiser, values, first)
                self._changed.notify_all()

    def deposit(self, generation: int, round_: Round, part: int, arrays: Sequence[Array]) -> None:
        """Take the gradients of a replica that shares no memory with this process."""
        with self._changed:
            self._require(generation)
            self._deposits[round_, part] = arrays

    def squares(
        self, generation: int, round_: Round, number: int, chosen: Sequence[Contribution], settings: Settings
    ) -> list[Any]:
        """The sum of the squares of the summed gradient by each variable held here, for `clip_norm`."""
        with self._changed:
            held = self._group(generation, number)
            if held.round < round_:
                self._sum(held, round_, chosen, settings.bound)
            return list(_squares(held.sums))

    def commit(
        self, generation: int, round_: Round, number: int, chosen: Sequence[Contribution], settings: Settings,
        scale: Any, reply: Address | None,
    ) -> list[Array] | None:  # fmt: skip
        """Step along the sum of some contributions, unless that is done, and give the new values.

        They are written to the caller's block behind its gradients, or returned where there is none. Raises `Late` if a
        later round has been committed.
        """
        with self._changed:
            held = self._group(generation, number)
            if held.round < round_:
                self._keep(round_)
                if held.summed != round_:
                    self._sum(held, round_, chosen, settings.bound)
                self._step(held, settings, scale)
                held.round = round_
                self._deposits = {key: arrays for key, arrays in self._deposits.items() if key[0] > round_}
            elif held.round > round_:
                raise Late
            return self._answer(held, reply)

    def push(
        self, generation: int, round_: Round, number: int, given: Contribution, settings: Settings, seen: int,
        reply: Address | None,
    ) -> tuple[int, int, list[Array] | None]:  # fmt: skip
        """Step along one contribution at once (asynchronous steps), and give the new values.

        Beside them how many steps there have been, and how many the gradient did not know of, which saw ``seen``.
        """
        with self._changed:
            held = self._group(generation, number)
            if held.updates % self.replicas == 0:
                self._keep(Round(held.first + held.updates // self.replicas, round_.turn))
            self._sum(held, round_, [given], settings.bound)
            self._step(held, settings, None)
            self._deposits.pop((round_, given.part), None)
            late, held.updates = held.updates - seen, held.updates + 1
            return held.updates, late, self._answer(held, reply)

    def values(self, generation: int, number: int) -> tuple[int, Mapping[str, Any], list[Array]]:
        """How many steps the optimiser of a group has made, what kinds the variables are, and what they are now."""
        with self._changed:
            held = self._group(generation, number)
            now = snapshot(held.variables) if held.variables else []
            return int(held.optimiser.steps), held.group.kinds, now

    def snapshots(self) -> list[int]:
        """The steps of which this shard has copies."""
        return sorted(self._snapshots)

    def snapshot(self, step: int) -> dict[str, Array] | None:
        """A copy of all that is held, as it was in front of a step, or as it is now for -1; None if it is gone."""
        with self._changed:
            return self._state() if step < 0 else self._snapshots.get(step)

    # -- inside, with the lock ----------------------------------------------------------------------------

    def _group(self, generation: int, number: int) -> _Held:
        self._require(generation)
        while number not in self._held:
            if not self._changed.wait(_LONGEST_WAIT):
                raise UserRuntimeError(
                    "replica 0 has not brought variables that another one steps along",
                    expected="models whose variables have the same names, and the same steps of optimisers",
                )
            self._require(generation)
        return self._held[number]

    def _state(self) -> dict[str, Array]:
        return {name: array for held in self._held.values() for name, array in held.state().items()}

    def _keep(self, round_: Round) -> None:
        """Copy what is held in front of a step whose number is to be kept."""
        step = round_.step
        if self.every and step and step % self.every == 0 and step not in self._snapshots and not round_.turn:
            self._snapshots = {**dict(list(self._snapshots.items())[-1:]), step: self._state()}

    def _sum(self, held: _Held, round_: Round, chosen: Sequence[Contribution], bound: float | None) -> None:
        """Add the contributions up in their order, and clip each element."""
        gradients = []
        for given in chosen:
            if given.block is None:
                gradients.append(self._deposits[round_, given.part])
            else:
                whole = self._memories.laid_down(held.group, given)
                gradients.append([whole[place] for place in held.mine])
        add_up(held.sums, gradients)
        if bound is not None:
            for total in held.sums:
                np.clip(total, -bound, bound, out=total)
        held.summed = round_

    def _step(self, held: _Held, settings: Settings, scale: Any) -> None:
        if held.optimiser.learning_rate.numpy() != settings.rate:
            held.optimiser.learning_rate.assign(settings.rate)
        vars(held.optimiser).update(settings.others)
        if not held.variables:
            held.optimiser.steps.assign_add(1)
            return
        sums = held.sums if scale is None else [total * scale.astype(total.dtype) for total in held.sums]
        held.optimiser.apply(sums, held.variables)

    def _answer(self, held: _Held, reply: Address | None) -> list[Array] | None:
        if reply is None:
            return snapshot(held.variables) if held.variables else []
        places = held.group.arrays(self._memories.at(reply), held.group.size)
        for place, variable in zip(held.mine, held.variables, strict=True):
            places[place][...] = variable._elements
        return None


def _squares(gradients: Sequence[Array]) -> Any:
    return _compiled_squares()(gradients) if gradients else []


@cache
def _compiled_squares() -> Any:
    from jitflow.api import function

    return function(lambda arrays: [(array * array).sum() for array in arrays])
