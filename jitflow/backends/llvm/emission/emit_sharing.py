"""Loops that several threads share (`jitflow.runtime.parallel.workers_text`).

The region becomes a function of its own, the *part*, which runs one span. What it uses from outside lies in the
caller's frame for as long as the loop lasts; what is made of constants and such values it makes again, since LLVM knows
a constant only where it sees it, and the caller leaves out what parts alone need. A loop that is too short to be worth
threads is one call of the part. A kernel that does nothing but share is a few lines of stores and calls, which are
written out where it is launched.

A part that may fail ends where it fails, as a loop does. Of all failures the one with the lowest span is that of the
loop: the spans before it have run to their ends, and what the later ones do or leave out nobody sees, since a kernel
that fails has written to nothing but memory that is given back. In a program that is profiled, each thread notes its
spans.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from types import MappingProxyType

from jitflow.backends.llvm.emission.emit_notes import read_clock, write_note
from jitflow.backends.llvm.emission.emit_poll import open_polls
from jitflow.backends.llvm.emission.emitter import Emission, Emitter, ModuleText
from jitflow.backends.llvm.emission.signatures import can_fail, region_can_fail
from jitflow.backends.llvm.emission.slots import ERROR_SLOTS
from jitflow.backends.llvm.emission.types import register_type
from jitflow.ir.context_names import SHARE
from jitflow.ir.core import Function, Op, Region, Value, free_values, walk
from jitflow.ir.status import INTERRUPTED
from jitflow.ir.types import Vector

__all__ = ["SHARING_EMISSION", "Sharing"]

_SPAN = "ptr %area, i64 %first, i64 %last, i64 %worker"
_LOCK, _POSITION, _STATUS, _REPORT = 0, 8, 16, 24
"""Where a failure has its lock, the first position of the lowest span that has failed, its status, and its report."""
_FAILURE_BYTES = _REPORT + 8 * ERROR_SLOTS
_NOWHERE = str((1 << 63) - 1)


class Sharing:
    """The shared loops of a kernel, or of a host program that launches some of these ``kernels``, or of a region of it.

    ``left``: the ops outside that nothing needs but parts, which do them again.
    """

    def __init__(
        self, kernel: Function, kernels: Mapping[str, Function], region: Region | None = None, name: str = ""
    ) -> None:
        region, name = region or kernel.region, name or kernel.name
        self.own = list(_outside(region))
        self._producers = {value: op for op in self.own for value in op.results}
        shared = [op for op in self.own if op.name == "share"]
        self.parts = {
            op: Part(kernel, op, f"{name}_part{number}", self._producers, kernels) for number, op in enumerate(shared)
        }
        self._needed = self._find_needed(region) if shared else set(self.own)
        self.left = {op for op in self.own if op not in self._needed}

    def _find_needed(self, region: Region) -> set[Op]:
        needed: set[Op] = set()
        waiting = [op for op in self.own if op.own_effects or op.regions]
        waiting += [self._producers[value] for value in region.yielded if value in self._producers]
        while waiting:
            op = waiting.pop()
            if op not in needed:
                needed.add(op)
                yielded = (value for region in op.regions for value in region.yielded)
                read = [*op.operands, *(self.parts[op].taken if op in self.parts else yielded)]
                waiting += [self._producers[value] for value in read if value in self._producers]
        return needed

    @property
    def inside(self) -> list[Op]:
        """The ops of the loops."""
        return [op for loop in self.parts for op in walk(loop.regions[0])]

    @property
    def is_all(self) -> bool:
        """Whether the kernel does nothing by itself that takes time."""
        return bool(self.parts) and not any(
            op.regions or any(isinstance(result.type, Vector) for result in op.results)
            for op in self._needed
            if op not in self.parts
        )

    def define(self, module: ModuleText, rows: Mapping[str, Emission]) -> None:
        """Add the functions of the parts to the module under construction."""
        for part in self.parts.values():
            part.define(module, rows)


def _share(out: Emitter, op: Op) -> Sequence[str]:
    assert out.sharing is not None
    part = out.sharing.parts[op]
    count, work = map(out.operand, op.operands)
    area = part.fill_area(out)
    step, worth = op.attributes["step"], op.attributes["worth"]
    together, alone, done = map(out.label, ("together", "alone", "done"))
    enough = out.let(f"icmp uge i64 {out.let(f'mul i64 {count}, {work}')}, {2 * worth}")
    several = out.let(f"icmp sge i64 {count}, {2 * step}")
    out.branch(out.let(f"and i1 {enough}, {several}"), together, alone)
    out.begin(alone)
    if part.takes_context:
        part.fill_rest(out, area)
    part.end(out, part.call(out, f"ptr {area}, i64 0, i64 {count}, i64 0", "%error"))
    out.jump(done)
    out.begin(together)
    part.fill_rest(out, area)
    share = out.let(f"load ptr, ptr {out.at('%context', str(8 * out.module.symbol_slot(SHARE)))}, align 8")
    least = out.call("i64", "llvm.umax.i64", f"i64 {out.let(f'udiv i64 {worth}, {work}')}", f"i64 {step}")
    sizes = f"i64 {count}, i64 {step}, i64 {least}, i64 {op.attributes['threads']}"
    out.do(f"call void {share}(ptr @{part.shared_name(out)}, ptr {area}, {sizes})")
    part.end(out, part.failure(out, area))
    out.jump(done)
    out.begin(done)
    return ()


class Part:
    """The function of a region, and the record in the caller's frame that it reads: values, context, failure."""

    def __init__(
        self, function: Function, op: Op, name: str, producers: Mapping[Value, Op], kernels: Mapping[str, Function]
    ) -> None:
        self.function, self.op, self.name = function, op, name
        launched = [kernels[one.attributes["kernel"]] for one in walk(op.regions[0]) if one.name == "launch"]
        self.may_fail = region_can_fail(op.regions[0]) or any(map(can_fail, launched))
        self.polls = any("polls" in one.attributes for one in walk(op.regions[0]))
        is_nested = any(one.name == "share" for one in walk(op.regions[0]))
        self.takes_context = self.polls or bool(launched) or is_nested
        self.inside = Sharing(function, kernels, op.regions[0], name) if is_nested else None
        """The shared loops in the part."""
        self.made: dict[Op, None] = {}
        """The ops outside that the part does again, in order."""
        self.taken: dict[Value, None] = {}
        """The values that it finds in the record."""
        for value in free_values(replace(op, operands=())):
            self._need(value, producers)
        self.offsets = list(accumulate(map(_room, self.taken), initial=0))
        """Where the values lie in the record, and behind them the context. A failure lies behind that."""

    def _need(self, value: Value, producers: Mapping[Value, Op]) -> None:
        producer = producers.get(value)
        in_host = self.function.layer == "host"  # there nothing is gained by knowing more than numbers
        if producer is None or producer.own_effects or producer.regions or (in_host and producer.name != "size"):
            self.taken[value] = None
        elif producer not in self.made:
            for operand in producer.operands:
                self._need(operand, producers)
            self.made[producer] = None

    def place(self, out: Emitter, area: str, number: int) -> str:
        """The address of a value. Those are not aligned: vectors may be wider than frames are."""
        return out.at(area, str(self.offsets[number]))

    def of_failure(self, out: Emitter, area: str, inside: int) -> str:
        return out.at(area, str(self.offsets[-1] + 8 + inside))

    # The caller's side

    def fill_area(self, out: Emitter) -> str:
        """The record, with the values."""
        area = out.stack("i8", self.offsets[-1] + 8 + (_FAILURE_BYTES if self.may_fail else 0))
        for number, value in enumerate(self.taken):
            out.do(f"store {out.typed(value)}, ptr {self.place(out, area, number)}, align 1")
        return area

    def fill_rest(self, out: Emitter, area: str) -> None:
        """What only threads need."""
        if out.module.notes or self.takes_context:
            out.do(f"store ptr %context, ptr {self.place(out, area, -1)}, align 1")
        if self.may_fail:
            out.do(f"store i64 0, ptr {self.of_failure(out, area, _LOCK)}, align 8")
            out.do(f"store i64 {_NOWHERE}, ptr {self.of_failure(out, area, _POSITION)}, align 8")
            out.do(f"store i32 0, ptr {self.of_failure(out, area, _STATUS)}, align 8")

    def failure(self, out: Emitter, area: str) -> str:
        """The status behind all spans; what was reported is then where the caller looks for it."""
        if not self.may_fail:
            return ""
        source, size = self.of_failure(out, area, _REPORT), 8 * ERROR_SLOTS
        status = out.let(f"load i32, ptr {self.of_failure(out, area, _STATUS)}, align 8")
        passed = out.let(f"icmp eq i32 {status}, 0")

        def fail() -> None:
            _copy(out, "%error", source, size)
            out.leave(status)

        out.fail_unless(passed, fail)
        return ""

    def call(self, out: Emitter, span: str, error: str) -> str:
        """Run the part on a span; its status, if it has one."""
        kinds = ["ptr", "i64", "i64", "i64", *(["ptr"] if self.may_fail else [])]
        out.module.declare(f'"{self.name}"', self._kind, kinds)
        return self._call(out, self.name, span, error)

    def _call(self, out: Emitter, name: str, span: str, error: str) -> str:
        if self.may_fail:
            return out.let(f'call i32 @"{name}"({span}, ptr {error})')
        out.do(f'call void @"{name}"({span})')
        return ""

    def end(self, out: Emitter, status: str) -> None:
        """End as the part did that the caller has run alone."""
        if status:
            out.fail_unless(out.let(f"icmp eq i32 {status}, 0"), lambda: out.leave(status))

    # The functions

    @property
    def _error(self) -> str:
        return ", ptr %error" if self.may_fail else ""

    def define(self, module: ModuleText, rows: Mapping[str, Emission]) -> None:
        """Add it. Where it can be promised what does not overlap, its values are parameters of a second function."""
        inner = self._emitter(module, rows)
        if self.inside is not None:
            self.inside.define(module, rows)
        for number, value in enumerate(self.taken):
            place = self.place(inner, "%area", number)
            inner.operands[value] = inner.let(f"load {register_type(value.type)}, ptr {place}, align 1")
        hidden = f'hidden {self._kind} @"{self.name}"({_SPAN}{self._error})'
        if "unaliased" not in self.function.attributes:
            self._emit_region(inner)
            module.define(f'"{self.name}"', inner.text(f"{hidden} noinline #0"))
            return
        module.define(f"{self.name}_turns", self._turns_text(module, rows))
        values = "".join(f"{inner.typed(value)}, " for value in self.taken)
        status = self._call(inner, f"{self.name}_turns", f"{values}{_SPAN}", "%error")
        inner.do(f"ret i32 {status}" if status else "ret void")
        module.define(f'"{self.name}"', inner.text(f"{hidden} #0"))

    def _emitter(self, module: ModuleText, rows: Mapping[str, Emission]) -> Emitter:
        """That of a function, which begins. It gives its status alone, whatever the one around it gives."""
        attributes = {name: value for name, value in self.function.attributes.items() if name != "recursive"}
        inner = Emitter(module, replace(self.function, attributes=MappingProxyType(attributes)), rows)
        inner.sharing = self.inside
        inner.lines.append("  br label %enter")
        inner.begin("enter")
        return inner

    @property
    def _kind(self) -> str:
        return "i32" if self.may_fail else "void"

    def _turns_text(self, module: ModuleText, rows: Mapping[str, Emission]) -> str:
        inner, function = self._emitter(module, rows), self.function
        unaliased = {function.parameters[position] for position in function.attributes["unaliased"]}
        parameters = []
        for number, value in enumerate(self.taken):
            inner.operands[value] = name = f"%a{number}"
            parameters.append(f"{register_type(value.type)}{' noalias' if value in unaliased else ''} {name}, ")
        self._emit_region(inner)
        name = f"{self.name}_turns"
        return inner.text(f'internal {self._kind} @"{name}"({"".join(parameters)}{_SPAN}{self._error}) noinline #0')

    def _emit_region(self, inner: Emitter) -> None:
        (region,) = self.op.regions
        if self.takes_context:
            inner.do(f"%context = load ptr, ptr {self.place(inner, '%area', -1)}, align 1")
        if self.polls:
            open_polls(inner)
            inner.lowest_failure = self.of_failure(inner, "%area", _POSITION)
        inner.operands.update(zip(region.parameters, ("%first", "%last", "%worker"), strict=True))
        for producer in self.made:
            inner.emit(producer)
        inner.emit_region(region)
        if any(one.attributes.get("streaming") for one in walk(region)):
            # Streaming stores are ordered with nothing; whoever reads the results next may be another thread.
            inner.do("fence seq_cst")
        inner.do("ret i32 0" if self.may_fail else "ret void")

    def shared_name(self, out: Emitter) -> str:
        """What the threads call: the part, with what they have to note."""
        if not (self.may_fail or out.module.notes):
            return f'"{self.name}"'
        name = f'"{self.name}_span"'
        out.module.define(name, self._span_text(out, name))
        return name

    def _span_text(self, out: Emitter, name: str) -> str:
        inner, notes = self._emitter(out.module, out.rows), out.module.notes
        over, context, start = inner.label("over"), "", ""
        if self.may_fail:
            lowest = inner.let(f"load atomic i64, ptr {self.of_failure(inner, '%area', _POSITION)} monotonic, align 8")
            go_on = inner.label("on")
            inner.branch(inner.let(f"icmp slt i64 {lowest}, %first"), over, go_on)
            inner.begin(go_on)
        if notes:
            context = inner.let(f"load ptr, ptr {self.place(inner, '%area', -1)}, align 1")
            start = read_clock(inner, context)
        error = inner.stack("i64", ERROR_SLOTS) if self.may_fail else ""
        status = self.call(inner, _SPAN, error)
        if notes:
            write_note(inner, self._site(), start, context=context)
        if self.may_fail:
            failed = inner.label("failed")
            inner.branch(inner.let(f"icmp eq i32 {status}, 0"), over, failed)
            inner.begin(failed)
            self._note_failure(inner, status, error, over)
        else:
            inner.jump(over)
        inner.begin(over)
        inner.do("ret void")
        return inner.text(f"internal void @{name}({_SPAN}) #0")

    def _note_failure(self, inner: Emitter, status: str, error: str, over: str) -> None:
        """Keep the failure if no lower span has one; one thread at a time."""
        lock, position = (self.of_failure(inner, "%area", place) for place in (_LOCK, _POSITION))
        interrupted = inner.let(f"icmp eq i32 {status}, {INTERRUPTED}")  # which counts before all that was found
        mine = inner.let(f"select i1 {interrupted}, i64 -1, i64 %first")
        wait, held, lower, free = map(inner.label, ("wait", "held", "lower", "free"))
        inner.jump(wait)
        inner.begin(wait)
        before = inner.let(f"atomicrmw xchg ptr {lock}, i64 1 acquire")
        inner.branch(inner.let(f"icmp eq i64 {before}, 0"), held, wait)
        inner.begin(held)
        lowest = inner.let(f"load atomic i64, ptr {position} monotonic, align 8")
        inner.branch(inner.let(f"icmp slt i64 {mine}, {lowest}"), lower, free)
        inner.begin(lower)
        inner.do(f"store atomic i64 {mine}, ptr {position} monotonic, align 8")
        inner.do(f"store i32 {status}, ptr {self.of_failure(inner, '%area', _STATUS)}, align 8")
        _copy(inner, self.of_failure(inner, "%area", _REPORT), error, 8 * ERROR_SLOTS)
        inner.jump(free)
        inner.begin(free)
        inner.do(f"store atomic i64 0, ptr {lock} release, align 8")
        inner.jump(over)

    def _site(self) -> Op:
        """The op under which a profile knows the spans: it tells the kernel and the device."""
        function = self.function
        known = {"kernel": function.name, **{k: v for k, v in function.attributes.items() if k == "device"}}
        return replace(self.op, attributes=MappingProxyType({**self.op.attributes, **known}))


def _room(value: Value) -> int:
    """The bytes of a value in a record, whole words: what lies behind the values is accessed as aligned."""
    nbytes = value.type.lanes * value.type.dtype.itemsize if isinstance(value.type, Vector) else 8
    return (nbytes + 7) // 8 * 8


def _outside(region: Region) -> Iterator[Op]:
    """The ops of a region that stand in no shared loop."""
    for op in region.body:
        yield op
        if op.name != "share":
            for inner in op.regions:
                yield from _outside(inner)


def _copy(out: Emitter, target: str, source: str, size: int) -> None:
    name = "llvm.memcpy.p0.p0.i64"
    out.module.declare(name, "void", ["ptr", "ptr", "i64", "i1"])
    out.do(f"call void @{name}(ptr {target}, ptr {source}, i64 {size}, i1 false)")


def _local(out: Emitter, op: Op) -> Sequence[str]:
    return [out.stack("i8", op.attributes["count"] * op.attributes["dtype"].itemsize)]


SHARING_EMISSION: dict[str, Emission] = {"share": _share, "local": _local}
