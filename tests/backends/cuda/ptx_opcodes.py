"""The opcodes that are known, each with all its modifiers: what it does to the registers of the active threads."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from jitflow.ir.ops import OPS
from tests.backends.cuda.ptx_copies import COPY_OPCODES
from tests.backends.cuda.ptx_machine import DTYPES, WARP, Array, Machine, PtxError
from tests.backends.cuda.ptx_matrices import MATRIX_OPCODES

__all__ = ["OPCODES"]

Run = Callable[..., None]


def _compute(type: str, function: Callable[..., Any]) -> Run:
    """All operands and the result have one type."""

    def run(machine: Machine, result: str, *operands: str) -> None:
        values = function(*(machine.read(operand, type) for operand in operands))
        machine.write(result, np.asarray(values).astype(DTYPES[type]))

    return run


def _shift(type: str, function: Callable[..., Any], most: str) -> Run:
    """The amount is a u32; one beyond the width shifts everything out."""
    bits = 8 * np.dtype(DTYPES[type]).itemsize

    def run(machine: Machine, result: str, value: str, amount: str) -> None:
        values, amounts = machine.read(value, type), machine.read(amount, "u32")
        shifted = function(values, np.minimum(amounts, bits - 1).astype(values.dtype))
        out = values >> np.asarray(bits - 1, values.dtype) if most == "sign" else np.zeros_like(values)
        machine.write(result, np.where(amounts >= bits, out, shifted).astype(DTYPES[type]))

    return run


def _wide(type: str) -> Run:
    def run(machine: Machine, result: str, a: str, b: str) -> None:
        twice = f"{type[0]}{2 * int(type[1:])}"
        left, right = (machine.read(operand, type).astype(DTYPES[twice]) for operand in (a, b))
        machine.write(result, left * right)

    return run


def _high(type: str) -> Run:
    def run(machine: Machine, result: str, a: str, b: str) -> None:
        product = machine.read(a, type).astype(object) * machine.read(b, type).astype(object)
        machine.write(result, np.asarray(product >> int(type[1:])).astype(DTYPES[type]))

    return run


def _compare(type: str, function: Callable[..., Any]) -> Run:
    def run(machine: Machine, result: str, a: str, b: str) -> None:
        machine.write(result, function(machine.read(a, type), machine.read(b, type)))

    return run


def _ordered(function: Callable[..., Any]) -> Callable[..., Any]:
    """A comparison of floats is false beside a nan, also that for being different."""
    return lambda a, b: function(a, b) & (a == a) & (b == b)


def _unordered(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda a, b: function(a, b) | (a != a) | (b != b)


def _extremum(function: Callable[..., Any], sign: Callable[..., Any]) -> Callable[..., Any]:
    """A number rather than a nan; -0 is less than +0."""

    def run(a: Array, b: Array) -> Array:
        zero = np.where(sign(np.signbit(a), np.signbit(b)), a.dtype.type(-0.0), a.dtype.type(0))
        return np.where((a == 0) & (b == 0), zero, function(a, b))

    return run


def _convert(target: str, source: str, function: Callable[[Array], Array] = lambda values: values) -> Run:
    def run(machine: Machine, result: str, operand: str) -> None:
        machine.write(result, function(machine.read_low(operand, source)).astype(DTYPES[target]))

    return run


def _to_integer(target: str, source: str) -> Run:
    """Towards zero; what is out of range becomes the nearest number, and nan 0."""
    limits = np.iinfo(DTYPES[target])

    def convert(values: Array) -> Array:
        exact = [0 if v != v else limits.max if v > limits.max else max(int(v) if abs(v) < 1e30 else limits.min,
                 limits.min) for v in values.tolist()]  # fmt: skip
        return np.array(exact, DTYPES[target])

    return _convert(target, source, convert)


def _select(type: str) -> Run:
    def run(machine: Machine, result: str, yes: str, no: str, condition: str) -> None:
        chosen = machine.read(condition, "pred")
        machine.write(result, np.where(chosen, machine.read(yes, type), machine.read(no, type)))

    return run


def _move(type: str) -> Run:
    """Also between a register and a pair of halves of it."""

    def run(machine: Machine, result: str, operand: str) -> None:
        half = {"b64": "b32", "b32": "b16"}.get(type, "")
        if result.startswith("{") and half:
            whole = machine.read(operand, type)
            bits = 8 * np.dtype(DTYPES[half]).itemsize
            low, high = result.strip("{} ").replace(" ", "").split(",")
            for register, part in ((low, whole), (high, whole >> np.asarray(bits, whole.dtype))):
                if register != "_":
                    machine.write(register, part.astype(DTYPES[half]))
        elif operand.startswith("{") and half:
            low, high = (machine.read(part, half).astype(DTYPES[type])
                         for part in operand.strip("{} ").replace(" ", "").split(","))  # fmt: skip
            machine.write(result, low | high << np.asarray(8 * np.dtype(DTYPES[half]).itemsize, high.dtype))
        else:
            machine.write(result, machine.read(operand, type))

    return run


def _load_parameter(type: str) -> Run:
    def run(machine: Machine, result: str, name: str) -> None:
        value, dtype = machine.arguments[name.strip("[]")], np.dtype(DTYPES[type])
        if value.dtype.itemsize < dtype.itemsize:
            raise PtxError(f"{name} does not have the width of {type}")
        machine.write(result, np.full(machine.active.size, np.frombuffer(value.tobytes(), dtype, 1)))

    return run


def _load(type: str, space: str = "global", count: int = 1, use: str = "read") -> Run:
    """``count`` numbers, aligned as a whole. What is used as constant the kernel promises not to write to."""

    def run(machine: Machine, result: str, address: str) -> None:
        dtype = np.dtype(DTYPES[type])
        values = np.zeros((machine.active.size, count), dtype)
        for memory, which, cells, workers in machine.places(space, address, count * dtype.itemsize, use):
            values[which] = memory.load(cells, workers).view(dtype)
        for register, part in zip(_registers(result, count), values.T, strict=True):
            machine.write(register, np.ascontiguousarray(part))

    return run


def _store(type: str, space: str = "global", count: int = 1) -> Run:
    def run(machine: Machine, address: str, operand: str) -> None:
        dtype = np.dtype(DTYPES[type])
        values = np.stack([machine.read_low(register, type) for register in _registers(operand, count)], 1)
        for memory, which, cells, workers in machine.places(space, address, count * dtype.itemsize, "written"):
            stored = np.ascontiguousarray(values[which]).view(np.uint8).reshape(-1, count * dtype.itemsize)
            memory.store(cells, stored, workers)

    return run


def _registers(operand: str, count: int) -> list[str]:
    """The registers of an operand: one, or as many as a vector has."""
    registers = [part.strip() for part in operand.strip("{}").split(",")] if count > 1 else [operand]
    if len(registers) != count:
        raise PtxError(f"expected {count} registers, got {operand}")
    return registers


def _exchange(machine: Machine, result: str, address: str, expected: str, replacement: str) -> None:
    """One thread after the other."""
    old, new = machine.read(expected, "u64"), machine.read(replacement, "u64")
    seen = np.zeros_like(old)
    for block, which, cells, _ in machine.places("global", address, 8, "written"):
        for thread, cell in zip(which, cells, strict=True):
            seen[thread] = block.content[cell].view(np.uint64)[0]
            if seen[thread] == old[thread]:
                block.content[cell] = new[thread : thread + 1].view(np.uint8)
    machine.write(result, seen)


def _warps(machine: Machine, mask: str) -> Array:
    """The active threads, one row a warp, all of whose lanes must be there."""
    if (machine.read(mask, "s32") != -1).any():
        raise PtxError("expected a shuffle or vote of all lanes")
    if machine.active.size % WARP or (np.diff(machine.active.reshape(-1, WARP)) != 1).any() or (
        machine.active[::WARP] % WARP
    ).any():  # fmt: skip
        raise PtxError("a shuffle or vote that not all lanes of a warp take part in")
    return machine.active.reshape(-1, WARP)


def _shuffle(source_of: Callable[[Array, Array], Array], last: int = WARP - 1) -> Run:
    """From other lanes, up to the ``last`` in the direction; a lane whose source is beyond that keeps its own."""

    def run(machine: Machine, result: str, *operands: str) -> None:
        inside, (value, lane, clamp, mask) = (operands[0], operands[1:]) if len(operands) == 5 else ("", operands)
        if (machine.read(clamp, "u32") != last).any():
            raise PtxError("expected a shuffle within whole warps")
        rows = _warps(machine, mask)
        own = np.tile(np.arange(WARP), len(rows))
        wanted = source_of(own, machine.read(lane, "u32").astype(np.int64) % WARP)
        fits = (wanted >= 0) & (wanted < WARP)
        start = np.repeat(np.arange(len(rows)) * WARP, WARP)
        shuffled = machine.read(value, "b32")[start + np.where(fits, wanted, own)]
        machine.write(result, shuffled)
        if inside:
            machine.write(inside, fits)

    return run


def _vote(give: Callable[[Array], Array], type: str) -> Run:
    def run(machine: Machine, result: str, operand: str, mask: str) -> None:
        rows = _warps(machine, mask)
        votes = machine.read(operand, "pred").reshape(rows.shape)
        machine.write(result, np.repeat(give(votes).astype(DTYPES[type]), WARP))

    return run


def _insert(machine: Machine, result: str, field: str, base: str, start: str, length: str) -> None:
    first, count = int(start), int(length)
    mask = np.uint64((1 << count) - 1)
    inserted = (machine.read(field, "b64") & mask) << np.uint64(first)
    machine.write(result, machine.read(base, "b64") & ~(mask << np.uint64(first)) | inserted)


def _permute(machine: Machine, result: str, low: str, high: str, selector: str) -> None:
    """Each byte of the result is one of the eight of both operands, or that one's sign."""
    source = machine.read(low, "b32").astype(np.uint64) | machine.read(high, "b32").astype(np.uint64) << np.uint64(32)
    chosen, permuted = machine.read(selector, "b32"), np.zeros(machine.active.size, np.uint32)
    for byte in range(4):
        nibble = chosen >> np.uint32(4 * byte) & np.uint32(15)
        picked = (source >> (8 * (nibble & np.uint32(7))).astype(np.uint64) & np.uint64(255)).astype(np.uint32)
        sign = np.where(picked >> np.uint32(7), np.uint32(255), np.uint32(0))
        permuted |= np.where(nibble >> np.uint32(3), sign, picked) << np.uint32(8 * byte)
    machine.write(result, permuted)


