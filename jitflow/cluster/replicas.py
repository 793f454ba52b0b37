"""`Replicas`: a run of a model in many processes, from the driver's side: it starts them, watches, keeps checkpoints.

The driver holds no part of a step. What it knows of the model is a state, all variables by name, as it was in front of
some step: at the beginning, from the last checkpoint, at the end. Where a server dies, everything begins anew from
there; where a replica dies, another takes its place: with servers at the step that is under way, in an all-reduce all
begin anew from what the replica that is furthest has.
"""

from __future__ import annotations

import operator
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from jitflow.checkpoints import CheckpointManager
from jitflow.cluster.actors import RayPeers, Server, Trainer, start, versions
from jitflow.cluster.connection import connect, ray
from jitflow.cluster.exchange import MODES
from jitflow.cluster.rounds import Aborted, value_of
from jitflow.cluster.watching import Watch
from jitflow.cluster.worker import Outcome, load_state, model_of
from jitflow.cores import usable_cores
from jitflow.data import Dataset
from jitflow.errors import UserRuntimeError, UserTypeError, UserValueError

__all__ = ["Replicas", "Run"]

Array = np.ndarray[Any, Any]


@dataclass
class Run:
    """What a run of `Replicas` gives.

    ``results`` has, for each step, what the step returned in each replica, None where its gradients were dropped.
    ``seconds`` are the times of all steps of all replicas. ``dropped`` counts gradients that came too late, by replica;
    ``restarts`` what was started again. ``staleness`` is how many other steps a gradient did not know of: the mean, and
    the most (asynchronous steps).
    """

    first: int
    results: list[list[Any]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    dropped: list[int] = field(default_factory=list)
    restarts: int = 0
    staleness: tuple[float, int] = (0.0, 0)

    @property
    def losses(self) -> Array:
        """The mean over the replicas of what each step returned, or of the first of several; nan where it is no number."""
        values = [[value for value in map(value_of, row) if value is not None] for row in self.results]
        return np.array([np.mean(row) if row else np.nan for row in values])


class Replicas:
    """Trains a model in ``workers`` processes at once, each on its part of the data.

    ``make_model`` is called without arguments in every process, and makes an object with a method ``step``: the user's
    ordinary training step, which takes one element of the data (tuples are spread out) and calls ``minimize`` or
    ``apply`` of an optimiser of the model. In a replica these step along the *sum* of the gradients of all replicas;
    ``clip_norm`` clips the sum. Other variables stay with their replica. `jitflow.cluster.replica` says which it is.

    ``mode`` is one of

    - ``"sync"``: ``servers`` processes hold the variables and step; gradients are summed in the order of the replicas,
      so that the bits are those of one process that does the same. With ``backup`` further replicas the first
      ``workers`` of each step count (Chen and others, Revisiting Distributed Synchronous SGD, 2016);
    - ``"async"``: servers step along each gradient when it comes. With ``staleness``, no replica is more steps ahead of
      the slowest than that;
    - ``"allreduce"``: no servers; each replica sums one part of the gradients, and steps by itself.

    ``checkpoint`` is a folder for checkpoints, which ``every`` so many steps are written while the run goes on; a run
    that finds some goes on from the last one. They are files as `jitflow.save` writes of the model. ``patience`` is how
    many seconds a replica may be silent before it is started again. ``threads`` is how many each replica computes with;
    if nothing is said, the replicas share the cores of the machine. ``gpus`` is how many GPUs each is given, and
    ``cpus`` how many of the cluster's CPUs it counts for.

    `run` trains, and ``model`` is then the model as it was trained. Use it in a ``with`` block, or call `close`.

    Raises TypeError for models that replicas cannot train or that cannot be sent to other processes, ValueError for
    numbers that do not fit, and RuntimeError if Ray is missing or the cluster has not what is asked for.
    """

    __module__ = "jitflow.cluster"

    def __init__(
        self, make_model: Callable[[], Any], workers: int = 2, servers: int = 1, mode: str = "sync", *, backup: int = 0,
        staleness: int | None = None, checkpoint: str | Path | None = None, every: int = 100, keep_last: int = 3,
        patience: float = 600.0, restarts: int = 20, threads: int | None = None, cpus: float = 1, gpus: float = 0,
        share_memory: bool = True, delay: Callable[[int], None] | None = None, progress: bool = True,
    ) -> None:  # fmt: skip
        if mode not in MODES:
            raise UserValueError(f"there is no mode {mode!r}", expected=" or ".join(map(repr, MODES)))
        self.workers, self.servers = _count(workers, "workers", 1), _count(servers, "servers", 1)
        self.mode, self.backup = mode, _count(backup, "backup", 0)
        if backup and mode != "sync":
            raise UserValueError(f"backup replicas have no meaning in mode {mode!r}", expected="mode='sync'")
        if staleness is not None and mode != "async":
            raise UserValueError(f"staleness has no meaning in mode {mode!r}", expected="mode='async'")
        self.model = model_of(make_model)
        self.step = 0
        """How many steps have been made."""
        self._packed = _packed(make_model)
        self._count = self.workers + self.backup
        self._staleness, self._patience, self._restarts = staleness, patience, restarts
        self._share, self._delay, self._progress = share_memory, delay, progress
        self._cpus, self._gpus = cpus, gpus
        self._every = _count(every, "every", 1) if checkpoint is not None else 0
        self._manager = None if checkpoint is None else CheckpointManager(checkpoint, self.model, keep_last=keep_last)
        self._state: Mapping[str, Array] | None = None
        self._cluster = connect()
        self._threads = threads or max(1, usable_cores() // self.workers)
        self._hosts: list[Any] = []
        self._trainers: list[Any] = []
        self._machines: list[str] = []
        self._generation = 0
        self._closed = False
        if self._manager is not None:
            self._resume()

    # -- what users call ----------------------------------------------------------------------------------

    def run(self, steps: int, data: Any) -> Run:
        """Make ``steps`` steps, from where the last run or the checkpoint ended, and give what came of them.

        ``data`` is a `jitflow.data.Dataset`, or what one is made of, whose elements are what the model's ``step`` takes,
        such as batches. Replica i of n gets every n-th element from i on; step s takes the one at position s there.

        Raises what a step raises in a replica, with the lines there in a note; ValueError if the data end too early;
        RuntimeError after too many restarts. Ctrl-C ends the run, and leaves the model at the last checkpoint.
        """
        if self._closed:
            raise UserRuntimeError("these replicas have been closed")
        attempt = _Attempt(self, data if isinstance(data, Dataset) else Dataset(data), _count(steps, "steps", 0))
        try:
            return attempt.run()
        except BaseException:
            self._stop()
            raise

    def map(self, method: str, data: Any) -> list[Any]:
        """``model.method(element)`` for all elements of ``data``, shared by the replicas: the results in their order.

        The replicas' models are as they were after their last step. Use it to evaluate.
        """
        self._start()
        elements = list(data)
        asked = [
            self._trainers[place % self._count].call.remote(
                "worker", "call", method, element if isinstance(element, tuple) else (element,)
            )
            for place, element in enumerate(elements)
        ]
        return RayPeers((), ()).answers(asked)

    def close(self) -> None:
        """End the processes, and wait for checkpoints that are being written. Called twice, it does nothing."""
        if not self._closed:
            self._closed = True
            self._stop()
            try:
                if self._manager is not None:
                    self._manager.close()
            finally:
                self._cluster.close()

    def __enter__(self) -> Replicas:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- processes ----------------------------------------------------------------------------------------

    def _start(self) -> bool:
        """Start what is missing. Whether that was a server, or in an all-reduce a replica."""
        self._require_resources()
        lost = False
        if self.mode != "allreduce":
            self._hosts += [None] * (self.servers - len(self._hosts))
            for number, host in enumerate(self._hosts):
                if host is None:
                    leader = (self.workers, self._count, self._staleness) if number == 0 else None
                    self._hosts[number] = start(
                        Server, number, self.servers, self._every, leader, concurrency=self._count + 16
                    )
                    lost = True
        self._trainers += [None] * (self._count - len(self._trainers))
        fresh = [part for part, trainer in enumerate(self._trainers) if trainer is None]
        for part in fresh:
            self._trainers[part] = self._start_trainer(part)
        if self.mode == "allreduce":
            self._hosts, lost = list(self._trainers), lost or bool(fresh)
        library = ray()
        try:
            library.get([self._trainers[part].make.remote() for part in fresh])
            found = library.get([host.about.remote() for host in self._hosts])
        except library.exceptions.RayTaskError as error:
            raise _as_raised(error) from error
        for _, there in found:
            if there != versions():
                raise UserRuntimeError(
                    "the machines of the cluster run several versions",
                    found=", ".join(f"{name} {version}" for name, version in there.items()),
                    expected=", ".join(f"{name} {version}" for name, version in versions().items()),
                )
        self._machines = [machine for machine, _ in found]
        for part in range(self._count) if lost else fresh:
            library.get(self._trainers[part].connect.remote(self._hosts, self._machines, self._share))
        return lost

    def _start_trainer(self, part: int) -> Any:
        cpus = 0 if self._cluster.is_local else self._cpus  # a machine's own Ray counts its cores, whatever they do
        return start(
            Trainer, _Made(self._packed), part, self._count, self.mode, self._delay, self._threads,
            concurrency=self._count + 16, cpus=cpus, gpus=self._gpus,
        )  # fmt: skip

    def _require_resources(self) -> None:
        found = ray().cluster_resources()
        wanted = {"GPU": self._gpus * self._count, "CPU": 0 if self._cluster.is_local else self._cpus * self._count}
        for name, number in wanted.items():
            if number > found.get(name, 0):
                raise UserRuntimeError(
                    f"{self._count} replicas need {number:g} {name}s, and the cluster has {found.get(name, 0):g}",
                    mend="use fewer workers, say cpus= or gpus=, or join a larger cluster by its address",
                )

    def _stop(self) -> None:
        for actor in {id(actor): actor for actor in (*self._hosts, *self._trainers) if actor is not None}.values():
            ray().kill(actor)
        self._hosts, self._trainers = [], []

    # -- the state ----------------------------------------------------------------------------------------

    def _resume(self) -> None:
        assert self._manager is not None
        found = self._manager.restore_latest()
        if found is not None:
            from jitflow.runtime.snapshots import snapshot
            from jitflow.structure import named_variables

            named = named_variables(self.model)
            self.step, self._state = found.step, dict(zip(named, snapshot([*named.values()]), strict=True))

    def _keep(self, step: int, state: Mapping[str, Array], *, save: bool) -> None:
        """This is the state in front of a step."""
        self.step, self._state = step, state
        load_state(self.model, state)
        if save and self._manager is not None:
            self._manager.save(step)


class _Made:
    """``make_model`` as bytes, so that what goes by value is unpacked where it is called."""

    def __init__(self, packed: bytes) -> None:
        self._packed = packed

    def __call__(self) -> Any:
        import pickle

        return pickle.loads(self._packed)()


class _Attempt:
    """One call of `run`."""

    def __init__(self, replicas: Replicas, data: Dataset, steps: int) -> None:
        self.replicas, self.data = replicas, data
        self.first, self.last = replicas.step, replicas.step + steps
        self.found: dict[int, dict[int, Any]] = {}
        self.run_ = Run(self.first)
        self.staleness = [0, 0, 0]
        self._kept = self.first

    def run(self) -> Run:
        """Until all steps are made."""
        replicas, library = self.replicas, ray()
        if self.first == self.last:
            return self.run_
        held = library.put(self.data)
        with Watch(replicas._count, self.first, self.last, shown=replicas._progress) as watch:
            while not self._try(held, watch):
                self.run_.restarts += 1
                if self.run_.restarts > replicas._restarts:
                    raise UserRuntimeError(f"{replicas._restarts} restarts have not been enough", mend="see the errors above")
        self._finish()
        return self.run_

    # -- one try ------------------------------------------------------------------------------------------

    def _try(self, held: Any, watch: Watch) -> bool:
        """Begin at the state that is known. Whether all came to the end."""
        replicas, library = self.replicas, ray()
        replicas._start()
        replicas._generation += 1
        self.peers = RayPeers(replicas._hosts, replicas._machines)
        first = replicas.step
        self._tell("begin", first)
        state = None if replicas._state is None else library.put(replicas._state)
        running = {}
        for part in range(replicas._count):
            library.get(replicas._trainers[part].call.remote("worker", "load", state))
            if replicas._state is None and part == 0:
                replicas._state = self._ask_trainer(0, "state")
        for part in range(replicas._count):
            running[self._go(part, held, first, joins=False)] = part
        lost, heard = False, time.monotonic()
        while running:
            ready, _ = library.wait(list(running), timeout=0.2)
            for ref in ready:
                lost |= self._ended(running, ref, running.pop(ref), held)
            if time.monotonic() - heard > 0.5:
                heard = time.monotonic()
                lost |= self._look(watch, running)
            if lost:
                self._give_up(running)
        if lost and replicas.mode == "allreduce":
            self._take_over()
        return not lost

    def _go(self, part: int, held: Any, first: int, joins: bool) -> Any:
        replicas = self.replicas
        every = replicas._every if part == 0 and replicas.mode == "allreduce" else 0
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
            self.run_.restarts += 1
            if self.run_.restarts > replicas._restarts:
                raise UserRuntimeError(f"replica {part} died, and {replicas._restarts} restarts have been enough") from None
            if not self._all_alive():
                return True
            replicas._start()
            running[self._go(part, held, replicas.step, joins=True)] = part
            return False
        except library.exceptions.RayTaskError as error:
            raise _as_raised(error, f"in replica {part}") from error
        if not went_through:
            return True
        self._note(part, outcome)
        if outcome.end == "ended":
            raise UserValueError(
                f"the data of replica {part} ended in front of step {outcome.step}, and {self.last} steps were asked for",
                mend="ask for fewer steps, or go through the data again: data.repeat()",
            )
        return bool(outcome.end == "interrupted")

    def _note(self, part: int, outcome: Outcome) -> None:
        for step, result in outcome.results:
            self.found.setdefault(step, {})[part] = result
        self.run_.seconds += outcome.seconds
        pushes, late, most = outcome.staleness
        self.staleness = [self.staleness[0] + pushes, self.staleness[1] + late, max(self.staleness[2], most)]

    def _look(self, watch: Watch, running: dict[Any, int]) -> bool:
        """See how far the replicas are; keep what is to be kept. Whether a process that all need is gone."""
        replicas = self.replicas
        try:
            ((progress, dropped, now),) = self.peers.answers([self.peers.ask(0, "leader", "status")])
        except Aborted:
            return True
        watch.show(progress, dropped)
        self.run_.dropped = list(dropped)
        silent = [part for part in running.values() if now - progress[part].heard > replicas._patience]
        if silent and progress:
            # Others wait for the slowest: it is the one that has come least far.
            slowest = min(silent, key=lambda part: progress[part].step)
            ray().kill(replicas._trainers[slowest])
        return self._keep_newest()

    def _keep_newest(self) -> bool:
        """Fetch the newest copy that all shards have, if there is a new one. Whether a process is gone."""
        replicas = self.replicas
        if not replicas._every:
            return False
        try:
            if replicas.mode == "allreduce":
                steps = self._ask_trainer(0, "snapshots")
                newest = max(steps, default=0)
                if newest <= self._kept:
                    return False
                state = self._ask_trainer(0, "snapshot", newest)
            else:
                count = range(len(replicas._hosts))
                found = self.peers.answers([self.peers.ask(where, "shard", "snapshots") for where in count])
                newest = max(set.intersection(*map(set, found)), default=0)
                if newest <= self._kept:
                    return False
                parts = self.peers.answers([self.peers.ask(where, "shard", "snapshot", newest) for where in count])
                state = {**self._ask_trainer(0, "state"), **{name: value for part in parts for name, value in part.items()}}
        except Aborted:
            return False  # whoever has died will be missed where it is needed
        self._kept = newest
        replicas._keep(newest, state, save=True)
        return False

    def _give_up(self, running: dict[Any, int]) -> None:
        """Stop those that still run, and find out who is left."""
        replicas, library = self.replicas, ray()
        self._tell("abort", "a process of the run has died")
        ended, hanging = library.wait(list(running), num_returns=len(running), timeout=min(replicas._patience, 60)) if running else ([], [])
        for ref in ended:
            part = running[ref]
            try:
                went_through, outcome = library.get(ref)
                if went_through:
                    self._note(part, outcome)
            except library.exceptions.RayTaskError as error:
                raise _as_raised(error, f"in replica {part}") from error
            except library.exceptions.RayActorError:
                replicas._trainers[part] = None
        for ref in hanging:
            library.kill(replicas._trainers[running[ref]])
            replicas._trainers[running[ref]] = None
        running.clear()
        if replicas.mode == "allreduce":
            replicas._trainers = [actor if actor is not None and _is_alive(actor) else None for actor in replicas._trainers]
        else:
            replicas._hosts = [actor if _is_alive(actor) else None for actor in replicas._hosts]

    def _take_over(self) -> None:
        """All-reduce: go on from the replica that has come furthest."""
        replicas = self.replicas
        alive = [part for part, actor in enumerate(replicas._trainers) if actor is not None]
        steps = {part: self._ask_trainer(part, "position") for part in alive}
        if steps:
            furthest = max(steps, key=lambda part: steps[part])
            replicas.step, replicas._state = steps[furthest], self._ask_trainer(furthest, "state")

    def _all_alive(self) -> bool:
        return all(map(_is_alive, self.replicas._hosts))

    def _tell(self, method: str, given: Any) -> None:
        """Let every process that others wait for begin, or give up."""
        replicas = self.replicas
        number, asked = replicas._generation, []
        for where in range(len(replicas._hosts)):
            if replicas._hosts[where] is None:
                continue
            asked.append(self.peers.ask(where, "shard", method, number if method == "begin" else given))
            if where == 0:
                asked.append(self.peers.ask(0, "leader", method, *((number, given) if method == "begin" else (given,))))
        for one in asked:
            try:
                self.peers.answers([one])
            except Aborted:
                if method == "begin":
                    raise

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
        ((_, dropped, _),) = self.peers.answers([self.peers.ask(0, "leader", "status")])
        self.run_.dropped = list(dropped)
        replicas._keep(self.last, state, save=True)
        self.run_.results = [
            [self.found.get(step, {}).get(part) for part in range(replicas._count)]
            for step in range(self.first, self.last)
        ]
        pushes, late, most = self.staleness
        self.run_.staleness = (late / pushes if pushes else 0.0, most)


def _is_alive(actor: Any) -> bool:
    library = ray()
    try:
        library.get(actor.about.remote(), timeout=30)
    except (library.exceptions.RayActorError, library.exceptions.GetTimeoutError):
        return False
    return True


def _packed(make_model: Any) -> bytes:
    if not callable(make_model):
        raise UserTypeError(
            f"make_model is a {type(make_model).__name__}",
            expected="a function, or a class, that makes a model in each process",
        )
    try:
        import cloudpickle

        return bytes(cloudpickle.dumps(make_model))
    except ImportError:
        raise UserRuntimeError("clusters need cloudpickle", mend="pip install 'jitflow[cluster]'") from None
    except Exception as error:  # whatever the objects raise that it reaches
        raise UserTypeError(
            f"make_model cannot be sent to other processes: {error}",
            mend="make files, locks and connections within it, rather than outside",
        ) from error


def _as_raised(error: Any, where: str = "") -> BaseException:
    """The exception of the user's that a call ended with, told where it was."""
    cause = getattr(error, "cause", None)
    raised = cause if isinstance(cause, BaseException) else error
    raised.add_note(f"{where}:\n{error}" if where else str(error))
    return raised


def _count(given: Any, name: str, least: int) -> int:
    try:
        number = operator.index(given)
    except TypeError:
        raise UserTypeError(f"{name} is a {type(given).__name__}", expected="an integer") from None
    if number < least:
        raise UserValueError(f"{name} is {number}", expected=f"at least {least}")
    return number


