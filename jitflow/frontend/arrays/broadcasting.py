"""Where shapes meet.

Dims that have one normal form are equal, and a dim known to be 1 repeats. What is left is decided as early as the
sizes allow:

* A size that an argument binds is never 1 (an argument whose size is 1 has the dim 1: that is part of the key of a
  specialisation). So two of them that meet must be equal: a ``check`` raises NumPy's error otherwise.
* A computed size (``n - 1``) may be 1 for some calls. The trace decides by the sizes of the first call and records
  the decision as a fact, so that other calls get another specialisation: that it equals the other one, if it does, so
  that both may be 1 together, else whether it is 1.
* A size that only the running program finds may be 1 in one turn of a loop and not in the next. Where the data says
  it, where it is 1 at the most, and where something is stored, the running program decides, and gathers from what may
  have to repeat. Elsewhere such sizes are taken to be equal, and a ``check`` refuses what would have to repeat.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jitflow.errors import USER_ERRORS, UserNotImplementedError
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.ir.core import Fact, Value
from jitflow.ir.dims import Dim, Expression, evaluate, minimum, product, substitute, symbol, symbols, upper_bound
from jitflow.ir.dtypes import I64
from jitflow.ir.types import Index

__all__ = ["DOES_NOT_FIT", "NO_ROOM", "align", "bound_by_call", "broadcast_to", "common_dims", "hint", "is_one",
           "message_shapes", "repeats", "require_equal", "require_equal_sizes", "require_fit", "shape_text",
           "total_size", "with_shapes"]  # fmt: skip

Dims = tuple[Dim, ...]
DOES_NOT_FIT = "could not broadcast input array from shape {shape} into shape {shape}"
"""What is stored has another shape than what it is stored to."""
NO_ROOM = "non-broadcastable output operand with shape {shape} doesn't match the broadcast shape {shape}"
_REPEATED = "arrays that compiled code has taken to be of one size, of which one has to repeat its element: {shapes}"

_MEET = "operands could not be broadcast together with shapes {shapes} "


def common_dims(
    shapes: Sequence[Dims], message: str = _MEET, error: type[Exception] = ValueError, output: Dims | None = None
) -> Dims:
    """The dims that all shapes broadcast to. ``{shapes}`` in ``message`` stands for the shapes in the ``error``.

    An ``output`` of these dims is among the shapes for NumPy, but it repeats nothing.
    """
    shaped = [shape for shape in shapes if shape]
    if not shaped:
        return ()
    rank = max(len(shape) for shape in shaped)
    shown = shapes if output is None else (*shapes, output)
    result: list[Dim] = []
    for axis in range(-rank, 0):
        dims = [shape[axis] for shape in shaped if len(shape) >= -axis]
        if output is not None and len(output) >= -axis:
            _require_room(output[axis], dims, output, shapes)
            dims.append(output[axis])
        result.append(_meet(dims, shown, message, error))
    return tuple(result)


def align(operands: Sequence[Value], output: Dims | None = None) -> tuple[list[Value], Dims]:
    """Operands broadcast to their common dims, which are returned too. Rank-0 operands stay as they are."""
    target = common_dims([values.dims(operand) for operand in operands], output=output)
    return [broadcast_to(operand, target) if values.rank(operand) else operand for operand in operands], target


def broadcast_to(value: Value, target: Dims) -> Value:
    """The value over ``target``, which its dims are known (or have been checked) to broadcast to."""
    source = values.dims(value)
    if source == target:
        return value
    if not source:
        return values.fill(value, target)
    axes = range(len(target) - len(source), len(target))
    value = _spread_found(value, target, axes)
    source = values.dims(value)
    # A computed size that was decided to be 1 becomes the number: elsewhere in the IR only 1 itself repeats.
    plain = tuple(1 if _repeats(dim, target[axis]) else dim for axis, dim in zip(axes, source, strict=True))
    provable = all(dim in (1, target[axis]) for axis, dim in zip(axes, plain, strict=True))
    return values.broadcast_in(values.reshape(value, plain, assumed=True), target, axes, assumed=not provable)


def _spread_found(value: Value, target: Dims, axes: Sequence[int]) -> Value:
    """The value with axes whose size the data decides at their full length: a gather that repeats the only element."""
    for axis, (dim, place) in enumerate(zip(values.dims(value), axes, strict=True)):
        wanted = target[place]
        if dim in (1, wanted) or not _may_be_one(dim) or current_trace().known(dim, "==", wanted):
            continue
        value = values.emit("gather", value, values.iota(I64, (wanted,)), axis=axis, mode="clip")
    return value


def require_fit(
    source: Dims, target: Dims, message: str, shapes: Sequence[Dims] | None = None, error: type[Exception] = ValueError
) -> None:
    """Raise ``error``, now or at run time, unless ``source``, of no higher rank, broadcasts to ``target``.

    ``message`` as in `common_dims`, about both shapes if none are given.
    """
    shapes = (source, target) if shapes is None else shapes
    for dim, wanted in zip(source[::-1], target[::-1], strict=False):
        if dim == wanted or repeats(dim, wanted) or current_trace().known(dim, "==", wanted):
            continue
        if not _may_be_one(dim):
            require_equal(wanted, dim, message, shapes, error)
            continue
        size, one = values.size_value(dim), values.constant(1, I64)
        fits = values.emit("logical_or", values.emit("equal", size, one),
                           values.emit("equal", size, values.size_value(wanted)))  # fmt: skip
        values.check(fits, error, *_template(message, shapes))


def _template(message: str, shapes: Sequence[Dims]) -> tuple[Any, ...]:
    template, sizes = message_shapes(message, shapes)
    return template, *sizes


def _repeats(dim: Dim, target: Dim) -> bool:
    return not isinstance(dim, int) and dim != target and current_trace().known(dim, "==", 1) is True


def require_equal(
    left: Dim, right: Dim, message: str, shapes: Sequence[Dims] = (), error: type[Exception] = ValueError
) -> None:
    """Raise ``error``, now or at run time, unless two dims are one size. ``message`` as in `common_dims`.

    Afterwards the trace knows that they are equal, and says ``left`` for ``right``.
    """
    if current_trace().known(left, "==", right) is False:
        raise USER_ERRORS[error](with_shapes(message, shapes))
    require_equal_sizes(left, right, *message_shapes(message, shapes), error)


def require_equal_sizes(
    left: Dim, right: Dim, template: str, sizes: Sequence[Value], error: type[Exception] = ValueError
) -> None:
    """`require_equal` with a message in which ``{}`` stands for ``sizes``."""
    trace = current_trace()
    known = trace.known(left, "==", right)
    if known:
        return
    if known is False:
        raise USER_ERRORS[error](template.format(*map(shown, sizes)))
    values.check(values.emit("equal", values.size(left), values.size(right)), error, template, *sizes)
    trace.establish(Fact(right, "==", left))


def message_shapes(message: str, shapes: Sequence[Dims]) -> tuple[str, list[Value]]:
    """``message`` with a placeholder for each run-time size, and those sizes: what a ``check`` formats.

    ``{shapes}`` stands for all shapes, ``{shape}`` for one after the other; ``{tuple}`` does, too, as Python prints it.
    """
    sizes: list[Value] = []

    def place(dim: Dim) -> str:
        if isinstance(dim, int):
            return str(dim)
        sizes.append(values.size(dim))
        return "{}"

    texts = [_tuple_text([place(dim) for dim in shape]) for shape in shapes]
    return _filled(message, texts), sizes


def with_shapes(message: str, shapes: Sequence[Dims]) -> str:
    """``message`` with the shapes as they are at the first call."""
    return _filled(message, [shape_text(shape) for shape in shapes])


def _filled(message: str, texts: Sequence[str]) -> str:
    for text in texts:
        message = message.replace("{shape}", text, 1)
        message = message.replace("{tuple}", text.replace(",", ", ").replace(", )", ",)"), 1)
    return message.replace("{shapes}", " ".join(texts))


def _meet(dims: list[Dim], shapes: Sequence[Dims], message: str, error: type[Exception]) -> Dim:
    """The size at which the dims of one axis meet."""
    if all(dim == dims[0] for dim in dims):
        return dims[0]
    resolve = current_trace().resolve
    distinct = list(dict.fromkeys(dim for dim in map(resolve, dims) if dim != 1))
    if len(distinct) <= 1:
        return distinct[0] if distinct else 1
    distinct = _unequal(distinct)
    if len(distinct) == 1:
        return distinct[0]
    long = [dim for dim in distinct if not is_one(dim)]
    if not long:
        return 1
    if any(_is_found(dim) for dim in long):
        return _meet_as_found(long, shapes, message, error)
    chosen = next((dim for dim in long if isinstance(dim, int)), long[0])
    for dim in long:
        if _may_be_one(dim) or _may_be_one(chosen):
            _require_no_repetition(chosen, dim, shapes)
    _require_all_equal(chosen, long, message, shapes, error)
    return chosen


def _require_all_equal(
    chosen: Dim, dims: Sequence[Dim], message: str, shapes: Sequence[Dims], error: type[Exception]
) -> None:
    """`require_equal` of ``chosen`` and each of ``dims``: one check, whose message is the same for all."""
    trace = current_trace()
    known = {dim: trace.known(chosen, "==", dim) for dim in dims}
    if False in known.values():
        raise USER_ERRORS[error](with_shapes(message, shapes))
    asked = [dim for dim, answer in known.items() if answer is None]
    equal = [values.emit("equal", values.size(chosen), values.size(dim)) for dim in asked]
    while len(equal) > 1:  # in pairs of pairs, so that nobody has to go down as deep as there are sizes
        both = [values.emit("logical_and", *pair) for pair in zip(equal[::2], equal[1::2], strict=False)]
        equal = [*both, *equal[2 * len(both) :]]
    for answer in equal:
        values.check(answer, error, *_template(message, shapes))
    for dim in asked:
        trace.establish(Fact(dim, "==", chosen))


def _require_room(size: Dim, dims: Sequence[Dim], output: Dims, shapes: Sequence[Dims]) -> None:
    """Raise NumPy's error where an output, one of whose sizes only the running program finds, is 1 and takes more."""
    trace = current_trace()
    for dim, shape in zip(dims, [shape for shape in shapes if shape], strict=False):
        if _may_be_one(size) and dim != 1 and trace.known(size, "==", dim) is None:
            one = values.constant(1, I64)
            found, other = map(values.size_value, (size, dim))
            fits = values.emit("logical_or", values.emit("not_equal", found, one), values.emit("equal", other, one))
            values.check(fits, ValueError, *_template(NO_ROOM, [output, shape]))


