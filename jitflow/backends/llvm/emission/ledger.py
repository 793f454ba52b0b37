"""The buffers that a host program owns and would have to give back if it failed now.

An entry is (pointer, bytes), empty where the pointer is null. Entry k in the frame belongs to the k-th allocation
outside loops, so allocating and freeing are each one call of a short function that is told the entry. An allocation
inside loops may have several buffers alive, as many as the loop carries: these take any empty entry of a second list,
which starts in the frame as well and moves to the heap, twice as large, when it is full. A third list like it is of
memory that is given back when the program ends, whether it fails or not; since nothing is struck from it, it is filled
from where it was left.
"""

from __future__ import annotations

from jitflow.backends.llvm.emission.emitter import Emitter, ModuleText
from jitflow.ir.core import Function, Op, Region, Value
from jitflow.ir.status import OUT_OF_MEMORY
from jitflow.ir.types import Buffer

__all__ = ["MAKERS", "Ledger"]

ENTRY_BYTES = 16
LOOP_ENTRIES = 8
_EMPTIED_ONE_BY_ONE = 8
"""Entries up to which stores take less time than a call."""
MAKERS = ("alloc", "invoke", "recv", "call")
"""Ops whose buffers the program owns."""


class Ledger:
    """The entries of one host program."""

    def __init__(self, function: Function, device: str = "cpu") -> None:
        """Of the buffers in the host's memory, or of those on a GPU."""
        self._device = device
        self._prefix = "" if device == "cpu" else device.replace(":", "") + "."
        self._fixed: dict[Value, int] = {}
        self._growing: dict[str, None] = {}
        """The lists that grow: ``loop`` of allocations inside loops, ``kept`` of those that live until the end."""
        for position in function.attributes.get("owned", ()):
            self._fixed[function.parameters[position]] = len(self._fixed)
        self._find(function.region, inside_loop=False)

    def _find(self, region: Region, *, inside_loop: bool) -> None:
        for op in region.ops:
            made = [result for result in op.results if self._is_ours(result)] if op.name in MAKERS else []
            for value in made:
                if inside_loop or _is_kept(op):
                    self._growing[self._prefix + _list_of(op)] = None
                else:
                    self._fixed[value] = len(self._fixed)
            for inner in op.regions:
                self._find(inner, inside_loop=inside_loop or op.name in ("for", "while"))

    def _is_ours(self, value: Value) -> bool:
        return isinstance(value.type, Buffer) and value.type.device == self._device

    def open(self, out: Emitter) -> None:
        """Reserve the entries, all empty."""
        if self._fixed:
            out.entry += _empty_entries(out.module, f"%{self._prefix}ledger", len(self._fixed))
        for name in self._growing:
            out.entry += [
                *_empty_entries(out.module, f"%{name}.entries", LOOP_ENTRIES),
                f"  %{name}.ledger = alloca {{ ptr, i64, i64 }}, align 16",
                f"  store ptr %{name}.entries, ptr %{name}.ledger, align 8",
                f"  %{name}.capacity = getelementptr i8, ptr %{name}.ledger, i64 8",
                f"  store i64 {LOOP_ENTRIES}, ptr %{name}.capacity, align 8",
                f"  %{name}.begin = getelementptr i8, ptr %{name}.ledger, i64 16",
                f"  store i64 0, ptr %{name}.begin, align 8",
            ]
            out.module.declare("llvm.memcpy.p0.p0.i64", "void", ["ptr", "ptr", "i64", "i1"])
            _declare_memset(out.module)
            out.module.define("jitflow.ledger.enter", _ENTER)
            out.module.define("jitflow.ledger.leave", _LEAVE)

    def has_entry(self, buffer: Value) -> bool:
        """Whether a buffer has an entry of its own."""
        return buffer in self._fixed

    def allocate(self, out: Emitter, value: Value, nbytes: str, site: int) -> str:
        """Memory for a buffer that has an entry, noted in it; null where there is none, and the failure is reported."""
        out.module.define("jitflow.ledger.allocate", _ALLOCATE)
        arguments = f"ptr %context, ptr %error, ptr {self._place(out, self._fixed[value])}, i64 {nbytes}, i64 {site}"
        return out.let(f"call ptr @jitflow.ledger.allocate({arguments})")

    def free(self, out: Emitter, buffer: Value, nbytes: str) -> None:
        """Forget a buffer that has an entry, and give its memory back."""
        out.module.define("jitflow.ledger.free", _FREE_ENTRY)
        entry = self._place(out, self._fixed[buffer])
        arguments = f"ptr %context, ptr {entry}, ptr {out.operand(buffer)}, i64 {nbytes}"
        out.do(f"call void @jitflow.ledger.free({arguments})")

    def enter(self, out: Emitter, op: Op, value: Value, buffer: str, nbytes: str) -> str:
        """Note what an allocation, or a call, gave. Returns whether that was possible: ``true``, or a register."""
        entry = self._fixed.get(value)
        if entry is None:
            passed = ENTRY_BYTES if _is_kept(op) else 0
            arguments = (
                f"ptr %context, ptr %{self._prefix}{_list_of(op)}.ledger, ptr {buffer}, i64 {nbytes}, i64 {passed}"
            )
            return out.let(f"call i1 @jitflow.ledger.enter({arguments})")
        self._note(out, entry, buffer, nbytes)
        return "true"

    def take(self, out: Emitter, parameter: Value) -> None:
        """Note a buffer that the function was handed and owns."""
        self._note(out, self._fixed[parameter], out.operand(parameter), "0")

    def _note(self, out: Emitter, entry: int, buffer: str, nbytes: str) -> None:
        place = self._place(out, entry)
        out.do(f"store ptr {buffer}, ptr {place}, align 8")
        out.do(f"store i64 {nbytes}, ptr {out.at(place, '8')}, align 8")

    def _place(self, out: Emitter, entry: int) -> str:
        return out.at(f"%{self._prefix}ledger", str(ENTRY_BYTES * entry))

    def strike(self, out: Emitter, buffer: Value) -> None:
        """Forget a buffer that is about to be freed; one that was carried may stand anywhere."""
        entry = self._fixed.get(buffer)
        if entry is not None:
            out.do(f"store ptr null, ptr {self._place(out, entry)}, align 8")
            return
        for entries, count in self._lists(out, "loop"):
            out.module.define("jitflow.ledger.strike", _STRIKE)
            out.do(f"call void @jitflow.ledger.strike(ptr {entries}, i64 {count}, ptr {out.operand(buffer)})")

    def release(self, out: Emitter) -> None:
        """After a failure: give back every buffer."""
        self._give_back(out, self._lists(out, "loop"))
        self.close(out)

    def close(self, out: Emitter) -> None:
        """At the end of every run: give back what was kept until then, and lists that have moved to the heap."""
        if self._prefix + "kept" in self._growing:
            self._give_back(out, [self._list(out, "kept")])
        for name in self._growing:
            arguments = f"ptr %context, ptr %{name}.ledger, ptr %{name}.entries"
            out.do(f"call void @jitflow.ledger.leave({arguments})")

    def _give_back(self, out: Emitter, lists: list[tuple[str, str]]) -> None:
        for entries, count in lists:
            name = f"jitflow.ledger.{self._prefix}release"
            out.module.define(name, _release_on(self._device, name, out.module) if self._prefix else _RELEASE)
            out.do(f"call void @{name}(ptr %context, ptr {entries}, i64 {count})")

    def _lists(self, out: Emitter, growing: str) -> list[tuple[str, str]]:
        """Address and length of the entries in the frame, and of a list that grows, where there are such."""
        lists = [(f"%{self._prefix}ledger", str(len(self._fixed)))] if self._fixed else []
        return [*lists, self._list(out, growing)] if self._prefix + growing in self._growing else lists

    def _list(self, out: Emitter, name: str) -> tuple[str, str]:
        entries = out.let(f"load ptr, ptr %{self._prefix}{name}.ledger, align 8")
        return entries, out.let(f"load i64, ptr %{self._prefix}{name}.capacity, align 8")


