"""Dicts and sets of Python's that are asked for a key which only the running program knows."""

from __future__ import annotations

from typing import Any

import jitflow.frontend.tracers as tracers
from jitflow.frontend.containers.item_types import item_type
from jitflow.frontend.containers.slotted_dicts import SlottedDict
from jitflow.frontend.control.changing_lists import ProgramLists
from jitflow.frontend.outside.pooled_objects import is_pooled
from jitflow.frontend.outside.proxies import OutsideDict
from jitflow.frontend.recording.choices import Restart
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.texts import TracedText
from jitflow.frontend.texts.traced import is_text_value, waits
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.types import Container

__all__ = ["is_running_key", "restart_keyed"]


def is_running_key(thing: Any) -> bool:
    """Whether a key is known only when the program runs."""
    if isinstance(thing, tuple):
        return any(map(is_running_key, thing))
    if is_pooled(thing):
        return True
    if isinstance(thing, tracers.NumberTracer):
        return thing.pinned() is None
    if is_text_value(thing) or (type(thing) is TracedText and waits(thing)):
        return True
    return isinstance(thing, tracers.ScalarTracer)


def _is_position(thing: Any) -> bool:
    """Whether a key is made of the positions of native loops, which would be known if the loops were written out."""
    if isinstance(thing, tuple):
        return any(map(_is_position, thing))
    return isinstance(thing, tracers.SizeTracer) and not isinstance(thing.dim, int)


def restart_keyed(container: Any, key: Any, item: Any = None) -> None:
    """Start the trace anew if a dict or set of Python's is asked for a key of the running program."""
    trace = current_trace()
    known = None if isinstance(container, list) else trace.state(ProgramLists).made.get(id(container))
    if known is None or trace.choices.is_settled(known.site):
        return
    is_wish = not is_running_key(key)
    if is_wish and not _is_position(key):
        return
    held: Any = True
    key_type, kind = item_type(key), item_type(item)
    if key_type is not None and isinstance(container, set):
        held = Container(kind="set", key=key_type)
    elif key_type is not None and kind is not None and type(container) in (dict, OutsideDict, SlottedDict):
        held = Container(kind="dict", key=key_type, item=kind)
    raise trace.begin_anew(Restart(known.site, held, is_wish=is_wish or isinstance(container, SlottedDict)))


surface.install(restart_keyed=restart_keyed)
