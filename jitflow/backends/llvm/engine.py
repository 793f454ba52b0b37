"""LLVM in this process: the target, the passes, and the linker that puts object code into memory.

There is one target machine and one linker for the process, since making them costs as much as compiling a small
kernel; every compilation has an LLVM context of its own. A lock keeps compilations of several threads apart, because
a target machine may be used by one at a time; llvmlite would serialise their calls anyway.

Linking an object into the shared ORC linker takes a tenth of the time that an MCJIT engine for each module takes
(0.1 ms against 1.0 ms), an unknown symbol is an error there instead of the end of the process, and the object code is
at hand for a cache on disk.
"""

from __future__ import annotations

import itertools
import threading
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import llvmlite.binding as llvm

__all__ = ["ENGINE", "Engine"]

CODEGEN_LEVEL = 1


class Engine:
    """The process's compiler. Everything is made at first use."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._numbers = itertools.count()

    @cached_property
    def _target(self) -> Any:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        return llvm.Target.from_triple(llvm.get_process_triple())

    @cached_property
    def features(self) -> Any:
        """What the host's CPU can do, by LLVM's names."""
        return llvm.get_host_cpu_features()

    def _make_machine(self) -> Any:
        return self._target.create_target_machine(
            cpu=llvm.get_host_cpu_name(), features=self.features.flatten(), opt=CODEGEN_LEVEL, reloc="pic",
            codemodel="small",
        )  # fmt: skip

    @cached_property
    def machine(self) -> Any:
        """The target machine, which keeps what it learns about a set of function attributes."""
        return self._make_machine()

    @cached_property
    def _linker(self) -> Any:
        return llvm.create_lljit_compiler(self._make_machine())

    @cached_property
    def header(self) -> str:
        """The lines of a module that name the target."""
        with self.lock:
            layout = self.machine.target_data
            return f'target datalayout = "{layout}"\ntarget triple = "{llvm.get_process_triple()}"'

    @cached_property
    def attributes(self) -> str:
        """Attributes of every function: code generation may use vectors as wide as the CPU has them."""
        width = 512 if self.features.get("avx512f") else 256 if self.features.get("avx2") else 128
        return f'nounwind "prefer-vector-width"="{width}"'

    def parse(self, text: str) -> Any:
        """Text to a module in a context of its own. Raises RuntimeError where LLVM refuses it."""
        return llvm.parse_assembly(text, llvm.create_context())

    def optimise(self, module: Any, scalar_functions: tuple[str, ...] = ()) -> None:
        """Run the short pipeline on a module, and LLVM's own on functions that are scalar loops of the user's."""
        if not scalar_functions:
            return
        options = llvm.create_pipeline_tuning_options(speed_level=2)
        builder = llvm.create_pass_builder(self.machine, options)
        passes = builder.getFunctionPassManager()
        for name in scalar_functions:
            passes.run(module.get_function(name), builder)

    def generate(self, module: Any) -> bytes:
        """Object code of a module."""
        return bytes(self.machine.emit_object(module))

    def assembly(self, module: Any) -> str:
        """The assembly text of a module."""
        return str(self.machine.emit_assembly(module))

    def link(self, code: bytes, names: tuple[str, ...]) -> Linked:
        """Put object code into memory. It stays there as long as the result lives."""
        builder = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
        for name in names:
            builder.export_symbol(name)
        tracker = builder.link(self._linker, f"jitflow.{next(self._numbers)}")
        return Linked(tracker, {name: int(tracker[name]) for name in names})


@dataclass(frozen=True, eq=False)
class Linked:
    """Code in memory, and where its functions are."""

    tracker: Any
    addresses: dict[str, int]


ENGINE = Engine()
