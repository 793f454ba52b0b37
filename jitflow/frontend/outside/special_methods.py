"""Methods that Python looks up on the class of an object, as it does for operators, and not on the object.

A proxy has all of them, and does what Python does where the user's class lacks one. For the answer of some Python takes
nothing but a number of its own; what stands for conversions and conditions of the program asks by itself.
"""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable, Mapping
from functools import partial
from types import FunctionType, MappingProxyType
from typing import Any

import numpy as np

from jitflow.errors import UserTypeError
from jitflow.frontend.outside.purity import is_pure_module
from jitflow.frontend.recording.locate import is_hidden, is_internal
from jitflow.frontend.tracers import Tracer, located

__all__ = ["NUMBERS", "TRUTH", "answer_of", "as_python_takes_it", "define_special_methods", "has_method",
           "is_descriptor", "written_method"]  # fmt: skip

_ARITHMETIC = "add sub mul matmul truediv floordiv mod divmod pow lshift rshift and or xor".split()
_REFLECTED = {"__lt__": "__gt__", "__le__": "__ge__", "__gt__": "__lt__", "__ge__": "__le__"}
_REFLECTED |= {f"__{name}__": f"__r{name}__" for name in _ARITHMETIC}
_REFLECTED |= {f"__r{name}__": f"__{name}__" for name in _ARITHMETIC}
_IN_PLACE = [f"__i{name}__" for name in _ARITHMETIC if name != "divmod"]
_OTHERWISE: Mapping[str, Callable[[Any], Any]] = MappingProxyType(
    {
        "__float__": lambda thing: float(operator.index(thing)),
        "__int__": operator.index,
        "__complex__": lambda thing: complex(float(thing)),
        "__floor__": lambda thing: math.floor(float(thing)),
        "__ceil__": lambda thing: math.ceil(float(thing)),
        "__reversed__": lambda thing: (thing[place] for place in reversed(range(len(thing)))),
    }
)
"""What Python does with objects of classes that lack the method."""
_FORWARDED = "call getitem setitem delitem len enter exit neg pos invert abs round trunc index"
NUMBERS: Mapping[str, tuple[type, Callable[[Any], Any]]] = MappingProxyType(
    {
        "__bool__": (bool, bool),
        "__float__": (float, float),
        "__int__": (int, operator.index),
        "__complex__": (complex, complex),
        "__index__": (int, operator.index),
        "__hash__": (int, operator.index),
    }
)
"""The type that an answer has to have, and what makes the number that Python takes of one that only the running program
knows, if there is a way."""
TRUTH = ("__bool__", "__len__")
"""The methods of an object that say whether it is true."""


def has_method(kind: type, name: str) -> bool:
    """Whether the objects of a class have a method that Python looks up there, and not the one of every object."""
    return any(name in vars(base) for base in kind.__mro__ if base is not object)


def answer_of(thing: Any, *methods: str) -> Any:
    """What an object of a class of the user's answers to the first of these methods that it has.

    None if it has none of them, and of all else. Raises `UserTypeError` for what is no number of the type.
    """
    kind = type(thing)
    if hasattr(kind, "_jitflow_answers"):
        name = next((name for name in methods if has_method(thing.__class__, name)), None)
        return None if name is None else _checked(name, kind._jitflow_answers(thing, name))
    found = ((name, written_method(thing, name)) for name in methods)
    return next((_checked(name, method()) for name, method in found if method is not None), None)


def written_method(thing: Any, name: str) -> Callable[..., Any] | None:
    """A special method of an object that the user has written in its class."""
    kind: Any = type(thing)
    if hasattr(kind, "_jitflow_answers"):
        return partial(kind._jitflow_answers, thing, name) if has_method(thing.__class__, name) else None
    method = getattr(kind, name, None)  # of a class that the program makes
    if not isinstance(method, FunctionType) or is_hidden(method.__code__.co_filename):
        return None
    return partial(method, thing)


def is_descriptor(member: Any, *methods: str) -> bool:
    """Whether a member of a class is of a user's class with one of these methods, which Python calls by itself."""
    written = (inspect.getattr_static(type(member), name, None) for name in methods)
    functions = [method for method in written if type(method) is FunctionType]
    return any(not is_pure_module(each.__module__) and not is_internal(each.__code__.co_filename) for each in functions)


def _checked(name: str, answer: Any) -> Any:
    expected, kind = NUMBERS.get(name, (int, None))[0], answer.__class__
    if not issubclass(kind, (expected, np.integer) if name == "__len__" else expected):
        raise located(UserTypeError(f"{name} should return {expected.__name__}, returned {kind.__name__}"))
    return answer


def as_python_takes_it(name: str, answer: Any) -> Any:
    """What a method has answered, for Python itself."""
    is_asked = name in NUMBERS and isinstance(answer, Tracer)
    return NUMBERS[name][1](_checked(name, answer)) if is_asked else answer


def define_special_methods(proxy: type) -> None:
    """Give a class of proxies the methods that Python looks up."""
    for name in (*_OTHERWISE, *(f"__{name}__" for name in _FORWARDED.split())):
        setattr(proxy, name, _forward(name))
    for name in (*_REFLECTED, *_IN_PLACE):
        setattr(proxy, name, _operator(name))


def _forward(name: str) -> Callable[..., Any]:
    otherwise = _OTHERWISE.get(name)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if otherwise is not None and not has_method(type(self._jitflow_object), name):
            return otherwise(self)
        return as_python_takes_it(name, self._jitflow_special(name)(*args, **kwargs))

    method.__name__ = name
    return method


def _operator(name: str) -> Callable[..., Any]:
    """A method that may say ``NotImplemented``: then Python asks the other operand, unless its class is the same.

    Of an operator in place, it goes on with the one that makes a new object.
    """
    other_name = _REFLECTED.get(name, "")

    def method(self: Any, other: Any, *modulus: Any) -> Any:
        kind = type(self._jitflow_object)
        found: Any = NotImplemented
        if has_method(kind, name):
            found = self._jitflow_special(name)(other, *modulus)
        is_asked = other_name and found is NotImplemented and type(other) is type(self)
        is_asked = is_asked and type(other._jitflow_object) is not kind and not name.startswith("__r")
        if is_asked and has_method(type(other._jitflow_object), other_name):
            return other._jitflow_special(other_name)(self)
        return found

    method.__name__ = name
    return method
