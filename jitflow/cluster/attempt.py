"""One run of `Replicas`: the driver watches, keeps checkpoints, and starts again what has died.

Where a server dies, everything begins anew from the state that the driver knows. Where a replica dies, another takes
its place: with servers at the step that is under way, in an all-reduce all begin anew from where the replica is that
has come furthest.
"""

from __future__ import annotations

import math
import pickle
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from jitflow.cluster.actors import RayPeers
from jitflow.cluster.connection import ray
from jitflow.cluster.costs import StepTimes
from jitflow.cluster.rounds import Aborted, value_of
from jitflow.cluster.watching import Watch
from jitflow.cluster.worker import Outcome
from jitflow.data import Dataset
from jitflow.errors import UserRuntimeError, UserTypeError, UserValueError
from jitflow.records import dataclass

if TYPE_CHECKING:
    from jitflow.cluster.replicas import Replicas

__all__ = ["Attempt", "Run", "as_raised"]

Array = np.ndarray[Any, Any]


@dataclass
class Run:
    """What a run of `Replicas` gives.

    ``results`` has, for each step, what the step returned in each replica, None where its gradients were dropped, or
    where the replica has died since.
    ``seconds`` are the times of all steps of all replicas, ``waited`` how much of each went into exchanging gradients
    and waiting for others; ``alone`` is the rest, without what it waited for a core that another process had (where the
    system tells), and ``worked`` how many seconds of cores it took. ``dropped`` counts gradients that came too late, by
    replica; ``restarts`` what was started again. ``staleness`` is how many other steps a gradient did not know of: the
    mean, and the most (asynchronous steps).
    """

    first: int
    results: list[list[Any]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    waited: list[float] = field(default_factory=list)
    alone: list[float] = field(default_factory=list)
    worked: list[float] = field(default_factory=list)
    dropped: list[int] = field(default_factory=list)
    restarts: int = 0
    staleness: tuple[float, int] = (0.0, 0)

    @property
    def step_times(self) -> StepTimes:
        """What the simulator is to know of the steps: what they take a worker alone, and how much of it needs a core.

        Raises ValueError if there were none.
        """
        return StepTimes(tuple(self.alone), work=float(np.median(self.worked)) if self.worked else None)

    @property
    def losses(self) -> Array:
        """The mean of what the replicas returned for each step, the first of several; nan where that is no number."""
        values = [[value for value in map(value_of, row) if value is not None] for row in self.results]
        return np.array([np.mean(row) if row else np.nan for row in values])


class Attempt:
    """One call of `run`."""

    def __init__(self, replicas: Replicas, data: Dataset, steps: int) -> None:
        self.replicas, self.data = replicas, data
        self.first, self.last = replicas.step, replicas.step + steps
        self.found: dict[int, dict[int, Any]] = {}
        self.run_ = Run(self.first)
        self.staleness = [0, 0, 0]
        self._kept = self.first
        self._made: list[int] = []
        self._dropped = [0] * replicas._count
        self._running: dict[Any, int] = {}
        self.peers = RayPeers((), (), replicas._patience)
        self._moved = time.monotonic()

    def run(self) -> Run:
        """Until all steps are made."""
        replicas, library = self.replicas, ray()
        if self.first == self.last:
            return self.run_
        try:
            held = library.put(self.data)
        except (TypeError, pickle.PicklingError) as error:
            raise UserTypeError(
                f"the data cannot be sent to other processes: {error}",
                mend="make files, locks and connections in the functions of the dataset, rather than outside",
            ) from error
        with Watch(replicas._count, self.first, self.last, shown=replicas._progress) as watch:
            while not self._ends(held, watch):
                self._count_restart("the run has begun anew")
                self._recover()
        return self.run_

    def _ends(self, held: Any, watch: Watch) -> bool:
        """Whether a try comes to its end, and what came of it is here."""
        try:
            if not self._try(held, watch):
                return False
            self._finish()
        except Aborted:
            return False
        return True

    def _count_restart(self, why: str) -> None:
        self.run_.restarts += 1
        if self.run_.restarts > self.replicas._restarts:
            raise UserRuntimeError(
                f"{why} for the {self.run_.restarts}th time, and restarts={self.replicas._restarts} were allowed",
                mend="see what the processes say, in front of this or in Ray's logs",
            )

    # -- one try ------------------------------------------------------------------------------------------

    def _try(self, held: Any, watch: Watch) -> bool:
        """Begin at the state that is known. Whether all came to the end."""
        library = ray()
        self._running = {}
        self._running = running = self._begin(held)
        lost, heard, self._moved = False, time.monotonic(), time.monotonic()
        while running and not lost:
            ready, _ = library.wait(list(running), timeout=0.2)
            for ref in ready:
                lost |= self._ended(running, ref, running.pop(ref), held)
            if time.monotonic() - heard > 0.5:
                heard = time.monotonic()
                lost |= self._look(watch, running)
        return not lost

    def _begin(self, held: Any) -> dict[Any, int]:
        """Let all of them begin; which call is whose."""
        replicas = self.replicas
        replicas._start()
        replicas._generation += 1
        self.peers = RayPeers(replicas._hosts, replicas._places, replicas._patience)
        self._tell("begin", replicas._generation, replicas.step)
        if replicas._state is None:  # nobody has made a step: what the first one's model is
            replicas._state = self._ask_trainer(0, "state")
        state = ray().put(replicas._state)
        for part in range(replicas._count):
            self._ask_trainer(part, "load", state)
        return {self._go(part, held, replicas.step, joins=False): part for part in range(replicas._count)}

    def _go(self, part: int, held: Any, first: int, joins: bool) -> Any:
        replicas = self.replicas
        every = replicas._every if part == 0 else 0
        return replicas._trainers[part].call.remote(
            "worker", "run", replicas._generation, held, first, self.last, joins, every
        )

    def _ended(self, running: dict[Any, int], ref: Any, part: int, held: Any) -> bool:
        """A replica has come to its end. Whether the try is lost."""
        replicas, library = self.replicas, ray()
        try:
            went_through, outcome = library.get(ref)
        except library.exceptions.RayActorError:
            replicas._trainers[part] = None
            if replicas.mode == "allreduce":
                return True
            self._count_restart(f"replica {part} has died")
            replicas._start(part)
            self._ask_trainer(part, "load", replicas._state)
            # Asynchronous steps are counted by each replica for itself.
            made = self._made[part] if replicas.mode == "async" and self._made else 0
            running[self._go(part, held, max(made, replicas.step), joins=True)] = part
            return False
        except library.exceptions.RayTaskError as error:
            raise as_raised(error, f"in replica {part}") from error
        if not went_through:
            return True
        self._note(part, outcome)
        if outcome.end == "ended":
            raise UserValueError(
                f"the data of replica {part} end in front of step {outcome.step}, of {self.last} that were asked for",
                mend="ask for fewer steps, or go through the data again: data.repeat()",
            )
        return bool(outcome.end == "interrupted")

    def _note(self, part: int, outcome: Outcome) -> None:
        for step, result in outcome.results:
            self.found.setdefault(step, {})[part] = result
        for whole, alone in outcome.took:
            self.run_.seconds.append(whole.seconds)
            self.run_.waited.append(whole.seconds - alone.seconds)
            self.run_.alone.append(max(0.0, alone.seconds - alone.starved))
            self.run_.worked.append(alone.worked)
        pushes, late, most = outcome.staleness
        self.staleness = [self.staleness[0] + pushes, self.staleness[1] + late, max(self.staleness[2], most)]

    def _count_dropped(self, dropped: Sequence[int]) -> None:
        """Note how many gradients this try has dropped, beside those of earlier tries."""
        self.run_.dropped = [one + before for one, before in zip(dropped, self._dropped, strict=True)]

    def _look(self, watch: Watch, running: dict[Any, int]) -> bool:
        """See how far the replicas are; keep what is to be kept. Whether a process that all need is gone."""
        replicas = self.replicas
        try:
            ((progress, dropped),) = self.peers.answers([self.peers.ask(0, "leader", "status")])
        except Aborted:
            return True
        watch.show(progress, dropped)
        self._count_dropped(dropped)
        made = [one.step for one in progress]
        if made != self._made:
            self._made, self._moved = made, time.monotonic()
        elif time.monotonic() - self._moved > replicas._patience:
            self._moved = time.monotonic()
            return self._end_those_who_hang(running)
        self._keep_newest()
        return False

    def _end_those_who_hang(self, running: dict[Any, int]) -> bool:
        """Nobody has gone on for long: end replicas that are busy with one step, and processes that do not answer.

        Whether there are none of these, so that all wait for each other, or a process that all need was one.
        """
        replicas, library = self.replicas, ray()
        asked = {replicas._trainers[part].call.remote("worker", "silence"): part for part in running.values()}
        answered, hanging = library.wait(list(asked), num_returns=len(asked), timeout=10)
        busy = [asked[ref] for ref in answered if self._silence(ref) > replicas._patience]
        for part in (*busy, *(asked[ref] for ref in hanging)):
            library.kill(replicas._trainers[part])
        return not busy and not hanging

    def _silence(self, asked: Any) -> float:
        try:
            (seconds,) = self.peers.answers([asked])
        except Aborted:
            return math.inf
        return float(seconds)

    def _keep_newest(self) -> None:
        """Fetch the newest copy that all shards have, if there is a new one."""
        replicas = self.replicas
        if not replicas._every:
            return
        try:
            if replicas.mode == "allreduce":
                steps = self._ask_trainer(0, "snapshots")
                newest = max(steps, default=0)
                if not self._kept < newest < self.last:
                    return
                state = self._ask_trainer(0, "snapshot", newest)
            else:
                count = range(len(replicas._hosts))
                found = self.peers.answers([self.peers.ask(where, "shard", "snapshots") for where in count])
                newest = max(set.intersection(*map(set, found)), default=0)
                if not self._kept < newest < self.last:
                    return
                parts = self.peers.answers([self.peers.ask(where, "shard", "snapshot", newest) for where in count])
                if None in parts:
                    return
                state = {**(replicas._state or {}), **self._ask_trainer(0, "snapshot", newest)}
                state.update((name, value) for part in parts for name, value in part.items())
        except Aborted:
            return  # whoever has died will be missed where it is needed
        self._kept = newest
        replicas._keep(newest, state, save=True)

    def _recover(self) -> None:
        """Stop those that still run, find out who is left, and in an all-reduce who has come furthest."""
        replicas, library, running = self.replicas, ray(), self._running
        self._dropped = self.run_.dropped or self._dropped
        with suppress(Aborted):  # which is why
            self._tell("abort", "a process of the run has died")
        limit = min(replicas._patience, 60)
        ended, hanging = library.wait(list(running), num_returns=len(running), timeout=limit) if running else ([], [])
        for ref in ended:
            try:
                went_through, outcome = library.get(ref)
            except library.exceptions.RayTaskError as error:
                raise as_raised(error, f"in replica {running[ref]}") from error
            except library.exceptions.RayActorError:
                continue
            if went_through:
                self._note(running[ref], outcome)
        for ref in hanging:
            library.kill(replicas._trainers[running[ref]])
        running.clear()
        replicas._find_dead()
        if replicas.mode == "allreduce":
            for part, actor in enumerate(replicas._trainers):
                if actor is not None:
                    self._take_over(part)

    def _take_over(self, part: int) -> None:
        """Go on from what a replica has, if it has come further."""
        replicas = self.replicas
        try:
            step = self._ask_trainer(part, "position")
            if step > replicas.step:
                replicas.step, replicas._state = step, self._ask_trainer(part, "state")
        except Aborted:
            return  # it has never begun, or died by now

    def _tell(self, method: str, *given: Any) -> None:
        """Call a method of all parts that replicas wait in. Raises `Aborted` if one of their processes has died."""
        hosts = self.replicas._hosts
        parts = [(host, "shard") for host in hosts if host is not None]
        parts += [(host, "leader") for host in hosts[:1] if host is not None]
        self.peers.answers([host.call.remote(part, method, *given) for host, part in parts])

    def _ask_trainer(self, part: int, method: str, *arguments: Any) -> Any:
        (answer,) = self.peers.answers([self.replicas._trainers[part].call.remote("worker", method, *arguments)])
        return answer

    # -- the end ------------------------------------------------------------------------------------------

    def _finish(self) -> None:
        replicas = self.replicas
        state = self._ask_trainer(0, "state")
        if replicas.mode != "allreduce":
            where = range(len(replicas._hosts))
            parts = self.peers.answers([self.peers.ask(place, "shard", "snapshot", -1) for place in where])
            state = {**state, **{name: value for part in parts for name, value in part.items()}}
        ((_, dropped),) = self.peers.answers([self.peers.ask(0, "leader", "status")])
        self._count_dropped(dropped)
        replicas._keep(self.last, state, save=True)
        self.run_.results = [
            [self.found.get(step, {}).get(part) for part in range(replicas._count)]
            for step in range(self.first, self.last)
        ]
        pushes, late, most = self.staleness
        self.run_.staleness = (late / pushes if pushes else 0.0, most)


def as_raised(error: Any, where: str = "") -> BaseException:
    """The exception of the user's that a call ended with, told where it was."""
    cause = getattr(error, "cause", None)
    raised = cause if isinstance(cause, BaseException) else error
    raised.add_note(f"{where}:\n{error}" if where else str(error))
    return raised
