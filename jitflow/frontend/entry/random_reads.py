"""What the program gets for NumPy's generators, their methods, and ``numpy.random`` with what is in it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import MethodType, ModuleType
from typing import Any

import numpy as np

from jitflow.frontend.entry.inputs import Inputs
from jitflow.frontend.numpy.generators import RandomModule, member_of_numpy_random, traced_generator
from jitflow.frontend.outside.purity import Impure
from jitflow.runtime.plan import Attribute, Global, IsObject, IsType, Read

__all__ = ["RandomReads"]


class RandomReads:
    """A generator is found at each call by the path that leads to it, and its type is guarded, not which one it is."""

    def __init__(self, inputs: Inputs, take: Callable[[Any, Read, str], Any], origins: dict[int, int]) -> None:
        self._inputs, self._take, self._origins = inputs, take, origins

    def takes(self, thing: Any) -> bool:
        """Whether an object is NumPy's module of generators, something in it, or made by it."""
        owner = thing.__self__ if isinstance(thing, MethodType) else thing
        homes = (type(owner).__module__, getattr(owner, "__module__", None), getattr(owner, "__name__", None))
        return any(str(home).startswith("numpy.random") for home in homes)

    def adopt(self, thing: Any, register: int) -> Any:
        """What stands for something of NumPy's random numbers that a register holds."""
        inputs, path = self._inputs, self._inputs.path(register)
        kind = traced_generator(thing)
        if kind is not None:
            inputs.guard(IsType(register, type(thing)))
            made = kind(inputs.address(register))
            self._origins[id(made)] = register
            return made
        if isinstance(thing, MethodType) and traced_generator(thing.__self__) is not None:
            inputs.guard(IsType(register, MethodType))
            self._take(thing.__func__, Attribute(register, "__func__"), path)
            generator = self._take(thing.__self__, Attribute(register, "__self__"), path.rpartition(".")[0] or path)
            return getattr(generator, thing.__name__)
        inputs.guard(IsObject(register, thing))
        return self.stands_for(thing)

    def stands_for(self, thing: Any) -> Any:
        """What stands for ``numpy.random``, or for something in it."""
        if isinstance(thing, ModuleType):
            return RandomModule(thing, partial(self._member, thing))
        found = member_of_numpy_random(thing, self._legacy_generator)
        name = getattr(thing, "__name__", type(thing).__name__)
        return Impure(f"numpy.random.{name}", thing) if found is None else found

    def _member(self, module: ModuleType, name: str, found: Any) -> Any:
        return self._take(found, Global(vars(module), name), f"{module.__name__}.{name}")

    def _legacy_generator(self) -> Any:
        """The generator behind the functions of ``numpy.random``."""
        module = np.random.mtrand
        return self._take(module._rand, Global(vars(module), "_rand"), "numpy.random")
