"""The hooks that rewritten control flow calls (`jitflow.frontend.syntax`).

On Python's own values a hook does what Python does. On values that only the running program knows it records a region:
`branch.py` an ``if``, `loop.py` a ``for`` or ``while``.
"""

from __future__ import annotations

from jitflow.frontend.control.branch import and_, bound, choose, if_, or_
from jitflow.frontend.control.logic import assert_, chain, contains, not_, raise_
from jitflow.frontend.control.loop import for_, while_

__all__ = ["and_", "assert_", "bound", "chain", "choose", "contains", "for_", "if_", "not_", "or_", "raise_", "while_"]
