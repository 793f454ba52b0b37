"""The C function of an exported program, as LLVM text, around the `run` that every program has.

    int32_t NAME(sizes..., arrays and numbers..., results..., char *message)

It fills the argument slots, asks the guard whether the code is for these sizes, runs, and copies what comes out to
where the caller wants it: to memory of his, if the arguments' sizes tell how much that is, else to memory of its own,
whose address and sizes he gets and which he frees. Copying makes all results alike (C-ordered, nobody else's), whether
they are new, views of arguments, or lie in another order.

What programs ask of the runtime is in their context (`runtime/linked_symbols.py`); here it holds small functions:
memory is C's, polls say to go on, and functions that call themselves get a part of the stack. Routines of BLAS are left
to the linker, by their usual names, as symbols that may be missing: then the function says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from jitflow.backends.llvm.emission.symbols import LIBRARY
from jitflow.exports.interface import Interface, Output, Parameter, State
from jitflow.exports.substitutes import ALIGNMENT, as_size, runtime_text
from jitflow.ir.context_names import POLL, ROOM
from jitflow.ir.dims import Expression
from jitflow.ir.dtypes import DTYPES
from jitflow.ir.status import OUT_OF_MEMORY
from jitflow.machines.processor import CodeTarget
from jitflow.runtime.entry.plan import ERROR_SLOTS
from jitflow.runtime.native.dtypes import slot_count
from jitflow.runtime.native.llvm_text import FunctionText

__all__ = ["DOES_NOT_FIT", "MISSING_ROUTINE", "VISIBLE", "bridge_text", "visible_names"]

VISIBLE = "jitflow.visible."
"""What the names of functions begin with in the text that stay visible, so that they are no others of the program."""

DOES_NOT_FIT, MISSING_ROUTINE = -1, -2
"""What the function returns beside the statuses of programs: sizes that the code is not for, no BLAS."""

_TYPES = {"bool": "i8", "f16": "i16", "bf16": "i16", "f32": "float", "f64": "double"}


def visible_names(name: str, interface: Interface) -> list[str]:
    """The functions that stay visible in the object; C programs call the first one, and the last ones by state."""
    own = [name, *(f"{name}__{what}" for what in ("run", "guard", "free", "context"))]
    return [*own, *(accessor(name, state) for state in interface.carried)]


def accessor(name: str, state: State) -> str:
    """The function that tells where a part of the state lies."""
    return f"{name}_{state.parameter.name}"


def bridge_text(
    name: str, interface: Interface, symbols: Sequence[str], target: CodeTarget, *, has_guard: bool, notice: bytes
) -> str:
    """The text, which joins that of the program. ``notice`` is data that `jitflow.load` looks for."""
    return "\n".join([
        f'@"jitflow.notice.{name}" = hidden constant [{len(notice)} x i8] c"{_bytes(notice)}", align 8',
        *_states(name, interface),
        *runtime_text(target),
        *_context(name, symbols),
        _function(name, interface, symbols, target, has_guard=has_guard),
        *_entries(name, has_guard=has_guard),
        _COPY,
    ])  # fmt: skip


def _entries(name: str, *, has_guard: bool) -> Iterator[str]:
    """What callers in Python use."""
    yield (
        f'define i32 @"{VISIBLE}{name}__run"(ptr %c, ptr %a, ptr %r, ptr %e) #0 {{\n'
        "  %s = call i32 @run(ptr %c, ptr %a, ptr %r, ptr %e)\n  ret i32 %s\n}\n"
    )
    answer = "%s = call i32 @guard(ptr %a)" if has_guard else "%s = add i32 0, 1"
    yield f'define i32 @"{VISIBLE}{name}__guard"(ptr %a) #0 {{\n  {answer}\n  ret i32 %s\n}}\n'
    freeing = "  call void @jitflow.free(ptr %m, i64 0)\n  ret void"
    yield f'define void @"{VISIBLE}{name}__free"(ptr %m) #0 {{\n{freeing}\n}}\n'
    yield f'define ptr @"{VISIBLE}{name}__context"() #0 {{\n  ret ptr @jitflow.context\n}}\n'


# -- data


def _bytes(content: bytes) -> str:
    return "".join(f"\\{byte:02X}" for byte in content)


def _states(name: str, interface: Interface) -> Iterator[str]:
    for state in interface.states:
        where, content = _global(state), state.value.tobytes("A") if state.is_read else bytes(1)
        made = (
            f'[{len(content)} x i8] c"{_bytes(content)}"' if any(content) else f"[{len(content)} x i8] zeroinitializer"
        )
        yield f"{where} = internal global {made}, align {ALIGNMENT}"
        if state.is_read:
            yield f'define ptr @"{VISIBLE}{accessor(name, state)}"() #0 {{\n  ret ptr {where}\n}}\n'


def _global(state: State) -> str:
    return f'@"jitflow.state.{state.parameter.name}"'


def _context(name: str, symbols: Sequence[str]) -> Iterator[str]:
    known = {POLL: "@jitflow.poll", ROOM: "@jitflow.room"}
    places = ["@jitflow.alloc", "@jitflow.free"]
    for symbol in symbols:
        if symbol in LIBRARY:
            yield f"@{symbol}_ = extern_weak global i8"
        places.append(known.get(symbol, f"@{symbol}_"))
    word = "{ ptr, [0 x i64] }"  # of 8 bytes on every target
    filled = ", ".join(f"{word} {{ ptr {place}, [0 x i64] zeroinitializer }}" for place in places)
    yield f"@jitflow.context = internal global [{len(places)} x {word}] [{filled}], align 8"


_COPY = """
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define internal ptr @jitflow.copy(ptr %to, ptr %from, i64 %rank, ptr %dims, ptr %strides, i64 %item) #0 {
start:
  %single = icmp eq i64 %rank, 0
  br i1 %single, label %one, label %several
