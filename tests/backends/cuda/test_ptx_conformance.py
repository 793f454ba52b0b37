"""Every opcode of the PTX interpreter does what NVIDIA's manual says, as exact numbers of Python say it once more here.

What computes runs on awkward operands of its types; its `meaning` is a function of integers and fractions, which shares
nothing with the interpreter's NumPy. What touches memory and other threads stands in `test_ptx.py`, whose
programs are searched for it. An opcode of the interpreter that neither has is found, and the interpreter refuses all
that it has not: so every opcode that any test's kernels use is covered.
"""

from __future__ import annotations

import itertools
import math
import operator
import re
import struct
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.backends.cuda.ptx import OPCODES, parse_ptx, run_ptx
from tests.backends.cuda.ptx_machine import DTYPES, WIDTHS
from tests.backends.cuda.ptx_matrices import MATRIX_OPCODES

Number = Any
"""An int, a bool, a Fraction, or a float that is infinite, nan or a zero."""

# -- types: from bits to numbers and back

FORMATS = {"f16": (10, 15), "f32": (23, 127), "f64": (52, 1023)}
"""Bits of the fraction, and bias of the exponent."""


def width(type: str) -> int:
    return WIDTHS.get(type) or int(re.sub(r"\D", "", type))


def decode(bits: int, type: str) -> Number:
    if type == "pred":
        return bool(bits)
    bits &= (1 << width(type)) - 1
    if type[0] == "s":
        return bits - (1 << width(type)) if bits >> width(type) - 1 else bits
    if type[0] in "ub":
        return bits
    fraction_bits, bias = FORMATS[type]
    sign, rest = (-1 if bits >> width(type) - 1 else 1), bits & (1 << width(type) - 1) - 1
    exponent, fraction = rest >> fraction_bits, rest & (1 << fraction_bits) - 1
    if exponent == 2 * bias + 1:
        return math.nan if fraction else sign * math.inf
    if not rest:
        return sign * 0.0
    significand = fraction | (1 << fraction_bits if exponent else 0)
    return sign * significand * Fraction(2) ** (max(exponent, 1) - bias - fraction_bits)


def encode(number: Number, type: str) -> int:
    """The bits of a number, which wraps around as an integer and is rounded to nearest even as a float."""
    if type in ("pred",) or type[0] in "sub":
        return int(number) & (1 << width(type)) - 1
    fraction_bits, bias = FORMATS[type]
    infinity = (2 * bias + 1) << fraction_bits
    if number != number:
        return infinity | 1 << fraction_bits - 1
    sign = 1 << width(type) - 1 if number < 0 or (number == 0 and math.copysign(1, number) < 0) else 0
    number = abs(number)
    if number == 0 or number == math.inf:
        return sign | (infinity if number else 0)
    exact = Fraction(number)
    exponent = max(exact.numerator.bit_length() - exact.denominator.bit_length() - 1, 1 - bias)
    while exact >= Fraction(2) ** (exponent + 1):
        exponent += 1
    steps = round(exact / Fraction(2) ** (exponent - fraction_bits))  # Python's ties go to even as well
    return sign | min(steps + (exponent + bias - 1 << fraction_bits), infinity)


def awkward(type: str) -> list[int]:
    """Operands of a type, as bits."""
    if type == "pred":
        return [0, 1]
    if type[0] in "sub":
        top = 1 << width(type) - 1
        return [
            0,
            1,
            2,
            7,
            top - 1,
            top,
            top + 1,
            2 * top - 1,
            2 * top - 2,
            2 * top - 7,
            0xA5A5A5A5A5A5A5A5 % (2 * top),
        ]
    numbers = [0.0, 1.0, 1.5, 2.5, 0.5, 3.0, 0.1, 1e-3, 7e4, 2.0**31, 2.0**63, 3e38, math.inf, math.nan]
    bits = [encode(sign * number, type) for number in numbers for sign in (1, -1)]
    tiny = [1, 3, 1 << FORMATS[type][0], (1 << FORMATS[type][0]) - 1]
    return [*bits, *tiny, encode(1, type) + 1, encode(1, type) - 1]


# -- meanings: from numbers to a number


def in_floats(exact: Callable[..., Number]) -> Callable[..., Number]:
    """Arithmetic: exact where that is a number, else as IEEE 754 has it for zeros, infinities and nan."""

    def run(*numbers: Number) -> Number:
        if all(isinstance(number, Fraction) for number in numbers):
            result = exact(*numbers)
            return result if result else 0.0
        with np.errstate(all="ignore"):
            return float(exact(*(np.float64(float(number)) for number in numbers)))

    return run


