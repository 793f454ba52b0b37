"""What `explain` shows: the key of a specialisation, what it depends on, what was fused, where the time went."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import ModuleType, NoneType

from jitflow.compilation.compiler import Compilation
from jitflow.compilation.looking_on import PassTime, profile_text
from jitflow.compilation.stages import stage_text
from jitflow.frontend.tracers.absent import NOT_GIVEN
from jitflow.ir.core import Function, walk
from jitflow.ir.dims import symbols
from jitflow.passes.plan.peak import Peak, find_peak
from jitflow.runtime.entry.plan import (
    ArrayLeaf,
    EqualsConstant,
    FunctionIs,
    Guard,
    HasLength,
    IsObject,
    IsOther,
    IsSame,
    IsType,
    KeysAre,
    ObjectLeaf,
    Satisfies,
    ScalarLeaf,
)

__all__ = ["Explanation"]


class Explanation:
    """One specialisation, explained. Print it, or ask it.

    ``key``: a line per input: its class. ``guards``: what else is checked at each call. ``facts``: the decisions on
    sizes that the code rests on, and where they were made. ``loops``: which of the program's loops became native loops,
    which were unrolled, and why. ``kept``: what the reverse passes of gradients need again of each turn: kept in an
    array or on a tape, or computed again. ``fusions``: what became of the program's ops. ``kernels``:
    the names of the kernels. ``threads``: which loops that are kernels, or run some, threads share, and why not the
    others. ``peak``: the most bytes that it has taken from the system at a time, as an expression of
    sizes, and whether that is all; what lists and loops of unknown length keep comes on top. ``sizes``: those seen.
    ``times``: seconds of each stage. ``passes``: those of each pass, the longest first, with how often it ran and how
    many ops it left. ``on_disk``: whether later processes find the code, and if not, why.
    """

    def __init__(self, name: str, compilation: Compilation, on_disk: str = "") -> None:
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
            if not isinstance(check, ArrayLeaf | ScalarLeaf | ObjectLeaf)
        )
        self.facts = tuple(f"{one.fact} ({one.why}, {one.location})" for one in traced.decisions)
        loops = sorted(traced.loops, key=lambda loop: (loop.location.file, loop.location.line, loop.location.column))
        self.loops = tuple(f"{loop.location}: {loop.text}" for loop in loops)
        fused = tuple(part for one in compilation.fused for part in (one, *one.functions))
        self.kept: tuple[str, ...] = tuple(line for one in fused for line in one.attributes.get("kept", ()))
        self.fusions = tuple(line for one in fused for line in _fusion_lines(one))
        self.kernels = tuple(kernel.name for host in compilation.hosts for kernel in host.kernels)
        said = [line for one in (*fused, *compilation.hosts) for line in one.attributes.get("turns", ())]
        said += [_spread_text(kernel) for host in compilation.hosts for kernel in host.kernels]
        self.threads = tuple(line for line in dict.fromkeys(said) if line)
        peaks = [find_peak(host) for host in compilation.hosts]
        self.peak = Peak(sum((one.bytes for one in peaks), start=0), bool(peaks) and all(one.complete for one in peaks))
        self.sizes = {name: size for name, size in traced.hints.items() if name not in traced.described}
        self.times = dict(compilation.times)
        self.passes = PassTime.of(compilation.steps or ())
        self.on_disk = on_disk
        self._compilation = compilation

    def text(self, stage: str) -> str:
        """The program at a stage, as text."""
        return stage_text(self._compilation, stage)

    def profile(self) -> str:
        """Where the time of the compilation went: its stages and passes by time."""
        return profile_text(self.name, self.times, self.passes)

    def __str__(self) -> str:
        total = sum(self.times.values())
        sections = {
            "inputs": self.key,
            "guards": self.guards or ("none",),
            "facts about sizes": self.facts or ("none: the code serves all sizes",),
            **({"loops": self.loops} if self.loops else {}),
            **({"kept for the reverse pass": self.kept} if self.kept else {}),
            "fusion": self.fusions or ("none: there is nothing to compute",),
            "kernels": self.kernels or ("none",),
            **({"threads": self.threads} if self.threads else {}),
            **({"memory": _memory_text(self.peak, self.sizes)} if self.peak.bytes != 0 or self.peak.complete else {}),
            **({"on disk": (self.on_disk,)} if self.on_disk else {}),
            f"compiled in {total * 1e3:.1f} ms": tuple(
                f"{stage:<16}{seconds * 1e3:8.2f} ms" for stage, seconds in self.times.items()
            ),
        }
        lines = [self.name]
        for title, items in sections.items():
            lines += [f"  {title}", *(f"    {item}" for item in items)]
        return "\n".join(lines)


def _spread_text(kernel: Function) -> str:
    """Whether threads share a loop of the user's, and if not, why."""
    place = next((op.loc for op in walk(kernel.region) if op.loc.line), "")
    return f"{kernel.name} ({place}): {kernel.attributes['spread']}" if "spread" in kernel.attributes else ""


