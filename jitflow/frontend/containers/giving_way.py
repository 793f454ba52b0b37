"""Lists on tapes that give way to containers of the heap, for what a tape cannot do.

A tape holds arrays of one shape that is known where the list is made, and copies of them. Where arrays have other
sizes, are written to, or stand beside things of other types, the trace starts anew, and they lie in the heap.
"""

from __future__ import annotations

from typing import Any

from jitflow.frontend.containers.item_types import item_type, joined
from jitflow.frontend.containers.list_tapes import Form
from jitflow.frontend.recording.choices import Restart, Site
from jitflow.frontend.recording.trace import current_trace
from jitflow.ir.array_items import array_item
from jitflow.ir.dtypes import C64
from jitflow.ir.types import Container, Item, Scalar, Tensor

__all__ = ["begin_anew_in_heap", "made_in_heap"]


def begin_anew_in_heap(site: Site, form: Form | None, item: Any = None) -> None:
    """Start the trace anew with a list of the heap, if it can hold items of a form, and one more."""
    trace = current_trace()
    if any(scope.is_differentiated for scope in trace.scope.around()):
        return
    kinds = [kind for kind in (_item_of(form), None if item is None else item_type(item)) if kind is not None]
    if len(kinds) < (form is not None) + (item is not None) or not kinds:
        return
    both = kinds[0] if len(kinds) == 1 else joined(*kinds)
    if both is not None:
        raise trace.begin_anew(Restart(site, Container(item=both)))


def made_in_heap(site: Site) -> Container | None:
    """The type of the list that is made at a site, if that is one of the heap."""
    answer = current_trace().choices.answer(site)
    return answer if isinstance(answer, Container) else None


def _item_of(form: Form | None) -> Item | None:
    """The type of items of a form; None if there is none."""
    if form is None or form.several is not None:
        return None if form is None else form.several
    parts = [_item_of_kind(kind) for kind in form.kinds]
    known = tuple(part for part in parts if part is not None)
    return None if len(known) < len(parts) else known if form.is_tuple else known[0]


def _item_of_kind(kind: Scalar | Tensor) -> Item | None:
    if isinstance(kind, Scalar):
        return kind
    sizes = [dim if isinstance(dim, int) else None for dim in kind.dims]
    return None if kind.dtype == C64 else array_item(kind.dtype, sizes)