def _is_kept(op: Op) -> bool:
    return bool(op.attributes.get("kept"))


def _list_of(op: Op) -> str:
    return "kept" if _is_kept(op) else "loop"


def _empty_entries(module: ModuleText, name: str, count: int) -> list[str]:
    lines = [f"  {name} = alloca [{2 * count} x i64], align 16"]
    if count > _EMPTIED_ONE_BY_ONE:
        _declare_memset(module)
        return [*lines, f"  call void @llvm.memset.p0.i64(ptr {name}, i8 0, i64 {ENTRY_BYTES * count}, i1 false)"]
    for entry in range(count):
        lines.append(f"  {name}.{entry} = getelementptr i8, ptr {name}, i64 {ENTRY_BYTES * entry}")
        lines.append(f"  store ptr null, ptr {name}.{entry}, align 8")
    return lines


def _declare_memset(module: ModuleText) -> None:
    module.declare("llvm.memset.p0.i64", "void", ["ptr", "i8", "i64", "i1"])


# The functions of the ledger: short loops over entries of 16 bytes.

_ALLOCATE = f"""define internal ptr
@jitflow.ledger.allocate(ptr %context, ptr %error, ptr %entry, i64 %size, i64 %site) #0 {{
start:
  %allocate = load ptr, ptr %context, align 8
  %buffer = call ptr %allocate(i64 %size)
  %none = icmp eq ptr %buffer, null
  br i1 %none, label %failed, label %note
note:
  store ptr %buffer, ptr %entry, align 8
  %size.place = getelementptr i8, ptr %entry, i64 8
  store i64 %size, ptr %size.place, align 8
  ret ptr %buffer
failed:
  store i64 {OUT_OF_MEMORY}, ptr %error, align 8
  %site.place = getelementptr i8, ptr %error, i64 8
  store i64 %site, ptr %site.place, align 8
  %word.place = getelementptr i8, ptr %error, i64 16
  store i64 %size, ptr %word.place, align 8
  ret ptr null
}}"""

