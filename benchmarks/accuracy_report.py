"""What `benchmarks.accuracy` found, as JSON and as the table in the documentation."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.machine import describe_machine, versions

__all__ = ["BEGIN", "END", "PAGE", "RESULTS", "Finding", "as_record", "rewrite_page", "write_json"]

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "accuracy.json"
PAGE = ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- accuracy: begin -->", "<!-- accuracy: end -->"


@dataclass(frozen=True)
class Finding:
    """One function in one format."""

    function: str
    dtype: str
    worst_ulp: float
    at: str
    """The arguments where the error is worst."""
    nanoseconds: float
    """Per element, on arrays in the first-level cache."""
    numpy_nanoseconds: float
    samples: int
    differences: tuple[str, ...]
    """Special values that are not NumPy's."""

    def __str__(self) -> str:
        times = f"{self.nanoseconds:6.2f} {self.numpy_nanoseconds:6.2f}"
        return f"{self.function:<11}{self.dtype:<7}{self.worst_ulp:9.3f}  {times}  {self.samples:>10,}  {self.at}"


def as_record(findings: list[Finding], source: str) -> dict[str, Any]:
    """Return everything about a run as JSON can hold it."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": describe_machine(),
        "versions": versions(),
        "source": source,
        "worst_ulp": max(finding.worst_ulp for finding in findings),
        "functions": [asdict(finding) for finding in findings],
    }


def write_json(record: dict[str, Any], path: Path) -> None:
    """Store the record of a run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=2, allow_nan=False) + "\n")


def rewrite_page(record: dict[str, Any], text: str) -> str:
    """Return the page with the table of this run between the markers. Raises ValueError if they are missing."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"expected the lines {BEGIN!r} and {END!r} in the page")
    return "\n".join([before + begin, *_lines(record), end + after])


def _lines(record: dict[str, Any]) -> list[str]:
    packages = record["versions"]
    provenance = (
        f"{record['machine']['cpu']}, one thread, {record['date']}; NumPy {packages['numpy']}, and SciPy "
        f"{packages['scipy']} for `erf` and `erfc`."
    )
    return [
        "`python -m benchmarks.accuracy --page` measures the worst error of each in units in the last place, against",
        "mpmath, and the time per element (ns) beside NumPy's, on arrays in the first-level cache:",
        "",
        "| function | f32: worst ulp | ns | NumPy's ns | f64: worst ulp | ns | NumPy's ns |",
        "|---|---|---|---|---|---|---|",
        *_rows(record["functions"]),
        "",
        provenance,
    ]


def _rows(functions: list[dict[str, Any]]) -> list[str]:
    cells: dict[str, dict[str, str]] = {}
    for each in functions:
        times = f"{each['nanoseconds']:.2f} | {each['numpy_nanoseconds']:.2f}"
        cells.setdefault(each["function"], {})[each["dtype"]] = f"{each['worst_ulp']:.2f} | {times}"
    missing = "- | - | -"
    return [f"| `{name}` | {row.get('f32', missing)} | {row.get('f64', missing)} |" for name, row in cells.items()]
