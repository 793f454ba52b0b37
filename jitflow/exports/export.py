"""Exporting: the way of the data of `compiler.py` for another target, with a C function around it, into files."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jitflow import __version__
from jitflow.backends.llvm.emission.emit_libm import LIBM
from jitflow.backends.llvm.emission.symbols import LIBRARY
from jitflow.errors import UserNotImplementedError, UserValueError
from jitflow.exports.interface import KEYWORDS, Interface, interface_of
from jitflow.exports.linkers import link_library, suffix_of
from jitflow.exports.notice import written_notice
from jitflow.ir.context_names import POLL, ROOM
from jitflow.ir.core import Function, Op, walk
from jitflow.ir.location import Loc
from jitflow.ir.routines import Routine
from jitflow.machines.hardware import HOME
from jitflow.machines.processor import TARGETS, CodeTarget
from jitflow.records import dataclass
from jitflow.runtime.objects.texts import RAISE

if TYPE_CHECKING:
    from jitflow.compilation.compiler import Compilation
    from jitflow.compilation.specialised import Specialised

__all__ = ["Exported", "export"]


@dataclass(frozen=True)
class Exported:
    """The files of an exported program; ``library`` is None where there was no linker, and ``why`` says so.

    ``interface`` is what the header says, as data.
    """

    name: str
    object: Path
    header: Path
    library: Path | None
    interface: Interface
    why: str = ""

    def __str__(self) -> str:
        files = ", ".join(str(path) for path in (self.object, self.header, self.library) if path is not None)
        return f"{self.name}: {files}" + (f" ({self.why})" if self.why else "")


def export(
    function: Specialised, path: str | Path, args: tuple[Any, ...], kwargs: Mapping[str, Any], target: str,
    name: str | None,
) -> Exported:  # fmt: skip
    """`CompiledFunction.export`."""
    if target not in TARGETS:
        raise UserValueError(f"there is no target {target!r}", expected=f"one of {', '.join(TARGETS)}")
    chosen, name = TARGETS[target](), name or function.__name__
    if not (name.isidentifier() and name.isascii()) or name in KEYWORDS or name in _OF_C:
        raise UserValueError(f"C has no functions called {name!r}", mend="say how to call it: f.export(..., name=...)")
    compilation, flat = function._for_export(args, dict(kwargs), chosen)
    code, header = _compiled(function, compilation, flat, name)
    stem = Path(path)
    stem.parent.mkdir(parents=True, exist_ok=True)
    files = [stem.with_name(stem.name + suffix) for suffix in (".o", ".h", suffix_of(chosen))]
    files[0].write_bytes(code.content)
    files[1].write_text(header)
    files[2].unlink(missing_ok=True)  # it would be that of an earlier export
    why = link_library(files[0], files[2], chosen, code.visible)
    return Exported(name, files[0], files[1], None if why else files[2], code.interface, why)


_OF_C = frozenset({"malloc", "free", "memcpy", "memset", "main", *LIBM.values(), *(f"{one}f" for one in LIBM.values())})
"""Functions of C that are called here, or by everybody."""


@dataclass(frozen=True)
class _Code:
    content: bytes
    visible: list[str]
    interface: Interface


def _compiled(function: Specialised, compilation: Compilation, flat: Sequence[Any], name: str) -> tuple[_Code, str]:
    from jitflow.backends.llvm.engine import ENGINE
    from jitflow.backends.llvm.module import ModuleCode, emit_program
    from jitflow.compilation.compiler import guard_text, lower, optimize, plan_of
    from jitflow.exports.bridge import VISIBLE, bridge_text, visible_names
    from jitflow.exports.header import header_text
    from jitflow.exports.helpers import helper_names, helpers_text
    from jitflow.exports.messages import messages_text

    _refuse_devices(function, optimize(compilation))
    hosts = lower(compilation)
    target = compilation.target
    assert target is not None
    guard = guard_text(compilation)
    with compilation.stage("export"):
        header = ENGINE.header(target)
        program = emit_program(
            hosts, header, target, fast_math=compilation.fastmath, extra_text=guard, extra_symbols=()
        )
        symbols, sites = program.collected.symbols, program.collected.sites
        _refuse_the_runtime(symbols, hosts, program.text, target)
        interface = interface_of(compilation, plan_of(compilation), flat)
        routines = [symbol for symbol in symbols if symbol in LIBRARY]
        notice = written_notice(_about(function, compilation, interface, flat, name, symbols, sites))
        bridge = [
            header,
            bridge_text(name, interface, symbols, target, has_guard=bool(guard), notice=notice),
            messages_text(name, sites, _fits(compilation, interface), routines),
            "declare i32 @run(ptr, ptr, ptr, ptr)",
            "declare i32 @guard(ptr)" if guard else "",
            f"attributes #0 = {{ {target.attributes} }}",
        ]
        modules = [*program.modules, ModuleCode("calls", "\n".join(bridge))]
        if helpers := helpers_text(target):
            modules.append(ModuleCode("calls", f"{header}\n{helpers}\nattributes #0 = {{ {target.attributes} }}"))
        visible = visible_names(name, interface)
        called = {f"{VISIBLE}{one}": one for one in visible}
        code = ENGINE.one_object(modules, target, called, kept=helper_names(target))
        documentation = inspect.getdoc(function._wrapped) or ""
        return _Code(code, visible, interface), header_text(
            name, interface, target, documentation, routines, _of_libm(program.text)
        )


def _of_libm(text: str) -> list[str]:
    """The mathematical functions of C that a program calls."""
    known = {*LIBM.values(), *(f"{one}f" for one in LIBM.values())}
    return sorted(known.intersection(re.findall(r"^declare (?:float|double) @(\w+)\(", text, re.MULTILINE)))


def _fits(compilation: Compilation, interface: Interface) -> str:
    """What sizes the code is for, in a message."""
    facts = ", ".join(map(str, compilation.traced.function.facts))
    shapes = ", ".join(f"{one.name}[{', '.join(map(str, one.dims))}]" for one in interface.parameters if one.dims)
    return f"{shapes or 'other arguments'}{f' with {facts}' if facts else ''}, and arrays that do not overlap"


# -- what libraries say of themselves


def _about(
    function: Specialised, compilation: Compilation, interface: Interface, flat: Sequence[Any], name: str,
    symbols: Sequence[str], sites: Sequence[Any],
) -> dict[str, Any]:  # fmt: skip
    from jitflow.cache.codec import Unstorable, pack
    from jitflow.cache.sites import sites_as_data
    from jitflow.exports.exceptions import name_of_exception

    target = compilation.target
    assert target is not None
    try:
        return {
            "version": __version__, "name": name, "triple": target.triple, "features": sorted(target.features),
            "plan": pack(interface.plan), "sites": sites_as_data(sites, name_of_exception), "symbols": list(symbols),
            "parameters": _parameters(function, flat),
            "state": [[s.parameter.name, s.parameter.dtype, list(s.value.shape), s.parameter.layout, s.kind,
                       s.parameter.is_written, s.is_read] for s in interface.states],
        }  # fmt: skip
    except Unstorable as error:
        raise UserNotImplementedError(
            f"{error} cannot be exported", mend="take and return arrays, numbers, tuples, lists and dicts",
            location=begin_of(compilation),
        ) from None  # fmt: skip


def _parameters(function: Specialised, flat: Sequence[Any]) -> list[Any]:
    """The parameters of those arguments that callers still give: names, kinds, defaults."""
    from jitflow.cache.codec import Unstorable, pack
    from jitflow.exports.interface import is_plain

    found = []
    for one, value in zip(inspect.signature(function._wrapped).parameters.values(), flat, strict=True):
        if is_plain(value):
            try:
                default = [] if one.default is one.empty else [pack(one.default)]
            except Unstorable:
                default = []
            found.append([one.name, int(one.kind), default])
    return found


# -- what cannot be exported


def _refuse_devices(function: Specialised, program: Function) -> None:
    """Raise where a program wants to run somewhere else than on the caller's thread."""
    places = [op.loc for op in walk(program.region) if op.loc.device not in ("", "cpu", HOME)]
    if places or function._options.device not in ("", "cpu", HOME):
        raise UserNotImplementedError(
            "an exported program runs on its caller's thread, and this one wants a device",
            mend="export it without jitflow.device", location=places[0] if places else None,
        )  # fmt: skip


