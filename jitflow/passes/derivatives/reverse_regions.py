"""The reverse of branches and loops.

The reverse of a branch is a branch on the same condition. The reverse of a loop runs as many turns, the last first, and
carries the cotangents of what the loop carries, with zeros for denormal numbers. Numbers from outside that are used
inside get their cotangents as results (of a branch) or as something else that is carried (round a loop); arrays from
outside have accumulators.

    %r: f64 = for 0, n, 1, %x (%i, %s: f64) {        %x': f64 = for 0, n, 1, %r' (%k, %s': f64) {
      %1: f64 = sin %s                                 %s: f64 = ...  (kept in turn n - 1 - k)
      yield %1                               ->        %2: f64 = cos %s
    }                                                  %3: f64 = multiply %s', %2
                                                       %4: f64 = flush %3
                                                       yield %4
                                                     }
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from jitflow.errors import UserNotImplementedError
from jitflow.ir.core import Op, Region, Value, clone_op
from jitflow.ir.dims import Dim, maximum, symbol, symbols
from jitflow.ir.dtypes import F32, F64, I64
from jitflow.ir.effects import is_removable
from jitflow.ir.types import Index, Scalar, Tensor, Type, Variable, dims_of, map_dims
from jitflow.passes.analyses.order import reads_of
from jitflow.passes.derivatives.notation import Notation, dtype_of, plain
from jitflow.passes.derivatives.remember import Level, Turns
from jitflow.passes.derivatives.renew import renewed
from jitflow.passes.derivatives.reverse import Sweep, active_outside, zeros_where_none
from jitflow.passes.derivatives.row_stacking import RowStacking
from jitflow.passes.derivatives.shadows import handed_on, sources
from jitflow.passes.derivatives.stacking import Stacking

__all__ = ["REGIONS"]


def _branch(sweep: Sweep, op: Op) -> None:
    arrays, numbers = active_outside(sweep, op)
    cotangents = [sweep.cotangent(result) if sweep.is_active(result) else None for result in op.results]
    for array in arrays:
        sweep.accumulate(array)
    condition, m = op.operands[0], sweep.m
    regions = []
    for region in op.regions:
        inner = Sweep(sweep.reversal, Level(region, sweep.level.known, op, sweep.level), sweep)
        for value, cotangent in zip(region.yielded, cotangents, strict=True):
            inner.contribute(value, cotangent)
        inner.run(region)
        yielded = [zeros_where_none(inner.m, inner.cotangents.get(value), _number(value)) for value in numbers]
        regions.append(_closed(inner, (), yielded, {}))
    found = m.add("if", condition, types=[_number(value) for value in numbers], regions=tuple(regions))
    for value, cotangent in zip(numbers, found, strict=True):
        sweep.contribute(value, cotangent, sweep.reversal.doubtful)


def _for(sweep: Sweep, op: Op) -> None:
    (body,) = op.regions
    position, *parameters = body.parameters
    start, stop, step = op.operands[:3]
    bounds = [_dim_of(sweep, op, bound) for bound in (start, stop, step)]
    assert isinstance(position.type, Index)
    first, last, stride = bounds
    span = last - first
    count = maximum(span if stride == 1 else _turns(span, stride), 0)
    forward = position.type.dim
    number = None if forward is None else forward - first if stride == 1 else (forward - first) // stride
    turns = Turns(count, number)

    def at(turn: Dim) -> Dim:
        return first + (count - 1 - turn) * stride

    _loop(sweep, op, body, op.operands[3:], parameters, turns, (position, at))


def _turns(span: Dim, stride: Dim) -> Dim:
    if isinstance(stride, int) and stride < 0:
        return (-span + (-stride - 1)) // -stride
    return (span + (stride - 1)) // stride


def _while(sweep: Sweep, op: Op) -> None:
    _, body = op.regions
    name = sweep.reversal.fresh("turns")
    sweep.m("to_index", sweep.reversal.keeping.count_turns(op, sweep.level), binds=name)
    _loop(sweep, op, body, op.operands, body.parameters, Turns(symbol(name), None), None)


def _loop(
    sweep: Sweep, op: Op, body: Region, initial: Sequence[Value], parameters: Sequence[Value], turns: Turns,
    position: tuple[Value, Callable[[Dim], Dim]] | None,
) -> None:  # fmt: skip
    """Append the reverse of a loop, which carries ``parameters`` from ``initial``."""
    m = sweep.m
    arrays, numbers = active_outside(sweep, op)
    carried = [
        number
        for number, values in enumerate(zip(parameters, op.results, strict=True))
        if any(map(sweep.is_active, values)) and _is_value(values[0])
    ]
    starts = [
        zeros_where_none(m, sweep.cotangent(op.results[number]), plain(op.results[number].type)) for number in carried
    ]
    before = [zeros_where_none(m, sweep.cotangent(value), _number(value)) for value in numbers]
    for array in arrays:
        sweep.accumulate(array)
    inner = Sweep(sweep.reversal, Level(body, sweep.level.known, op, sweep.level, turns), sweep)
    turn = symbol(sweep.reversal.fresh("back"))
    taken = [Value(_arriving(sweep, parameters[number])) for number in carried]
    totals = [Value(_number(value)) for value in numbers]
    inner.cotangents.update(zip(numbers, totals, strict=True))
    places = handed_on(op, sweep.reversal.activity)
    shadows = [sweep.shadow(op.results[number]) for number in places]
    given = {number: Value(op.results[number].type) for number in places}
    for number, source in zip(places, sources(op, places), strict=True):
        inner.accumulators[parameters[source]] = given[number]
    doubtful = sweep.reversal.doubtful
    for number, cotangent in zip(carried, taken, strict=True):
        inner.contribute(body.yielded[number], cotangent, doubtful)
    inner.run(body)
    own = [parameters[number] for number in carried]
    yielded = [
        *(_flushed(inner.m, zeros_where_none(inner.m, inner.cotangent(value), plain(value.type))) for value in own),
        *(zeros_where_none(inner.m, inner.cotangents.get(value), _number(value)) for value in numbers),
        *(inner.accumulators[parameters[number]] for number in places),
    ]
    sizes: dict[str, Dim] = {}
    back = Value(Index(turn))
    if position is not None:
        forward, at = position
        assert isinstance(forward.type, Index)
        sizes[str(forward.type.dim)] = at(turn)
    region = _closed(inner, (back, *taken, *totals, *given.values()), yielded, sizes)
    types = [
        *(_arriving(sweep, parameters[number]) for number in carried),
        *(value.type for value in (*totals, *given.values())),
    ]
    sliced = (sweep.accumulator(inner.operands[0]) for inner in body.ops if inner in sweep.reversal.alone)
    complete = [accumulator for accumulator in sliced if accumulator is not None]
    hints = sweep.reversal.keeping.sizes
    stacking = Stacking(m, turn, turns.count, sweep.level.known, hints, shadows, complete)
    row_stacking = RowStacking(m, turn, turns.count, sweep.level.known, hints, shadows)
    region = row_stacking.within(stacking.within(region))
    bounds = m.size(0), m.size(turns.count), m.size(1)
    found = m.add("for", *bounds, *starts, *before, *shadows, types=types, regions=(region,))
    stacking.behind()
    row_stacking.behind()
    for value, total in zip(numbers, found[len(carried) :], strict=False):
        sweep.cotangents[value] = total
    if doubtful:
        sweep.reversal.masked.update(found)
    for number, cotangent in zip(carried, found, strict=False):
        sweep.contribute(initial[number], cotangent)


def _flushed(m: Notation, cotangent: Value) -> Value:
    """What a turn hands on: where a loop contracts, it gets smaller every turn, and denormal numbers are slow.

    An array is left alone if that took a sweep of its own, as behind a product.
    """
    if dtype_of(cotangent) not in (F32, F64):
        return cotangent
    source = next((op for op in reversed(m.builder.ops) if cotangent in op.results), None)
    if dims_of(cotangent.type) and (source is None or "elementwise" not in source.definition.traits):
        return cotangent
    return m("flush", cotangent)


def _closed(sweep: Sweep, parameters: Sequence[Value], yielded: Sequence[Value], sizes: dict[str, Dim]) -> Region:
    """The reverse region, with what it mentions of the forward one in front; ``sizes`` are those that become others."""
    sweep.m.add("yield", *yielded)
    ops = _needed(sweep.m.builder.ops)
    recalled, values, renamed = sweep.reversal.keeping.recall(sweep.level, ops, sweep.reversal.fresh)
    inside = [clone_op(op, values) for op in ops]
    own: dict[Value, Value] = {}
    return Region(tuple(parameters), tuple(clone_op(op, own, {**renamed, **sizes}) for op in (*recalled, *inside)))


def _needed(ops: Sequence[Op]) -> list[Op]:
    """The ops without those that only compute what nobody needs, such as the factors of constants."""
    kept: list[Op] = []
    used: set[Value] = set()
    for op in reversed(ops):
        if op.name == "yield" or not used.isdisjoint(op.results) or "binds" in op.attributes or not is_removable(op):
            used.update(reads_of(op))
            kept.append(op)
    return kept[::-1]


def _dim_of(sweep: Sweep, loop: Op, bound: Value) -> Dim:
    """The dim that a bound of a loop is; from now on there is a name for it if there was none."""
    assert isinstance(bound.type, Index)
    if bound.type.dim is not None:
        return bound.type.dim
    name = sweep.reversal.fresh("bound")
    m = sweep.reversal.keeping.ahead_of(loop)
    m("to_index", m("cast", bound, dtype=I64), binds=name)
    sweep.level.enter(m.builder.ops[-2:])
    return symbol(name)


def _is_value(value: Value) -> bool:
    return isinstance(value.type, Scalar | Tensor)


def _number(value: Value) -> Type:
    """The type of the cotangent of a number."""
    return Scalar(dtype_of(value))


def _arriving(sweep: Sweep, value: Value) -> Type:
    """The type of a cotangent that flows round a loop; sizes that differ from turn to turn have names of their own."""
    kind = plain(value.type)
    fresh = sweep.reversal.fresh

    def outside(dim: Dim) -> Dim:
        return dim if sweep.level.known.issuperset(symbols(dim)) else symbol(fresh("size"))

    return map_dims(kind, outside)


def _custom(sweep: Sweep, op: Op) -> None:
    """A function whose reverse is given: the ops of that, on the same operands."""
    cotangents = _cotangents(sweep, op)
    if cotangents is None:
        return
    rule = op.regions[1]
    ops, yielded = renewed(rule, (*op.operands, *cotangents), sweep.reversal.fresh, sweep.level.known)
    sweep.m.builder.ops += ops
    for operand, cotangent in zip(op.operands, yielded, strict=True):
        sweep.contribute(operand, cotangent)


def _recompute(sweep: Sweep, op: Op) -> None:
    """A function of which nothing is kept: its derivative is asked for anew, with a forward sweep of its own."""
    cotangents = _cotangents(sweep, op)
    if cotangents is None:
        return
    if any(access.kind in ("writes", "external") for access in sweep.reversal.activity.effects.of(op)):
        raise _with_effects(op)
    arrays, numbers = active_outside(sweep, op)
    stored = [value for value in arrays if isinstance(value.type, Variable)]
    operands = (*op.operands, *(value for value in (*arrays, *numbers) if value not in stored))
    parameters = tuple(Value(value.type) for value in operands)
    first = op.regions[0]
    captured = dict(zip(operands[len(op.operands) :], parameters[len(op.operands) :], strict=True))
    ops, yielded = renewed(first, parameters[: len(op.operands)], sweep.reversal.fresh, sweep.level.known, captured)
    closing = replace(first.ops[-1], operands=yielded)
    found = sweep.m.add(
        "vjp", *operands, *cotangents, *stored, regions=(Region(parameters, (*ops, closing)),),
        inputs=len(operands), outputs=len(op.results), variables=len(stored),
        types=[*(value.type for value in op.results), *map(_contents, (*operands, *stored))],
    )  # fmt: skip
    arrived = found[len(op.results) :]
    for operand, cotangent in zip(operands, arrived, strict=False):
        sweep.contribute(operand, cotangent)
    for variable, cotangent in zip(stored, arrived[len(operands) :], strict=True):
        sweep.m.increase(sweep.shadow(variable), cotangent)


def _contents(value: Value) -> Type:
    kind = value.type
    return Tensor(kind.dtype, kind.dims) if isinstance(kind, Variable) else kind


def _with_effects(op: Op) -> UserNotImplementedError:
    error = UserNotImplementedError(
        "a checkpointed function that writes to arrays or variables from outside, which would happen twice",
        mend="return what is written, and write it outside of the function",
    )
    return error.at(op.loc)


def _cotangents(sweep: Sweep, op: Op) -> list[Value] | None:
    """What has arrived at the results of an op, as their types say; None if nothing has."""
    found = [sweep.cotangent(result) if sweep.is_active(result) else None for result in op.results]
    if all(cotangent is None for cotangent in found):
        return None
    return [
        sweep.m.converted(zeros_where_none(sweep.m, cotangent, result.type), result.type)
        for cotangent, result in zip(found, op.results, strict=True)
    ]


REGIONS: dict[str, Callable[[Sweep, Op], None]] = {
    "if": _branch,
    "for": _for,
    "while": _while,
    "custom_vjp": _custom,
    "recompute": _recompute,
}
