"""`ShardedVariable`: a variable whose rows lie on several servers.

What the frontend, gradients and optimisers know of it is in `jitflow.remote`, and what servers do is in
`jitflow.cluster.table`. Here is what lies between: ids are parted among the servers, and their answers are put
together. Each request goes to all servers that it concerns before any is waited for.
"""

from __future__ import annotations

import copy
import secrets
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from functools import partial
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from jitflow.cluster.hosts import servers_of
from jitflow.cluster.packing import packed
from jitflow.cluster.rounds import numbers_of
from jitflow.cluster.table import rows_of
from jitflow.errors import UserNotImplementedError, UserTypeError, UserValueError
from jitflow.random import Generator
from jitflow.remote import Remote, Request, Server, Step

__all__ = ["ShardedVariable"]

Array = np.ndarray[Any, Any]


class ShardedVariable(Remote, NDArrayOperatorsMixin):
    """An array that lies on several servers, row by row, and that compiled functions read and train.

    ``value`` is an array, or a function that makes one of a shape and a `jitflow.random.Generator`, such as
    `jitflow.nn.normal`: it is called on each server, with the shape of that server's part of ``shape``. Numbers then
    depend on ``seed`` and on how many shards there are. Rows are those along ``axis``, which is 0.

    In a compiled function ``table[ids]``, with integers, asks each server for the rows it has, once; ``table[...]`` and
    arithmetic with the table fetch all. Among the ``variables`` of `jitflow.grad` and of an optimiser it stands like
    any other: its gradient is rows, and the optimiser's step is made on the servers, where its slots are. Other writes
    are not compiled; outside, `assign` gives it another value. ``table[ids]`` and `numpy` outside give copies.

    The servers are those of the cluster that this process is connected to, or of one that is started on this machine;
    ``servers="local"`` keeps all shards in this process. A call that raises after its optimiser's step leaves the
    servers with that step done.

    Raises ValueError for less than one shard, TypeError for values that are no arrays of numbers.
    """

    __module__ = "jitflow.cluster"
    __array_priority__ = 1_000_000.0
    _end: Any
    """What drops it on the servers when it ends here; a copy, from another process, has none."""

    def __init__(
        self, value: Any, shards: int = 1, axis: int = 0, *, shape: tuple[int, ...] | None = None, seed: int = 0,
        name: str | None = None, trainable: bool = True, servers: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if axis != 0:
            raise UserNotImplementedError(
                f"a variable of several shards along axis {axis}", expected="axis 0, whose rows are chosen by ids",
                mend="keep it transposed",
            )  # fmt: skip
        if shards < 1:
            raise UserValueError(f"expected one shard or more, got {shards}")
        self._set(f"{name or 'table'}-{secrets.token_hex(8)}", servers_of(servers, shards), name, trainable)
        self.shape, self.dtype = self._made(value, shape, seed)
        self._end = weakref.finalize(self, _drop, self._servers, self.key)

    def _set(self, key: str, servers: Sequence[Server], name: str | None, trainable: bool) -> None:
        self.key, self._servers, self.name, self.trainable = key, [*servers], name, bool(trainable)
        self._lock = threading.RLock()
        self._optimiser: Callable[[], Any] = lambda: None
        self._end = None
        self._options: dict[str, Any] = {}

    def _made(self, value: Any, shape: tuple[int, ...] | None, seed: int) -> tuple[tuple[int, ...], Any]:
        count = self.shards
        if not callable(value):
            whole = np.asarray(value)
            if not whole.ndim or whole.dtype.kind not in "biufcV":
                raise UserTypeError(
                    "a variable of several shards needs an array of numbers with a first axis",
                    found=f"{whole.dtype} of shape {whole.shape}",
                )
            self.on_all("hold", [(np.ascontiguousarray(whole[k::count]), None) for k in range(count)])
            return whole.shape, whole.dtype
        if shape is None:
            raise UserValueError("a function that makes values needs a shape", mend="pass shape=(rows, features)")
        parts = [(rows_of(shape[0], k, count), *shape[1:]) for k in range(count)]
        makers = [partial(value, part, own) for part, own in zip(parts, Generator(seed).spawn(count), strict=True)]
        found = self.on_all("hold", [(None, packed(maker)) for maker in makers])
        for (dtype, made), part in zip(found, parts, strict=True):
            if tuple(made) != part or dtype != found[0][0]:
                raise UserValueError("the function made another shape", found=f"{dtype} {made}", expected=f"{part}")
        return tuple(shape), np.dtype(found[0][0])

    # -- what it is ---------------------------------------------------------------------------------------

    @property
    def shards(self) -> int:
        """How many servers it lies on."""
        return len(self._servers)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(np.prod(self.shape, dtype=np.int64))

    def __len__(self) -> int:
        return self.shape[0]

    def __hash__(self) -> int:
        return object.__hash__(self)

    def __repr__(self) -> str:
        name = "" if self.name is None else f" {self.name}"
        return f"<jitflow.cluster.ShardedVariable{name}: {self.dtype} {self.shape} on {self.shards} servers>"

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy is the same variable, on the same servers, which hold it as long as the first one lives.

        Optimisers of all processes are copies of one: they share its slots.
        """
        return _known, (self.key, self._servers, self.name, self.trainable, self.shape, self.dtype)

    # -- reading ------------------------------------------------------------------------------------------

    def __getitem__(self, index: Any) -> Any:
        from jitflow.frontend.recording.trace import active_trace

        if active_trace() is not None:
            from jitflow.frontend.transforms.tables import gathered

            return gathered(self, index)
        ids = None if isinstance(index, tuple | slice | bool | type(None)) or index is Ellipsis else np.asarray(index)
        if ids is None or ids.dtype.kind not in "iu":
            return self.read()[index]
        return self.gather(ids)

    def gather(self, ids: Any) -> Array:
        """As in `Remote`; each server is asked once, for each row once."""
        given = np.asarray(ids)
        distinct, places = np.unique(self._places(given), return_inverse=True)
        found = np.empty((len(distinct), *self.shape[1:]), self.dtype)
        asked = [
            (mine, server.begin([("gather", self.key, distinct[mine] // self.shards)]))
            for server, mine in zip(self._servers, self._parted(distinct), strict=True)
            if len(distinct[mine])
        ]
        for mine, wait in asked:
            (found[mine],) = wait()
        return found[places.reshape(given.shape)]

    def read(self) -> Array:
        """As in `Remote`."""
        found = np.empty(self.shape, self.dtype)
        for k, rows in enumerate(self.on_all("read")):
            found[k :: self.shards] = rows
        return found

    def numpy(self) -> Any:
        """A copy: a read-only array of what the servers hold now."""
        found = self[...]
        if type(found) is np.ndarray:
            found.flags.writeable = False
        return found

    def __iter__(self) -> Iterator[Any]:
        return iter(self[...])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError("Unable to avoid copy while creating an array as requested.")
        return np.asarray(self[...], dtype)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **keywords: Any) -> Any:
        if method == "at" or any(isinstance(each, ShardedVariable) for each in keywords.get("out", ())):
            raise _no_store()
        return getattr(ufunc, method)(*map(_whole, inputs), **keywords)

    def __array_function__(self, function: Any, types: Any, args: Any, keywords: Any) -> Any:
        return function(*map(_whole, args), **{name: _whole(each) for name, each in keywords.items()})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(np.ndarray, name):
            raise AttributeError(f"'jitflow.cluster.ShardedVariable' object has no attribute {name!r}")
        return getattr(self[...], name)

    # -- writing ------------------------------------------------------------------------------------------

    def __setitem__(self, index: Any, value: Any) -> None:
        raise _no_store()

    def assign(self, value: Any) -> ShardedVariable:
        """Make it be ``value``, broadcast and cast as ``np.copyto`` does; not in compiled functions."""
        from jitflow.frontend.recording.trace import active_trace

        if active_trace() is not None:
            raise _no_store()
        whole = np.empty(self.shape, self.dtype)
        np.copyto(whole, np.asarray(value))
        self.on_all("assign", [(np.ascontiguousarray(whole[k :: self.shards]),) for k in range(self.shards)])
        return self

    def trained_by(self, optimiser: Any) -> bytes:
        """As in `Remote`: a copy of the optimiser, without slots and what is done before its step."""
        known = self._optimiser()
        if known is not None and known is not optimiser:
            raise UserValueError(
                "a variable of several shards is updated by two optimisers",
                mend="update it by one, which has its slots",
            )
        part = copy.copy(optimiser)
        part.slots, part._owners = {name: [] for name in optimiser.slot_names}, []
        part.schedule = part.clip_value = part.clip_norm = None
        return packed(part)

    def update(self, optimiser: Any, known: Any, step: Step) -> Sequence[Request]:
        """As in `Remote`: a request of each server, whether it has some of the rows or not."""
        if self._optimiser() is None:
            self.on_all("adopt", [(known, self._end is not None)] * self.shards)
            self._optimiser, self._options = weakref.ref(optimiser), {}
        options = numbers_of(optimiser)
        changed = {name: value for name, value in options.items() if self._options.get(name) != value}
        self._options = options
        requests = []
        for server, mine in zip(self._servers, self._parted(step.ids), strict=True):
            own = step._replace(ids=step.ids[mine] // self.shards, rows=np.array(step.rows[mine]))
            requests.append(Request(server, ("update", self.key, own, changed)))
        return requests

    # -- all servers --------------------------------------------------------------------------------------

    def changing(self) -> AbstractContextManager[Any]:
        """``with table.changing():`` no other thread of this process makes a step of an optimiser or a checkpoint."""
        return self._lock

    def on_all(self, method: str, arguments: Sequence[tuple[Any, ...]] | None = None) -> list[Any]:
        """What all servers answer to a call of a method of `jitflow.cluster.table.Tables`."""
        given = [()] * self.shards if arguments is None else arguments
        begun = [server.begin([(method, self.key, *own)]) for server, own in zip(self._servers, given, strict=True)]
        return [wait()[0] for wait in begun]

    def fetch(self, files: Sequence[str]) -> None:
        """Let servers read files of a checkpoint, of as many shards as there are files."""
        self.on_all("fetch", [(files, self.shape[0], k, self.shards) for k in range(self.shards)])

    # -- inside -------------------------------------------------------------------------------------------

    def _places(self, ids: Array) -> Array:
        flat, size = ids.astype(np.int64, copy=False).reshape(-1), self.shape[0]
        wrong = (flat < -size) | (flat >= size)
        if wrong.any():
            found = flat[wrong.argmax()]
            raise IndexError(f"index {found} is out of bounds for axis 0 with size {size}")
        return np.where(flat < 0, flat + size, flat)

    def _parted(self, ids: Array) -> list[Any]:
        """Where among some ids those of each server are."""
        owner = ids % self.shards
        return [owner == k for k in range(self.shards)] if self.shards > 1 else [slice(None)]


def _no_store() -> UserNotImplementedError:
    return UserNotImplementedError(
        "a store to a variable of several shards", expected="steps of optimisers",
        mend="outside of compiled functions, give it another value: table.assign(value)",
    )  # fmt: skip


def _whole(thing: Any) -> Any:
    return thing[...] if isinstance(thing, ShardedVariable) else thing


def _known(
    key: str, servers: Sequence[Server], name: str | None, trainable: bool, shape: Any, dtype: Any
) -> ShardedVariable:
    table = ShardedVariable.__new__(ShardedVariable)
    Remote.__init__(table)
    table._set(key, servers, name, trainable)
    table.shape, table.dtype = shape, dtype
    return table


def _drop(servers: Sequence[Server], key: str) -> None:
    with suppress(Exception):  # the cluster may have ended before
        for server in servers:
            server.drop(key)
