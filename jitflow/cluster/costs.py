"""What the simulator of a cluster knows of its machines, and how that is fitted to what was measured of them.

The figures are those of the LogGP model (Alexandrov, Ionescu, Schauser and Scheiman, SPAA 1995): a message takes both
of its ends some time, then a latency, and each of its bytes takes the port of either end some time. To these come what
a server computes for each byte of a gradient, and what the steps of workers take. The link is a `Link` of `Machine`, as
placement knows it, and what a step takes may be what placement's simulator predicts of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from jitflow.errors import UserTypeError, UserValueError
from jitflow.machines.machine import Link, Machine
from jitflow.records import dataclass

__all__ = ["Costs", "StepTimes", "check_amount", "check_count", "fit"]


_TELLING = 0.01
"""The share of the longest time that comes from its amount, if anything can be told of that."""


@dataclass(frozen=True, slots=True)
class StepTimes:
    """How long a worker computes for a step, in seconds: measured times, and what may be added to them.

    ``times`` were measured; each is as likely as any other, and so is what lies between two that are next to each
    other. One number alone is what every step takes. To each step comes a time that is exponentially distributed with
    the mean ``jitter``, and in a share of ``stragglers`` of all steps another one with the mean ``delay``. Steps are
    independent of each other. ``work``: how much of a step needs a core, if processes share cores (`Costs`); the rest
    of it waits for something else. None: all that was measured, and nothing of what was added to it.

    Raises ValueError without times, and for what is negative or not finite.
    """

    times: tuple[float, ...]
    jitter: float = 0.0
    stragglers: float = 0.0
    delay: float = 0.0
    work: float | None = None

    def __post_init__(self) -> None:
        given: object = self.times
        if not isinstance(given, Iterable):
            raise UserTypeError("expected the times of steps", expected="such as (0.05,)", found=repr(given))
        times = tuple(given)
        for seconds in times:
            check_amount("a step's time", seconds)
        if not times:
            raise UserValueError("expected at least one step's time, got none")
        object.__setattr__(self, "times", tuple(sorted(float(seconds) for seconds in times)))
        for name in ("jitter", "delay"):
            check_amount(name, getattr(self, name))
        check_amount("stragglers", self.stragglers, most=1.0)
        if self.work is not None:
            check_amount("work", self.work)

    def draw(self, random: np.random.Generator, count: int) -> tuple[list[float], list[float]]:
        """How long ``count`` steps take, and how much of each needs a core."""
        measured = np.interp(random.random(count), np.linspace(0.0, 1.0, len(self.times)), self.times)
        taken = measured + self.jitter * random.standard_exponential(count)
        late = random.random(count) < self.stragglers
        taken += np.where(late, self.delay * random.standard_exponential(count), 0.0)
        return taken.tolist(), (measured if self.work is None else np.minimum(taken, self.work)).tolist()

    @property
    def mean(self) -> float:
        """What a step takes on average, in seconds."""
        return float(np.mean(self.times)) + self.jitter + self.stragglers * self.delay


@dataclass(frozen=True, slots=True)
class Costs:
    """What is known of the machines of a cluster; `fit` makes it of measurements.

    ``step``: what the steps of workers take. ``link``: seconds from one process to another, and the bytes a second of
    a process's port, whichever way; what goes through a port goes one after the other. ``message``: seconds for which
    either end of a message is busy with it, however short. ``apply``: seconds for each byte of a gradient that a server
    adds to others, or that its optimiser applies. ``cores``: how many cores all processes share, if they are on one
    machine: their memory is one, then, gradients lie where servers read them, and moving bytes takes a core. None where
    each process has cores and a port of its own.

    Raises ValueError for what is negative or not finite, and for a bandwidth of nothing or no core.
    """

    step: StepTimes
    link: Link
    message: float = 0.0
    apply: float = 0.0
    cores: int | None = None

    def __post_init__(self) -> None:
        given: dict[str, object] = {"step": self.step, "link": self.link}
        for name, kind in (("step", StepTimes), ("link", Link)):
            if not isinstance(given[name], kind):
                raise UserTypeError(f"expected {name} to be a {kind.__name__}", found=repr(given[name]))
        check_amount("latency", self.link.latency)
        check_amount("bandwidth", self.link.bandwidth, infinite=True)
        if self.link.bandwidth == 0:
            raise UserValueError("expected a bandwidth above 0, got 0")
        check_amount("message", self.message)
        check_amount("apply", self.apply)
        check_count("cores", 1 if self.cores is None else self.cores, 1)

    @classmethod
    def of_machine(cls, machine: Machine, step: StepTimes, cores: int | None = None) -> Costs:
        """What placement would take them to be: a machine's own figures, as ``jitflow doctor --measure`` finds them.

        The link is that between nodes, if the machine has one, as ``("node", "node", Link(...))`` among its ``links``,
        or else what is guessed of a common network. What a server applies goes three times through its memory.
        """
        return cls(step, machine.link("node", "node"), apply=3 / machine.processors[0].bandwidth, cores=cores)


def fit(
    round_trips: Iterable[tuple[float, float]],
    step_times: StepTimes | Iterable[float],
    *,
    bursts: Iterable[tuple[int, float]] = (),
    applied: Iterable[tuple[float, float]] = (),
    cores: int | None = None,
) -> Costs:
    """The costs that explain measurements best.

    ``round_trips``: pairs of a size in bytes and the seconds until a message of that size to another process is
    answered by an empty one; at least two sizes, of which the largest should take several times as long as the
    smallest. ``step_times``: the seconds that a worker computed for each of some steps, stragglers too, or what is
    known of them. ``bursts``: pairs of a number of empty messages that are sent to one process at once, and the seconds
    until all are answered; without them messages keep nobody busy. ``applied``: pairs of a gradient's bytes and the
    seconds in which a server has added it to another. ``cores``: those of `Costs`.

    Of what was measured more than once the median counts. Lines are fitted by least squares of relative errors, since
    a long time errs by more than a short one.

    Raises ValueError for measurements that tell nothing: of one size alone, or where more takes no longer.
    """
    step = step_times if isinstance(step_times, StepTimes) else StepTimes(tuple(step_times))
    message = apply = 0.0
    if bursts := list(bursts):
        # Each end is busy with a message and its answer, and on a machine of one core they take turns.
        message = _line("bursts", "messages", bursts)[1] / (4 if cores == 1 else 2)
    if applied := list(applied):
        apply = _line("applied", "bytes", applied)[1]
    start, for_a_byte = _line("round trips", "bytes", list(round_trips))
    return Costs(step, Link(max(0.0, start / 2 - 2 * message), 1 / for_a_byte), message, apply, cores)


def _line(what: str, unit: str, measured: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The seconds of nothing, and those for each unit more; neither is negative."""
    seconds: dict[float, list[float]] = {}
    for amount, taken in measured:
        check_amount(f"the {unit} of {what}", amount)
        check_amount(f"the seconds of {what}", taken)
        if taken == 0:
            raise UserValueError(f"{what}: {amount:g} {unit} took no time", mend="measure with time.perf_counter")
        seconds.setdefault(float(amount), []).append(float(taken))
    if len(seconds) < 2:
        raise UserValueError(
            f"{what}: expected measurements of at least two numbers of {unit}, got {len(seconds)}",
            mend="measure a small and a large one",
        )
    amounts = sorted(seconds)
    medians = np.array([np.median(seconds[amount]) for amount in amounts])
    shares = np.array(amounts) / amounts[-1]
    rows = np.stack([1 / medians, shares / medians], axis=1)
    start, slope = np.linalg.lstsq(rows, np.ones(len(amounts)), rcond=None)[0].tolist()
    if start < 0:  # then the best line that begins with nothing
        start, slope = 0.0, float(rows[:, 1].sum() / (rows[:, 1] ** 2).sum())
    if slope < _TELLING * medians[-1]:
        raise UserValueError(f"{what}: more {unit} take no longer", mend=f"measure larger numbers of {unit}")
    return start, slope / amounts[-1]


def check_amount(what: str, value: object, *, most: float = math.inf, infinite: bool = False) -> None:
    """Raise TypeError for what is no number, and ValueError for one that is negative, too large or not finite."""
    if not isinstance(value, int | float | np.integer | np.floating):
        raise UserTypeError(f"expected {what} to be a number", found=repr(value))
    if not 0 <= value <= most or (value == math.inf and not infinite):
        limits = "of at least 0" if most == math.inf else f"from 0 to {most:g}"
        raise UserValueError(f"expected {what} to be a number {limits}, got {value}")


def check_count(what: str, value: object, least: int) -> None:
    """Raise TypeError for what is no whole number, and ValueError for one that is too small."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise UserTypeError(f"expected {what} to be a whole number", found=repr(value))
    if value < least:
        raise UserValueError(f"expected {what} to be at least {least}, got {value}")
