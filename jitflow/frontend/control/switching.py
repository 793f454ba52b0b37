"""What is done with a value of several kinds is done once for each of them, in branches of the program.

Where the kinds are Python's and NumPy's numbers of one dtype, most operations are the same ops: then they are done
once, and a result is Python's or NumPy's as the operand was. A branch on the number of the kind, and what the user's
own tests say of it (``x is None``), is known inside: there, the value has one kind.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from jitflow.errors import UserError, as_user_error
from jitflow.frontend.control.alike import are_alike
from jitflow.frontend.control.alternatives import aligned, described, number_of, option
from jitflow.frontend.control.branch import choose, choose_path, decide
from jitflow.frontend.control.cells import Cells
from jitflow.frontend.control.iterators import gone_through
from jitflow.frontend.control.leaves import flatten
from jitflow.frontend.control.local_types import converted, kind_of
from jitflow.frontend.control.logic import truth
from jitflow.frontend.control.possible_kinds import is_of_kind, narrowed, possible_numbers
from jitflow.frontend.recording import values
from jitflow.frontend.recording.locate import in_pythons_words, is_bug
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers import Alternatives, ArrayTracer, NumberTracer, ScalarTracer, Tracer, lift, wrap
from jitflow.frontend.tracers.alternatives import Kinds
from jitflow.frontend.tracers.base import located
from jitflow.frontend.tracers.python_numbers import as_weak
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.core import Op, Value
from jitflow.ir.dtypes import I64, DType, dtype_of
from jitflow.ir.effects import is_pure
from jitflow.ir.types import Scalar, Tensor, dims_of
from jitflow.records import dataclass

__all__ = [
    "common_dtype",
    "for_each_kind",
    "of_one_kind",
    "one_of",
    "strong",
    "switch",
]

Use = Callable[..., Any]

_MOST_COMBINATIONS = 8
"""Of how many combinations of kinds an operation is looked at, whether it is the same ops for all of them."""


def switch(things: Sequence[Alternatives], use: Use, reached: Sequence[Any], operation: Use | None = None) -> Any:
    """What ``use`` gives of the values, whatever kinds they are of. Tracers find it on the surface.

    ``operation``, if it is told, is all that ``use`` does, to those ``reached``.
    """
    numbers = [possible_numbers(thing) or [*thing.options][:1] for thing in things]  # none: a path that is never taken
    found = _done_at_once(things, numbers, use, _question(things, numbers, reached, operation))
    if found is not None:
        return found[0]
    given: dict[int, Any] = {}
    made = _done_apart(things, numbers[0], use, reached, given)
    chosen = [made.chosen] if type(made) is Alternatives and isinstance(made.chosen, Tracer) else []
    known = [thing.chosen for thing in (*things, *given.values()) if type(thing) is Alternatives]
    if chosen and not any(tag is chosen[0] for tag in known) and all(map(_number_dtype, given.values())):
        kinds = {number: _numbers(given[number]) if number in given else [] for number in numbers[0]}
        current_trace().state(Kinds).follows[lift(chosen[0])] = lift(things[0].chosen), kinds
    return made


def _numbers(thing: Any) -> Collection[int]:
    """The kinds that a number may be of."""
    if type(thing) is Alternatives:
        return possible_numbers(thing)
    number = number_of(thing)
    assert number is not None
    return [number]


def one_of(test: Any, one: Any, other: Any) -> Any:
    """``one if test else other`` of numbers: of two that are carried together no branch, but a selection."""
    answer, dtype = truth(test), common_dtype((one, other))
    if isinstance(answer, bool) or dtype is None:
        return choose(test, lambda: one, lambda: other)
    first, second = aligned([one, other], "the value")
    made = wrap(values.select(answer, *(_as_strong(thing, dtype) for thing in (one, other))))
    tag = values.select(answer, *(as_weak(lift(thing.chosen), I64) for thing in (first, second)))
    return Alternatives(wrap(tag), dict.fromkeys(first.options, made), first.name, first.words)


def common_dtype(things: Sequence[Any]) -> DType | None:
    """The dtype of numbers some of which are Python's and some are NumPy's; None for all else."""
    dtypes = {_number_dtype(thing) for thing in things}
    mixed = any(type(thing) is Alternatives for thing in things) or len({*map(kind_of, things)}) > 1
    return dtypes.pop() if mixed and len(dtypes) == 1 else None


def _number_dtype(thing: Any) -> DType | None:
    """The dtype of a number, Python's or NumPy's or one of these; None for all else."""
    if type(thing) is Alternatives:
        wanted = _strong_kind(possible_numbers(thing))
        return None if wanted is None else _number_dtype(current_trace().state(Kinds).options[wanted].number)
    kind = kind_of(thing)
    return kind.dtype if isinstance(kind, Scalar) else None


def _as_strong(thing: Any, dtype: DType) -> Value:
    return values.cast(lift(strong(thing) if type(thing) is Alternatives else thing), dtype)


def strong(thing: Alternatives) -> Any:
    """NumPy's number in the place of one that may be Python's, of the same dtype; None for all else."""
    wanted = _strong_kind(possible_numbers(thing))
    return None if wanted is None else option(thing, wanted)


def _strong_kind(numbers: Sequence[int]) -> int | None:
    """The kind among some that is NumPy's number, if all of them are numbers of one dtype."""
    kinds = {number: current_trace().state(Kinds).options[number].number for number in numbers}
    if len({kind and kind.dtype for kind in kinds.values()}) > 1:
        return None
    return next((number for number, kind in kinds.items() if kind is not None and not kind.weak), None)


