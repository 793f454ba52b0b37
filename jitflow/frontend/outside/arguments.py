"""What may come into a compiled function, and the class of each thing that does.

An array's class is its dtype, rank, layout and which of its dims are 1; every other dim is a size. A number's class is
its exact type. Within a class nothing compiles anew. `Spec` describes an argument without data.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.lib.array_utils import byte_bounds

from jitflow.errors import UserNotImplementedError, UserTypeError, UserValueError
from jitflow.ir.dtypes import BOOL, C128, DTYPES, F64, I64, DType, dtype_of
from jitflow.records import dataclass
from jitflow.runtime.entry.plan import Layout, layout_of

__all__ = [
    "ArrayClass",
    "NumberClass",
    "Spec",
    "array_class",
    "check_rank",
    "number_class",
    "too_long",
    "unsupported",
]

PYTHON_NUMBERS: dict[type, DType] = {bool: BOOL, int: I64, float: F64, complex: C128}
LARGEST_RANK = 32


@dataclass(frozen=True, slots=True)
class ArrayClass:
    """The class of an array. ``shape`` holds this call's sizes; a name there is a size that nobody has seen yet."""

    dtype: DType
    shape: tuple[int | str, ...]
    layout: Layout
    fixed: bool = False
    """Whether the numbers in ``shape`` hold for every call, as a `Spec` says."""
    writeable: bool = True
    extent: tuple[int, int] = (0, 0)
    """The addresses of its memory, from the first byte to behind the last."""
    meets_itself: bool = False
    """Whether elements may share memory with each other."""

    @property
    def rank(self) -> int:
        return len(self.shape)


@dataclass(frozen=True, slots=True)
class NumberClass:
    """The class of a number: a Python number of that type, or a NumPy scalar."""

    dtype: DType
    kind: Literal["python", "numpy"]


class Spec:
    """An argument without data, for `ir`, `explain` and `compile`.

    ``Spec("f32", ("n", 784))`` is an array: a name is a size that stays open, a number is one that does not.
    ``Spec("float")`` is a Python number (``float int complex bool``), ``Spec("np.f32")`` a NumPy scalar. `parse` reads
    the text form: ``f32[n,784]``. Raises ValueError for a dtype or size that is none.
    """

    __slots__ = ("dtype", "kind", "layout", "shape")

    def __init__(self, dtype: Any, shape: Sequence[int | str] | None = None, *, layout: Layout = "C") -> None:
        name = dtype if isinstance(dtype, str) else np.dtype(dtype).name
        self.kind: Literal["array", "python", "numpy"] = "array" if shape is not None else "python"
        if shape is None and name.startswith("np."):
            name, self.kind = name.removeprefix("np."), "numpy"
        self.dtype = _spec_dtype(name, python=self.kind == "python")
        self.shape: tuple[int | str, ...] = () if shape is None else tuple(shape)
        self.layout = layout
        for dim in self.shape:
            if not (isinstance(dim, int) and dim >= 0) and not (isinstance(dim, str) and dim.isidentifier()):
                raise ValueError(f"expected a size to be a name or a number that is not negative, got {dim!r}")

    def sample(self, seed: int) -> Any:
        """An argument of this kind, of random numbers. Raises ValueError if a size is no number."""
        sizes = [dim for dim in self.shape if isinstance(dim, int)]
        if len(sizes) < len(self.shape):
            raise ValueError(f"expected numbers for all sizes, got {self}")
        dtype = self.dtype.numpy
        numbers = 4 * np.random.default_rng(seed).normal(size=sizes)
        made = np.absolute(numbers).astype(dtype) if dtype.kind in "biu" else numbers.astype(dtype)
        return made if self.kind == "array" else made.item() if self.kind == "python" else made[()]

    @classmethod
    def parse(cls, text: str) -> Spec:
        """Read ``f32[n,784]``, ``f32[]`` (a 0-d array), ``float`` or ``np.f32``."""
        match = re.fullmatch(r"\s*([\w.]+)\s*(?:\[([^\[\]]*)\])?\s*", text)
        if match is None:
            raise ValueError(f"expected an argument like f32[n,784], float or np.f32, got {text!r}")
        name, dims = match.groups()
        if dims is None:
            return cls(name)
        words = [word.strip() for word in dims.split(",")] if dims.strip() else []
        return cls(name, [int(word) if word.isdigit() else word for word in words])

    def __str__(self) -> str:
        if self.kind == "array":
            return f"{self.dtype.name}[{', '.join(map(str, self.shape))}]"
        if self.kind == "numpy":
            return f"np.{self.dtype.name}"
        return next(python.__name__ for python, dtype in PYTHON_NUMBERS.items() if dtype == self.dtype)

    def __repr__(self) -> str:
        return f"Spec.parse({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Spec) and (str(self), self.layout) == (str(other), other.layout)

    def __hash__(self) -> int:
        return hash((str(self), self.layout))


