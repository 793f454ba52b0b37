"""Results, as the Python entry makes them: objects of the slots that the program has filled."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from jitflow.runtime.entry import plan as p
from jitflow.runtime.entry.plan import Plan
from jitflow.runtime.native.dtypes import PYTHON_SCALARS, numpy_dtype
from jitflow.runtime.native.pool import pool
from jitflow.runtime.native.python_api import numpy_function

if TYPE_CHECKING:
    from jitflow.runtime.entry.entry_python import Binding

__all__ = ["ResultBuilder", "Slots", "pool_free", "wrap"]


Slots = ctypes.Array[ctypes.c_int64]
"""What the program is given, and what it fills."""

_ALIGNED_WRITEABLE = 0x0100 | 0x0400
_ALIGNED = 0x0100


class ResultBuilder:
    """Makes the result objects of one call. ``free`` gives blocks back that are not the pool's."""

    def __init__(
        self, plan: Plan, binding: Binding, slots: Slots, free: Callable[[int, int], None] | None = None
    ) -> None:
        self._free = free
        self._plan = plan
        self._binding = binding
        self._slots = slots
        self._new = p.new_arrays(plan)
        self._arrays: dict[int, np.ndarray[Any, Any]] = {}
        self._shared: dict[int, Any] = {}
        self._taken: set[int] = set()
        self._leaf = 0
        self._moved: dict[int, int] = {}

    def build(self) -> Any:
        """The result tree as Python objects."""
        for index, leaf in self._new.items():
            self._arrays[index] = self._take_over(leaf)
        return self._make(self._plan.results)

    def release(self) -> None:
        """Give back the memory of new arrays that has not become an object."""
        for leaf in self._new.values():
            if leaf.slot not in self._taken:
                self._give_back(leaf)

    def _take_over(self, leaf: p.NewArray) -> np.ndarray[Any, Any]:
        owned = wrap(leaf, self._slots, _ALIGNED_WRITEABLE).copy(order="K")
        self._give_back(leaf)
        return owned

    def _give_back(self, leaf: p.NewArray) -> None:
        self._taken.add(leaf.slot)
        (self._free or pool_free())(self._slots[leaf.slot], 0)

    def _make(self, node: p.Result) -> Any:
        if isinstance(node, p.Container):
            return _filled(node, [self._make(child) for child in node.children])
        index = self._leaf
        self._leaf += 1
        return self._make_leaf(node, index)

    def _make_option(self, node: p.Result, index: int) -> Any:
        """An alternative, whose parts are no leaves of the tree."""
        if isinstance(node, p.Container):
            return _filled(node, [self._make_option(child, index) for child in node.children])
        return self._make_leaf(node, index)

    def _make_leaf(self, node: p.Result, index: int) -> Any:
        match node:
            case p.NewArray():
                return _protected(node, self._arrays[index])
            case p.SameResult(leaf):
                return _protected(self._new[leaf], self._arrays[leaf])
            case p.SameObject(register):
                return self._binding.register(register)
            case p.ConstantObject(constant):
                return constant
            case p.ViewOfArgument(register=register):
                return _protected(node, self._view_of_argument(node, self._binding.register(register)))
            case p.ViewOfResult(leaf=leaf):
                return _protected(node, self._view_of_result(node, leaf))
            case p.Remade(array, make, numbers):
                shown = self._make_leaf(array, index)
                found = (
                    getattr(shown, make) if isinstance(make, str) else make(shown, *map(self._python_number, numbers))
                )
                return _protected(node, found)
            case p.Shared(number, result):
                if number not in self._shared:
                    self._shared[number] = self._make_option(result, index)
                return self._shared[number]
            case p.OneOf(slot, alternatives):
                number = self._slots[slot]
                chosen = next((node for key, node in alternatives if key == number), alternatives[-1][1])
                return self._make_option(chosen, index)
            case p.NumpyScalar():
                return self._number(node)
            case p.PythonScalar():
                return self._python_number(node)
        raise TypeError(f"unknown result {node!r}")

    def _python_number(self, node: p.PythonScalar) -> Any:
        return PYTHON_SCALARS[node.dtype](self._array_scalar(node.slot, node.dtype)[()])

    def _number(self, node: p.NumpyScalar) -> Any:
        return self._array_scalar(node.slot, node.dtype)[()]

    def _view_of_argument(self, node: p.ViewOfArgument, base: Any) -> np.ndarray[Any, Any]:
        flags = _ALIGNED_WRITEABLE if base.flags.writeable else _ALIGNED
        return _with_base(wrap(node, self._slots, flags), base)

    def _view_of_result(self, node: p.ViewOfResult, leaf: int) -> np.ndarray[Any, Any]:
        """A view at the same offset in the copy as it has in the block, which is copied whole."""
        base = self._arrays[leaf]
        block = self._slots[self._new[leaf].slot]
        moved = type(self._slots).from_buffer_copy(self._slots)
        moved[node.slot] += base.ctypes.data - block
        return _with_base(wrap(node, moved, _ALIGNED_WRITEABLE), base)

    def _array_scalar(self, slot: int, dtype: str) -> np.ndarray[Any, Any]:
        bits = bytes(memoryview(self._slots).cast("B"))[8 * slot :]
        return np.frombuffer(bits, numpy_dtype(dtype), 1).reshape(())


def _filled(node: p.Container, children: list[Any]) -> Any:
    match node:
        case p.TupleOf():
            return tuple(children)
        case p.ListOf():
            return children
        case p.DictOf(keys, _):
            return dict(zip(keys, children, strict=True))
        case p.StructOf(struct_type, _, None):
            return struct_type(*children)
        case p.StructOf(struct_type, _, names):
            return struct_type(**dict(zip(names or (), children, strict=True)))


def wrap(node: p.ArrayResult, slots: Slots, flags: int) -> np.ndarray[Any, Any]:
    """An array over the memory that result slots describe, which it does not own."""
    dims, strides = _shape(node, slots)
    numbers = ctypes.c_int64 * node.rank
    dtype = numpy_dtype(node.dtype)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(dtype))  # the call below takes a reference over
    array: np.ndarray[Any, Any] = _new_from_dtype()(
        np.ndarray, dtype, node.rank, numbers(*dims), numbers(*strides), slots[node.slot], flags, None
    )
    return array


def _shape(node: p.ArrayResult, slots: Slots) -> tuple[list[int], list[int]]:
    first, rank = node.slot + 1, node.rank
    return slots[first : first + rank], slots[first + rank : first + 2 * rank]


def _protected(node: p.ArrayResult | p.Remade, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if node.read_only:
        array.flags.writeable = False
    return array


def _with_base(view: np.ndarray[Any, Any], base: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(base))  # the call below takes a reference over
    prototype = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.py_object)
    prototype(numpy_function("PyArray_SetBaseObject"))(view, base)
    return view


@cache
def pool_free() -> Callable[[int, int], None]:
    """Gives a block of the pool back; it knows the size itself."""
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(pool().free_address)


@cache
def _new_from_dtype() -> Callable[..., Any]:
    thing, pointer, number = ctypes.py_object, ctypes.c_void_p, ctypes.c_int
    prototype = ctypes.PYFUNCTYPE(thing, thing, thing, number, pointer, pointer, pointer, number, pointer)
    return prototype(numpy_function("PyArray_NewFromDescr"))
