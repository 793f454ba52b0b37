"""What a server holds: some variables of a model, and the optimiser that steps along them.

Slots are made here and never travel. A round is committed once, by whoever asks first; everybody who asks gets the new
values. The optimiser is a copy of the user's, and its step is compiled here, for this processor.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from threading import Condition
from typing import Any

import numpy as np

from jitflow.cluster.groups import Group, add_up
from jitflow.cluster.memory import Address, mapped
from jitflow.cluster.rounds import Aborted, Contribution, Late, Round
from jitflow.errors import UserRuntimeError
from jitflow.runtime.snapshots import assign_all, snapshot
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


class _Held:
    """The variables of one group that are held here, at places ``mine`` of the group."""

    def __init__(self, group: Group, mine: Sequence[int], optimiser: Any, values: Sequence[Array], first: int) -> None:
        self.group, self.mine, self.optimiser, self.first = group, tuple(mine), optimiser, first
        self.variables = [Variable(value, group.names[place]) for place, value in zip(mine, values, strict=True)]
        # The sum is clipped, by value before its norm is taken.
        self.bound = optimiser.clip_value
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


class Shard:
    """The part of a model that server ``number`` of ``count`` holds. Every ``every`` steps it keeps a copy.

    ``replicas`` is how many asynchronous steps count as one. Any thread may call any method.
    """

    def __init__(self, number: int, count: int, every: int = 0, replicas: int = 1) -> None:
        self.number, self.count, self.every, self.replicas = number, count, every, replicas
        self.generation = 0
        self._held: dict[int, _Held] = {}
        self._deposits: dict[tuple[Round, int], Sequence[Array]] = {}
        self._snapshots: dict[int, dict[str, Array]] = {}
        self._memories = Memories()
        self._changed = Condition()

    def begin(self, generation: int) -> None:
        """Hold nothing, until somebody brings the variables."""
        with self._changed:
            self.generation, self._held, self._deposits, self._snapshots = generation, {}, {}, {}
            self._changed.notify_all()

    def abort(self, why: str) -> None:
        """Answer nobody any more."""
        with self._changed:
            self.generation = -1
            self._changed.notify_all()

    def hold(self, generation: int, group: Group, packed: bytes, first: int) -> Mapping[str, Any] | None:
        """Hold a group's variables from step ``first`` on, unless that is so already.

        If other variables are held under that number, what they are; None where all is well.
        """
        with self._changed:
            self._require(generation)
            held = self._held.get(group.number)
            if held is not None:
                return None if held.group.kinds == group.kinds else held.group.kinds
            optimiser, values = pickle.loads(packed)
            mine = group.shares(self.count)[self.number]
            self._held[group.number] = _Held(group, mine, optimiser, values, first)
            self._changed.notify_all()
            return None

    def deposit(self, generation: int, round_: Round, part: int, arrays: Sequence[Array]) -> None:
        """Take the gradients of a replica that shares no memory with this process."""
        with self._changed:
            self._require(generation)
            self._deposits[round_, part] = arrays

    def squares(self, generation: int, round_: Round, number: int, chosen: Sequence[Contribution]) -> list[Any]:
        """The sum of the squares of the summed gradient by each variable held here, for `clip_norm`."""
        with self._changed:
            held = self._group(generation, number)
            if held.round < round_:
                self._sum(held, round_, chosen)
            return list(_squares(held.sums))

    def commit(
        self, generation: int, round_: Round, number: int, chosen: Sequence[Contribution], rate: float, scale: Any,
        reply: Address | None,
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
                    self._sum(held, round_, chosen)
                self._step(held, rate, scale)
                held.round = round_
                self._deposits = {key: arrays for key, arrays in self._deposits.items() if key[0] > round_}
            elif held.round > round_:
                raise Late
            return self._answer(held, reply)

    def push(
        self, generation: int, round_: Round, number: int, given: Contribution, rate: float, seen: int,
        reply: Address | None,
    ) -> tuple[int, int, list[Array] | None]:  # fmt: skip
        """Step along one contribution at once (asynchronous steps), and give the new values.

        Beside them how many steps there have been, and how many the gradient did not know of, which saw ``seen``.
        """
        with self._changed:
            held = self._group(generation, number)
            if held.updates % self.replicas == 0:
                self._keep(Round(held.first + held.updates // self.replicas, round_.turn))
            self._sum(held, round_, [given])
            self._step(held, rate, None)
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

    def _require(self, generation: int) -> None:
        if generation != self.generation:
            raise Aborted("the run has begun anew")

    def _state(self) -> dict[str, Array]:
        return {name: array for held in self._held.values() for name, array in held.state().items()}

    def _keep(self, round_: Round) -> None:
        """Copy what is held in front of a step whose number is to be kept."""
        step = round_.step
        if self.every and step and step % self.every == 0 and step not in self._snapshots and not round_.turn:
            self._snapshots = {**dict(list(self._snapshots.items())[-1:]), step: self._state()}

    def _sum(self, held: _Held, round_: Round, chosen: Sequence[Contribution]) -> None:
        """Add the contributions up in their order."""
        gradients = []
        for given in chosen:
            if given.block is None:
                gradients.append(self._deposits[round_, given.part])
            else:
                whole = held.group.arrays(self._memories.at(given.block))
                gradients.append([whole[place] for place in held.mine])
        add_up(held.sums, gradients)
        if held.bound is not None:
            for total in held.sums:
                np.clip(total, -held.bound, held.bound, out=total)
        held.summed = round_

    def _step(self, held: _Held, rate: float, scale: Any) -> None:
        if held.optimiser.learning_rate.numpy() != rate:
            held.optimiser.learning_rate.assign(rate)
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

    def assign(self, values: Mapping[str, Array]) -> None:
        """Give variables that are held here other values."""
        with self._changed:
            for held in self._held.values():
                named = [variable for variable in held.variables if variable.name in values]
                assign_all(named, [values[str(variable.name)] for variable in named])


def _squares(gradients: Sequence[Array]) -> Any:
    global _compiled
    if _compiled is None:
        from jitflow.api import function

        _compiled = function(lambda arrays: [(array * array).sum() for array in arrays])
    return _compiled(gradients) if gradients else []


_compiled: Any = None