one:
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %item, i1 false)
  %behind = getelementptr i8, ptr %to, i64 %item
  ret ptr %behind
several:
  %count = load i64, ptr %dims
  %stride = load i64, ptr %strides
  %last = icmp eq i64 %rank, 1
  %dense = icmp eq i64 %stride, %item
  %row = and i1 %last, %dense
  br i1 %row, label %whole, label %each
whole:
  %bytes = mul i64 %count, %item
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %bytes, i1 false)
  %end = getelementptr i8, ptr %to, i64 %bytes
  ret ptr %end
each:
  %dims.inner = getelementptr i8, ptr %dims, i64 8
  %strides.inner = getelementptr i8, ptr %strides, i64 8
  %rank.inner = sub i64 %rank, 1
  br label %next
next:
  %number = phi i64 [ 0, %each ], [ %number.next, %copied ]
  %place = phi ptr [ %to, %each ], [ %place.next, %copied ]
  %source = phi ptr [ %from, %each ], [ %source.next, %copied ]
  %more = icmp slt i64 %number, %count
  br i1 %more, label %copied, label %done
copied:
  %place.next = call ptr @jitflow.copy(ptr %place, ptr %source, i64 %rank.inner, ptr %dims.inner, ptr %strides.inner, i64 %item)
  %source.next = getelementptr i8, ptr %source, i64 %stride
  %number.next = add i64 %number, 1
  br label %next
