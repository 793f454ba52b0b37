"""What a host program does on a GPU: the driver's functions and cuBLAS, called by the addresses that the context holds.

Names in the context begin with the device: ``cuda:0 stream``, ``cuda:0 blas`` and ``cuda:0 kernel k`` are handles,
``cuda:0 cuLaunchKernel`` a function. All work goes to one stream, in order, memory too. Memory of a device is an
address like others, which no instruction here reads or writes.

What is copied from the host's memory has been read when the call returns: that memory is not pinned, so the driver
puts it aside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice

from jitflow.backends.llvm.emission.emit_control import report
from jitflow.backends.llvm.emission.emit_host import HOST_EMISSION, by_pointer, is_complex
from jitflow.backends.llvm.emission.emitter import UNLIKELY, Emission, Emitter
from jitflow.backends.llvm.emission.ledger import Ledger
from jitflow.backends.llvm.emission.slots import ERROR_SLOTS
from jitflow.backends.llvm.emission.symbols import DEVICE_LIBRARY, LIBRARY
from jitflow.backends.llvm.emission.types import memory_type, number_type, register_type
from jitflow.errors import CompilerBug
from jitflow.ir.core import Op, Value
from jitflow.ir.status import CHECK_FAILED, DEVICE_FAILED, OUT_OF_MEMORY
from jitflow.ir.types import Buffer

__all__ = ["DEVICE_EMISSION"]

"""What the first error slot says, and also the status: a function of the driver failed. Its code is behind the site."""

_NO_MEMORY = 2
"""The driver's code for memory that there is not."""


def _device_of(value: Value) -> str:
    """The GPU on which memory lies, empty for the host's and for numbers."""
    return value.type.device if isinstance(value.type, Buffer) and value.type.device != "cpu" else ""


def _in_context(out: Emitter, device: str, name: str) -> str:
    slot = out.module.symbol_slot(f"{device} {name}")
    return out.let(f"load ptr, ptr {out.at('%context', str(8 * slot))}, align 8")


def _call(out: Emitter, op: Op, device: str, name: str, *arguments: str) -> None:
    """Call a function that gives a status, and end the program where that is not 0."""
    status = _status(out, device, name, *arguments)

    def fail() -> None:
        report(out, DEVICE_FAILED, op, ())
        wide = out.let(f"zext i32 {status} to i64")
        out.do(f"store i64 {wide}, ptr {out.at('%error', '16')}, align 8")
        out.leave(str(DEVICE_FAILED))

    out.fail_unless(out.let(f"icmp eq i32 {status}, 0"), fail)


def _status(out: Emitter, device: str, name: str, *arguments: str) -> str:
    return out.let(f"call i32 {_in_context(out, device, name)}({', '.join(arguments)})")


def _stream(out: Emitter, device: str) -> str:
    return f"ptr {_in_context(out, device, 'stream')}"


# -- memory


def _ledger(out: Emitter) -> Ledger:
    if out.device_ledger is None:
        raise CompilerBug("expected memory of a device in a host program that has a ledger of it")
    return out.device_ledger


def _alloc(out: Emitter, op: Op, device: str) -> Sequence[str]:
    (size,) = op.operands
    place = out.stack("ptr")
    least = out.let(f"call i64 @llvm.umax.i64(i64 {out.operand(size)}, i64 1)")
    out.module.declare("llvm.umax.i64", "i64", ("i64", "i64"))
    given, kept = (f"ptr {place}", f"i64 {least}", _stream(out, device)), out.stack("i32")

    def allocate() -> str:
        status = _status(out, device, "cuMemAllocAsync", *given)
        out.do(f"store i32 {status}, ptr {kept}, align 4")
        return status

    enough, short = out.label("enough"), out.label("short")
    out.branch(out.let(f"icmp ne i32 {allocate()}, {_NO_MEMORY}"), enough, short, UNLIKELY)
    with out.cold(short):
        out.do(f"call void {_in_context(out, device, 'relieve')}()")
        allocate()
        out.jump(enough)
    out.begin(enough)
    status = out.let(f"load i32, ptr {kept}, align 4")

    def fail() -> None:
        exhausted = out.let(f"icmp eq i32 {status}, {_NO_MEMORY}")
        code = out.let(f"select i1 {exhausted}, i32 {OUT_OF_MEMORY}, i32 {DEVICE_FAILED}")
        word = out.let(f"select i1 {exhausted}, i64 {least}, i64 {out.let(f'zext i32 {status} to i64')}")
        report(out, DEVICE_FAILED, op, ())
        out.do(f"store i64 {out.let(f'zext i32 {code} to i64')}, ptr %error, align 8")
        out.do(f"store i64 {word}, ptr {out.at('%error', '16')}, align 8")
        out.leave(code)

    out.fail_unless(out.let(f"icmp eq i32 {status}, 0"), fail)
    buffer = out.let(f"load ptr, ptr {place}, align 8")

    def give_back_and_fail() -> None:
        _status(out, device, "cuMemFreeAsync", f"ptr {buffer}", _stream(out, device))
        report(out, OUT_OF_MEMORY, op, [size])
        out.leave(str(OUT_OF_MEMORY))

    noted = _ledger(out).enter(out, op, op.result, buffer, least)
    if noted != "true":
        out.fail_unless(noted, give_back_and_fail)
    return [buffer]


