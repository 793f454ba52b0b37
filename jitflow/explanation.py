"""What `explain` shows: the key of a specialisation, what it depends on, what was fused, where the time went."""

from __future__ import annotations

from collections.abc import Iterator

from jitflow.compiler import Compilation, stage_text
from jitflow.ir.core import Function
from jitflow.runtime.plan import ArrayLeaf, FunctionIs, ScalarLeaf

__all__ = ["Explanation"]


class Explanation:
    """One specialisation, explained. Print it, or ask it.

    ``key``: a line per input: its class. ``guards``: what else is checked at each call. ``facts``: the decisions on
    sizes that the code rests on, and where they were made. ``fusions``: what became of the program's ops. ``kernels``:
    the names of the kernels. ``times``: seconds of each stage.
    """

    def __init__(self, name: str, compilation: Compilation) -> None:
        traced = compilation.traced
        paths = traced.paths
        self.name = name
        self.key = tuple(
            f"{paths[leaf.register]}: {_leaf_text(leaf, str(parameter.type))}"
            for leaf, parameter in zip(traced.leaves, traced.function.parameters, strict=True)
        )
        self.guards = tuple(
            f"{paths[check.register]}: {_guard_text(check)}"
            for check in traced.checks
            if not isinstance(check, ArrayLeaf | ScalarLeaf)
        )
        self.facts = tuple(f"{one.fact} ({one.why}, {one.location})" for one in traced.decisions)
        self.fusions = tuple(_fusion_lines(compilation.fused)) if compilation.fused is not None else ()
        host = compilation.host
        self.kernels = tuple(kernel.name for kernel in host.functions) if host is not None else ()
        self.times = dict(compilation.times)
        self._compilation = compilation

    def text(self, stage: str) -> str:
        """The program at a stage, as text."""
        return stage_text(self._compilation, stage)

    def __str__(self) -> str:
        total = sum(self.times.values())
        sections = {
            "inputs": self.key,
            "guards": self.guards,
            "facts about sizes": self.facts or ("none: the code serves all sizes",),
            "fusion": self.fusions,
            "kernels": self.kernels,
            f"compiled in {total * 1e3:.1f} ms": tuple(
                f"{stage:<16}{seconds * 1e3:8.2f} ms" for stage, seconds in self.times.items()
            ),
        }
        lines = [self.name]
        for title, items in sections.items():
            lines += [f"  {title}", *(f"    {item}" for item in items)]
        return "\n".join(lines)


def _leaf_text(leaf: ArrayLeaf | ScalarLeaf, kind: str) -> str:
    if isinstance(leaf, ScalarLeaf):
        return f"{kind}, a run-time {'Python number' if leaf.kind == 'python' else 'NumPy scalar'}"
    layouts = {"C": "C order", "F": "Fortran order", "unit": "unit inner stride", "general": "any strides"}
    return f"{kind}, {layouts[leaf.layout]}"


def _guard_text(guard: object) -> str:
    if isinstance(guard, FunctionIs):
        return "this code, these defaults and cells"
    fields = {name: value for name, value in vars(guard).items() if name != "register"}
    return f"{type(guard).__name__} {', '.join(_short(value) for value in fields.values())}"


def _short(value: object) -> str:
    text = value.__name__ if isinstance(value, type) else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _fusion_lines(function: Function) -> Iterator[str]:
    for op in function.region.body:
        if op.name == "fusion":
            inner = ", ".join(each.name for each in op.regions[0].body)
            reason = op.attributes.get("reason", "")
            yield f"{op.attributes.get('kernel', 'kernel')}: {inner}{f' ({reason})' if reason else ''}"