def _spec_dtype(name: str, *, python: bool) -> DType:
    if python:
        by_name = {kind.__name__: dtype for kind, dtype in PYTHON_NUMBERS.items()}
        if name not in by_name:
            raise ValueError(
                f"expected float, int, complex or bool, or a shape, got {name!r}: "
                f"{name}[n] is an array and np.{name} a NumPy scalar"
            )
        return by_name[name]
    if name in DTYPES:
        return DTYPES[name]
    try:
        found = dtype_of(np.dtype(name))
    except TypeError:
        found = None
    if found is None:
        raise ValueError(f"expected an element type (one of {', '.join(DTYPES)}), got {name!r}")
    return found


def array_class(array: Any, path: str) -> ArrayClass:
    """The class of an array, or of a `Spec` of one. ``path`` names it in errors.

    Raises `UserTypeError` for arrays that cannot be compiled: subclasses, objects, strings, records, byte-swapped...
    """
    if isinstance(array, Spec):
        return ArrayClass(array.dtype, array.shape, array.layout, fixed=True)
    if type(array) is not np.ndarray:
        raise _subclass_error(array, path)
    if not array.flags.aligned:  # arguments are copied before they get here
        raise UserValueError(
            f"{path} is an array whose elements are not aligned in memory", mend=f"copy it: {path}.copy()"
        )
    dtype = None if array.dtype.kind in "OSUVMmT" and not _is_extension(array.dtype) else dtype_of(array.dtype)
    if dtype is None or not array.dtype.isnative:
        raise _dtype_error(array.dtype, path)
    extent, meets = byte_bounds(array), elements_meet(array)
    return ArrayClass(dtype, array.shape, layout_of(array), False, array.flags.writeable, extent, meets)


def elements_meet(array: np.ndarray[Any, Any]) -> bool:
    """Whether elements of an array may share memory: a step along an axis does not lead over what shorter ones reach.

    The guard of a specialisation asks the same (`jitflow.backends.llvm.guard`).
    """
    if array.flags.forc or not array.size:
        return False
    reached = array.itemsize
    for step, size in sorted((abs(step), size) for step, size in zip(array.strides, array.shape, strict=True)):
        if size > 1 and step < reached:
            return True
        reached += step * (size - 1)
    return False


def number_class(number: Any, path: str) -> NumberClass:
    """The class of a Python number, a NumPy scalar, or a `Spec` of one. Raises `UserTypeError` like `array_class`."""
    if isinstance(number, Spec):
        assert number.kind != "array"
        return NumberClass(number.dtype, number.kind)
    kind = type(number)
    if kind in PYTHON_NUMBERS:
        if kind is int and not -(1 << 63) <= number < 1 << 63:
            raise UserTypeError(
                f"{path} is a Python int that does not fit in 64 bits",
                found=str(number) if abs(number) < 10**40 else "an int of more than 40 digits",
                mend="Python ints are 64 bits wide in compiled code; pass a float",
            )
        return NumberClass(PYTHON_NUMBERS[kind], "python")
    dtype = dtype_of(number.dtype)
    if dtype is None:
        raise _dtype_error(number.dtype, path)
    return NumberClass(dtype, "numpy")


