"""The hooks that rewritten control flow calls (`jitflow.frontend.syntax`).

On Python's own values a hook does what Python does. On values that only the running program knows it records a region:
`branch` an ``if``, `loop` a ``for`` or ``while`` (by `rolling`), `raising` and `assertions` what a ``raise`` or
``assert`` raises, `attempts` what a ``try`` catches, `trying` nothing.
"""

from __future__ import annotations

from jitflow.frontend.containers.made_containers import made_container, made_dict, made_set, repeated
from jitflow.frontend.control.assertions import assert_
from jitflow.frontend.control.attempts import attempt, attempts
from jitflow.frontend.control.branch import and_, both, bound, choose, either, if_, or_
from jitflow.frontend.control.caught_errors import again, caught_error, known_error, raised_again
from jitflow.frontend.control.comparisons import chain, compared, contains, is_
from jitflow.frontend.control.logic import not_
from jitflow.frontend.control.loop import for_, while_
from jitflow.frontend.control.managers import managed, suppressing
from jitflow.frontend.control.raising import exception, free, raise_
from jitflow.frontend.control.recursive import recursive
from jitflow.frontend.control.tried_loops import tried_items
from jitflow.frontend.control.trying import caught, finishing, trying, watched
from jitflow.frontend.numpy.calling import in_arrays
from jitflow.frontend.python.builtin_functions import attribute
from jitflow.frontend.python.chosen_items import indexed
from jitflow.frontend.python.comprehended import consumed, gathered, listed, rows
from jitflow.frontend.python.matching import has_length, is_mapping, is_of, is_sequence, part_of
from jitflow.frontend.python.sequence_methods import method
from jitflow.frontend.python.spreading import spread, unpacked
from jitflow.frontend.texts import percent, text

__all__ = ["again", "and_", "assert_", "attempt", "attempts", "attribute", "both", "bound", "caught", "caught_error",
           "chain", "choose", "compared", "consumed", "contains", "either", "exception", "finishing", "for_", "free",
           "gathered", "has_length", "if_", "in_arrays", "indexed", "is_", "is_mapping", "is_of", "is_sequence",
           "known_error", "listed", "made_container", "made_dict", "made_set", "managed", "method", "not_", "or_",
           "part_of", "percent", "raise_", "raised_again", "recursive", "repeated", "rows", "spread", "suppressing",
           "text", "tried_items", "trying", "unpacked", "watched", "while_"]  # fmt: skip
