"""NumPy's random generators while a program is traced.

A generator is an object outside, or one that the program makes: to the program it is an address, which loops and
branches carry as they carry numbers. What it draws is an op on that address, in order with everything else that can be
seen, and its state is that of the object itself.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from functools import cache, partial, wraps
from types import MethodType
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserAttributeError, UserError, UserTypeError
from jitflow.frontend.arrays.operands import refuse
from jitflow.frontend.control.calls_out import call_out
from jitflow.frontend.numpy import distributions, python_random, random_integers
from jitflow.frontend.numpy.draw_calls import bound, call_method
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers import holds_alternatives, located
from jitflow.frontend.tracers.alternatives import distributed
from jitflow.ir.core import Value
from jitflow.ir.draws import object_at
from jitflow.ir.dtypes import I64
from jitflow.ir.types import Scalar
from jitflow.runtime.generators.drawing import make

__all__ = ["CLASSES", "Made", "RandomModule", "TracedGenerator", "TracedRandom", "TracedRandomState",
           "traced_generator"]  # fmt: skip


class Made:
    """Whether a trace makes generators, which a call then keeps until it ends."""

    any = False


class _Traced:
    """A generator, by the tracer of its address."""

    __slots__ = ("handle",)
    is_new = False
    name = ""
    """What its class is called."""

    @property
    def kind(self) -> type:
        """The class of the object."""
        found: type = getattr(random if self.name == "Random" else np.random, self.name)
        return found

    def __init__(self, handle: Any) -> None:
        self.handle = handle

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return self.kind

    @property
    def address(self) -> Value:
        """The address as a value, from which the program draws."""
        return values.as_strong(tracers.lift(self.handle))

    def __getattr__(self, name: str) -> Any:
        handler = _handlers(self.name).get(name)
        if handler is not None:
            return MethodType(handler, self)
        path = "Random" if self.name == "Random" else f"{self.kind.__module__}.{self.kind.__name__}"
        if name.startswith("__") or not hasattr(self.kind, name):
            raise located(UserAttributeError(f"'{path}' object has no attribute '{name}'"))
        raise located(refuse(f"{path}.{name} in a compiled function", "use it outside the compiled function"))


class TracedGenerator(_Traced):
    """A `numpy.random.Generator`."""

    __slots__ = ()
    __jitflow_arrays__ = ("handle",)
    is_new, name = True, "Generator"
    returned_as = staticmethod(lambda handle: object_at(handle))


class TracedRandomState(_Traced):
    """A `numpy.random.RandomState`."""

    __slots__ = ()
    name = "RandomState"
    __jitflow_arrays__ = ("handle",)
    returned_as = TracedGenerator.returned_as


class TracedRandom(_Traced):
    """A `random.Random` of Python's."""

    __slots__ = ()
    __jitflow_arrays__ = ("handle",)
    name = "Random"
    returned_as = TracedGenerator.returned_as


def traced_generator(thing: Any) -> type[_Traced] | None:
    """The class of what stands for an object from outside, if that is a generator."""
    if type(thing) is random.Random:
        return TracedRandom
    if type(thing).__module__.startswith("numpy.random"):
        if type(thing) is np.random.Generator:
            return TracedGenerator
        return TracedRandomState if type(thing) is np.random.RandomState else None
    return None


