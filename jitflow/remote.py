"""Variables whose elements lie elsewhere: a program asks for rows of one, and gradients by it are rows.

Such a variable is a table: an array along whose first axis rows are chosen. What stands here is what the frontend,
gradients and optimisers need to know of it, as little as they can; `jitflow.cluster` has the tables themselves.

A gather of rows is a call out of the compiled program. What arrives at its result in the reverse sweep is handed to the
table by another call, since nobody knows before how many gathers a program makes, in loops and branches. What belongs
together has a *ticket*, a number that the derivative begins with: it is what the program is differentiated by in place
of the table, each gather depends on it, and the cotangent that comes out at its end is what the calls have returned. So
the calls are a part of the derivative like others, whatever becomes of the code around them, and threads that run one
program at once do not meet. At the end the table gives all that has been handed to it: ids, each once, and the sum of
what arrived at each, in the order of the reverse sweep.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import cache
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from jitflow.errors import UserTypeError, UserValueError

__all__ = ["Remote", "Request", "RowGradient", "Server", "Step", "gradient_by", "mapped_rows", "step_elsewhere"]

Array = np.ndarray[Any, Any]
_MOST_TICKETS = 1000
"""Those of calls that raised are never asked for again."""


class RowGradient(NamedTuple):
    """The gradient by a table: nothing but in the rows ``ids``, each of which stands there once."""

    ids: Any
    rows: Any


class Server(Protocol):
    """Whoever holds rows of tables."""

    def begin(self, calls: Sequence[tuple[Any, ...]]) -> Callable[[], list[Any]]:
        """Begin some calls, which are made one after the other; what waits for their end, and gives their answers."""

    def drop(self, key: str) -> None:
        """Let a table go, at any moment: whoever collects garbage may be in the middle of another call."""


class Request(NamedTuple):
    """What a server is to do: the name of what is called, and the arguments."""

    server: Server
    call: tuple[Any, ...]


class Step(NamedTuple):
    """A step of an optimiser along the gradient by one table: what differs from step to step."""

    rate: float
    number: int
    """How many there have been, this one included."""
    ids: Array
    rows: Array


def mapped_rows(function: Callable[[Any], Any], gradient: RowGradient) -> RowGradient:
    """The gradient with a function of its rows in their place, which makes nothing of nothing."""
    return gradient._replace(rows=function(gradient.rows))


class Remote:
    """A table: what all kinds of them share."""

    key: str
    """Which of them all it is, in the order in which threads take several."""
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    trainable: bool
    _tickets: ClassVar[Any] = itertools.count(1)

    def __init__(self) -> None:
        self._arrived: dict[int, list[tuple[Array, Array]]] = {}
        self._arriving = threading.Lock()

    # -- what a table does --------------------------------------------------------------------------------

    def __getitem__(self, index: Any) -> Any:
        """Rows, as `gather` gives them; in a program that is traced, what stands for them."""
        raise NotImplementedError

    def gather(self, ids: Any) -> Array:
        """The rows at integer ids of any shape. Raises IndexError for ids out of range."""
        raise NotImplementedError

    def read(self) -> Array:
        """All rows."""
        raise NotImplementedError

    def changing(self) -> AbstractContextManager[Any]:
        """What keeps other threads from changing it, or from copying it between two changes that belong together."""
        raise NotImplementedError

    def trained_by(self, optimiser: Any) -> Any:
        """What `update` needs to know of an optimiser, asked for while a step is traced. Raises ValueError for another
        one than before.
        """  # noqa: D205
        raise NotImplementedError

    def update(self, optimiser: Any, known: Any, step: Step) -> Sequence[Request]:
        """A step of an optimiser, as requests of those who hold the rows."""
        raise NotImplementedError

    # -- gradients ----------------------------------------------------------------------------------------

    def begin(self) -> float:
        """A new ticket."""
        ticket = next(self._tickets)
        with self._arriving:
            while len(self._arrived) >= _MOST_TICKETS:
                self._arrived.pop(next(iter(self._arrived)))
            self._arrived[ticket] = []
        return float(ticket)

    def arrive(self, ticket: float, ids: Any, rows: Any) -> float:
        """Keep what arrived at the rows of a gather; ids are None if it was all rows. Gives the ticket's cotangent."""
        size = self.shape[0]
        flat = np.arange(size) if ids is None else np.asarray(ids, np.int64).reshape(-1)
        flat = np.where(flat < 0, flat + size, flat)
        self._arrived[int(ticket)].append((flat, np.array(rows, self.dtype).reshape(-1, *self.shape[1:])))
        return 0.0

    def collect(self, ticket: float, _: float) -> RowGradient:
        """All that arrived: ids in their order, and sums."""
        with self._arriving:
            arrived = self._arrived.pop(int(ticket))
        if not arrived:
            return RowGradient(np.zeros(0, np.int64), np.zeros((0, *self.shape[1:]), self.dtype))
        return _summed(*(np.concatenate(parts) for parts in zip(*arrived, strict=True)))


def _summed(ids: Array, rows: Array) -> RowGradient:
    """The rows of equal ids added up in their order."""
    distinct, places = np.unique(ids, return_inverse=True)
    sums = np.zeros((len(distinct), *rows.shape[1:]), rows.dtype)
    _added()(sums.reshape(len(distinct), -1), places, rows.reshape(len(rows), -1))
    return RowGradient(distinct, sums)


@cache
def _added() -> Any:
    from jitflow.api import function

    @function
    def add(sums: Any, places: Any, rows: Any) -> None:
        np.add.at(sums, places, rows)

    return add


def gradient_by(gradients: Any, table: Remote) -> RowGradient:
    """What is given as the gradient by a table. Raises TypeError and ValueError for what is none."""
    if not isinstance(gradients, RowGradient):
        raise UserTypeError(
            "a variable of several shards needs a gradient of rows", found=type(gradients).__name__,
            expected="what jitflow.grad gives by it",
        )  # fmt: skip
    if tuple(gradients.rows.shape[1:]) != tuple(table.shape[1:]):
        raise UserValueError(
            "a gradient has rows of another shape than its variable",
            found=f"{tuple(gradients.rows.shape[1:])} for a variable of shape {tuple(table.shape)}",
        )
    return gradients


def step_elsewhere(optimiser: Any, found: Sequence[tuple[RowGradient, Remote]], rate: Any) -> None:
    """A step of an optimiser, the number ``optimiser.steps``, along gradients by tables, where their rows lie.

    Each server gets one request, whatever it holds, and all are under way at once. The program goes on when they have
    been answered.
    """
    from jitflow.frontend.control.calls_out import called_out
    from jitflow.optim.outside import object_outside, plainly

    owner, tables = object_outside(optimiser), [table for _, table in found]
    known = plainly(lambda: [table.trained_by(owner) for table in tables])
    given = [part for gradient, table in found for part in (gradient.ids, gradient.rows.astype(table.dtype))]

    def run(rate: Any, steps: Any, *given: Any) -> None:
        parts = zip(tables, known, given[::2], given[1::2], strict=True)
        with ExitStack() as stack:
            for table in sorted(tables, key=lambda one: one.key):
                stack.enter_context(table.changing())
            requests = [
                request
                for table, about, ids, rows in parts
                for request in table.update(owner, about, Step(float(rate), int(steps), ids, rows))
            ]
            servers = {id(request.server): request.server for request in requests}
            wanted = {key: [one.call for one in requests if id(one.server) == key] for key in servers}
            for wait in [servers[key].begin(calls) for key, calls in wanted.items()]:
                wait()

    called_out(run, None, rate, optimiser.steps[()], *given)
