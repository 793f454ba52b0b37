"""What the ops of a function say of how it is called: what it may give, what it takes, where it runs."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from jitflow.backends.llvm.emission.types import register_type
from jitflow.ir.core import Function, Region, walk
from jitflow.machines.hardware import is_elsewhere

__all__ = ["can_fail", "levels", "message_words", "region_can_fail", "returned_type", "runs_elsewhere",
           "takes_context"]  # fmt: skip


def runs_elsewhere(program: Function) -> bool:
    """Whether a part of a program is compiled and run by another process."""
    return is_elsewhere(str(program.attributes.get("device", "")))


def message_words(program: Function) -> int:
    """How many words come with a message of a part that is not written here, at most."""
    sends = (op for op in walk(program.region) if op.name == "send")
    return max((2 * len(op.operands) for op in sends), default=0)


def levels(program: Function) -> int:
    """How many loops in each other show how far they are."""
    ops = (op for function in (program, *program.functions) for op in walk(function.region))
    return max((op.attributes["level"] + 1 for op in ops if op.name == "progress"), default=0)


def returned_type(function: Function) -> str:
    """What a function that calls itself gives: its status, then its results."""
    return "{ " + ", ".join(["i32", *(register_type(value.type) for value in function.results)]) + " }"


def can_fail(function: Function) -> bool:
    """Whether running a kernel can give a status that is not zero."""
    return region_can_fail(function.region)


def region_can_fail(region: Region) -> bool:
    """Whether an op in a region can end the function with such a status."""
    return not _FAILING.isdisjoint(_ops_in(region))


_POLLS = "an op that polls"
_TAKING_MEMORY = (
    "make_container",
    "add_items",
    "text_constant",
    "extend_text",
    "concatenate_texts",
    "insert_characters",
    "append_number",
    "append_packed",
    "append_item",
    "insert_item",
    "enter_key",
    "merge_keys",
    "settle_keys",
    "keys_of",
    "pack_containers",
    "pass_container",
    "give_containers",
    "tell_containers",
    "sort_items",
)
_FAILING = frozenset(("check", "broadcast_dims", "push", "pop", "peek", "poke", _POLLS, *_TAKING_MEMORY))
_TAKING_CONTEXT = frozenset(("push", "clear", "draw", "share", _POLLS))


def takes_context(function: Function) -> bool:
    """Whether a kernel calls what the context holds: then this is its last argument."""
    return not _TAKING_CONTEXT.isdisjoint(_ops_in(function.region))


def _ops_in(region: Region) -> frozenset[str]:
    """The names of the ops in a region, and `_POLLS`: every launch asks for those of its kernel."""
    found = _KNOWN.get(region)
    if found is None:
        ops = list(walk(region))
        polls = {_POLLS} if any("polls" in op.attributes for op in ops) else set()
        found = _KNOWN[region] = frozenset(polls.union(op.name for op in ops))
    return found


_KNOWN: WeakKeyDictionary[Region, frozenset[str]] = WeakKeyDictionary()
