"""Calling an exported library from Python: nothing is traced, and nothing is compiled.

The library says of itself how a call becomes slots and how slots become results (`notice.py`): a plan, as every
compiled function has one (`jitflow.runtime.entry.plan`), carried out by the Python entry. What the library carries
along is read as further arguments, arrays over its memory.
"""

from __future__ import annotations

import ctypes
import inspect
import shutil
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from jitflow.aligned import aligned
from jitflow.backends.llvm.emission.symbols import LIBRARY
from jitflow.cache.codec import unpack
from jitflow.cache.sites import sites_of
from jitflow.compilation.failures import failure
from jitflow.errors import UserError, UserTypeError, UserValueError
from jitflow.exports.exceptions import exception_of_name
from jitflow.exports.notice import read_notice
from jitflow.machines import processor
from jitflow.machines.processor import CodeTarget
from jitflow.runtime.entry.entry_python import Binding, guard_function, run_function
from jitflow.runtime.entry.plan import ERROR_SLOTS, ArrayLeaf, EqualsConstant, Item, Plan, ScalarLeaf
from jitflow.runtime.entry.python_results import ResultBuilder
from jitflow.runtime.native.dtypes import numpy_dtype

__all__ = ["LoadedFunction", "load"]

_SUFFIXES = ("", ".so", ".dylib")


def load(path: str | Path) -> LoadedFunction:
    """The function in a library that `CompiledFunction.export` wrote, with the results that it has in Python.

    ``path`` is that of the library, or what it was exported to. To load a library runs code that is in it, as an import
    does. Raises FileNotFoundError if there is none, and ValueError for a file that was not exported by jitflow, is
    damaged, or is for another machine or processor than this one, and OSError where the system refuses it. Each
    function that is loaded is what the file is at that moment, and has a state of its own.
    """
    given = Path(path)
    found = [one for suffix in _SUFFIXES if (one := given.with_name(given.name + suffix)).is_file()]
    if not found:
        raise FileNotFoundError(f"there is no library {given}, nor one with {' or '.join(_SUFFIXES[1:])} behind it")
    about = read_notice(found[0])
    try:
        _refuse_others(found[0], about, processor.here())
        return LoadedFunction(found[0].resolve(), about)
    except (UserError, OSError):
        raise
    except Exception as error:  # what it says of itself is nothing that was written here
        raise UserValueError(f"{found[0]} makes no sense: {type(error).__name__}: {error}") from error


_OPENED: set[Any] = set()
"""The paths of libraries that this process has opened, and what the system tells their files apart by."""
_OPENING = threading.Lock()


def _opened(path: Path) -> ctypes.CDLL:
    """A library of its own. The system takes one at a path that it knows for the one it has: then a copy is opened."""
    with _OPENING:
        about = path.stat()
        known = {str(path), (about.st_dev, about.st_ino)}
        if _OPENED.isdisjoint(known):
            library = ctypes.CDLL(str(path))
        else:
            with tempfile.TemporaryDirectory(prefix="jitflow-") as folder:
                library = ctypes.CDLL(shutil.copy(path, folder))
        _OPENED.update(known)
        return library


def _refuse_others(path: Path, about: Mapping[str, Any], here: CodeTarget) -> None:
    """Raise for code that this processor does not run."""
    if about["triple"].split("-")[0] != here.triple.split("-")[0]:
        raise UserValueError(f"{path} is for {about['triple']}, and this machine is {here.triple}")
    missing = sorted({*about["features"]} - here.features)
    if missing:
        raise UserValueError(
            f"{path} is for a processor with {', '.join(missing)}, which this one has not",
            mend='export it for less: f.export(path, ..., target="x86-64-v3")',
        )


