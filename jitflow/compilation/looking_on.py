"""Looking on while something is compiled: dumps between stages, the verifier behind them, and a profile of it all."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from jitflow.config import CONFIG
from jitflow.ir.core import Function, walk
from jitflow.passes.runner import Observer, Step
from jitflow.records import dataclass

__all__ = ["PassTime", "dump", "observer", "profile_text", "verified"]


def observer(steps: list[Step] | None) -> Observer | None:
    """Who is called after each pass: what prints the program, if that is asked for, and remembers the ``steps``."""
    if CONFIG.dump < 3:
        return None if steps is None else steps.append

    def observe(step: Step) -> None:
        print(f"; after {step.name} ({step.seconds * 1e3:.3f} ms)\n{step.function}", file=sys.stderr)
        if steps is not None:
            steps.append(step)

    return observe


def dump(level: int, stage: str, function: Function) -> None:
    """Print the program at a stage, if dumps of that level are asked for."""
    if CONFIG.dump >= level:
        print(f"; {stage}\n{function}", file=sys.stderr)


def verified(function: Function, pass_name: str) -> None:
    """Raise `CompilerBug` for a function that breaks an invariant, if it is to be looked at."""
    if CONFIG.verify:
        from jitflow.ir.verifier import verify

        verify(function, pass_name)


@dataclass(frozen=True, slots=True)
class PassTime:
    """A pass by all its runs: how often it ran, in how many seconds, and how many ops the last one left."""

    name: str
    runs: int
    seconds: float
    ops: int

    @staticmethod
    def of(steps: Sequence[Step]) -> tuple[PassTime, ...]:
        """Those of the passes that ran, the longest first. One that was not asked again did not run."""
        found: dict[str, PassTime] = {}
        for step in steps:
            ops = sum(1 for _ in walk(step.function.region))
            before = found.get(step.name, PassTime(step.name, 0, 0.0, 0))
            runs = before.runs + (not step.idle)
            found[step.name] = PassTime(step.name, runs, before.seconds + step.seconds, ops)
        return tuple(sorted(found.values(), key=lambda one: -one.seconds))


def profile_text(name: str, stages: Mapping[str, float], passes: Sequence[PassTime]) -> str:
    """The stages of a compilation and its passes by time, as two tables."""
    total = sum(stages.values())
    lines = [f"{name}: compiled in {total * 1e3:.1f} ms", "  stage                   ms  share"]
    for stage, seconds in sorted(stages.items(), key=lambda one: -one[1]):
        lines.append(f"  {stage:<18}{seconds * 1e3:8.2f}  {100 * seconds / total:4.0f} %")
    lines.append("  pass                    ms  share   runs     ops behind it")
    for one in passes:
        share = f"{100 * one.seconds / total:4.0f} %"
        lines.append(f"  {one.name:<18}{one.seconds * 1e3:8.2f}  {share}  {one.runs:5}  {one.ops:16}")
    return "\n".join(lines)
