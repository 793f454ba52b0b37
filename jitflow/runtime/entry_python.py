"""The Python entry: a plan carried out step by step.

It is the specification of the native entry, and what runs where objects lie in memory in a way
that the native one does not know. It relies on nothing but Python, ctypes and NumPy's C API.

It differs from the native entry in one thing that cannot be seen: a new array is copied out of
its pool block, since taking the block over means writing into NumPy's private fields.
"""

from __future__ import annotations

import builtins
import ctypes
import struct
import sys
from collections.abc import Callable
from functools import cache, lru_cache, partial
from types import FunctionType
from typing import Any

import numpy as np

from jitflow.runtime import locks
from jitflow.runtime import plan as p
from jitflow.runtime.drawing import begin
from jitflow.runtime.dtypes import PYTHON_SCALARS, numpy_dtype, same_layout_dtypes, slot_count
from jitflow.runtime.plan import ERROR_SLOTS, Plan
from jitflow.runtime.pool import pool
from jitflow.runtime.python_api import numpy_function
from jitflow.runtime.specialisation import NOT_MATCHED, Specialisation
from jitflow.runtime.variable import HEADER

Slots = ctypes.Array[ctypes.c_int64]

_ALIGNED_WRITEABLE = 0x0100 | 0x0400
_ALIGNED = 0x0100


class _Mismatch(Exception):
    """The arguments do not fit the plan."""


def call(specialisation: Specialisation, arguments: tuple[Any, ...]) -> Any:
    """Call a specialisation with its flat arguments; `NOT_MATCHED` when they do not fit."""
    binding = Binding(specialisation.plan)
    if not binding.bind(arguments):
        return NOT_MATCHED
    if specialisation.guard_address and not guard_function(specialisation.guard_address)(binding.slots):
        return NOT_MATCHED
    variables = variables_of(specialisation.plan, binding)
    if variables is not None and locks.is_repeated(variables):
        return NOT_MATCHED
    specialisation.count_hit()
    results = (ctypes.c_int64 * max(specialisation.plan.result_slots, 1))()
    error = (ctypes.c_int64 * ERROR_SLOTS)()
    function = run_function(specialisation.run_address, binding.releases_gil())
    run = partial(function, ctypes.addressof(specialisation.context), binding.slots, results, error)
    builder = ResultBuilder(specialisation.plan, binding, results)
    drawing = begin(*binding.objects()) if specialisation.plan.draws else None
    try:  # what Ctrl-C raises may come as soon as the run has ended
        status = run() if variables is None else run_alone(variables, run)
        if status:
            specialisation.raise_error(status, ctypes.addressof(error))
            raise SystemError("jitflow: the error handler of a failed call did not raise")
        return builder.build()
    finally:
        if drawing is not None:
            drawing.end()
        if not error[0]:
            builder.release()


def variables_of(plan: Plan, binding: Binding) -> Slots | None:
    """What a call takes its variables with, if it uses any."""
    uses = [(binding.lock_of(use.slot), use.writes) for use in plan.uses]
    return locks.frame_of(uses) if uses else None


def run_alone(variables: Slots, run: Callable[[], int]) -> int:
    """Run while no other call uses the variables."""
    try:
        locks.lock(variables)
        return run()
    finally:
        locks.unlock(variables)


@lru_cache(maxsize=256)
def run_function(address: int, releases_gil: bool) -> Callable[..., int]:
    """A program, as a function of four addresses."""
    prototype = ctypes.CFUNCTYPE if releases_gil else ctypes.PYFUNCTYPE
    pointer = ctypes.c_void_p
    return prototype(ctypes.c_int32, pointer, pointer, pointer, pointer)(address)


@lru_cache(maxsize=256)
def guard_function(address: int) -> Callable[..., int]:
    """A plan's guard, as a function of the argument slots."""
    return ctypes.PYFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(address)


# -- arguments to slots ----------------------------------------------------------------------------


