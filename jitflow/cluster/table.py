"""What a server holds of variables of several shards: rows, the slots of an optimiser, and its step, compiled here.

Row ``i`` of a variable of ``n`` shards is row ``i // n`` of shard ``i % n``: so the first rows, which are the most
frequent ones where ids are sorted by frequency, lie on all servers alike.

The step is a program of the user's kind: that of the optimiser along the gradient of a gather. So rows are updated as
they are where a table is an ordinary variable, with the same bits.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jitflow.checkpoints.files import open_contents, read_tensors, write_file
from jitflow.remote import Step
from jitflow.runtime.variable import Variable, using

__all__ = ["Part", "Tables", "rows_of", "shard_file"]

Array = np.ndarray[Any, Any]


def rows_of(size: int, number: int, count: int) -> int:
    """How many of so many rows shard ``number`` of ``count`` holds."""
    return (size - number + count - 1) // count


def shard_file(number: int, count: int) -> str:
    """What the file of a shard is called."""
    return f"shard-{number:04d}-of-{count:04d}.safetensors"


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
        slots = self._restored
        optimiser.__jitflow_restoring__({f"slots.{name}.0": (slot.dtype, slot.shape) for name, slot in slots.items()})
        for name, slot in slots.items():
            if optimiser.slots.get(name):
                optimiser.slots[name][0].assign(slot)

        @function
        def step(ids: Any, rows: Any) -> None:
            optimiser.minimize(lambda: (table[ids] * rows).sum(), [table])

        self.optimiser, self._step, self._restored = optimiser, step, {}

    def update(self, step: Step, options: Mapping[str, Any]) -> None:
        """A step along a gradient that is nothing but in some rows, with hyperparameters that have changed."""
        for name, value in options.items():
            setattr(self.optimiser, name, value)
        self.optimiser.learning_rate.assign(step.rate)
        self.optimiser.steps.assign(step.number - 1)
        self._step(step.ids, step.rows)

    def state(self) -> dict[str, Array]:
        """All that is held, by name: the rows are ``""``, slots have their own."""
        slots = {name: slot.numpy() for name, slot in self._slots().items()}
        return {"": self.rows.numpy(), **self._restored, **slots}

    def _slots(self) -> dict[str, Variable]:
        if self.optimiser is None:
            return {}
        return {name: held[0] for name, held in self.optimiser.slots.items() if held}

    def restore(self, state: Mapping[str, Array]) -> None:
        """Be what `state` gave, as far as it is this part."""
        self.rows.assign(state[""])
        slots = self._slots()
        self._restored = {name: array for name, array in state.items() if name}
        for name, slot in slots.items():
            if name in self._restored:
                slot.assign(self._restored[name])


class Tables:
    """The parts of all tables that a server holds, by key. Calls come one at a time."""

    def __init__(self) -> None:
        self._parts: dict[str, Part] = {}
        self._fetched: dict[str, dict[str, Array]] = {}

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

    def adopt(self, key: str, packed: bytes) -> None:
        """As in `Part`."""
        self._parts[key].adopt(packed)

    def update(self, key: str, step: Step, options: Mapping[str, Any]) -> None:
        """As in `Part`."""
        self._parts[key].update(step, options)

    # -- checkpoints --------------------------------------------------------------------------------------

    def save(self, folder: str, number: int, count: int, names: Mapping[str, str]) -> str:
        """Write the parts of some tables, names by key, as shard ``number`` of ``count``; the file's name."""
        tensors = {
            f"{name}/{slot}" if slot else name: array
            for key, name in names.items()
            for slot, array in self._parts[key].state().items()
        }
        name = shard_file(number, count)
        write_file(Path(folder, name), tensors, {"shard": number, "shards": count})
        return name

    def fetch(self, folder: str, key: str, name: str, files: Sequence[str], mine: tuple[int, int, int]) -> None:
        """Read what a part is in a checkpoint, whose shards lie in ``files``; `take` makes it be so.

        ``mine`` is the size of the whole table, and the number of this part among how many.
        """
        size, number, count = mine
        found: dict[str, Array] = {}
        wanted = np.arange(number, size, count)
        for file, path in enumerate(files):
            there = np.flatnonzero(wanted % len(files) == file)
            for slot, array in _tensors(Path(folder, path), name).items():
                if slot not in found:
                    found[slot] = np.empty((len(wanted), *array.shape[1:]), array.dtype)
                found[slot][there] = array[wanted[there] // len(files)]
        self._fetched[key] = found

    def take(self, key: str) -> None:
        """Make a part be what has been read."""
        self._parts[key].restore(self._fetched.pop(key))


def _tensors(path: Path, name: str) -> dict[str, Array]:
    """The rows and slots of a table in a file."""
    with open_contents(path) as contents:
        names = [each for each in contents.tensors if each == name or each.startswith(f"{name}/")]
        return {
            each.removeprefix(name).removeprefix("/"): array for each, array in read_tensors(contents, names).items()
        }
