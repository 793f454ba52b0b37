"""The opcodes of tensor cores: matrices that lie in pieces in the registers of a warp.

A warp's product of matrices is exact before it is rounded once, which no device does: those round sums in an order and
to a width of their own. So what is computed with them is compared with a tolerance.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.backends.cuda.ptx_machine import WARP, Array, Machine, PtxError

__all__ = ["MATRIX_OPCODES"]

LANE = np.arange(WARP)
GROUP, THREAD = LANE // 4, LANE % 4
"""The row of a piece of 8, and which quarter of it a lane has."""


def _names(operand: str) -> list[str]:
    return [name.strip() for name in operand.strip("{}").split(",")]


def _whole_warps(machine: Machine) -> int:
    """How many warps are there, all of whose lanes must be."""
    if machine.active.size % WARP or (machine.active.reshape(-1, WARP) % WARP != LANE).any():
        raise PtxError("tensor cores want all lanes of a warp")
    return machine.active.size // WARP


def _read_matrices(count: int, turned: bool) -> Callable[..., None]:
    """Matrices of 8 x 8 numbers of 16 bits, whose rows are where eight lanes each say."""

    def run(machine: Machine, result: str, address: str) -> None:
        warps = _whole_warps(machine)
        rows = np.zeros((machine.active.size, 16), np.uint8)
        for memory, which, cells, threads in machine.places("shared", address, 16):
            rows[which] = memory.load(cells, threads)
        matrices = rows.view(np.uint16).reshape(warps, 4, 8, 8)
        if turned:
            matrices = matrices.swapaxes(2, 3)
        pairs = matrices[:, :, GROUP[:, None], 2 * THREAD[:, None] + [0, 1]]  # warp, matrix, lane, two numbers
        for number, register in enumerate(_names(result)[:count]):
            bits = np.ascontiguousarray(pairs[:, number].reshape(-1, 2)).view(np.uint32)[:, 0]
            machine.write(register, bits)

    return run


def _numbers(bits: Array, type: str) -> Array:
    """Registers of 32 bits, along the last axis, as the numbers in them."""
    if type == "tf32":
        return (bits & np.uint32(0xFFFFE000)).view(np.float32)[..., None].astype(np.float64)
    halves = np.ascontiguousarray(bits).view(np.uint16).reshape(*bits.shape, 2)
    if type == "f16":
        return halves.view(np.float16).astype(np.float64)
    return (halves.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)


def _multiply(type: str) -> Callable[..., None]:
    """16 rows, 8 columns, and as many steps as 8 times what a register holds."""
    held = 1 if type == "tf32" else 2
    steps = 8 * held

    def run(machine: Machine, result: str, left: str, right: str, before: str) -> None:
        warps = _whole_warps(machine)

        def registers(operand: str, kind: str) -> Array:
            return np.stack([machine.read(name, kind).reshape(warps, WARP) for name in _names(operand)], -1)

        a, b = (_numbers(registers(operand, "b32"), type) for operand in (left, right))
        matrix, other = np.zeros((warps, 16, steps)), np.zeros((warps, steps, 8))
        for register in range(4):
            row, first = GROUP + 8 * (register % 2), held * THREAD + 4 * held * (register // 2)
            for part in range(held):
                matrix[:, row, first + part] = a[:, :, register, part]
        for register in range(2):
            first = held * THREAD + 4 * held * register
            for part in range(held):
                other[:, first + part, GROUP] = b[:, :, register, part]
        sums = matrix @ other
        added = registers(before, "f32").astype(np.float64)
        for register, name in enumerate(_names(result)):
            mine = sums[:, GROUP + 8 * (register // 2), 2 * THREAD + register % 2]
            machine.write(name, (mine + added[:, :, register]).astype(np.float32).reshape(-1))

    return run


def _as_tf32(machine: Machine, result: str, operand: str) -> None:
    """To 10 bits of fraction; the nearest, and away from zero where two are."""
    bits = machine.read(operand, "b32")
    finite = (bits & np.uint32(0x7F800000)) != 0x7F800000
    rounded = (bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)
    machine.write(result, np.where(finite, rounded, bits).astype(np.uint32))


MATRIX_OPCODES: dict[str, Callable[..., None]] = {
    "ldmatrix.sync.aligned.m8n8.x4.shared.b16": _read_matrices(4, False),
    "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16": _read_matrices(4, True),
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32": _multiply("f16"),
    "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32": _multiply("bf16"),
    "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32": _multiply("tf32"),
    "cvt.rna.tf32.f32": _as_tf32,
}
