"""What a placed function is cut into: one function for each device that takes part in a call.

`verify_partitioned` knows what holds of all of them together: each function is valid by itself; a channel has exactly
one ``send`` and one ``recv``, in two partitions that name each other, of values of one type, inside the same branches
and loops (which partitions know by the condition or position that they share); all partitions ``meet`` equally often,
never in a branch or loop; each result of the whole comes from one.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NoReturn

from jitflow.errors import CompilerBug
from jitflow.ir.channels import Channels, Runner, run_together
from jitflow.ir.core import Function, Op, Region, Value, walk
from jitflow.ir.interpreter import interpret
from jitflow.ir.location import Loc
from jitflow.ir.printer import print_function, print_op
from jitflow.ir.verifier import verify
from jitflow.machines.hardware import HOME
from jitflow.records import dataclass

__all__ = ["Partition", "Partitioned", "interpret_partitioned", "print_partitioned", "verify_partitioned"]


@dataclass(frozen=True, eq=False)
class Partition:
    """What one device does: ``parameters`` and ``results`` are positions of those of the whole function."""

    device: str
    function: Function
    parameters: tuple[int, ...]
    results: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Partitioned:
    """A function and what it was cut into; the first partition is that of `HOME`."""

    function: Function
    partitions: tuple[Partition, ...]

    def __str__(self) -> str:
        return print_partitioned(self)


def print_partitioned(partitioned: Partitioned, locations: bool = True) -> str:
    """All partitions as text, each below a comment that says what it takes and gives."""
    return "\n".join(
        f"; {part.device} takes {list(part.parameters)}, gives {list(part.results)}\n"
        + print_function(part.function, locations)
        for part in partitioned.partitions
    )


def interpret_partitioned(partitioned: Partitioned, *arguments: Any, channels: Channels | None = None) -> Any:
    """Run all partitions at once, each in a thread, and return the results of the whole function.

    Raises what the whole function raises: of several errors the one that is first in program order.
    """
    parts = partitioned.partitions
    if channels is None:
        channels = Channels(len(parts))
    runners: list[tuple[Runner, list[int]]] = []
    for part in parts:
        taken = [arguments[position] for position in part.parameters]
        used = [op.attributes["channel"] for op in walk(part.function.region) if op.name in ("send", "recv")]
        runners.append((partial(_interpreted, part.function, taken), used))
    results: dict[int, Any] = {}
    for part, found in zip(parts, run_together(runners, channels), strict=True):
        results.update(zip(part.results, found, strict=True))
    return tuple(results[position] for position in range(len(partitioned.function.results)))


def _interpreted(function: Function, arguments: list[Any], channels: Channels, record: list[int]) -> tuple[Any, ...]:
    return interpret(function, *arguments, channels=channels, record=record)


# -- verifying

Way = tuple[tuple[str, Loc, Value | None, int], ...]
"""In which regions of which ops something stands, from the outermost inwards."""

End = tuple[Partition, Op, Way]
"""A ``send`` or ``recv``, and where it stands."""


def verify_partitioned(partitioned: Partitioned) -> None:
    """Raise `CompilerBug` unless everything above holds."""
    ends: dict[int, dict[str, End]] = {}
    meetings: set[int] = set()
    for part in partitioned.partitions:
        verify(part.function, "partition")
        meets = [(op, way) for op, way in _with_ways(part.function.region, ()) if op.name == "meet"]
        meetings.add(len(meets))
        for op, way in meets:
            if way:
                _fail(part, op, "expected partitions to meet outside of branches and loops")
        for op, way in _with_ways(part.function.region, ()):
            if op.name in ("send", "recv"):
                channel = op.attributes["channel"]
                if op.name in ends.setdefault(channel, {}):
                    _fail(part, op, f"expected one {op.name} on channel {channel}, got another one")
                ends[channel][op.name] = (part, op, way)
    for channel, both in ends.items():
        _verify_channel(channel, both)
    given = sorted(position for part in partitioned.partitions for position in part.results)
    if len(meetings) > 1:
        raise CompilerBug(f"expected partitions to meet equally often, got {sorted(meetings)}", pass_name="partition")
    if given != list(range(len(partitioned.function.results))):
        raise CompilerBug(f"expected each result from one partition, got {given}", pass_name="partition")
    if partitioned.partitions[0].device != HOME:
        raise CompilerBug(f"expected the partition of {HOME} to be the first", pass_name="partition")


def _verify_channel(channel: int, both: dict[str, End]) -> None:
    part, op, _ = next(iter(both.values()))
    if len(both) < 2:
        _fail(part, op, f"expected a send and a recv on channel {channel}")
    (sender, send, there), (receiver, recv, here) = both["send"], both["recv"]
    if (sender.device, receiver.device) != (recv.attributes["source"], send.attributes["to"]):
        _fail(part, op, f"expected channel {channel} to lead from {sender.device} to {receiver.device}")
    if [value.type for value in send.operands] != [value.type for value in recv.results]:
        _fail(part, op, f"expected values of one type at both ends of channel {channel}")
    if there != here:
        _fail(part, op, f"expected both ends of channel {channel} inside the same branches and loops")


def _with_ways(region: Region, way: Way) -> Iterator[tuple[Op, Way]]:
    for op in region.ops:
        yield op, way
        for number, inner in enumerate(op.regions):
            yield from _with_ways(inner, (*way, (op.name, op.loc, _decisive(op), number)))


def _decisive(op: Op) -> Value | None:
    """The value by which partitions, which share their values, tell a branch or loop from others like it."""
    if op.name == "if":
        return op.operands[0]
    if op.name == "for":
        return op.regions[0].parameters[0]
    return op.regions[0].yielded[0] if op.name == "while" else None


def _fail(part: Partition, op: Op, message: str) -> NoReturn:
    raise CompilerBug(
        f"{part.function.name}: {message}",
        pass_name="partition",
        operation=print_op(op),
        surrounding=print_function(part.function),
        location=op.loc,
    )