_FREE_ENTRY = """define internal void
@jitflow.ledger.free(ptr %context, ptr %entry, ptr %buffer, i64 %size) #0 {
start:
  store ptr null, ptr %entry, align 8
  %free.slot = getelementptr i8, ptr %context, i64 8
  %free = load ptr, ptr %free.slot, align 8
  call void %free(ptr %buffer, i64 %size)
  ret void
}"""

_STRIKE = """define internal void @jitflow.ledger.strike(ptr %entries, i64 %count, ptr %buffer) #0 {
start:
  %bytes = shl i64 %count, 4
  br label %next
next:
  %offset = phi i64 [ 0, %start ], [ %following, %on ]
  %entry = getelementptr i8, ptr %entries, i64 %offset
  %held = load ptr, ptr %entry, align 8
  %found = icmp eq ptr %held, %buffer
  br i1 %found, label %forget, label %on
forget:
  store ptr null, ptr %entry, align 8
  br label %on
on:
  %following = add i64 %offset, 16
  %more = icmp ult i64 %following, %bytes
  br i1 %more, label %next, label %end
end:
  ret void
}"""

_RELEASE = """define internal void @jitflow.ledger.release(ptr %context, ptr %entries, i64 %count) #0 {
start:
  %bytes = shl i64 %count, 4
  %free.slot = getelementptr i8, ptr %context, i64 8
  %free = load ptr, ptr %free.slot, align 8
  br label %next
next:
  %offset = phi i64 [ 0, %start ], [ %following, %on ]
  %entry = getelementptr i8, ptr %entries, i64 %offset
  %held = load ptr, ptr %entry, align 8
  %empty = icmp eq ptr %held, null
  br i1 %empty, label %on, label %give.back
give.back:
  %size.place = getelementptr i8, ptr %entry, i64 8
  %size = load i64, ptr %size.place, align 8
  call void %free(ptr %held, i64 %size)
  br label %on
on:
  %following = add i64 %offset, 16
  %more = icmp ult i64 %following, %bytes
  br i1 %more, label %next, label %end
end:
  ret void
}"""

