"""Steps on servers: replicas bring gradients and get the new values of variables (`shard.py`, `rounds.py`)."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from jitflow.cluster.exchange import Exchanges
from jitflow.cluster.groups import Group
from jitflow.cluster.memory import Address
from jitflow.cluster.packing import packed
from jitflow.cluster.rounds import Closed, Contribution, Late, Round, Settings
from jitflow.errors import UserNotImplementedError, UserValueError
from jitflow.runtime.snapshots import assign_all, snapshot
from jitflow.runtime.variable import Variable

__all__ = ["Asynchronous", "Servers"]

Array = np.ndarray[Any, Any]
_LOOKED_AT = 3
"""Steps behind which variables are compared with what servers hold."""


class Servers(Exchanges):
    """Synchronous steps on servers: the first so many replicas of each round are summed, in their order."""

    def __init__(self, model: Any, part: int) -> None:
        super().__init__(model, part)
        self._last: dict[int, tuple[Sequence[Array], int]] = {}
        """The values that came last for each group, and how often they are still to be compared."""

    def combined(self, optimiser: Any, gradients: Sequence[Any], variables: Sequence[Any]) -> list[Any] | None:
        """As in `jitflow.replication.Exchange`."""
        from jitflow.optim.optimiser import next_rate

        rate = next_rate(optimiser)
        values = self._call(optimiser, gradients, variables, rate)
        for variable, value in zip(variables, values, strict=True):
            variable[...] = value
        optimiser.steps.assign_add(1)
        return None

    def _bytes_of(self, group: Group) -> int:
        return 2 * group.size  # gradients, and the values that come back

    def _hold(self, group: Group, optimiser: Any, variables: list[Variable]) -> None:
        """Let the servers hold a group's variables: those of replica 0, for which the others wait."""
        others = [known for number, known in self._known.items() if number != group.number]
        shared = {id(one) for _, members in others for one in members} & {id(one) for one in variables}
        if shared or any(known is optimiser for known, _ in others):
            what = (
                "a variable is updated by several steps"
                if shared
                else "an optimiser steps along several sets of variables"
            )
            raise UserNotImplementedError(
                f"{what}, and servers hold each variable with one optimiser",
                mend="make one step of all variables, or an optimiser for each set; or train with mode='allreduce'",
            )
        if self.part == 0:
            values = snapshot(variables)
            parts = [packed((_part_of(optimiser, variables, places), [values[place] for place in places]))
                     for places in group.shares(len(self.peers.machines))]  # fmt: skip
            self.peers.answers([self._ask(where, "hold", group, part, self.step) for where, part in enumerate(parts)])
        self._fetch(group, optimiser, variables)

    def _fetch(self, group: Group, optimiser: Any, variables: Sequence[Variable]) -> None:
        """Make the variables of this replica be what the servers hold, and the optimiser have as many steps."""
        count = len(self.peers.machines)
        found = self.peers.answers([self._ask(where, "values", group.number) for where in range(count)])
        for places, (_, kinds, values) in zip(group.shares(count), found, strict=True):
            if kinds != group.kinds:
                raise UserValueError("replicas have models of several shapes", found=f"{group.kinds}, {kinds}")
            assign_all([variables[place] for place in places], values)
        optimiser.steps.assign(self._steps_of(found[0][0]))
        self._last.pop(group.number, None)

    def _steps_of(self, made: int) -> int:
        """The steps of this replica's optimiser, where a server's has made so many: a schedule depends on them."""
        return made

    def join(self) -> int:
        """Come to the step that is under way, with what the servers hold then; which step it is."""
        while True:
            ((step, closed),) = self.peers.answers([self.peers.ask(0, "leader", "current", self.generation)])
            last = {how.group: (round_, how) for round_, how in closed}  # in their order, so the last of each group
            try:
                for round_, how in last.values():
                    if how.group in self.groups:
                        self._commit(self.groups[how.group], round_, how)
            except Late:
                continue  # the others have gone on meanwhile
            self._fetch_all()
            return int(step)

    def _fetch_all(self) -> None:
        for number, (optimiser, variables) in self._known.items():
            self._fetch(self.groups[number], optimiser, variables)

    def _run(self, number: int, *given: Any) -> Any:
        *gradients, rate = given
        left = self._require_unwritten(number)
        group, round_ = self.groups[number], self._next_round()
        contribution = self._lay_down(group, gradients)
        self._send(group, round_, gradients)
        values = self._stepped(group, round_, contribution, Settings.of(self._known[number][0], float(rate)))
        self._last[number] = values, left - 1
        return tuple(values)

    def _stepped(self, group: Group, round_: Round, given: Contribution, settings: Settings) -> list[Array]:
        """The new values, once the servers have made the step."""
        arrival = self.peers.ask(0, "leader", "arrive", self.generation, round_, group.number, given, settings)
        (closed,) = self.peers.answers([arrival])
        self.counts = self.counts and self.part in {one.part for one in closed.chosen}
        return self._commit(group, round_, closed)

    def _require_unwritten(self, number: int) -> int:
        """Raise NotImplementedError if something besides the optimiser has written to variables that servers hold.

        That would be lost, since the servers do not see it. The first steps are looked at; how many are left of these.
        """
        values, left = self._last.get(number, ((), _LOOKED_AT))
        for variable, value in zip(self._known[number][1] if left > 0 else (), values, strict=False):
            if variable._elements.tobytes() != value.tobytes():
                raise UserNotImplementedError(
                    f"a variable of shape {variable.shape} is written to besides the steps of its optimiser",
                    found="what servers, which hold it, do not see",
                    mend="train it with mode='allreduce'",
                )
        return left

    def _send(self, group: Group, round_: Round, gradients: Sequence[Array]) -> None:
        """Send gradients to those that share no memory with this process."""
        shares = group.shares(len(self.peers.machines))
        self.peers.answers([
            self._ask(where, "deposit", round_, self.part, [np.array(gradients[place]) for place in places])
            for where, places in enumerate(shares) if not self._shared[where]
        ])  # fmt: skip

    def _commit(self, group: Group, round_: Round, closed: Closed) -> list[Array]:
        count = len(self.peers.machines)
        chosen = [self._as_seen(closed.chosen, where) for where in range(count)]
        scale = self._scale(group, round_, chosen, closed.settings)
        told = [(round_, group.number, seen, closed.settings, scale) for seen in chosen]
        asked = [self._ask(where, "commit", *told[where], self._reply(group, where)) for where in range(count)]
        return self._received(group, self.peers.answers(asked))

    def _as_seen(self, chosen: Sequence[Contribution], where: int) -> list[Contribution]:
        """Contributions as a server finds them: in memory that it shares, or sent to it."""
        machine = self.peers.machines[where]
        return [one if one.block is not None and one.block.machine == machine else Contribution(one.part, None)
                for one in chosen]  # fmt: skip

    def _reply(self, group: Group, where: int) -> Address | None:
        block = self._blocks[group.number]
        return block.address if block is not None and self._shared[where] else None

    def _received(self, group: Group, answers: Sequence[list[Array] | None]) -> list[Array]:
        """The new values, from the messages or from the block."""
        values: dict[int, Array] = {}
        block = self._blocks[group.number]
        for places, answer in zip(group.shares(len(answers)), answers, strict=True):
            if answer is None:
                assert block is not None
                laid = group.arrays(block.bytes, group.size)
                answer = [laid[place] for place in places]
            values.update(zip(places, answer, strict=True))
        return [values[place] for place in range(len(group.names))]

    def _scale(self, group: Group, round_: Round, chosen: Sequence[Sequence[Contribution]], settings: Settings) -> Any:
        """What the sum is multiplied by, so that it is no longer than ``clip_norm``; None where nothing is said."""
        limit = self._known[group.number][0].clip_norm
        if limit is None:
            return None
        count = len(chosen)
        found = self.peers.answers(
            [self._ask(where, "squares", round_, group.number, chosen[where], settings) for where in range(count)]
        )
        squares = {place: square for places, some in zip(group.shares(count), found, strict=True)
                   for place, square in zip(places, some, strict=True)}  # fmt: skip
        first, *rest = [squares[place] for place in range(len(squares))]
        return np.minimum(limit / (np.sqrt(sum(rest, first)) + 1e-6), 1.0)


