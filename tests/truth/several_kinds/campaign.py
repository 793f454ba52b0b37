"""``python -m tests.truth.several_kinds.campaign --seeds 0:20000 --json FILE`` counts what becomes of many programs.

Each process takes some seeds at a time and writes a line of JSON for each; what says nothing for too long, or dies, is
ended, its seed counted as ``hang`` or ``crash``, and the rest of its seeds given to another. Refusals are grouped by
message, with names and numbers left out. ``benchmarks/results/random_programs.json`` has the counts of 20,000.
"""

from __future__ import annotations

import argparse
import json
import queue
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.machine import describe_machine, versions
from tests.truth.several_kinds.programs import program_of
from tests.truth.several_kinds.verdict import SECONDS, verdict

__all__ = ["group_of", "record", "run_seeds"]

AT_A_TIME = 250
KINDS = ("equal", "raised", "early", "refused", "wrong", "bug", "hang", "crash")

Finding = dict[str, Any]


def run_seeds(seeds: range, jobs: int) -> list[Finding]:
    """What was found for each seed, by several processes."""
    parts = [seeds[start : start + AT_A_TIME] for start in range(0, len(seeds), AT_A_TIME)]
    with ThreadPoolExecutor(jobs) as pool:
        return [finding for part in pool.map(_part, parts) for finding in part]


def _part(seeds: range) -> list[Finding]:
    found: list[Finding] = []
    while len(found) < len(seeds):
        found += _until_it_ends(seeds[len(found) :])
    return found


def _until_it_ends(seeds: range) -> list[Finding]:
    """One process; if it does not come to its end, the last finding is of the seed that ended it."""
    command = [sys.executable, "-m", "tests.truth.several_kinds.campaign", "--print", f"{seeds.start}:{seeds.stop}"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    lines: queue.Queue[str] = queue.Queue()
    assert process.stdout is not None
    stdout = process.stdout
    reader = threading.Thread(target=lambda: [*map(lines.put, stdout), lines.put("")], daemon=True)
    reader.start()
    found: list[Finding] = []
    kind = "crash"
    try:
        while len(found) < len(seeds):
            line = lines.get(timeout=10 * SECONDS)
            if not line:
                break
            found.append(json.loads(line))
    except queue.Empty:
        kind = "hang"
    process.kill()
    process.wait()
    reader.join()
    stdout.close()
    if len(found) < len(seeds):
        text = f"the process ended with {process.returncode}" if kind == "crash" else "native code does not come back"
        found.append({"seed": seeds[len(found)], "kind": kind, "text": text, "mend": "", "ran": True, "seconds": 0.0})
    return found


def _print(seeds: range) -> None:
    for seed in seeds:
        start = time.perf_counter()
        found = verdict(*program_of(seed))
        told = {"seed": seed, "kind": found.kind, "text": found.text, "mend": found.mend, "ran": found.ran}
        print(json.dumps(told | {"seconds": round(time.perf_counter() - start, 2)}), flush=True)


def group_of(text: str) -> str:
    """A message without what differs from program to program: names and numbers."""
    text = text.partition("\n")[0]
    text = re.sub(r"'[^']*'|`[^`]*`", "'...'", text)
    text = re.sub(r"(?<=: )[a-z]\d*(?= (is|has|stays)\b)", "x", text)
    return re.sub(r"\b[a-z]\d+\b", "x", re.sub(r"\b\d+\b", "0", text))


def record(seeds: range, findings: list[Finding], seconds: float) -> dict[str, Any]:
    """What is stored of a campaign."""
    counts = Counter(finding["kind"] for finding in findings)
    ran = sum(finding["ran"] for finding in findings)
    refusals: dict[str, dict[str, Any]] = {}
    for finding in (finding for finding in findings if finding["kind"] == "refused"):
        group = refusals.setdefault(
            group_of(finding["text"]), {"count": 0, "mend": finding["mend"], "without_mend": 0, "seeds": []}
        )
        group["count"] += 1
        group["without_mend"] += not finding["mend"]
        group["seeds"] = [*group["seeds"], finding["seed"]][:5]
    slowest = sorted(findings, key=lambda finding: -finding["seconds"])[:5]
    failures = [finding for finding in findings if finding["kind"] in ("wrong", "bug", "hang", "crash")]
    return {
        "kind": "random programs with several kinds for a name",
        "date": datetime.now(UTC).date().isoformat(),
        "machine": describe_machine(),
        "versions": versions(),
        "seeds": [seeds.start, seeds.stop],
        "seconds": round(seconds),
        "counts": {kind: counts[kind] for kind in KINDS},
        "slowest": [{name: finding[name] for name in ("seed", "seconds")} for finding in slowest],
        "python_runs": ran,
        "refused_of_those": round(counts["refused"] / max(ran, 1), 4),
        "refused_without_mend": sum(group["without_mend"] for group in refusals.values()),
        "refusals": dict(sorted(refusals.items(), key=lambda item: -item[1]["count"])),
        "failures": [{name: finding[name] for name in ("seed", "kind", "text")} for finding in failures[:200]],
    }


def main() -> None:
    """Run the seeds that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", default="0:20000", type=_seeds, help="from:to")
    parser.add_argument("--jobs", default=2, type=int, help="how many processes")
    parser.add_argument("--json", type=Path, help="where to store the counts")
    parser.add_argument("--print", type=_seeds, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.print is not None:
        _print(options.print)
        return
    start = time.perf_counter()
    findings = run_seeds(options.seeds, options.jobs)
    stored = record(options.seeds, findings, time.perf_counter() - start)
    if options.json:
        options.json.write_text(json.dumps(stored, indent=2) + "\n")
    print(json.dumps({name: stored[name] for name in ("counts", "python_runs", "refused_of_those", "seconds")}))
    for message, group in stored["refusals"].items():
        print(f"{group['count']:6} refused: {message}")


def _seeds(text: str) -> range:
    start, _, stop = text.partition(":")
    return range(int(start), int(stop))


if __name__ == "__main__":
    main()
