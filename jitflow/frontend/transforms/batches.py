"""Batches while tracing: the function is traced on one example into a region, and an op asks for all of them.

What is mapped are values of the region's own, an example of each array; everything else of the program is used as it
is. The region runs for every example, in no order that the program could tell. So what it does to the program around it
is refused. Where it draws from a generator of `jitflow.random`, each example has a child of that generator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserTypeError, UserValueError
from jitflow.frontend.arrays import broadcasting
from jitflow.frontend.containers.lists import Listed
from jitflow.frontend.control.alternatives import described, option
from jitflow.frontend.control.branch import choose
from jitflow.frontend.control.changing_lists import drain_lists
from jitflow.frontend.control.function_cells import cells_around, reassigned
from jitflow.frontend.control.joining import outside_type
from jitflow.frontend.control.leaves import flatten, parts_of
from jitflow.frontend.control.local_types import kind_of
from jitflow.frontend.control.mutables import Mutables
from jitflow.frontend.control.possible_kinds import possible_numbers
from jitflow.frontend.control.raising import EndOfPath
from jitflow.frontend.control.switching import of_one_kind
from jitflow.frontend.numpy.draw_calls import no_draws_in_batch
from jitflow.frontend.numpy.draws import Children
from jitflow.frontend.recording import values
from jitflow.frontend.recording.regions import refused_in_batch
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.texts import TracedText
from jitflow.frontend.tracers.absent import NotGiven
from jitflow.frontend.tracers.alternatives import Alternatives
from jitflow.frontend.tracers.base import located
from jitflow.frontend.transforms.derivatives import called, program_object
from jitflow.frontend.transforms.tangents import own_containers
from jitflow.ir.core import Value, walk
from jitflow.ir.dims import Dim
from jitflow.ir.dtypes import I64
from jitflow.ir.ops.derivative import example_of, stacked_of
from jitflow.ir.types import Container
from jitflow.records import dataclass

__all__ = ["batched"]

Axes = Any
"""An axis, None for what is not mapped, or a structure of these in tuples, lists and dicts."""


def batched(
    fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], in_axes: Axes, out_axes: Axes
) -> Any:
    """What a function gives for each example, stacked."""
    given = _Arguments(args, kwargs, in_axes)
    trace, stacked = current_trace(), given.stacked
    parameters = [Value(example_of(value.type), value.name) for value in given.stacked]
    before = Mutables((fn, *args, *kwargs.values()), with_stores=True)
    cells = cells_around(fn)
    yielded: list[Value] = []
    try:
        with trace.region() as scope:
            scope.is_batched = True
            returned = called(fn, *given.examples([*map(program_object, parameters)]))
            result = of_one_kind(returned)
            leaves = flatten(result)
            axes = [*_axes_of(out_axes, result, "out_axes", "what the function returns")]
            places = [_place(result, item, yielded) for item in leaves.items]
            several = [_SeveralKinds.of(item, axis, yielded)
                       for item, axis in zip(flatten(returned, whole=True).items, axes, strict=True)]  # fmt: skip
            drain_lists()
    except (EndOfPath, NotGiven):
        trace.add("vmap", *stacked, types=(), regions=(scope.close(parameters, ()),))
        raise
    if changed := before.changed():
        raise located(refused_in_batch(f"that changes {changed}"))
    if reassigned(cells):
        raise located(refused_in_batch("that assigns to a local variable of a function around it"))
    for own, states in trace.state(Children).drawn_from(scope, tracers.size_of(given.count)):
        parameters.append(own)
        stacked.append(states)
    # Those that are the same for every example come last.
    mapped = [axis is not None for place, axis in zip(places, axes, strict=True) if place is not None]
    mapped += [True] * (len(yielded) - len(mapped))
    order = sorted(range(len(yielded)), key=lambda place: not mapped[place])
    region = scope.close(parameters, [yielded[place] for place in order])
    for op in walk(region):
        if op.name == "draw":
            raise no_draws_in_batch().at(op.loc)
    kinds = [(outside_type(yielded[place].type), mapped[place]) for place in order]
    types = [stacked_of(kind, given.count) if is_mapped else kind for kind, is_mapped in kinds]
    shared = len(mapped) - sum(mapped)
    found = trace.add("vmap", *stacked, types=types, regions=(region,), shared=shared)
    made = dict(zip(order, map(program_object, found), strict=True))
    items = [
        item if place is None else _moved(made[place], axis) if kinds is None else kinds.stacked(made, place, axis)
        for item, place, axis, kinds in zip(leaves.items, places, axes, several, strict=True)
    ]
    return leaves.rebuild(items)


@dataclass(frozen=True)
class _SeveralKinds:
    """Where a region yields a number or an array of several kinds: which of them it is, and what it is of each."""

    tag: int
    options: Mapping[int, int]

    @staticmethod
    def of(item: Any, axis: int | None, yielded: list[Value]) -> _SeveralKinds | None:
        """That of a mapped result; None for one kind."""
        if type(item) is not Alternatives or axis is None or len(numbers := possible_numbers(item)) < 2:
            return None
        first = len(yielded)
        yielded.append(values.cast(tracers.lift(item.chosen), I64))
        yielded.extend(tracers.lift(option(item, number)) for number in numbers)
        return _SeveralKinds(first, {number: first + place for place, number in enumerate(numbers, 1)})

    def stacked(self, made: Mapping[int, Any], common: int, axis: int | None) -> Any:
        """The results: of the kind that all are of, else, and of none, of the ``common`` one, as in `np.stack`."""

        def of(numbers: Sequence[int]) -> Any:
            if not numbers:
                return _moved(made[common], axis)
            number, *others = numbers
            are = made[self.tag] == number
            return choose(are.any() & are.all(), lambda: _moved(made[self.options[number]], axis), lambda: of(others))

        return of([*self.options])


class _Arguments:
    """The arguments of a call taken apart, and the arrays among them that are mapped, examples first."""

    def __init__(self, args: Sequence[Any], kwargs: Mapping[str, Any], in_axes: Axes) -> None:
        given = [own_containers(arg) for arg in (*args, *kwargs.values())]
        self._count, self._names = len(args), [*kwargs]
        self._leaves = [*map(flatten, given)]
        axes = _axes_of_arguments(in_axes, given[: len(args)])
        axes += [_axes_of(0, arg, "in_axes", "its argument") for arg in given[len(args) :]]
        self._places: list[tuple[int, int]] = []
        self.stacked: list[Value] = []
        """The values of the arrays that are mapped, with the axis of the examples in front."""
        for number, (leaves, own) in enumerate(zip(self._leaves, axes, strict=True)):
            for leaf, (item, axis) in enumerate(zip(leaves.items, own, strict=True)):
                if axis is not None and item is not None:
                    self._places.append((number, leaf))
                    self.stacked.append(_in_front(item, axis))
        if not self.stacked:
            raise located(UserValueError(
                "vmap of a function that is called with no array to map",
                mend="pass an array, or say in_axes: at least one axis must not be None",
            ))  # fmt: skip
        self.count: Dim = values.dims(self.stacked[0])[0]
        for value in self.stacked[1:]:
            size = values.dims(value)[0]
            message = "vmap got inconsistent sizes for array axes to be mapped: {shapes}"
            try:
                broadcasting.require_equal(self.count, size, message, ((self.count,), (size,)))
            except UserValueError as error:
                raise located(error) from None

    def examples(self, items: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
        """The arguments of one example, with these numbers and arrays in the places of those that are mapped."""
        own = [list(leaves.items) for leaves in self._leaves]
        for (number, leaf), item in zip(self._places, items, strict=True):
            own[number][leaf] = item
        made = [leaves.rebuild(items) for leaves, items in zip(self._leaves, own, strict=True)]
        return made[: self._count], dict(zip(self._names, made[self._count :], strict=True))


def _axes_of_arguments(in_axes: Axes, args: Sequence[Any]) -> list[Sequence[int | None]]:
    """For each argument, the axis of each number or array in it."""
    if in_axes is None or isinstance(in_axes, int):
        each: Sequence[Axes] = [in_axes] * len(args)
    elif isinstance(in_axes, tuple | list) and len(in_axes) == len(args):
        each = in_axes
    else:
        raise located(UserValueError(
            "in_axes must be an axis, None, or a tuple with one for each positional argument",
            found=f"{in_axes!r} for {len(args)} arguments",
        ))  # fmt: skip
    return [_axes_of(axes, arg, "in_axes", "its argument") for axes, arg in zip(each, args, strict=True)]


def _axes_of(axes: Axes, thing: Any, name: str, whose: str) -> Sequence[int | None]:
    """The axis for each number or array in a structure; one axis stands for all in a part of it."""
    if axes is None or isinstance(axes, int):
        return [axes] * len(flatten(thing).items)
    parts = parts_of(thing)
    if isinstance(axes, dict) and isinstance(thing, dict) and axes.keys() == thing.keys():
        each: Sequence[Axes] = [axes[key] for key in thing]
    elif isinstance(axes, tuple | list) and isinstance(thing, tuple | list) and len(axes) == len(thing):
        each = axes
    else:
        raise located(UserValueError(f"{name} has another structure than {whose}", found=f"{axes!r}"))
    assert parts is not None
    return [axis for part, own in zip(parts.items, each, strict=True) for axis in _axes_of(own, part, name, whose)]


def _in_front(item: Any, axis: int) -> Value:
    """The value of an array with one of its axes in front."""
    kind = kind_of(item)
    if kind is None or isinstance(kind, Container):
        raise located(UserTypeError(
            "vmap over something that is no array", found=described(item),
            mend="give it the axis None in in_axes: in_axes=(None, 0)",
        ))  # fmt: skip
    value = tracers.lift(item)
    rank = values.rank(value)
    if not -rank <= axis < rank:
        raise located(UserValueError(
            f"vmap was requested to map its argument along axis {axis}, which implies that its rank should be at least "
            f"{axis + 1 if axis >= 0 else -axis}, but is only {rank}",
            found=str(kind), mend="give it the axis None in in_axes, if it is the same for every example",
        ))  # fmt: skip
    axis %= rank
    return values.transpose(value, (axis, *(other for other in range(rank) if other != axis))) if axis else value


def _place(result: Any, item: Any, yielded: list[Value]) -> int | None:
    """Where a region yields an item of its result; None for what is None."""
    if item is None:
        return None
    kind = kind_of(item)
    if any(isinstance(part, Listed) for part in _parts_of_all(result)):
        raise located(UserTypeError(
            "vmap of a function that returns a list of which only the running program knows the length",
            mend="return the array: np.array of the list",
        ))  # fmt: skip
    if kind is None or isinstance(kind, Container) or any(type(part) is TracedText for part in _parts_of_all(result)):
        raise located(UserTypeError(
            "vmap of a function that returns something else than numbers and arrays", found=described(item),
            mend="return numbers, arrays, or tuples, lists and dicts of them",
        ))  # fmt: skip
    yielded.append(tracers.lift(item))
    return len(yielded) - 1


def _parts_of_all(thing: Any) -> Iterator[Any]:
    """A structure, and all that is in it: the numbers of a text, or of a list around an array, are no results."""
    yield thing
    parts = parts_of(thing)
    for part in () if parts is None else parts.items:
        yield from _parts_of_all(part)


def _moved(item: Any, axis: int | None) -> Any:
    """A result with the examples along ``axis``, which are along the first one."""
    if axis is None or axis == 0:
        return item
    value = tracers.lift(item)
    rank = values.rank(value)
    if not -rank <= axis < rank:
        raise located(UserValueError(
            f"out_axes names axis {axis} of a result that has {rank} with that of the examples"
        ))  # fmt: skip
    axis %= rank
    order = [*range(1, rank)]
    order.insert(axis, 0)
    return tracers.wrap(values.transpose(value, order))
