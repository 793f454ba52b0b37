"""What the step of an optimiser is in a replica: a call out of the compiled step, with gradients, that gives values.

While a step is traced, `combined` makes a group of the variables and one call for all of their gradients, between the
derivative and what follows. In an all-reduce the call gives the sums, and the optimiser goes on as it does alone. With
servers it gives the new values of the variables. A call that is interrupted raises, so that the step leaves all
variables as they were.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np

from jitflow.cluster.groups import Group
from jitflow.cluster.memory import Address, Block, can_share, machine_name, mapped
from jitflow.cluster.reducer import laid_out
from jitflow.cluster.rounds import Aborted, Closed, Contribution, Late, Round
from jitflow.errors import UserNotImplementedError, UserValueError
from jitflow.runtime.snapshots import assign_all, snapshot
from jitflow.runtime.variable import Variable
from jitflow.structure import named_objects, named_variables

__all__ = ["MODES", "AllReduce", "Asynchronous", "Peers", "Servers"]

Array = np.ndarray[Any, Any]


class Peers(Protocol):
    """The processes that a replica talks to, by number: servers, or in an all-reduce the replicas."""

    machines: Sequence[str]
    """On which machine each is."""

    def ask(self, where: int, part: str, method: str, *arguments: Any) -> Any:
        """Begin a call of a method of a part of a peer, `leader` or `shard`."""

    def answers(self, asked: Sequence[Any]) -> list[Any]:
        """What calls give, when all have been answered. Raises `Interruption` if one was given up or its peer died."""


class _Exchange:
    """What all ways of exchanging share: groups, their memory, and the number of the step."""

    peers: Peers

    def __init__(self, model: Any, part: int) -> None:
        self.model, self.part = model, part
        self.generation = 0
        self.step, self._turn = 0, 0
        self.exchanges = 0
        self.counts = True
        """Whether the gradients of this step have been among those that were summed."""
        self.groups: list[Group] = []
        self._known: list[tuple[Any, list[Variable]]] = []
        self._blocks: list[Block | None] = []
        self._shared: list[bool] = []

    def connect(self, peers: Peers, share: bool = True) -> None:
        """Talk to these peers from now on; compiled steps hold the exchange itself."""
        here = machine_name()
        self.peers = peers
        self._shared = [share and can_share() and machine == here for machine in peers.machines]

    def begin(self, step: int) -> None:
        """The training step that comes next."""
        self.step, self._turn, self.counts = step, 0, True

    # -- while a step is traced ----------------------------------------------------------------------------

    def _call(self, optimiser: Any, gradients: Sequence[Any], variables: Sequence[Any], *numbers: Any) -> Any:
        """Record the call, which gives one array for each variable."""
        from jitflow.frontend.control.calls_out import record_call
        from jitflow.frontend.outside.arguments import Spec
        from jitflow.frontend.recording.trace import active_trace
        from jitflow.optim.outside import object_outside, plainly
        from jitflow.scaling import in_force

        if in_force() is not None:
            raise UserNotImplementedError(
                "a scale of losses is adapted by each replica alone",
                mend="train replicas without a scale: jitflow.nn.mixed(step, dtype='bf16')",
            )
        outside = object_outside(optimiser)
        named = [object_outside(variable) for variable in variables]
        number = plainly(lambda: self._group_of(outside, named))
        group = self.groups[number]
        given = [gradient.astype(variable.dtype) for gradient, variable in zip(gradients, variables, strict=True)]
        # Of the variables' own sizes, so that what follows is one loop over both.
        specs = tuple(Spec(str(dtype), variable.shape) for dtype, variable in zip(group.dtypes, variables, strict=True))
        trace = active_trace()
        run = partial(self._run, number)
        if trace is None:  # plain Python, with JITFLOW_DISABLE
            return run(*map(np.asarray, given), *numbers)
        return record_call(trace, run, specs, (*given, *numbers), {}, name="exchange", borrows=True)

    def _group_of(self, optimiser: Any, variables: list[Variable]) -> int:
        for number, (known, members) in enumerate(self._known):
            if known is optimiser and [id(one) for one in members] == [id(one) for one in variables]:
                return number
        names = {id(variable): name for name, variable in named_variables(self.model).items()}
        objects = {id(thing): path for path, thing in named_objects(self.model)}
        if id(optimiser) not in objects or any(id(variable) not in names for variable in variables):
            what = "the optimiser" if id(optimiser) not in objects else "a variable that the optimiser updates"
            raise UserValueError(
                f"{what} is not found in the model that the replicas train",
                mend="make it an attribute of what make_model returns, so that it can be saved and restored",
            )
        before = [id(one) for known, members in self._known if known is optimiser for one in members]
        places = [*dict.fromkeys([*before, *(id(variable) for variable in variables)])]
        positions = tuple(places.index(id(variable)) for variable in variables)
        group = Group(
            len(self.groups), objects[id(optimiser)], tuple(names[id(variable)] for variable in variables),
            tuple(variable.dtype for variable in variables), tuple(variable.shape for variable in variables), positions,
        )  # fmt: skip
        self._hold(group, optimiser, variables)
        self.groups.append(group)
        self._known.append((optimiser, variables))
        self._blocks.append(Block(self._bytes_of(group)) if any(self._shared) else None)
        return group.number

    def _bytes_of(self, group: Group) -> int:
        return group.size

    def _hold(self, group: Group, optimiser: Any, variables: list[Variable]) -> None:
        """Tell the peers of a group."""

    # -- while a step runs ---------------------------------------------------------------------------------

    def _run(self, number: int, *given: Any) -> Any:
        raise NotImplementedError

    def _next_round(self) -> Round:
        round_ = Round(self.step, self._turn)
        self._turn += 1
        self.exchanges += 1
        return round_

    def _lay_down(self, group: Group, gradients: Sequence[Array]) -> Contribution:
        """Put gradients where peers of this machine read them."""
        block = self._blocks[group.number]
        if block is None:
            return Contribution(self.part, None)
        for place, gradient in zip(group.arrays(block.bytes), gradients, strict=True):
            place[...] = gradient
        return Contribution(self.part, block.address)


class AllReduce(_Exchange):
    """Sums of all replicas' gradients, which each replica steps along by itself."""

    def __init__(self, model: Any, part: int) -> None:
        super().__init__(model, part)
        self._mapped: dict[Address, Array] = {}

    def combined(self, optimiser: Any, gradients: Sequence[Any], variables: Sequence[Any]) -> list[Any] | None:
        """As in `jitflow.replication.Exchange`."""
        return list(self._call(optimiser, gradients, variables))

    def _run(self, number: int, *gradients: Any) -> Any:
        group, round_ = self.groups[number], self._next_round()
        given, count = self._lay_down(group, gradients), len(self.peers.machines)
        pieces = group.pieces(count)
        asked = []
        for where in range(count):
            own = None if self._shared[where] else [*map(np.ascontiguousarray, group.cut(gradients, pieces[where]))]
            asked.append(self.peers.ask(where, "shard", "reduce", self.generation, round_, group, given, own))
        sums = [np.empty(shape, dtype) for shape, dtype in zip(group.shapes, group.dtypes, strict=True)]
        for mine, answer in zip(pieces, self.peers.answers(asked), strict=True):
            if isinstance(answer, Address):
                lengths = [(piece.stop - piece.start, group.dtypes[piece.place]) for piece in mine]
                answer = laid_out(lengths, self._at(answer))
            for place, part in zip(group.cut(sums, mine), answer, strict=True):
                place[...] = part
        return tuple(sums)

    def _at(self, address: Address) -> Array:
        if address not in self._mapped:
            self._mapped[address] = mapped(address)
        return self._mapped[address]


