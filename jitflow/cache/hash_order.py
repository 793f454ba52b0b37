"""Code whose trace may depend on hashes: it is not cached.

Texts have other hashes in each process, and most objects hash by their address. So a set of them is gone through in
another order, and a trace writes the order of its process out. Sets come of displays, of `set` and `frozenset`, and of
arithmetic on the keys and items of dicts (``a.keys() & b.keys()``); a dict itself keeps the order of its insertions.
This is asked of the code alone, which cannot tell texts from numbers, so it says more than is so. Where code is
rewritten, a trace looks into the sets that displays, calls and methods make (`frontend.outside.keys_of_sets`), and only
what makes sets in other ways counts.
"""

from __future__ import annotations

import os
import sys
from dis import Instruction, get_instructions, opmap
from itertools import pairwise
from types import CodeType

import numpy as np

import jitflow
from jitflow.runtime.objects.set_orders import has_lasting_order

__all__ = ["SETS", "Incomparable", "require_no_order"]

_OWN = tuple(os.path.dirname(os.path.abspath(file)) + os.sep for file in (jitflow.__file__, np.__file__))
_PROGRAMS = os.path.join(_OWN[0], "benchmarks")
"""Programs that are packed with jitflow, but written as a user writes them."""
SETS = set, frozenset
_KINDS, _HASHES = frozenset(kind.__name__ for kind in SETS), frozenset({"hash", "__hash__"})
_ADDING = frozenset({"add", "symmetric_difference", "symmetric_difference_update", "union", "update"})
"""Methods of sets that put keys there, which a trace sees where they are called by their names."""
_MARKS_CALLS = frozenset({"LOAD_GLOBAL", *(["LOAD_ATTR"] if sys.version_info >= (3, 12) else [])})
"""Instructions whose argument marks that what they read is called; before 3.12 `LOAD_METHOD` does so for attributes."""
_CLASSES = frozenset({"type", "__class__"})
"""What gives the class of a set, which makes another one unseen."""
_MAKE_SETS = frozenset(opmap[name] for name in ("BUILD_SET", "SET_ADD", "SET_UPDATE"))
_VIEWS = frozenset({"keys", "items"})
_NO_ARITHMETIC = frozenset({"GET_ITER", "CONTAINS_OP", "POP_TOP"})
"""What may be done with a view at once: to go through it, or to ask whether something is in it."""
_OF_NO_METHOD = frozenset({"GET_ITER", "LOAD_ATTR", "LOAD_METHOD"})
"""What is done with an attribute of the user's that is called as the view: nobody goes through a method."""
_GO_THROUGH = frozenset(
    ["all", "any", "dict", "enumerate", "filter", "iter", "len", "list", "map", "max", "min", "reversed", "sorted",
     "sum", "tuple", "zip"]
)  # fmt: skip
_ENDS = ("STORE_", "RETURN_", "POP_", "GET_ITER")
"""Where an expression ends, at the latest."""
_NOTHING = frozenset({"PRECALL", "CACHE", "PUSH_NULL", "RESUME", "NOP"})


class Incomparable(Exception):
    """An object has no content that could be compared; the message says what it is."""


def require_no_order(code: CodeType, *, is_told: bool = False) -> None:
    """Raise `Incomparable` for code that may depend on the order of a set, or asks for a hash.

    ``is_told``: the trace has looked into the sets that are made where it would see them. What jitflow and NumPy do
    with sets does not depend on their order.
    """
    if code.co_filename.startswith(_OWN) and not code.co_filename.startswith(_PROGRAMS):
        return
    names = frozenset(code.co_names)
    makes_sets = not _MAKE_SETS.isdisjoint(code.co_code[::2]) or not _KINDS.isdisjoint(names)
    if not _HASHES.isdisjoint(names) or (makes_sets and not (is_told and _CLASSES.isdisjoint(names))):
        raise _refusal(code)
    has_sets = any(type(constant) is frozenset for constant in code.co_consts)
    has_views, may_add = not _VIEWS.isdisjoint(names), is_told and not _ADDING.isdisjoint(names)
    if makes_sets or has_sets or has_views or may_add:
        instructions = [one for one in get_instructions(code) if one.opname not in _NOTHING]
        for one, following in pairwise(instructions):
            is_gone_through = type(one.argval) is frozenset and following.opname != "CONTAINS_OP"
            if is_gone_through and not (is_told and has_lasting_order(one.argval)):
                raise _refusal(code)
            is_named = following.opname == "LOAD_ATTR" and following.argval in _ADDING and not _is_called(following)
            if (one.argval in _KINDS and not _is_called(one)) or (is_named and one.opname != "LOAD_GLOBAL"):
                raise _refusal(code)
        if has_views:
            _require_no_arithmetic(code, instructions)


def _is_called(name: Instruction) -> bool:
    """Whether a global or an attribute is read to be called, and for nothing else."""
    return name.opname in _MARKS_CALLS and bool(name.arg and name.arg & 1)


def _refusal(code: CodeType) -> Incomparable:
    return Incomparable(f"{code.co_qualname}, which may make a set: its order is another one in each process")


def _require_no_arithmetic(code: CodeType, instructions: list[Instruction]) -> None:
    """Refuse code in which a view on a dict is neither gone through at once nor handed to what goes through it."""
    handed_until = None
    for place, one in enumerate(instructions):
        if one.opname not in ("LOAD_METHOD", "LOAD_ATTR") or one.argval not in _VIEWS:
            continue
        call, following = (*instructions[place + 1 : place + 3], None, None)[:2]
        if call is not None and call.opname in _OF_NO_METHOD:
            continue
        if call is None or call.opname != "CALL" or call.arg or following is None:
            raise _refusal(code)
        if following.opname in _NO_ARITHMETIC:
            continue
        first = place - 1  # of the instructions that find the dict
        while first > 0 and instructions[first].opname == "LOAD_ATTR":
            first -= 1
        before = instructions[first - 1] if first > 0 and instructions[first].opname.startswith("LOAD_") else None
        is_handed = before is not None and before.opname == "LOAD_GLOBAL" and before.argval in _GO_THROUGH
        if not is_handed and first - 1 != handed_until:
            raise _refusal(code)
        for other in instructions[place + 2 :]:  # as `len(a.keys() & b.keys())` has it
            if other.opname == "BINARY_OP":
                raise _refusal(code)
            if other.opname.startswith(_ENDS):
                break
        handed_until = place + 1
