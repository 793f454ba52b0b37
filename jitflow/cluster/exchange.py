"""What the step of an optimiser is in a replica: a call out of the compiled step, with gradients, that gives values.

While a step is traced, `combined` makes a group of the variables and one call for all of their gradients, between the
derivative and what follows. In an all-reduce the call gives the sums, and the optimiser goes on as it does alone. With
servers it gives the new values of the variables. A call that is interrupted raises, so that the step leaves all
variables as they were.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np

from jitflow.cluster.groups import Group
from jitflow.cluster.memory import Block, can_share, machine_name
from jitflow.cluster.moments import Moment, now
from jitflow.cluster.rounds import Contribution, Round
from jitflow.errors import UserNotImplementedError, UserValueError
from jitflow.runtime.variable import Variable
from jitflow.structure import named_objects, named_variables

__all__ = ["Exchanges", "Peers"]

Array = np.ndarray[Any, Any]
_NOTHING = Moment(0.0, 0.0, 0.0)


class Peers(Protocol):
    """The processes that a replica talks to, by number: servers, or in an all-reduce the replicas."""

    machines: Sequence[str]
    """On which machine each is."""

    def ask(self, where: int, part: str, method: str, *arguments: Any) -> Any:
        """Begin a call of a method of a part of a peer, `leader` or `shard`."""

    def answers(self, asked: Sequence[Any]) -> list[Any]:
        """What calls give, when all have been answered. Raises `Interruption` if one was given up or its peer died."""


class Exchanges:
    """What all ways of exchanging share: groups, their memory, and the number of the step."""

    peers: Peers

    def __init__(self, model: Any, part: int) -> None:
        self.model, self.part = model, part
        self.generation = 0
        self.step, self._turn = 0, 0
        self.exchanges = 0
        self.is_waiting = False
        """Whether this replica waits for answers, rather than the others for it."""
        self.waited = _NOTHING
        """What of this step went into exchanges."""
        self.counts = True
        """Whether the gradients of this step have been among those that were summed."""
        self.staleness = (0, 0, 0)
        """Gradients that were stepped along at once, the steps that they did not know of in all, and at most."""
        self.groups: dict[int, Group] = {}
        self._known: dict[int, tuple[Any, list[Variable]]] = {}
        self._blocks: dict[int, Block | None] = {}
        self._shared: list[bool] = []

    def connect(self, peers: Peers, share: bool = True) -> None:
        """Talk to these peers from now on; compiled steps hold the exchange itself."""
        here = machine_name()
        self.peers = peers
        self._shared = [share and can_share() and machine == here for machine in peers.machines]

    def begin(self, step: int) -> None:
        """The training step that comes next."""
        self.step, self._turn, self.counts, self.waited = step, 0, True, _NOTHING

    # -- while a step is traced ----------------------------------------------------------------------------

    def _call(self, optimiser: Any, gradients: Sequence[Any], variables: Sequence[Any], *numbers: Any) -> Any:
        """Record the call, which gives one array for each variable."""
        from jitflow.frontend.control.calls_out import called_out
        from jitflow.frontend.outside.arguments import Spec
        from jitflow.optim.outside import object_outside, plainly
        from jitflow.transforms.scaling import in_force

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

        def exchange(*given: Any) -> Any:
            return self._wait(number, *given)

        return called_out(exchange, specs, *given, *numbers)

    def _group_of(self, optimiser: Any, variables: list[Variable]) -> int:
        for number, (known, members) in self._known.items():
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
        before = [id(one) for known, members in self._known.values() if known is optimiser for one in members]
        places = [*dict.fromkeys([*before, *(id(variable) for variable in variables)])]
        positions = tuple(places.index(id(variable)) for variable in variables)
        group = Group(
            objects[id(optimiser)], tuple(names[id(variable)] for variable in variables),
            tuple(variable.dtype for variable in variables), tuple(variable.shape for variable in variables), positions,
        )  # fmt: skip
        self._hold(group, optimiser, variables)
        self.groups[group.number], self._known[group.number] = group, (optimiser, variables)
        self._blocks[group.number] = Block(self._bytes_of(group)) if any(self._shared) else None
        return group.number

    def _bytes_of(self, group: Group) -> int:
        return group.size

    def _hold(self, group: Group, optimiser: Any, variables: list[Variable]) -> None:
        """Tell the peers of a group."""
        raise NotImplementedError

    def hold_again(self) -> None:
        """Tell peers that have begun anew of the groups that this replica knows."""
        for number, (optimiser, variables) in self._known.items():
            self._hold(self.groups[number], optimiser, variables)

    def join(self) -> int:
        """Come to the step that is under way; which step it is."""
        raise NotImplementedError

    def _ask(self, where: int, method: str, *arguments: Any) -> Any:
        return self.peers.ask(where, "shard", method, self.generation, *arguments)

    # -- while a step runs ---------------------------------------------------------------------------------

    @contextmanager
    def _waiting(self) -> Iterator[None]:
        self.is_waiting, began = True, now().since(self.waited)
        try:
            yield
        finally:
            self.is_waiting = False
            self.waited = now().since(began)

    def _wait(self, number: int, *given: Any) -> Any:
        with self._waiting():
            return self._run(number, *given)

    def _run(self, number: int, *given: Any) -> Any:
        raise NotImplementedError

    def _next_round(self) -> Round:
        round_ = Round(self.step, self._turn)
        self._turn += 1
        self.exchanges += 1
        return round_

    def _lay_down(self, group: Group, gradients: Sequence[Array]) -> Contribution:
        """Put gradients where peers of this machine read them."""
        block, start = self._blocks[group.number], self._start(group)
        if block is None:
            return Contribution(self.part, None)
        for place, gradient in zip(group.arrays(block.bytes, start), gradients, strict=True):
            place[...] = gradient
        return Contribution(self.part, block.address, start)

    def _start(self, group: Group) -> int:
        """Where in the block of a group gradients are laid down."""
        return 0
