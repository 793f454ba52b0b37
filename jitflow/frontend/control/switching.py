"""What is done with a value of several kinds is done once for each of them, in branches of the program.

Where the kinds are Python's and NumPy's numbers of one dtype, most operations are the same ops: then they are done
once, and a result is Python's or NumPy's as the operand was. A branch on the number of the kind, and what the user's
own tests say of it (``x is None``), is known inside: there, the value has one kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from jitflow.errors import UserAttributeError, UserError, UserTypeError, as_user_error
from jitflow.frontend.control.alternatives import aligned, described, number_of, option
from jitflow.frontend.control.branch import choose, choose_path, decide
from jitflow.frontend.control.cells import Cells
from jitflow.frontend.control.kinds import kind_of
from jitflow.frontend.control.leaves import flatten
from jitflow.frontend.control.logic import truth
from jitflow.frontend.locate import in_pythons_words, is_bug
from jitflow.frontend.numpy import values
from jitflow.frontend.python_numbers import as_weak
from jitflow.frontend.trace import current_trace
from jitflow.frontend.tracers import Alternatives, ArrayTracer, ScalarTracer, Tracer, lift, wrap
from jitflow.frontend.tracers.base import located
from jitflow.ir.core import Op, Value
from jitflow.ir.dtypes import I64, dtype_of
from jitflow.ir.types import Scalar, dims_of

__all__ = ["for_each_kind", "is_of_kind", "of_one_kind", "one_of", "possible_numbers", "strong", "switch"]

Use = Callable[[Any], Any]


def possible_numbers(thing: Alternatives) -> list[int]:
    """The kinds that the value may be of here."""
    if not isinstance(thing.chosen, Tracer):
        return [int(thing.chosen)]
    tag, found = lift(thing.chosen), set(thing.options)
    for scope in current_trace().scope.around():
        found &= scope.assumed.get(tag, found)
    return sorted(found)


def switch(thing: Alternatives, use: Use, reached: Sequence[Any]) -> Any:
    """What ``use`` gives of the value, whatever kind it is of. Tracers know it as `Trace.switch`."""
    numbers = possible_numbers(thing)
    if not numbers:  # a path that is never taken
        numbers = list(thing.options)[:1]
    found = _done_at_once(thing, numbers, use)
    return _done_apart(thing, numbers, use, reached) if found is None else found[0]


def one_of(test: Any, one: Any, other: Any) -> Any:
    """``one if test else other`` of numbers: of two that are carried together no branch, but a selection."""
    kinds = kind_of(one), kind_of(other)
    answer = truth(test)
    together = all(isinstance(kind, Scalar) for kind in kinds) and len({kind.dtype for kind in kinds if kind}) == 1
    if isinstance(answer, bool) or not together or kinds[0] == kinds[1]:
        return choose(test, lambda: one, lambda: other)
    first, second = aligned([one, other], "the value")
    dtype = kinds[0].dtype if kinds[0] is not None else I64
    made = wrap(values.select(answer, *(values.cast(lift(thing), dtype) for thing in (one, other))))
    tag = values.select(answer, *(values.constant(thing.chosen, I64) for thing in (first, second)))
    return Alternatives(wrap(as_weak(tag, I64)), dict.fromkeys(first.options, made), first.name, first.words)


def strong(thing: Alternatives) -> Any:
    """NumPy's number in the place of one that may be Python's, of the same dtype; None for all else."""
    wanted = _strong_kind(possible_numbers(thing))
    return None if wanted is None else option(thing, wanted)


def _strong_kind(numbers: Sequence[int]) -> int | None:
    """The kind among some that is NumPy's number, if all of them are numbers of one dtype."""
    kinds = {number: current_trace().options[number].number for number in numbers}
    if len({kind and kind.dtype for kind in kinds.values()}) > 1:
        return None
    return next((number for number, kind in kinds.items() if kind is not None and not kind.weak), None)


def is_of_kind(thing: Alternatives, number: int) -> Value:
    """Whether a value is of one kind, as a bool of the program; branches on it know the kind."""
    tag = lift(thing.chosen)
    answer = values.emit("equal", values.cast(tag, I64), values.constant(number, I64))
    others = frozenset(thing.options) - {number}
    current_trace().implied[answer] = tag, frozenset({number}), others
    return answer


def for_each_kind(
    thing: Alternatives, cells: Cells, state: Sequence[str], temporaries: Sequence[str], key: tuple[str, int], use: Use
) -> None:
    """A statement that assigns locals, done once for each kind that the value may be of."""
    numbers = possible_numbers(thing)

    def run(first: int, *others: int) -> None:
        if not others:
            use(option(thing, first))
            return
        answer = is_of_kind(thing, first)
        decide(answer, lambda: use(option(thing, first)), lambda: run(*others), cells, state, temporaries, key)

    run(*numbers)


def _done_apart(thing: Alternatives, numbers: Sequence[int], use: Use, reached: Sequence[Any]) -> Any:
    first, *others = numbers
    if not others:
        return _used(use, option(thing, first))
    return choose_path(
        is_of_kind(thing, first),
        lambda: _used(use, option(thing, first)),
        lambda: _done_apart(thing, others, use, reached),
        (*thing.options.values(), reached),
        (UserTypeError, UserAttributeError, TypeError, AttributeError),
    )


