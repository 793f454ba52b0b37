"""Functions that a derivative runs more than once, and that would find something else each time.

`jitflow.vjp` runs a function for its value and once more for each of its cotangents, `jitflow.jacobian` once for each
element of the result. A function that changes what it reads from outside, a variable or the counter of a random
generator, is another function each time, so that the derivative would not belong to the value.
"""

from __future__ import annotations

from jitflow.errors import UserNotImplementedError
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers.base import located
from jitflow.frontend.transforms.traced import Traced
from jitflow.ir.core import Region, Value, walk

__all__ = ["refuse_changes", "refuse_left_behind"]


def refuse_changes(region: Region, what: str) -> None:
    """Raise UserNotImplementedError where a region writes to storage from outside that it has read before."""
    top, used = frozenset(region.ops), _used(region)
    roots, loaded = _outside()
    inside = {value for op in walk(region) for inner in op.regions for value in inner.parameters}
    read: set[Value] = set()
    replaced: set[Value] = set()
    """What the region has filled itself, whatever was there before."""
    for op in walk(region):
        read.update(memory for operand in op.operands if (memory := _memory(operand, loaded)) is not None)
        if "view" in op.definition.traits:
            roots[op.result] = roots.get(op.operands[0], op.operands[0])
            continue
        inside.update(op.results)
        if op.name == "load" and op.result not in used:
            continue
        for effect in op.own_effects:
            if effect.kind not in ("reads", "writes"):
                continue
            place = op.operands[effect.operand]
            root = roots.get(place, place)
            if root in inside or root in replaced:
                continue
            if effect.kind == "reads":
                read.add(root)
            elif root in read:
                raise located(_refusal(what).at(op.loc))
            elif op.name == "store" and place is root and op in top:
                replaced.add(root)


def refuse_left_behind(traced: Traced, what: str) -> None:
    """Raise UserNotImplementedError where a function changes objects or locals around it."""
    if traced.left:
        raise located(
            UserNotImplementedError(
                f"{what} of a function that changes an object or a local variable around it",
                found="the function runs more than once, and would change it each time",
                mend="return what is to be known of it as well, or use jitflow.value_and_grad, which runs it once",
            )
        )


def _used(region: Region) -> set[Value]:
    """The values of a region that something is done with, beside looking at parts of them."""
    used: set[Value] = set()
    for op in reversed(list(walk(region))):
        if "view" not in op.definition.traits or op.result in used:
            used.update(op.operands)
    return used


def _memory(value: Value, loaded: dict[Value, Value]) -> Value | None:
    """The memory from which a value of the code around comes."""
    storage = current_trace().storage
    return loaded.get(value) or storage.variables.get(storage.root(value))


def _outside() -> tuple[dict[Value, Value], dict[Value, Value]]:
    """What the views in the code around show, and what was loaded there."""
    roots: dict[Value, Value] = {}
    loaded: dict[Value, Value] = {}
    for scope in reversed(list(current_trace().scope.around())):
        for op in scope.builder.ops:
            if "view" in op.definition.traits:
                roots[op.result] = roots.get(op.operands[0], op.operands[0])
            elif op.name == "load":
                loaded[op.result] = roots.get(op.operands[0], op.operands[0])
    return roots, loaded


def _refusal(what: str) -> UserNotImplementedError:
    return UserNotImplementedError(
        f"{what} of a function that changes what it reads from outside: a variable, an array, or a random generator",
        found="the function runs more than once, and would be another one each time",
        mend="use jitflow.value_and_grad, which runs it once; or return what is to be written, and draw random numbers "
        "before",
    )
