"""Partitions that run one at a time, each as far as it can before the next one may: every order of things, at will.

What is right whoever is faster is right in every such order; and the order in which one partition does nothing before
all others wait for it finds what real threads hardly ever show: a store that did not wait for a check elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jitflow.errors import CompilerBug
from jitflow.ir.channels import Channels

__all__ = ["InTurns"]


class InTurns(Channels):
    """``order``: numbers of partitions; of those that can go on, the first one does."""

    def __init__(self, order: Sequence[int], capacity: int | None = None) -> None:
        super().__init__(len(order), 30.0, capacity)
        self.order = list(order)
        self.ready: dict[int, Callable[[], bool]] = {}
        """What those wait for that wait."""
        self.here: set[int] = set()
        self.running: int | None = None

    def enter(self, number: int) -> None:
        with self.changed:
            self.here.add(number)
            self.ready[number] = lambda: True
            self.stand_aside(number)

    def leave(self, number: int) -> None:
        with self.changed:
            self.order.remove(number)
            self.choose()

    def wait(self, ready: Callable[[], bool], what: str) -> None:
        number = self.running
        assert number is not None
        if not ready():
            self.ready[number] = ready
            self.stand_aside(number)
            if not ready():
                raise CompilerBug(f"expected {what}, which never came")

    def stand_aside(self, number: int) -> None:
        self.choose()
        assert self.changed.wait_for(lambda: self.running == number, self.patience)
        del self.ready[number]

    def choose(self) -> None:
        """Hand the turn to the first partition that can go on, or to one that finds out that it cannot."""
        if not self.here.issuperset(self.order):
            return  # they have not all begun
        able = [number for number in self.order if self.ready[number]()]
        self.running = (able or [*self.order, None])[0]
        self.changed.notify_all()
