"""LLVM text to callable addresses.

Each module gets an LLVM context of its own, so that compilations never share state. There is no
pass pipeline, and code generation does not optimise by default: entries are straight-line code in
SSA form that is all loads, compares and calls. (Measured for the entry of two arrays in and one
out: 2 ms to compile at level 0, 12 ms at level 1, and calls equally fast.) What must outlive the
interpreter (the pool frees arrays while Python shuts down) is made immortal.
llvmlite's memory manager (`use_lmm`) keeps the sections of a module within reach of each other.
"""

from __future__ import annotations

import ctypes
import weakref
from functools import cache
from typing import Any

import llvmlite.binding as llvm

from jitflow import processor


class NativeCode:
    """Compiled machine code, which lives as long as this object.

    `for_host` lets the code use everything that this machine's processor has.
    """

    def __init__(self, text: str, *, optimisation: int = 0, for_host: bool = False) -> None:
        _initialise()
        context = llvm.create_context()
        module = llvm.parse_assembly(text, context)
        host = {"cpu": processor.name(), "features": processor.features().flatten()} if for_host else {}
        machine = llvm.Target.from_default_triple().create_target_machine(opt=optimisation, **host)
        self._engine: Any = llvm.create_mcjit_compiler(module, machine, use_lmm=True)
        self._engine.finalize_object()
        # In a garbage cycle Python would finalise engine and context in any order, and an engine must go first.
        weakref.finalize(self, _dispose, self._engine, context).atexit = False

    def address(self, name: str) -> int:
        """The address of a function or global variable of the module."""
        address = self._engine.get_function_address(name) or self._engine.get_global_value_address(name)
        if not address:
            raise KeyError(name)
        return int(address)


def make_immortal(thing: object) -> None:
    """Keep an object for ever, through interpreter shutdown too."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


def _dispose(engine: Any, context: Any) -> None:
    engine.close()
    context.close()


@cache
def _initialise() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
