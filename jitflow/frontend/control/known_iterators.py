"""What `itertools` gives that a loop goes through by numbers: what counts without end, and products."""

from __future__ import annotations

import itertools
from typing import Any

from jitflow.frontend.control.mutables import is_held
from jitflow.frontend.control.rolling import Test
from jitflow.frontend.control.sources import Product
from jitflow.frontend.control.steps import is_integer
from jitflow.frontend.recording.budget import MOST_COPIES

__all__ = ["as_count", "as_product"]


def as_count(iterable: Any) -> tuple[Any, Any] | None:
    """Where ``itertools.count`` begins and its step, if these are integers and nobody goes on with it."""
    if type(iterable) is not itertools.count or is_held(iterable):
        return None
    start, step = (*iterable.__reduce__()[1], 1)[:2]
    return (start, step) if is_integer(start) and is_integer(step) else None


def as_product(iterable: Any, test: Test | None) -> Product | None:
    """What ``itertools.product`` gives, if it is more than a few and nobody sees how far the loop came."""
    if not isinstance(iterable, itertools.product) or (test is not None and is_held(iterable)):
        return None
    reduced: Any = iterable.__reduce__()
    _, pools, *state = reduced
    found = Product(pools)
    return None if state or found.turns <= MOST_COPIES else found
