"""What the context of a program holds: the addresses of the functions that it calls, by their names.

Most programs call few of the runtime's functions, so each is imported where a program has it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from jitflow.ir.context_names import CLOCK, DEVICE_PREFIX, NOTE, NOTES, POLL, ROOM, SHARE, SITE_PREFIX, TRAMPOLINE
from jitflow.records import dataclass

if TYPE_CHECKING:
    from jitflow.ir.records import Op

__all__ = ["LinkedSymbols", "link_symbols"]


@dataclass(frozen=True, eq=False)
class LinkedSymbols:
    """The addresses in the order in which a context holds them, and what must live as long as the context.

    ``handles`` are those of GPUs that each call fills in: the device and what it is, by the place among the addresses.
    """

    addresses: tuple[int, ...]
    owners: tuple[object, ...]
    handles: Mapping[int, tuple[str, str]]


def link_symbols(
    names: Sequence[str], sites: Sequence[Op], modules: Mapping[str, Any] | None = None,
    functions: Mapping[str, int] = MappingProxyType({}),
) -> LinkedSymbols:  # fmt: skip
    """What the context slots called ``names`` hold; ``sites`` are the program's ops by their site number.

    ``modules`` are the kernels of each GPU, ``functions`` what stands in the place of others. Raises KeyError for the
    name of a library function that there is not.
    """
    owners: list[object] = []
    addresses = tuple(
        functions.get(name) or _of_the_runtime(name) or _of_a_site(name, sites, owners) or _elsewhere(name, modules)
        for name in names
    )
    return LinkedSymbols(addresses, tuple(owners), _handles(names))


def _of_the_runtime(name: str) -> int:
    """The address of a function that many programs call; 0 for other names."""
    if name == SHARE:
        from jitflow.runtime.parallel.threads import share_address

        return share_address()
    if name == POLL:
        from jitflow.runtime.native.entry_support import api_address

        return api_address("poll")
    if name == ROOM:
        from jitflow.runtime.native.recursion import room_address

        return room_address()
    return 0


def _of_a_site(name: str, sites: Sequence[Op], owners: list[object]) -> int:
    """What a program calls Python with, or notes what it does; 0 for other names."""
    if name == TRAMPOLINE:
        from jitflow.runtime.calls.host_calls import trampoline

        return trampoline()
    if name.startswith(SITE_PREFIX):
        from jitflow.runtime.calls.host_calls import call_site

        site = call_site(sites[int(name.removeprefix(SITE_PREFIX))].attributes)
        owners.append(site)
        return site.address
    if name in (CLOCK, NOTE, NOTES):
        from jitflow.runtime.native.notes import NoteTable, recorder

        if name != NOTES:
            return recorder().address(name)
        table = NoteTable(sites)
        owners.append(table)
        return table.address
    return 0


def _elsewhere(name: str, modules: Mapping[str, Any] | None) -> int:
    from jitflow.ir.draws import DRAW_PREFIX, FILL_PREFIX, NATIVE_PREFIX
    from jitflow.ir.inner_loops import FLAG_FUNCTIONS, LOOP_PREFIX
    from jitflow.ir.together import DEVICE_FUNCTIONS, FRAME

    if name == FRAME:
        return 0
    if name in DEVICE_FUNCTIONS:
        from jitflow.runtime.parallel.devices import device_function

        return device_function(name)
    if name.startswith(DEVICE_PREFIX):
        from jitflow.runtime.native import cuda

        device, what = name.split(" ", 1)
        return cuda.address_on(modules[device], what) if modules else 0
    if name.startswith((DRAW_PREFIX, FILL_PREFIX)):
        from jitflow.runtime.generators.draws import draw_address

        return draw_address(name)
    if name.startswith(NATIVE_PREFIX):
        from jitflow.runtime.generators.draws import record_address

        return record_address(name.removeprefix(NATIVE_PREFIX))
    if name in FLAG_FUNCTIONS or name.startswith(LOOP_PREFIX):
        from jitflow.runtime.calls.inner_loops import flag_function, loop_address

        return flag_function(name) if name in FLAG_FUNCTIONS else loop_address(name)
    from jitflow.runtime.native.symbols import symbol_address

    return symbol_address(name)


def _handles(names: Sequence[str]) -> dict[int, tuple[str, str]]:
    """What belongs to GPUs and is another one at each call."""
    if not any(name.startswith(DEVICE_PREFIX) for name in names):
        return {}
    from jitflow.runtime.native import cuda

    return {place: handle for place, name in enumerate(names) if (handle := cuda.handle_of(name))}
