"""What a compiled function asks: code for a call, from the disk; and to keep what was compiled for one.

Nothing that goes wrong here is the user's concern: then the function is compiled, as it would be without a cache.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, NoReturn

from jitflow.cache.binding import PlanReader
from jitflow.cache.codec import Damaged, Unstorable
from jitflow.cache.content import Incomparable
from jitflow.cache.key import key_of
from jitflow.cache.store import Entry, Unreadable, store
from jitflow.cache.walk import Mismatch
from jitflow.config import CONFIG
from jitflow.interruptions import pass_interruption
from jitflow.loaded import asked
from jitflow.runtime.entry.entry_constants import EntryConstants
from jitflow.runtime.entry.specialisation import EntryCode, Specialisation
from jitflow.runtime.linked_symbols import link_symbols
from jitflow.runtime.native.linking import LINKER

if TYPE_CHECKING:
    from jitflow.compilation.compiler import Compilation
    from jitflow.compilation.specialised import Options

__all__ = ["find", "keep", "why_not"]

_MOST_CANDIDATES = 64
"""Files of one key that a call looks into."""
_DOES_NOT_FIT = (Mismatch, Incomparable, OSError, Unreadable, MemoryError, RecursionError)
_RUN, _GUARD = "run", "guard"


def why_not(options: Options) -> str:
    """Why functions of these options are not cached at all; empty if they are."""
    has_gpus = asked("jitflow.machines.hardware", "has_seen_gpus")
    reasons = {
        "JITFLOW_CACHE=0": not CONFIG.cache,
        "JITFLOW_DUMP and JITFLOW_VERIFY look at compilations": CONFIG.dump or CONFIG.verify,
        "a function that is placed on devices": CONFIG.cpu_devices > 1 or has_gpus or options.device,
        "a function with a placement of its own": options.placement != "heuristic",
        "a part of a function": options.part is not None,
        "the step of a replica": asked("jitflow.replication", "exchange_in_force") is not None,
        "a profile is taken": asked("jitflow.runtime.native.notes", "is_recording"),
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


# -- from a file -------------------------------------------------------------------------------------


def find(
    function: FunctionType, options: Options, threads: int, arguments: Sequence[Any], known: Collection[Path]
) -> Specialisation | None:
    """Code for a call of ``function``, none of the files that are ``known`` already; None if there is none."""
    try:
        if why_not(options):
            return None
        key = key_of(function, options, threads)
        paths = store().candidates(key)
    except Exception as error:  # of objects that cannot be compared, files that cannot be read...
        pass_interruption(error)
        return None
    for path in paths[:_MOST_CANDIDATES]:
        if path in known:
            continue
        try:
            loaded = _loaded(store().read(path), function, arguments)
        except Exception as error:
            pass_interruption(error)
            if not isinstance(error, _DOES_NOT_FIT):  # what is written there makes no sense: it will be written anew
                store().remove(path)
            continue
        with suppress(OSError):
            store().note_use(path)
        loaded.file = path
        return loaded
    return None


def _loaded(entry: Entry, function: FunctionType, arguments: Sequence[Any]) -> Specialisation:
    about = entry.about
    reader = PlanReader(about["plan"], function, arguments)
    plan = reader.plan()
    code = _entry_code(plan, about["entry"])
    names = [str(name) for name in about["names"]]
    if _RUN not in names or (code is not None and code.name not in names):
        raise Damaged("expected the names of functions")
    sites = _Sites(about["sites"], reader.guarded)
    linked = LINKER.link(entry.codes, names)
    symbols = link_symbols([str(name) for name in about["symbols"]], sites)
    return Specialisation(
        plan,
        run=linked.addresses[_RUN],
        guard=linked.addresses.get(_GUARD, 0),
        raise_error=partial(_fail, sites),
        symbols=symbols.addresses,
        keep_alive=(linked, symbols),
        entry=code,
        entry_address=0 if code is None else linked.addresses[code.name],
    )


def _entry_code(plan: Any, about: Any) -> EntryCode | None:
    """The entry of a plan, where calls take the native one.

    The same of its objects must be one object as when it was compiled: then its text would be the same.
    """
    from jitflow.runtime.entry.dispatcher import uses_native_entry

    name, versions, _ = about
    if type(versions) is not int or not 0 <= versions <= 2 * len(plan.reads):
        raise Damaged("expected a number of versions")
    code = EntryCode(str(name), "", EntryConstants(plan), versions)
    if _described(code) != about:
        raise Mismatch("objects that were one are several, or the other way round")
    return code if uses_native_entry() else None


def _described(code: EntryCode) -> list[Any]:
    arrangement = " ".join(map(str, code.constants.arrangement))
    return [code.name, code.versions, hashlib.sha256(arrangement.encode()).hexdigest()]


class _Sites(Sequence[Any]):
    """The ops that can fail, read from their data when one does."""

    def __init__(self, data: Any, guarded: Mapping[tuple[str, int], Any]) -> None:
        self._data, self._guarded = data, guarded
        self._ops: tuple[Any, ...] | None = None

    def __len__(self) -> int:
        return len(self._data["ops"])

    def __getitem__(self, place: Any) -> Any:
        if self._ops is None:
            from jitflow.cache.sites import sites_of

            self._ops = sites_of(self._data, lambda data: self._guarded[tuple(data)])
        return self._ops[place]


def _fail(sites: Sequence[Any], status: int, address: int) -> NoReturn:
    from jitflow.compilation.failures import failure

    raise failure(sites, status, address)


# -- to a file ---------------------------------------------------------------------------------------


def keep(
    function: FunctionType, options: Options, compilation: Compilation, specialisation: Specialisation,
    arguments: Sequence[Any],
) -> str:  # fmt: skip
    """Write what was compiled for a call, before it runs. Returns why it was not written, or nothing."""
    reason = why_not(options)
    if reason:
        return reason
    try:
        key = key_of(function, options, compilation.threads)
        entry = _entry(function, compilation, arguments)
        specialisation.file = store().keep(key, entry)
        return "" if specialisation.file else "the folder is not the user's alone, or the code is too large"
    except (Unstorable, Incomparable, Mismatch) as error:
        return str(error)
    except Exception as error:
        pass_interruption(error)
        return f"it was not written: {type(error).__name__}: {error}"


def _entry(function: FunctionType, compilation: Compilation, arguments: Sequence[Any]) -> Entry:
    from jitflow.cache.plans import PlanWriter
    from jitflow.cache.sites import sites_as_data
    from jitflow.runtime.entry.entry_native import emit_entry

    traced, executable = compilation.traced, compilation.executable
    if traced.stores is not None:
        raise Unstorable("it stores to objects from outside, of which a call that fails takes notes")
    if traced.changing_order:
        raise Unstorable(f"{traced.changing_order}, whose order is another one in each process")
    if executable is None or len(compilation.devices) != 1 or compilation.notes:
        raise Unstorable("it runs on several devices, or tells a profile what it does")
    assert compilation.plan is not None
    writer = PlanWriter(compilation.plan, function, arguments, traced)
    data = writer.plan()
    about = {
        "function": f"{function.__module__}.{function.__qualname__}",
        "plan": data,
        "names": list(executable.names),
        "symbols": list(executable.symbols),
        "sites": sites_as_data(executable.sites, writer.outside),
        "entry": _described(compilation.entry or emit_entry(compilation.plan)),
    }
    again = json.loads(json.dumps(about))
    _entry_code(PlanReader(again["plan"], function, arguments).plan(), again["entry"])  # as the next process does
    return Entry(about, executable.object_code)