def for_each_kind(
    thing: Alternatives, cells: Cells, state: Sequence[str], temporaries: Sequence[str], key: tuple[str, int], use: Use
) -> None:
    """A statement that assigns locals, done once for each kind that the value may be of."""
    numbers = possible_numbers(thing) or [*thing.options][:1]  # none: a path that is never taken

    def run(first: int, *others: int) -> None:
        if not others:
            use(option(thing, first))
            return
        answer = is_of_kind(thing, first)
        decide(answer, lambda: use(option(thing, first)), lambda: run(*others), cells, state, temporaries, key)

    run(*numbers)


def _done_apart(
    things: Sequence[Alternatives], numbers: Sequence[int], use: Use, reached: Sequence[Any], given: dict[int, Any]
) -> Any:
    """What ``use`` gives of the values, in branches on the kind of the first, which may be one of ``numbers``.

    What is ``given`` for each of them is remembered.
    """
    thing, *others = things
    number, *more = numbers

    def of_this_kind() -> Any:
        known = partial(use, option(thing, number))
        given[number] = switch(others, known, reached) if others else _used(known)
        return given[number]

    if not more:
        return of_this_kind()
    return choose_path(
        is_of_kind(thing, number),
        of_this_kind,
        lambda: _done_apart(things, more, use, reached, given),
        gone_through((thing, *reached)),
        (TypeError, AttributeError, KeyError),
    )


def _used(use: Callable[[], Any]) -> Any:
    """What ``use`` gives of things of one kind each; what Python raises of them is a mistake of the program's."""
    try:
        return use()
    except (LookupError, ValueError, ArithmeticError, TypeError) as error:
        if isinstance(error, UserError) or is_bug(error):
            raise
        if isinstance(error, KeyError):  # whose text is that of the key
            raise located(as_user_error(error)) from None
        raise located(
            as_user_error(type(error)(in_pythons_words(str(error), current_trace().refused_operand)))
        ) from None


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
    are_pythons = all(isinstance(kind, Scalar) and kind.weak for kind in kinds)
    convert = as_weak if are_pythons else lambda value, dtype: values.cast(values.as_scalar(value), dtype)
    return thing.each(lambda option: wrap(convert(lift(option), dtype)))


# -- kinds that share a dtype --------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Answer:
    """What an operation was found to give, which is the same ops for all kinds of its operands."""

    results: Mapping[_Combination, Scalar | Tensor | None]
    """The type of the result for each combination of theirs; none where there is but one."""
    words: Mapping[Scalar | Tensor | None, str]
    checked: Sequence[_Combination]
    """The combinations of which the same ops are checked: Python's numbers raise where NumPy's wrap or are infinite."""


