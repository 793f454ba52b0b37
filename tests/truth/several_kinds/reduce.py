"""``python -m tests.truth.several_kinds.reduce SEED...`` prints small programs that go wrong as the seeds' do."""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections.abc import Sequence
from dataclasses import replace

from tests.truth.several_kinds.programs import Call, Program, program_of
from tests.truth.several_kinds.verdict import Verdict, verdict
from tests.truth.shorten import shortened

__all__ = ["reduced", "way"]

_WAYS = (
    ("object", r"are one: expected|share memory: expected"),
    ("memory", r"^argument \w afterwards"),
    ("type", r"expected <class|of <class|expected dtype"),
    ("nothing raised", r"^expected \w+(?:Error|Exception): .*, got (?!\w+ \(jitflow\))"),
    ("raised another", r"^expected \w+(?:Error|Exception): .*, got (\w+)"),
    ("raised", r", got (\w+) \(jitflow\): "),
)


def way(found: Verdict) -> str:
    """In which way a program goes wrong; an empty string if it does not."""
    if found.kind in ("equal", "raised", "early"):
        return ""
    if found.kind in ("refused", "bug"):
        return f"{found.kind} {re.sub(r'[0-9]+', '0', found.text)[:30]}"
    for name, pattern in _WAYS:
        if match := re.search(pattern, found.text):
            return " ".join((name, *match.groups()))
    return found.kind


def reduced(program: Program, calls: Sequence[Call]) -> tuple[Program, Sequence[Call]]:
    """The smallest program found that goes wrong in the same way, and the calls that it needs."""

    def goes(source: str) -> str:
        return way(verdict(replace(program, source=source), calls)) if _sensible(source) else ""

    how = way(verdict(program, calls))
    for some in [*([one] for one in calls), calls[:2]]:
        if way(verdict(program, some)) == how:
            calls = some
            break
    return replace(program, source=shortened(program.source, goes)), calls


def _sensible(source: str) -> bool:
    """Whether each name is assigned somewhere, and functions and modules are values nowhere."""
    tree = ast.parse(source)
    nodes = list(ast.walk(tree))
    names = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    names |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    names |= {"bool", "int", "float", *(name for name in dir(builtins) if name[0].isupper())}
    used = {node.func for node in nodes if isinstance(node, ast.Call) and ast.unparse(node.func) != "np"}
    used |= {node.value for node in nodes if isinstance(node, ast.Attribute)}
    loads = [node for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
    return all(node.id in names or node in used for node in loads)


def main() -> None:
    """Reduce the programs of some seeds."""
    for seed in map(int, sys.argv[1:]):
        program, calls = reduced(*program_of(seed))
        found = verdict(program, calls)
        print(f"# seed {seed}: {found.kind}\n{program.source}")
        print(f"# a: {program.dtypes[0]}, b: {program.dtypes[1]}, s: {program.number}; {found.call}")
        print(f"# {found.text}\n", flush=True)


if __name__ == "__main__":
    main()
