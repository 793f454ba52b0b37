"""What is of one kind on some paths of the program and of another on others: a number that says which, and the kinds.

    m = -1
    if v > m:                 an int or a uint8
        m = v

Python keeps the two apart, and so does the program: nothing is promoted because paths meet. Kinds have numbers of their
own in a trace; numbers of one dtype, Python's and NumPy's, are carried in one value. An operation on such a value is
done once for each kind that it may be here (`each`), and where all give one kind, the value has one kind again.
"""

from __future__ import annotations

import enum
import operator
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from functools import partial, wraps
from types import BuiltinFunctionType, ClassMethodDescriptorType, FunctionType, MethodDescriptorType
from typing import Any, NoReturn

from jitflow.errors import UserNotImplementedError
from jitflow.frontend.recording.locate import raising_for_the_program
from jitflow.frontend.recording.trace import active_trace, current_trace
from jitflow.frontend.tracers.base import Tracer, begin_anew_rewritten, lacking, located
from jitflow.frontend.tracers.operators import BINARY, COMPARISONS, UNARY, define_operators
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.core import Value

__all__ = ["Alternatives", "Facts", "Kinds", "distributed", "holds_alternatives", "is_iterator",
           "kind_by_kind", "lazily_kind_by_kind", "without_python_numbers"]  # fmt: skip

Facts = Mapping[Value, frozenset[int]]
"""What the numbers of kinds may be."""

_MOST_KINDS = 4
"""Of how many kinds a value may be before an operation on it is refused: each is done once for each of them."""
_MOST_OBJECTS = 16
"""The same for lists, dicts and the like, each of which is a kind of its own, and for members of enumerations."""
_MOST_DICTS = 8
"""The same for dicts of Python's with other keys each: what is chosen of one is often chosen from all of them again."""


_VIEWS = ("items", "keys", "values")
"""Methods of dicts that do nothing but show them."""
_TYPES_OF_VIEWS = frozenset(type(getattr(kind(), name)()) for kind in (dict, OrderedDict) for name in _VIEWS)


class Kinds:
    """The kinds that values of several kinds are of in a trace, and the number of each."""

    def __init__(self) -> None:
        self.options: list[Any] = []
        """The kinds, by number; see `control.alternatives`."""
        self.numbers: dict[Hashable, int] = {}
        self.are_used = False
        """Whether there is a value of several kinds."""
        self.implied: dict[Value, tuple[Facts, Facts]] = {}
        """What conditions say of the numbers of kinds: what these may be if they hold, and if not."""
        self.follows: dict[Value, tuple[Value, Mapping[int, Collection[int]]]] = {}
        """The numbers of kinds that follow from another one: that number, and what they may be for each kind of it."""


_OF_EXCEPTIONS = ("__cause__", "__context__", "__suppress_context__", "__traceback__")