def _refuse_the_runtime(symbols: Sequence[str], hosts: Sequence[Function], text: str, target: CodeTarget) -> None:
    """Raise where a program calls what only a process with Python has, at the line that does."""
    if any(symbol not in LIBRARY and symbol not in (POLL, ROOM) for symbol in symbols):
        op = _asking(hosts)
        what, mend = _told(op)
        raise UserNotImplementedError(
            f"{what} cannot be exported: it needs Python, or a library of its", mend=mend,
            location=_first(hosts) if op is None else op.loc,
        )  # fmt: skip
    if target.is_wasm and re.search(r"@jitflow\.(heap|passed|set|text)\.", text):
        raise UserNotImplementedError(
            "lists, dicts, sets and texts of a program cannot be exported for WebAssembly, where nobody can see what "
            "they are still needed for",
            mend="keep what they hold in arrays", location=_first(hosts),
        )  # fmt: skip


def _told(op: Op | None) -> tuple[str, str]:
    """What an op calls, as users know it, and what they may write instead."""
    outside = "do it outside, and pass what it gives"
    if op is None or op.name in ("draw", "fill"):
        return "drawing from a generator of NumPy's or Python's", f"{outside}, or draw from a jitflow.random.Generator"
    routine = op.attributes.get("routine", "")
    if isinstance(routine, Routine):
        return f"the call of {routine.rpartition('<locals>.')[2]}", outside
    routine = str(dict(op.attributes.get("options", ())).get("routine", routine))
    if routine == RAISE:
        return "an exception with other arguments than one text", 'give it one text: raise ValueError(f"got {n}")'
    return routine if routine.startswith(("numpy.", "scipy.")) else "printing or the like", outside


def _asking(hosts: Sequence[Function]) -> Op | None:
    """The op that calls what there is not."""
    for host in hosts:
        for function in (host, *host.functions, *host.kernels):
            for op in walk(function.region):
                if op.name in _ASKING and op.loc.file:
                    return op
    return None


_ASKING = frozenset({"invoke", "host_call", "draw", "fill"})


def _first(hosts: Sequence[Function]) -> Loc | None:
    return next((op.loc for host in hosts for op in walk(host.region) if op.loc.file), None)


def begin_of(compilation: Compilation) -> Loc | None:
    """A line of the program that is exported."""
    return next((op.loc for op in walk(compilation.traced.function.region) if op.loc.file), None)
