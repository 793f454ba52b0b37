"""LLVM in this process: the target, the passes, and the linker that puts object code into memory.

Target machines and a linker are kept for the process, since making them costs as much as compiling a small kernel.
A lock keeps compilations of several threads apart. The modules of one program are compiled at the same time, by as
many threads as there are processors: each module has an LLVM context of its own, and each thread a target machine.

Linking an object into the shared ORC linker takes a tenth of the time that an MCJIT engine for each module takes
(0.1 ms against 1.0 ms), an unknown symbol is an error there instead of the end of the process, and the object code is
at hand for a cache on disk. JITLink lays a library's sections out as one piece: laid out one by one, they end up
further apart than code can reach where other libraries have torn memory to pieces (PyTorch has), and the process ends.
"""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import llvmlite.binding as llvm

from jitflow import processor
from jitflow.backends.llvm.at_once import LIBRARY_LOCK, at_once, emit_object, run_passes
from jitflow.backends.llvm.module import ModuleCode, Work

__all__ = ["ENGINE", "Engine"]

_LEVELS: dict[Work, int] = {"calls": 0, "turns": 1, "vectors": 1, "loops": 2}
"""Levels of code generation. For straight vector code, level 2 gives what level 1 gives; level 0 spills everything."""


LINKER_SERVES = 128
"""Libraries for each linker. It frees their code with them, but keeps some 10 KiB of names for each until it goes."""


class Engine:
    """The process's compiler. Everything is made at first use."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._linked = 0
        self._current_linker: Any = None
        self._idle: defaultdict[Work, list[Any]] = defaultdict(list)
        self._shared: dict[str, bytes] = {}

    @cached_property
    def _target(self) -> Any:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        return llvm.Target.from_triple(llvm.get_process_triple())

    def _make_machine(self, level: int) -> Any:
        return self._target.create_target_machine(
            cpu=processor.name(), features=processor.features().flatten(), opt=level, reloc="pic", codemodel="small"
        )

    @contextmanager
    def _machine(self, work: Work) -> Iterator[Any]:
        """A target machine for a kind of module, which keeps what it learns about a set of function attributes."""
        idle = self._idle[work]
        try:
            machine = idle.pop()
        except IndexError:
            machine = self._make_machine(_LEVELS[work])
        yield machine
        idle.append(machine)

    def _linker(self) -> Any:
        """The linker for the next library; one that has served long enough goes with the last of its libraries."""
        self._linked += 1
        if self._linked % LINKER_SERVES == 1:
            machine = self._make_machine(_LEVELS["vectors"])
            self._current_linker = llvm.create_lljit_compiler(machine, use_jit_link=True)
        return self._current_linker

    @cached_property
    def header(self) -> str:
        """The lines of a module that name the target."""
        with self.lock, self._machine("vectors") as machine:
            return f'target datalayout = "{machine.target_data}"\ntarget triple = "{llvm.get_process_triple()}"'

    @cached_property
    def attributes(self) -> str:
        """Attributes of every function: code generation may use vectors as wide as the CPU has them."""
        width = 512 if processor.has_features("avx512f") else 256 if processor.has_features("avx2") else 128
        return f'nounwind "prefer-vector-width"="{width}"'

    def generate(self, modules: Sequence[ModuleCode]) -> list[bytes]:
        """Object code of the modules. Raises RuntimeError where LLVM refuses one."""
        with _keeping_selections():
            return at_once(self._object, modules)

    def _object(self, code: ModuleCode) -> bytes:
        """The object code of a module; that which many programs have is generated once."""
        if code.text in self._shared:
            return self._shared[code.text]
        with self._machine(code.work) as machine, self._optimised(code, machine) as module:
            made = emit_object(machine, module)
        if code.shared:
            self._shared[code.text] = made
        return made

    def assembly(self, modules: Sequence[ModuleCode]) -> list[str]:
        """The assembly text of the modules."""
        with _keeping_selections():
            return [self._assembly(module) for module in modules]

    def _assembly(self, code: ModuleCode) -> str:
        with self._machine(code.work) as machine, self._optimised(code, machine) as module:
            return str(machine.emit_assembly(module))

    @contextmanager
    def _optimised(self, code: ModuleCode, machine: Any) -> Iterator[Any]:
        """The module, in a context of its own. LLVM's passes run on scalar loops; all else is as it should be.

        It goes before its context: where an exception holds both, the garbage collector might take them the other way
        round, and the process ends.
        """
        with llvm.create_context() as context, llvm.parse_assembly(code.text, context) as module:
            if code.work == "loops":
                options = llvm.create_pipeline_tuning_options(speed_level=2)
                options.loop_vectorization = options.slp_vectorization = True
                options.loop_interleaving = options.loop_unrolling = True
                builder = llvm.create_pass_builder(machine, options)
                run_passes(builder.getModulePassManager(), module, builder)
            yield module

    def link(self, codes: Sequence[bytes], names: tuple[str, ...]) -> Linked:
        """Put object code into memory, as one library. It stays there as long as the result lives."""
        builder = llvm.JITLibraryBuilder()
        for code in codes:
            builder.add_object_img(code)
        builder.add_current_process()
        for name in names:
            builder.export_symbol(name)
        linker = self._linker()
        tracker = builder.link(linker, f"jitflow.{self._linked}")
        return Linked(tracker, {name: int(tracker[name]) for name in names})


@contextmanager
def _keeping_selections() -> Iterator[None]:
    """Keep code generation from making branches of selections in loops.

    It expects them to be foretold, which the smaller of two elements is not. The switch is one of the process.
    """
    affected = llvm.get_process_triple().startswith("x86_64")
    if affected:
        llvm.set_option("jitflow", "-x86-cmov-converter=false")
    try:
        yield
    finally:
        if affected:
            llvm.set_option("jitflow", "-x86-cmov-converter=true")


@dataclass(frozen=True, eq=False)
class Linked:
    """Code in memory, and where its functions are."""

    tracker: Any
    addresses: dict[str, int]


ENGINE = Engine()


def _before_fork() -> None:
    ENGINE.lock.acquire()
    LIBRARY_LOCK.__enter__()


def _after_fork() -> None:
    LIBRARY_LOCK.__exit__(None, None, None)
    ENGINE.lock.release()


if hasattr(os, "register_at_fork"):
    # Between compilations: what one of them holds, here or in LLVM, nobody would give back in the child.
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
