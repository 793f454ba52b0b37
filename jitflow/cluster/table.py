"""What a server holds of variables of several shards: rows, the slots of an optimiser, and its step, compiled here.

Row ``i`` of a variable of ``n`` shards is row ``i // n`` of shard ``i % n``: so the first rows, which are the most
frequent ones where ids are sorted by frequency, lie on all servers alike.

The step is a program of the user's kind: that of the optimiser along the gradient of a gather. So rows are updated as
they are where a table is an ordinary variable, with the same bits.
"""

from __future__ import annotations

import pickle
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jitflow.checkpoints.files import open_contents, read_tensors, write_file
from jitflow.remote import Step
from jitflow.runtime.variable import Variable, using

__all__ = ["Part", "Tables", "rows_of"]

Array = np.ndarray[Any, Any]


def rows_of(size: int, number: int, count: int) -> int:
    """How many of so many rows shard ``number`` of ``count`` holds."""
    return (size - number + count - 1) // count


class Part:
    """The rows of one table that lie here."""

    def __init__(self, rows: Array) -> None:
        self.rows = Variable(rows)
        self.optimiser: Any = None
        self._step: Any = None
        self._restored: dict[str, Array] = {}

    def adopt(self, packed: bytes) -> None:
        """Step by a copy of this optimiser from now on; slots that were restored are its own."""
        from jitflow.api import function

        optimiser, table = pickle.loads(packed), self.rows

        @function
        def step(ids: Any, rows: Any) -> None:
            optimiser.minimize(lambda: (table[ids] * rows).sum(), [table])

        self.optimiser, self._step = optimiser, step
        if self._restored:
            self._hand_over()

    def update(self, step: Step, options: Mapping[str, Any]) -> None:
        """A step along a gradient that is nothing but in some rows, with hyperparameters that have changed."""
        for name, value in options.items():
            setattr(self.optimiser, name, value)
        self.optimiser.learning_rate.assign(step.rate)
        self.optimiser.steps.assign(step.number - 1)
        self._step(step.ids, step.rows)

    def state(self) -> dict[str, Array]:
        """All that is held, by name: ``rows``, and slots behind ``slots.``."""
        slots = {f"slots.{name}": slot.numpy() for name, slot in self._slots().items()}
        return {"rows": self.rows.numpy(), **self._restored, **slots}

    def _slots(self) -> dict[str, Variable]:
        if self.optimiser is None:
            return {}
        return {name: held[0] for name, held in self.optimiser.slots.items() if held}

    def restore(self, state: Mapping[str, Array]) -> None:
        """Be what `state` gave. Slots that nobody has yet wait for the optimiser that makes them."""
        self.rows.assign(state["rows"])
        self._restored = {name: array for name, array in state.items() if name != "rows"}
        if self.optimiser is not None:
            self._hand_over()

    def _hand_over(self) -> None:
        """Give the optimiser the slots that were restored."""
        slots = {name.removeprefix("slots."): array for name, array in self._restored.items()}
        if not self._slots():
            self.optimiser.__jitflow_restoring__({f"slots.{n}.0": (a.dtype, a.shape) for n, a in slots.items()})
        for name, slot in self._slots().items():
            slot.assign(slots[name])
        self._restored = {}


class Tables:
    """The parts of all tables that a server holds, by key. Any thread may call `several`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._parts: dict[str, Part] = {}
        self._kept: dict[str, Mapping[str, Array]] = {}

    def several(self, calls: Sequence[tuple[Any, ...]]) -> list[Any]:
        """What some calls of methods give, each a name and arguments, with no others in between."""
        with self._lock:
            return [getattr(self, name)(*arguments) for name, *arguments in calls]

    def hold(self, key: str, rows: Array | None, make: bytes | None = None) -> tuple[str, tuple[int, ...]]:
        """Hold rows, or those that a function makes; their dtype and shape."""
        if make is not None:
            rows = pickle.loads(make)()
        assert rows is not None
        self._parts[key] = part = Part(rows)
        return str(part.rows.dtype), part.rows.shape

    def drop(self, key: str) -> None:
        """Hold a table no longer."""
        self._parts.pop(key, None)

    def gather(self, key: str, ids: Array) -> Array:
        """Rows of a table."""
        part = self._parts[key]
        with using([part.rows]):
            found: Array = part.rows._elements.take(ids, axis=0)
        return found

    def read(self, key: str) -> Array:
        """All rows that are here."""
        return self._parts[key].rows.numpy()

    def assign(self, key: str, rows: Array) -> None:
        """Make the rows be others."""
        self._parts[key].rows.assign(rows)

    def adopt(self, key: str, packed: bytes, anew: bool) -> None:
        """As in `Part`: the first optimiser, and with ``anew`` each one in place of that before."""
        if anew or self._parts[key].optimiser is None:
            self._parts[key].adopt(packed)

    def update(self, key: str, step: Step, options: Mapping[str, Any]) -> None:
        """As in `Part`."""
        self._parts[key].update(step, options)

    # -- checkpoints --------------------------------------------------------------------------------------

    def keep(self, key: str) -> None:
        """Copy a part as it is now, for `write`."""
        self._kept[key] = self._parts[key].state()

    def write(self, key: str, path: str) -> None:
        """Write what was kept to a file."""
        write_file(Path(path), self._kept.pop(key), {})

    def fetch(self, key: str, files: Sequence[str], size: int, number: int, count: int) -> None:
        """Read what a part is in a checkpoint, whose shards lie in ``files``; `take` makes it be so.

        The whole table has ``size`` rows, and the part is number so and so of ``count``.
        """
        wanted = np.arange(number, size, count)
        found: dict[str, Array] = {}
        for file, path in enumerate(files):
            there = np.flatnonzero(wanted % len(files) == file)
            with open_contents(Path(path)) as contents:
                tensors = read_tensors(contents, contents.tensors)
            for name, array in tensors.items():
                if name not in found:
                    found[name] = np.empty((len(wanted), *array.shape[1:]), array.dtype)
                found[name][there] = array[wanted[there] // len(files)]
        self._kept[key] = found

    def take(self, key: str) -> None:
        """Make a part be what has been read."""
        self._parts[key].restore(self._kept.pop(key))