done:
  ret ptr %place
}
"""  # noqa: E501
"""Copies an array, whatever its strides, to C order; returns what lies behind the copy."""


# -- the function


def _function(
    name: str, interface: Interface, symbols: Sequence[str], target: CodeTarget, *, has_guard: bool
) -> str:  # fmt: skip
    f = FunctionText(f'i32 @"{VISIBLE}{name}"({", ".join(_signature(interface))}) #0')
    writer = _Writer(f, interface, target)
    words = max([1, *(_end(one) for one in (*interface.parameters, *(s.parameter for s in interface.states)))])
    arguments, results, error = f.stack(words), f.stack(_result_words(interface)), f.stack(ERROR_SLOTS)
    for memory, count in ((arguments, words), (results, _result_words(interface)), (error, ERROR_SLOTS)):
        f.run("@llvm.memset.p0.i64", f"ptr {memory}", "i8 0", f"i64 {8 * max(count, 1)}", "i1 false")
    unfit = f.label("unfit")
    for size in interface.sizes:
        f.require(f.compare("sge", f"%size.{size}", "0"), unfit)
    writer.fill(arguments)
    if has_guard:
        f.require(f.compare("ne", f.call("i32", "@guard", f"ptr {arguments}"), "0", "i32"), unfit)
    for symbol in symbols:
        if symbol in LIBRARY:
            missing = f.is_null(f.load("ptr", "@jitflow.context", 8 * (2 + list(symbols).index(symbol))))
            with f.when(missing):
                f.run("@jitflow.say", "ptr %message", f"i32 {MISSING_ROUTINE}", f"ptr {error}")
                f.give("i32", str(MISSING_ROUTINE))
    status = f.call("i32", "@run", "ptr @jitflow.context", f"ptr {arguments}", f"ptr {results}", f"ptr {error}")
    with f.when(f.compare("ne", status, "0", "i32")):
        f.run("@jitflow.say", "ptr %message", f"i32 {status}", f"ptr {error}")
        f.give("i32", status)
    short = f.label("short")
    writer.give(results, short)
    writer.release(results)
    f.give("i32", "0")
    f.begin(short)
    writer.release(results)
    f.store("i64", str(OUT_OF_MEMORY), error)
    f.run("@jitflow.say", "ptr %message", f"i32 {OUT_OF_MEMORY}", f"ptr {error}")
    f.give("i32", str(OUT_OF_MEMORY))
    f.begin(unfit)
    f.run("@jitflow.say", "ptr %message", f"i32 {DOES_NOT_FIT}", f"ptr {error}")
    f.give("i32", str(DOES_NOT_FIT))
    return "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)\n" + f.text()


def _end(one: Parameter) -> int:
    return one.slot + (slot_count(one.dtype) if one.dims is None else 1 + 2 * len(one.dims))


def _result_words(interface: Interface) -> int:
    return interface.plan.result_slots


def _signature(interface: Interface) -> Iterator[str]:
    yield from (f"i64 %size.{name}" for name in interface.sizes)
    for one in interface.parameters:
        if one.dims is not None:
            yield f"ptr %in.{one.name}"
        else:
            parts = _parts(one.dtype)
            yield from (f"{kind} %in.{one.name}{part}" for kind, part in parts)
    for result in interface.outputs:
        yield f"ptr %out.{result.name}"
        if result.rank is not None and result.dims is None:
            yield f"ptr %sizes.{result.name}"
    yield "ptr %message"


def _parts(dtype: str) -> list[tuple[str, str]]:
    """A number in C: its type, or for complex numbers the types of its parts, with what their names end in."""
    if dtype in ("c64", "c128"):
        kind = "float" if dtype == "c64" else "double"
        return [(kind, ".real"), (kind, ".imag")]
    return [(_TYPES.get(dtype) or f"i{DTYPES[dtype].bits}", "")]


class _Writer:
    def __init__(self, function: FunctionText, interface: Interface, target: CodeTarget) -> None:
        self.f, self.interface, self.target, self.arguments = function, interface, target, ""

    def fill(self, slots: str) -> None:
        """The argument slots."""
        f, self.arguments = self.f, slots
        for one in self.interface.parameters:
            if one.dims is not None:
                self._array(one, slots, f"%in.{one.name}", [self._dim(dim) for dim in one.dims])
                continue
            for number, (kind, part) in enumerate(_parts(one.dtype)):
                offset = 8 * one.slot + number * (4 if one.dtype == "c64" else 8)
                self._number(one.dtype, kind, f"%in.{one.name}{part}", slots, offset)
        for state in self.interface.states:
            one = state.parameter
            if one.dims is not None:
                self._array(one, slots, _global(state), [str(size) for size in state.value.shape])
                continue
            for number, (kind, _) in enumerate(_parts(one.dtype)):
                step = number * (4 if one.dtype == "c64" else 8)
                self._number(one.dtype, kind, f.load(kind, _global(state), step), slots, 8 * one.slot + step)

    def _dim(self, dim: Any) -> str:
        if isinstance(dim, int):
            return str(dim)
        assert isinstance(dim, Expression)
        name = str(dim)
        return str(self.interface.known[name]) if name in self.interface.known else f"%size.{name}"

    def _array(self, one: Parameter, slots: str, address: str, dims: Sequence[str]) -> None:
        f, rank = self.f, len(dims)
        f.store("i64", f.let(f"ptrtoint ptr {address} to i64"), slots, 8 * one.slot)
        order = range(rank) if one.layout == "F" else range(rank - 1, -1, -1)
        stride = str(DTYPES[one.dtype].itemsize)
        for axis in order:
            f.store("i64", dims[axis], slots, 8 * (one.slot + 1 + axis))
            f.store("i64", stride, slots, 8 * (one.slot + 1 + rank + axis))
            stride = f.let(f"mul i64 {stride}, {dims[axis]}")

    def _number(self, dtype: str, kind: str, value: str, slots: str, offset: int) -> None:
        f, integer = self.f, DTYPES[dtype].kind in "iub" and kind != "i64"
        if integer:
            signed = DTYPES[dtype].kind == "i"
            if dtype == "bool":
                value, kind = f.let(f"zext i1 {f.compare('ne', value, '0', kind)} to i8"), "i8"
            value, kind = f.let(f"{'sext' if signed else 'zext'} {kind} {value} to i64"), "i64"
        f.store(kind, value, slots, offset)

    def give(self, slots: str, short: str) -> None:
        """Copy the results to where the caller wants them; memory of the program's own may not be there."""
        f = self.f
        for result in self.interface.outputs:
            out = f"%out.{result.name}"
            if result.rank is None:
                length = min(DTYPES[result.dtype].itemsize, 16)
                with f.when(f.compare("ne", out, "null", "ptr")):
                    f.run("@llvm.memcpy.p0.p0.i64", f"ptr {out}", f"ptr {self._words(result, slots)}",
                          f"i64 {length}", "i1 false")  # fmt: skip
            elif result.dims is not None:
                with f.when(f.compare("ne", out, "null", "ptr")):
                    self._copy(result, slots, out)
            else:
                self._hand_over(result, slots, out, short)

    def _words(self, result: Output, slots: str) -> str:
        """Where a number stands, or an array's address, dims and strides."""
        f = self.f
        if not result.options:
            return f.at(slots, 8 * result.slot)
        number = f.load("i64", slots, 8 * result.slot)
        *_, (_, is_argument, slot) = result.options  # the last is taken where no number fits
        found = f.at(self.arguments if is_argument else slots, 8 * slot)
        for wanted, is_argument, slot in reversed(result.options[:-1]):
            place = f.at(self.arguments if is_argument else slots, 8 * slot)
            found = f.let(f"select i1 {f.compare('eq', number, str(wanted))}, ptr {place}, ptr {found}")
        return found

    def _copy(self, result: Output, slots: str, to: str) -> None:
        f, rank, words = self.f, result.rank or 0, self._words(result, slots)
        source = f.let(f"inttoptr i64 {f.load('i64', words)} to ptr")
        dims, strides = (f.at(words, 8 * (1 + step)) for step in (0, rank))
        f.call("ptr", "@jitflow.copy", f"ptr {to}", f"ptr {source}", f"i64 {rank}", f"ptr {dims}", f"ptr {strides}",
               f"i64 {DTYPES[result.dtype].itemsize}")  # fmt: skip

    def _hand_over(self, result: Output, slots: str, out: str, short: str) -> None:
        """Memory of C's, and the sizes that the program has found."""
        f, size = self.f, "i32" if self.target.is_wasm else "i64"
        bytes, words = str(DTYPES[result.dtype].itemsize), self._words(result, slots)
        for axis in range(result.rank or 0):
            dim = f.load("i64", words, 8 * (1 + axis))
            f.store("i64", dim, f"%sizes.{result.name}", 8 * axis)
            bytes = f.let(f"mul i64 {bytes}, {dim}")
        bytes = f.let(f"add i64 {bytes}, 1")  # so that there is some
        memory = f.call("ptr", "@malloc", f"{size} {as_size(f, bytes, self.target)}")
        f.store("ptr", memory, out)
        f.require_not(f.is_null(memory), short)
        self._copy(result, slots, memory)

    def release(self, slots: str) -> None:
        """Give back what the program has made."""
        f = self.f
        for slot in self.interface.fresh:
            address = f.let(f"inttoptr i64 {f.load('i64', slots, 8 * slot)} to ptr")
            f.run("@jitflow.free", f"ptr {address}", "i64 0")
