"""How arrays lie in memory for NumPy, as far as a trace can know: what decides between a view and a copy.

An argument has its layout class, a new array lies in C order if what it was computed from does, a view lies as its op
says. What is not known of sizes is decided by the first call and recorded as a fact. Where nothing tells (an argument
with gaps that is sliced, an array that came out of a branch), the answer is None, and what then has to be a copy is an
*imitation* (`jitflow.frontend.recording.imitations`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import jitflow.frontend.tracers as tracers
from jitflow.frontend.arrays import broadcasting
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.recording.values import emit
from jitflow.ir.core import Op, Value
from jitflow.ir.dims import Dim, evaluate, symbols
from jitflow.ir.layout import Layout, contiguous, parameter_layout, view_layout
from jitflow.ir.types import Tensor

__all__ = ["are_same", "in_order", "in_order_of_iteration", "is_contiguous", "is_evenly_spaced", "made", "reshaped",
           "strides_of"]  # fmt: skip

_NOWHERE = (-1, "general")
"""The class of an array of which nothing is known."""


def reshaped(value: Value, dims: tuple[Dim, ...], what: str) -> Value:
    """The elements in C order with other dims: a view where NumPy gives one, as far as that is known, else a copy."""
    if _long(values.dims(value)) == _long(dims):
        return values.reshape(value, dims, assumed=True)
    shown = is_evenly_spaced(value)
    if shown:
        found = _with_known_ones(value)
        is_empty = any(current_trace().known(dim, ">=", 1) is False for dim in values.dims(found))
        return values.reshape(_copied(found, None, what, "same") if is_empty else found, dims, assumed=True)
    if shown is False and not (len(_long(dims)) == 1 and _is_one_piece(value) is False):
        shown = None  # NumPy gives a view where axes are split, or have a common stride
    return values.reshape(_copied(value, value if shown is None else None, what, "same"), dims, assumed=True)


def _with_known_ones(value: Value) -> Value:
    """The same with the number for sizes that have been decided to be 1: their strides count no more."""
    dims, trace = values.dims(value), current_trace()
    known = [
        1 if trace.known(dim, ">=", 2) is False and trace.decide(dim, ">=", 1, "the layout of an array") else dim
        for dim in dims
    ]
    return values.slice_axes(value, [0] * len(dims), known, [1] * len(dims))


def in_order(value: Value, what: str) -> Value:
    """The array itself if it is contiguous, else a copy that is."""
    shown = is_contiguous(value)
    return value if shown else _copied(value, value if shown is None else None, what, "in order")


def _copied(value: Value, source: Value | None, what: str, step: str) -> Value:
    """A copy in C order, which imitates a view of ``source`` if that is given, by this step."""
    copied = emit("copy", value, order="C")
    current_trace().storage.classes[copied] = 0, "C"
    if source is not None:
        current_trace().storage.imitations.add(copied, source, what, (step, {}))
    return copied


def made(array: Any, order: Any, prototype: Value | None = None) -> Any:
    """A new array that the program asked for in an order: ``C``, ``F``, or (``K``, ``A``) that of a prototype."""
    value = array._value if isinstance(array, tracers.ArrayTracer) else None
    if value is None or values.rank(value) <= 1:
        return array
    if order == "F" or (order == "C" and is_contiguous(value) is not True):
        value = emit("copy", value, order=order)
        array = tracers.wrap(value, owned=True)
    in_order = order == "C" or (order != "F" and (prototype is None or _runs_in_order(prototype)))
    current_trace().storage.classes[value] = (0, "C") if in_order else _NOWHERE
    return array


# -- what is known ------------------------------------------------------------------------------------------


def is_contiguous(value: Value) -> bool | None:
    """Whether the elements lie in C order without gaps; None if that is not known."""
    return _follow_at(value, values.dtype_of_value(value).itemsize)


def is_evenly_spaced(value: Value) -> bool | None:
    """The same, or whether they are those parts of complex numbers that do, which NumPy shows in any shape as well."""
    made, root = current_trace().storage.parts.made, current_trace().storage.root(value)
    return _follow_at(value, values.dtype_of_value(made[root][0] if root in made else value).itemsize)


def _follow_at(value: Value, distance: Dim) -> bool | None:
    """Whether they lie in C order, each so many bytes behind the one before."""
    dims, layout = values.dims(value), _layout(value)
    if layout is None:
        return None
    expected = distance
    for axis in range(len(dims))[::-1]:
        same = are_same(layout.strides[axis], expected)
        if not same and _is_long(dims[axis]) is not False:
            return _of_argument(value) if same is None or _is_long(dims[axis]) is None else False
        expected = expected * dims[axis]
    return True


def strides_of(value: Value) -> tuple[Dim, ...] | None:
    """The distances of neighbours along each axis, in bytes; None if they are not known, not even by names."""
    layout = _layout(value)
    return None if layout is None else tuple(layout.strides)


def _of_argument(value: Value) -> bool | None:
    """An argument of another class is not contiguous, nor is its transpose."""
    storage, wanted = current_trace().storage, "C"
    several = all(_is_long(dim) for dim in values.dims(value))
    while (source := storage.source(value)) is not None:
        if isinstance(source, Op):
            if source.name != "transpose" or list(source.attributes["axes"]) != list(range(values.rank(value)))[::-1]:
                return None
            wanted = "F" if wanted == "C" else "C"
        value = source.operands[0] if isinstance(source, Op) else source
    return False if storage.is_parameter(value) and several and storage.classes[value][1] != wanted else None


def _is_one_piece(value: Value) -> bool | None:
    """Whether one stride leads through all elements in C order, so that NumPy can show them as one axis."""
    layout, dims = _layout(value), values.dims(value)
    if layout is None or not all(_is_long(dim) for dim in dims):
        return None
    answers = [
        are_same(outer, inner * dim)
        for outer, inner, dim in zip(layout.strides, layout.strides[1:], dims[1:], strict=False)
    ]
    return False if False in answers else None if None in answers else True


def _layout(value: Value) -> Layout | None:
    """The strides of an array; None if they are not known, not even by names."""
    source, storage = current_trace().storage.source(value), current_trace().storage
    if isinstance(source, Op):
        inner = _layout(source.operands[0])
        return None if inner is None else view_layout(source, inner, values.dtype_of_value(value).itemsize)
    if isinstance(source, Value):
        return _layout(source)
    dims, dtype = values.dims(value), values.dtype_of_value(value)
    if value in storage.parts.made:  # it lies as what it is a part of
        whole, name = storage.parts.made[value]
        inner = _layout(whole)
        return inner and replace(inner, offset=inner.offset + (dtype.itemsize if name == "imag" else 0))
    if value in storage.classes:
        position, kind = storage.classes[value]
        return parameter_layout(position, Tensor(dtype, dims), kind)
    return contiguous(dims, dtype.itemsize) if _is_made_in_order(value) else None


class _InOrder(set[Value]):
    """Arrays of a trace that are known to lie so that no outer axis has a smaller stride than an inner one."""


def _is_made_in_order(value: Value) -> bool:
    """Whether NumPy makes a new array in C order: what keeps the order of its operands does if all of them lie so."""
    answer = _made_like(value)
    return answer if isinstance(answer, bool) else all(map(_runs_in_order, answer))


def _runs_in_order(value: Value) -> bool:
    """Whether no outer axis has a smaller stride than an inner one."""
    known = current_trace().state(_InOrder)
    found, waiting = {value}, [value]
    while waiting:
        answer = True if (one := waiting.pop()) in known else _lies_like(one)
        if answer is False:
            return False
        if answer is not True:
            more = [other for other in answer if other not in found]
            found.update(more)
            waiting += more
    known |= found
    return True


def _made_like(value: Value) -> bool | Sequence[Value]:
    """Whether a new array is made in C order, or the arrays that have to lie so for that."""
    storage = current_trace().storage
    if value in storage.merged or value not in storage.makers:
        return False
    op = storage.makers[value]
    traits = op.definition.traits
    if op.regions or values.rank(value) <= 1:
        return not op.regions
    if "creation" in traits or op.name == "matmul" or not any(map(values.rank, op.operands)):
        return True
    rows = op.name == "concatenate" or (op.name == "gather" and op.attributes["axis"] == 0)
    return op.operands if rows or not traits.isdisjoint(("elementwise", "reduction")) else False


def _lies_like(value: Value) -> bool | Sequence[Value]:
    """Whether the axes of an array lie in order, or the arrays whose axes have to."""
    if not isinstance(value.type, Tensor) or values.rank(value) <= 1:
        return True
    storage = current_trace().storage
    source = storage.source(value)
    if isinstance(source, Value):
        return (source,)
    if isinstance(source, Op):
        return source.operands[:1] if source.name in ("slice", "broadcast", "reshape") else False
    if value in storage.classes:
        return storage.classes[value][1] == "C"
    return _made_like(value)


# -- the order of iteration ---------------------------------------------------------------------------------


def in_order_of_iteration(operands: Sequence[Value], rank: int) -> list[Value]:
    """Operands of one shape with their axes turned as NumPy goes through them: outermost first.

    It follows the memory of the operands, as far as these agree; where several elements go to one place, the last one
    stays. An operand of which nothing is known is taken to lie in C order.
    """
    ranked = [_ranked(operand) or list(range(rank, 0, -1)) for operand in operands if values.rank(operand)]
    order: list[int] = []
    for axis in range(rank)[::-1]:  # innermost first; each axis moves inwards over those that lie further out
        place = len(order)
        for other in range(len(order))[::-1]:
            pairs = [(abs(one[axis]), abs(one[order[other]])) for one in ranked if one[axis] and one[order[other]]]
            if not pairs:
                continue
            if any(inner <= outer for outer, inner in pairs):
                break
            place = other
        order.insert(place, axis)
    order.reverse()
    steps = [_direction([one[axis] for one in ranked]) for axis in order]
    return [_turned(operand, order, steps) if values.rank(operand) else operand for operand in operands]


def _direction(strides: Sequence[int]) -> int:
    """An axis is walked backwards if that is forwards in memory for all operands."""
    return -1 if max(strides) <= 0 and min(strides) < 0 else 1


def _turned(operand: Value, order: Sequence[int], steps: Sequence[int]) -> Value:
    turned = values.transpose(operand, order)
    dims = values.dims(turned)
    starts = [dim - 1 if step < 0 else 0 for dim, step in zip(dims, steps, strict=True)]
    return values.slice_axes(turned, starts, dims, steps)


class _Ranks(dict[Value, list[int] | None]):
    """What `_ranked` has found of the arrays of a trace."""


def _ranked(value: Value) -> list[int] | None:
    """For each axis a number that is larger, the larger its stride is, with the stride's sign; 0 where it repeats."""
    known, waiting = current_trace().state(_Ranks), [value]
    while waiting:
        before = [one for one in _like_what(waiting[-1]) if one not in known]
        waiting += before
        if not before:
            one = waiting.pop()
            known[one] = _ranked_by(one, known)
    return known[value]