class Alternatives(Tracer):
    """One of ``options``, the things by the number of their kind: the one with the number ``chosen``.

    ``chosen`` is known, or a number of the running program. ``name`` is what the user calls it, and ``words`` say of
    each kind what it is and where it came from.
    """

    __slots__ = ("chosen", "options", "name", "words")  # noqa: RUF023 - as they are given

    def __init__(self, chosen: Any, options: Mapping[int, Any], name: str, words: Mapping[int, str]) -> None:
        trace = current_trace()
        trace.state(Kinds).are_used = True
        own = (trace, chosen, dict(sorted(options.items())), name, words)
        for slot, thing in zip(("_trace", *Alternatives.__slots__), own, strict=True):
            object.__setattr__(self, slot, thing)  # what the program assigns are attributes of the kinds

    def each(self, use: Callable[[Any], Any], *reached: Any) -> Any:
        """What ``use`` gives of the thing, done once for each kind. What it may change is among those ``reached``."""
        return surface.switch((self.of_few_kinds(),), use, reached)

    def of_few_kinds(self) -> Alternatives:
        """The thing itself. Raises if its kinds are too many to do anything once for each."""
        several = len(self.options) - len(self._objects()) - self._known()
        if several > _MOST_KINDS or len(self.options) > _MOST_OBJECTS:
            raise self.refusal()
        return self

    def _known(self) -> int:
        """How many are members of enumerations, or few dicts of Python's: what is done with one is often known."""
        objects, things = [*map(id, self._objects())], self.options.values()
        members = sum(isinstance(thing, enum.Enum) for thing in things)
        dicts = sum(issubclass(type(thing), dict) and id(thing) not in objects for thing in things)
        return members + (dicts if dicts <= _MOST_DICTS else 0)

    def _objects(self) -> list[Any]:
        """Those that are kinds of their own."""
        known = self._trace.state(Kinds).options
        return [thing for number, thing in self.options.items() if any(thing is one for one in known[number].objects)]

    def refusal(self) -> UserNotImplementedError:
        """The error where one kind is needed, or more would be too many."""
        found = " or ".join(self.words[number] for number in self.options if number in self.words)
        are_numbers = all(self._trace.state(Kinds).options[number].number is not None for number in self.options)
        mend = "arrays of one number of axes, tuples of one length; or use two names"
        if are_numbers:
            mend = "write float(...), np.float64(...) or .astype(...) where it is assigned"
        what, mend = "is of several types", f"give {self.name} one type on every path: {mend}"
        if len(self._objects()) > _MOST_KINDS:
            what = "may be one of too many objects that have other names too"
            mend = "give the other names a copy of it (with .copy()), or keep what it holds in numbers or arrays"
        error = UserNotImplementedError(
            f"{self.name} {what} here, which the running program chooses from", found=found, mend=mend
        )
        located(error)
        return error

    @property
    def value(self) -> NoReturn:
        raise self.refusal()

    _value = value

    @property
    def shape(self) -> Any:
        return self.each(operator.attrgetter("shape"))

    @property
    def ndim(self) -> Any:
        return self.each(operator.attrgetter("ndim"))

    @property
    def dtype(self) -> Any:
        return self.each(operator.attrgetter("dtype"))

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return Alternatives

    def __getattr__(self, name: str) -> Any:
        of_classes = name not in _OF_EXCEPTIONS and name.startswith("__")
        if of_classes and not all(isinstance(option, type) for option in self.options.values()):
            raise AttributeError(lacking(next(iter(self.options.values())), name))
        if any(_is_method(option, name) for option in self.options.values()):
            return partial(self._call_method, name)
        return self.each(raising_for_the_program(lambda thing: getattr(thing, name)))

    def lazily(self, use: Callable[[Any], Any]) -> Any:
        """What ``use`` makes of the thing of each kind, a view or iterator: nothing happens, so in no branch."""
        thing = surface.narrowed(self)
        if type(thing) is not Alternatives:
            return use(thing)
        options = {number: use(option) for number, option in thing.of_few_kinds().options.items()}
        return Alternatives(thing.chosen, options, thing.name, thing.words)

    def _call_method(self, name: str, *args: Any, **keywords: Any) -> Any:
        if name in _VIEWS and not args and all(isinstance(option, dict) for option in self.options.values()):
            return self.lazily(lambda thing: getattr(thing, name)())

        @raising_for_the_program
        def call(thing: Any) -> Any:
            return getattr(thing, name)(*args, **keywords)

        return self.each(call, args, keywords)

    def __setattr__(self, name: str, value: Any) -> None:
        self.each(raising_for_the_program(lambda thing: setattr(thing, name, surface.narrowed(value))), value)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return self.each(raising_for_the_program(lambda thing: thing(*args, **keywords)), args, keywords)

    def __getitem__(self, index: Any) -> Any:
        return distributed(operator.getitem, (self, index), {})

    def __setitem__(self, index: Any, value: Any) -> None:
        # What a list or dict holds may be of several kinds itself; an array asks for its one kind.
        def store(thing: Any, place: Any) -> None:
            operator.setitem(thing, place, surface.narrowed(value))

        distributed(store, (self, index), {}, value)

    def __delitem__(self, index: Any) -> None:
        distributed(operator.delitem, (self, index), {})

    def __iter__(self) -> Iterator[Any]:
        several = [thing for thing in self.options.values() if isinstance(thing, tuple | list) or _is_array(thing)]
        lengths = {len([*thing]) if _is_array(thing) else len(thing) for thing in several}
        if len(lengths) != 1 or any(getattr(thing, "flows", False) for thing in self.options.values()):
            self.__needed()
        return iter([self.each(partial(_item, place)) for place in range(*lengths)])

    def __round__(self, *digits: Any) -> Any:
        return self.each(raising_for_the_program(lambda thing: round(thing, *digits)))

    def __needed(self, *args: Any) -> NoReturn:
        begin_anew_rewritten(self._trace)  # where hooks see it come
        raise self.refusal()

    __bool__ = __float__ = __int__ = __complex__ = __index__ = __str__ = __len__ = __needed
    __array__ = __contains__ = __reduce__ = __trunc__ = __floor__ = __ceil__ = __needed
    __hash__ = __needed  # a key has to be of one kind

    def __repr__(self) -> str:
        return f"<{self.name}: {' or '.join(self.words.values())}>"


def _is_array(thing: Any) -> bool:
    return isinstance(thing, Tracer) and type(thing) is not Alternatives and bool(getattr(thing, "ndim", False))


def _item(place: int, things: Any) -> Any:
    return things[place] if _is_array(things) else [*things][place]


_METHODS = (
    FunctionType,
    MethodDescriptorType,
    ClassMethodDescriptorType,
    BuiltinFunctionType,
    classmethod,
    staticmethod,
)


def _is_method(thing: Any, name: str) -> bool:
    """Whether something has a method of that name, no attribute. It is not asked: a property would run."""
    if not isinstance(thing, Tracer):
        bases = (thing if isinstance(thing, type) else thing.__class__).__mro__
        return any(isinstance(vars(base).get(name), _METHODS) for base in bases)
    return name in surface.methods or name in ("conjugate", "is_integer", "bit_length", "hex")