def _free(out: Emitter, op: Op, device: str) -> Sequence[str]:
    buffer = op.operands[0]
    _ledger(out).strike(out, buffer)
    _call(out, op, device, "cuMemFreeAsync", f"ptr {out.operand(buffer)}", _stream(out, device))
    return ()


def _transfer(out: Emitter, op: Op) -> Sequence[str]:
    target, source, size = op.operands
    to, of = _device_of(target), _device_of(source)
    if bool(to) == bool(of):
        raise CompilerBug(f"expected a transfer between a GPU and the host, got {of} to {to}", location=op.loc)
    name = "cuMemcpyHtoDAsync_v2" if to else "cuMemcpyDtoHAsync_v2"
    _call(out, op, to or of, name, out.typed(target), out.typed(source), out.typed(size), _stream(out, to or of))
    return ()


def _attach(out: Emitter, op: Op) -> Sequence[str]:
    device = op.attributes["device"]
    _call(out, op, device, "cuCtxSetCurrent", f"ptr {_in_context(out, device, 'context')}")
    return ()


def _wait(out: Emitter, op: Op) -> Sequence[str]:
    device = op.attributes["device"]
    _call(out, op, device, "cuStreamSynchronize", _stream(out, device))
    return ()


# -- kernels and libraries


def _launch(out: Emitter, op: Op, device: str) -> Sequence[str]:
    *given, x, y, z, room = op.operands
    places = out.stack("ptr", len(given))
    for number, value in enumerate(given):
        out.do(f"store ptr {_in_memory(out, value)}, ptr {out.at(places, str(8 * number))}, align 8")
    sizes = [f"i32 {out.let(f'trunc i64 {out.operand(blocks)} to i32')}" for blocks in (x, y, z)]
    sizes += [f"i32 {threads}" for threads in op.attributes["block"]]
    sizes.append(f"i32 {out.let(f'trunc i64 {out.operand(room)} to i32')}")
    name = op.attributes["kernel"] + ("_narrow" if op.attributes.get("narrow") else "")
    function = f"ptr {_in_context(out, device, 'kernel ' + name)}"
    _call(out, op, device, "cuLaunchKernel", function, *sizes, _stream(out, device), f"ptr {places}", "ptr null")
    return ()


def _in_memory(out: Emitter, value: Value) -> str:
    """The place in the frame of what a kernel takes, as C++ lays it out."""
    text, operand = register_type(value.type), out.operand(value)
    if text == "i1":
        text = memory_type(number_type(value.type))
        operand = out.let(f"zext i1 {operand} to {text}")
    place = out.stack(text)
    out.do(f"store {text} {operand}, ptr {place}")
    return place


def _inspect(out: Emitter, op: Op) -> Sequence[str]:
    """A record of the device is laid out as the error slots are, and its sites come before those of the host."""
    record = out.operand(op.operands[0])

    def fail() -> None:
        for word in range(ERROR_SLOTS):
            number = out.let(f"load i64, ptr {out.at(record, str(8 * word))}, align 8")
            out.do(f"store i64 {number}, ptr {out.at('%error', str(8 * word))}, align 8")
        out.leave(str(CHECK_FAILED))

    out.fail_unless(out.let(f"icmp eq i64 {out.let(f'load i64, ptr {record}, align 8')}, 0"), fail)
    return ()


def _library(out: Emitter, op: Op, device: str) -> Sequence[str]:
    """As of BLAS, but for sizes, which cuBLAS takes by value."""
    symbol = op.attributes["symbol"]
    if symbol not in DEVICE_LIBRARY:
        raise CompilerBug(
            f"library: expected one of {', '.join(DEVICE_LIBRARY)} on a GPU, got {symbol}", location=op.loc
        )
    operands, arguments = iter(op.operands), [f"ptr {_in_context(out, device, 'blas')}"]
    for parameter in LIBRARY[symbol].parameters:
        values = [*islice(operands, 2 if is_complex(parameter) else 1)]
        if parameter == "flag":
            arguments.append(f"i32 {out.let(f'trunc i64 {out.operand(values[0])} to i32')}")
        elif parameter == "int":
            arguments.append(out.typed(values[0]))
        else:
            arguments.append(f"ptr {by_pointer(out, parameter, *values)}")
    _call(out, op, device, DEVICE_LIBRARY[symbol], *arguments)
    return ()


def _where(name: str, on_device: Callable[[Emitter, Op, str], Sequence[str]]) -> Emission:
    """The row of an op that is the device's if a buffer of it lies there."""

    def emit(out: Emitter, op: Op) -> Sequence[str]:
        device = next(filter(None, map(_device_of, (*op.results, *op.operands))), "")
        return on_device(out, op, device) if device else HOST_EMISSION[name](out, op)

    return emit


DEVICE_EMISSION: dict[str, Emission] = {
    "alloc": _where("alloc", _alloc),
    "free": _where("free", _free),
    "launch": _where("launch", _launch),
    "library": _where("library", _library),
    "transfer": _transfer,
    "wait": _wait,
    "attach": _attach,
    "inspect": _inspect,
}