_FREE_SLOT = """  %free.slot = getelementptr i8, ptr %context, i64 8
"""
_FREE = "call void %free(ptr %held, i64 %size)"


def _release_on(device: str, name: str, module: ModuleText) -> str:
    """The same for memory of a device, which goes back in the order of its work."""
    free, stream = (8 * module.symbol_slot(f"{device} {name}") for name in ("cuMemFreeAsync", "stream"))
    slots = f"""  %free.slot = getelementptr i8, ptr %context, i64 {free}
  %stream.slot = getelementptr i8, ptr %context, i64 {stream}
  %stream = load ptr, ptr %stream.slot, align 8
"""
    text = _RELEASE.replace("jitflow.ledger.release", name).replace(_FREE_SLOT, slots)
    return text.replace(_FREE, "call i32 %free(ptr %held, ptr %stream)")


_ENTER = """define internal i1
@jitflow.ledger.enter(ptr %context, ptr %ledger, ptr %buffer, i64 %size, i64 %passed) #0 {
start:
  %entries = load ptr, ptr %ledger, align 8
  %capacity.place = getelementptr i8, ptr %ledger, i64 8
  %capacity = load i64, ptr %capacity.place, align 8
  %bytes = shl i64 %capacity, 4
  %begin.place = getelementptr i8, ptr %ledger, i64 16
  %begin = load i64, ptr %begin.place, align 8
  %begin.next = add i64 %begin, %passed
  store i64 %begin.next, ptr %begin.place, align 8
  %room = icmp ult i64 %begin, %bytes
  br i1 %room, label %next, label %grow
next:
  %offset = phi i64 [ %begin, %start ], [ %following, %on ]
  %entry = getelementptr i8, ptr %entries, i64 %offset
  %held = load ptr, ptr %entry, align 8
  %empty = icmp eq ptr %held, null
  br i1 %empty, label %note, label %on
on:
  %following = add i64 %offset, 16
  %more = icmp ult i64 %following, %bytes
  br i1 %more, label %next, label %grow
grow:
  %twice = shl i64 %bytes, 1
  %allocate = load ptr, ptr %context, align 8
  %larger = call ptr %allocate(i64 %twice)
  %none = icmp eq ptr %larger, null
  br i1 %none, label %full, label %copy
copy:
  call void @llvm.memcpy.p0.p0.i64(ptr %larger, ptr %entries, i64 %bytes, i1 false)
  %rest = getelementptr i8, ptr %larger, i64 %bytes
  call void @llvm.memset.p0.i64(ptr %rest, i8 0, i64 %bytes, i1 false)
  store ptr %larger, ptr %ledger, align 8
  %doubled = shl i64 %capacity, 1
  store i64 %doubled, ptr %capacity.place, align 8
  %on.heap = icmp ugt i64 %capacity, FIRST
  br i1 %on.heap, label %drop, label %append
drop:
  %free.slot = getelementptr i8, ptr %context, i64 8
  %free = load ptr, ptr %free.slot, align 8
  call void %free(ptr %entries, i64 %bytes)
  br label %append
append:
  br label %note
note:
  %place = phi ptr [ %entry, %next ], [ %rest, %append ]
  store ptr %buffer, ptr %place, align 8
  %size.place = getelementptr i8, ptr %place, i64 8
  store i64 %size, ptr %size.place, align 8
  ret i1 true
full:
  ret i1 false
}""".replace("FIRST", str(LOOP_ENTRIES))

_LEAVE = """define internal void @jitflow.ledger.leave(ptr %context, ptr %ledger, ptr %first) #0 {
start:
  %entries = load ptr, ptr %ledger, align 8
  %in.frame = icmp eq ptr %entries, %first
  br i1 %in.frame, label %end, label %drop
drop:
  %capacity.place = getelementptr i8, ptr %ledger, i64 8
  %capacity = load i64, ptr %capacity.place, align 8
  %bytes = shl i64 %capacity, 4
  %free.slot = getelementptr i8, ptr %context, i64 8
  %free = load ptr, ptr %free.slot, align 8
  call void %free(ptr %entries, i64 %bytes)
  br label %end
end:
  ret void
}"""