class Servers(_Exchange):
    """Synchronous steps on servers: the first so many replicas of each round are summed, in their order."""

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
        if self.part == 0:
            values = snapshot(variables)
            for where, places in enumerate(group.shares(len(self.peers.machines))):
                packed = _packed((_part_of(optimiser, variables, places), [values[place] for place in places]))
                self._require_same(group, self._ask(where, "hold", group, packed, self.step))
        self._fetch(group, variables)

    def _require_same(self, group: Group, answer: Any) -> None:
        (found,) = self.peers.answers([answer])
        if found is not None:
            raise UserValueError(
                "the replicas have models of several shapes", found=f"{group.kinds}", expected=f"{found}"
            )

    def _fetch(self, group: Group, variables: Sequence[Variable]) -> None:
        """Make the variables of this replica be what the servers hold."""
        count = len(self.peers.machines)
        found = self.peers.answers([self._ask(where, "values", group.number, None) for where in range(count)])
        for places, (_, values) in zip(group.shares(count), found, strict=True):
            assign_all([variables[place] for place in places], values)

    def _ask(self, where: int, method: str, *arguments: Any) -> Any:
        return self.peers.ask(where, "shard", method, self.generation, *arguments)

    def join(self) -> int:
        """Come to the step that is under way, with what the servers hold then; which step it is."""
        while True:
            ((step, closed),) = self.peers.answers([self.peers.ask(0, "leader", "current", self.generation)])
            last = {how.group: (round_, how) for round_, how in closed}  # in their order, so the last of each group
            try:
                for round_, how in last.values():
                    if how.group < len(self.groups):
                        values = self._commit(self.groups[how.group], round_, how)
                        assign_all(self._known[how.group][1], values)
            except Late:
                continue  # the others have gone on meanwhile
            return int(step)

    def hold_again(self) -> None:
        """Tell servers that have begun anew of the groups that this replica knows."""
        for group, (optimiser, variables) in zip(self.groups, self._known, strict=True):
            self._hold(group, optimiser, variables)

    def _run(self, number: int, *given: Any) -> Any:
        *gradients, rate = given
        group, round_ = self.groups[number], self._next_round()
        contribution = self._lay_down(group, gradients)
        self._send(group, round_, gradients)
        arrival = self.peers.ask(
            0, "leader", "arrive", self.generation, round_, number, contribution, float(rate)
        )  # fmt: skip
        (closed,) = self.peers.answers([arrival])
        if closed.group != number:
            raise Aborted("the replicas do not make the same steps of optimisers in the same order")
        self.counts = self.counts and self.part in {one.part for one in closed.chosen}
        return tuple(self._commit(group, round_, closed))

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
        scale = self._scale(group, round_, chosen)
        told = [(round_, group.number, seen, closed.rate, scale) for seen in chosen]
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

    def _scale(self, group: Group, round_: Round, chosen: Sequence[Sequence[Contribution]]) -> Any:
        """What the sum is multiplied by, so that it is no longer than ``clip_norm``; None where nothing is said."""
        limit = self._known[group.number][0].clip_norm
        if limit is None:
            return None
        count = len(chosen)
        found = self.peers.answers(
            [self._ask(where, "squares", round_, group.number, chosen[where]) for where in range(count)]
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
        self.staleness = [0, 0, 0]
        """Pushes, steps that they did not know of in all, and at most."""

    def begin(self, step: int) -> None:
        """Wait until nobody is too far behind."""
        super().begin(step)
        self.peers.answers([self.peers.ask(0, "leader", "advance", self.generation, self.part, step)])

    def join(self) -> int:
        """Begin where the others are, on the average."""
        for group, (_, variables) in zip(self.groups, self._known, strict=True):
            self._fetch(group, variables)
        return self.step

    def _hold(self, group: Group, optimiser: Any, variables: list[Variable]) -> None:
        if optimiser.clip_norm is not None:
            raise UserNotImplementedError(
                "asynchronous steps have no sum whose norm could be clipped", mend="use clip_value, or mode='sync'"
            )
        super()._hold(group, optimiser, variables)

    def _run(self, number: int, *given: Any) -> Any:
        *gradients, rate = given
        group, round_ = self.groups[number], self._next_round()
        contribution = self._lay_down(group, gradients)
        self._send(group, round_, gradients)
        count = len(self.peers.machines)
        seen = self._seen.setdefault(number, [0] * count)
        asked = [
            self._ask(where, "push", round_, number, *self._as_seen([contribution], where), float(rate), seen[where],
                      self._reply(group, where)) for where in range(count)
        ]  # fmt: skip
        answers = self.peers.answers(asked)
        self._seen[number] = [updates for updates, _, _ in answers]
        late = max(late for _, late, _ in answers)
        self.staleness = [self.staleness[0] + 1, self.staleness[1] + late, max(self.staleness[2], late)]
        return tuple(self._received(group, [values for _, _, values in answers]))


MODES = {"sync": Servers, "async": Asynchronous, "allreduce": AllReduce}


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


def _packed(thing: Any) -> bytes:
    """As bytes; a class of the user's script goes by value."""
    try:
        import cloudpickle
    except ImportError:
        return pickle.dumps(thing)
    return bytes(cloudpickle.dumps(thing))
