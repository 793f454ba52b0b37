"""Rounds: who takes part in each step of an optimiser, agreed on in one place.

A round is the exchange of one step of an optimiser: the number of the training step, and which of its exchanges it is.
Each replica arrives with its contribution; when the first ``needed`` have come, the round is closed, and everybody is
told the same contributions in the order of the replicas. Those that come later are dropped (backup workers: Chen and
others, Revisiting Distributed Synchronous SGD, 2016).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Condition
from typing import Any, NamedTuple, NoReturn

from jitflow.cluster.memory import Address
from jitflow.errors import UserRuntimeError
from jitflow.records import dataclass

__all__ = [
    "Aborted", "Closed", "Contribution", "Fenced", "Interruption", "Late", "Leader", "Progress", "Round", "Settings",
    "numbers_of",
]  # fmt: skip


class Interruption(BaseException):
    """A step that a replica cannot finish: its variables stay as they were in front of it.

    It is no error of the program's, so no ``except Exception`` of the user's is to see it.
    """


class Late(Interruption):
    """The others have finished this step without this replica."""


class Aborted(Interruption):
    """The run has stopped: somebody it needs has died, or what was asked belongs to an earlier try."""


class Round(NamedTuple):
    """An exchange: in which training step, and which one there."""

    step: int
    turn: int


class Contribution(NamedTuple):
    """What one replica brings to a round: a block of memory, or None where its arrays were sent to each shard."""

    part: int
    block: Address | None
    start: int = 0
    """The byte of the block where it begins."""


class Settings(NamedTuple):
    """The numbers of an optimiser in a step: they may change from one to the next."""

    rate: float
    bound: float | None
    """What each element of the sum is clipped to."""
    others: Mapping[str, Any]

    @classmethod
    def of(cls, optimiser: Any, rate: float) -> Settings:
        """What they are at present, with the rate that is due."""
        return cls(rate, optimiser.clip_value, numbers_of(optimiser))


def numbers_of(optimiser: Any) -> dict[str, Any]:
    """The attributes of an optimiser that are plain numbers, but for those that are used before its step."""
    used = ("clip_value", "clip_norm", "schedule")
    return {name: value for name, value in vars(optimiser).items()
            if name not in used and isinstance(value, bool | int | float | None)}  # fmt: skip


class Closed(NamedTuple):
    """A round that is decided: of which group it is, and whose contributions are summed, in this order."""

    group: int
    chosen: tuple[Contribution, ...]
    settings: Settings


@dataclass
class Progress:
    """How far a replica is."""

    step: int = 0
    seconds: float = 0.0
    """How long a step takes there, a running mean."""
    value: float | None = None
    """What its last step returned, if that was a number."""


class Fenced:
    """What answers calls of the present try alone, known by its generation (a fencing token): others are given up.

    Whoever waits in a call waits for ``_changed``, whose lock guards all that is held here.
    """

    def __init__(self) -> None:
        self.generation = 0
        self._changed = Condition()
        self._why = ""

    def begin(self, generation: int, step: int) -> None:
        """Begin a try at a training step, with nothing of earlier ones."""
        with self._changed:
            self.generation, self._why = generation, ""
            self._clear(step)
            self._changed.notify_all()

    def abort(self, why: str) -> None:
        """Give up the calls that are under way, and answer nobody any more."""
        with self._changed:
            self._end(why)

    def _clear(self, step: int) -> None:
        raise NotImplementedError

    def _end(self, why: str) -> None:
        self.generation, self._why = -1, why
        self._changed.notify_all()

    def _require(self, generation: int) -> None:
        if generation != self.generation:
            raise Aborted(self._why or "the run has begun anew")


class Leader(Fenced):
    """Closes the rounds of ``replicas``, of which ``needed`` have to come to each.

    With ``staleness``, no replica goes on that is more than so many steps ahead of the slowest (asynchronous steps).
    Any thread may call any method; whoever has to wait, waits.
    """

    def __init__(self, needed: int, replicas: int, staleness: int | None = None) -> None:
        super().__init__()
        self.needed, self.staleness = needed, staleness
        self.progress = [Progress() for _ in range(replicas)]
        self.dropped = [0] * replicas
        self._step = 0
        self._arrived: dict[Round, dict[int, Contribution]] = {}
        self._closed: dict[Round, Closed] = {}
        self._groups: dict[Round, int] = {}

    def _clear(self, step: int) -> None:
        self._step, self._groups, self._arrived, self._closed = step, {}, {}, {}
        self.dropped = [0] * len(self.dropped)
        for progress in self.progress:
            progress.step = step

    def arrive(
        self, generation: int, round_: Round, group: int, contribution: Contribution, settings: Settings
    ) -> Closed:
        """Wait until the round is closed, and tell how. Raises `Late` if it belongs to a step that is over."""
        with self._changed:
            self._require(generation)
            if round_.step > self._step:
                self._advance(round_)
            if round_.step == self._step and self._groups.setdefault(round_, group) != group:
                self._refuse("two replicas step along different variables at the same time")
            if round_.step == self._step and round_ not in self._closed:
                arrived = self._arrived.setdefault(round_, {})
                arrived[contribution.part] = contribution
                if len(arrived) >= self.needed:
                    chosen = tuple(arrived[part] for part in sorted(arrived))
                    self._closed[round_] = Closed(group, chosen, settings)
                    self._changed.notify_all()
            while round_ not in self._closed and round_.step == self._step:
                self._changed.wait()
                self._require(generation)
            closed = self._closed.get(round_)
            if closed is None or contribution.part not in {one.part for one in closed.chosen}:
                self.dropped[contribution.part] += 1
            if closed is None:
                raise Late
            return closed

    def current(self, generation: int) -> tuple[int, list[tuple[Round, Closed]]]:
        """The training step that is under way, and the rounds of it, or of the one before, that are closed."""
        with self._changed:
            self._require(generation)
            return self._step, sorted(self._closed.items())

    def advance(self, generation: int, part: int, step: int) -> None:
        """Wait until no replica is too far behind for this one to begin a step (asynchronous steps)."""
        with self._changed:
            self.progress[part].step = step
            self._changed.notify_all()
            while self.staleness is not None and step - min(one.step for one in self.progress) > self.staleness:
                self._require(generation)
                self._changed.wait()
            self._require(generation)

    def report(self, part: int, step: int, seconds: float, value: float | None) -> None:
        """Note how far a replica is."""
        with self._changed:
            self.progress[part] = Progress(step, seconds, value)
            self._changed.notify_all()

    def status(self) -> tuple[list[Progress], Sequence[int]]:
        """How far all replicas are, and how many of their gradients were dropped."""
        return self.progress, self.dropped

    def _advance(self, round_: Round) -> None:
        unfinished = [one for one in self._arrived if one not in self._closed]
        if unfinished or round_.step > self._step + 1:
            self._refuse(f"a replica is in step {round_.step} while others wait for each other in step {self._step}")
        # Rounds of the step before stay: who joins finds there what the shards last did.
        self._step = round_.step
        self._groups = {}
        self._closed = {one: closed for one, closed in self._closed.items() if one.step == round_.step - 1}
        self._arrived = {one: found for one, found in self._arrived.items() if one in self._closed}
        self._changed.notify_all()

    def _refuse(self, why: str) -> NoReturn:
        self._end(why)
        raise UserRuntimeError(why, expected="replicas that make the same steps of optimisers in the same order")


def value_of(result: Any) -> float | None:
    """A result of a step as one number, if it is one: the loss, or the first of several."""
    while isinstance(result, tuple | list) and result:
        result = result[0]
    try:
        return float(result) if result is not None and getattr(result, "size", 1) == 1 else None
    except (TypeError, ValueError):
        return None
