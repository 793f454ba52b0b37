"""Structures taken apart: tuples, lists, dicts and the like, and what is of several kinds, into numbers and arrays."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from jitflow.errors import another
from jitflow.frontend.control.cells import UNBOUND
from jitflow.frontend.control.changing_lists import made_like
from jitflow.frontend.control.local_types import kind_of
from jitflow.frontend.control.ranges import Range, range_of, start_stop_step
from jitflow.frontend.control.steps import Source
from jitflow.frontend.outside.made_objects import MADE_OF, fields_of, made_with
from jitflow.frontend.outside.objects import Recorded, array_fields, is_constant
from jitflow.frontend.outside.pooled_objects import begin_anew_pooled, is_pooled, number_of_object, pool_of, with_number
from jitflow.frontend.outside.proxies import ClassProxy, ObjectProxy, OutsideDict, OutsideList
from jitflow.frontend.outside.records import RecordProxy
from jitflow.frontend.outside.sets import OutsideSet
from jitflow.frontend.outside.slots import NEXT, Slotted
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.texts import TracedText
from jitflow.frontend.tracers import Alternatives, ArrayTracer, Tracer
from jitflow.frontend.tracers.alternatives import Kinds, is_iterator
from jitflow.ir.types import Scalar
from jitflow.records import dataclass

__all__ = ["Leaves", "Option", "Unpacked", "are_carried_together", "can_change", "flatten", "option_of", "parts_of"]


class Unpacked(NamedTuple):
    """What a structure holds, one level down: the parts, what else tells it from others, and how to make it anew."""

    items: list[Any]
    shape: Any
    make: Callable[[list[Any]], Any]


@dataclass(frozen=True, eq=False)
class Leaves:
    """The numbers, arrays and other things in a structure of tuples, lists and dicts, and its shape."""

    items: tuple[Any, ...]
    shape: Any
    rebuild: Callable[[Sequence[Any]], Any]

    def having(self, number: int, item: Any) -> Leaves:
        """The same with another item."""
        return Leaves((*self.items[:number], item, *self.items[number + 1 :]), self.shape, self.rebuild)


def parts_of(thing: Any) -> Unpacked | None:
    """A structure taken apart, one level down; None for everything else.

    An object that can change and stands in it twice does so in what is made anew, too.
    """
    parts = _parts_of(thing)
    objects = [] if parts is None else [id(item) for item in parts.items if can_change(item)]
    if parts is None or len(set(objects)) == len(objects):
        return parts
    numbers = [id(item) if can_change(item) else number for number, item in enumerate(parts.items)]
    first = tuple(map(numbers.index, numbers))
    return Unpacked(parts.items, (parts.shape, first), lambda items: parts.make([items[number] for number in first]))


def can_change(thing: Any) -> bool:
    """Whether it is a structure that shows by all its names what is stored in it."""
    kind = type(thing)
    if pool_of(thing) is not None:
        return False
    is_record = dataclasses.is_dataclass(kind) and not issubclass(kind, Tracer)
    return kind is list or kind is dict or is_record or MADE_OF in kind.__dict__ or issubclass(kind, Slotted)


def _parts_of(thing: Any) -> Unpacked | None:
    kind = type(thing)
    if kind is list:
        return Unpacked([*thing], (kind, len(thing)), partial(made_like, thing))
    if kind is tuple or (isinstance(thing, tuple) and hasattr(kind, "_fields")):
        make = (lambda items: kind(*items)) if hasattr(kind, "_fields") else kind
        return Unpacked([*thing], (kind, len(thing)), make)
    if kind is dict:
        keys = tuple(thing)
        return Unpacked([*thing.values()], (dict, keys),
                        lambda items: made_like(thing, dict(zip(keys, items, strict=True))))  # fmt: skip
    if isinstance(thing, Slotted) and thing.register is None:
        known, parts = thing.parts
        return Unpacked([thing.slots[NEXT], *parts], (thing.form, *known),
                        lambda items: made_like(thing, thing.holding(known, items)))  # fmt: skip
    if kind in (range, Range, slice):
        made: Callable[..., Any] = slice if kind is slice else range_of
        return Unpacked([*start_stop_step(thing)], thing.__class__, lambda items: made(*items))
    if kind is TracedText:
        template = thing.template
        shape = (kind, template, tuple(str(kind_of(operand)) for operand in thing.operands))
        return Unpacked([*thing.operands], shape, lambda items: TracedText(template, tuple(items)))
    if kind is Alternatives and not any(map(_is_gone_through, thing.options.values())):
        return Unpacked([thing.chosen, *_carried(thing)], (kind, *thing.options), partial(_with_carried, thing))
    if issubclass(kind, BaseException):
        return _parts_of_exception(thing)
    if is_pooled(thing):
        return Unpacked([number_of_object(thing)], (kind, "pooled"), lambda items: with_number(kind, *items))
    if array_fields(kind):
        names = array_fields(kind)
        if not getattr(thing, "is_known", True):
            return Unpacked([], (kind, "unknown"), lambda items: _unknown_again(thing))
        parts = [getattr(thing, name) for name in names]
        inside = [part.shape for part in map(_parts_of, parts) if part is not None]  # several dicts have several views
        return Unpacked(parts, (kind, names, *inside), lambda items: kind(**dict(zip(names, items, strict=True))))
    if kind is RecordProxy:
        _, fields = thing._jitflow_fields
        names = tuple(fields)
        return Unpacked([*fields.values()], (kind, thing.__class__, names),
                     lambda items: thing._jitflow_with(dict(zip(names, items, strict=True))))  # fmt: skip
    if MADE_OF in kind.__dict__:
        fields = fields_of(thing)
        return Unpacked([*fields.values()], (kind, *fields), lambda items: made_with(kind, tuple(fields), *items))
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type | Tracer) and kind is thing.__class__:
        names = tuple(field.name for field in dataclasses.fields(thing) if field.init)
        parts = [getattr(thing, name) for name in names]
        return Unpacked(parts, (kind, names), lambda items: kind(**dict(zip(names, items, strict=True))))
    return None


def _unknown_again(thing: Any) -> Any:
    """A container like one of which nobody knows what it holds; who finds out tells the statement that made it."""
    made = type(thing)()
    made.site, made.home = thing.site, thing.home
    return made


def _is_gone_through(thing: Any) -> bool:
    """Whether it is one of several iterators or views, which nobody can hand on."""
    is_source = isinstance(thing, Source) and not isinstance(thing, Recorded)
    return type(thing) is Alternatives or is_source or is_iterator(thing)


def _parts_of_exception(error: BaseException) -> Unpacked:
    """Its arguments, its attributes, and the exceptions that it comes from."""
    count, names = len(error.args), tuple(vars(error))
    cause, context, last = error.__cause__, error.__context__, len(error.args) + len(vars(error))
    links = [link for link in (cause, None if context is cause else context) if link is not None]

    def make(items: Sequence[Any]) -> BaseException:
        made = another(error, items[:count], items[count:last])
        of = dict(zip(map(id, links), items[last:], strict=True))
        made.__cause__, made.__context__ = of.get(id(cause)), of.get(id(context))
        made.__suppress_context__ = error.__suppress_context__
        return made

    shape = (type(error), count, names, cause is None, context is None, context is cause, error.__suppress_context__)
    return Unpacked([*error.args, *vars(error).values(), *links], shape, make)


def _is_never_itself(thing: Any) -> bool:
    return False


def flatten(
    thing: Any,
    *,
    whole: bool = False,
    is_itself: Callable[[Any], bool] = _is_never_itself,
    found: dict[int, tuple[Any, list[Any]]] | None = None,
) -> Leaves:
    """A structure taken apart, all the way down. What is of several kinds stays ``whole`` if asked for.

    An object of which ``is_itself`` says so is not taken apart. With what was ``found`` in the structure so far, an
    object that stands in it again has no leaves there, and is one object in what is rebuilt. Objects of the user's that
    lead to themselves are no structures: the trace starts anew with pools for them.
    """
    if found is None or is_itself(thing) or not (isinstance(thing, ArrayTracer) or can_change(thing)):
        try:
            return _flattened(thing, whole, is_itself, found)
        except RecursionError:
            begin_anew_pooled(one for one in _reached(thing) if any(one is other for other in _reached(one)))
            raise
    if id(thing) in found:
        _, made = found[id(thing)]
        return Leaves((), ("again", [*found].index(id(thing))), lambda items: made[-1])
    found[id(thing)] = thing, (made := [])
    leaves = _flattened(thing, whole, is_itself, found)

    def rebuild(items: Sequence[Any]) -> Any:
        made.append(leaves.rebuild(items))
        return made[-1]

    return Leaves(leaves.items, leaves.shape, rebuild)


def _reached(thing: Any) -> Iterator[Any]:
    """What a structure leads to; that is the structure itself, if it is in a circle."""
    known, waiting = set[int](), [thing]
    while waiting:
        parts = parts_of(waiting.pop())
        for item in () if parts is None else parts.items:
            if id(item) not in known:
                known.add(id(item))
                waiting.append(item)
                yield item


def _flattened(
    thing: Any, whole: bool, is_itself: Callable[[Any], bool], found: dict[int, tuple[Any, list[Any]]] | None
) -> Leaves:
    parts = None if (whole and type(thing) is Alternatives) or is_itself(thing) else parts_of(thing)
    if parts is None:
        return Leaves((thing,), None, lambda items: items[0])
    leaves = [flatten(item, whole=whole, is_itself=is_itself, found=found) for item in parts.items]

    def rebuild(items: Sequence[Any]) -> Any:
        rest = list(items)
        made = []
        for leaf in leaves:
            count = len(leaf.items)
            made.append(leaf.rebuild(rest[:count]))
            del rest[:count]
        return parts.make(made)

    items = tuple(item for leaf in leaves for item in leaf.items)
    return Leaves(items, (parts.shape, tuple(leaf.shape for leaf in leaves)), rebuild)


# -- what is of several kinds -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Option:
    """One of the kinds that a value may be of: what tells it from others, and what is carried of such a value."""

    key: Hashable
    number: Scalar | None
    """Its type, if it is a number."""
    leaves: Leaves
    """A value of this kind, taken apart."""
    traced: tuple[int, ...]
    """Which of its leaves the running program makes; the others are constants."""
    objects: tuple[Any, ...] = ()
    """The leaves that are objects of their own, though they could be taken apart."""

    @property
    def has_constants(self) -> bool:
        """Whether some of such a value is known, or all as of an empty list, and lost where the value is unbound."""
        return not self.traced or len(self.traced) < len(self.leaves.items)

    def carried(self, thing: Any) -> list[Any]:
        """What the running program makes of a value of this kind."""
        items = flatten(thing, is_itself=lambda part: any(part is known for known in self.objects), found={}).items
        return [items[place] for place in self.traced]

    def holding(self, carried: Sequence[Any]) -> Any:
        """The value of this kind that holds this."""
        items = list(self.leaves.items)
        for place, item in zip(self.traced, carried, strict=True):
            items[place] = item
        return self.leaves.rebuild(items)


def option_of(thing: Any, is_itself: Callable[[Any], bool] = _is_never_itself) -> Option | None:
    """The kind of a value; None for what cannot be one of several kinds.

    An object of which ``is_itself`` says so is a kind of its own.
    """
    if type(thing) is Alternatives:
        return None
    if is_itself(thing):
        return Option(("object", id(thing)), None, Leaves((thing,), None, lambda items: items[0]), (), (thing,))
    leaves = flatten(thing, is_itself=is_itself, found={})
    objects = tuple(filter(is_itself, leaves.items))
    keys = [("object", id(item)) if is_itself(item) else _key(item) for item in leaves.items]
    if None in keys:
        return None
    traced = tuple(place for place, key in enumerate(keys) if key is not None and key[0] in ("number", "array"))
    kind = kind_of(thing)
    return Option((repr(leaves.shape), *keys), kind if isinstance(kind, Scalar) else None, leaves, traced, objects)


def _key(leaf: Any) -> tuple[Any, ...] | None:
    """What tells the kind of a number, array or constant from others; None for what may be no alternative."""
    if type(leaf) is Alternatives or leaf is UNBOUND:
        return None
    kind = kind_of(leaf)
    if kind is not None:
        return ("number", kind) if isinstance(kind, Scalar) else ("array", kind.dtype, len(kind.dims))
    if isinstance(leaf, Tracer):
        return None
    if isinstance(leaf, Hashable) and is_constant(leaf):
        return ("constant", type(leaf), leaf)
    return ("object", id(leaf)) if _is_known(leaf) else None


def _is_known(thing: Any) -> bool:
    """Whether it is an object that is there whichever way the program goes: no region has made it."""
    if isinstance(thing, Recorded):
        return getattr(thing, "home", None) in set(current_trace().scope.around())
    if type(thing) is FunctionType:
        return not any(isinstance(cell.cell_contents, Tracer) for cell in thing.__closure__ or ())
    outside = OutsideList | OutsideDict | OutsideSet | ObjectProxy | ClassProxy
    return isinstance(thing, BuiltinFunctionType | np.ufunc | type | ModuleType | outside)


def _places(thing: Alternatives) -> list[list[int]]:
    """The numbers of the kinds, those of numbers of one dtype together: they are carried in one place."""
    known, found = current_trace().state(Kinds).options, dict[Any, list[int]]()
    for number in thing.options:
        option = known[number]
        if option.traced:
            found.setdefault(number if option.number is None else option.number.dtype, []).append(number)
    return [*found.values()]


def are_carried_together(thing: Alternatives) -> bool:
    """Whether all kinds that a value may be of are numbers of one dtype."""
    known = current_trace().state(Kinds).options
    return len(_places(thing)) == 1 and all(known[number].traced for number in thing.options)


def _carried(thing: Alternatives) -> list[Any]:
    """The numbers and arrays of a value of several kinds. What is of another kind on this path is unbound."""
    items: list[Any] = []
    for numbers in _places(thing):
        option = current_trace().state(Kinds).options[numbers[0]]
        held = next((thing.options[number] for number in numbers if thing.options[number] is not UNBOUND), UNBOUND)
        items += [UNBOUND] * len(option.traced) if held is UNBOUND else option.carried(held)
    return items


def _with_carried(thing: Alternatives, items: Sequence[Any]) -> Alternatives:
    """The same kinds with other numbers and arrays; the first is the number that is chosen."""
    chosen, *rest = items
    options = dict(thing.options)
    for numbers in _places(thing):
        option = current_trace().state(Kinds).options[numbers[0]]
        count = len(option.traced)
        held, rest = rest[:count], rest[count:]
        options.update(dict.fromkeys(numbers, option.holding(held)))
    return Alternatives(chosen, options, thing.name, thing.words)
