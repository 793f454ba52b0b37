"""Arguments that a call of a part does not give: everything that NumPy computes of them is not given either.

`f.partial` runs the whole function on tracers, and the part may need some of its arguments only. What stands for the
others has no value and no type. Operators and functions of NumPy on it give it again, so the program goes on to the
value that is fed in place of what it computes. Where the program asks for more than that (a decision, a store, a number
of turns), or the part turns out to need it, `NotGiven` says which argument is missing.
"""

from __future__ import annotations

from typing import Any, NoReturn

from jitflow.errors import UserTypeError
from jitflow.frontend.tracers.base import Tracer, located, ufunc_binary, ufunc_unary
from jitflow.frontend.tracers.operators import define_operators

__all__ = ["NOT_GIVEN", "UNBOUND", "Absent", "NotGiven"]


class _Unbound:
    def __repr__(self) -> str:
        return "<unbound>"


UNBOUND: Any = _Unbound()
"""Stands for what a name or an attribute holds that nothing was assigned to."""


class _NotGivenType:
    """The default of the parameters of a part."""

    def __repr__(self) -> str:
        return "<not given>"


NOT_GIVEN = _NotGivenType()


class NotGiven(UserTypeError):
    """The part needs an argument that this call does not give."""

    absent: Absent
    is_refusal = False
    """What is computed of it is not given either, and may not be wanted."""


class Absent(Tracer):
    """What stands for an argument called ``path`` that is not given, and for all that is computed of it."""

    __slots__ = ("_path",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, path: str) -> None:
        self._path = path

    def needed(self) -> NotGiven:
        """The error for a part that needs it."""
        error = NotGiven(
            f"the part needs the argument {self._path}, which was not given",
            mend=f"pass {self._path}, or feed a value that is computed of it",
        )
        error.absent = self
        located(error)
        return error

    @property
    def value(self) -> NoReturn:
        raise self.needed()

    _value = _trace = shape = ndim = dtype = value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __getitem__(self, index: Any) -> Any:
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self

    def __needed(self, *args: Any) -> NoReturn:
        raise self.needed()

    __bool__ = __float__ = __int__ = __complex__ = __index__ = __str__ = __iter__ = __len__ = __needed
    __array__ = __setitem__ = __contains__ = __reduce__ = __needed

    def __repr__(self) -> str:
        return f"<{self._path}, which is not given>"


define_operators(Absent, ufunc_binary, ufunc_unary)