def _memory_text(peak: Peak, sizes: Mapping[str, int]) -> tuple[str, ...]:
    """What a program needs for the sizes seen, and for any, where that can be read."""
    formula = "" if isinstance(peak.bytes, int) or len(str(peak.bytes)) > _READABLE else str(peak.bytes)
    more = "" if peak.complete else ", beside what only the run knows"
    if not sizes.keys() >= {*symbols(peak.bytes)}:
        return (f"at most {formula or 'what its sizes ask for'} bytes at a time{more}",)
    text = f"at most {peak.at(sizes):,} bytes at a time for these sizes{more}"
    return (text, f"for any: {formula}") if formula else (text,)


_READABLE = 200
"""How many characters a formula may have."""


def _leaf_text(leaf: ArrayLeaf | ScalarLeaf | ObjectLeaf, kind: str) -> str:
    if isinstance(leaf, ObjectLeaf):
        return "a generator of random numbers"
    if isinstance(leaf, ScalarLeaf):
        return f"{kind}, a run-time {'Python number' if leaf.kind == 'python' else 'NumPy scalar'}"
    layouts = {"C": "C order", "F": "Fortran order", "unit": "unit inner stride", "general": "any strides"}
    return f"{kind}, {layouts[leaf.layout]}"


def _guard_text(guard: Guard) -> str:
    if isinstance(guard, FunctionIs):
        return "this code, these defaults and cells"
    if isinstance(guard, IsObject) and guard.object is NOT_GIVEN:
        return "is not given"
    if isinstance(guard, IsObject):
        return f"is {_short(guard.object)}"
    if isinstance(guard, IsSame):
        return "is the object that was found before"
    if isinstance(guard, IsOther):
        return "is another object than the one that is stored to"
    if isinstance(guard, IsType):
        return f"is of type {_short(guard.type)}"
    if isinstance(guard, HasLength):
        return f"has {guard.length} items"
    if isinstance(guard, KeysAre):
        return f"has the keys {_short(list(guard.keys))}, in this order"
    if isinstance(guard, Satisfies):
        return guard.text
    assert isinstance(guard, EqualsConstant)
    return f"equals {_short(guard.value)}"


def _short(value: object) -> str:
    """What a value is called; its representation may be long, or hold an address that says nothing."""
    if isinstance(value, ModuleType):
        return f"the module {value.__name__}"
    if callable(value) and hasattr(value, "__name__"):
        return str(value.__name__)
    text = repr(value) if isinstance(value, list | bool | int | float | complex | str | bytes | NoneType) else ""
    if not text:
        return f"this {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:57]}..."


_ALONE = {"matmul": "a product by itself", "contract": "a contraction by itself", "accumulate": "a scan"}
"""Ops that fuse with nothing, by the first word of their names, and what becomes of each."""


def _fusion_lines(fused: Function) -> Iterator[str]:
    """What became of the ops, in the program's order, then what fusion decided."""
    decisions: tuple[str, ...] = fused.attributes.get("decisions", ())
    for op in fused.region.body:
        kernel = op.attributes.get("kernel")
        alone = _ALONE.get(op.name.partition("_")[0])
        if alone:
            yield f"{op.name} ({op.loc}) is {alone}"
        elif op.name == "host_call":
            yield f"{op.attributes['routine']} ({op.loc}) is called as it is"
        elif kernel and not any(line.startswith(f"{kernel} ") for line in decisions):
            yield f"{kernel} holds 1 op: {op.regions[0].body[-1].name} ({op.loc})"
    yield from decisions