class Asynchronous(Servers):
    """Gradients are stepped along when they come, whatever the others do (Recht and others, Hogwild!, 2011)."""

    def __init__(self, model: Any, part: int) -> None:
        super().__init__(model, part)
        self._seen: dict[int, list[int]] = {}

    def begin(self, step: int) -> None:
        """Wait until nobody is too far behind."""
        super().begin(step)
        with self._waiting():
            self.peers.answers([self.peers.ask(0, "leader", "advance", self.generation, self.part, step)])

    def join(self) -> int:
        """Begin with what the servers hold now."""
        self._fetch_all()
        return self.step

    def _steps_of(self, made: int) -> int:
        return self.step  # its own: those of the others come in between

    def _hold(self, group: Group, optimiser: Any, variables: list[Variable]) -> None:
        if optimiser.clip_norm is not None:
            raise UserNotImplementedError(
                "asynchronous steps have no sum whose norm could be clipped", mend="use clip_value, or mode='sync'"
            )
        super()._hold(group, optimiser, variables)

    def _stepped(self, group: Group, round_: Round, given: Contribution, settings: Settings) -> list[Array]:
        count = len(self.peers.machines)
        seen = self._seen.setdefault(group.number, [0] * count)
        asked = [
            self._ask(where, "push", round_, group.number, *self._as_seen([given], where), settings, seen[where],
                      self._reply(group, where)) for where in range(count)
        ]  # fmt: skip
        answers = self.peers.answers(asked)
        self._seen[group.number] = [updates for updates, _, _ in answers]
        late = max(late for _, late, _ in answers)
        pushes, sum_, most = self.staleness
        self.staleness = (pushes + 1, sum_ + late, max(most, late))
        return self._received(group, [values for _, _, values in answers])


def _part_of(optimiser: Any, variables: Sequence[Variable], places: Sequence[int]) -> Any:
    """A copy of an optimiser for some of the variables, with their slots if it has any."""
    part = copy.copy(optimiser)
    owned = {id(owner()): number for number, owner in enumerate(optimiser._owners) if owner() is not None}
    free = [number for number, owner in enumerate(optimiser._owners) if owner() is None]
    positions = [owned.get(id(variable), free[0] + place if free else None) for place, variable in enumerate(variables)]
    chosen = [positions[place] for place in places]
    slots: dict[str, list[Any]] = {name: [] for name in optimiser.slot_names}
    if all(number is not None and number < len(optimiser._owners) for number in chosen):
        slots = {name: [held[number] for number in chosen] for name, held in optimiser.slots.items()}
    part._owners = part._owners[: len(chosen)] if any(slots.values()) else []
    part.slots, part.schedule = slots, None
    return part
