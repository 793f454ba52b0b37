"""The hooks that rewritten control flow calls (`jitflow.frontend.syntax`).

On Python's own values a hook does what Python does. On values that only the running program knows it records a region:
`branch.py` an ``if``, `loop.py` a ``for`` or ``while`` (by `rolling.py`), `raising.py` what a ``raise`` or ``assert``
raises, `attempts.py` what a ``try`` catches, `trying.py` nothing.
"""

from __future__ import annotations

from jitflow.frontend.control.attempts import attempt, attempts
from jitflow.frontend.control.branch import and_, bound, choose, if_, or_
from jitflow.frontend.control.changing_lists import made_list
from jitflow.frontend.control.gathering import gathered
from jitflow.frontend.control.logic import chain, contains, equal, is_, not_, unequal
from jitflow.frontend.control.loop import for_, while_
from jitflow.frontend.control.raising import assert_, exception, free, raise_
from jitflow.frontend.control.trying import caught, finishing, trying, watched
from jitflow.frontend.texts import percent, text, text_method

__all__ = ["and_", "assert_", "attempt", "attempts", "bound", "caught", "chain", "choose", "contains", "equal",
           "exception", "finishing", "for_", "free", "gathered", "if_", "is_", "made_list", "not_", "or_", "percent",
           "raise_", "text", "text_method", "trying", "unequal", "watched", "while_"]  # fmt: skip
