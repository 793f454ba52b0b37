"""A strict interpreter of PTX in NumPy: it runs the very text that NVRTC makes, without a GPU.

All threads of a grid run at once, one NumPy array for each register, which holds bits: an instruction says as what they
are read, so nothing is converted by accident. Each thread has a position in the program; at every step the threads at
the lowest position go on, so those that took different ways meet again where the ways do. At shuffles and votes threads
wait until all 32 lanes of their warp are there, and every access to memory must lie inside a buffer and be aligned.

Only opcodes with a row in `OPCODES` run, with all their modifiers spelt out: an unknown one is an error, never a guess.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tests.backends.cuda.ptx_machine import (
    DTYPES,
    MIDDLE,
    WARP,
    Array,
    Block,
    Instruction,
    Kernel,
    Machine,
    PtxError,
    Shared,
    parse_ptx,
)
from tests.backends.cuda.ptx_opcodes import OPCODES

__all__ = ["OPCODES", "Kernel", "PtxError", "parse_ptx", "run_on", "run_ptx"]


LONGEST = 3_000_000
"""Instructions after which a kernel is taken for one that never ends."""


def run_ptx(kernel: Kernel, arguments: Sequence[Any], grid: tuple[int, int, int], block: tuple[int, int, int]) -> None:
    """Run a kernel. Arguments are numbers, or buffers: arrays of bytes, or of those with the byte where they start."""
    memory: dict[int, Block] = {}
    values: dict[str, Any] = {}
    for (name, type), argument in zip(kernel.parameters.items(), arguments, strict=True):
        if isinstance(argument, tuple | np.ndarray) and type == "u64":
            content, start = argument if isinstance(argument, tuple) else (argument, 0)
            key = len(memory) + 1
            memory[key] = Block(content)
            argument = (key << 40) + MIDDLE + start
        values[name] = argument
    run_on(memory, kernel, values, grid, block)


def run_on(
    memory: dict[int, Block], kernel: Kernel, arguments: Mapping[str, Any], grid: tuple[int, int, int],
    block: tuple[int, int, int], on_chip: int = 0,
) -> Counter[str]:  # fmt: skip
    """Run a kernel on memory, which is known by the upper part of its addresses, with so many bytes ``on_chip``.

    Gives what warps did, as `Machine.issued`.
    """
    values = {name: np.asarray(arguments[name]).astype(DTYPES[type]) for name, type in kernel.parameters.items()}
    special = _special(grid, block)
    threads = np.arange(special["%tid.x"].size)
    workers = threads // WARP if block[0] == WARP else threads
    blocks, size = math.prod(grid), math.prod(block)
    shared = [Shared.of(on_chip if nbytes < 0 else nbytes, blocks) for nbytes in kernel.shared.values()]
    if block[0] == WARP and block[2] > 1:
        workers = threads // size  # a team of warps is one
    machine = Machine(kernel, memory, values, special, workers, shared=shared, block_threads=size)
    machine.committed = np.zeros(threads.size, np.int64)
    try:
        _run(machine)
    finally:
        for used in memory.values():
            used.rest()
    return machine.issued


def _run(machine: Machine) -> None:
    kernel = machine.kernel
    positions = np.zeros(machine.threads, np.int64)
    end, left = len(kernel.instructions), LONGEST
    with np.errstate(all="ignore"):
        while (position := int(positions.min())) < end:
            here = positions == position
            there, others = np.flatnonzero(here), positions[~here]
            meeting = min(end, int(others.min())) if others.size else end
            while True:  # nobody else is on the way
                instruction = kernel.instructions[position]
                position += 1
                left -= 1
                if left == 0:
                    raise PtxError("a kernel that does not end")
                machine.active = there
                if instruction.guard:
                    taken = machine.read(instruction.guard.removeprefix("!"), "pred")
                    machine.active = there[~taken if instruction.guard[0] == "!" else taken]
                if instruction.opcode in MOVES or ".sync" in instruction.opcode:
                    positions[there] = position
                    _move(machine, positions, instruction)
                    break
                _step(machine, instruction)
                if position == meeting:
                    positions[there] = position
                    break
    if (positions > end).any():
        raise PtxError("a shuffle or vote that not all lanes of a warp take part in, or a barrier not all of a block")


MOVES = ("bra", "bra.uni", "ret")
"""What sends threads elsewhere, as all that waits for others may."""


def _move(machine: Machine, positions: Array, instruction: Instruction) -> None:
    """One of `MOVES`, or what threads do together; they stand behind it."""
    kernel, opcode = machine.kernel, instruction.opcode
    if opcode in ("bra", "bra.uni"):
        positions[machine.active] = kernel.labels[instruction.operands[0]]
    elif opcode == "ret":
        positions[machine.active] = len(kernel.instructions)
    elif opcode == "bar.sync":
        _gather(machine, positions, machine.block_threads)
        for memory in machine.shared:
            memory.meet_again(np.unique(machine.active // machine.block_threads))
    elif opcode == "bar.warp.sync":
        _gather(machine, positions)
        for memory in machine.shared:
            memory.meet_in_warps(np.unique(machine.active // WARP))
    else:
        _gather(machine, positions)
        _step(machine, instruction)


def _step(machine: Machine, instruction: Instruction) -> None:
    """What the active threads compute."""
    if instruction.opcode not in OPCODES:
        raise PtxError(f"unknown opcode {instruction.opcode} in {instruction.text!r}")
    if machine.active.size:
        machine.issued[instruction.opcode.partition(".")[0]] += machine.warps
        OPCODES[instruction.opcode](machine, *instruction.operands)


def _gather(machine: Machine, positions: Array, size: int = WARP) -> None:
    """Leave of the active threads the warps, or blocks, that are there whole, with those that have waited for them.

    The others wait: their position is one beyond the end, by which they are found again.
    """
    if not machine.active.size:
        return
    behind = int(positions[machine.active[0]])
    waits = len(machine.kernel.instructions) + behind
    is_there = positions == waits
    is_there[machine.active] = True
    there = np.flatnonzero(is_there)
    whole = np.bincount(there // size)[there // size] == size
    positions[there] = np.where(whole, behind, waits)
    machine.active = there[whole]


def _special(grid: tuple[int, int, int], block: tuple[int, int, int]) -> dict[str, Array]:
    shape = (*reversed(grid), *reversed(block))
    positions = dict(zip(("cz", "cy", "cx", "z", "y", "x"), np.indices(shape).reshape(6, -1), strict=True))
    special = {}
    for axis, (blocks, threads) in zip("xyz", zip(grid, block, strict=True), strict=True):
        special[f"%tid.{axis}"] = positions[axis]
        special[f"%ctaid.{axis}"] = positions["c" + axis]
        special[f"%ntid.{axis}"] = np.full(positions[axis].size, threads)
        special[f"%nctaid.{axis}"] = np.full(positions[axis].size, blocks)
    return special