def _is_extension(dtype: np.dtype[Any]) -> bool:
    """A dtype that another package adds, as ml_dtypes does."""
    return dtype_of(dtype) is not None


def _subclass_error(array: Any, path: str) -> UserTypeError:
    name = f"{type(array).__module__}.{type(array).__name__}"
    if isinstance(array, np.ma.MaskedArray):
        mend = "pass array.filled(value), or the data and the mask as two arrays"
    elif isinstance(array, np.memmap):
        mend = f"pass np.asarray({path}), which reads the same file"
    else:
        mend = f"pass np.asarray({path})"
    return UserTypeError(f"{path} is a {name}, and jitflow compiles plain arrays",
                         found=f"a subclass of numpy.ndarray, {name}", expected="a numpy.ndarray",
                         mend=mend)  # fmt: skip


def _dtype_error(dtype: np.dtype[Any], path: str) -> UserTypeError:
    what, mend = f"dtype {dtype}", f"convert it with {path}.astype(...) before the call"
    if dtype.names is not None:
        what, mend = "a structured dtype", "pass its fields as arrays of their own"
    elif dtype.kind == "O":
        what = "dtype object"
    elif not dtype.isnative:
        what = "elements in foreign byte order"
        mend = f"convert it with {path}.astype({path}.dtype.newbyteorder('=')) before the call"
    elif dtype.kind in "mM":
        mend = f"pass {path}.astype('int64'), and keep the unit outside"
    elif dtype.kind in "SUT":
        what = "dtype string"
    return UserTypeError(f"{path} has {what}, which is not compiled", found=f"dtype {dtype}",
                         expected="bool, integers, floats of up to 64 bits or complex numbers, in native byte order",
                         mend=mend)  # fmt: skip


def check_rank(rank: int, path: str) -> None:
    """Raise `UserValueError` for arrays of more axes than compiled code handles."""
    if rank > LARGEST_RANK:
        raise UserValueError(f"{path} has {rank} axes", expected=f"at most {LARGEST_RANK}", mend="reshape it")


def unsupported(thing: Any, path: str) -> UserNotImplementedError:
    """The error for an object that cannot come in at all."""
    name = f"{type(thing).__module__}.{type(thing).__qualname__}".removeprefix("builtins.")
    return UserNotImplementedError(
        f"{path} is {_article(name)}, which a compiled function cannot take",
        found=f"attributes beside its fields: {', '.join(vars(thing))}" if hasattr(thing, "_fields") else
        "" if isinstance(thing, dict | list | tuple) else re.sub(r" at 0x[0-9a-fA-F]+", "", repr(thing))[:80],
        expected="arrays, numbers, strings, None, functions, objects, and tuples, lists, dicts and sets of them",
        mend="take what it yields into a list before the call" if hasattr(thing, "__next__") else
        "turn it into one of these before the call",
    )  # fmt: skip


def too_long(thing: Any, path: str, limit: int) -> UserNotImplementedError:
    """The error for a container with more than ``limit`` items."""
    return UserNotImplementedError(
        f"{path} is a {type(thing).__name__} of {len(thing)} items, each of which would be an input of its own",
        expected=f"at most {limit} items",
        mend="make it an array",
    )


def too_large(thing: Any, path: str, limit: int) -> UserNotImplementedError:
    """The error for a set with more than ``limit`` items."""
    return UserNotImplementedError(
        f"{path} is a {type(thing).__name__} of {len(thing)} items, through which each call would go",
        expected=f"at most {limit} items",
        mend="make it a frozenset",
    )


def _article(name: str) -> str:
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"
