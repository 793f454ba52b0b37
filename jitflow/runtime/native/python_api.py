"""The C functions that native code calls: Python's, NumPy's and the runtime's own.

Emitted code contains no address, so that it can be stored and shipped: it finds a table of
pointers (`entry_support.api_table`) through the record or global variable that it is given, and a
function in the table by its place.
"""

from __future__ import annotations

import ctypes
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jitflow.runtime.native.llvm_text import FunctionText

PYTHON_FUNCTIONS = (
    "Py_IncRef",
    "Py_DecRef",
    "PyBool_FromLong",
    "PyCell_Get",
    "PyComplex_FromDoubles",
    "PyContextVar_Reset",
    "PyContextVar_Set",
    "PyDict_GetItemWithError",
    "PyDict_New",
    "PyDict_Next",
    "PyDict_SetItem",
    "PyDict_Size",
    "PyErr_CheckSignals",
    "PyErr_Clear",
    "PyErr_ExceptionMatches",
    "PyErr_Fetch",
    "PyErr_GivenExceptionMatches",
    "PyErr_NormalizeException",
    "PyErr_Occurred",
    "PyErr_Restore",
    "PyErr_SetObject",
    "PyEval_RestoreThread",
    "PyEval_SaveThread",
    "PyException_SetTraceback",
    "PyFloat_AsDouble",
    "PyFloat_FromDouble",
    "PyFunction_GetClosure",
    "PyFunction_GetCode",
    "PyFunction_GetDefaults",
    "PyFunction_GetKwDefaults",
    "PyGILState_Check",
    "PyGILState_Ensure",
    "PyGILState_Release",
    "PyList_GetItem",
    "PyList_New",
    "PyList_SetItem",
    "PyList_Size",
    "PyLong_AsLongLongAndOverflow",
    "PyLong_FromLongLong",
    "PyLong_FromVoidPtr",
    "PyMethod_New",
    "PyObject_Call",
    "PyObject_CallNoArgs",
    "PyObject_CallOneArg",
    "PyObject_ClearWeakRefs",
    "PyObject_GC_Del",
    "PyObject_GC_UnTrack",
    "PyObject_GetAttr",
    "PyObject_SetAttr",
    "PyObject_IsTrue",
    "PyObject_RichCompareBool",
    "PyObject_Size",
    "PyObject_Type",
    "PyObject_Vectorcall",
    "PyObject_VectorcallMethod",
    "PyThread_get_thread_ident",
    "PyTuple_GetItem",
    "PyTuple_New",
    "PyTuple_SetItem",
    "PyTuple_Size",
    "PyType_GenericNew",
)
NUMPY_FUNCTIONS = {
    "PyArray_CopyInto": 50,
    "PyArray_Scalar": 60,
    "PyArray_ScalarAsCtype": 62,
    "PyArray_UpdateFlags": 92,
    "PyArray_NewFromDescr": 94,
    "PyArray_SetBaseObject": 282,
    "PyDataMem_SetHandler": 304,
    "PyDataMem_GetHandler": 305,
}
"""Places in NumPy's own table, part of its ABI."""

SUPPORT_FUNCTIONS = (
    "check_array",
    "read_dict",
    "new_array",
    "view_array",
    "hide_frame",
    "keep_raised",
    "poll",
    "lock_variables",
    "unlock_variables",
    "try_lock",
    "is_repeated",
    "enqueue",
    "abandon",
    "copy_frames",
)
"""Functions of the module that `entry_support` compiles."""

COMPARE_EQUAL = 2
"""Python's `Py_EQ`."""

_PLACES = {name: place for place, name in enumerate((*PYTHON_FUNCTIONS, *NUMPY_FUNCTIONS, *SUPPORT_FUNCTIONS))}


def api_offset(name: str) -> int:
    """Where a function stands in the table, in bytes."""
    return 8 * _PLACES[name]


def python_function(name: str) -> int:
    """The address of a function of Python's C API."""
    return ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0


@cache
def numpy_function(name: str) -> int:
    """The address of a function of NumPy's C API."""
    capsule = import_module("numpy._core._multiarray_umath")._ARRAY_API
    prototype = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    pointer = prototype(("PyCapsule_GetPointer", ctypes.pythonapi))
    table = (ctypes.c_void_p * 400).from_address(pointer(capsule, None))
    return table[NUMPY_FUNCTIONS[name]] or 0


class PythonCalls:
    """Emits calls through the table into one function.

    With `ahead`, pointers are loaded once, at the start of the function: for what is called often.
    """

    def __init__(self, function: FunctionText, table: str, *, ahead: bool = False) -> None:
        self._function = function
        self._table = table
        self._ahead = ahead
        self._loaded: dict[str, str] = {}

    def call(self, result: str, name: str, *arguments: str) -> str:
        """Call an API function and name its result."""
        return self._function.call(result, self._pointer(name), *arguments)

    def run(self, name: str, *arguments: str) -> None:
        """Call an API function without a result."""
        self._function.run(self._pointer(name), *arguments)

    def own(self, reference: str) -> None:
        """Take a reference of our own to an object."""
        self.run("Py_IncRef", f"ptr {reference}")

    def release(self, reference: str) -> None:
        """Give a reference back; null is fine."""
        self.run("Py_DecRef", f"ptr {reference}")

    def _pointer(self, name: str) -> str:
        offset = api_offset(name)
        if not self._ahead:
            return self._function.load("ptr", self._table, offset)
        if name not in self._loaded:
            self._loaded[name] = self._function.load_first("ptr", self._table, offset)
        return self._loaded[name]