def _leading_zeros(machine: Machine, result: str, operand: str) -> None:
    counts = [64 - int(value).bit_length() for value in machine.read(operand, "b64")]
    machine.write(result, np.array(counts, np.uint32))


def _table() -> dict[str, Run]:
    table: dict[str, Run] = {}
    for bits in (16, 32, 64):
        s, u, b = f"s{bits}", f"u{bits}", f"b{bits}"
        table |= {f"{name}.{s}": _compute(s, function) for name, function in {
            "add": operator.add, "sub": operator.sub, "mul.lo": operator.mul, "max": np.maximum, "min": np.minimum,
            "neg": operator.neg, "abs": np.abs, "div": lambda a, b: (a - np.fmod(a, b)) // b, "rem": np.fmod,
            "mad.lo": lambda a, b, c: a * b + c,
        }.items()}  # fmt: skip
        table |= {f"{name}.{u}": _compute(u, function) for name, function in {
            "max": np.maximum, "min": np.minimum, "div": operator.floordiv, "rem": np.remainder,
        }.items()}  # fmt: skip
        table |= {f"{name}.{b}": _compute(b, function) for name, function in {
            "and": operator.and_, "or": operator.or_, "xor": operator.xor, "not": operator.invert,
        }.items()}  # fmt: skip
        table |= {f"shl.{b}": _shift(b, operator.lshift, "zero"), f"shr.{u}": _shift(u, operator.rshift, "zero"),
                  f"shr.{s}": _shift(s, operator.rshift, "sign")}  # fmt: skip
        table |= {f"mul.hi.{type}": _high(type) for type in (s, u)}
        for type in (s, u, b):
            table |= {f"{name}.{type}": make(type) for name, make in _EVERY_TYPE.items()}
            names = ("eq", "ne") if type == b else ("eq", "ne", "lt", "le", "gt", "ge")
            table |= {f"setp.{name}.{type}": _compare(type, getattr(operator, name)) for name in names}
    for type in ("f32", "f64"):
        table |= {f"{name}.rn.{type}": _compute(type, function) for name, function in {
            "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv, "sqrt": np.sqrt,
            "rcp": lambda a: 1 / a, "fma": lambda a, b, c: OPS["fma"].evaluate([a, b, c], {}, ()),  # type: ignore[misc]
        }.items()}  # fmt: skip
        table |= {f"{name}.{type}": _compute(type, function) for name, function in {
            "max": _extremum(np.fmax, operator.and_), "min": _extremum(np.fmin, operator.or_),
            "abs": np.abs, "neg": operator.neg, "copysign": lambda sign, magnitude: np.copysign(magnitude, sign),
        }.items()}  # fmt: skip
        table |= {f"cvt.{name}.{type}.{type}": _compute(type, function) for name, function in {
            "rmi": np.floor, "rpi": np.ceil, "rzi": np.trunc, "rni": np.rint,
        }.items()}  # fmt: skip
        table |= {f"{name}.{type}": make(type) for name, make in _EVERY_TYPE.items()}
        for name in ("eq", "ne", "lt", "le", "gt", "ge"):
            function = getattr(operator, name)
            table[f"setp.{name}.{type}"] = _compare(type, _ordered(function))
            table[f"setp.{name}u.{type}"] = _compare(type, _unordered(function))
        table[f"setp.nan.{type}"] = _compare(type, lambda a, b: (a != a) | (b != b))
        table[f"setp.num.{type}"] = _compare(type, lambda a, b: (a == a) & (b == b))
        for integer in (f"{kind}{bits}" for kind in "su" for bits in (8, 16, 32, 64)):
            table[f"cvt.rn.{type}.{integer}"] = _convert(type, integer)
            table[f"cvt.rzi.{integer}.{type}"] = _to_integer(integer, type)
    integers = [f"{kind}{bits}" for kind in "su" for bits in (8, 16, 32, 64)]
    table |= {f"cvt.{target}.{source}": _convert(target, source) for target in integers for source in integers}
    table |= {f"{name}.pred": _compute("pred", function) for name, function in {
        "and": operator.and_, "or": operator.or_, "xor": operator.xor, "not": operator.invert, "mov": np.asarray,
    }.items()}  # fmt: skip
    return table | {
        "mul.wide.u16": _wide("u16"), "mul.wide.s16": _wide("s16"), "mul.wide.u32": _wide("u32"),
        "mul.wide.s32": _wide("s32"), "cvt.f64.f32": _convert("f64", "f32"), "cvt.rn.f32.f64": _convert("f32", "f64"),
        "cvt.f32.f16": _convert("f32", "f16"), "cvt.rn.f16.f32": _convert("f16", "f32"),
        "ld.param.u8": _load_parameter("u8"), "ld.param.s8": _load_parameter("s8"),
        "cvta.to.global.u64": _move("u64"), "atom.global.cas.b64": _exchange, "bfi.b64": _insert,
        "prmt.b32": _permute,
        "clz.b64": _leading_zeros,
        "shfl.sync.down.b32": _shuffle(operator.add), "shfl.sync.up.b32": _shuffle(operator.sub, 0),
        "shfl.sync.bfly.b32": _shuffle(operator.xor),
        "shfl.sync.idx.b32": _shuffle(lambda own, lane: lane),
        "vote.sync.any.pred": _vote(lambda votes: votes.any(1), "pred"),
        "vote.sync.ballot.b32": _vote(lambda votes: votes @ (1 << np.arange(WARP)), "u32"),
    }  # fmt: skip


_EVERY_TYPE: dict[str, Callable[[str], Run]] = {
    "mov": _move, "selp": _select, "ld.param": _load_parameter,
}  # fmt: skip


def _accesses() -> dict[str, Run]:
    """Loads and stores of one number, or of 2 or 4 of at most 16 bytes."""
    table: dict[str, Run] = {}
    types = ("f32", "f64", *(f"{kind}{bits}" for kind in "sub" for bits in (8, 16, 32, 64)))
    for type, count in itertools.product(types, (1, 2, 4)):
        if count * np.dtype(DTYPES[type]).itemsize <= 16:
            name = f"{f'v{count}.' if count > 1 else ''}{type}"
            table[f"ld.global.nc.{name}"] = _load(type, count=count, use="constant")
            for space in ("global", "shared"):
                table[f"ld.{space}.{name}"] = _load(type, space, count)
                table[f"st.{space}.{name}"] = _store(type, space, count)
    return table


OPCODES = _table() | _accesses() | COPY_OPCODES | MATRIX_OPCODES