_Combination = tuple[Hashable, ...]
"""For each operand its type, or the number of a kind that is no number."""

_ANSWERS: dict[Hashable, _Answer | None] = {}
"""By question: an operation is tried once for operands of the same types."""

_BY_TYPES = frozenset(
    getattr(operator, name)
    for name in ("lt", "le", "gt", "ge", "eq", "ne", "neg", "pos", "abs", "add", "sub", "mul", "truediv", "pow")
)
_IN_PLACE = frozenset({operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ipow})
"""Operations of which the types of the operands, and the numbers that are known, tell what ops they are.

Those in place do so where the target is a number: into an array, they depend on who else shows it.
"""


def _question(
    things: Sequence[Alternatives], numbers: Sequence[Sequence[int]], reached: Sequence[Any], operation: Use | None
) -> Hashable | None:
    """On what it depends whether an operation is the same ops for all kinds; None if that is not known."""
    if operation not in _BY_TYPES and (operation not in _IN_PLACE or type(reached[0]) is ArrayTracer):
        return None
    found: list[Hashable] = [operation]
    for argument in reached:
        place = next((place for place, thing in enumerate(things) if thing is argument), None)
        told = [_told(argument)] if place is None else [_number(number) for number in numbers[place]]
        if None in told:
            return None
        found.append((place, *told))
    return tuple(found)


def _number(number: int) -> Scalar | None:
    """The type of the numbers that are a kind; None for a kind of other things."""
    kind: Scalar | None = current_trace().state(Kinds).options[number].number
    return kind


def _told(thing: Any) -> Hashable | None:
    """The type of an operand, or the number itself if it is known; None for what may be more than that."""
    if type(thing) in (ScalarTracer, ArrayTracer) or (type(thing) is NumberTracer and not thing.is_more):
        kind = kind_of(thing)
        return (kind.dtype, len(kind.dims)) if isinstance(kind, Tensor) else kind
    return (type(thing), repr(thing)) if type(thing) in (bool, int, float, complex) else None


def _done_at_once(
    things: Sequence[Alternatives], numbers: Sequence[Sequence[int]], use: Use, question: Hashable | None
) -> tuple[Any] | None:
    """What ``use`` gives if it is the same ops for all kinds, in a tuple; None if it is not."""
    wanted = [each[0] if len(each) == 1 else _strong_kind(each) for each in numbers]
    combinations = [*itertools.product(*numbers)]
    if not 1 < len(combinations) <= _MOST_COMBINATIONS:
        return None
    chosen = tuple(number for number in wanted if number is not None)
    if len(chosen) < len(things):
        return None
    answer = _ANSWERS[question] if question in _ANSWERS else _answer(things, combinations, chosen, use)
    if question is not None:
        _ANSWERS[question] = answer
    if answer is None:
        return None
    made = use(*map(option, things, chosen))
    for combination in combinations:
        if _types(combination) in answer.checked:
            _check(things, combination, use)
    if isinstance(made, ArrayTracer) or not answer.results:
        return (made,)
    numbers_of = {kind: _number_of(kind, made) for kind in answer.words}
    kinds = {each: numbers_of[answer.results[_types(each)]] for each in combinations}
    return (_tagged(things, made, kinds, {numbers_of[kind]: words for kind, words in answer.words.items()}),)


def _number_of(kind: Scalar | Tensor | None, made: Any) -> int:
    """The number in this trace of a kind of numbers, of which a result is once it is converted."""
    assert isinstance(kind, Scalar)
    number = number_of(wrap(converted(made, kind)))
    assert number is not None
    return number


def _types(combination: Sequence[int]) -> _Combination:
    return tuple(_number(number) or number for number in combination)


