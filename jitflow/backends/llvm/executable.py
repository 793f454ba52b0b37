"""The result of compiling: machine code that can be called, read and timed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from time import perf_counter
from types import MappingProxyType

from jitflow.backends.llvm.engine import ENGINE
from jitflow.backends.llvm.module import RUN, ProgramText, emit_program
from jitflow.errors import CompilerBug
from jitflow.ir.core import Function, Op
from jitflow.machines.processor import here
from jitflow.runtime.native.linking import Linked

__all__ = ["Executable", "compile_program"]


class Executable:
    """One native program. Its code is freed with this object, so whoever may still call it keeps it.

    ``text``: the program in LLVM's language, the modules of the kernels before that of the host program.
    ``object_code``: what a cache would store, by module; it holds no address.
    ``symbols``: names of the library functions whose addresses the context must hold from slot 2 on.
    ``names``: the functions that are visible from outside.
    ``sites``: the ops that can fail, by the site index in error slot 1.
    ``times``: seconds of each stage: emit, generate, link.
    """

    def __init__(
        self, program: ProgramText, object_code: Sequence[bytes], linked: Linked, times: Mapping[str, float]
    ) -> None:
        self.text = program.text
        self.object_code = tuple(object_code)
        self.symbols = tuple(program.collected.symbols)
        self.sites: tuple[Op, ...] = tuple(program.collected.sites)
        self.times = MappingProxyType(dict(times))
        self.names = tuple(linked.addresses)
        self._program = program
        self._linked = linked

    def address(self, name: str = RUN) -> int:
        """Where a function of the program starts. Raises KeyError for a name that is not visible from outside."""
        return self._linked.addresses[name]

    def asm(self) -> str:
        """The machine code as assembly text, generated anew."""
        with ENGINE.lock:
            return "\n".join(ENGINE.assembly(self._program.modules))


def compile_program(
    host: Function | Sequence[Function],
    *,
    fast_math: bool = False,
    extra_text: str = "",
    extra_symbols: Sequence[str] = (),
    sites: Sequence[Op] = (),
    devices: Sequence[str] = (),
) -> Executable:
    """Compile a host program and its kernels, or all parts of one that is split over devices (`emit_program`).

    ``extra_text`` is LLVM text that joins the host program's module, such as an entry point; its functions can be asked
    for by `Executable.address`. ``extra_symbols`` get the slots from 2 on, in their order, before those of the program.
    ``sites`` are the ops that can fail in kernels that are compiled for a GPU; they come before those of the program.
    ``devices`` are those of all parts where the program is one part, on its own in this process.
    Raises `CompilerBug` for a program that machine code cannot be written for.
    """
    clock = _Clock()
    program = emit_program(
        (host,) if isinstance(host, Function) else host,
        ENGINE.header(),
        here(),
        fast_math=fast_math,
        extra_text=extra_text,
        extra_symbols=extra_symbols,
        sites=sites,
        devices=devices,
    )
    clock.stop("emit")
    names = (RUN, *_DEFINED.findall(extra_text))
    with ENGINE.lock:
        clock.restart()
        try:
            codes = ENGINE.generate(program.modules)
            clock.stop("generate")
            linked = ENGINE.link(codes, names)
            clock.stop("link")
        except RuntimeError as error:
            message = f"LLVM refused the module: {error}"
            raise CompilerBug(message, pass_name="llvm", surrounding=program.text) from error
    return Executable(program, codes, linked, clock.times)


_DEFINED = re.compile(r"^define (?!internal|private)[^@]*@\"?([\w.$]+)", re.MULTILINE)


class _Clock:
    """Takes the time of one stage after the other."""

    def __init__(self) -> None:
        self.times: dict[str, float] = {}
        self.restart()

    def restart(self) -> None:
        self._start = perf_counter()

    def stop(self, stage: str) -> None:
        now = perf_counter()
        self.times[stage] = now - self._start
        self._start = now