class Binding:
    """The registers and slots of one call."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.slots: Slots = (ctypes.c_int64 * max(plan.argument_slots, 1))()
        self.array_bytes = 0
        self._registers: dict[int, Any] = {}
        self._arguments: tuple[Any, ...] = ()

    def bind(self, arguments: tuple[Any, ...]) -> bool:
        """Read, check and pack; False when something does not fit."""
        self._arguments = arguments
        try:
            for check in self.plan.checks:
                thing = self.register(check.register)
                if isinstance(check, p.ArrayLeaf):
                    self._pack_array(check, thing)
                elif isinstance(check, p.ScalarLeaf):
                    self._pack_scalar(check, thing)
                elif isinstance(check, p.ObjectLeaf):
                    self.slots[check.slot] = id(thing)
                elif isinstance(check, p.IsSame | p.IsOther):
                    if (thing is self.register(check.other)) != isinstance(check, p.IsSame):
                        return False
                elif not guard_holds(check, thing):
                    return False
            for number in range(len(self.plan.reads)):
                self.register(number)
        except _Mismatch:
            return False
        return len(arguments) == len(self.plan.parameter_names)

    def objects(self) -> list[Any]:
        """The objects whose addresses are in slots."""
        return [self.register(check.register) for check in self.plan.checks if isinstance(check, p.ObjectLeaf)]

    def lock_of(self, slot: int) -> int:
        """Where the lock words lie of the variable whose array is in a slot."""
        return self.slots[slot] - HEADER

    def releases_gil(self) -> bool:
        """Whether `run` may take long enough to let other threads run."""
        threshold = self.plan.releases_gil_bytes
        return threshold is not None and self.array_bytes > threshold

    def register(self, number: int) -> Any:
        """What a register holds, read when it is first asked for."""
        if number not in self._registers:
            try:
                self._registers[number] = self._read(self.plan.reads[number])
            except Exception as error:
                raise _Mismatch from error
        return self._registers[number]

    def _read(self, read: p.Read) -> Any:
        match read:
            case p.Argument(index):
                return self._arguments[index]
            case p.Global(namespace, name):
                return namespace[name] if name in namespace else builtins_of(namespace)[name]
            case p.Cell(cell):
                return cell.cell_contents
            case p.Item(parent, key):
                return self.register(parent)[key]
            case p.Attribute(parent, name):
                return getattr(self.register(parent), name)
            case p.Contents(parent):
                return self.register(parent)._at_home
            case p.Made(function, parents):
                return function(*map(self.register, parents))

    def _fitting(self, leaf: p.ArrayLeaf, array: Any) -> Any:
        """The array, if it is one of the leaf's class."""
        return array if array_fits(leaf, array) else None

    def _pack_array(self, leaf: p.ArrayLeaf, thing: Any) -> None:
        array = self._fitting(leaf, thing)
        if array is None:
            raise _Mismatch
        words: list[ctypes.c_int64 | int] = [array.ctypes.data, *array.shape, *array.strides]
        self.slots[leaf.slot : leaf.slot + len(words)] = words
        self.array_bytes += array.nbytes

    def _pack_scalar(self, leaf: p.ScalarLeaf, scalar: Any) -> None:
        if type(scalar) not in scalar_types(leaf):
            raise _Mismatch
        dtype = numpy_dtype(leaf.dtype)
        try:
            bits = np.array(scalar, dtype).tobytes()
        except OverflowError as error:
            raise _Mismatch from error
        signed = dtype.kind == "i"
        for place in range(slot_count(leaf.dtype)):
            word = bits[8 * place : 8 * place + 8]
            self.slots[leaf.slot + place] = _as_signed(int.from_bytes(word, "little", signed=signed))


def builtins_of(namespace: dict[str, Any]) -> dict[str, Any]:
    """The builtins that code with these globals sees."""
    found = namespace.get("__builtins__", builtins)
    return found if isinstance(found, dict) else vars(found)


def array_fits(leaf: p.ArrayLeaf, array: Any) -> bool:
    """Whether an object is an array of the leaf's class."""
    return (
        type(array) is np.ndarray
        and dtype_fits(leaf.dtype, array.dtype)
        and array.ndim == leaf.rank
        and array.flags.aligned
        and (array.flags.writeable or not leaf.writeable)
        and tuple(dim == 1 for dim in array.shape) == leaf.ones
        and p.layout_of(array) == leaf.layout
    )


def dtype_fits(name: str, dtype: np.dtype[Any]) -> bool:
    """Whether a dtype is this one in native byte order; metadata does not matter."""
    numbers = {candidate.num for candidate in (numpy_dtype(name), *same_layout_dtypes(name))}
    return dtype.num in numbers and dtype.isnative


def scalar_types(leaf: p.ScalarLeaf) -> tuple[type, ...]:
    """The exact types that a scalar leaf accepts."""
    if leaf.kind == "python":
        return (PYTHON_SCALARS[leaf.dtype],)
    return tuple(dtype.type for dtype in (numpy_dtype(leaf.dtype), *same_layout_dtypes(leaf.dtype)))


def _as_signed(word: int) -> int:
    return word - (1 << 64) if word >> 63 else word


# -- guards ----------------------------------------------------------------------------------------


def guard_holds(guard: p.Guard, thing: Any) -> bool:
    """Whether a guard holds of an object. `IsSame` and `IsOther` are about two of them, and not asked here."""
    match guard:
        case p.IsObject(_, expected):
            return thing is expected
        case p.IsType(_, expected):
            return type(thing) is expected
        case p.HasLength(_, length):
            try:
                return len(thing) == length
            except Exception:
                return False
        case p.KeysAre(_, keys):
            return type(thing) is dict and len(thing) == len(keys) and all(map(same_constant, thing, keys))
        case p.Satisfies(_, test, _):
            return test(thing)
        case p.EqualsConstant(_, value, expected):
            return type(thing) is expected and same_constant(thing, value)
        case p.FunctionIs():
            return _same_function(guard, thing)
    raise TypeError(f"unknown guard {guard!r}")


