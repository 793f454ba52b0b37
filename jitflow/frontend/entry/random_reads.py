"""What the program gets for generators, their methods, and ``numpy.random`` and ``random`` with what is in them."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from types import BuiltinFunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from jitflow.frontend.entry.inputs import Inputs
from jitflow.frontend.numpy.generators import RandomModule, TracedRandom, member_of_numpy_random, traced_generator
from jitflow.frontend.outside.purity import Impure
from jitflow.frontend.python.builtin_functions import replacement
from jitflow.runtime.entry.plan import Attribute, EqualsConstant, Global, IsObject, IsSame, IsType, Read

__all__ = ["RandomReads"]


class RandomReads:
    """A generator is found at each call by the path that leads to it, and its type is guarded, not which one it is."""

    def __init__(self, inputs: Inputs, take: Callable[[Any, Read, str], Any], origins: dict[int, int]) -> None:
        self._inputs, self._take, self._origins = inputs, take, origins
        self._known: dict[int, tuple[int, Any]] = {}
        """From the id of a generator to the register in which it was found first, and what stands for it."""

    def takes(self, thing: Any) -> bool:
        """Whether an object is a module of generators, something in it, or made by it."""
        owner = thing.__self__ if isinstance(thing, MethodType | BuiltinFunctionType) else thing
        if type(owner) is random.Random or thing is random or thing is random.Random:
            return True
        name = owner.__name__ if isinstance(owner, ModuleType) else None  # of objects, nobody's `__getattr__` is asked
        homes = (type(owner).__module__, getattr(owner, "__module__", None), name)
        return any(str(home).startswith("numpy.random") for home in homes)

    def adopt(self, thing: Any, register: int) -> Any:
        """What stands for something of NumPy's random numbers that a register holds."""
        inputs, path = self._inputs, self._inputs.path(register)
        kind = traced_generator(thing)
        if kind is not None:
            if id(thing) in self._known:  # by another path
                first, made = self._known[id(thing)]
                inputs.guard(IsSame(register, first))
                return made
            inputs.guard(IsType(register, type(thing)))
            made = kind(inputs.address(register, locked=kind is not TracedRandom))
            self._origins[id(made)] = register
            self._known[id(thing)] = register, made
            return made
        if isinstance(thing, BuiltinFunctionType):
            inputs.guard(IsType(register, BuiltinFunctionType))
            name = inputs.register(Attribute(register, "__name__"), path)
            inputs.guard(EqualsConstant(name, thing.__name__, str))
            generator = self._take(thing.__self__, Attribute(register, "__self__"), path.rpartition(".")[0] or path)
            return getattr(generator, thing.__name__)
        if isinstance(thing, MethodType) and traced_generator(thing.__self__) is not None:
            inputs.guard(IsType(register, MethodType))
            function = inputs.register(Attribute(register, "__func__"), path)
            inputs.guard(IsObject(function, thing.__func__))
            generator = self._take(thing.__self__, Attribute(register, "__self__"), path.rpartition(".")[0] or path)
            return getattr(generator, thing.__name__)
        inputs.guard(IsObject(register, thing))
        return self.stands_for(thing)

    def stands_for(self, thing: Any) -> Any:
        """What stands for ``numpy.random``, or for something in it."""
        if isinstance(thing, ModuleType):
            return RandomModule(thing, partial(self._member, thing))
        found = replacement(thing) or member_of_numpy_random(thing, self._legacy_generator)
        name = getattr(thing, "__name__", type(thing).__name__)
        home = "random" if getattr(thing, "__module__", "") == "random" else "numpy.random"
        return Impure(f"{home}.{name}", thing) if found is None else found

    def _member(self, module: ModuleType, name: str, found: Any) -> Any:
        return self._take(found, Global(vars(module), name), f"{module.__name__}.{name}")

    def _legacy_generator(self) -> Any:
        """The generator behind the functions of ``numpy.random``."""
        module = np.random.mtrand
        return self._take(module._rand, Global(vars(module), "_rand"), "numpy.random")
