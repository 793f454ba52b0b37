"""Sets from outside: what is in one is known while tracing, and each call looks whether it is still that.

The order in which Python goes through a set is guarded only where it shows: texts have another one in each process. So
what stands for a set is none of Python's, whose operators and methods look into each other's tables. They all ask for
the items, and where they make a set of them, the one from outside does it, whose table decides on the order.
"""

from __future__ import annotations

import dis
import operator
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NoReturn

from jitflow.errors import UserAttributeError, UserNotImplementedError, UserTypeError
from jitflow.frontend.outside.keys_of_sets import note_keys
from jitflow.frontend.outside.stores import refusal
from jitflow.frontend.recording.locate import raising_for_the_program
from jitflow.frontend.recording.trace import active_trace
from jitflow.frontend.tracers import located
from jitflow.frontend.tracers.base import begin_anew_rewritten

__all__ = ["OutsideFrozenSet", "OutsideSet", "frozen", "in_any_order", "operator_here", "outside_set", "python_set"]


class OutsideSet:
    """A set or frozenset ``thing``, whose ``members`` stand in its order for those that it holds."""

    __slots__ = ("_guard_order", "_known", "_thing", "members", "path", "register")
    kind: type
    """Python's class."""

    def __init__(
        self, thing: Any, items: tuple[Any, ...], register: int, path: str, guard_order: Callable[[], None]
    ) -> None:
        self.members, self.register, self.path = items, register, path
        self._thing, self._guard_order, self._known = thing, guard_order, self.kind(items)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return self.kind

    def in_order(self) -> Any:
        """The set itself, of which Python may make others."""
        self._guard_order()
        if any(map(operator.is_not, self.members, self._thing)):  # they hash in another way
            raise located(
                UserNotImplementedError(
                    f"a set that is made of {self.path}, whose order would tell where objects lie",
                    mend="go through its items, or ask what is in it",
                )
            )
        return self._thing

    def in_any_order(self) -> tuple[Any, ...]:
        """The items, where only their own order counts."""
        if not all(type(item) is str for item in self.members):
            self._guard_order()
        return self.members

    def __iter__(self) -> Iterator[Any]:
        if (trace := active_trace()) is not None:
            begin_anew_rewritten(trace)  # where methods of Python's sets see it come
        self._guard_order()
        if operator_here() in ("&", "|", "^", "&=", "|=", "^="):  # of a view on a dict, or the like, which comes first
            raise located(
                UserNotImplementedError(
                    f"an operator between what is no set and {self.path}, whose items come in an order of their own",
                    mend="let the set stand first: a & b.keys()",
                )
            )
        return iter(self.members)

    def __len__(self) -> int:
        return len(self.members)

    def __contains__(self, item: Any) -> bool:
        return (item._known if isinstance(item, OutsideSet) else item) in self._known

    def __repr__(self) -> str:
        shown = f"{{{', '.join(map(repr, self))}}}" if self.members else ""
        return shown if shown and self.kind is set else f"{self.kind.__name__}({shown})"

    def __getattr__(self, name: str) -> NoReturn:
        raise located(UserAttributeError(f"'{self.kind.__name__}' object has no attribute '{name}'"))


class _Set(OutsideSet):
    __slots__ = ()
    kind = set

    def __hash__(self) -> int:
        raise located(UserTypeError("unhashable type: 'set'"))

    def copy(self) -> Any:
        """``set.copy``."""
        return self.in_order().copy()


class OutsideFrozenSet(OutsideSet):
    """A frozenset."""

    __slots__ = ()
    kind = frozenset

    def __hash__(self) -> int:
        return hash(self._known)

    def copy(self) -> Any:
        """``frozenset.copy``, which is this one."""
        return self


_Set.__name__, OutsideFrozenSet.__name__ = "set", "frozenset"  # Python's messages name the class


def outside_set(thing: Any, *parts: Any) -> OutsideSet:
    """What stands for a set from outside."""
    return (_Set if type(thing) is set else OutsideFrozenSet)(thing, *parts)


def python_set(thing: Any) -> Any:
    """What Python may look into: a set from outside itself."""
    return thing.in_order() if isinstance(thing, OutsideSet) else thing


@raising_for_the_program
def frozen(*things: Any) -> Any:
    """`frozenset`."""
    if len(things) == 1 and type(things[0]) is OutsideFrozenSet:
        return things[0]
    found: frozenset[Any] = frozenset(*map(python_set, things))
    note_keys(found)
    return found


def in_any_order(thing: Any) -> Any:
    """The items of a set from outside where only their own order counts; all else as it is."""
    return thing.in_any_order() if isinstance(thing, OutsideSet) else thing


def _items(thing: Any) -> Any:
    """A set whose order is no matter."""
    return thing._known if isinstance(thing, OutsideSet) else thing


def operator_here() -> str:
    """The operator in whose place the program stands, if it does in one."""
    trace = active_trace()
    frame = None if trace is None else trace.user_frame()
    if frame is None:
        return ""
    instructions = (step for step in dis.get_instructions(frame.f_code) if step.offset == frame.f_lasti)
    return next((step.argrepr for step in instructions if step.opname == "BINARY_OP"), "")


def _asks(name: str) -> Callable[..., Any]:
    """What only the items decide on."""
    function = operator.attrgetter(name) if name in _QUESTIONS else partial(partial, getattr(operator, name))

    @raising_for_the_program
    def ask(self: OutsideSet, *others: Any) -> Any:
        return function(self._known)(*map(_items, others))

    return ask


def _makes(name: str) -> Callable[..., Any]:
    """What makes a set of it."""
    function = operator.attrgetter(name) if name in _SETS else partial(partial, getattr(operator, name))

    @raising_for_the_program
    def make(self: OutsideSet, *others: Any) -> Any:
        return function(self.in_order())(*map(python_set, others))

    return make


def _reflected(name: str, symbol: str) -> Callable[[Any, Any], Any]:
    function, in_place = getattr(operator, name), getattr(operator, f"i{name.strip('_')}")

    def operate(self: OutsideSet, other: Any) -> Any:
        if not isinstance(other, set | frozenset):
            return NotImplemented
        items = self._known if symbol == "-" else self.in_order()  # what is taken off leaves the order of the rest
        return (in_place if operator_here() == f"{symbol}=" else function)(other, items)

    return operate


def _change(self: OutsideSet, *others: Any) -> NoReturn:
    raise refusal("changing", self.path, "change a copy of it, or return what is to be added")


_QUESTIONS = ("isdisjoint", "issubset", "issuperset")
_SETS = ("difference", "intersection", "symmetric_difference", "union")
for _name in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", *_QUESTIONS):
    setattr(OutsideSet, _name, _asks(_name))
for _name, _symbol in {"and_": "&", "or_": "|", "sub": "-", "xor": "^"}.items():
    setattr(OutsideSet, f"__{_name.strip('_')}__", _makes(f"__{_name.strip('_')}__"))
    setattr(OutsideSet, f"__r{_name.strip('_')}__", _reflected(_name, _symbol))
for _name in _SETS:
    setattr(OutsideSet, _name, _makes(_name))
for _name in ("add", "clear", "difference_update", "discard", "intersection_update", "pop", "remove",
              "symmetric_difference_update", "update", "__iand__", "__ior__", "__isub__", "__ixor__"):  # fmt: skip
    setattr(_Set, _name, _change)
