"""What a step of an optimiser is where several processes train one model.

A replica runs the user's ordinary training step. What makes it one of several is an exchange that is in force on its
thread: `jitflow.optim` hands it the gradients of each step, and goes on with what it gets back. `jitflow.cluster` puts
exchanges in force; nothing here knows of processes.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

__all__ = ["Exchange", "exchange_in_force", "exchanging"]


class Exchange(Protocol):
    """What the replicas of a model do with their gradients."""

    def combined(self, optimiser: Any, gradients: Sequence[Any], variables: Sequence[Any]) -> list[Any] | None:
        """The gradients of all replicas together, asked for while a step is traced.

        None if the step itself is done elsewhere: the variables then have their new values.
        """


class _State(threading.local):
    exchange: Exchange | None = None


_STATE = _State()


def exchange_in_force() -> Exchange | None:
    """The exchange of whatever runs or is traced on this thread."""
    return _STATE.exchange


@contextmanager
def exchanging(exchange: Exchange) -> Iterator[None]:
    """Put an exchange in force."""
    outer, _STATE.exchange = _STATE.exchange, exchange
    try:
        yield
    finally:
        _STATE.exchange = outer
