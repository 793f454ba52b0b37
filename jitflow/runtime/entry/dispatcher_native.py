"""The native function type: its creation, and the half of its behaviour that is Python.

The machine code of the type's slots (`dispatcher_text`) is shared by all types and never freed.
Types are made with `PyType_FromSpec`, so no C compiler is needed and nothing of `PyTypeObject` is
assumed.
"""

from __future__ import annotations

import ctypes
from functools import cache
from types import FunctionType
from typing import Any

from jitflow.runtime.entry.dispatcher import Chain, release_retired, retire
from jitflow.runtime.entry.dispatcher_layout import INSTANCE_SIZE, field_offset
from jitflow.runtime.entry.parameters import parameters_of
from jitflow.runtime.entry.specialisation import MISMATCH_VALUE, NOT_MATCHED, Specialisation
from jitflow.runtime.native.entry_support import api_table
from jitflow.runtime.native.native_code import NativeCode, make_immortal
from jitflow.runtime.native.object_layout import TUPLE_ITEMS
from jitflow.runtime.native.python_api import python_function

_HAVE_GC = 1 << 14
_HAVE_VECTORCALL = 1 << 11
_METHOD_DESCRIPTOR = 1 << 17

# The numbers of Python's typeslots.h and structmember.h, which are part of its stable ABI.
_SLOTS = {
    "tp_call": 50,
    "tp_clear": 51,
    "tp_dealloc": 52,
    "tp_descr_get": 54,
    "tp_new": 65,
    "tp_traverse": 71,
    "tp_members": 72,
    "tp_getset": 73,
}
_T_OBJECT = 6
_T_SSIZE = 19
_READ_ONLY = 1


class _Member(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_int),
        ("offset", ctypes.c_ssize_t),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class _Property(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("get", ctypes.c_void_p),
        ("set", ctypes.c_void_p),
        ("doc", ctypes.c_char_p),
        ("closure", ctypes.c_void_p),
    )


class _Slot(ctypes.Structure):
    _fields_ = (("slot", ctypes.c_int), ("function", ctypes.c_void_p))


class _Spec(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("basicsize", ctypes.c_int),
        ("itemsize", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("slots", ctypes.POINTER(_Slot)),
    )


class _Dispatcher:
    """The machine code that all native function types share."""

    def __init__(self) -> None:
        code = NativeCode(_text)
        make_immortal(code)
        self._code = code
        self._set("api", api_table())
        for name in ("_miss", "_bind"):
            make_immortal(name)
            self._set(f"{name[1:]}_name", id(name))
        thing, pointer = ctypes.py_object, ctypes.c_void_p
        self.link = ctypes.PYFUNCTYPE(None, thing, pointer)(code.address("dispatcher_link"))
        self.unlink = ctypes.PYFUNCTYPE(None, thing, pointer)(code.address("dispatcher_unlink"))
        walk = ctypes.PYFUNCTYPE(pointer, thing, pointer, ctypes.c_ssize_t)
        self.walk = walk(code.address("dispatcher_walk"))

    def slots(self) -> dict[str, int]:
        """The functions for the slots of a type."""
        return {
            "tp_call": python_function("PyVectorcall_Call"),
            "tp_clear": self._code.address("dispatcher_clear"),
            "tp_dealloc": self._code.address("dispatcher_deallocate"),
            "tp_descr_get": self._code.address("dispatcher_get"),
            "tp_new": self._code.address("dispatcher_new"),
            "tp_traverse": self._code.address("dispatcher_traverse"),
        }

    def _set(self, name: str, value: int) -> None:
        ctypes.c_void_p.from_address(self._code.address(name)).value = value


def _text() -> str:
    from jitflow.runtime.entry.dispatcher_text import dispatcher_text

    return dispatcher_text()


@cache
def _dispatcher() -> _Dispatcher:
    return _Dispatcher()


def new_native_type(name: str) -> type[Any]:
    """A new heap type whose instances are native dispatchers."""
    members = _members()
    properties = (_Property * 2)(
        _Property(
            b"__dict__",
            python_function("PyObject_GenericGetDict"),
            python_function("PyObject_GenericSetDict"),
            None,
            None,
        )
    )
    slots = {
        **_dispatcher().slots(),
        "tp_members": ctypes.addressof(members),
        "tp_getset": ctypes.addressof(properties),
    }
    slot_array = (_Slot * (len(slots) + 1))(*[_Slot(_SLOTS[slot], value) for slot, value in slots.items()])
    flags = _HAVE_GC | _HAVE_VECTORCALL | _METHOD_DESCRIPTOR
    full_name = f"jitflow.{name}".encode()
    spec = _Spec(full_name, INSTANCE_SIZE, 0, flags, slot_array)
    make_immortal((members, properties, full_name))  # the type's descriptors and name point here
    prototype = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.POINTER(_Spec))
    made: type[Any] = prototype(("PyType_FromSpec", ctypes.pythonapi))(ctypes.byref(spec))
    return made


def _members() -> ctypes.Array[_Member]:
    """The fields that Python may see, and the three offsets that types are told as members."""
    special = [(f"__{name}offset__", field_offset(field), _READ_ONLY) for name, field in _SPECIAL_OFFSETS]
    numbers = [(f"_{name}", field_offset(name), 0) for name in ("positional", "positional_only", "total", "plain")]
    references = [("_wrapped", field_offset("function")), ("_names", field_offset("names"))]
    members = [
        *(_Member(name.encode(), _T_SSIZE, offset, flags, None) for name, offset, flags in special + numbers),
        *(_Member(name.encode(), _T_OBJECT, offset, 0, None) for name, offset in references),
        _Member(),
    ]
    return (_Member * len(members))(*members)


_SPECIAL_OFFSETS = (("vectorcall", "vectorcall"), ("dict", "dict"), ("weaklist", "weakrefs"))


class NativeChain(Chain):
    """The Python half of a native dispatcher."""

    _names: tuple[str, ...]
    _positional: int
    _positional_only: int
    _total: int
    _plain: int

    def _prepare(self, function: FunctionType) -> None:
        Chain._prepare(self, function)
        parameters = parameters_of(function)
        total = len(parameters.names)
        self._names = parameters.names
        self._positional = parameters.positional
        self._positional_only = parameters.positional_only
        self._total = -1 if parameters.has_stars else total
        self._plain = total if parameters.positional == total and not parameters.has_stars else -1

    def _call_linked(self, flat: tuple[Any, ...]) -> Any:
        address = _dispatcher().walk(self, id(flat) + TUPLE_ITEMS, len(flat))
        return self._call_on_gpus(flat) if address == MISMATCH_VALUE else _take_reference(address)

    def _call_on_gpus(self, flat: tuple[Any, ...]) -> Any:
        """Call what has no native entry."""
        for specialisation in reversed(self._linked):
            if specialisation.plan.gpus:
                result = specialisation.call(flat)
                if result is not NOT_MATCHED:
                    return result
        return NOT_MATCHED

    def _link(self, specialisation: Specialisation) -> None:
        release_retired()
        if specialisation.plan.gpus:
            Chain._link(self, specialisation)
            return
        specialisation.need_native_entry()
        Chain._link(self, specialisation)
        _dispatcher().link(self, specialisation.address)

    def _unlink(self, specialisation: Specialisation) -> None:
        if not specialisation.plan.gpus:
            _dispatcher().unlink(self, specialisation.address)
        Chain._unlink(self, specialisation)
        retire(specialisation)


def _take_reference(address: int) -> Any:
    """The object at an address, whose reference we were given."""
    thing = ctypes.cast(address, ctypes.py_object).value
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(thing))
    return thing
