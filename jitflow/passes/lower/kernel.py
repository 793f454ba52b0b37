"""One fusion becomes one kernel: explicit loops, vectors and tails.

The reduced loops and the vector loop are those of `sweeps.py`.

    for row:                           (outer loops)
      sweep 0: for column by 32: ...   (main part without, tail with a mask)
      ...                              (what follows from the sweep, once a row)
      sweep 1: ...
      stores of outer results

A value that an earlier sweep computed at some cost and a later one needs again (the exponentials of a softmax) is kept
in the result that the later sweep writes, or in a scratch row; cheap ones are computed again from memory that is
still in the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from jitflow.ir.core import Function, Op, Value
from jitflow.ir.dims import Dim
from jitflow.ir.dtypes import BOOL, DType
from jitflow.ir.layout import Layout
from jitflow.ir.types import Buffer, Tensor
from jitflow.passes.fusion.nest import Loop, Nest
from jitflow.passes.lower.bands import Bands, worth_bands
from jitflow.passes.lower.sharing import WORTH, Span, outermost_span
from jitflow.passes.lower.sweeps import Sweeps
from jitflow.passes.lower.target import CPU, Target

__all__ = ["Kernel", "KernelArgument", "lower_nest"]


@dataclass(frozen=True, slots=True)
class KernelArgument:
    """What the host passes.

    ``kind`` is ``operand``, ``output`` or ``scalar`` (by ``position``), ``scratch`` (``dim`` bytes of ``dtype``) or
    ``size`` (``dim``).
    """

    kind: str
    position: int = 0
    dim: Dim = 0
    dtype: DType = BOOL


@dataclass(frozen=True, slots=True)
class Kernel:
    """A loop function, what to call it with, and where its results lie."""

    function: Function
    arguments: tuple[KernelArgument, ...]
    layouts: tuple[Layout, ...]


def lower_nest(
    op: Op, nest: Nest, target: Target = CPU, *, name: str, backwards: bool = False,
    into: Mapping[int, Layout] = MappingProxyType({}), used: Collection[int] = (),
) -> Kernel:  # fmt: skip
    """Lower the ``fusion`` op.

    ``into`` says how results (by position) lie that go into a part of memory that exists; those that are ``used`` the
    program works on next.
    """
    return KernelLowering(op, nest, target, backwards, into, used).run(name)


class KernelLowering(Sweeps):
    """The loops around the elements."""

    def run(self, name: str) -> Kernel:
        for parameter in self.region.parameters:
            if isinstance(parameter.type, Tensor):
                self.buffer_for(parameter, parameter.type.dtype)
            else:
                self.scalars[parameter] = Value(parameter.type, parameter.name or "scalar")
                self.emitter.depth_of[self.scalars[parameter]] = 0
        for value in self.region.yielded:
            self.declare_output(value)
        self.place_saved()
        choice = worth_bands(self)
        self.span = self.make_span() if choice == 0 else None
        if self.span is not None and self.span.loop is None:
            self.shared(self.span, lambda: self._loops(choice))
        else:
            self._loops(choice)
        return self._finish(name)

    def make_span(self) -> Span | None:
        """How threads share the kernel, None if they do not."""
        return outermost_span(self)

    # Loops

    def _loops(self, choice: Dim) -> None:
        """All loops; where the sizes decide (0 or 1) whether a reduction goes in bands of rows, both ways.

        Then the other way is for small matrices, which need no tiles.
        """
        emitter = self.emitter

        def in_bands() -> None:
            self._store_results(set())
            Bands(self, self._store_row).run()

        if choice == 0:
            self._outer_loops(list(self.outer))
        elif choice == 1:
            in_bands()
        else:
            large = emitter.emit("greater", emitter.size(choice), emitter.size(0))
            self.lanes, self.compiled_once = self.register_lanes, True
            emitter.branch(large, in_bands, lambda: self._outer_loops(list(self.outer)))

    def shared(self, span: Span, body: Callable[[], object]) -> None:
        """Emit what threads share: ``body`` runs the span's loop from its first position to its last."""
        size, parameters = self.emitter.size, (span.first, span.last, span.worker)
        if span.loop is not None:
            self.bounds[span.loop] = span.first, span.last
        attributes = {"step": span.step, "threads": self.target.threads, "worth": WORTH}
        self.emitter.share(size(span.count), size(span.work), parameters, body, **attributes)

    def _outer_loops(self, loops: list[Loop]) -> None:
        if not loops:
            self._row()
            return
        self._store_results(set(self.outer) - set(loops))
        if self.span is not None and loops[0] is self.span.loop:
            self.shared(self.span, lambda: self._run_loop(*loops))
        else:
            self._run_loop(*loops)

    def _run_loop(self, loop: Loop, *inner: Loop) -> None:
        emitter = self.emitter
        start, stop = self.ends(loop)

        def body(_: Sequence[Value]) -> Sequence[Value]:
            self._outer_loops(list(inner))
            return ()

        if loop is self.vector:
            self.vector_loop(loop, (), lambda carried: body(carried))
        else:
            distributed = self.target.distributed
            emitter.loop(start, stop, emitter.size(1), (), body, loop, parallel=distributed)

    def _row(self) -> None:
        """All sweeps for one position of the outer loops, and the stores of what is then known."""
        for number in range(self.schedule.sweeps):
            self.sweep = number
            self.run_sweep(number)
        self._store_row()

    def _store_row(self) -> None:
        """Store what is known behind all sweeps."""
        self.sweep = self.schedule.sweeps
        self._store_results(set(self.outer))

    def _store_results(self, loops: set[Loop]) -> None:
        """Store what varies along these outer loops alone, outside of the others: those may have no turn at all."""
        ready = [value for value in self.outputs if set(self.schedule.loops_of(value)) == loops]
        computed = [self.value(value) for value in ready]  # all before any is written over what it is computed from
        for value, number in zip(ready, computed, strict=True):
            self.store(self.outputs[value][2], number, last=True)

    # The finished kernel

    def _finish(self, name: str) -> Kernel:
        arguments: list[KernelArgument] = []
        parameters: list[Value] = []
        for position, parameter in enumerate(self.region.parameters):
            if parameter in self.buffers:
                arguments.append(KernelArgument("operand", position))
                parameters.append(self.buffers[parameter])
            else:
                arguments.append(KernelArgument("scalar", position))
                parameters.append(self.scalars[parameter])
        for position, value in enumerate(self.region.yielded):
            arguments.append(KernelArgument("output", position))
            parameters.append(self.outputs[value][0])
        for buffer, size in self.scratch:
            parts = self.target.threads if self.span is not None else 1
            arguments.append(KernelArgument("scratch", 0, size * parts, _dtype(buffer)))
            parameters.append(buffer)
        for dim, value in self.emitter.sizes.items():
            if not isinstance(dim, int):
                arguments.append(KernelArgument("size", 0, dim))
                parameters.append(value)
        region = self.emitter.close(parameters, [])
        function = Function(name, region, (), "loop", MappingProxyType({}))
        return Kernel(function, tuple(arguments), tuple(layout for _, layout, _ in self.outputs.values()))


def _dtype(buffer: Value) -> DType:
    assert isinstance(buffer.type, Buffer)
    return buffer.type.dtype
