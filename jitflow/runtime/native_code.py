"""LLVM text to callable addresses.

Each module gets an LLVM context of its own, so that compilations never share state. There is no
pass pipeline, and code generation does not optimise by default: entries are straight-line code in
SSA form that is all loads, compares and calls. (Measured for the entry of two arrays in and one
out: 2 ms to compile at level 0, 12 ms at level 1, and calls equally fast.) What must outlive the
interpreter (the pool frees arrays while Python shuts down) is made immortal.

The runtime's own texts are the same in every process, so their object code is looked for on disk.
"""

from __future__ import annotations

import ctypes
import platform
import re
import sys
from functools import partial

import llvmlite
import llvmlite.binding as llvm

from jitflow import processor
from jitflow.config import CONFIG, switches_are_read
from jitflow.runtime.linking import LINKER, initialise

_FUNCTIONS = re.compile(r'^define (?!internal|private)[^@\n]*@"?([\w.$]+)', re.MULTILINE)
_VARIABLES = re.compile(r'^@"?([\w.$]+)"? = (?!internal|private)', re.MULTILINE)
"""What can be asked for of a text."""


class NativeCode:
    """Compiled machine code, which lives as long as this object.

    `for_host` lets the code use everything that this machine's processor has.
    """

    def __init__(self, text: str, *, optimisation: int = 0, for_host: bool = False) -> None:
        host = {"cpu": processor.name(), "features": processor.features().flatten()} if for_host else {}
        make = partial(_object_code, text, optimisation, host)
        if switches_are_read() and CONFIG.cache:  # a profile begins before the script that may set them
            from jitflow.cache.pieces import object_code

            system = (sys.platform, platform.machine(), llvmlite.__version__)
            code = object_code("\n".join(map(str, (text, optimisation, host, *system))), make)
        else:
            code = make()
        self._linked = LINKER.link([code], [*_FUNCTIONS.findall(text), *_VARIABLES.findall(text)])

    def address(self, name: str) -> int:
        """The address of a function or global variable of the module. Raises KeyError where there is none."""
        return self._linked.addresses[name]


def _object_code(text: str, optimisation: int, host: dict[str, str]) -> bytes:
    initialise()
    machine = llvm.Target.from_default_triple().create_target_machine(
        opt=optimisation, reloc="pic", codemodel="small", **host
    )
    with llvm.create_context() as context, llvm.parse_assembly(text, context) as module:
        code: bytes = machine.emit_object(module)
    return code


def make_immortal(thing: object) -> None:
    """Keep an object for ever, through interpreter shutdown too."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))