def _require_no_repetition(left: Dim, right: Dim, shapes: Sequence[Dims]) -> None:
    """Refuse, at run time, sizes of which one is 1 and the other is not."""
    if current_trace().known(left, "==", right) is not None:
        return
    one, (size, other) = values.constant(1, I64), map(values.size_value, (left, right))
    several = values.emit("logical_and", values.emit("not_equal", size, one), values.emit("not_equal", other, one))
    fits = values.emit("logical_or", values.emit("equal", size, other), several)
    values.check(fits, UserNotImplementedError, *_template(_REPEATED, shapes))


def _unequal(dims: Sequence[Dim]) -> list[Dim]:
    """The dims but for those that are equal to an earlier one."""
    kept: list[Dim] = []
    plain = _of_arguments(dims) if len(dims) > 2 else set()
    for dim in dims:
        if not any(_are_equal(dim, other) for other in kept if not (dim in plain and other in plain)):
            kept.append(dim)
    return kept


def _of_arguments(dims: Sequence[Dim]) -> set[Dim]:
    """The sizes among them that arguments bind, and of which nothing says that one is equal to another."""
    trace = current_trace()
    facts = [fact.left for fact in trace.knowledge.established if fact.relation == "=="]
    related = {name for dim in facts for name in symbols(dim)}
    return {
        dim
        for dim in dims
        if isinstance(dim, Expression) and dim.is_symbol and trace.known(dim, "==", 1) is False
        and related.isdisjoint(symbols(dim))
    }  # fmt: skip


