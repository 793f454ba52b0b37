"""Reading a compilation: the program at each stage, as text or as a picture of its graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

from jitflow.compilation.compiler import (
    Compilation,
    differentiated,
    fuse,
    generate,
    lower,
    optimize,
    partitions,
    plan,
    with_layouts,
)
from jitflow.compilation.splitting import with_devices
from jitflow.errors import UserNotImplementedError
from jitflow.ir.core import Function

__all__ = ["GRAPH_STAGES", "STAGES", "check_stage", "stage_graph", "stage_text"]

STAGES = (
    "traced",
    "gradient",
    "optimized",
    "partitioned",
    "fused",
    "planned",
    "scheduled",
    "kernels",
    "llvm",
    "asm",
    "cuda",
)
GRAPH_STAGES = ("traced", "gradient", "optimized", "fused")
"""The stages whose dataflow graph can be drawn: from there on the program is memory and machine code."""


def check_stage(stage: str, stages: tuple[str, ...] = STAGES) -> None:
    """Raise ValueError for a stage that there is not."""
    if stage not in stages:
        raise ValueError(f"expected a stage (one of {', '.join(stages)}), got {stage!r}")


def stage_graph(compilation: Compilation, stage: str, format: str, *, placement: bool = False) -> str | bytes:
    """The dataflow graph of the program at a stage, in a format; the stage that is placed, with its ``placement``."""
    from jitflow.graph import draw
    from jitflow.passes.values.unmark import unmark

    if placement:
        check_stage(stage, ("optimized",))
        return draw(with_devices(compilation), format, is_placed=True)
    readers: Mapping[str, Callable[[], Function]] = {
        "traced": lambda: unmark(compilation.traced.function),
        "gradient": lambda: differentiated(compilation),
        "optimized": lambda: optimize(compilation),
        "fused": lambda: _only(fuse(compilation)),
    }
    return draw(readers[stage](), format)


def stage_text(compilation: Compilation, stage: str) -> str:
    """The program at a stage, as text."""
    from jitflow.passes.plan.text import plan_text

    readers: Mapping[str, Callable[[], str]] = {
        "traced": lambda: str(with_layouts(compilation.traced)),
        "gradient": lambda: str(_without_decisions(differentiated(compilation))),
        "optimized": lambda: str(_without_decisions(optimize(compilation))),
        "partitioned": lambda: _partitions_text(compilation, partitions(compilation)),
        "fused": lambda: _partitions_text(compilation, fuse(compilation)),
        "planned": lambda: "\n".join(map(plan_text, fuse(compilation), plan(compilation))),
        "scheduled": lambda: _schedules_text(compilation),
        "kernels": lambda: "\n".join(map(str, lower(compilation))),
        "llvm": lambda: generate(compilation).text,
        "asm": lambda: generate(compilation).asm(),
        "cuda": lambda: _cuda_text(compilation),
    }
    return readers[stage]()


# -- the parts -------------------------------------------------------------------------------------


def _partitions_text(compilation: Compilation, functions: tuple[Function, ...]) -> str:
    """The program, or its partitions, each below a line that says what it takes and gives."""
    functions = tuple(map(_without_decisions, functions))
    if len(functions) == 1:
        return str(functions[0])
    assert compilation.partitioned is not None
    parts = compilation.partitioned.partitions
    return str(replace(compilation.partitioned, partitions=tuple(
        replace(part, function=one) for part, one in zip(parts, functions, strict=True))))  # fmt: skip


def _schedules_text(compilation: Compilation) -> str:
    """The fusions, products and contractions with how they run."""
    lower(compilation)
    assert compilation.lowered is not None
    sizes = dict(compilation.traced.hints)
    texts = [one.text(name, sizes) for name, one in compilation.lowered.scheduled.items()]
    return "\n".join(texts) or "; no kernel here has a schedule\n"


def _only(functions: tuple[Function, ...]) -> Function:
    """The program. Raises `UserNotImplementedError` if it is in several partitions."""
    if len(functions) > 1:
        raise UserNotImplementedError(
            "the graph of a program that is split over devices, behind its partition", mend="draw the stage optimized"
        )
    return functions[0]


def _without_decisions(fused: Function) -> Function:
    """What `explain` shows, a line for each op, would stand on one line in front of the IR."""
    attributes = {
        name: value for name, value in fused.attributes.items() if name not in ("decisions", "kept", "numbers", "turns")
    }
    return replace(fused, attributes=MappingProxyType(attributes))


def _cuda_text(compilation: Compilation) -> str:
    """The kernels for GPUs as CUDA C++: of those that take part, else lowered once more for one."""
    from jitflow.compilation.gpu import kernels_text

    lower(compilation)
    if compilation.kernels:
        return "\n".join(module.text for module in compilation.kernels.values())
    return kernels_text(_only(fuse(compilation)))