def distributed(function: Callable[..., Any], args: Sequence[Any], keywords: Mapping[str, Any], *reached: Any) -> Any:
    """``function(*args, **keywords)``, done once for each combination of the kinds that its arguments may be.

    What else it may reach is among those ``reached``.
    """
    if not _are_there():
        return function(*args, **keywords)
    things = {id(thing): thing.of_few_kinds() for argument in (*args, *keywords.values()) for thing in _all(argument)}
    if not things:
        return function(*args, **keywords)

    @raising_for_the_program
    def use(*options: Any) -> Any:
        known = dict(zip(things, options, strict=True))
        return distributed(  # once more for an iterator over things of several kinds
            function,
            [_replaced(argument, known) for argument in args],
            {name: _replaced(argument, known) for name, argument in keywords.items()},
        )

    return surface.switch(tuple(things.values()), use, (*args, *keywords.values(), *reached), function)


def kind_by_kind(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is called once for each combination of the kinds that its arguments may be."""

    @wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        return distributed(function, args, keywords)

    return call


def lazily_kind_by_kind(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that makes an iterator, of which there is one for each kind of the lists and the like that it gets."""

    def call(*args: Any, **keywords: Any) -> Any:
        places = [place for place, thing in enumerate(args) if type(thing) is Alternatives] if _are_there() else []
        if not places:
            return function(*args, **keywords)
        place, thing = places[0], args[places[0]]

        def made(one: Any) -> Any:
            return call(*args[:place], one, *args[place + 1 :], **keywords)

        mistaken = [one for one in thing.options.values() if not _is_gone_through(one)]
        is_shared = any(hasattr(type(one), "__next__") for one in args if type(one) is not Alternatives)
        if is_shared or not all(one is None for one in mistaken) or len(mistaken) == len(thing.options):
            return distributed(function, args, keywords)
        if mistaken:
            thing.each(lambda one: None if one is not None else made(one))  # which raises what Python raises
        return thing.lazily(lambda one: None if one is None else made(one))

    return wraps(function)(call)


def _is_gone_through(thing: Any) -> bool:
    """Whether it is a list or the like, or an iterator over several such."""
    return isinstance(thing, list | tuple | dict | str) or is_iterator(thing) or hasattr(type(thing), "__array_ufunc__")


def is_iterator(thing: Any) -> bool:
    """Whether it is an iterator or view of what is of several kinds, and so no kind itself."""
    return type(thing) in _TYPES_OF_VIEWS or hasattr(type(thing), "__next__")


def holds_alternatives(thing: Any) -> bool:
    """Whether something is of several kinds, or a list or tuple with such a thing in it."""
    return _are_there() and next(map(id, _all(thing)), None) is not None


def _are_there() -> bool:
    """Whether the trace has anything that is of several kinds: most have not, and need not look for it."""
    trace = active_trace()
    return trace is not None and trace.state(Kinds).are_used


def _all(thing: Any) -> Iterator[Alternatives]:
    """What is of several kinds in something."""
    kind = type(thing)
    if kind is Alternatives:
        yield thing
    if kind is list or kind is tuple or kind is slice:
        for item in _items(thing):
            yield from _all(item)


def _items(thing: Any) -> Sequence[Any]:
    """What is in a list, a tuple or a slice."""
    return (thing.start, thing.stop, thing.step) if type(thing) is slice else thing


def _with_items(thing: Any, items: Sequence[Any]) -> Any:
    return slice(*items) if type(thing) is slice else type(thing)(items)


def without_python_numbers(thing: Any) -> Any:
    """A list, tuple or slice with NumPy's numbers for those that may be Python's: items and bounds are the same.

    More than a few things of several kinds would have to be looked at in each combination. Raises for these.
    """
    if type(thing) not in (list, tuple, slice) or not holds_alternatives(thing):
        return thing
    items = [without_python_numbers(item) for item in _items(thing)]
    for place, item in enumerate(items):
        if type(item) is Alternatives:
            found = surface.strong(item)
            items[place] = item if found is None else found
    several = {id(item): item for item in items if type(item) is Alternatives}
    if len(several) > _MOST_KINDS:
        raise next(iter(several.values())).refusal()
    return _with_items(thing, items)


def _replaced(thing: Any, known: Mapping[int, Any]) -> Any:
    if id(thing) in known:
        return known[id(thing)]
    if type(thing) in (list, tuple, slice) and holds_alternatives(thing):
        return _with_items(thing, [_replaced(item, known) for item in _items(thing)])
    return thing


def _binary(name: str, left: Any, right: Any) -> Any:
    return distributed(_PYTHON_BINARY[name], (left, right), {})


def _in_place(name: str, target: Any, operand: Any) -> Any:
    return distributed(getattr(operator, f"i{name}"), (target, operand), {})


def _unary(name: str, operand: Any) -> Any:
    return distributed(_PYTHON_UNARY[name], (operand,), {})


_PYTHON_BINARY: Mapping[str, Callable[[Any, Any], Any]] = {
    name: divmod if name == "divmod" else getattr(operator, {"and": "and_", "or": "or_"}.get(name, name))
    for name in (*BINARY, *COMPARISONS)
}
_PYTHON_UNARY: Mapping[str, Callable[[Any], Any]] = {name: getattr(operator, name) for name in UNARY}

define_operators(Alternatives, _binary, _unary, _in_place)