def _like_what(value: Value) -> Sequence[Value]:
    """The arrays whose axes say how those of an array lie."""
    storage = current_trace().storage
    source = storage.source(value)
    if isinstance(source, Value):
        return (source,)
    if isinstance(source, Op):
        return source.operands[:1]
    maker = storage.makers.get(value)
    if value in storage.classes or maker is None or _is_made_in_order(value):
        return ()
    keeps = not maker.regions and "elementwise" in maker.definition.traits
    return [one for one in maker.operands if values.rank(one)] if keeps else ()


def _ranked_by(value: Value, known: Mapping[Value, list[int] | None]) -> list[int] | None:
    """The same, of an array of whose like it is ``known``."""
    storage, rank = current_trace().storage, values.rank(value)
    source = storage.source(value)
    if isinstance(source, Value):
        return known[source]
    if isinstance(source, Op):
        found = _ranked_view(source, known[source.operands[0]])
    elif value in storage.classes:
        kind = storage.classes[value][1]
        found = {"C": list(range(rank, 0, -1)), "F": list(range(1, rank + 1))}.get(kind)
    elif _is_made_in_order(value):
        found = list(range(rank, 0, -1))
    else:
        ranks = [known[one] for one in _like_what(value)]
        same = ranks and ranks[0] is not None and all(one == ranks[0] for one in ranks)
        found = [abs(number) for number in ranks[0] or ()] if same else None
    return found and [0 if dim == 1 else number for dim, number in zip(values.dims(value), found, strict=True)]


