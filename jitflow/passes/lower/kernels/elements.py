"""What a kernel computes at one position of its loops: values, and how they get from and to memory.

`Elements.value` gives the number, or the lanes, that a value of the fusion has where the open loops stand, and
remembers it for as long as the loops that it varies along stay there. `kernel.py` puts the loops around it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from types import MappingProxyType

from jitflow.ir.core import Op, Region, Value
from jitflow.ir.dims import Dim
from jitflow.ir.dtypes import BOOL, I64, DType
from jitflow.ir.layout import Layout
from jitflow.ir.ops.indexing import axes_said
from jitflow.ir.types import Buffer, Scalar, Tensor, Vector, dims_of
from jitflow.passes.expand.single import OF_SINGLE_NUMBERS
from jitflow.passes.fusion.nest import Access, Loop, Nest, is_folded
from jitflow.passes.lower.kernels.emitter import Emitter
from jitflow.passes.schedule.joined import JoinedLoops
from jitflow.passes.schedule.target import Target

__all__ = ["Elements"]


class Elements:
    """The state of a kernel under construction, and the emission of its elements."""

    def __init__(
        self, op: Op, nest: Nest, target: Target, backwards: bool, into: Mapping[int, Layout], used: Collection[int]
    ) -> None:
        self.op = op
        self.nest = nest
        self.region: Region = op.regions[0]
        self.target = target
        self.emitter = Emitter()
        self.buffers: dict[Value, Value] = {}
        self.scalars: dict[Value, Value] = {}
        self.outputs: dict[Value, tuple[Value, Layout, Access]] = {}
        placed = {value: into[position] for position, value in enumerate(self.region.yielded) if position in into}
        self.joined = JoinedLoops(nest, backwards, placed, periodic=self.is_periodic)
        self.used = {value for position, value in enumerate(self.region.yielded) if position in used}
        """Outputs that the program goes on to work on, and would like to find in the caches."""
        self.outer, self.reduced, self.vector = self.joined.outer, self.joined.reduced, self.joined.vector
        self.horizontal = self.vector is not None and self.vector.reduced
        self.lanes = 0
        """How many lanes a turn of the vector loop has."""
        self.masked_turns = False
        """Whether all turns of the open vector loop have masks, not just the last."""
        self.taken: dict[Loop, tuple[Value, Value, Dim]] = {}
        """Positions that an open loop has taken, for loops inside of it: from, to, and at most how many."""
        self.saved: dict[Value, Access] = {}
        self.hosts: set[Value] = set()
        """Outputs whose memory holds a saved value for a while."""
        self.staged: dict[Value, Access] = {}
        """Where operands are that have been brought nearer."""
        self.kept: set[Value] = set()
        """The saved values that are in their places by now."""
        self.bases: dict[Value, Value] = {}
        """Where memory begins that lies elsewhere for each block: the offset of position 0 of the open loops."""
        self.ahead = 0
        """How many elements in advance operands are brought near, 0 if they are not."""
        self.scratch: list[tuple[Value, Dim]] = []
        self.rows: dict[Value, Dim] = {}
        """What is kept in scratch memory, and how many bytes of it a thread has."""
        self.worker: Value | None = None
        """The number of the thread, where several run the kernel."""
        self.parts = 1
        """For how many threads scratch memory has a part."""

    @property
    def is_periodic(self) -> bool:
        """Whether short loops may join the loops around them, under patterns of lanes."""
        return not self.target.distributed

    @contextmanager
    def taking(self, loop: Loop, first: Value, last: Value, count: Dim) -> Iterator[None]:
        """While a loop has taken these positions."""
        before = self.taken
        self.taken = {**before, loop: (first, last, count)}
        yield
        self.taken = before

    def ends(self, loop: Loop) -> tuple[Value, Value]:
        """From where to where a loop runs: over what the one around it, or a thread, has taken, or all."""
        if loop in self.taken:
            return self.taken[loop][:2]
        return self.emitter.size(0), self.emitter.size(loop.dim)

    def buffer_for(self, key: Value, dtype: DType) -> Value:
        self.buffers[key] = Value(Buffer(dtype), key.name or "buffer")
        self.emitter.depth_of[self.buffers[key]] = 0
        return self.buffers[key]

    def declare_output(self, value: Value) -> None:
        assert isinstance(value.type, Tensor | Scalar)
        buffer = self.buffer_for(value, value.type.dtype)
        self.outputs[value] = (buffer, self.joined.output_layout(value), self.joined.output_access(value))

    # Values

    @property
    def mask(self) -> Value | None:
        """The mask of the open vector loop, if it has one."""
        for scope in self.emitter.scopes:
            if scope.mask is not None:
                return scope.mask
        return None

    def value(self, value: Value) -> Value:
        """The number, or the lanes, that ``value`` has at the current position of the open loops."""
        value = self.nest.origin(value)
        found = self.emitter.cached(value)
        if found is not None and not (isinstance(found.type, Vector) and found.type.lanes != self.lanes):
            return found  # what no loop changes may be there in the lanes of wider turns
        result = self.load(self.saved[value]) if value in self.kept else self._compute(value)
        scope = self.emitter.scope
        if scope.step and scope.loop is not None and self.joined.varies(value, scope.loop):
            scope.cache[value] = result  # the next step has another, even where the ops stand in an outer scope
        else:
            self.emitter.store_cached(value, result)
        return result

    def _compute(self, value: Value) -> Value:
        emitter = self.emitter
        if value in self.nest.layouts:
            if value in self.staged:
                return self.load(self.staged[value])
            access = self.joined.access(self.nest.access(value))
            return self.load(access, self.ahead if self._is_read_once(access) else 0)
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
        if is_folded(op):
            raise AssertionError(f"{op.name} is read before its sweep has run")
        operands = [self.value(operand) for operand in op.operands]
        emitter.loc = op.loc
        if op.name == "copy":
            return operands[0]
        attributes = op.attributes
        if op.name in OF_SINGLE_NUMBERS and not dims_of(op.result.type) and not self.target.distributed:
            weak = isinstance(op.result.type, Scalar) and op.result.type.weak
            attributes = MappingProxyType({**attributes, "single": "python" if weak else "numpy"})
        return emitter.elementwise(op.name, *operands, **attributes)

    def _is_read_once(self, access: Access) -> bool:
        """Whether each row of the outer loops reads other memory; what they share is in the cache."""
        return not self.outer or any(access.strides.get(loop, 0) != 0 for loop in self.outer)

    def position(self, loop: Loop) -> Value:
        """The index along a loop, as an i64 number; one a lane for the vector loop."""
        emitter = self.emitter
        scope = next(scope for scope in reversed(emitter.scopes) if scope.loop is loop)
        key = ("position", scope.index)
        found = emitter.cached(key)
        if found is None:
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
        position = self.position(self.joined.loop(op.result, axis))
        return self.emitter.emit("cast", position, dtype=dtype)

    # Memory

    def offset(self, access: Access) -> Value:
        """The byte offset of an access at the current position, each loop's share added in that loop's scope.

        What several accesses add to where they begin is a sum of its own: a register for all of them, to which an
        instruction adds the beginning.
        """
        emitter = self.emitter
        start = self.start_of(access.buffer, access.offset)
        shares = self._lie_so[frozenset(access.strides.items())] > 1
        offset = emitter.size(0) if shares else start
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
        return emitter.arithmetic("add", start, offset) if shares else offset

    @cached_property
    def _lie_so(self) -> Counter[frozenset[tuple[Loop, Dim]]]:
        """How many arrays in memory go along with the loops by these strides."""
        accesses = [*map(self.joined.access, self.nest.loads), *(access for _, _, access in self.outputs.values())]
        return Counter(frozenset(access.strides.items()) for access in accesses)

    def start_of(self, buffer: Value, offset: Dim) -> Value:
        """A byte offset in front of all loops; in scratch memory, where this thread's part begins."""
        emitter = self.emitter
        if buffer in self.bases:
            return self.bases[buffer]
        if self.worker is None or buffer not in self.rows:
            return emitter.size(offset)
        found = emitter.cached(("start", buffer))
        if found is None:
            found = emitter.arithmetic("multiply", self.worker, emitter.size(self.rows[buffer]))
            emitter.store_cached(("start", buffer), found)
        return found

    def _vector_stride(self, access: Access) -> Dim:
        return access.strides.get(self.vector, 0) if self.vector is not None and self._lanes_open else 0

    @property
    def _lanes_open(self) -> bool:
        return any(scope.lanes for scope in self.emitter.scopes)

    def load(self, access: Access, ahead: int = 0) -> Value:
        """The number, or the lanes, that memory holds at the current position."""
        emitter, buffer = self.emitter, self.buffers[access.buffer]
        if access.pattern != 0:
            return self._load_pattern(access, buffer)
        offset = self.offset(access)
        stride = self._vector_stride(access)
        depth = emitter.depth_of[offset]
        if stride == 0:
            return emitter.emit("read", buffer, offset, depth=depth, lanes=0)
        mask = () if self.mask is None else (self.mask,)
        if mask:
            depth = max(depth, emitter.depth_of[mask[0]])
        if stride == access.dtype.itemsize:
            more = {"ahead": ahead * access.dtype.itemsize} if ahead and (not mask or self.masked_turns) else {}
            return emitter.emit("read", buffer, offset, *mask, depth=depth, lanes=self.lanes, **more)
        return emitter.emit(
            "read_strided", buffer, offset, emitter.size(stride), *mask, depth=depth, lanes=self.lanes
        )  # fmt: skip

    def _load_pattern(self, access: Access, buffer: Value) -> Value:
        """The lanes of an operand that repeats: the same vector everywhere, read once."""
        emitter = self.emitter
        turns = tuple(lane % self.joined.period for lane in range(self.lanes))
        turn = emitter.emit("constant", depth=0, value=turns, type=Vector(I64, self.lanes))
        distance = emitter.elementwise("multiply", turn, emitter.index_scalar(emitter.size(access.pattern)))
        start = emitter.index_scalar(emitter.size(access.offset))
        offsets = emitter.elementwise("add", distance, start)
        return emitter.emit("read_at", buffer, offsets, depth=0, lanes=self.lanes)

    def store(self, access: Access, value: Value, past_caches: Dim = 0) -> None:
        """Write a value at the current position, past the caches where that size is 1."""
        emitter, buffer = self.emitter, self.buffers[access.buffer]
        offset = self.offset(access)
        stride = self._vector_stride(access)
        if stride == 0:
            emitter.here("write", buffer, offset, value)
            return
        value = emitter.splat(value, self.lanes)
        mask = () if self.mask is None else (self.mask,)
        if stride != access.dtype.itemsize:
            emitter.here("write_strided", buffer, offset, emitter.size(stride), value, *mask)
            return
        streams = None if past_caches == 0 else self._passes_caches(past_caches)
        if streams is None:
            emitter.here("write", buffer, offset, value, *mask)
            return
        emitter.branch(
            streams,
            lambda: emitter.here("write", buffer, offset, value, streaming=True),
            lambda: emitter.here("write", buffer, offset, value, *mask),
        )

    def _passes_caches(self, choice: Dim) -> Value | None:
        """Whether the vector written here goes past the caches; None where that is never so, as lanes are masked."""
        emitter = self.emitter
        key = ("streams", choice)
        streams = emitter.cached(key)
        if streams is None:
            streams = emitter.emit("greater", emitter.size(choice), emitter.size(0))
            emitter.store_cached(key, streams)
        scope = next(scope for scope in emitter.scopes if scope.lanes)
        if scope.mask is None:
            return streams
        if scope.stop is None or not self.masked_turns:
            return None
        key = ("streams here", choice)
        here = emitter.cached(key)
        if here is None:
            assert scope.index is not None
            end = emitter.emit("add", scope.index, emitter.size(self.lanes))
            here = emitter.elementwise("logical_and", streams, emitter.emit("less_equal", end, scope.stop))
            emitter.store_cached(key, here)
        return here

    def _gather(self, op: Op) -> Value:
        """An element at computed positions: negative ones count from the end, and the range is checked."""
        emitter = self.emitter
        source, *indices = op.operands
        assert isinstance(source.type, Tensor)
        start, mode = op.attributes["axis"], op.attributes.get("mode", "raise")
        layout = self.nest.layouts[source]
        access = self.joined.access(self.nest.access(source, self.nest.gather_loops(op)))
        offset = emitter.index_scalar(self.offset(access))
        stride = self._vector_stride(access)
        if stride != 0:
            lane = emitter.emit("lane_index", dtype=I64, lanes=self.lanes)
            away = emitter.elementwise("multiply", lane, emitter.index_scalar(emitter.size(stride)))
            offset = emitter.elementwise("add", offset, away)
        for axis, (index, said) in enumerate(zip(indices, axes_said(op.attributes, len(indices)), strict=True), start):
            position = emitter.elementwise("cast", self.value(index), dtype=I64)
            position = self._in_range(position, said, source.type.dims[axis], mode)
            step = emitter.index_scalar(emitter.size(layout.strides[axis]))
            offset = emitter.elementwise("add", offset, emitter.elementwise("multiply", position, step))
        buffer = self.buffers[self.nest.buffer_of(source)]
        if not isinstance(offset.type, Vector):
            return emitter.emit(
                "read", buffer, emitter.emit("to_index", offset), depth=len(emitter.scopes) - 1, lanes=0
            )
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
