"""Arrays that the caller gets and that may show one memory, where one of them was merged as a value.

A copy is as good inside of the program. The caller may tell, so the trace starts anew, and the array is merged as
memory. Of two that are one object or two numbers tell as well (`told`), and turns that make arrays keep them apart
more cheaply; that one is a view of another no number says.
"""

from __future__ import annotations

from collections.abc import Iterable

from jitflow.errors import UserNotImplementedError
from jitflow.frontend.control.merge import shown_name
from jitflow.frontend.recording.choices import SHOWN, Restart, Site
from jitflow.frontend.recording.trace import Trace
from jitflow.ir.core import Value
from jitflow.ir.location import Loc

__all__ = ["copy_of_a_view", "require_shown"]


def require_shown(trace: Trace, returned: Iterable[Value]) -> None:
    """Start the trace anew where a returned array was merged as a value, though others outside may show it."""
    storage = trace.storage
    behind = {value: storage.behind(value) - storage.put_elsewhere for value in returned}
    unasked: dict[Site, None] = {}
    for value, roots in behind.items():
        beside = {other: found for other, found in behind.items() if other is not value}
        others = set().union(*beside.values())
        seen = set().union(*(found for other, found in beside.items() if _is_a_view_beside(trace, value, other)))
        merged = [root for root in roots if root in storage.merged]
        is_seen = not roots.isdisjoint(seen)
        asked = [site for root in merged if is_seen or _can_be_shown(trace, root)
                 if not trace.choices.is_settled(site := storage.merged[root].site)]  # fmt: skip
        may_be = [root for root in roots if not storage.is_adopted(root)]
        if asked and any(root in others or storage.is_parameter(root) for root in may_be):
            unasked |= dict.fromkeys(asked)
    if unasked:
        first, *rest = unasked
        trace.begin_anew_at_last(Restart(first, SHOWN, is_wish=True, others=rest))


def copy_of_a_view(site: Site) -> UserNotImplementedError:
    """The error for an array that shows another one where it should, and would be one of its own."""
    return UserNotImplementedError(
        f"{shown_name(site.name)} shows another array on one path or turn, and on another is one of its own",
        expected="a view or an array of its own on every path",
        mend="copy what is shown: x[:n].copy(), z.real.copy()",
        location=Loc(site.file, site.line),
    )


def _is_a_view_beside(trace: Trace, value: Value, other: Value) -> bool:
    """Whether numbers cannot tell that two arrays show one, since not both are it."""
    root, others = trace.storage.root(value), trace.storage.root(other)
    return root is not others and (root is not value or others is not other)


def _can_be_shown(trace: Trace, root: Value) -> bool:
    """Whether the caller may get the memory of a merged array: turns of loops make none of those that it may be."""
    storage = trace.storage
    made = (one for one in storage.behind(root) if one not in storage.merged and not storage.is_adopted(one))
    return storage.merged[root].is_branch or all(storage.homes.get(one, trace.root) is trace.root for one in made)
