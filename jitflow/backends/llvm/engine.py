"""LLVM in this process: the target, the passes, and the linker that puts object code into memory.

There is one target machine and one linker for the process, since making them costs as much as compiling a small
kernel; every compilation has an LLVM context of its own. A lock keeps compilations of several threads apart, because
a target machine may be used by one at a time; llvmlite would serialise their calls anyway.

Linking an object into the shared ORC linker takes a tenth of the time that an MCJIT engine for each module takes
(0.1 ms against 1.0 ms), an unknown symbol is an error there instead of the end of the process, and the object code is
at hand for a cache on disk.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import llvmlite.binding as llvm

from jitflow.backends.llvm.module import Work

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
        self._machines: dict[Work, Any] = {}
        self._shared: dict[str, bytes] = {}

    @cached_property
    def _target(self) -> Any:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        return llvm.Target.from_triple(llvm.get_process_triple())

    @cached_property
    def features(self) -> Any:
        """What the host's CPU can do, by LLVM's names."""
        return llvm.get_host_cpu_features()

    def _make_machine(self, level: int) -> Any:
        return self._target.create_target_machine(
            cpu=llvm.get_host_cpu_name(), features=self.features.flatten(), opt=level, reloc="pic", codemodel="small"
        )

    def machine(self, work: Work) -> Any:
        """The target machine for a kind of module, which keeps what it learns about a set of function attributes."""
        if work not in self._machines:
            self._machines[work] = self._make_machine(_LEVELS[work])
        return self._machines[work]

    def _linker(self) -> Any:
        """The linker for the next library; one that has served long enough goes with the last of its libraries."""
        self._linked += 1
        if self._linked % LINKER_SERVES == 1:
            self._current_linker = llvm.create_lljit_compiler(self._make_machine(_LEVELS["vectors"]))
        return self._current_linker

    @cached_property
    def header(self) -> str:
        """The lines of a module that name the target."""
        with self.lock:
            layout = self.machine("vectors").target_data
            return f'target datalayout = "{layout}"\ntarget triple = "{llvm.get_process_triple()}"'

    @cached_property
    def attributes(self) -> str:
        """Attributes of every function: code generation may use vectors as wide as the CPU has them."""
        width = 512 if self.features.get("avx512f") else 256 if self.features.get("avx2") else 128
        return f'nounwind "prefer-vector-width"="{width}"'

    @property
    def makes_products(self) -> bool:
        """Whether products by tiles were measured to be worth it on this kind of CPU."""
        return bool(self.features.get("avx512f"))

    def parse(self, text: str) -> Any:
        """Text to a module in a context of its own. Raises RuntimeError where LLVM refuses it."""
        return llvm.parse_assembly(text, llvm.create_context())

    def optimise(self, module: Any, work: Work) -> None:
        """Run LLVM's own passes on a module of scalar loops; the others are as they should be."""
        if work != "loops":
            return
        options = llvm.create_pipeline_tuning_options(speed_level=2)
        options.loop_vectorization = options.slp_vectorization = True
        options.loop_interleaving = options.loop_unrolling = True
        builder = llvm.create_pass_builder(self.machine(work), options)
        builder.getModulePassManager().run(module, builder)

    def generate(self, module: Any, work: Work) -> bytes:
        """Object code of a module."""
        with self._keeping_selections(work):
            return bytes(self.machine(work).emit_object(module))

    def shared(self, text: str, work: Work) -> bytes:
        """Object code of a module that many programs have, generated once."""
        if text not in self._shared:
            self._shared[text] = self.generate(self.parse(text), work)
        return self._shared[text]

    def assembly(self, module: Any, work: Work) -> str:
        """The assembly text of a module."""
        with self._keeping_selections(work):
            return str(self.machine(work).emit_assembly(module))

    @contextmanager
    def _keeping_selections(self, work: Work) -> Iterator[None]:
        """Keep code generation from making branches of selections in loops.

        It expects them to be foretold, which the smaller of two elements is not. The switch is one of the process.
        """
        affected = work == "loops" and llvm.get_process_triple().startswith("x86_64")
        if affected:
            llvm.set_option("jitflow", "-x86-cmov-converter=false")
        try:
            yield
        finally:
            if affected:
                llvm.set_option("jitflow", "-x86-cmov-converter=true")

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


@dataclass(frozen=True, eq=False)
class Linked:
    """Code in memory, and where its functions are."""

    tracker: Any
    addresses: dict[str, int]


ENGINE = Engine()
