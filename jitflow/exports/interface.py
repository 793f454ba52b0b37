"""What an exported program has to do with the outside: its parameters, its results, and what it carries along.

A compiled function reads its inputs along paths (`jitflow.runtime.entry.plan`). Those that lead from an argument
through tuples, lists and dicts are parameters of the exported program. All others lead to what Python has and the
program's new surroundings have not: variables, arrays and numbers of globals, closures and objects. Their values at the
time of the export become data of the program, its *state*, which whoever runs it may read and write.

From Python an exported program is called with a plan as any other is, in which the state comes behind the arguments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from jitflow.compilation.compiler import Compilation
from jitflow.errors import UserNotImplementedError
from jitflow.frontend.outside.arguments import Spec
from jitflow.ir.core import uses
from jitflow.ir.dims import Dim, Expression, substitute, symbol, symbols
from jitflow.ir.location import Loc
from jitflow.ir.types import Tensor, Variable
from jitflow.passes.lower.results import ResultPlace
from jitflow.records import dataclass
from jitflow.runtime.entry import plan as p
from jitflow.runtime.entry.python_guards import found_by

__all__ = ["KEYWORDS", "Interface", "Output", "Parameter", "State", "interface_of", "is_plain"]

_PLAIN = (np.ndarray, Spec, np.generic, bool, int, float, complex, str, bytes, type(None), tuple, list, dict)
"""What callers of the exported program give, as far as C has something like it."""


def is_plain(value: Any) -> bool:
    """Whether callers of an exported program give an argument; what others are is fixed when it is exported."""
    return type(value) in _PLAIN or isinstance(value, np.generic)


@dataclass(frozen=True)
class Parameter:
    """An array or a number that a caller gives; ``dims`` is None for numbers. ``slot`` is the first of its slots."""

    name: str
    dtype: str
    dims: tuple[Dim, ...] | None
    layout: str
    is_written: bool
    slot: int


@dataclass(frozen=True)
class State:
    """An array or number that the program carries along, with its value; ``parameter`` says what it is read as."""

    parameter: Parameter
    value: np.ndarray[Any, Any]
    kind: str
    """``array``, or what Python class numbers have: ``python`` or ``numpy``."""
    is_read: bool = True
    """Whether the program needs more of it than its sizes."""


@dataclass(frozen=True)
class Output:
    """A result: an array (``rank`` and perhaps its ``dims``, if the arguments' sizes tell them) or a number.

    It lies in the result slots from ``slot`` on. If it is one of several arrays, the number of which one stands there,
    and ``options`` are their numbers, whether they are arguments, and their first slots.
    """

    name: str
    dtype: str
    rank: int | None
    dims: tuple[Dim, ...] | None
    slot: int
    options: tuple[tuple[int, bool, int], ...] = ()


@dataclass(frozen=True)
class Interface:
    """All of it. ``sizes`` are parameters too; ``known`` are sizes that the state tells.

    ``fresh`` are the result slots of new arrays, which the program's caller owns. ``plan`` is that of callers in
    Python: their arguments, and behind them the state.
    """

    sizes: tuple[str, ...]
    known: dict[str, int]
    parameters: tuple[Parameter, ...]
    states: tuple[State, ...]
    outputs: tuple[Output, ...]
    fresh: tuple[int, ...]
    plan: p.Plan

    @property
    def carried(self) -> list[State]:
        """The state that the program has in it: of what it does not read there is nothing."""
        return [state for state in self.states if state.is_read]


def interface_of(compilation: Compilation, plan: p.Plan, arguments: Sequence[Any]) -> Interface:
    """The interface of a program that was compiled for ``arguments``, with the values that its state has now.

    Raises `UserNotImplementedError` for what cannot be exported.
    """
    return _Reader(compilation, plan, arguments).interface()


class _Reader:
    def __init__(self, compilation: Compilation, plan: p.Plan, arguments: Sequence[Any]) -> None:
        self.compilation, self.plan, self.arguments = compilation, plan, arguments
        self.traced = compilation.traced
        self.given = [place for place, value in enumerate(arguments) if is_plain(value)]
        self._values: dict[int, Any] = {}
        self._names: set[str] = set()
        self._known: dict[str, Dim] = {}

    def interface(self) -> Interface:
        if self.traced.is_storing:
            raise self._refused("a program that stores to attributes of objects", "return what it stores")
        parameters, states, sizes, known = [], [], dict[str, None](), dict[str, int]()
        (fused,) = self.compilation.fused
        read = uses(fused.region)
        values = zip(self.traced.function.parameters, fused.parameters, strict=True)
        for leaf, (value, inside) in zip(self.traced.leaves, values, strict=True):
            if isinstance(leaf, p.ArrayLeaf) and leaf.lives:
                raise self._refused("an array on a GPU", "pass arrays of NumPy")
            if isinstance(leaf, p.ObjectLeaf):
                raise self._refused("a generator of random numbers", "draw before the call, and pass what was drawn")
            is_given = self._is_given(leaf.register)
            one = self._parameter(leaf, value.type)
            if is_given:
                parameters.append(one)
                sizes.update(dict.fromkeys(_names_in(one)))
            else:
                states.append(replace(self._state(leaf, one), is_read=one.dims is None or inside in read))
                known.update(_sizes_told(states[-1]))
        self._refuse_shared(states)
        self._known = {**known}
        outputs = tuple(self._outputs(self.plan.results, "result", {*sizes, *known}))
        fresh = tuple(leaf.slot for leaf in p.new_arrays(self.plan).values())
        own = [name for name in sizes if name in self._own_sizes(parameters) and name not in known]
        called = {name: symbol(self._unique(name)) for name in own}
        return Interface(
            tuple(map(str, called.values())), known, tuple(_with_names(one, called) for one in parameters),
            tuple(states), tuple(_with_names(one, called) for one in outputs), fresh, self._plan_with_state(states),
        )  # fmt: skip

    # -- what comes in

    def _is_given(self, register: int) -> bool:
        match self.plan.reads[register]:
            case p.Argument(index):
                return index in self.given
            case p.Item(parent, _):
                return self._is_given(parent)
        return False

    def _value(self, register: int) -> Any:
        if register not in self._values:
            self._values[register] = found_by(self.plan.reads[register], self.arguments, self._value)
        return self._values[register]

    def _parameter(self, leaf: p.Leaf, type: Any) -> Parameter:
        name = self._unique(self.traced.paths[leaf.register].removeprefix("fun."))  # of what was made of a function
        if isinstance(leaf, p.ScalarLeaf):
            return Parameter(name, leaf.dtype, None, "", False, leaf.slot)
        assert isinstance(leaf, p.ArrayLeaf)
        assert isinstance(type, Tensor | Variable)
        if leaf.layout not in ("C", "F") and self._is_given(leaf.register):
            raise self._refused(f"the argument {name}, whose elements do not lie one behind the other",
                                f"export it for an array as a Spec describes it, or for {name}.copy()")  # fmt: skip
        return Parameter(name, leaf.dtype, type.dims, leaf.layout, isinstance(type, Variable), leaf.slot)

    def _state(self, leaf: p.Leaf, parameter: Parameter) -> State:
        value = self._value(leaf.register)
        if isinstance(leaf, p.ScalarLeaf):
            from jitflow.runtime.native.dtypes import numpy_dtype

            return State(parameter, np.array(value, numpy_dtype(leaf.dtype)), leaf.kind)
        return State(parameter, np.array(value, order="F" if parameter.layout == "F" else "C"), "array")

    def _refuse_shared(self, states: Sequence[State]) -> None:
        """Copies of arrays do not share memory, as the arrays themselves may."""
        leaves = [leaf for leaf in self.traced.leaves if not self._is_given(leaf.register)]
        arrays = [(leaf, self._value(leaf.register)) for leaf in leaves if isinstance(leaf, p.ArrayLeaf)]
        written = [one.parameter.is_written for one in states if one.kind == "array"]
        for (_, one), is_written in zip(arrays, written, strict=True):
            if is_written and any(other is not one and np.may_share_memory(one, other) for _, other in arrays):
                raise self._refused("an array that is written to and shares its memory with another one",
                                    "let them be two arrays")  # fmt: skip

    def _own_sizes(self, parameters: Sequence[Parameter]) -> set[str]:
        """The sizes that are whole dims of parameters; strides of others are none."""
        return {str(dim) for one in parameters for dim in one.dims or () if isinstance(dim, Expression)
                and dim.is_symbol}  # fmt: skip

    # -- what goes out

    def _outputs(self, node: p.Result, name: str, known: set[str]) -> Iterator[Output]:
        new = p.new_arrays(self.plan)
        match node:
            case p.TupleOf(children) | p.ListOf(children):
                for number, child in enumerate(children):
                    yield from self._outputs(child, f"{name}_{number}", known)
            case p.DictOf(keys, children):
                for key, child in zip(keys, children, strict=True):
                    yield from self._outputs(child, f"{name}_{key}", known)
            case p.StructOf(maker, (child,), None) if not isinstance(maker, type):  # a list of an array's elements
                yield from self._outputs(child, name, known)
            case p.StructOf(_, children, fields):
                for number, child in enumerate(children):
                    yield from self._outputs(child, f"{name}_{fields[number] if fields else number}", known)
            case p.NewArray() | p.ViewOfArgument() | p.ViewOfResult():
                yield self._array(node.slot, node.dtype, node.rank, name, known)
            case p.SameResult(leaf):
                yield self._array(new[leaf].slot, new[leaf].dtype, new[leaf].rank, name, known)
            case p.NumpyScalar(slot, dtype) | p.PythonScalar(slot, dtype):
                yield Output(self._unique(name), dtype, None, None, slot)
            case p.Shared(_, result):
                yield from self._outputs(result, name, known)
            case p.OneOf(slot) if (place := self._place(slot)) is not None:
                yield self._array(place.slot, place.dtype.name, place.rank, name, known)
            case p.OneOf(slot, alternatives) if (several := self._several(alternatives, known)) is not None:
                arrays = [array for _, _, array in several]
                told = arrays[0].dims if all(array.dims == arrays[0].dims for array in arrays) else None
                options = tuple((number, is_argument, array.slot) for number, is_argument, array in several)
                yield Output(self._unique(name), arrays[0].dtype, arrays[0].rank, told, slot, options)
            case p.SameObject() | p.ConstantObject():  # a parameter, or what Python alone has
                return
            case _:
                raise self._refused("a result that is not the same kind of thing in each call, or a part of an array",
                                    "return one kind on every path: x.copy(), float(n), nan for None")  # fmt: skip

    def _several(
        self, alternatives: Sequence[tuple[int, p.Option]], known: set[str]
    ) -> list[tuple[int, bool, Output]] | None:
        """Arrays or numbers of one kind of which a result is one: its number, whether it is an argument, and itself."""
        new, found = p.new_arrays(self.plan), []
        for number, one in alternatives:
            one = one.result if isinstance(one, p.Shared) else one
            if isinstance(one, p.SameObject):
                places = [place for place, leaf in enumerate(self.traced.leaves) if leaf.register == one.register]
                if not places or not isinstance(self.traced.leaves[places[0]], p.ArrayLeaf):
                    return None
                leaf, type = self.traced.leaves[places[0]], self.traced.function.parameters[places[0]].type
                assert isinstance(leaf, p.ArrayLeaf)
                dims = tuple(substitute(dim, self._known) for dim in getattr(type, "dims", ()))
                found.append((number, True, Output("", leaf.dtype, leaf.rank, dims, leaf.slot)))
            elif isinstance(one, p.NumpyScalar | p.PythonScalar):
                found.append((number, False, Output("", one.dtype, None, None, one.slot)))
            elif isinstance(one, p.SameResult | p.ViewOfArgument | p.ViewOfResult):
                array = new[one.leaf] if isinstance(one, p.SameResult) else one
                found.append((number, False, self._known_array(array.slot, array.dtype, array.rank, "", known)))
            else:
                return None
        return found if len({(array.dtype, array.rank) for _, _, array in found}) == 1 else None

    def _place(self, chosen: int) -> ResultPlace | None:
        """The array that turns out to be one of several."""
        return next((place for place in self._places if place.chosen == chosen), None)

    @property
    def _places(self) -> Sequence[ResultPlace]:
        lowered = self.compilation.lowered
        assert lowered is not None
        return lowered.places

    def _array(self, slot: int, dtype: str, rank: int, name: str, known: set[str]) -> Output:
        return self._known_array(slot, dtype, rank, self._unique(name), known)

    def _known_array(self, slot: int, dtype: str, rank: int, name: str, known: set[str]) -> Output:
        results = self.traced.function.results
        types = {place.slot: value.type for place, value in zip(self._places, results, strict=False)}
        dims = getattr(types.get(slot), "dims", None)
        told = dims is not None and all(known.issuperset(symbols(dim)) for dim in dims)
        shown = tuple(substitute(dim, self._known) for dim in dims) if dims is not None and told else None
        return Output(name, dtype, rank, shown, slot)

    # -- the rest

    def _plan_with_state(self, states: Sequence[State]) -> p.Plan:
        """The plan of a caller in Python: other registers than those that it can read are not asked for."""
        number_of: dict[int, int] = {}
        reads: list[p.Read] = []

        def moved(register: int) -> int:
            if register not in number_of:
                read = self.plan.reads[register]
                if not self._is_given(register):
                    place = [leaf.register for leaf in kept_states].index(register)
                    read = p.Argument(len(self.given) + place)
                elif isinstance(read, p.Item):
                    read = replace(read, parent=moved(read.parent))
                elif isinstance(read, p.Argument):
                    read = p.Argument(self.given.index(read.index))
                number_of[register] = len(reads)
                reads.append(read)
            return number_of[register]

        kept_states = [leaf for leaf in self.traced.leaves if not self._is_given(leaf.register)]
        checks = []
        for check in self.plan.checks:
            if not (self._is_given(check.register) or check in kept_states):
                continue
            if isinstance(check, p.IsSame | p.IsOther):
                if not self._is_given(check.other):
                    continue
                check = replace(check, other=moved(check.other))
            if isinstance(check, p.ArrayLeaf):
                check = replace(check, ones=tuple(True if one else None for one in check.ones))
            checks.append(replace(check, register=moved(check.register)))
        names = [self.traced.parameter_names[place] for place in self.given]
        return replace(
            self.plan, parameter_names=(*names, *(one.parameter.name for one in states)), reads=tuple(reads),
            checks=tuple(checks), results=_with_registers(self.plan.results, moved), uses=(),
        )  # fmt: skip

    def _unique(self, path: str) -> str:
        """A name for C."""
        name = re.sub(r"\W+", "_", path, flags=re.ASCII).strip("_") or "value"
        name = f"_{name}" if name[0].isdigit() else name
        wanted, number = name, 1
        while name in self._names or name in KEYWORDS:
            number += 1
            name = f"{wanted}_{number}"
        self._names.add(name)
        return name

    def _refused(self, what: str, mend: str) -> UserNotImplementedError:
        return UserNotImplementedError(f"{what} cannot be exported", mend=mend, location=_begin(self.compilation))


def _begin(compilation: Compilation) -> Loc | None:
    ops = compilation.traced.function.region.ops
    return next((op.loc for op in ops if op.loc.file), None)


_Item = TypeVar("_Item", Parameter, Output)


def _with_names(one: _Item, called: Mapping[str, Dim]) -> _Item:
    """The same with sizes as C calls them."""
    return one if one.dims is None else replace(one, dims=tuple(substitute(dim, called) for dim in one.dims))


def _names_in(parameter: Parameter) -> Iterator[str]:
    for dim in parameter.dims or ():
        yield from symbols(dim)


def _sizes_told(state: State) -> Iterator[tuple[str, int]]:
    for dim, size in zip(state.parameter.dims or (), state.value.shape, strict=True):
        if isinstance(dim, Expression) and dim.is_symbol:
            yield str(dim), size


def _with_registers(node: Any, moved: Any) -> Any:
    """A result whose registers are others."""
    match node:
        case p.SameObject(register) | p.ViewOfArgument(register=register):
            return replace(node, register=moved(register))
        case p.TupleOf() | p.ListOf() | p.DictOf() | p.StructOf():
            return replace(node, children=tuple(_with_registers(child, moved) for child in node.children))
        case p.Remade(array):
            return replace(node, array=_with_registers(array, moved))
        case p.Shared(_, result):
            return replace(node, result=_with_registers(result, moved))
        case p.OneOf(_, alternatives):
            options = tuple((number, _with_registers(option, moved)) for number, option in alternatives)
            return replace(node, alternatives=options)
    return node


KEYWORDS = frozenset(
    "alignas alignof auto bool break case char class const constexpr continue default do double else enum extern false "
    "float for goto if inline int long message namespace new nullptr private public register restrict return short "
    "signed sizeof static struct switch template this true typedef typename typeof union unsigned using virtual void "
    "volatile while main".split()
)
"""Names that mean something else in C or C++, or that every exported function has."""
