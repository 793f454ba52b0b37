"""LLVM in this process: the target and the passes; the linker is the runtime's (`runtime/native/linking.py`).

Target machines are kept for the process, since making them costs as much as compiling a small kernel.
A lock keeps compilations of several threads apart. The modules of one program are compiled at the same time, by as
many threads as there are processors: each module has an LLVM context of its own, and each thread a target machine.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import Any

import llvmlite.binding as llvm

from jitflow.backends.llvm.at_once import LIBRARY_LOCK, at_once, emit_object, run_passes
from jitflow.backends.llvm.module import ModuleCode, Work
from jitflow.machines.processor import CodeTarget, here
from jitflow.runtime.native.linking import LINKER, Linked

__all__ = ["ENGINE", "Engine"]

_LEVELS: dict[Work, int] = {"calls": 0, "turns": 1, "vectors": 1, "loops": 2}
"""Levels of code generation. For straight vector code, level 2 gives what level 1 gives; level 0 spills everything."""


class Engine:
    """The process's compiler. Everything is made at first use."""

    def __init__(self) -> None:
        self.lock = LINKER.lock
        self._idle: defaultdict[tuple[Work, CodeTarget], list[Any]] = defaultdict(list)
        self._shared: dict[str, bytes] = {}

    @contextmanager
    def _machine(self, work: Work, target: CodeTarget | None = None) -> Iterator[Any]:
        """A target machine for a kind of module, which keeps what it learns about a set of function attributes."""
        target = target or here()
        idle = self._idle[work, target]
        try:
            machine = idle.pop()
        except IndexError:
            machine = LINKER.make_machine(_LEVELS[work], target)
        yield machine
        idle.append(machine)

    def header(self, target: CodeTarget | None = None) -> str:
        """The lines of a module that name what it is for: this machine, if nothing else is said."""
        return _header(self, target or here())

    def generate(self, modules: Sequence[ModuleCode]) -> list[bytes]:
        """Object code of the modules. Raises RuntimeError where LLVM refuses one."""
        scalar = [code for code in modules if code.work == "loops"]
        if scalar:  # and what takes no switches, so that a processor has something to do beside
            scalar += [code for code in modules if code.work == "calls"]
        others = [code for code in modules if code not in scalar]
        with _keeping_selections():
            codes = dict(zip(scalar, at_once(self._object, scalar), strict=True))
            with _keeping_addresses():
                codes |= zip(others, at_once(self._object, others), strict=True)
        return [codes[code] for code in modules]

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
        addresses = nullcontext() if code.work == "loops" else _keeping_addresses()
        with addresses, self._machine(code.work) as machine, self._optimised(code, machine) as module:
            return str(machine.emit_assembly(module))

    @contextmanager
    def _optimised(self, code: ModuleCode, machine: Any) -> Iterator[Any]:
        """The module, in a context of its own. LLVM's passes run on scalar loops; all else is as it should be.

        It goes before its context: where an exception holds both, the garbage collector might take them the other way
        round, and the process ends.
        """
        with llvm.create_context() as context, llvm.parse_assembly(code.text, context) as module:
            if code.work == "loops":
                _run_loop_passes(machine, module)
            yield module

    def one_object(
        self,
        modules: Sequence[ModuleCode],
        target: CodeTarget,
        visible: Mapping[str, str],
        *,
        kept: Collection[str] = (),
    ) -> bytes:
        """Object code for any target of all modules in one.

        Only the functions ``visible`` can be seen from outside, by the names that are given for theirs, and those that
        are to be ``kept`` as they are. Raises RuntimeError where LLVM refuses it.
        """
        with (
            self.lock, _keeping_selections(), llvm.create_context() as context,
            self._machine("loops", target) as machine, llvm.parse_assembly(self.header(target), context) as whole,
        ):  # fmt: skip
            for code in modules:
                part = llvm.parse_assembly(code.text, context)
                if code.work == "loops":
                    _run_loop_passes(machine, part)
                whole.link_in(part)
            for function in whole.functions:
                if not function.is_declaration and function.name not in kept and function.name not in visible:
                    function.linkage, function.name = "internal", f"jitflow.inside.{function.name}"
            for name, outside in visible.items():
                whole.get_function(name).name = outside
            whole.verify()
            return emit_object(machine, whole)

    def link(self, codes: Sequence[bytes], names: tuple[str, ...]) -> Linked:
        """Put object code into memory, as one library. It stays there as long as the result lives."""
        return LINKER.link(codes, names)


@cache
def _header(engine: Engine, target: CodeTarget) -> str:
    with engine.lock, engine._machine("vectors", target) as machine:
        return f'target datalayout = "{machine.target_data}"\ntarget triple = "{target.triple}"'


def _run_loop_passes(machine: Any, module: Any) -> None:
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.loop_vectorization = options.slp_vectorization = True
    options.loop_interleaving = options.loop_unrolling = True
    builder = llvm.create_pass_builder(machine, options)
    run_passes(builder.getModulePassManager(), module, builder)


@contextmanager
def _keeping_selections() -> Iterator[None]:
    """Keep code generation from making branches of selections in loops.

    It expects them to be foretold, which the smaller of two elements is not.
    """
    if not llvm.get_process_triple().startswith("x86_64"):
        yield
        return
    with _switched("x86-cmov-converter", within=False):
        yield


def _keeping_addresses() -> AbstractContextManager[None]:
    """Keep code generation from looking for better addresses in loops (strength reduction), a quarter of its time.

    Those in vector code are what they should be (`Emitter.at`). In scalar loops LLVM's passes have moved them about.
    """
    return _switched("disable-lsr", within=True)


@contextmanager
def _switched(name: str, *, within: bool) -> Iterator[None]:
    """Set a switch of LLVM's, which is one of the process."""
    llvm.set_option("jitflow", f"-{name}={str(within).lower()}")
    try:
        yield
    finally:
        llvm.set_option("jitflow", f"-{name}={str(not within).lower()}")


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
