"""A checkout beside another commit of it: `python -m benchmarks.against COMMIT [NAME]...`.

Three processes take turns: the other commit, this checkout, and the other commit once more, which says how far two
measurements of the same code lie apart. Each ratio is the other commit's time by this one's, so less than 1 is a loss.
A case is lost where all of its rounds are below 0.95, and are so once more with processes of their own for each round:
where memory lies is decided once in a process, and may halve or double what a small call takes.

What is measured, in processor time, so that other work on the machine disturbs less: a *call* of each gallery program
(small arguments), fused workload (real size) and training step; a *large call* of each gallery program; the *first
call* of each gallery program and workload; and what of that lies in *front* of LLVM.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Comparison", "Session", "compare", "main"]

ROOT = Path(__file__).parents[1]
LOST = 0.95
KINDS = ("call", "large call", "first call", "front")
SIDES = ("other", "this", "other again")


@dataclass(frozen=True)
class Comparison:
    """The seconds of one case, of each side in each round."""

    kind: str
    name: str
    seconds: dict[str, list[float]]

    def ratios(self, side: str = "this") -> list[float]:
        """The other commit's time by that of a side, round by round."""
        return [other / own for other, own in zip(self.seconds["other"], self.seconds[side], strict=True)]

    def measure(self, sides: Mapping[str, Session], number: int) -> None:
        """One round more, in which another side is the first."""
        for side in SIDES[number % 3 :] + SIDES[: number % 3]:
            self.seconds[side].append(sides[side].ask(self.kind, self.name))

    @property
    def is_lost(self) -> bool:
        """Whether it is slower in all rounds."""
        return all(ratio < LOST for ratio in self.ratios())


def compare(
    commit: str, names: Sequence[str] = (), kinds: Sequence[str] = KINDS, rounds: int = 3
) -> Iterator[Comparison]:
    """Measure all cases of some kinds, or those whose names are given, one after the other."""
    with _checkout(commit) as other:
        folders = dict(zip(SIDES, (other, ROOT, other), strict=True))
        with _sessions(folders) as sides:
            cases = sides["this"].ask("cases", "")
            known = sides["other"].ask("cases", "")
            for kind, name in cases:
                if [kind, name] not in known or kind not in kinds or (names and name not in names):
                    continue
                found = Comparison(kind, name, {side: [] for side in SIDES})
                for number in range(rounds):
                    found.measure(sides, number)
                if found.is_lost:
                    found = Comparison(kind, name, {side: [] for side in SIDES})
                    for number in range(rounds):
                        with _sessions(folders) as fresh:
                            found.measure(fresh, number)
                yield found


@contextmanager
def _sessions(folders: Mapping[str, Path]) -> Iterator[dict[str, Session]]:
    """A process for each side."""
    sides = {side: Session(folder) for side, folder in folders.items()}
    yield sides
    for session in sides.values():
        session.end()


@contextmanager
def _checkout(commit: str) -> Iterator[Path]:
    """A checkout of a commit in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="jitflow-against-") as folder:
        place = Path(folder) / "other"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(place), commit], check=True)
        try:
            yield place
        finally:
            subprocess.run([*git, "remove", "--force", str(place)], check=True)


class Session:
    """A process that measures the code of one checkout."""

    def __init__(self, folder: Path) -> None:
        environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", "JITFLOW_CACHE": "0"}
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("against_worker.py"))], cwd=folder, env=environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def ask(self, kind: str, name: str) -> Any:
        """What it measures of a case. Raises RuntimeError with what went wrong there."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([kind, name]) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline() or '{"error": "the process ended"}')
        if "error" in answer:
            raise RuntimeError(f"{kind} of {name}: {answer['error']}")
        return answer["found"]

    def end(self) -> None:
        """Let the process end."""
        self._process.communicate()


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.against", description=__doc__.partition("\n")[0])
    parser.add_argument("commit")
    parser.add_argument("names", nargs="*", help="programs, workloads and training steps; all if none is given")
    parser.add_argument("--kind", action="append", choices=KINDS, help="what to measure; all if nothing is said")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, help="where to write all times")
    chosen = parser.parse_args(arguments)
    found: list[Comparison] = []
    for one in compare(chosen.commit, chosen.names, chosen.kind or KINDS, chosen.rounds):
        found.append(one)
        mark = "  lost" if one.is_lost else ""
        print(f"{one.kind:10} {one.name:28} {_all(one.ratios())}   {_all(one.ratios('other again'))}{mark}", flush=True)
    for kind in KINDS:
        of_kind = [one for one in found if one.kind == kind]
        if of_kind:
            this, again = (_mean([statistics.median(one.ratios(side)) for one in of_kind]) for side in SIDES[1:])
            lost = ", ".join(one.name for one in of_kind if one.is_lost)
            print(
                f"{kind}: {len(of_kind)} cases, geometric mean {this:.3f} (itself {again:.3f}); lost: {lost or 'none'}"
            )
    if chosen.json is not None:
        rows = [{"kind": one.kind, "name": one.name, "seconds": one.seconds} for one in found]
        chosen.json.write_text(json.dumps({"commit": chosen.commit, "cases": rows}, indent=1) + "\n")


def _all(ratios: Sequence[float]) -> str:
    return " ".join(f"{ratio:5.2f}" for ratio in ratios)


def _mean(ratios: Sequence[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, ratios)))


if __name__ == "__main__":
    main()