def _ranked_view(op: Op, inner: list[int] | None) -> list[int] | None:
    """`_ranked` of what a view op shows of an array that is ranked so."""
    if inner is None:
        return None
    if op.name == "transpose":
        return [inner[axis] for axis in op.attributes["axes"]]
    if op.name == "slice":
        steps = op.attributes["steps"]
        return [-n if isinstance(step, int) and step < 0 else n for n, step in zip(inner, steps, strict=True)]
    if op.name == "broadcast":
        along = dict(zip(op.attributes["axes"], inner, strict=True))
        return [along.get(axis, 0) for axis in range(values.rank(op.result))]
    if op.name == "reshape" and _long(values.dims(op.operands[0])) == _long(values.dims(op.result)):
        kept = iter([n for n, dim in zip(inner, values.dims(op.operands[0]), strict=True) if dim != 1])
        return [0 if dim == 1 else next(kept) for dim in values.dims(op.result)]
    rank = values.rank(op.result)
    return list(range(rank, 0, -1)) if op.name == "reshape" and _runs_in_order(op.operands[0]) else None


# -- sizes --------------------------------------------------------------------------------------------------


def _long(dims: Sequence[Dim]) -> list[Dim]:
    return [dim for dim in dims if dim != 1]


def are_same(stride: Dim, expected: Dim) -> bool | None:
    """Whether two strides are equal; by the first call if the arguments' sizes tell."""
    trace = current_trace()
    known = trace.known(stride, "==", expected)
    if known is False and _is_turned(stride):
        return None
    if known is not None or not _is_decidable(stride, expected):
        return known
    return trace.decide(stride, "==", expected, "the layout of an array")


def _is_turned(stride: Dim) -> bool:
    """Whether it is that of an argument turned round, of which nobody knows that it is no negative one."""
    names = [*symbols(stride)]
    return any(name.startswith("stride_") for name in names) and evaluate(stride, dict.fromkeys(names, 1)) < 0


def _is_long(dim: Dim) -> bool | None:
    """Whether an axis has more than one element; none is no matter."""
    trace = current_trace()
    known = trace.known(dim, ">=", 2)
    if known is not None or not _is_decidable(dim):
        return known
    return trace.decide(dim, ">=", 2, "the layout of an array")


def _is_decidable(*dims: Dim) -> bool:
    names = [name for dim in dims for name in symbols(dim)]
    return not any(name.startswith("stride_") for name in names) and all(map(broadcasting.bound_by_call, dims))
