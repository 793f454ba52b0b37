"""The plan of a placement, as people read it, keep it, edit it and have it followed again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from jitflow.errors import UserValueError
from jitflow.ir.core import Function, Op, walk
from jitflow.records import dataclass

__all__ = ["PlacedOp", "Placement", "check_placement", "read_placement", "wishes_of"]


@dataclass(frozen=True, slots=True)
class PlacedOp:
    """One op of the optimized program. ``number``: its place there, inner ops included; times are in seconds."""

    number: int
    op: str
    line: str
    device: str
    """Empty, in an edited plan, if it may be anywhere."""
    why: str = ""
    """``scope``, ``storage`` (what it works on is there), ``calls Python``, ``plan``, ``small`` or ``cost``."""
    bytes_moved: float = 0.0
    """What comes from other devices for it, and for those that are computed with it, in one turn."""
    start: float = 0.0
    end: float = 0.0


@dataclass(frozen=True, slots=True)
class Placement:
    """Where everything is computed, and what that is predicted to take.

    Print it; save it, edit the devices in the file, and give it back: a plan that was saved is followed op by op.
    ``seconds`` is the time of a call, and ``bytes_moved`` what goes between devices in it.
    """

    function: str
    devices: tuple[str, ...]
    ops: tuple[PlacedOp, ...]
    seconds: float = 0.0
    bytes_moved: float = 0.0

    def save(self, path: str | Path) -> None:
        """Write it as JSON."""
        Path(path).write_text(json.dumps(asdict(self), indent=1) + "\n")

    @classmethod
    def load(cls, path: str | Path) -> Placement:
        """Read what `save` wrote, edited or not. Raises ValueError for what is no plan."""
        try:
            content = json.loads(Path(path).read_text())
            ops = tuple(PlacedOp(**{**entry, "device": entry.get("device") or ""}) for entry in content["ops"])
            return cls(**{**content, "ops": ops, "devices": tuple(content["devices"])})
        except (ValueError, KeyError, TypeError) as error:
            raise UserValueError(
                f"{path} is no plan: {type(error).__name__}: {error}", mend="write one with f.placement(...).save(path)"
            ) from None

    def devices_of(self, name: str) -> set[str]:
        """On which devices ops of this name are."""
        return {one.device for one in self.ops if one.op == name}

    def __str__(self) -> str:
        head = ("op", "line", "device", "why", "moved", "from", "to")
        rows = [
            (one.op, one.line, one.device, one.why, _size(one.bytes_moved), _time(one.start), _time(one.end))
            for one in self.ops
        ]
        widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
        lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
                 for row in (head, *rows)]  # fmt: skip
        total = f"{self.function}: {_time(self.seconds)} predicted, {_size(self.bytes_moved) or 'nothing'} moved"
        return "\n".join([total, *lines])


def check_placement(placement: Placement | str | Path) -> None:
    """Raise ValueError for what says nothing about how devices are chosen."""
    if isinstance(placement, str) and placement not in ("heuristic", "search") and not Path(placement).is_file():
        raise UserValueError(f"expected placement to be 'heuristic', 'search' or a file, got {placement!r}")


def read_placement(placement: Placement | str | Path) -> tuple[Placement | None, bool]:
    """The plan to follow, if there is one, and whether to search long for a better one than the usual."""
    if placement in ("heuristic", "search"):
        return None, placement == "search"
    return (placement if isinstance(placement, Placement) else Placement.load(placement)), False


def wishes_of(function: Function, placement: Placement) -> Mapping[Op, str]:
    """Where a plan wants each op. Raises ValueError if the plan is not one of this program."""
    ops = list(walk(function.region))
    wishes = {}
    for one in placement.ops:
        op = ops[one.number] if 0 <= one.number < len(ops) else None
        found = "nothing" if op is None else f"{op.name} at {op.loc}"
        if op is None or op.name != one.op or str(op.loc) != one.line:
            raise UserValueError(
                "the plan does not fit the program any more",
                found=f"op {one.number} is {found}", expected=f"{one.op} at {one.line}",
                mend="make a new plan: f.placement(...)",
            )  # fmt: skip
        if one.device:
            wishes[op] = one.device
    return wishes


def _size(number: float) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= size:
            return f"{number / size:.1f} {unit}"
    return f"{number:.0f} B" if number else ""


def _time(number: float) -> str:
    if number >= 1:
        return f"{number:.3f} s"
    return f"{number * 1e3:.3f} ms" if number >= 1e-3 else f"{number * 1e6:.2f} us"
