"""The rewriting of Python's control flow: a function in, code out in which statements that decide call hooks.

::

    source          finds the syntax tree of a function that is running, if its file still says the same
    prepare         brings the body into plain form
    bound           finds reads of names that may be unbound
    jumps           removes break, continue and early return
    liveness        finds what is read after each branch and loop
    statements      turns blocks into functions, and statements into calls of hooks
    expressions     does the same for `and`, `or`, `not`, `if` expressions and chained comparisons
    conditions      tells which `and` and `or` are asked for their truth alone
    comprehensions  keeps their names apart from those of the function
    rewrite         the door: all of this, compiled

It knows nothing of tracing. What a hook does is Python's meaning on Python's values; `jitflow.frontend.control` gives
them the other one, on traced values.
"""

from jitflow.frontend.syntax.build import CELL
from jitflow.frontend.syntax.rewrite import (
    Rewritten,
    is_block,
    is_made,
    makes_containers,
    rewritten,
    why_not,
    why_plain,
)

__all__ = ["CELL", "Rewritten", "is_block", "is_made", "makes_containers", "rewritten", "why_not", "why_plain"]
