"""LLVM text to callable addresses.

Each module gets an LLVM context of its own, so that compilations never share state. There is no
pass pipeline, and code generation does not optimise by default: entries are straight-line code in
SSA form that is all loads, compares and calls. (Measured for the entry of two arrays in and one
out: 2 ms to compile at level 0, 12 ms at level 1, and calls equally fast.) What must outlive the
interpreter (the pool frees arrays while Python shuts down) is made immortal.

Most of the runtime's own texts are the same in every process, so their object code is looked for on disk, by what
writes the text: then neither the text is written nor LLVM imported.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from jitflow.config import CONFIG, switches_are_read
from jitflow.runtime.native.linking import LINKER, initialise

__all__ = ["NativeCode", "make_immortal"]

_FUNCTIONS = r'(?m)^define (?!internal|private)[^@\n]*@"?([\w.$]+)'
_VARIABLES = r'(?m)^@"?([\w.$]+)"? = (?!internal|private)'
"""What can be asked for of a text."""


class NativeCode:
    """Compiled machine code, which lives as long as this object.

    ``text`` is the text, or a function that writes it, perhaps with arguments (`functools.partial`): of nothing else
    than these, jitflow's version and what `cache.key.lasting` names. What it calls, or compares with, by the names in
    ``outside`` is at these addresses, which are others in each process. `for_host` lets the code use everything that
    this machine's processor has.
    """

    def __init__(
        self, text: str | Callable[[], str], *, optimisation: int = 0, for_host: bool = False,
        outside: Mapping[str, int] | None = None,
    ) -> None:  # fmt: skip
        outside = outside or {}
        make = partial(_compiled, text, optimisation, for_host, [*outside])
        if switches_are_read() and CONFIG.cache:  # a profile begins before the script that may set them
            from jitflow.cache.pieces import piece

            code, names = piece((*_writer(text), optimisation, for_host, sorted(outside)), make)
        else:
            code, names = make()
        self._linked = LINKER.link([code], names, outside)

    def address(self, name: str) -> int:
        """The address of a function or global variable of the module. Raises KeyError where there is none."""
        return self._linked.addresses[name]


def _writer(text: str | Callable[[], str]) -> tuple[Any, ...]:
    """What tells a text from others, in one version of jitflow."""
    if isinstance(text, str):
        return (text,)
    if isinstance(text, partial):
        return (*_writer(text.func), text.args, sorted(text.keywords.items()))
    return (text.__module__, text.__qualname__)


def _compiled(
    text: str | Callable[[], str], optimisation: int, for_host: bool, outside: Sequence[str]
) -> tuple[bytes, Sequence[str]]:
    """Object code, and what can be asked for of it."""
    written = text if isinstance(text, str) else text()
    declared = "".join(f"@{name} = external global i8\n" for name in outside)
    names = [*re.findall(_FUNCTIONS, written), *re.findall(_VARIABLES, written)]
    return _object_code(declared + written, optimisation, for_host), names


def _object_code(text: str, optimisation: int, for_host: bool) -> bytes:
    import llvmlite.binding as llvm

    from jitflow.machines import processor

    initialise()
    host = {"cpu": processor.name(), "features": processor.features().flatten()} if for_host else {}
    machine = llvm.Target.from_default_triple().create_target_machine(
        opt=optimisation, reloc="pic", codemodel="small", **host
    )
    with llvm.create_context() as context, llvm.parse_assembly(text, context) as module:
        code: bytes = machine.emit_object(module)
    return code


def make_immortal(thing: object) -> None:
    """Keep an object for ever, through interpreter shutdown too."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))