class LoadedFunction:
    """An exported function. ``state`` is what it carries along, as arrays over its memory, by the names in its header.

    To write to one of them (``f.state["w"][...] = new``) changes what the next call computes with. It is pickled and
    copied as the path of its library, which is loaded again, and its state.
    """

    state: Mapping[str, np.ndarray[Any, Any]]

    def __init__(self, path: Path, about: Mapping[str, Any]) -> None:
        self.__name__ = name = str(about["name"])
        self._path, self._library = path, (library := _opened(path))
        self._plan: Plan = unpack(about["plan"])
        self._data = about["sites"]
        kinds = [one for _, one in sorted({int(kind): kind for kind in _KINDS}.items())]
        self.__signature__ = inspect.Signature([
            inspect.Parameter(each, kinds[kind], default=unpack(default[0]) if default else inspect.Parameter.empty)
            for each, kind, default in about["parameters"]
        ])  # fmt: skip
        self._run, self._guard, self._free = (_address(library, f"{name}__{what}") for what in ("run", "guard", "free"))
        self._context = _called(library, f"{name}__context")
        _link_routines(self._context, about["symbols"])
        arrays = {
            each: _over(_called(library, f"{name}_{each}"), dtype, shape, layout)
            if is_read else np.empty(shape, numpy_dtype(dtype), "F" if layout == "F" else "C")
            for each, dtype, shape, layout, _, _, is_read in about["state"]
        }  # fmt: skip
        self.state = MappingProxyType({each: arrays[each] for each, *_, is_read in about["state"] if is_read})
        kinds_of_state = [kind for *_, kind, _, _ in about["state"]]
        self._state = [*zip(arrays.values(), kinds_of_state, strict=True)]
        writes = any(written for *_, written, _ in about["state"])
        self._alone: Any = threading.Lock() if writes else nullcontext()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it, as the function that it was exported from.

        Raises what that raises, and TypeError or ValueError for arguments of other kinds or sizes than those that it
        was exported for.
        """
        bound = self.__signature__.bind(*args, **kwargs)
        bound.apply_defaults()
        given = aligned(tuple(bound.arguments[name] for name in self.__signature__.parameters))
        with self._alone:
            return self._called_with((*given, *(_as_read(*one) for one in self._state)))

    def _called_with(self, arguments: tuple[Any, ...]) -> Any:
        binding = Binding(self._plan)
        if not binding.bind(arguments):
            raise UserTypeError(f"{self.__name__} was exported for other arguments", expected=self._expected())
        if not guard_function(self._guard)(binding.slots):
            raise UserValueError(
                f"{self.__name__} was exported for other sizes, or for arrays that do not overlap",
                expected=self._expected(),
            )
        results = (ctypes.c_int64 * max(self._plan.result_slots, 1))()
        error = (ctypes.c_int64 * ERROR_SLOTS)()
        builder = ResultBuilder(self._plan, binding, results, self._release)
        status = run_function(self._run, binding.releases_gil())(self._context, binding.slots, results, error)
        if status:
            raise failure(sites_of(self._data, exception_of_name), status, ctypes.addressof(error))
        try:
            return builder.build()
        finally:
            builder.release()

    def _release(self, address: int, size: int) -> None:
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self._free)(address)

    def _expected(self) -> str:
        """What the arguments are to be, by parameter."""
        shown = {}
        for one in self._plan.checks:
            if self._is_given(one.register):
                if isinstance(one, ArrayLeaf):
                    layout = f"in {one.layout} order" if one.layout in ("C", "F") else "with any strides"
                    writeable = ", writeable" if one.writeable else ""
                    shown[one.register] = f"{one.dtype} of {one.rank} axes {layout}{writeable}"
                elif isinstance(one, ScalarLeaf):
                    of_python = _PYTHONS.get(one.dtype, one.dtype)
                    shown[one.register] = of_python if one.kind == "python" else f"np.{one.dtype}"
                elif isinstance(one, EqualsConstant):
                    shown[one.register] = repr(one.value)
        told = (f"{self._path_of(register)}: {text}" for register, text in sorted(shown.items()))
        return ", ".join(told) or "no arrays or numbers"

    def _path_of(self, register: int) -> str:
        read: Any = self._plan.reads[register]
        if isinstance(read, Item):
            return f"{self._path_of(read.parent)}[{read.key!r}]"
        return str(self._plan.parameter_names[read.index])

    def _is_given(self, register: int) -> bool:
        read: Any = self._plan.reads[register]
        if isinstance(read, Item):
            return self._is_given(read.parent)
        return bool(read.index < len(self.__signature__.parameters))

    def __reduce__(self) -> Any:
        with self._alone:
            return _loaded_again, (str(self._path), {name: array.copy("K") for name, array in self.state.items()})

    def __repr__(self) -> str:
        return f"<exported function {self.__name__}{self.__signature__}>"


def _loaded_again(path: str, state: Mapping[str, np.ndarray[Any, Any]]) -> LoadedFunction:
    """A function of a library with a state that it had elsewhere."""
    found = load(path)
    before, now = ({name: (one.dtype, one.shape) for name, one in held.items()} for held in (state, found.state))
    if before != now:
        raise UserValueError(f"{path} has been exported anew, with another state, since {found.__name__} was pickled")
    for name, array in state.items():
        found.state[name][...] = array
    return found


_PYTHONS = {"f64": "float", "i64": "int", "c128": "complex"}
_KINDS = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.VAR_POSITIONAL,
    inspect.Parameter.KEYWORD_ONLY,
    inspect.Parameter.VAR_KEYWORD,
)


def _address(library: ctypes.CDLL, name: str) -> int:
    return ctypes.cast(library[name], ctypes.c_void_p).value or 0


def _called(library: ctypes.CDLL, name: str) -> int:
    """The address that a function of the library gives."""
    function = library[name]
    function.restype = ctypes.c_void_p
    return function() or 0


def _over(address: int, dtype: str, shape: Sequence[int], layout: str) -> np.ndarray[Any, Any]:
    """An array over memory of the library, which is there as long as the process."""
    kind = numpy_dtype(dtype)
    memory = (ctypes.c_char * (kind.itemsize * int(np.prod(shape, dtype=np.int64)))).from_address(address)
    flat: np.ndarray[Any, Any] = np.ndarray(shape, kind, memoryview(memory), order="F" if layout == "F" else "C")
    return flat


def _as_read(array: np.ndarray[Any, Any], kind: str) -> Any:
    """An array or a number, as the program reads it."""
    if kind == "array":
        return array
    return array.item() if kind == "python" else array[()]


def _link_routines(context: int, symbols: Sequence[str]) -> None:
    """Let the library find SciPy's BLAS, if it is linked with none."""
    words = (ctypes.c_void_p * (2 + len(symbols))).from_address(context)
    for place, symbol in enumerate(symbols, 2):
        if symbol in LIBRARY and not words[place]:
            from jitflow.runtime.native.symbols import symbol_address

            words[place] = symbol_address(symbol)
