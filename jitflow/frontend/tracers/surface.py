"""What tracers delegate to: NumPy's functions and Python's arithmetic, which are themselves written on tracers.

Here alone calls run upwards: the modules that hold the functions (`jitflow.frontend.numpy.dispatch`,
`jitflow.frontend.tracers.python_numbers`) put them in when they are loaded, and whoever stands below them finds them
by these names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NoReturn

from jitflow.errors import CompilerBug

__all__ = ["Surface", "surface"]


def _missing(*_: Any, **__: Any) -> NoReturn:
    raise CompilerBug("a tracer was used before the functions on tracers were loaded", pass_name="trace")


class Surface:
    """The functions on tracers, by what tracers need them for."""

    def __init__(self) -> None:
        self.apply_ufunc: Callable[..., Any] = _missing
        """``ufunc(*inputs, **keywords)``, or a method of it: of the ufunc, the method, the inputs and the keywords."""
        self.apply_function: Callable[..., Any] = _missing
        """A function of NumPy: of the function, its arguments and its keywords."""
        self.functions: Mapping[Any, Callable[..., Any]] = MappingProxyType({})
        """From a function of NumPy to what runs in its place."""
        self.get_item: Callable[[Any, Any], Any] = _missing
        self.set_item: Callable[[Any, Any, Any], None] = _missing
        self.set_attribute: Callable[[Any, str, Any], None] = _missing
        self.methods: Mapping[str, Callable[..., Any]] = MappingProxyType({})
        """The methods of arrays."""
        self.attributes: Mapping[str, Callable[[Any], Any]] = MappingProxyType({})
        """The attributes of arrays that tracers do not know by themselves."""
        self.by_path: Mapping[str, Callable[..., Any]] = MappingProxyType({})
        """What runs in the place of functions of SciPy, by their paths."""
        self.replacements: Mapping[Any, Callable[..., Any]] = MappingProxyType({})
        """What runs in the place of functions of NumPy that do not ask their arguments."""
        self.array_of: Callable[..., Any] = _missing
        """The value of the array that NumPy makes of a list or tuple."""
        self.objects: Mapping[Any, Any] = MappingProxyType({})
        """What stands for the objects of NumPy that are indexed."""
        self.arithmetic: Callable[..., Any] = _missing
        """An operator or rounding function, by name, on Python numbers."""
        self.number_attribute: Callable[[Any, str], Any] = _missing
        """An attribute or method of a Python number, by name."""

        self.written: Callable[[Any], Callable[..., Any]] = _missing
        """A text of jitflow's own as a function that programs are traced through."""
        self.called_out: Callable[[Any], Callable[..., Any] | None] = _missing
        """What records the call of a function that announces something, None for all else."""
        self.replacement: Callable[[Any], Any] = _missing
        """What runs in the place of a function while tracing, None if it may run itself."""
        self.opposite: Callable[[Any], Any] = _missing
        """``not answer``."""
        self.original: Callable[[Any], Any] = _missing
        """What a function runs in the place of."""
        self.repeated: Callable[[Any, Any], Any] = _missing
        """``items * number`` of a list."""
        self.returned_container: Callable[[Any], tuple[Callable[..., Any], list[Any]]] = _missing
        """What makes Python's object of a container of the running program, and the arrays that it makes it of."""
        self.is_merged: Callable[[Any], bool] = _missing
        """Whether it is an object that paths or turns have left, so that only the running program knows which."""
        self.container_type: Callable[[Any], Any] = lambda thing: True
        """What the trace that starts anew is told of one of Python's containers: the type, or that it has to be one."""
        self.container_made_anew: Callable[[Any, Any, Any], Any] = _missing
        """What the next trace makes at a site in the place of one of Python's, with an answer."""
        self.restart_keyed: Callable[[Any, Any, Any], None] = _missing
        """Starts the trace anew where a dict of Python's, or with slots, is asked for a key that only the run knows."""
        self.chosen_item: Callable[..., Any] = _missing
        """The item of a list at a position of the running program, which is in it; None where each is its own kind."""
        self.sorted_container: Callable[..., Any] = _missing
        """``sorted(items, key=..., reverse=...)`` of a container of the running program."""
        self.constructor_of: Callable[[Any], Callable[..., Any]] = _missing
        """What makes a container in the place of a class of Python's; a function that makes none is itself."""
        self.program_text: Callable[[Any], Any] = _missing
        """A text as a sequence of characters that the running program makes."""
        self.merged_text: Callable[[Any], Any] = _missing
        """The same of what a path leaves, made where the path ends."""
        self.text_attribute: Callable[[Any, str], Any] = _missing
        """An attribute or method of text that is a template, by name."""
        self.program: Callable[[Any], Any] = _missing
        """A function of jitflow's that is written as a program is, so that it can be traced."""
        self.switch: Callable[..., Any] = _missing
        """Does something once for each combination of kinds that values may be of (`control.switching`)."""
        self.strong: Callable[[Any], Any] = _missing
        """NumPy's number in the place of one that may be Python's, of the same dtype; None for all else."""
        self.narrowed: Callable[[Any], Any] = _missing
        """What is of several kinds as one of a single kind, where it can be of no other one."""

        self.pooled_class: Callable[[Any], type | None] = _missing
        """The class of the objects that the program makes of the class behind a proxy, if these lie in a pool."""

    def install(self, **functions: Any) -> None:
        """Put functions in their places."""
        for name, function in functions.items():
            assert hasattr(self, name), name
            setattr(self, name, function)


surface = Surface()
"""The one surface of this process."""
