"""Outline: a loop of the host program that launches nothing becomes a kernel of its own.

Such a loop is a nest of scalar code over numbers and elements, as users write it. As a function of its own it gets
LLVM's loop passes, plain arithmetic on its positions where that of the host program saturates, and the promise that
buffers which cannot overlap do not (the kernel's attribute ``unaliased``); ``owned`` are those of the program's own.

    for %0, %n, %1 (%i: index) {                   launch %x, %n {kernel="loop_0"}
      %2: index = multiply %i, %8            ->  }
      %3: f64 = read %x, %2                      kernel @loop_0(%x: buffer f64, %n: index) {
      ...                                          %0: index = size {dim=0}
    }                                              ...

What the loop gives (a sum, a count) the kernel yields. Constants go along; every other value from outside is a
parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import MappingProxyType

from jitflow.ir.core import Builder, Function, Op, Region, Value, clone_op, free_values, uses, walk, walk_inside
from jitflow.ir.types import Buffer

__all__ = ["edges", "in_scalar_kernels", "outline"]

_LAYERS = ("any", "loop")
_EXTERNAL = frozenset({"print", "send", "recv", "meet", "progress", "call"})


def outline(host: Function, *, reaching_memory: bool = False) -> Function:
    """Move the outermost loops that launch nothing out of a host program; its arguments may ``overlap``.

    ``reaching_memory``: only loops that access elements, and give numbers alone, which one thread of a GPU can do.
    """
    return _Outlining(host, bool(host.attributes.get("overlap")), reaching_memory).run()


def in_scalar_kernels(host: Function, name: str, rewritten: Callable[[Function], Region]) -> Function:
    """The host program with the regions of those of these kernels that have an op called ``name`` rewritten."""
    functions = tuple(
        replace(function, region=rewritten(function))
        if function.attributes.get("scalar") and any(op.name == name for op in walk(function.region))
        else function
        for function in host.functions
    )
    return replace(host, functions=functions)


class _Outlining:
    def __init__(self, host: Function, overlap: bool, reaching_memory: bool) -> None:
        self.host = host
        self.overlap = overlap
        self.reaching_memory = reaching_memory
        self.producer = {result: op for op in walk(host.region) for result in op.results}
        self.counts = uses(host.region)
        self.bases: dict[Value, frozenset[Value]] = {}
        self.kernels: list[Function] = []

    def run(self) -> Function:
        if not any(op.name in ("for", "while") for op in walk(self.host.region)):
            return self.host
        while self._spread(self.host.region):
            pass
        region = self._region(self.host.region)
        return replace(self.host, region=region, functions=(*self.host.functions, *self.kernels))

    def _region(self, region: Region) -> Region:
        return Region(region.parameters, tuple(self._op(op) for op in region.ops))

    def _op(self, op: Op) -> Op:
        if op.name in ("for", "while") and _is_scalar(op) and (not self.reaching_memory or _reaches_memory(op)):
            return self._outlined(op)
        if op.regions:
            return replace(op, regions=tuple(self._region(region) for region in op.regions))
        return op

    def _outlined(self, op: Op) -> Op:
        """The launch that takes the place of a loop."""
        builder = Builder(loc=op.loc)
        inside: dict[Value, Value] = {}
        arguments: list[Value] = []
        for value in free_values(op):
            producer = self.producer.get(value)
            if producer is not None and not producer.operands and producer.name in ("constant", "size"):
                builder.ops.append(clone_op(producer, inside))
            else:
                inside[value] = Value(value.type, value.name)
                arguments.append(value)
        parameters = [inside[value] for value in arguments]
        builder.ops.append(clone_op(op, inside))
        wanted = [result for result in op.results if self.counts[result]]
        region = builder.region(parameters, [inside[result] for result in wanted])
        prefix = f"{self.host.name}_" if self.host.attributes.get("called") else ""
        name = f"{prefix}loop_{len(self.kernels)}"
        owned = tuple(position for position, value in enumerate(arguments) if self._is_owned(value))
        attributes = {"scalar": True, "unaliased": self._unaliased(arguments), "owned": owned}
        if self.reaching_memory:
            attributes["distributed"] = True
        self.kernels.append(Function(name, region, (), "loop", MappingProxyType(attributes)))
        launch = Builder(loc=op.loc)
        launch.add("launch", *arguments, types=[result.type for result in wanted], kernel=name)
        (made,) = launch.ops
        return replace(made, results=tuple(wanted))

    # Aliases

    def _spread(self, region: Region) -> bool:
        """Find the allocations and arguments that each buffer may be a part of; whether anything new was learnt."""
        changed = False
        for op in region.ops:
            for target, sources in edges(op):
                if isinstance(target.type, Buffer):
                    known = self.bases.get(target, frozenset())
                    found = known.union(*(self.bases.get(source, frozenset()) for source in sources))
                    found = found if sources else frozenset((target,))
                    changed |= found != known
                    self.bases[target] = found
            for inner in op.regions:
                changed |= self._spread(inner)
        return changed

    def _unaliased(self, arguments: Sequence[Value]) -> tuple[int, ...]:
        """The positions of the buffers that overlap no other."""
        found: list[int] = []
        for position, value in enumerate(arguments):
            if isinstance(value.type, Buffer):
                own = self._memory(value)
                others = (self._memory(other) for other in arguments if other is not value)
                if all(own.isdisjoint(other) for other in others):
                    found.append(position)
        return tuple(found)

    def _is_owned(self, value: Value) -> bool:
        """Whether a buffer is the program's own, which nobody sees if it fails."""
        bases = self.bases.get(value, ())
        return bool(bases) and all(self.producer[base].name == "alloc" for base in bases)

    def _memory(self, value: Value) -> frozenset[object]:
        """What tells one block of memory from another; arguments are one where they may overlap, and so is the heap."""
        return frozenset(map(self._block, self.bases.get(value, ())))

    def _block(self, base: Value) -> object:
        """What stands for the memory that an op gives, which may be that of another one."""
        name = self.producer[base].name
        is_one_of_many = name == "item_memory" or (self.overlap and name == "argument")
        return name if is_one_of_many else base


def edges(op: Op) -> list[tuple[Value, list[Value]]]:
    """For each buffer that an op defines, here or in its regions, those that it may be."""
    if op.name == "offset":
        return [(op.result, [op.operands[0]])]
    if op.name == "if":
        return [(r, [region.yielded[n] for region in op.regions]) for n, r in enumerate(op.results)]
    if op.name not in ("for", "while"):
        return [(result, []) for result in op.results]
    initial = op.operands[3:] if op.name == "for" else op.operands
    lists = [op.results, *(region.parameters[len(region.parameters) - len(initial) :] for region in op.regions)]
    arriving = list(zip(initial, op.regions[-1].yielded, strict=True))
    return [(target, list(arriving[n])) for targets in lists for n, target in enumerate(targets)]


def _is_scalar(op: Op) -> bool:
    """Whether an op and all inside it only compute, read, write and check."""
    ops = (inner for region in op.regions for inner in walk(region))
    return all(inner.definition.layer in _LAYERS and inner.name not in _EXTERNAL for inner in ops)


def _reaches_memory(op: Op) -> bool:
    """Whether a loop uses memory from outside, and only numbers flow in it."""
    ops = [op, *walk_inside(op)]
    flowing = [value for inner in ops for region in inner.regions for value in region.parameters]
    flowing += [value for inner in ops for value in inner.results]
    known = not any(isinstance(value.type, Buffer) for value in flowing)
    return known and any(isinstance(value.type, Buffer) for value in free_values(op))