def same_constant(thing: Any, value: Any) -> bool:
    """Whether two values of one type are the same to a program: equal, and floats by their bits."""
    if type(thing) is not type(value):
        return False
    if isinstance(value, float):
        return struct.pack("d", thing) == struct.pack("d", value)
    if isinstance(value, complex):
        return struct.pack("dd", thing.real, thing.imag) == struct.pack("dd", value.real, value.imag)
    if isinstance(value, tuple):
        return len(thing) == len(value) and all(map(same_constant, thing, value))
    try:
        return thing is value or bool(thing == value)
    except Exception:
        return False


def _same_function(guard: p.FunctionIs, thing: Any) -> bool:
    return (
        type(thing) is FunctionType
        and thing.__code__ is guard.code
        and _same_items(thing.__defaults__, guard.defaults)
        and _same_items(_flat(thing.__kwdefaults__), _flat_pairs(guard.keyword_defaults))
        and (guard.any_closure or _same_items(thing.__closure__, guard.closure))
    )


def _same_items(items: tuple[Any, ...] | None, expected: tuple[Any, ...] | None) -> bool:
    items, expected = items or (), expected or ()
    return len(items) == len(expected) and all(item is other for item, other in zip(items, expected, strict=True))


def _flat(keyword_defaults: dict[str, Any] | None) -> tuple[Any, ...]:
    return _flat_pairs(tuple((keyword_defaults or {}).items()))


def _flat_pairs(pairs: tuple[tuple[str, Any], ...] | None) -> tuple[Any, ...]:
    """The names, interned so that equal ones are identical, then the values."""
    pairs = pairs or ()
    return (*(sys.intern(name) for name, _ in pairs), *(value for _, value in pairs))


# -- slots to results ------------------------------------------------------------------------------


class ResultBuilder:
    """Makes the result objects of one call."""

    def __init__(self, plan: Plan, binding: Binding, slots: Slots) -> None:
        self._plan = plan
        self._binding = binding
        self._slots = slots
        self._arrays: dict[int, np.ndarray[Any, Any]] = {}
        self._shared: dict[int, Any] = {}
        self._taken: set[int] = set()
        self._leaf = 0
        self._moved: dict[int, int] = {}

    def build(self) -> Any:
        """The result tree as Python objects."""
        for index, leaf in p.new_arrays(self._plan).items():
            self._arrays[index] = self._take_over(leaf)
        return self._make(self._plan.results)

    def release(self) -> None:
        """Give back the memory of new arrays that has not become an object."""
        for leaf in p.new_arrays(self._plan).values():
            if leaf.slot not in self._taken:
                self._give_back(leaf)

    def _take_over(self, leaf: p.NewArray) -> np.ndarray[Any, Any]:
        owned = wrap(leaf, self._slots, _ALIGNED_WRITEABLE).copy(order="K")
        self._give_back(leaf)
        return owned

    def _give_back(self, leaf: p.NewArray) -> None:
        self._taken.add(leaf.slot)
        pool_free()(self._slots[leaf.slot], 0)

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
                return self._arrays[leaf]
            case p.SameObject(register):
                return self._binding.register(register)
            case p.ConstantObject(constant):
                return constant
            case p.ViewOfArgument(register=register):
                return _protected(node, self._view_of_argument(node, self._binding.register(register)))
            case p.ViewOfResult(leaf=leaf):
                return _protected(node, self._view_of_result(node, leaf))
            case p.PartOf(whole, name):
                return _protected(node, getattr(self._make_leaf(whole, index), name))
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
            case p.PythonScalar(slot, dtype):
                return PYTHON_SCALARS[dtype](self._array_scalar(slot, dtype)[()])
        raise TypeError(f"unknown result {node!r}")

    def _number(self, node: p.NumpyScalar) -> Any:
        return self._array_scalar(node.slot, node.dtype)[()]

    def _view_of_argument(self, node: p.ViewOfArgument, base: Any) -> np.ndarray[Any, Any]:
        flags = _ALIGNED_WRITEABLE if base.flags.writeable else _ALIGNED
        return _with_base(wrap(node, self._slots, flags), base)

    def _view_of_result(self, node: p.ViewOfResult, leaf: int) -> np.ndarray[Any, Any]:
        """A view at the same offset in the copy as it has in the block, which is copied whole."""
        base = self._arrays[leaf]
        block = self._slots[p.new_arrays(self._plan)[leaf].slot]
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


def _protected(node: p.ArrayResult | p.PartOf, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
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
