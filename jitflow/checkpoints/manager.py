"""`CheckpointManager`: a folder of checkpoints of one training, written as it goes on, and pruned.

What is known of the checkpoints is in their files alone, names and metadata, so that a process which resumes knows what
the one that died knew. The variables are copied by whoever calls `step` or `save`, between two steps; a thread of the
manager's writes them.
"""

from __future__ import annotations

import math
import operator
import os
import re
import threading
import time
import warnings
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from jitflow.checkpoints.files import DamagedFileError, open_contents, remove_partial_files, write_file
from jitflow.checkpoints.store import restore_contents
from jitflow.errors import UserRuntimeError, UserValueError
from jitflow.records import dataclass
from jitflow.runtime.snapshots import snapshot
from jitflow.structure import named_variables

__all__ = ["Checkpoint", "CheckpointManager"]

_NAME = re.compile(r"step-(\d+)\.safetensors")


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint in a manager's folder. ``metric`` is None if none was given."""

    path: Path
    step: int
    metric: float | None
    metadata: Mapping[str, Any]


class CheckpointManager:
    """Keeps checkpoints of ``objects`` in a folder, which it makes: ``step-<number>.safetensors``.

    ``keep_last`` is how many of the latest stay, ``keep_best`` how many of those with the lowest metric
    (``mode="min"``) or the highest (``mode="max"``); nan is worse than any number. `step` saves by itself every so many
    steps or seconds, whichever comes first, in the background; an error there is raised by the next call. Use it in a
    ``with`` block, or call `close`, which waits for what is being written.

    ``objects`` is a structure as `jitflow.save` takes. Any thread may call any method.

    Raises ValueError for numbers that are not positive.
    """

    def __init__(
        self, folder: str | os.PathLike[str], objects: Any, *, keep_last: int = 3, keep_best: int = 0,
        mode: str = "min", every_steps: int | None = None, every_seconds: float | None = None,
    ) -> None:  # fmt: skip
        if keep_last < 1 or keep_best < 0:
            raise UserValueError(f"expected to keep at least the last checkpoint, got {keep_last=}, {keep_best=}")
        if mode not in ("min", "max"):
            raise UserValueError(f"expected mode to be 'min' or 'max', got {mode!r}")
        if not all(every is None or every > 0 for every in (every_steps, every_seconds)):
            raise UserValueError(f"expected positive numbers, got {every_steps=}, {every_seconds=}")
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.objects = objects
        self._keep_last, self._keep_best, self._mode = keep_last, keep_best, mode
        self._every_steps, self._every_seconds = every_steps, every_seconds
        self._lock = threading.Lock()
        self._writer = ThreadPoolExecutor(1, "jitflow checkpoints")  # it finishes its work when Python ends
        self._pending: Future[None] | None = None
        self._closed = False
        self._saved_step: int | None = None
        self._saved_time = time.monotonic()
        self._known: dict[Path, Checkpoint] = {}
        remove_partial_files(self.folder, "step-*")

    # -- saving -------------------------------------------------------------------------------------------

    def step(self, step: int, metric: Any = None, metadata: Mapping[str, Any] | None = None) -> bool:
        """Say that ``step`` steps are done; save if it is time to. Whether it was.

        The variables are copied now, so the checkpoint is what they are at this step. While the last checkpoint is
        still being written, none is due.
        """
        with self._lock:
            self._raise_failure()
            if not self._is_due(step):
                return False
            self._submit(step, metric, metadata)
        return True

    def save(self, step: int, metric: Any = None, metadata: Mapping[str, Any] | None = None) -> Checkpoint:
        """Save now, and return when the file is written."""
        with self._lock:
            self._wait()
            path = self._submit(step, metric, metadata)
            self._wait()
            return self._known[path]

    def wait(self) -> None:
        """Wait until what is being written is."""
        with self._lock:
            self._wait()

    def close(self) -> None:
        """Wait until what is being written is, and end the thread."""
        try:
            self.wait()
        finally:
            self._closed = True
            self._writer.shutdown()

    def __enter__(self) -> CheckpointManager:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _is_due(self, step: int) -> bool:
        if self._pending is not None and not self._pending.done():
            return False
        steps = step - (self._saved_step or 0)
        seconds = time.monotonic() - self._saved_time
        return (self._every_steps is not None and steps >= self._every_steps) or (
            self._every_seconds is not None and seconds >= self._every_seconds
        )

    def _submit(self, step: int, metric: Any, metadata: Mapping[str, Any] | None) -> Path:
        if self._closed:
            raise UserRuntimeError("the checkpoint manager is closed", mend="save before close, or in the with block")
        step = operator.index(step)
        if step < 0:
            raise UserValueError(f"expected a step from 0, got {step}")
        found = named_variables(self.objects)
        tensors = dict(zip(found, snapshot(list(found.values())), strict=True))
        path = self.folder / f"step-{step:010d}.safetensors"
        details = {"step": step, "metric": None if metric is None else float(metric), "user": dict(metadata or {})}
        self._pending = self._writer.submit(self._write, path, tensors, details)
        self._saved_step, self._saved_time = step, time.monotonic()
        return path

    def _write(self, path: Path, tensors: dict[str, Any], details: dict[str, Any]) -> None:
        remove_partial_files(self.folder, "step-*")
        write_file(path, tensors, details)
        self._known[path] = Checkpoint(path, details["step"], details["metric"], details["user"])
        kept = self._kept() | {path}
        for checkpoint in self.checkpoints():
            if checkpoint.path not in kept:
                checkpoint.path.unlink(missing_ok=True)
                self._known.pop(checkpoint.path, None)

    def _wait(self) -> None:
        if self._pending is not None:
            self._pending.exception()
        self._raise_failure()

    def _raise_failure(self) -> None:
        if self._pending is not None and self._pending.done():
            pending, self._pending = self._pending, None
            pending.result()

    # -- what there is ------------------------------------------------------------------------------------

    def checkpoints(self) -> list[Checkpoint]:
        """The readable checkpoints in the folder, oldest first."""
        found = []
        for path in self._files():
            checkpoint = self._known.get(path)
            if checkpoint is None:
                try:
                    with open_contents(path) as contents:
                        checkpoint = self._known[path] = _described(path, contents.details)
                except (UserValueError, FileNotFoundError):  # damaged, of another format, or pruned by somebody else
                    continue
            found.append(checkpoint)
        return sorted(found, key=lambda checkpoint: checkpoint.step)

    def _files(self) -> list[Path]:
        """The files in the folder that have the name of a checkpoint."""
        return sorted(path for path in self.folder.iterdir() if _NAME.fullmatch(path.name) and path.is_file())

    def best(self) -> Checkpoint | None:
        """The checkpoint of the best metric; None if there is none with a metric."""
        return next(iter(self._ranked()), None)

    def _ranked(self) -> list[Checkpoint]:
        """The checkpoints with a metric, the best first; of equal ones, the latest."""
        sign = 1 if self._mode == "min" else -1
        rated = [checkpoint for checkpoint in self.checkpoints() if checkpoint.metric is not None]

        def rank(checkpoint: Checkpoint) -> tuple[bool, float, int]:
            metric = float(checkpoint.metric or 0)
            return math.isnan(metric), 0 if math.isnan(metric) else sign * metric, -checkpoint.step

        return sorted(rated, key=rank)

    def _kept(self) -> set[Path]:
        kept = [*self.checkpoints()[-self._keep_last :], *self._ranked()[: self._keep_best]]
        return {checkpoint.path for checkpoint in kept}

    # -- resuming -----------------------------------------------------------------------------------------

    def restore_latest(self, objects: Any = None) -> Checkpoint | None:
        """Restore the latest whole checkpoint, into ``objects`` or the manager's own; None if there is none.

        A damaged file is skipped with a warning, and renamed, so that it counts for nothing any more. A whole one that
        does not fit the objects is an error.
        """
        with self._lock:
            self._wait()
            for path in sorted(self._files(), key=_step_of, reverse=True):
                try:
                    with open_contents(path) as contents:
                        restore_contents(contents, self.objects if objects is None else objects)
                except FileNotFoundError:  # another process has pruned it
                    continue
                except DamagedFileError as error:
                    warnings.warn(f"skipped: {error}", stacklevel=2)
                    self._known.pop(path, None)
                    path.rename(path.with_name(f"{path.name}.damaged"))
                    continue
                found = _described(path, contents.details)
                self._saved_step, self._saved_time = found.step, time.monotonic()
                return found
        return None


def _described(path: Path, details: Mapping[str, Any]) -> Checkpoint:
    """A checkpoint, with what its file says of it as far as a manager has written that."""
    step, metric, user = (details.get(name) for name in ("step", "metric", "user"))
    return Checkpoint(
        path,
        step if type(step) is int else _step_of(path),
        metric if type(metric) is float else None,
        user if type(user) is dict else {},
    )


def _step_of(path: Path) -> int:
    match = _NAME.fullmatch(path.name)
    return int(match[1]) if match else 0
