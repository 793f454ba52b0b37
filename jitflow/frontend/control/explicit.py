"""Control flow as functions: `cond`, `while_loop`, `fori_loop`, `scan` and `map`, with JAX's signatures and meaning.

Python's own statements are compiled, so nobody needs these; they serve programs that are written with them already, and
code that wants to say that a loop is one loop. Outside of a compiled function they run as plain Python. While tracing,
a decision or a trip count that only the running program knows becomes a region, by the same hooks as rewritten syntax
(`branch.py`, `loop.py`). What is carried may be any structure of tuples, lists, dicts and dataclasses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, NoReturn

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserError, UserNotImplementedError, UserTypeError, UserValueError
from jitflow.frontend.control.alternatives import described
from jitflow.frontend.control.branch import choose
from jitflow.frontend.control.leaves import Leaves, flatten
from jitflow.frontend.control.local_types import Kind, join, kind_of
from jitflow.frontend.control.loop import for_, while_
from jitflow.frontend.control.paths import trace_path
from jitflow.frontend.control.ranges import traced_range
from jitflow.frontend.recording.trace import active_trace, current_trace
from jitflow.frontend.tracers.base import located
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.types import Tensor

__all__ = ["cond", "fori_loop", "map", "scan", "while_loop"]

Function = Callable[..., Any]


def cond(pred: Any, true_fn: Function, false_fn: Function, *operands: Any) -> Any:
    """``true_fn(*operands) if pred else false_fn(*operands)``.

    ``pred`` is a bool or number. Both functions must return the same structure; numbers and arrays in it keep their
    types. Raises TypeError for structures that differ.
    """
    if active_trace() is None:
        return true_fn(*operands) if pred else false_fn(*operands)
    found: list[Leaves] = []

    def run(function: Function) -> Any:
        result = function(*operands)
        found.append(flatten(result, whole=True))
        if len(found) == 2:
            _require_same("false_fn returns", found[1], "true_fn", found[0])
        return result

    return choose(pred, lambda: run(true_fn), lambda: run(false_fn))


def while_loop(cond_fun: Function, body_fun: Function, init_val: Any) -> Any:
    """Replace ``init_val`` by ``body_fun(init_val)`` as long as ``cond_fun(init_val)`` holds; what it is at the end.

    Raises TypeError if ``body_fun`` returns another structure than it gets.
    """
    carry = init_val

    def test() -> Any:
        return cond_fun(carry)

    def turn() -> None:
        nonlocal carry
        carry = _next("body_fun", carry, body_fun(carry))

    if active_trace() is not None:
        while_(test, turn, ("carry",), ())
        return carry
    while test():
        turn()
    return carry


def fori_loop(lower: Any, upper: Any, body_fun: Function, init_val: Any) -> Any:
    """``for i in range(lower, upper): val = body_fun(i, val)``, from ``init_val``; what ``val`` is at the end.

    Raises TypeError if ``body_fun`` returns another structure than it gets.
    """
    carry = init_val

    def turn(position: Any) -> None:
        nonlocal carry
        carry = _next("body_fun", carry, body_fun(position, carry))

    _repeat(lower, upper, turn)
    return carry


def scan(f: Function, init: Any, xs: Any = None, length: int | None = None, reverse: bool = False) -> tuple[Any, Any]:
    """``carry, y = f(carry, x)`` for each item ``x`` of ``xs`` along its first axis, the last first if ``reverse``.

    ``xs`` is an array or a structure of arrays of one length, or None with a ``length``. Returns the last carry and
    the ``y`` of all turns, in the order of ``xs``, stacked along a new first axis. To know what an empty ``xs`` stacks
    to, ``f`` is called with zeros.

    Raises ValueError for lengths that differ or are missing, and TypeError if ``f`` returns another structure than it
    gets.
    """
    source = _Stacked(xs, length)
    run = _scan_traced if active_trace() is not None else _scan_now
    return run(f, init, source, reverse)


def map(f: Function, xs: Any) -> Any:
    """``f(x)`` for each item ``x`` of ``xs`` along its first axis, stacked along a new first axis.

    ``xs`` is an array or a structure of arrays of one length. To know what an empty ``xs`` stacks to, ``f`` is called
    with zeros.
    """
    return scan(lambda carry, x: (carry, f(x)), (), xs)[1]


# -- what is carried ----------------------------------------------------------------------------------------


def _next(function: str, carry: Any, new: Any) -> Any:
    """``new``, which has to have the structure of ``carry``."""
    _require_same(f"{function} returns", flatten(new, whole=True), "it gets", flatten(carry, whole=True))
    return new


def _require_same(what: str, found: Leaves, other: str, expected: Leaves) -> None:
    if repr(found.shape) != repr(expected.shape):
        raise _located(
            UserTypeError(
                f"{what} another structure than {other}{_key_at_fault(found.shape, expected.shape)}",
                found=_text(found),
                expected=_text(expected),
                mend="return tuples, lists and dicts of the same form, with numbers and arrays in the same places",
            )
        )


def _text(leaves: Leaves) -> str:
    """A structure with a star for each number or array."""
    return _text_of(leaves.shape)


def _key_at_fault(found: Any, expected: Any) -> str:
    """The key of a dict that one of two structures has alone; empty if they differ in something else."""
    if found is None or expected is None:
        return ""
    (kind, keys), (other, wanted) = _head(found), _head(expected)
    if kind is dict and other is dict:
        missing, more = [key for key in wanted if key not in keys], [key for key in keys if key not in wanted]
        words = f"nothing under the key {missing[0]!r}" if missing else f"the key {more[0]!r} as well" if more else ""
        if words:
            return f": {words}"
    inside = (_key_at_fault(one, another) for one, another in zip(found[1], expected[1], strict=False))
    return next(filter(None, inside), "")


def _head(shape: Any) -> tuple[Any, Any]:
    """What a structure is, and its keys."""
    head = shape[0]
    while isinstance(head[0], tuple):  # of which parts are one object
        head = head[0]
    return head[0], head[1] if len(head) > 1 else ()


def _text_of(shape: Any) -> str:
    if shape is None:
        return "*"
    (kind, keys), parts = _head(shape), shape[1]
    texts = [_text_of(part) for part in parts]
    if kind is list:
        return f"[{', '.join(texts)}]"
    if kind is tuple:
        return f"({', '.join(texts)}{',' * (len(texts) == 1)})"
    if kind is dict:
        return f"{{{', '.join(f'{key!r}: {text}' for key, text in zip(keys, texts, strict=True))}}}"
    return f"{kind.__name__}({', '.join(texts)})"


def _located(error: UserError) -> UserError:
    return error if active_trace() is None else located(error)


# -- scans --------------------------------------------------------------------------------------------------


class _Stacked:
    """The ``xs`` of a scan: ``count`` items, each a structure of what its arrays hold at a position."""

    def __init__(self, xs: Any, length: int | None) -> None:
        self._leaves = flatten(xs)
        self._empty = xs is None
        counts = [] if xs is None else [self._rows(array) for array in self._leaves.items]
        if length is not None:
            counts.append(length)
        if not counts:
            raise _located(UserValueError("scan over nothing", mend="pass xs, or a length"))
        if any(count != counts[0] for count in counts):
            raise _located(UserValueError(
                "the arrays of xs and length differ in length", found=f"lengths {counts}", mend="give them one length"
            ))  # fmt: skip
        self.count = counts[0]

    def _rows(self, array: Any) -> Any:
        shape = array.shape if isinstance(array, np.ndarray | tracers.VariableTracer) else ()
        if not shape:
            raise _located(UserTypeError(
                "xs must hold arrays of one axis or more", found=_text(self._leaves), mend="pass numbers in the carry"
            ))  # fmt: skip
        return shape[0]

    def item(self, position: Any) -> Any:
        if self._empty:
            return None
        return self._leaves.rebuild([array[position] for array in self._leaves.items])

    def zeros(self) -> Any:
        """What an item may look like."""
        if self._empty:
            return None
        return self._leaves.rebuild([np.zeros(array.shape[1:], array.dtype)[()] for array in self._leaves.items])


def _pair(made: Any) -> tuple[Any, Any]:
    if not isinstance(made, tuple) or len(made) != 2:
        raise _located(UserTypeError("f must return a pair: the carry, and the result of the turn",
                                     found=_text(flatten(made)), mend="return carry, result"))  # fmt: skip
    return made


def _scan_now(f: Function, init: Any, source: _Stacked, reverse: bool) -> tuple[Any, Any]:
    carry, results = init, []
    for turn in range(source.count):
        new, result = _pair(f(carry, source.item(source.count - 1 - turn if reverse else turn)))
        carry = _next("f", carry, new)
        results.append(flatten(result))
    if not results:
        sample = flatten(_pair(f(init, source.zeros()))[1])
        return init, sample.rebuild([_emptied(item) for item in sample.items])
    columns = zip(*(leaves.items for leaves in results[:: -1 if reverse else 1]), strict=True)
    return carry, results[0].rebuild([_stacked(column) for column in columns])


def _stacked(column: Sequence[Any]) -> Any:
    """The results of all turns; Python numbers among them adopt the dtype of the others."""
    if column[0] is None:
        return None
    return np.stack(column, dtype=np.result_type(*column), casting="unsafe")


def _emptied(item: Any) -> Any:
    return None if item is None else np.zeros((0, *np.shape(item)), np.asarray(item).dtype)


def _scan_traced(f: Function, init: Any, source: _Stacked, reverse: bool) -> tuple[Any, Any]:
    carry, count = init, source.count
    sample, kinds = discovered(f, init, source)
    outputs = [None if kind is None else memory_for(count, kind) for kind in kinds]

    def turn(position: Any) -> None:
        nonlocal carry
        place = count - 1 - position if reverse else position
        new, result = _pair(f(carry, source.item(place)))
        carry = _next("f", carry, new)
        for output, item in zip(outputs, flatten(result, whole=True).items, strict=True):
            if output is not None:
                output[place] = item

    _repeat(0, count, turn)
    return carry, sample.rebuild(outputs)


def discovered(f: Function, init: Any, source: _Stacked) -> tuple[Leaves, list[Kind | None]]:
    """What a turn results in, and the types of the parts: traced into a region that is thrown away."""
    results: list[Leaves] = []

    def run() -> None:
        item, carry = source.item(_some_position(source)), init
        for _ in range(2):  # the carry may be of another type behind the first turn
            new, result = _pair(f(carry, item))
            results.append(flatten(result, whole=True))
            carry = _next("f", carry, new)

    undo = current_trace().trial()
    trace_path(run, dict)
    undo()
    if not results:
        raise located(UserNotImplementedError("a scan whose every turn raises"))
    return results[0], [_kind(items) for items in zip(*(leaves.items for leaves in results), strict=True)]


def _some_position(source: _Stacked) -> Any:
    """A position that a turn may have."""
    trace = current_trace()
    position = trace.size("i")
    trace.knowledge.at_most[str(position)] = tracers.dim_of(source.count) - 1
    return tracers.size_of(position)


def _kind(items: Sequence[Any]) -> Kind | None:
    """The type of a part of the result in all turns."""
    if all(item is None for item in items):
        return None
    kinds = [kind_of(thing) for item in items for thing in _possible(item)]
    found = [kind for kind in kinds if kind is not None]
    if len(found) < len(kinds):
        _refuse_kinds(items)
    kind = reduce(lambda first, second: join(first, second, _refuse_sizes), found)
    is_visible = current_trace().is_visible_in(current_trace().scope)
    if isinstance(kind, Tensor) and not all(is_visible(dim) for dim in kind.dims):
        _refuse_sizes()
    return kind


def _possible(item: Any) -> list[Any]:
    """What an item may be."""
    return [*item.options.values()] if type(item) is tracers.Alternatives else [item]


def _refuse_kinds(items: Sequence[Any]) -> NoReturn:
    raise located(
        UserTypeError(
            "the results of the turns cannot be stacked",
            found=" and ".join(map(described, items)),
            expected="numbers or arrays of one rank in every turn",
            mend="return a number or an array in every turn",
        )
    )


def _refuse_sizes() -> NoReturn:
    raise located(
        UserValueError(
            "the results of the turns differ in shape, and cannot be stacked",
            mend="return an array of one shape in every turn, padded if need be",
        )
    )


def memory_for(count: Any, kind: Kind) -> Any:
    shape = (count, *(tracers.size_of(dim) for dim in (kind.dims if isinstance(kind, Tensor) else ())))
    return surface.apply_function(np.empty, (shape,), {"dtype": kind.dtype.numpy})


def _repeat(lower: Any, upper: Any, turn: Callable[[Any], None]) -> None:
    """``turn`` for each position; a local ``carry`` is handed from turn to turn."""
    if active_trace() is None:
        for position in range(lower, upper):
            turn(position)
    else:
        for_(traced_range(lower, upper), turn, None, ("carry",), ())
