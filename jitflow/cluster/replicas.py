"""`Replicas`: a model that is trained in many processes, from the driver's side: what they are, and how they start.

The driver holds no part of a step. What it knows of the model is a state, all variables by name, as it was in front of
some step: at the beginning, from the last checkpoint, at the end (`attempt.py`).
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from jitflow.checkpoints import CheckpointManager
from jitflow.cluster.actors import RayPeers, Server, Trainer, require_versions, start
from jitflow.cluster.attempt import Attempt, Run, as_raised
from jitflow.cluster.connection import connect, ray
from jitflow.cluster.lines import Place
from jitflow.cluster.packing import packed
from jitflow.cluster.rounds import Aborted
from jitflow.cluster.setup import MODES
from jitflow.cluster.worker import load_state, model_of, state_of
from jitflow.data import Dataset
from jitflow.data.dataset import whole_number
from jitflow.errors import UserRuntimeError, UserTypeError, UserValueError
from jitflow.machines.cores import usable_cores

__all__ = ["Replicas"]

Array = np.ndarray[Any, Any]
_LONGEST_START = 60.0
"""Seconds in which a process is there, where `patience` is shorter."""


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
        self.workers, self.servers = whole_number(workers, "workers", 1), whole_number(servers, "servers", 1)
        self.mode, self.backup = mode, whole_number(backup, "backup", 0)
        if backup and mode != "sync":
            raise UserValueError(f"backup replicas have no meaning in mode {mode!r}", expected="mode='sync'")
        if staleness is not None and mode != "async":
            raise UserValueError(f"staleness has no meaning in mode {mode!r}", expected="mode='async'")
        self.model = model_of(make_model)
        self.step = 0
        """How many steps have been made."""
        self._packed = _checked(make_model)
        self._count = self.workers + self.backup
        self._staleness, self._patience, self._restarts = staleness, patience, restarts
        self._share, self._delay, self._progress = share_memory, delay, progress
        self._cpus, self._gpus = cpus, gpus
        self._every = whole_number(every, "every", 1) if checkpoint is not None else 0
        self._manager = None if checkpoint is None else CheckpointManager(checkpoint, self.model, keep_last=keep_last)
        self._state: Mapping[str, Array] | None = None
        self._cluster = connect()
        self._threads = threads or max(1, usable_cores() // self.workers)
        self._hosts: list[Any] = []
        self._trainers: list[Any] = []
        self._places: list[Place] = []
        self._generation = 0
        self._closed = False
        if self._manager is not None:
            self._resume()

    # -- what users call ----------------------------------------------------------------------------------

    def run(self, steps: int, data: Any) -> Run:
        """Make ``steps`` steps, from where the last run or the checkpoint ended, and give what came of them.

        ``data`` is a `jitflow.data.Dataset`, or what one is made of; its elements are what the model's ``step`` takes,
        such as batches. Replica i of n gets every n-th element from i on; step s takes the one at position s there.

        Raises what a step raises in a replica, with the lines there in a note; ValueError if the data end too early;
        RuntimeError after too many restarts. Ctrl-C ends the run, and leaves the model at the last checkpoint.
        """
        if self._closed:
            raise UserRuntimeError("these replicas have been closed")
        attempt = Attempt(self, data if isinstance(data, Dataset) else Dataset(data), whole_number(steps, "steps", 0))
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

    def _start(self, part: int | None = None) -> None:
        """Start what is missing, or while the others run the replica of one ``part``.

        Raises `Aborted` if something dies meanwhile.
        """
        self._require_resources()
        if self.mode != "allreduce":
            self._hosts = _filled(self._hosts, self.servers, self._start_server)
        self._trainers = _filled(self._trainers, self._count, self._start_trainer)
        if self.mode == "allreduce":
            self._hosts = list(self._trainers)
        parts = range(self._count) if part is None else [part]
        self._answers([self._trainers[place].make.remote() for place in parts])
        found = self._answers([host.about.remote() for host in self._hosts])
        for _, there in found:
            require_versions(there, "the machines of the cluster run several versions")
        self._places = [place for place, _ in found]
        given = (self._hosts, self._places, self._share)
        self._answers([self._trainers[place].connect.remote(*given) for place in parts])

    def _answers(self, asked: list[Any]) -> list[Any]:
        """What processes that are being started say. Raises `Aborted` if one dies, or does not answer."""
        library = ray()
        try:
            return list(library.get(asked, timeout=max(self._patience, _LONGEST_START)))
        except library.exceptions.RayTaskError as error:
            raise as_raised(error) from error
        except (library.exceptions.RayActorError, library.exceptions.GetTimeoutError) as error:
            raise Aborted(f"a process could not be started: {error}") from None

    def _find_dead(self) -> None:
        """Forget processes that have died, and end those that do not answer."""
        library = ray()
        actors = {id(actor): actor for actor in (*self._hosts, *self._trainers) if actor is not None}
        asked = {actor.pid.remote(): actor for actor in actors.values()}
        answered, hanging = library.wait(list(asked), num_returns=len(asked), timeout=10) if asked else ([], [])
        dead = {id(asked[ref]) for ref in hanging}
        for ref in answered:
            try:
                library.get(ref)
            except library.exceptions.RayActorError:
                dead.add(id(asked[ref]))
        for actor in dead:
            library.kill(actors[actor])
        self._hosts = [None if id(actor) in dead else actor for actor in self._hosts]
        self._trainers = [None if id(actor) in dead else actor for actor in self._trainers]

    def _start_server(self, number: int) -> Any:
        leader = (self.workers, self._count, self._staleness) if number == 0 else None
        pushes = self._count if self.mode == "async" else 1
        return start(Server, number, self.servers, self._every, pushes, leader, concurrency=self._count + 16)

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
            self.step, self._state = found.step, state_of(self.model)

    def _keep(self, step: int, state: Mapping[str, Array], *, save: bool) -> None:
        """Note the state in front of a step."""
        self.step, self._state = step, state
        load_state(self.model, state)
        if save and self._manager is not None:
            self._manager.save(step)


class _Made:
    """``make_model`` as bytes, so that what goes by value is unpacked where it is called."""

    def __init__(self, packed: bytes) -> None:
        self._packed = packed

    def __call__(self) -> Any:
        return pickle.loads(self._packed)()


def _filled(actors: list[Any], count: int, begin: Callable[[int], Any]) -> list[Any]:
    """So many actors, those started that there are not."""
    found = actors + [None] * (count - len(actors))
    return [begin(place) if actor is None else actor for place, actor in enumerate(found)]


def _checked(make_model: Any) -> bytes:
    if not callable(make_model):
        raise UserTypeError(
            f"make_model is a {type(make_model).__name__}",
            expected="a function, or a class, that makes a model in each process",
        )
    try:
        return packed(make_model)
    except Exception as error:  # whatever the objects raise that it reaches
        raise UserTypeError(
            f"make_model cannot be sent to other processes: {error}",
            mend="make files, locks and connections within it, rather than outside",
        ) from error
