"""Items of Python's lists at an index that the turns of a loop make: each of them knows it if the loop is written out.

So such an index is asked for its number. Where the loop cannot be written out, the trace starts anew, and the running
program chooses the item (`jitflow.frontend.python.chosen_items`).
"""

from __future__ import annotations

from jitflow.errors import UserError
from jitflow.frontend.control.lessons import Nest
from jitflow.frontend.recording.choices import Choice, Restart, Site
from jitflow.frontend.recording.trace import current_trace
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim
from jitflow.ir.location import Loc

__all__ = ["Draws", "asks_for_number", "begin_anew_choosing"]


class _AskedItems(set[Site]):
    """Where an item would have been chosen."""


class Draws:
    """Whether a trace has drawn random numbers."""

    any = False


def asks_for_number(index: Value | Dim) -> bool:
    """Whether an index of a list is asked for its number, because it may be known in each turn of a loop."""
    trace = current_trace()
    rounds = trace.state(Nest).rounds
    if not rounds:
        return False
    if isinstance(index, Value):
        if index in trace.parameters or (trace.state(Draws).any and _is_drawn(index)):
            return False
        if any(index in op.results for scope in rounds[0].outside.around() for op in scope.builder.ops):
            return False
    elif trace.is_visible_in(rounds[0].outside)(index):
        return False
    site = _site(trace.here())
    trace.state(_AskedItems).add(site)
    return not trace.choices.answer(site)


def _is_drawn(index: Value) -> bool:
    """Whether an index is made of a random number, which no turn knows before it runs."""
    scopes = current_trace().scope.around()
    makers = {result: op for scope in scopes for op in scope.builder.ops for result in op.results}
    seen, waiting = {index}, [index]
    while waiting:
        op = makers.get(waiting.pop())
        if op is None:
            continue
        if op.name == "draw" or any(effect.kind == "external" for effect in op.own_effects):
            return True
        waiting += [operand for operand in op.operands if operand not in seen]
        seen.update(op.operands)
    return False


def begin_anew_choosing(error: UserError) -> None:
    """Start the trace anew if all that keeps a loop from being a native one is the number of an index."""
    trace = current_trace()
    site = _site(error.location) if isinstance(error.location, Loc) else None
    if site is not None and site in trace.state(_AskedItems) and not trace.choices.answer(site):
        raise trace.begin_anew(Restart(site))


def _site(place: Loc) -> Site:
    return Site(Choice.ITEM_CHOSEN, place.file, place.line)
