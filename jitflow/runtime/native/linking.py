"""Object code into memory: the process's linker, for what is compiled now and for what was compiled before.

What is known of this platform's files is put there without LLVM (`object_files.py`): a process that finds its code on
disk does not import it. All else LLVM links. A linker of its is kept for the process, since making one costs as much as
compiling a small kernel. Linking an object into the shared ORC linker takes a tenth of the time that an MCJIT engine
for each module takes (0.1 ms against 1.0 ms), and an unknown symbol is an error there instead of the end of the
process. JITLink lays a library's sections out as one piece: laid out one by one, they end up further apart than code
can reach where other libraries have torn memory to pieces (PyTorch has), and the process ends.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache, cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from jitflow.records import dataclass
from jitflow.runtime.native import object_files

if TYPE_CHECKING:
    from jitflow.machines.processor import CodeTarget

__all__ = ["LINKER", "LINKER_SERVES", "Linked", "initialise"]

_NOTHING: Mapping[str, int] = MappingProxyType({})
LINKER_SERVES = 128
"""Libraries for each linker. It frees their code with them, but keeps some 10 KiB of names for each until it goes."""


@dataclass(frozen=True, eq=False)
class Linked:
    """Code in memory, what keeps it there, and where its functions are."""

    owner: object
    addresses: dict[str, int]


class Linker:
    """The process's linker. Everything is made at first use; its lock is that of all work with LLVM."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._linked = 0
        self._current: Any = None

    @cached_property
    def _target(self) -> Any:
        import llvmlite.binding as llvm

        initialise()
        return llvm.Target.from_triple(llvm.get_process_triple())

    def make_machine(self, level: int, wanted: CodeTarget) -> Any:
        """A target machine that generates code of a level of optimisation."""
        from jitflow.machines import processor

        target = self._target if wanted is processor.here() else _foreign(wanted.triple)
        return target.create_target_machine(
            cpu=wanted.cpu, features=wanted.switches, opt=level, reloc="pic", codemodel="small"
        )

    def _linker(self) -> Any:
        """The linker for the next library; one that has served long enough goes with the last of its libraries."""
        import llvmlite.binding as llvm

        self._linked += 1
        if self._linked % LINKER_SERVES == 1:
            machine = self._target.create_target_machine(reloc="pic", codemodel="small")  # it compiles nothing
            self._current = llvm.create_lljit_compiler(machine, use_jit_link=True)
        return self._current

    def link(self, codes: Sequence[bytes], names: Sequence[str], outside: Mapping[str, int] = _NOTHING) -> Linked:
        """Put object code into memory, as one library. It stays there as long as the result lives.

        ``names`` are those of its functions that are asked for; ``outside`` tells where others are that it calls.

        Raises RuntimeError where the code refers to what there is not.
        """
        if object_files.are_known():
            with suppress(object_files.Unknown):
                return Linked(*object_files.load(codes, names, outside))
        import llvmlite.binding as llvm

        builder = llvm.JITLibraryBuilder()
        for code in codes:
            builder.add_object_img(code)
        builder.add_current_process()
        for name, address in outside.items():
            builder.import_symbol(name, address)
        for name in names:
            builder.export_symbol(name)
        with self.lock:
            linker = self._linker()
            tracker = builder.link(linker, f"jitflow.{self._linked}")
        return Linked(tracker, {name: int(tracker[name]) for name in names})


@cache
def initialise() -> None:
    """Let LLVM know this machine's kind of processor."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


def _foreign(triple: str) -> Any:
    """LLVM's target for another machine than this one."""
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple(triple)


LINKER = Linker()


if hasattr(os, "register_at_fork"):
    # Between uses: what one of them holds, nobody would give back in the child.
    os.register_at_fork(
        before=LINKER.lock.acquire, after_in_parent=LINKER.lock.release, after_in_child=LINKER.lock.release
    )
