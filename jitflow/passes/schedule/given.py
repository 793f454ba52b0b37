"""Schedules that somebody gives for kernels: the user in a file, or `jitflow tune` for what it measures.

They stand in a file as ``jitflow explain --schedule`` prints them, among whatever else:

    schedule @kernel_0 (i: n, j: m reduced) {
      ...
    }
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from linecache import checkcache
from pathlib import Path

from jitflow.errors import UserValueError
from jitflow.ir.location import Loc
from jitflow.passes.schedule.target import Given, Target

__all__ = ["following", "given_for", "read_given", "refuse_unknown"]

_OPENING = r"(?P<kind>schedule|blocks|panels) @(?P<kernel>\S+) \((?P<loops>.*)\) \{"


def read_given(path: str | Path) -> tuple[Given, ...]:
    """The schedules that stand in a file. Raises `UserValueError` if there is none.

    Raises OSError for a file that cannot be read.
    """
    found: list[Given] = []
    lines = Path(path).read_text().splitlines()
    for number, line in enumerate(lines):
        if opening := re.fullmatch(_OPENING, line.strip()):
            end = next((last for last in range(number + 1, len(lines)) if lines[last].startswith("}")), len(lines))
            text = "\n".join(lines[number + 1 : end])
            found.append(Given(opening["kind"], opening["kernel"], opening["loops"], text, str(path), number + 2))
    if not found:
        raise UserValueError(
            f"there is no schedule in {path}", expected="what jitflow explain --schedule prints",
            mend="start from that, and edit it",
        )  # fmt: skip
    return tuple(found)


def given_for(target: Target, kernel: str) -> Given | None:
    """What is given for the kernel of this name."""
    return next((given for given in target.given if given.kernel == kernel), None)


def refuse_unknown(given: Sequence[Given], scheduled: Mapping[str, object]) -> None:
    """Raise `UserValueError` if something is given for a kernel that there is not."""
    for one in given:
        if one.kernel not in scheduled:
            raise UserValueError(
                f"there is no kernel {one.kernel} to be scheduled", expected=", ".join(scheduled) or "no schedule",
                found=f"{one.file}:{one.line}",
            )  # fmt: skip


@contextmanager
def following(given: Given, kind: str, loops: str) -> Iterator[None]:
    """What is wrong with a given schedule for a kernel of such a kind, with such loops, says where it stands."""
    try:
        if given.kind != kind:
            raise UserValueError(f"kernel {given.kernel} has another kind of schedule", expected=kind, found=given.kind)
        if given.loops != loops:
            raise UserValueError(f"kernel {given.kernel} has other loops", expected=loops, found=given.loops)
        yield
    except UserValueError as error:
        checkcache(given.file)
        error.refused().at(Loc(given.file, given.line - 1))
        raise
