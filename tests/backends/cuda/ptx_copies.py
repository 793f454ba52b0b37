"""The opcodes of copies from memory to what the threads of a block share, which arrive when they are waited for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.backends.cuda.ptx_machine import Copy, Machine, PtxError

__all__ = ["COPY_OPCODES"]

Run = Callable[..., None]


def _copy(size: int) -> Run:
    """From memory to what is shared, where it arrives when it is waited for."""

    def run(machine: Machine, target: str, source: str, nbytes: str) -> None:
        if int(nbytes) != size:
            raise PtxError(f"expected {size} bytes, got {nbytes}")
        values = np.zeros((machine.active.size, size), np.uint8)
        for block, which, cells, workers in machine.places("global", source, size):
            values[which] = block.load(cells, workers)
        for memory, which, cells, threads in machine.places("shared", target, size):
            machine.copies.append(Copy(memory, threads, machine.committed[threads], cells, values[which]))

    return run


def _commit(machine: Machine) -> None:
    machine.committed[machine.active] += 1


def _arrive(machine: Machine, left: str = "") -> None:
    """Wait for all copies, or for those of all groups but the last that are ``left``."""
    waiting = np.zeros(machine.threads, np.bool_)
    waiting[machine.active] = True
    copies, machine.copies = machine.copies, []
    for copy in copies:
        done = waiting[copy.threads]
        if left:
            done &= copy.groups < machine.committed[copy.threads] - int(left)
        copy.memory.store(copy.cells[done], copy.values[done], copy.threads[done])
        late = ~done
        if late.any():
            machine.copies.append(
                Copy(copy.memory, copy.threads[late], copy.groups[late], copy.cells[late], copy.values[late])
            )


COPY_OPCODES: dict[str, Run] = {
    "cp.async.cg.shared.global": _copy(16), "cp.async.commit_group": _commit, "cp.async.wait_all": _arrive,
    "cp.async.wait_group": _arrive,
}  # fmt: skip
