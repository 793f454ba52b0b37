"""A replica: the user's model in a process of its own, which makes the user's ordinary step on its part of the data."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from threading import local
from typing import Any

import numpy as np

from jitflow.cluster.all_reduce import AllReduce
from jitflow.cluster.exchange import Peers
from jitflow.cluster.moments import Moment, now
from jitflow.cluster.rounds import Interruption, Late, value_of
from jitflow.cluster.served import Asynchronous, Servers
from jitflow.errors import UserTypeError, UserValueError
from jitflow.random import Generator
from jitflow.records import dataclass
from jitflow.replication import exchanging
from jitflow.runtime.snapshots import assign_all, snapshot
from jitflow.structure import announce, named_objects, named_variables

__all__ = ["EXCHANGES", "Outcome", "Replica", "Worker", "replica"]

Array = np.ndarray[Any, Any]
EXCHANGES = {"sync": Servers, "async": Asynchronous, "allreduce": AllReduce}
"""What each mode does with gradients."""


@dataclass(frozen=True)
class Replica:
    """Which of how many replicas runs here: replica 0 of 1 outside of `Replicas`."""

    index: int
    count: int


class _Here(local):
    replica = Replica(0, 1)


_HERE = _Here()


def replica() -> Replica:
    """Which replica this is. In `make_model` it tells them apart, for draws that are to differ."""
    return _HERE.replica


@dataclass
class Outcome:
    """How a run ended in one replica.

    ``results`` are those of the steps it made, with their numbers; ``took`` is what each took, and that without its
    exchanges.
    ``end`` is ``"done"``, ``"interrupted"`` (the run begins anew elsewhere) or ``"ended"`` (there were no more data).
    """

    end: str
    step: int
    results: list[tuple[int, Any]] = field(default_factory=list)
    took: list[tuple[Moment, Moment]] = field(default_factory=list)
    staleness: tuple[int, int, int] = (0, 0, 0)


class Worker:
    """Replica ``part`` of ``count``. Its model is made where it runs.

    ``delay`` is called in front of every step with its number and may sleep: a way to try out stragglers.
    """

    def __init__(
        self, make_model: Callable[[], Any], part: int, count: int, mode: str, delay: Callable[[int], Any] | None = None
    ) -> None:
        self.part, self.count, self.mode, self.delay = part, count, mode, delay
        _HERE.replica = Replica(part, count)
        self.model = model_of(make_model)
        self.exchange: Any = None
        self.step = 0
        self._snapshots: dict[int, dict[str, Array]] = {}
        self._moved = time.monotonic()

    def connect(self, peers: Peers, share: bool = True) -> None:
        """Say who its peers are, at first and after some have been started again."""
        if self.exchange is None:
            self.exchange = EXCHANGES[self.mode](self.model, self.part)
        self.exchange.connect(peers, share)

    def load(self, state: Mapping[str, Array] | None) -> None:
        """Make the model be what was saved, as far as there is something of it.

        Draws stay this replica's own: the state of generators belongs to replica 0.
        """
        if state is not None:
            own = generators_of(self.model) if self.part else set()
            load_state(self.model, {name: array for name, array in state.items() if name not in own})

    def state(self) -> dict[str, Array]:
        """All variables of the model by name."""
        return state_of(self.model)

    def position(self) -> int:
        """How many steps it has made."""
        return self.step

    def silence(self) -> float:
        """For how many seconds it has been busy with the step that it is in; 0 while it waits for others."""
        return 0.0 if self.exchange is None or self.exchange.is_waiting else time.monotonic() - self._moved

    def snapshots(self) -> list[int]:
        """The steps of which there are copies."""
        return sorted(self._snapshots)

    def snapshot(self, step: int) -> dict[str, Array]:
        """The last copy of the model in front of a step or before; nothing if there is none."""
        return self._snapshots.get(max((one for one in self._snapshots if one <= step), default=-1), {})

    def run(self, generation: int, data: Any, first: int, last: int, joins: bool, every: int = 0) -> Outcome:
        """Make steps ``first`` to ``last`` on this replica's part of the data; with ``joins``, from the current one on.

        With ``every``, a copy of the model is kept in front of each step of which that is a divisor.
        """
        _HERE.replica = Replica(self.part, self.count)
        exchange, outcome = self.exchange, Outcome("done", first)
        self._snapshots = {}
        exchange.generation, exchange.step, self.step = generation, first, first
        exchange.staleness = outcome.staleness
        iterator = iter(data.shard(self.part, self.count))
        try:
            exchange.hold_again()
            if joins:
                self.step = exchange.join()
            self._go_on(iterator, last, outcome, every)
        except Interruption:
            outcome.end = "interrupted"
        outcome.step, outcome.staleness = self.step, exchange.staleness
        return outcome

    def _go_on(self, iterator: Any, last: int, outcome: Outcome, every: int) -> None:
        exchange, seconds, reported = self.exchange, 0.0, 0.0
        while self.step < last:
            iterator.position.assign(self.step)
            began, self._moved = now(), time.monotonic()
            if every and self.step // every > max(self._snapshots, default=0) // every:
                self._snapshots = {**dict(list(self._snapshots.items())[-1:]), self.step: self.state()}
            try:
                element = next(iterator)
            except StopIteration:
                outcome.end = "ended"
                return
            if self.delay is not None:
                self.delay(self.step)
            try:
                exchange.begin(self.step)
                result = self._step(element)
            except Late:
                self.step = exchange.join()
                continue
            if not exchange.exchanges:
                raise UserValueError(
                    "the step of the model updates no variables by an optimiser",
                    mend="call optimiser.minimize(...) or optimiser.apply(...) in it",
                )
            took = now().since(began)
            if exchange.counts:
                outcome.results.append((self.step, result))
            outcome.took.append((took, took.since(exchange.waited)))
            self.step += 1
            seconds = took.seconds if not seconds else 0.9 * seconds + 0.1 * took.seconds
            if time.perf_counter() - reported > 0.25 or self.step == last:
                reported = time.perf_counter()
                exchange.peers.ask(0, "leader", "report", self.part, self.step, seconds, value_of(result))

    def _step(self, element: Any) -> Any:
        with exchanging(self.exchange):
            return plain(self.model.step(*element) if isinstance(element, tuple) else self.model.step(element))

    def call(self, method: str, arguments: Sequence[Any]) -> Any:
        """What a method of the model gives."""
        _HERE.replica = Replica(self.part, self.count)
        return plain(getattr(self.model, method)(*arguments))


def model_of(make_model: Callable[[], Any]) -> Any:
    """What ``make_model`` makes, if replicas can train it."""
    model = make_model()
    if not callable(getattr(model, "step", None)):
        raise UserTypeError(
            f"make_model made a {type(model).__name__} without a method `step`",
            expected="an object whose method step(...) makes one step of training on what the data give",
        )
    named_variables(model)  # which raises for a model without variables
    return model


def state_of(model: Any) -> dict[str, Array]:
    """All variables of a model by name, as they are between two steps."""
    named = named_variables(model)
    return dict(zip(named, snapshot([*named.values()]), strict=True))


def load_state(model: Any, state: Mapping[str, Array]) -> None:
    """Give a model's variables the values of a state, after objects have made those that the state knows of."""
    announce(model, {name: (array.dtype, array.shape) for name, array in state.items()})
    named = {name: variable for name, variable in named_variables(model).items() if name in state}
    for name, variable in named.items():
        if variable.shape != state[name].shape or variable.dtype != state[name].dtype:
            raise UserValueError(
                f"the variable {name!r} is {variable.dtype} of shape {variable.shape}, and in the checkpoint "
                f"{state[name].dtype} of shape {state[name].shape}",
                mend="train the model that was saved, or use another folder",
            )
    assign_all([*named.values()], [state[name] for name in named])


def generators_of(model: Any) -> set[str]:
    """The names of the states of a model's random generators."""
    named = {id(variable): name for name, variable in named_variables(model).items()}
    return {named[id(thing.state)] for _, thing in named_objects(model) if isinstance(thing, Generator)}


def plain(result: Any) -> Any:
    """A result that can travel: arrays of their own memory."""
    if isinstance(result, tuple | list):
        return type(result)(map(plain, result)) if not hasattr(result, "_fields") else tuple(map(plain, result))
    if isinstance(result, dict):
        return {key: plain(item) for key, item in result.items()}
    return np.array(result) if isinstance(result, np.ndarray) else result
