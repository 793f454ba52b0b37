"""What a person sees of a run: a bar, the loss, which replica is slowest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jitflow.cluster.rounds import Progress

__all__ = ["Watch"]


class Watch:
    """A progress bar for ``count`` replicas from step ``first`` to ``last``, on a terminal only."""

    def __init__(self, count: int, first: int, last: int, *, shown: bool = True) -> None:
        self._count, self._first, self._last, self._shown = count, first, last, shown
        self._bar: Any = None

    def __enter__(self) -> Watch:
        if self._shown:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            console = Console(stderr=True)
            columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.fields[more]}"))
            self._bar = Progress(*columns, console=console, disable=not console.is_terminal, transient=True)
            self._bar.start()
            self._task = self._bar.add_task("steps", total=self._last, completed=self._first, more="starting")
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def show(self, progress: Sequence[Progress], dropped: Sequence[int]) -> None:
        """Show how far all are."""
        if self._bar is None:
            return
        values = [one.value for one in progress if one.value is not None]
        words = [f"loss {sum(values) / len(values):.4g}"] if values else []
        timed = [one.seconds for one in progress if one.seconds > 0]
        if timed:
            slowest = max(range(len(progress)), key=lambda part: progress[part].seconds)
            words.append(f"{1e3 * sorted(timed)[len(timed) // 2]:.3g} ms a step")
            words.append(f"slowest: replica {slowest}, {1e3 * progress[slowest].seconds:.3g} ms")
        if any(dropped):
            words.append(f"{sum(dropped)} dropped")
        self._bar.update(self._task, completed=max(one.step for one in progress), more=", ".join(words))
