"""Collects what a traced function returns (`jitflow.frontend.entry.result_tree`).

The same tracer twice is the same result twice, as Python's identity asks. Which computed arrays become views of which
others is decided after lowering; where the program made an array of its own (``x[1:].copy()``), the IR has a ``copy``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Container, Mapping, Sequence
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np

from jitflow.errors import UserNotImplementedError, UserTypeError
from jitflow.frontend.containers.containers import ProgramContainer
from jitflow.frontend.containers.lists import ListedArrays, NumberedArrays
from jitflow.frontend.containers.returned_containers import Returned, kind_of_container, returned_containers
from jitflow.frontend.containers.told_items import number_of_item
from jitflow.frontend.control.alternatives import option
from jitflow.frontend.control.cells import UNBOUND
from jitflow.frontend.control.leaves import can_change
from jitflow.frontend.control.ranges import Range
from jitflow.frontend.control.told import number_among, number_as
from jitflow.frontend.entry.result_tree import Chosen, Computed, Group, ResultTree
from jitflow.frontend.outside.made_objects import MADE_OF, fields_of, made_with, users_class
from jitflow.frontend.outside.objects import Recorded, array_fields, is_constant
from jitflow.frontend.outside.pooled_objects import is_pooled, number_of_object, reference_type
from jitflow.frontend.outside.proxies import outside_register
from jitflow.frontend.outside.records import RecordProxy
from jitflow.frontend.outside.slots import Slotted
from jitflow.frontend.outside.stores import Stores
from jitflow.frontend.python.builtin_functions import replaced_by
from jitflow.frontend.python.written_queues import WRITTEN_QUEUES
from jitflow.frontend.recording import values
from jitflow.frontend.recording.heap_arrays import reference_to
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.texts import TracedText
from jitflow.frontend.tracers import Alternatives, ArrayTracer, Tracer, known_key, lift, size_of, type_of, wrap
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim, Expression
from jitflow.ir.dtypes import I64
from jitflow.ir.types import Tensor
from jitflow.runtime.entry.plan import ConstantObject, DictOf, IsObject, ListOf, SameObject, StructOf, TupleOf
from jitflow.runtime.objects.remade import remade
from jitflow.runtime.objects.returned_containers import told_array, told_arrays
from jitflow.runtime.objects.returned_objects import as_returned
from jitflow.runtime.objects.texts import filled

__all__ = ["Results", "with_stores"]


class Results:
    """Collects the results of one trace. ``origins`` maps the id of an input's tracer to its register."""

    def __init__(self, origins: dict[int, int], imitated: Container[Value] = ()) -> None:
        self.values: list[Value] = []
        self._origins = origins
        self._imitated = imitated
        """The imitated views that NumPy makes anew."""
        self._shown: dict[int, Value] = {}
        """By the places of arrays that come out as the program has them: what they show."""
        self._owned: set[Value] = set()
        """What arrays of their own hold, that is in the result by now."""
        self._indices: dict[int, Computed] = {}
        self._groups: dict[int, Group] = {}
        self._kept: list[Any] = []
        self._open: set[int] = set()
        """The objects whose attributes are being collected."""
        self.lists: list[Any] = []
        """Of the returned lists of arrays, what holds all their items."""
        self._told = Group(partial(StructOf, dict), ())
        """The arrays of a call by their numbers."""
        self.kinds: dict[int, int] = {}
        """By what is of one of several kinds alone: those, by identity; 0 for what is returned by itself."""
        self._choices: dict[int, ResultTree] = {}
        self._returned: Mapping[Any, Returned] = {}
        """How the containers in the result are returned."""

    @property
    def containers(self) -> list[Any]:
        """The lists, dicts and objects in the tree."""
        return [thing for thing in self._kept if id(thing) in self._groups]

    @property
    def things(self) -> list[Any]:
        """All that is in the tree."""
        return self._kept

    @property
    def arrays(self) -> list[ArrayTracer]:
        """The arrays in the tree, of this call and the caller's."""
        return [thing for thing in self._kept if isinstance(thing, ArrayTracer)]

    def share_memory(self) -> None:
        """Let what several results show be memory, which they show also where it holds nothing but a number."""
        trace = current_trace()
        storage = trace.storage
        places: dict[Value, list[int]] = {}
        for index, value in self._shown.items():
            places.setdefault(storage.root(value), []).append(index)
        for root, several in places.items():
            is_made = storage.is_new_array(root) and storage.homes.get(root) is trace.root
            if len(several) > 1 and is_made and root not in storage.merged and not storage.is_adopted(root):
                for index in several:
                    self.values[index] = storage.place(self._shown[index])

    @property
    def shown(self) -> list[Value]:
        """What the arrays in the tree show."""
        return [array._value for array in self.arrays]

    def find_containers(self, result: Any, stored: Sequence[Any]) -> None:
        """Find out how the containers in what is returned, and in what is stored, are made."""
        self._returned = returned_containers(result, stored)

    def whole(self, tree: ResultTree) -> ResultTree:
        """The tree, with an end to making objects that lie in pools if there are some."""
        has_pools = any(type(key) is str for key in self._returned)
        return Group(partial(StructOf, as_returned), (tree,)) if has_pools else tree

    def tree(self, result: Any, path: str = "the result", *, is_kind: bool = False) -> ResultTree:
        """The tree of what the function returned. Raises `UserTypeError` for what cannot be returned."""
        if not is_kind:
            self.kinds[id(result)] = 0
        register = outside_register(result)
        if register is not None:
            return SameObject(register)
        if id(result) in self._groups:
            return self._choices.get(id(result), self._groups[id(result)])
        found = self._tree(result, path)
        if isinstance(found, Group):
            self._groups[id(result)] = found
            self._kept.append(result)
            return self._or_another(result, found) if can_change(result) else found
        return found

    def _tree(self, result: Any, path: str) -> ResultTree:
        kind = type(result)
        if kind is Alternatives:
            kinds = {number: option(result, number) for number, thing in result.options.items() if thing is not UNBOUND}
            number_as(result, kinds)
            self.kinds |= {id(thing): id(result) for thing in kinds.values() if id(thing) not in self.kinds}
            options = [(number, self.tree(thing, path, is_kind=True)) for number, thing in kinds.items()]
            return Chosen(self.tree(result.chosen, path), tuple(options))
        if isinstance(result, ArrayTracer) and id(result) not in self._origins:
            reference = reference_to(result._value)
            if reference is not None and reference in self._returned:
                return self._made(*self._returned[reference])
            found, number = self._one_of(result), number_of_item(result)
            told = () if number is None else (self._told, found, self.tree(number, path))
            return Group(partial(StructOf, told_array), told) if told else found
        if isinstance(result, Tracer):
            return self._computed(result)
        if kind is TracedText:
            operands = tuple(self.tree(operand, path) for operand in result.operands)
            return Group(partial(StructOf, partial(filled, result.template)), operands)
        if is_pooled(result):
            made_of, (words,) = self._returned[reference_type(result).name]
            return Group(partial(StructOf, made_of), (self._computed(words), self._computed(number_of_object(result))))
        if isinstance(result, ProgramContainer):
            return self._made(*self._returned[result.value if result.is_known else kind])
        if isinstance(result, Slotted):
            return self._slotted(result, path)
        if isinstance(result, Recorded):
            listed = result.returned()
            self._kept.append(listed)
            if isinstance(listed, ListedArrays):
                self.lists.append(listed.array)
            if isinstance(listed, NumberedArrays):
                told = (self._told, self._computed(listed.array), self._computed(listed.numbers))
                return Group(partial(StructOf, told_arrays), told)
            columns = [self._computed(getattr(listed, name)) for name in array_fields(type(listed))]
            return Group(partial(StructOf, listed.made_of), tuple(columns))
        if array_fields(kind):
            return self._around_arrays(result, path)
        if kind in (Range, slice):
            return Group(partial(StructOf, result.__class__), self._fields(result, ("start", "stop", "step"), path))
        if kind is RecordProxy:
            names = tuple(result._jitflow_fields[1])
            children = self._fields(result, names, path)
            return Group(lambda children: StructOf(result.__class__, children, names), children)
        if kind is np.ndarray:
            return self._computed(result)
        if kind in (tuple, list):
            children = tuple(self.tree(item, f"{path}[{index}]") for index, item in enumerate(result))
            return Group(TupleOf if kind is tuple else ListOf, children)
        if kind is dict:
            children = tuple(self.tree(item, f"{path}[{key!r}]") for key, item in result.items())
            return Group(partial(DictOf, tuple(self._key(key) for key in result)), children)
        if (of_kind := kind_of_container(result)) is not None:
            make, items = of_kind
            keys = tuple(map(self._key, result)) if isinstance(result, dict | set | frozenset) else ()
            children = tuple(self.tree(item, f"{path}[...]") for item in items)
            return Group(partial(StructOf, partial(make, keys)), children)
        if isinstance(result, tuple) and hasattr(kind, "_fields"):
            names = kind._fields
            return Group(partial(StructOf, users_class(kind)), self._fields(result, names, path))
        if MADE_OF in kind.__dict__:
            return self._made_object(result, path)
        if dataclasses.is_dataclass(result) and not isinstance(result, type):
            return self._dataclass(result, path)
        if is_constant(result):
            return ConstantObject(replaced_by(result))
        raise _unreturnable(result, path)

    def _slotted(self, result: Slotted, path: str) -> ResultTree:
        """A dict of which the run decides which keys are there."""
        known, parts = result.parts
        children: list[ResultTree] = []
        for key, there, order, item in zip(known, parts[::3], parts[1::3], parts[2::3], strict=True):
            found = self.tree(item, f"{path}[{key!r}]")
            if there is not True:
                number = self._computed(wrap(values.cast(lift(there), I64)))
                found = Chosen(number, ((0, ConstantObject(None)), (1, found)))
            children += [self.tree(there, path), self.tree(order, path), found]
        return Group(partial(StructOf, result.maker([*map(self._key, known)])), tuple(children))

    def _one_of(self, result: ArrayTracer) -> ResultTree:
        """An array, unless the running program says that it is one found before, or one of the caller's."""
        if id(result) not in self._choices:
            return self._or_another(result)
        return self._choices[id(result)]

    def _or_another(self, result: Any, found: ResultTree | None = None) -> ResultTree:
        """What is ``found`` for an object, or for another one where the running program says that it is that."""
        number, others = number_among(result, self._kept) or (0, [])
        known = [(place, self._groups.get(id(one)) or self._computed(one)) for place, one in enumerate(others, 1)]
        itself = self._computed(result) if found is None else found
        self._choices[id(result)] = Chosen(self._computed(number), ((0, itself), *known)) if known else itself
        return self._choices[id(result)]

    def _computed(self, result: Any) -> ResultTree:
        if id(result) in self._origins:
            self._kept.append(result)
            return SameObject(self._origins[id(result)])
        if id(result) not in self._indices:
            storage = current_trace().storage
            read_only = isinstance(result, ArrayTracer) and storage.is_read_only(result._value, any)
            remade = self._remade(result._value) if isinstance(result, ArrayTracer) else None
            if remade is not None:
                self._indices[id(result)] = dataclasses.replace(remade, read_only=read_only)
            else:
                roots = storage.shown_by_views(result._value) if isinstance(result, ArrayTracer) else set()
                views = current_trace().positions(roots)
                is_merged = isinstance(result, ArrayTracer) and storage.is_adopted(result._value)
                self._indices[id(result)] = Computed(
                    len(self.values), type_of(result), read_only, (), views, len(views) < len(roots), is_merged
                )
                self._append(result)
            self._kept.append(result)
        return self._indices[id(result)]

    def _append(self, result: Any) -> None:
        value = self._apart(result)
        if isinstance(result, ArrayTracer) and value is result._value:
            self._shown[len(self.values)] = value
        self.values.append(value)

    def _remade(self, value: Value) -> Computed | None:
        """What is made of another array when the call is over: its part, or a view that the program has imitated."""
        storage = current_trace().storage
        shown = storage.parts.shown_by(value)
        if shown is not None:
            array, holder, name = shown
            whole = None if holder is None or id(holder) in self._origins else self._computed(holder)
            found = whole if isinstance(whole, Computed) else self._whole(array)
            part = name if name in ("real", "imag") else partial(remade, (("view", (("dtype", name),)),))
            return dataclasses.replace(found, made=(*found.made, (part, ())))
        if value not in self._imitated:
            return None
        source, steps = storage.imitations.steps(value)
        found, sizes = self._whole(source), list[Dim]()
        known = tuple((name, tuple((key, _numbered(one, sizes)) for key, one in more.items())) for name, more in steps)
        numbers = [one for one in map(self._computed, map(size_of, sizes)) if isinstance(one, Computed)]
        return dataclasses.replace(found, made=(*found.made, (partial(remade, known), tuple(numbers))))

    def _whole(self, value: Value) -> Computed:
        """An array of which something is made."""
        found = self._remade(value)
        if found is None:
            found = Computed(len(self.values), type_of(ArrayTracer(value)))
            self._append(ArrayTracer(value))
        return found

    def _apart(self, result: Any) -> Value:
        """The value of a result, copied if it is an array of its own that shows another one's value."""
        trace = current_trace()
        if isinstance(result, ArrayTracer) and trace.storage.is_outliving(result._value):
            return trace.make("copy", result.value)
        if isinstance(result, ArrayTracer) and trace.storage.is_variable(result._value):
            return trace.storage.place(result._value)
        is_imitated = isinstance(result, ArrayTracer) and trace.storage.imitations.shows(result._value)
        value = result._value if is_imitated else lift(result)
        alone = result.owned if isinstance(result, ArrayTracer) else True
        if isinstance(value.type, Tensor) and alone:
            if value in self._owned or not trace.storage.is_new_array(value):
                return trace.make("copy", value)
            self._owned.add(value)
        return value

    def _made(self, made_of: Callable[..., Any], parts: Sequence[Any]) -> Group:
        """What is made of arrays, or of objects in registers."""
        children = (one if isinstance(one, SameObject) else self._computed(one) for one in parts)
        return Group(partial(StructOf, made_of), tuple(children))

    def _fields(self, result: Any, names: tuple[str, ...], path: str) -> tuple[ResultTree, ...]:
        return tuple(self.tree(getattr(result, name), f"{path}.{name}") for name in names)

    def _around_arrays(self, result: Any, path: str) -> ResultTree:
        if id(result) in self._origins:
            return SameObject(self._origins[id(result)])
        names, make = array_fields(type(result)), getattr(type(result), "returned_as", type(result))
        return Group(lambda children: StructOf(make, children, names), self._fields(result, names, path))

    def _dataclass(self, result: Any, path: str) -> ResultTree:
        fields = dataclasses.fields(result)
        hidden = [field.name for field in fields if not field.init]
        if hidden:
            raise UserNotImplementedError(
                f"{path} is a dataclass whose field {hidden[0]!r} is no argument of its constructor",
                mend="return the fields, and make the object outside the compiled function",
            )
        names = tuple(field.name for field in fields)
        return Group(lambda children: StructOf(type(result), children, names), self._fields(result, names, path))

    def _made_object(self, result: Any, path: str) -> ResultTree:
        """An object of a class of the user's with methods, whose constructor has run."""
        if id(result) in self._open or users_class(type(result)) in WRITTEN_QUEUES.values():
            raise _unreturnable(result, path)
        self._open.add(id(result))
        fields = fields_of(result)
        children = tuple(self.tree(item, f"{path}.{name}") for name, item in fields.items())
        self._open.remove(id(result))
        return Group(partial(StructOf, partial(made_with, users_class(type(result)), tuple(fields))), children)

    def _key(self, key: Any) -> Any:
        if isinstance(key, Tracer):
            return known_key(key)
        if type(key) in (tuple, frozenset):
            return type(key)(map(self._key, key))
        register = outside_register(key)
        if register is None:
            return replaced_by(key)
        thing = key._jitflow_object
        current_trace().state(Stores).inputs.guard(IsObject(register, thing))
        return thing


