"""The C header of an exported program: its one function, and what tells where its state lies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jitflow.exports.bridge import DOES_NOT_FIT, MISSING_ROUTINE, accessor
from jitflow.exports.interface import Interface, Output, Parameter
from jitflow.exports.messages import MESSAGE_BYTES
from jitflow.ir.dims import Dim
from jitflow.machines.processor import CodeTarget

__all__ = ["header_text"]

_C_TYPES = {
    "bool": "uint8_t", "i8": "int8_t", "i16": "int16_t", "i32": "int32_t", "i64": "int64_t", "u8": "uint8_t",
    "u16": "uint16_t", "u32": "uint32_t", "u64": "uint64_t", "f16": "uint16_t", "bf16": "uint16_t", "f32": "float",
    "f64": "double", "c64": "float", "c128": "double",
}  # fmt: skip
_SAID = {"f16": "bits of float16", "bf16": "bits of bfloat16", "c64": "pairs of real and imaginary parts",
         "c128": "pairs of real and imaginary parts"}  # fmt: skip


def header_text(
    name: str, interface: Interface, target: CodeTarget, documentation: str, needs: Sequence[str], libm: Sequence[str]
) -> str:  # fmt: skip
    """The header.

    ``documentation`` is what the function says of itself, ``needs`` are routines of a BLAS and ``libm`` mathematical
    functions that are linked.
    """
    guard = f"{name.upper()}_H"
    return "\n".join([
        f"/* {name}: compiled by jitflow for {_machine(target)}.",
        *(f" * {line}".rstrip() for line in _comment(name, interface, documentation, needs, libm)),
        " */",
        f"#ifndef {guard}\n#define {guard}\n",
        "#include <stdint.h>\n",
        '#ifdef __cplusplus\nextern "C" {\n#endif\n',
        f"int32_t {name}({', '.join(_parameters(interface))});",
        *_accessors(name, interface),
        "\n#ifdef __cplusplus\n}\n#endif\n",
        "#endif\n",
    ])  # fmt: skip


def _machine(target: CodeTarget) -> str:
    return f"{target.triple}, {target.cpu}"


def _comment(
    name: str, interface: Interface, documentation: str, needs: Sequence[str], libm: Sequence[str]
) -> Iterator[str]:
    for line in documentation.strip().replace("*/", "* /").splitlines():
        yield line.strip()
    yield ""
    yield "Arrays lie in C order, one element behind the other, and aligned as C does; none may overlap one that is"
    yield "written to. One thread runs the program. It calls malloc, free, memcpy and memset of C"
    yield f"and the mathematical functions {', '.join(libm)}." if libm else "and nothing else."
    yield ""
    for one in interface.parameters:
        written = ", which is written to" if one.is_written else ""
        yield f"  {one.name}: {_described(one.dtype, one.dims, one.layout)}{written}"
    for result in interface.outputs:
        shown = result.dims if result.dims is not None else None if result.rank is None else ("?",) * result.rank
        where = ""
        if result.rank is not None and result.dims is None:
            where = f"; allocated with malloc and yours to free, its sizes are in {result.name}_sizes"
        yield f"  {result.name}: {_described(result.dtype, shown, 'C')}, a result{where}"
    yield ""
    yield "Results may be NULL where they are not wanted, if they are not allocated."
    yield f"Returns 0, or else another number, and in message, which is NULL or has {MESSAGE_BYTES} bytes, says why:"
    yield f"{DOES_NOT_FIT} for sizes or overlapping arrays that it was not compiled for, else Python's exception."
    if needs:
        routines = ", ".join(f"{one}_" for one in needs)
        yield f"It calls {routines} of a BLAS with 32-bit integers, which it is to be linked with;"
        yield f"without them it returns {MISSING_ROUTINE}."
    if interface.carried:
        yield ""
        yield "What it carries along, which may be read and written between calls, and lives as long as the program."
        yield "Programs that write to it are called by one thread at a time."
        for state in interface.carried:
            one = state.parameter
            sizes = None if one.dims is None else state.value.shape
            written = ", which is written to" if one.is_written else ""
            yield f"  {one.name}: {_described(one.dtype, sizes, one.layout)}{written}"


def _described(dtype: str, dims: Sequence[Dim | str] | None, layout: str) -> str:
    said = f", {_SAID[dtype]}" if dtype in _SAID else ""
    if dims is None:
        return f"{_C_TYPES[dtype]}{said}"
    order = ", in Fortran order" if layout == "F" and len(dims) > 1 else ""
    return f"{_C_TYPES[dtype]} [{', '.join(map(str, dims))}]{order}{said}"


def _parameters(interface: Interface) -> Iterator[str]:
    yield from (f"int64_t {size}" for size in interface.sizes)
    yield from (part for one in interface.parameters for part in _input(one))
    yield from (part for one in interface.outputs for part in _output(one))
    yield "char *message"


def _input(one: Parameter) -> list[str]:
    kind = _C_TYPES[one.dtype]
    if one.dims is not None:
        return [f"{kind} *{one.name}" if one.is_written else f"const {kind} *{one.name}"]
    if one.dtype in ("c64", "c128"):
        return [f"{kind} {one.name}_real", f"{kind} {one.name}_imag"]
    return [f"{kind} {one.name}"]


def _output(one: Output) -> list[str]:
    kind = _C_TYPES[one.dtype]
    if one.rank is not None and one.dims is None:
        return [f"{kind} **{one.name}", f"int64_t *{one.name}_sizes"]
    return [f"{kind} *{one.name}"]


def _accessors(name: str, interface: Interface) -> Iterator[str]:
    for state in interface.carried:
        yield f"{_C_TYPES[state.parameter.dtype]} *{accessor(name, state)}(void);"
