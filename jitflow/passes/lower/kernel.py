"""One fusion becomes one kernel: explicit loops, vectors and tails.

The innermost loop in memory is the *vector loop*. If it is an outer loop, every lane is an output of its own and
reductions run lane by lane down the reduced loops (*vertical*); if it is reduced, lanes are partial results that are
folded at the end of a row (*horizontal*). Horizontal reductions always use 32 lanes and fixed blocks, so their bits do
not depend on what else the kernel computes.

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

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from jitflow.ir.core import Function, Op, Region, Value
from jitflow.ir.dims import Dim, minimum, product
from jitflow.ir.dtypes import BOOL, I64, DType
from jitflow.ir.types import Buffer, Scalar, Tensor, Vector, dims_of
from jitflow.passes.lower.emitter import Emitter
from jitflow.passes.layout import Layout
from jitflow.passes.lower.nest import Access, Loop, Nest
from jitflow.passes.lower.reductions import Reduction, reduction_for
from jitflow.passes.lower.schedule import Schedule
from jitflow.passes.lower.target import CPU, Target

__all__ = ["Kernel", "KernelArgument", "lower_nest"]

HORIZONTAL_LANES = 32
LONG_BODY = 12
"""Instructions in the body of a vector loop from which on it is compiled once, under masks, not twice."""

STREAM_FROM = 1 << 22
"""Bytes of a result from which on it is written past the caches: more than they would keep anyway."""
CACHE_LINE = 64
SMALLEST_STREAM = 16
"""Bytes of a vector that processors can write past the caches."""
BLOCK = 1024
"""Elements of a row (or rows, in a vertical reduction) that are summed before compensated addition takes over."""


@dataclass(frozen=True, slots=True)
class KernelArgument:
    """What the host passes: ``kind`` is ``operand``, ``output`` or ``scalar`` (by ``position``), ``scratch`` (``dim``
    bytes) or ``size`` (``dim``)."""

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
    op: Op,
    layouts: Sequence[Layout | None],
    target: Target = CPU,
    *,
    keep_order: bool = False,
    into: Layout | None = None,
) -> Kernel:
    """Lower the ``fusion`` op; ``layouts`` are its tensor operands' (None for scalars).

    ``keep_order`` asks for results in C order whatever the operands' order; ``into`` says where the only result goes
    in memory that exists.
    """
    (region,) = op.regions
    by_parameter = {
        parameter: layout for parameter, layout in zip(region.parameters, layouts, strict=True) if layout is not None
    }
    return _KernelLowering(op, Nest(region, by_parameter), target, keep_order, into).run()


class _KernelLowering:
    def __init__(self, op: Op, nest: Nest, target: Target, keep_order: bool, into: Layout | None) -> None:
        self.op = op
        self.nest = nest
        self.region: Region = op.regions[0]
        self.target = target
        self.emitter = Emitter()
        self.buffers: dict[Value, Value] = {}
        self.scalars: dict[Value, Value] = {}
        self.outputs: dict[Value, tuple[Value, Layout, Access]] = {}
        self.schedule = Schedule(nest, keep_order, into)
        self.outer, self.reduced, self.vector = self.schedule.outer, self.schedule.reduced, self.schedule.vector
        self.horizontal = self.vector is not None and self.vector.reduced
        self.lanes = self._choose_lanes()
        self.saved: dict[Value, Access] = {}
        self.hosts: set[Value] = set()
        """Outputs whose memory holds a saved value for a while."""
        self.sweep = 0
        self.scratch: list[tuple[Value, Dim]] = []

    def run(self) -> Kernel:
        for parameter in self.region.parameters:
            if isinstance(parameter.type, Tensor):
                self._buffer(parameter, parameter.type.dtype)
            else:
                self.scalars[parameter] = Value(parameter.type, parameter.name or "scalar")
                self.emitter.depth_of[self.scalars[parameter]] = 0
        for value in self.region.yielded:
            self._declare_output(value)
        self._place_saved()
        self._outer_loops(list(self.outer))
        return self._finish()

    def _buffer(self, key: Value, dtype: DType) -> Value:
        self.buffers[key] = Value(Buffer(dtype), key.name or "buffer")
        self.emitter.depth_of[self.buffers[key]] = 0
        return self.buffers[key]

    def _choose_lanes(self) -> int:
        if self.vector is None:
            return 0
        if self.target.lanes:
            return self.target.lanes
        if self.horizontal:
            return HORIZONTAL_LANES
        widest = self.schedule.widest_item
        lanes = max(1, self.target.vector_bytes // widest)
        light = self.schedule.cost <= 40
        return max(2, 2 * lanes if light else lanes)

    def _declare_output(self, value: Value) -> None:
        assert isinstance(value.type, Tensor | Scalar)
        buffer = self._buffer(value, value.type.dtype)
        self.outputs[value] = (buffer, self.schedule.output_layout(value), self.schedule.output_access(value))

    # Loops

    def _outer_loops(self, loops: list[Loop]) -> None:
        if not loops:
            self._row()
            return
        loop, *inner = loops
        emitter = self.emitter
        stop = emitter.size(loop.dim)

        def body(_: Sequence[Value]) -> Sequence[Value]:
            self._outer_loops(inner)
            return ()

        if loop is self.vector:
            self._vector_loop(loop, (), lambda carried: body(carried))
        else:
            distributed = self.target.distributed
            emitter.loop(emitter.size(0), stop, emitter.size(1), (), body, loop, parallel=distributed)

    def _vector_loop(
        self, loop: Loop, carried: Sequence[Value], body: Callable[[Sequence[Value]], Sequence[Value]]
    ) -> Sequence[Value]:
        """The main part in whole vectors, then one masked step for what is left; under masks throughout if the body
        is long, since compiling it twice would cost more than the masks."""
        emitter = self.emitter
        step = emitter.size(self.lanes)
        if self._is_long():
            return emitter.loop(
                emitter.size(0), emitter.size(loop.dim), step, carried, body, loop, self.lanes, masked=True,
                parallel=self.target.distributed and not loop.reduced,
            )  # fmt: skip
        main = self._whole_vectors(loop)
        if not (isinstance(loop.dim, int) and loop.dim < self.lanes):
            carried = emitter.loop(emitter.size(0), main, step, carried, body, loop, self.lanes)
        if not (isinstance(loop.dim, int) and loop.dim % self.lanes == 0):
            carried = emitter.loop(main, emitter.size(loop.dim), step, carried, body, loop, self.lanes, masked=True)
        return carried

    def _is_long(self) -> bool:
        """Whether the body of the vector loop is long enough to be compiled only once."""
        if self.target.masked:
            return True
        if self.vector in self.outer:
            return self.schedule.cost > LONG_BODY
        return self.schedule.sweep_cost(self.sweep) > LONG_BODY

    def _whole_vectors(self, loop: Loop) -> Value:
        """The largest multiple of the lanes that is not above the loop's length."""
        return self.emitter.size(loop.dim // self.lanes * self.lanes)

    def _row(self) -> None:
        """All sweeps for one position of the outer loops, and the stores of what is then known."""
        for self.sweep in range(self.schedule.sweeps):
            self._run_sweep(self.sweep)
        self.sweep = self.schedule.sweeps
        for value, (_, _, access) in self.outputs.items():
            if not any(loop.reduced for loop in self.schedule.loops_of(value)):
                self._store(access, self.value(value), last=True)

    def _run_sweep(self, number: int) -> None:
        emitter = self.emitter
        reductions = [reduction_for(op, self) for op in self.schedule.reductions(number)]
        stores = self.schedule.stores(number)
        saves = [value for value in self.saved if self.schedule.saved[value] == number]
        if not reductions and not stores and not saves:
            return
        for reduction in reductions:
            emitter.loc = reduction.op.loc
            reduction.begin()

        def visit() -> None:
            for value in saves:
                self._store(self.saved[value], self.value(value, saving=True))
            for value in stores:
                self._store(self.outputs[value][2], self.value(value), last=value not in self.hosts)

        states = self._reduced_loops(list(self.reduced), reductions, visit, [s for r in reductions for s in r.state])
        for reduction in reductions:
            states = reduction.take(states)
        for reduction in reductions:
            result = reduction.finish()
            emitter.store_cached(reduction.op.result, result)

    def _reduced_loops(
        self, loops: list[Loop], reductions: list[Reduction], visit: Callable[[], None], carried: Sequence[Value]
    ) -> Sequence[Value]:
        emitter = self.emitter
        if len(loops) > 1:
            loop, *inner = loops
            return emitter.loop(
                emitter.size(0), emitter.size(loop.dim), emitter.size(1), carried,
                lambda values: self._reduced_loops(inner, reductions, visit, values), loop,
            )  # fmt: skip
        loop = loops[0] if loops else None
        if any(reduction.blocked for reduction in reductions):
            return self._blocks(loop, reductions, visit, carried)

        def body(values: Sequence[Value]) -> Sequence[Value]:
            rest = values
            for reduction in reductions:
                rest = reduction.take(rest)
                reduction.step()
            visit()
            return [state for reduction in reductions for state in reduction.state]

        if loop is None:
            return body(carried)
        if loop is self.vector:
            return self._vector_loop(loop, carried, body)
        return emitter.loop(emitter.size(0), emitter.size(loop.dim), emitter.size(1), carried, body, loop)

    def _blocks(
        self, loop: Loop | None, reductions: list[Reduction], visit: Callable[[], None], carried: Sequence[Value]
    ) -> Sequence[Value]:
        """The innermost reduced loop in blocks: plain partial results inside, combined with care between them."""
        emitter = self.emitter
        if loop is None:
            return self._block(None, None, None, reductions, visit, carried, masked=False)
        vectors = loop is self.vector
        if vectors and not self._is_long():
            main = self._whole_vectors(loop)
            parts = [(emitter.size(0), main, False), (main, emitter.size(loop.dim), True)]
        else:
            parts = [(emitter.size(0), emitter.size(loop.dim), vectors)]
        for start, stop, masked in parts:

            def one_block(values: Sequence[Value], stop: Value = stop, masked: bool = masked) -> Sequence[Value]:
                first = emitter.scope.index
                assert first is not None
                last = emitter.arithmetic("minimum", emitter.emit("add", first, emitter.size(BLOCK)), stop)
                return self._block(loop, first, last, reductions, visit, values, masked)

            carried = emitter.loop(start, stop, emitter.size(BLOCK), carried, one_block)
        return carried

    def _block(
        self,
        loop: Loop | None,
        first: Value | None,
        last: Value | None,
        reductions: list[Reduction],
        visit: Callable[[], None],
        carried: Sequence[Value],
        masked: bool,
    ) -> Sequence[Value]:
        emitter = self.emitter
        rest = carried
        for reduction in reductions:
            rest = reduction.take(rest)
        sums = {reduction.operand: reduction for reduction in reductions if reduction.blocked}
        partials = {operand: reduction.partial() for operand, reduction in sums.items()}
        plain = [reduction for reduction in reductions if not reduction.blocked]

        def body(values: Sequence[Value]) -> Sequence[Value]:
            following = [
                reduction.accumulate(partial)
                for partial, reduction in zip(values[: len(sums)], sums.values(), strict=True)
            ]
            rest = values[len(sums) :]
            for reduction in plain:
                rest = reduction.take(rest)
                reduction.step()
            visit()
            return [*following, *(state for reduction in plain for state in reduction.state)]

        results = self._steps(
            loop, first, last, [*partials.values(), *(state for r in plain for state in r.state)], body, masked
        )
        totals = dict(zip(sums, results[: len(sums)], strict=True))
        rest = results[len(sums) :]
        for reduction in plain:
            rest = reduction.take(rest)
        count = self._count(first, last)
        centred = [reduction for reduction in reductions if reduction.second_phase]
        for reduction in centred:
            reduction.centre(totals[reduction.operand], count)
        if centred:
            values = self._steps(
                loop, first, last, [s for r in centred for s in r.deviations()],
                lambda values: [s for r, pair in zip(centred, _pairs(values), strict=True) for s in r.deviate(pair)],
                masked,
            )  # fmt: skip
            for reduction, pair in zip(centred, _pairs(values), strict=True):
                reduction.combine_moments(pair, count)
        for reduction in reductions:
            if reduction.blocked and not reduction.second_phase:
                reduction.combine(totals[reduction.operand])
        return [state for reduction in reductions for state in reduction.state]

    def _steps(
        self,
        loop: Loop | None,
        first: Value | None,
        last: Value | None,
        carried: Sequence[Value],
        body: Callable[[Sequence[Value]], Sequence[Value]],
        masked: bool,
    ) -> Sequence[Value]:
        if loop is None or first is None or last is None:
            return body(carried)
        vectors = loop is self.vector
        step = self.emitter.size(self.lanes if vectors else 1)
        return self.emitter.loop(first, last, step, carried, body, loop, self.lanes if vectors else 0, masked)

    def _count(self, first: Value | None, last: Value | None) -> Value:
        if first is None or last is None:
            return self.emitter.size(1)
        return self.emitter.emit("subtract", last, first)

    # Values

    @property
    def mask(self) -> Value | None:
        """The mask of the open vector loop, if it has one."""
        for scope in self.emitter.scopes:
            if scope.mask is not None:
                return scope.mask
        return None

    def value(self, value: Value, saving: bool = False) -> Value:
        """The number, or the lanes, that ``value`` has at the current position of the open loops."""
        value = self.nest.origin(value)
        found = self.emitter.cached(value)
        if found is not None:
            return found
        if value in self.saved and not saving and self._is_saved_by_now(value):
            result = self._load(self.saved[value])
        else:
            result = self._compute(value)
        self.emitter.store_cached(value, result)
        return result

    def _is_saved_by_now(self, value: Value) -> bool:
        return self.sweep > self.schedule.saved[value]

    def _compute(self, value: Value) -> Value:
        emitter = self.emitter
        if value in self.nest.layouts:
            return self._load(self.schedule.access(self.nest.access(value)))
        if value in self.scalars:
            return self.scalars[value]
        op = self.nest.producer[value]
        emitter.loc = op.loc
        if op.name == "constant":
            assert isinstance(op.result.type, Scalar)
            return emitter.number(op.attributes["value"], op.result.type.dtype)
        if op.name == "size":
            return emitter.size(op.attributes["dim"])
        if op.name == "iota":
            return self._iota(op)
        if op.name == "gather":
            return self._gather(op)
        if "reduction" in op.definition.traits:
            raise AssertionError(f"{op.name} is read before its sweep has run")
        operands = [self.value(operand) for operand in op.operands]
        emitter.loc = op.loc
        if op.name == "copy":
            return operands[0]
        return emitter.elementwise(op.name, *operands, **op.attributes)

    def position(self, loop: Loop) -> Value:
        """The index along a loop, as an i64 number; one a lane for the vector loop."""
        emitter = self.emitter
        key = ("position", loop)
        found = emitter.cached(key)
        if found is None:
            scope = next(scope for scope in reversed(emitter.scopes) if scope.loop is loop)
            assert scope.index is not None
            found = emitter.index_scalar(scope.index)
            if scope.lanes:
                lane = emitter.emit("lane_index", dtype=I64, lanes=scope.lanes)
                found = emitter.elementwise("add", found, lane)
            emitter.store_cached(key, found)
        return found

    def _iota(self, op: Op) -> Value:
        dtype: DType = op.attributes["dtype"]
        axis = op.attributes["axis"]
        if dims_of(op.result.type)[axis] == 1:
            return self.emitter.number(0, dtype)
        position = self.position(self.schedule.loop(op.result, axis))
        return self.emitter.emit("cast", position, dtype=dtype)

    # Memory

    def _offset(self, access: Access) -> Value:
        """The byte offset of an access at the current position, each loop's share added in that loop's scope."""
        emitter = self.emitter
        offset = emitter.size(access.offset)
        for scope in emitter.scopes:
            stride = access.strides.get(scope.loop, 0) if scope.loop is not None else 0
            if stride == 0 or scope.index is None:
                continue
            key = ("offset", offset, stride, scope.index)
            found = emitter.cached(key)
            if found is None:
                share = emitter.arithmetic("multiply", scope.index, emitter.size(stride))
                found = emitter.arithmetic("add", offset, share)
                emitter.store_cached(key, found)
            offset = found
        return offset

    def _vector_stride(self, access: Access) -> Dim:
        return access.strides.get(self.vector, 0) if self.vector is not None and self._lanes_open else 0

    @property
    def _lanes_open(self) -> bool:
        return any(scope.lanes for scope in self.emitter.scopes)

    def _load(self, access: Access) -> Value:
        emitter = self.emitter
        buffer = self.buffers[access.buffer]
        offset = self._offset(access)
        stride = self._vector_stride(access)
        depth = emitter.depth_of[offset]
        if stride == 0:
            return emitter.emit("read", buffer, offset, depth=depth, lanes=0)
        mask = () if self.mask is None else (self.mask,)
        if mask:
            depth = max(depth, emitter.depth_of[mask[0]])
        if stride == access.dtype.itemsize:
            return emitter.emit("read", buffer, offset, *mask, depth=depth, lanes=self.lanes)
        return emitter.emit(
            "read_strided", buffer, offset, emitter.size(stride), *mask, depth=depth, lanes=self.lanes
        )  # fmt: skip

    def _store(self, access: Access, value: Value, *, last: bool = False) -> None:
        """Write a value at the current position. ``last``: nothing in this kernel reads it again."""
        emitter = self.emitter
        buffer = self.buffers[access.buffer]
        offset = self._offset(access)
        stride = self._vector_stride(access)
        if stride == 0:
            emitter.here("write", buffer, offset, value)
            return
        value = emitter.splat(value, self.lanes)
        mask = () if self.mask is None else (self.mask,)
        if stride != access.dtype.itemsize:
            emitter.here("write_strided", buffer, offset, emitter.size(stride), value, *mask)
            return
        streams = self._streams(access) if last else None
        if streams is None:
            emitter.here("write", buffer, offset, value, *mask)
            return
        emitter.branch(
            streams,
            lambda: emitter.here("write", buffer, offset, value, streaming=True),
            lambda: emitter.here("write", buffer, offset, value, *mask),
        )

    def _streams(self, access: Access) -> Value | None:
        """Whether the vector written here goes past the caches: its array is large, it lies on whole cache lines, and
        no lane is masked. None where that is never so."""
        emitter = self.emitter
        if self.lanes * access.dtype.itemsize < SMALLEST_STREAM:
            return None
        nbytes = product([loop.dim for loop in access.strides]) * access.dtype.itemsize
        choice: Dim = minimum(nbytes // STREAM_FROM, 1)
        for loop, stride in access.strides.items():
            if loop is not self.vector:
                choice = choice * (1 - minimum(stride % CACHE_LINE, 1))
        if access.offset != 0 or choice == 0:
            return None
        key = ("streams", choice)
        streams = emitter.cached(key)
        if streams is None:
            streams = emitter.emit("greater", emitter.size(choice), emitter.size(0))
            emitter.store_cached(key, streams)
        scope = next(scope for scope in emitter.scopes if scope.lanes)
        if scope.mask is None:
            return streams
        if scope.stop is None or not self._is_long():
            return None
        assert scope.index is not None
        end = emitter.emit("add", scope.index, emitter.size(self.lanes))
        return emitter.elementwise("logical_and", streams, emitter.emit("less_equal", end, scope.stop))

    def _gather(self, op: Op) -> Value:
        """An element at computed positions: negative ones count from the end, and the range is checked."""
        emitter = self.emitter
        source, *indices = op.operands
        assert isinstance(source.type, Tensor)
        start, mode = op.attributes["axis"], op.attributes.get("mode", "raise")
        layout = self.nest.layouts[source]
        access = self.schedule.access(self.nest.access(source, self.nest.gather_loops(op)))
        offset = emitter.index_scalar(self._offset(access))
        stride = self._vector_stride(access)
        if stride != 0:
            lane = emitter.emit("lane_index", dtype=I64, lanes=self.lanes)
            offset = emitter.elementwise(
                "add", offset, emitter.elementwise("multiply", lane, emitter.index_scalar(emitter.size(stride)))
            )
        for axis, index in enumerate(indices, start):
            position = emitter.elementwise("cast", self.value(index), dtype=I64)
            position = self._in_range(position, axis, source.type.dims[axis], mode)
            step = emitter.index_scalar(emitter.size(layout.strides[axis]))
            offset = emitter.elementwise("add", offset, emitter.elementwise("multiply", position, step))
        buffer = self.buffers[self.nest.buffer_of(source)]
        if not isinstance(offset.type, Vector):
            return emitter.emit("read", buffer, emitter.emit("to_index", offset), depth=len(emitter.scopes) - 1, lanes=0)
        mask = () if self.mask is None else (self.mask,)
        return emitter.emit("read_at", buffer, offset, *mask, depth=len(emitter.scopes) - 1, lanes=offset.type.lanes)

    def _in_range(self, position: Value, axis: int, dim: Dim, mode: str) -> Value:
        emitter = self.emitter
        size = emitter.index_scalar(emitter.size(dim))
        zero = emitter.number(0, I64)
        if mode == "wrap":
            return emitter.elementwise("remainder", position, size)
        if mode == "clip":
            last = emitter.emit("subtract", size, emitter.number(1, I64))
            return emitter.elementwise("maximum", emitter.elementwise("minimum", position, last), zero)
        negative = emitter.elementwise("less", position, zero)
        wrapped = emitter.elementwise("select", negative, emitter.elementwise("add", position, size), position)
        bad = emitter.elementwise(
            "logical_or",
            emitter.elementwise("less", wrapped, zero),
            emitter.elementwise("greater_equal", wrapped, size),
        )
        if isinstance(bad.type, Vector):
            if self.mask is not None:
                bad = emitter.elementwise("logical_and", bad, self.mask)
            failed = emitter.emit("any_lane", bad)
        else:
            failed = bad

        def report() -> None:
            culprit = position
            if isinstance(position.type, Vector) and isinstance(bad.type, Vector):
                (lane,) = emitter.here("first_lane", bad)
                (culprit,) = emitter.here("extract_lane", position, lane)
            (never,) = emitter.here("constant", value=False, type=Scalar(BOOL))
            emitter.here(
                "check", never, culprit, size, types=(), error="IndexError",
                message=f"index {{}} is out of bounds for axis {axis} with size {{}}",
            )  # fmt: skip

        emitter.branch(failed, report)
        return emitter.elementwise("select", bad, zero, wrapped)

    # Saved values

    def _place_saved(self) -> None:
        """Choose where values that a later sweep needs again are kept."""
        for value in list(self.schedule.saved):
            host = self._host_output(value)
            if host is not None and not (self.horizontal and self.outer):
                self.hosts.add(host)
                self.saved[value] = self.outputs[host][2]
            elif self.horizontal and isinstance(value.type, Tensor):
                buffer = self._buffer(value, value.type.dtype)
                loops = [*self.outer, *self.reduced] if self.target.distributed else self.reduced
                strides: dict[Loop, Dim] = {}
                total: Dim = value.type.dtype.itemsize
                for loop in reversed(loops):
                    strides[loop] = total
                    total = total * loop.dim
                self.scratch.append((buffer, total))
                self.saved[value] = Access(value, value.type.dtype, 0, strides)
            else:
                del self.schedule.saved[value]

    def _host_output(self, value: Value) -> Value | None:
        """An output of the same dtype and loops that is written no earlier than ``value`` is last needed."""
        assert isinstance(value.type, Tensor | Scalar)
        for output, (_, _, access) in self.outputs.items():
            if output in self.hosts or access.dtype != value.type.dtype:
                continue
            if set(self.schedule.loops_of(output)) != set(self.outer) | set(self.reduced):
                continue
            if self.nest.stage[output] >= self.schedule.last_need(value):
                return output
        return None

    # The finished kernel

    def _finish(self) -> Kernel:
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
            arguments.append(KernelArgument("scratch", 0, size, _dtype(buffer)))
            parameters.append(buffer)
        for dim, value in self.emitter.sizes.items():
            if not isinstance(dim, int):
                arguments.append(KernelArgument("size", 0, dim))
                parameters.append(value)
        region = self.emitter.close(parameters, [])
        name = self.op.attributes["kernel"]
        function = Function(name, region, (), "loop", MappingProxyType({}))
        return Kernel(function, tuple(arguments), tuple(layout for _, layout, _ in self.outputs.values()))


def _dtype(buffer: Value) -> DType:
    assert isinstance(buffer.type, Buffer)
    return buffer.type.dtype


def _pairs(values: Sequence[Value]) -> list[tuple[Value, Value]]:
    return [(values[position], values[position + 1]) for position in range(0, len(values), 2)]