def _are_equal(dim: Dim, other: Dim) -> bool:
    """Whether two dims that meet are equal: known, or for computed sizes by the first call, recorded as a fact."""
    trace = current_trace()
    known = trace.known(dim, "==", other)
    computed = trace.known(dim, "==", 1) is None or trace.known(other, "==", 1) is None
    if known is not None or not computed or not (bound_by_call(dim) and bound_by_call(other)):
        return known is True
    if hint(dim) != hint(other):
        return False
    one, two = _names_that_differ(dim, other)
    return trace.decide(one, "==", two, "broadcasting")


def _names_that_differ(dim: Dim, other: Dim) -> tuple[Dim, Dim]:
    """What says that two dims are equal: of ``n - 1`` and ``m - 1`` that ``n == m``, if they are at the first call."""
    ours, theirs = set(symbols(dim)), set(symbols(other))
    if len(ours - theirs) == len(theirs - ours) == 1:
        (name,), (other_name,) = ours - theirs, theirs - ours
        renamed = substitute(dim, {name: symbol(other_name)})
        if renamed == other and hint(symbol(name)) == hint(symbol(other_name)):
            return symbol(name), symbol(other_name)
    return dim, other


def _may_be_one(dim: Dim) -> bool:
    """Whether only the running program finds a size, so that it may be 1 in one turn and not in the next."""
    trace = current_trace()
    return trace.is_open(dim) and trace.known(dim, "==", 1) is None