def with_stores(result: Any, stores: Stores, results: Results) -> ResultTree:
    """What the function returns, and behind it what it has stored in objects from outside."""
    made = [*stores.made()]
    results.find_containers(result, [thing for _, _, thing, _ in made])
    tree = results.tree(result)
    if not stores.are_made and not stores.passed:
        return results.whole(tree)
    targets, is_noted = [], stores.is_noted
    children = [tree, SameObject(stores.register)] if is_noted else [tree]
    for target, happened, thing, path in made:
        targets.append((stores.table.targets[target], happened is not True))
        children.append(SameObject(stores.object_of(target)))
        children += [results.tree(happened)] if happened is not True else []
        children.append(results.tree(thing, path))
    end = partial(stores.table.end, tuple(targets), is_noted)
    return results.whole(Group(lambda children: StructOf(end, children), tuple(children)))


def _numbered(attribute: Any, sizes: list[Dim]) -> Any:
    """An attribute of an op whose sizes that are no numbers are positions among ``sizes``, as text."""
    if isinstance(attribute, tuple | list):
        return tuple(_numbered(part, sizes) for part in attribute)
    if not isinstance(attribute, Expression):
        return attribute
    sizes.append(attribute)
    return str(len(sizes) - 1)


def _unreturnable(result: Any, path: str) -> UserTypeError:
    name = type(result).__name__
    if isinstance(result, FunctionType):
        found, mend = "a function made while tracing", "return what it computes"
    elif hasattr(result, "__next__"):
        found, mend = f"a {name}, which would yield traced values", "return list(...) of it"
    else:
        found, mend = f"an object of type {name}", "return the arrays and numbers in it"
    return UserTypeError(
        f"{path} cannot be returned from a compiled function",
        found=found,
        expected="arrays, numbers, strings, None, and tuples, lists, dicts, named tuples and dataclasses of them",
        mend=mend,
    )
