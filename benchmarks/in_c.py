"""Element loops of the gallery beside the same loops in C, one thread: `python -m benchmarks.in_c [NAME]...`.

The loops in ``loops.c`` are compiled by the machine's C compiler at ``-O3`` for this processor, without contraction, so
that results are the same to the bit; jitflow checks bounds and overflow, C does not. Needs ``cc``.
"""

from __future__ import annotations

import copy
import ctypes
import json as json_format
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich import box
from rich.console import Console
from rich.table import Table

from .gallery import load
from .machine import describe_machine, pin_to_one_core, versions
from .measure import disagreement
from .program_session import flatten
from .programs import Tolerance

__all__ = ["LOOPS", "Timed", "measure"]

FLAGS = ("-O3", "-march=native", "-ffp-contract=off", "-shared", "-fPIC")
_SOURCE = Path(__file__).with_name("loops.c")

Loop = Callable[[ctypes.CDLL, tuple[Any, ...]], Any]


def _numbers(*values: Any) -> list[Any]:
    """Arrays as pointers, numbers as ``int64_t``."""
    return [value.ctypes.data_as(ctypes.c_void_p) if isinstance(value, np.ndarray) else ctypes.c_int64(value)
            for value in values]  # fmt: skip


def _cholesky(library: ctypes.CDLL, arguments: tuple[Any, ...]) -> Any:
    (a,) = arguments
    library.cholesky(*_numbers(a, len(a)))


def _lu(library: ctypes.CDLL, arguments: tuple[Any, ...]) -> Any:
    (a,) = arguments
    order = np.empty(len(a), np.int64)
    library.lu(*_numbers(a, order, len(a)))
    return order


def _levenshtein(library: ctypes.CDLL, arguments: tuple[Any, ...]) -> Any:
    a, b = arguments
    return library.levenshtein(*_numbers(a, len(a), b, len(b)))


def _needleman_wunsch(library: ctypes.CDLL, arguments: tuple[Any, ...]) -> Any:
    a, b, substitution, gap = arguments
    alignment = np.empty((2, len(a) + len(b)), np.int64)
    score = library.needleman_wunsch(*_numbers(a, len(a), b, len(b), substitution, gap, alignment))
    return np.int64(score), alignment[:, (alignment >= 0).any(0)]


def _smith_waterman(library: ctypes.CDLL, arguments: tuple[Any, ...]) -> Any:
    a, b, match, mismatch, gap = arguments
    packed = library.smith_waterman(*_numbers(a, len(a), b, len(b), match, mismatch, gap))
    rest, score = divmod(packed, 1_000_003)
    return score, *reversed(divmod(rest, 1_000_003))


def _insertion_sort(library: ctypes.CDLL, arguments: tuple[Any, ...]) -> Any:
    (x,) = arguments
    return library.insertion_sort(*_numbers(x, len(x)))


def _crc16(library: ctypes.CDLL, arguments: tuple[Any, ...]) -> Any:
    data, polynomial = arguments
    return library.crc16(*_numbers(data, len(data), polynomial))


LOOPS: dict[str, Loop] = {
    "cholesky": _cholesky, "lu": _lu, "levenshtein": _levenshtein, "needleman_wunsch": _needleman_wunsch,
    "smith_waterman": _smith_waterman, "insertion_sort": _insertion_sort, "crc16": _crc16,
}  # fmt: skip


@dataclass(frozen=True)
class Timed:
    """Median seconds of a call of either."""

    name: str
    jitflow: float
    c: float

    @property
    def ratio(self) -> float:
        """How many times C's time jitflow takes."""
        return self.jitflow / self.c


def compiled_c(folder: Path) -> ctypes.CDLL:
    """The loops in C. Raises RuntimeError without a C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise RuntimeError("expected a C compiler (cc, gcc or clang), found none")
    target = folder / "loops.so"
    subprocess.run([compiler, *FLAGS, "-o", str(target), str(_SOURCE), "-lm"], check=True)
    library = ctypes.CDLL(str(target))
    for name in LOOPS:
        getattr(library, name).restype = ctypes.c_int64
    return library


def measure(name: str, library: ctypes.CDLL, *, seconds: float, size: str = "large") -> Timed:
    """Compare the results, then time both in turns. Raises AssertionError where they differ."""
    module = load(name)
    ours: Callable[..., Any] = getattr(module, name)
    arguments = module.example(size)

    def run(peer: Callable[[tuple[Any, ...]], Any]) -> tuple[float, Any]:
        own = copy.deepcopy(arguments)
        start = time.perf_counter()
        result = peer(own)
        return time.perf_counter() - start, (*flatten(result), *flatten(own))

    peers: list[Callable[[tuple[Any, ...]], Any]] = [
        lambda own: ours(*own),
        lambda own: LOOPS[name](library, own),
    ]
    (_, found), (_, expected) = map(run, peers)
    difference = disagreement(Tolerance(1e-10), found, expected)
    assert not difference, f"{name}: {difference}"
    samples: list[list[float]] = [[], []]
    deadline = time.perf_counter() + seconds
    while len(samples[0]) < 9 or time.perf_counter() < deadline:
        for own, peer in zip(samples, peers, strict=True):
            own.append(run(peer)[0])
    return Timed(name, *map(statistics.median, samples))


def main(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Programs; all if none.")] = None,
    json: Annotated[Path | None, typer.Option(help="Store the result in this file.", metavar="FILE.json")] = None,
    seconds: Annotated[float, typer.Option(help="Time for each program.", min=0.0)] = 1.0,
) -> None:
    """Run the gallery's element loops beside the same loops in C, on one thread."""
    for name in names or []:
        if name not in LOOPS:
            raise typer.BadParameter(f"unknown program {name!r}, expected one of {', '.join(LOOPS)}")
    pin_to_one_core()
    with tempfile.TemporaryDirectory() as folder:
        library = compiled_c(Path(folder))
        lines = [measure(name, library, seconds=seconds) for name in names or LOOPS]
    table = Table(title="median of calls in turns, one thread (ms)", title_justify="left", box=box.SIMPLE_HEAD)
    for column in ("program", "C", "jitflow", "jitflow / C"):
        table.add_column(column, no_wrap=True, justify="left" if column == "program" else "right")
    for line in lines:
        table.add_row(line.name, f"{line.c * 1e3:.3f}", f"{line.jitflow * 1e3:.3f}", f"{line.ratio:.2f}")
    Console().print(table)
    if json is not None:
        record = {
            "kind": "in_c", "date": datetime.now(UTC).strftime("%Y-%m-%d"), "machine": describe_machine(),
            "versions": versions(), "flags": FLAGS, "threads": 1,
            "programs": [{"name": line.name, "c_seconds": line.c, "jitflow_seconds": line.jitflow, "ratio": line.ratio}
                         for line in lines],
        }  # fmt: skip
        json.write_text(json_format.dumps(record, indent=2, allow_nan=False) + "\n")


if __name__ == "__main__":
    typer.run(main)