def _located(handler: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(handler if hasattr(handler, "__name__") else handler.func)  # type: ignore[attr-defined]
    def run(*args: Any, **kwargs: Any) -> Any:
        if holds_alternatives(args) or (kwargs and holds_alternatives([*kwargs.values()])):
            return distributed(run, args, kwargs)
        try:
            return handler(*args, **kwargs)
        except UserError as error:
            raise located(error) from None

    return run


@cache
def _handlers(name: str) -> Mapping[str, Callable[..., Any]]:
    own = {"Generator": random_integers.NEW_METHODS, "RandomState": _OLD}
    table = python_random.METHODS if name == "Random" else {**_SHARED, **own[name]}
    return {name: _located(handler) for name, handler in table.items()}


def _seed(generator: Any, *args: Any, **kwargs: Any) -> None:
    given = bound("seed", {"seed": None}, args, kwargs)
    call_method(generator, "seed", (), given["seed"])


def _of_dims(name: str) -> Callable[..., Any]:
    """``rand(2, 3)``: the dims are the arguments."""
    return lambda generator, *dims: distributions.METHODS[name](generator, dims or None)


_SHARED = {**distributions.METHODS, **random_integers.METHODS}
_OLD: Mapping[str, Callable[..., Any]] = {
    **random_integers.OLD_METHODS,
    **{name: partial(distributions.standard, "standard_uniform", name) for name in ("random_sample", "ranf", "sample")},
    "rand": _of_dims("random"),
    "randn": _of_dims("standard_normal"),
    "seed": _seed,
}


# -- generators that the program makes


def _made(kind: type[_Traced], what: str, *args: Any) -> Any:
    """A generator that NumPy makes each time that the program comes here, and the call keeps."""
    current_trace().state(Made).any = True

    (address,) = call_out(current_trace(), partial(make, what), f"numpy.random.{what}", args, {}, [Scalar(I64)])
    return kind(tracers.wrap(address))


@_located
def _default_rng(*args: Any, **kwargs: Any) -> Any:
    seed = bound("default_rng", {"seed": None}, args, kwargs)["seed"]
    if isinstance(seed, _Traced):
        return seed
    if isinstance(seed, _BitGenerator):
        return seed.generator(TracedGenerator, "Generator")
    return _made(TracedGenerator, "default_rng", seed)


def _made_random(kind: type[_Traced], *seeds: Any) -> Any:
    """A `random.Random` of the program's own."""
    return _made(kind, "Random", *seeds)


class _BitGenerator:
    """A bit generator that the program makes, for the generator around it."""

    def __init__(self, name: str, seed: Any) -> None:
        self.name, self.seed = name, seed
        self._generators: dict[type, Any] = {}

    def generator(self, kind: type[_Traced], what: str) -> Any:
        """The one generator around it."""
        if not self._generators:
            self._generators[kind] = _made(kind, f"{what}({self.name})", self.seed)
        if kind not in self._generators:
            raise located(refuse("a bit generator in two generators", "make a bit generator for each"))
        return self._generators[kind]


BIT_GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")


def _around(kind: type[_Traced], name: str, key: str, *args: Any, **kwargs: Any) -> Any:
    """A generator around a bit generator that the program makes, or NumPy's of a seed."""
    source = bound(name, {key: None}, args, kwargs)[key]
    if isinstance(source, _BitGenerator):
        return source.generator(kind, name)
    if name == "RandomState":
        return _made(kind, name, source)
    raise located(UserTypeError("expected a bit generator that the compiled function makes, as np.random.PCG64(0)"))


def _bit_generator(name: str, *args: Any, **kwargs: Any) -> _BitGenerator:
    return _BitGenerator(name, bound(name, {"seed": None}, args, kwargs)["seed"])


CLASSES: Mapping[type, Callable[..., Any]] = {
    random.Random: partial(_made_random, TracedRandom),
    np.random.Generator: partial(_around, TracedGenerator, "Generator", "bit_generator"),
    np.random.RandomState: partial(_around, TracedRandomState, "RandomState", "seed"),
    **{getattr(np.random, name): partial(_bit_generator, name) for name in BIT_GENERATORS},
}
"""From a class of generators to what a call of it does: its objects are made when the program runs."""


class RandomModule:
    """``numpy.random``, or Python's ``random``. ``read`` gives what stands for a member, and guards it."""

    __slots__ = ("_module", "_read")

    def __init__(self, module: Any, read: Callable[[str, Any], Any]) -> None:
        self._module, self._read = module, read

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            member = getattr(self._module, name)
        except AttributeError as error:
            raise located(UserAttributeError(str(error))) from None
        return self._read(name, member)


def member_of_numpy_random(thing: Any, state: Callable[[], Any]) -> Any:
    """What stands for a function of ``numpy.random``; ``state`` gives the generator behind its functions."""
    name = getattr(thing, "__name__", "")
    if name == "default_rng":
        return _default_rng
    if name in _handlers("RandomState"):
        return getattr(state(), name)
    return None