def root(x: Number) -> Number:
    """A number that rounds as the root does: its first 130 bits, and whether there are more."""
    if not isinstance(x, Fraction):
        return x if x == 0 or x == math.inf else math.nan
    if x < 0:
        return math.nan
    scaled = x.numerator * x.denominator << 260
    whole = math.isqrt(scaled)
    return Fraction(2 * whole + (whole * whole != scaled), x.denominator << 131)


def fused(a: Number, b: Number, c: Number) -> Number:
    """Rounded once; of products that are infinite or nan what IEEE 754 has."""
    if all(math.isfinite(number) for number in (a, b, c)):
        exact = Fraction(a) * Fraction(b) + Fraction(c)
        return exact or math.copysign(0.0, math.copysign(1, a) * math.copysign(1, b)) + math.copysign(0.0, c)
    return float(in_floats(operator.mul)(a, b) if not math.isfinite(a) or not math.isfinite(b) else 0) + float(c)


def truncated(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def extremum(better: Callable[[Number, Number], bool]) -> Callable[[Number, Number], Number]:
    """A number rather than a nan; -0 is less than +0."""

    def run(a: Number, b: Number) -> Number:
        if a != a or b != b:
            return b if a != a else a
        if a == b == 0:
            return a if better(math.copysign(1, a), math.copysign(1, b)) else b
        return a if better(a, b) else b

    return run


def toward(rounding: Callable[[Number], int]) -> Callable[[Number], Number]:
    """A float that is whole; what rounds to zero keeps its sign."""

    def run(a: Number) -> Number:
        return a if not isinstance(a, Fraction) else rounding(a) or math.copysign(0.0, a)

    return run


def saturated(a: Number, type: str) -> int:
    bits, signed = width(type), type[0] == "s"
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    if a != a:
        return 0
    return high if a > high else low if a < low else int(a)


def permuted(a: int, b: int, selector: int) -> int:
    source, result = (a | b << 32).to_bytes(8, "little"), []
    for nibble in (selector >> shift & 15 for shift in (0, 4, 8, 12)):
        byte = source[nibble & 7]
        result.append((0xFF if byte & 0x80 else 0) if nibble & 8 else byte)
    return int.from_bytes(bytes(result), "little")


def inserted(field: int, base: int, start: int, length: int) -> int:
    mask = (1 << length) - 1 << start
    return base & ~mask | field << start & mask


INTEGERS: dict[str, Callable[..., Number]] = {
    "add": operator.add, "sub": operator.sub, "mul.lo": operator.mul, "mul.wide": operator.mul, "max": max, "min": min,
    "neg": operator.neg, "abs": abs, "div": truncated, "rem": lambda a, b: a - b * truncated(a, b),
    "mad.lo": lambda a, b, c: a * b + c,
}  # fmt: skip
FLOATS: dict[str, Callable[..., Number]] = {
    "add.rn": in_floats(operator.add), "sub.rn": in_floats(operator.sub), "mul.rn": in_floats(operator.mul),
    "div.rn": in_floats(operator.truediv), "rcp.rn": in_floats(lambda a: 1 / a), "sqrt.rn": root, "fma.rn": fused,
    "neg": lambda a: -a, "abs": abs, "max": extremum(operator.gt), "min": extremum(operator.lt),
    "copysign": lambda sign, magnitude: abs(magnitude) if math.copysign(1, sign) > 0 else -abs(magnitude),
    "cvt.rmi": toward(math.floor), "cvt.rpi": toward(math.ceil), "cvt.rzi": toward(math.trunc),
    "cvt.rni": toward(round),
}  # fmt: skip
BITS: dict[str, Callable[..., Number]] = {
    "and": operator.and_, "or": operator.or_, "xor": operator.xor, "not": operator.invert,
}  # fmt: skip
COMPARISONS = {name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")}

Meaning = tuple[Callable[..., Number], list[str], str]
"""What an opcode computes, the types of its operands and that of its result."""


def meaning(opcode: str) -> Meaning | None:
    """What the manual says of an opcode; None if it touches more than registers of its own thread."""
    name, _, type = opcode.rpartition(".")
    kind = type[0]
    if name.startswith("setp."):
        comparison = name.removeprefix("setp.")
        if comparison in ("nan", "num"):
            return (lambda a, b: (a != a or b != b) == (comparison == "nan")), [type, type], "pred"
        plain, unordered = COMPARISONS[comparison[:2]], comparison.endswith("u") and kind == "f"
        return (lambda a, b: unordered if a != a or b != b else plain(a, b)), [type, type], "pred"
    if name == "selp":
        return (lambda yes, no, choice: yes if choice else no), [type, type, "pred"], type
    if name == "mov":
        return (lambda a: a), [type], type
    if name in ("shl", "shr"):
        shift = operator.lshift if name == "shl" else operator.rshift
        return (lambda a, amount: shift(a, min(amount, 64))), [type, "u32"], type
    if name == "mul.hi":
        return (lambda a, b: a * b >> width(type)), [type, type], type
    if name == "mul.wide":
        return operator.mul, [type, type], f"{kind}{2 * width(type)}"
    if name.startswith("cvt."):
        *_, target = name.split(".")
        if kind == target[0] == "f" and type == target:
            return FLOATS[name.removesuffix("." + target)], [type], type
        if name.startswith("cvt.rzi"):
            return (lambda a: saturated(a, target)), [type], target
        return (lambda a: a), [type], target
    if opcode == "prmt.b32":
        return permuted, ["b32", "b32", "b32"], "b32"
    if opcode == "clz.b64":
        return (lambda a: 64 - a.bit_length()), ["b64"], "u32"
    if opcode == "bfi.b64":
        return (lambda a, b: inserted(a, b, 0, 32)), ["b64", "b64"], "b64"
    table = BITS if kind in "bp" else FLOATS if kind == "f" else INTEGERS
    if name not in table:
        return None
    if type == "pred" and name == "not":
        return operator.not_, [type], type
    unary = {"neg", "abs", "not", "rcp.rn", "sqrt.rn"}
    return table[name], [type] * (3 if name in ("fma.rn", "mad.lo") else 1 if name in unary else 2), type


# -- running


def register(type: str) -> tuple[str, int]:
    """How registers for a type are declared, and the bytes by which they are read and written."""
    bits = max(width(type), 16) if type != "pred" else 32
    return {"f32": "f32", "f64": "f64"}.get(type, f"b{bits}"), bits // 8


def kernel(opcode: str, operands: list[str], result: str) -> str:
    """Reads operands from rows of memory, one after the other, and writes what comes of them into the last."""
    lines = ["ld.param.u64 %d1, [a];", "ld.param.u64 %d4, [n];", "mov.u32 %r1, %tid.x;", "mul.wide.u32 %d2, %r1, 8;",
             "add.s64 %d3, %d1, %d2;"]  # fmt: skip
    declared = [".reg .b32 %r<9>; .reg .b64 %d<9>;"]
    for number, type in enumerate([*operands, result]):
        kind, _ = register(type)
        declared.append(f".reg .{kind} %x{number}_<2>;")
        if type == "pred":
            declared.append(f".reg .pred %p{number}_<2>;")
    names = [f"%{'p' if type == 'pred' else 'x'}{number}_1" for number, type in enumerate([*operands, result])]
    for number, type in enumerate(operands):
        lines += [f"ld.global.{register(type)[0]} %x{number}_1, [%d3];", "add.s64 %d3, %d3, %d4;"]
        if type == "pred":
            lines.append(f"setp.ne.s32 {names[number]}, %x{number}_1, 0;")
    given = [*names[:-1], *(["0", "32"] if opcode == "bfi.b64" else [])]
    lines.append(f"{opcode} {', '.join([names[-1], *given])};")
    if result == "pred":
        lines.append(f"selp.u32 %x{len(operands)}_1, 1, 0, {names[-1]};")
    lines.append(f"st.global.{register(result)[0]} [%d3], %x{len(operands)}_1;")
    body = "\n".join([*declared, *lines])
    return f".visible .entry k(\n.param .u64 a,\n.param .u64 n\n)\n{{{body}\nret;\n\n}}"


def cases(opcode: str, types: list[str]) -> list[tuple[int, ...]]:
    amounts = [0, 1, 7, 15, 16, 31, 32, 63, 64, 1000]
    choices = [amounts if opcode[:3] in ("shl", "shr") and place else awkward(type) for place, type in enumerate(types)]
    found = list(itertools.product(*choices))
    if len(found) > 500:
        found = found[:: len(found) // 500 | 1]
    if opcode.startswith(("div.s", "div.u", "rem")):
        lowest = 1 << width(types[0]) - 1
        overflows = (lowest, 2 * lowest - 1) if types[0][0] == "s" else ()
        found = [pair for pair in found if pair[1] and pair != overflows]
    return found


def same(got: int, wanted: int, type: str) -> bool:
    return got == wanted or (type[0] == "f" and math.isnan(as_float(got, type)) and math.isnan(as_float(wanted, type)))


def as_float(bits: int, type: str) -> float:
    number = decode(bits, type)
    return float(number)


COMPUTING = {
    opcode: found for opcode in OPCODES if opcode not in MATRIX_OPCODES and (found := meaning(opcode)) is not None
}


@pytest.mark.parametrize("family", sorted({opcode.partition(".")[0] for opcode in COMPUTING}))
def test_it_computes_what_the_manual_says(family: str) -> None:
    for opcode, (compute, types, result) in COMPUTING.items():
        if opcode.partition(".")[0] != family:
            continue
        rows = cases(opcode, types)
        memory = np.zeros((len(types) + 1, len(rows)), np.uint64)
        memory[:-1] = np.array(rows, np.uint64).T
        code = parse_ptx(kernel(opcode, types, result))["k"]
        run_ptx(code, [memory.reshape(-1).view(np.uint8), 8 * len(rows)], (1, 1, 1), (len(rows), 1, 1))
        size = 8 * register(result)[1]
        for given, got in zip(rows, memory[-1].tolist(), strict=True):
            number = compute(*(decode(bits, type) for bits, type in zip(given, types, strict=True)))
            wanted = encode(number, result)
            if result[0] in "su" and width(result) < size:  # a narrow number fills its register
                wanted = decode(wanted, result) & (1 << size) - 1
            assert same(got, wanted, result), f"{opcode} of {[hex(bits) for bits in given]}: {wanted:#x}, got {got:#x}"


LOADS = [opcode for opcode in OPCODES if opcode.startswith("ld.")]


@pytest.mark.parametrize("opcode", LOADS)
def test_it_moves_the_bits_of_its_type(opcode: str) -> None:
    """A load and the store of the same type, from memory or of a parameter."""
    type = opcode.rpartition(".")[2]
    count = int(found[1]) if (found := re.search(r"\.v(\d)\.", opcode)) else 1
    store = opcode.replace("ld.", "st.").replace(".nc", "").replace("param", "global")
    through = ""
    if "shared" in opcode:  # from memory, through what is shared, to memory
        through = (
            f"{opcode.replace('shared', 'global')} {{x}}, [%d2]; {store.replace('.global', '.shared')} [%r2], {{x}};"
        )
        store = store.replace("shared", "global")
    given = np.array(awkward(type), np.uint64).astype(f"u{width(type) // 8}")
    given = given[: given.size // count * count]
    registers = f"{{{', '.join(f'%x{number}' for number in range(count))}}}" if count > 1 else "%x1"
    for values in given.reshape(-1, 1) if "param" in opcode else [given]:
        source = "[v]" if "param" in opcode else "[%r2]" if through else "[%d2]"
        code = parse_ptx(f""".visible .entry k(\n.param .u64 a,\n.param .u64 b,\n.param .{type} v\n)
{{.reg .b32 %r<9>; .reg .b64 %d<9>; .reg .{register(type)[0]} %x<9>;
.shared .align 16 .b8 s[4096];
mov.u32 %r1, %tid.x; mul.wide.u32 %d1, %r1, {count * values.itemsize};
mov.u32 %r2, s; cvt.u32.u64 %r3, %d1; add.s32 %r2, %r2, %r3;
ld.param.u64 %d2, [a]; add.s64 %d2, %d2, %d1; ld.param.u64 %d3, [b]; add.s64 %d3, %d3, %d1;
{through.replace("{x}", registers)}
{opcode} {registers}, {source}; {store} [%d3], {registers};\nret;\n\n}}""")
        result = np.zeros_like(values)
        number = values.view(DTYPES[type])[0]
        threads = values.size // count
        run_ptx(code["k"], [values.view(np.uint8), result.view(np.uint8), number], (1, 1, 1), (threads, 1, 1))
        assert result.tolist() == values.tolist()


def test_every_opcode_is_tested() -> None:
    elsewhere = "".join((Path(__file__).parent / f"test_{name}.py").read_text() for name in ("ptx", "ptx_matrices"))
    tested = {*COMPUTING, *LOADS, *(opcode.replace("ld", "st") for opcode in LOADS)}
    assert [opcode for opcode in OPCODES if opcode not in tested and f"{opcode} " not in elsewhere] == []


def test_numbers_are_the_machine_s() -> None:
    """Decoding and encoding, on which all rests, agree with how Python stores floats."""
    for type, code in (("f16", "e"), ("f32", "f"), ("f64", "d")):
        for bits in awkward(type):
            packed = bits.to_bytes(width(type) // 8, "little")
            (value,) = struct.unpack(code, packed)
            assert same(encode(value, type), bits, type)
            assert same(encode(decode(bits, type), type), bits, type)