def _used(use: Use, thing: Any) -> Any:
    """What ``use`` gives of a thing of one kind; what Python raises of it is a mistake of the program's."""
    try:
        return use(thing)
    except (LookupError, ValueError, ArithmeticError, TypeError) as error:
        if isinstance(error, UserError) or is_bug(error):
            raise
        raise located(as_user_error(type(error)(in_pythons_words(str(error))))) from None


def of_one_kind(thing: Any) -> Any:
    """A structure in which numbers and arrays of several dtypes are of their common one: what is differentiated."""
    leaves = flatten(thing, whole=True)
    if not any(type(item) is Alternatives for item in leaves.items):
        return thing
    return leaves.rebuild([_promoted(item) if type(item) is Alternatives else item for item in leaves.items])


def _promoted(thing: Alternatives) -> Any:
    kinds = [kind_of(thing.options[number]) for number in possible_numbers(thing)]
    dtypes = [kind.dtype.numpy for kind in kinds if kind is not None]
    if len(dtypes) < len(kinds) or len({len(dims_of(kind)) for kind in kinds if kind is not None}) > 1:
        raise thing.refusal()
    dtype = dtype_of(np.result_type(*dtypes))
    assert dtype is not None
    return thing.each(lambda option: wrap(values.cast(values.as_scalar(lift(option)), dtype)))


# -- kinds that share a dtype --------------------------------------------------------------------------------


def _done_at_once(thing: Alternatives, numbers: Sequence[int], use: Use) -> tuple[Any] | None:
    """What ``use`` gives if it is the same ops for all kinds, in a tuple; None if it is not."""
    wanted = _strong_kind(numbers)
    if len(numbers) == 1 or wanted is None:
        return None
    tried = [_tried(option_, use) for option_ in (partial(option, thing, number) for number in numbers)]
    found = [one for one in tried if one is not None]
    if len(found) < len(numbers) or not all(_are_alike(*found[0], *one) for one in found[1:]):
        return None
    made = use(option(thing, wanted))
    results = {number: result for number, (_, result) in zip(numbers, found, strict=True)}
    if isinstance(made, ArrayTracer) or len({kind_of(result) for result in results.values()}) == 1:
        return (made,)
    return (_tagged(thing, made, results),)


def _tagged(thing: Alternatives, made: Any, results: Mapping[int, Any]) -> Alternatives:
    """A result that is Python's number where the operand was, and NumPy's where it was that."""
    kinds = {number: kind for number, result in results.items() if (kind := number_of(result)) is not None}
    options = dict.fromkeys(kinds.values(), made)
    words = {kind: described(results[number]) for number, kind in kinds.items()}
    chosen = thing.chosen
    if any(number != kind for number, kind in kinds.items()):
        (_, tag), *others = [(number, values.constant(kind, I64)) for number, kind in kinds.items()]
        for number, other in others:
            tag = values.select(is_of_kind(thing, number), other, tag)
        chosen = wrap(as_weak(tag, I64))
    return Alternatives(chosen, options, thing.name, words)


def _tried(make: Callable[[], Any], use: Use) -> tuple[Sequence[Op], Any] | None:
    """The ops that ``use`` records, and what it gives; None if that is more than one number or array."""
    trace = current_trace()
    refusals = len(trace.refusals)
    with trace.region() as scope:
        try:
            result = use(make())
        except UserError:
            del trace.refusals[refusals:]
            return None
    known = result is None or type(result) in (bool, int, float, complex, str)
    return (scope.builder.ops, result) if known or isinstance(result, ScalarTracer | ArrayTracer) else None


def _are_alike(ops: Sequence[Op], result: Any, other_ops: Sequence[Op], other_result: Any) -> bool:
    """Whether two lists of ops do the same, but for which numbers are Python's."""
    same: dict[Value, Value] = {}

    def known(value: Value) -> Value:
        return same.get(value, value)

    def telling(ops: Sequence[Op]) -> list[Op]:
        found = []
        for op in ops:
            if op.name == "cast" and _dtype(op.operands[0]) == _dtype(op.result) is not None:
                same[op.result] = known(op.operands[0])
            else:
                found.append(op)
        return found

    first, second = telling(ops), telling(other_ops)
    if len(first) != len(second):
        return False
    for one, other in zip(first, second, strict=True):
        if one.name != other.name or one.regions or other.regions or _attributes(one) != _attributes(other):
            return False
        if [*map(known, one.operands)] != [*map(known, other.operands)]:
            return False
        if [*map(_dtype, one.results)] != [*map(_dtype, other.results)]:
            return False
        same.update(zip(other.results, one.results, strict=True))
    if isinstance(result, ScalarTracer | ArrayTracer) and isinstance(other_result, type(result)):
        return known(result._value) is known(other_result._value)
    return type(result) is type(other_result) and bool(result == other_result)


def _dtype(value: Value) -> Any:
    """The dtype of a number; of all else the type."""
    return value.type.dtype if isinstance(value.type, Scalar) else value.type


def _attributes(op: Op) -> dict[str, Any]:
    return {name: thing for name, thing in op.attributes.items() if name not in ("weak", "type")}