def _check(things: Sequence[Alternatives], combination: Sequence[int], use: Use) -> None:
    """Have an operation raise what it raises of one combination of kinds."""
    of_them = [
        is_of_kind(thing, number)
        for thing, number in zip(things, combination, strict=True)
        if possible_numbers(thing) != [number]
    ]
    others = values.emit("logical_not", functools.reduce(partial(values.emit, "logical_and"), of_them))
    values.unless(others, lambda: use(*map(option, things, combination)))


def _answer(
    things: Sequence[Alternatives], combinations: Sequence[tuple[int, ...]], wanted: tuple[int, ...], use: Use
) -> _Answer | None:
    """What ``use`` gives if it is the same ops for all combinations of kinds, one of them wanted; None if it is not."""
    results: dict[tuple[int, ...], Any] = {}
    ops: dict[tuple[int, ...], Sequence[Op]] = {}
    first: tuple[Sequence[Op], Any] | None = None
    for combination in combinations:
        one = _tried(lambda: [option(*pair) for pair in zip(things, combination, strict=True)], use)  # noqa: B023
        first = first or one
        if one is None or first is None or not are_alike(*first, *one):
            return None
        ops[combination], results[combination] = one
    checks = {each: [op.name for op in made if op.attributes.get("checked")] for each, made in ops.items()}
    checked = [each for each in combinations if checks[each] != checks[wanted]]
    if checked and (checks[wanted] or not all(map(is_pure, ops[wanted]))):
        return None
    kinds = {_types(numbers): kind_of(result) for numbers, result in results.items()}
    if len({*kinds.values()}) == 1:
        return _Answer({}, {}, [*map(_types, checked)])
    words = {kind_of(result): described(result) for result in results.values()}
    return _Answer(kinds, words, [*map(_types, checked)])


def _tagged(
    things: Sequence[Alternatives], made: Any, kinds: Mapping[tuple[int, ...], int], words: Mapping[int, str]
) -> Alternatives:
    """A result that is Python's number where the operands were, and NumPy's where they were that."""
    options = dict.fromkeys(kinds.values(), made)
    telling = [place for place in range(len(things)) if _tells(place, kinds)]
    only = telling[0] if len(telling) == 1 else None
    if only is not None and all(numbers[only] == kind for numbers, kind in kinds.items()):
        chosen = things[only].chosen
    else:
        chosen = wrap(_tag_of(things, kinds))
    return Alternatives(chosen, options, things[0].name, words)


def _tells(place: int, kinds: Mapping[tuple[int, ...], int]) -> bool:
    """Whether the kind of a result depends on that of the operand at a place."""
    rest: dict[tuple[int, ...], set[int]] = {}
    for numbers, kind in kinds.items():
        rest.setdefault((*numbers[:place], *numbers[place + 1 :]), set()).add(kind)
    return any(len(found) > 1 for found in rest.values())


def _tag_of(things: Sequence[Alternatives], kinds: Mapping[tuple[int, ...], int]) -> Value:
    """The number of a result's kind, which follows from those of the operands."""
    if len({*kinds.values()}) == 1:
        return values.known_int(next(iter(kinds.values())))
    thing, *others = things
    by_first: dict[int, dict[tuple[int, ...], int]] = {}
    for (number, *rest), kind in kinds.items():
        by_first.setdefault(number, {})[tuple(rest)] = kind
    if not _tells(0, kinds):
        return _tag_of(others, next(iter(by_first.values())))
    tags = [(number, _tag_of(others, found)) for number, found in by_first.items()]
    tag = tags[0][1]
    for number, other in tags[1:]:
        tag = values.select(is_of_kind(thing, number), other, tag)
    return tag


def _tried(make: Callable[[], Sequence[Any]], use: Use) -> tuple[Sequence[Op], Any] | None:
    """The ops that ``use`` records, and what it gives; None if that is more than one number or array."""
    trace = current_trace()
    undo = trace.trial()
    with trace.region() as scope:
        try:
            result = use(*make())
        except UserError:
            undo()
            return None
    known = result is None or type(result) in (bool, int, float, complex, str)
    return (scope.builder.ops, result) if known or isinstance(result, ScalarTracer | ArrayTracer) else None


surface.install(switch=switch, strong=strong, narrowed=narrowed)