def _is_found(dim: Dim) -> bool:
    """Whether such a size is likely to be 1 where others are not: the data decides, or it is 0 or 1."""
    trace = current_trace()
    found = any(name in trace.found_sizes for name in symbols(dim))
    return _may_be_one(dim) and (found or upper_bound(dim, trace.knowledge.at_most) == 1)


def _meet_as_found(dims: list[Dim], shapes: Sequence[Dims], message: str, error: type[Exception]) -> Dim:
    """The size at which sizes meet that the data decides: the running program sees which of them are 1."""
    trace = current_trace()
    first = dims[0]
    if all(trace.known(first, "==", dim) for dim in dims):
        return first
    one, common = values.constant(1, I64), values.size_value(first)
    for dim in dims[1:]:
        common = values.select(values.emit("equal", common, one), values.size_value(dim), common)
    for dim in dims:
        size = values.size_value(dim)
        fits = values.emit("logical_or", values.emit("equal", size, one), values.emit("equal", size, common))
        values.check(fits, error, *_template(message, shapes))
    met = trace.size("common")
    values.emit("to_index", common, binds=str(met))
    trace.found_sizes.add(str(met))
    return met


def is_one(dim: Dim) -> bool:
    """Whether a dim that meets another one is 1: known, or decided by the first call and recorded as a fact.

    A size that only the running program finds is decided by that, see `require_fit`.
    """
    if isinstance(dim, int):
        return dim == 1
    if not bound_by_call(dim):
        return current_trace().known(dim, "==", 1) is True
    return current_trace().decide(dim, "==", 1, "broadcasting")


def repeats(dim: Dim, wanted: Dim) -> bool:
    """Whether a dim that is to be spread over ``wanted`` is 1, and ``wanted`` is not known to be 1 as well."""
    return not _are_equal(dim, wanted) and is_one(dim)


def smaller(left: Dim, right: Dim) -> Dim:
    """The smaller of two sizes."""
    return minimum(left, right)


def bound_by_call(dim: Dim) -> bool:
    """Whether a guard can test facts about the dim: the arguments determine it."""
    return all(name in current_trace().hints for name in symbols(dim))


def hint(dim: Dim) -> int | None:
    """The size at the first call, None if only the running program finds it."""
    return evaluate(dim, current_trace().hints) if bound_by_call(dim) else None


def shown(size: Dim | Value) -> int | str:
    """A size in a message: as it is at the first call, or by name where nobody has seen it yet."""
    if isinstance(size, Value):
        assert isinstance(size.type, Index)
        if size.type.dim is None:
            return "None"
        size = size.type.dim
    number = hint(size) if current_trace().described.isdisjoint(symbols(size)) else None
    return str(size) if number is None else number


def total_size(value: Value) -> Dim:
    """How many elements an array has."""
    return product(values.dims(value))


def shape_text(shape: Dims) -> str:
    """A shape as NumPy prints it, with the sizes of the first call where they are known."""
    return _tuple_text([str(shown(dim)) for dim in shape])


def _tuple_text(texts: list[str]) -> str:
    return f"({texts[0]},)" if len(texts) == 1 else f"({','.join(texts)})"
