"""Functions of `numpy.polynomial`, as NumPy writes them: values, derivatives and integrals of so many coefficients.

They are found by path, since `import numpy` does not import them. Sums and products drop the coefficients at the end
that are 0, so how many they have depends on the values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any

from jitflow.frontend.arrays.operands import refuse
from jitflow.frontend.numpy.as_written import as_written

__all__ = ["POLYNOMIALS"]

_WRITTEN = {
    "polynomial": ("polyval", "polyvalfromroots", "polyder", "polyint", "polyvander"),
    "chebyshev": ("chebval",), "legendre": ("legval",), "hermite": ("hermval",), "hermite_e": ("hermeval",),
    "laguerre": ("lagval",),
}  # fmt: skip
_TRIMMED = ("polyadd", "polysub", "polymul", "polydiv")


def _written(module: str, name: str) -> Callable[..., Any]:
    def handler(*args: Any, **keywords: Any) -> Any:
        return as_written(getattr(import_module(f"numpy.polynomial.{module}"), name))(*args, **keywords)

    handler.__name__ = name
    return handler


def _trimmed(name: str) -> Callable[..., Any]:
    def handler(*args: Any) -> Any:
        mend = "use np.polyadd, np.polysub and np.convolve, which keep all coefficients"
        raise refuse(f"numpy.polynomial.polynomial.{name}, which drops coefficients that are 0,", mend)

    handler.__name__ = name
    return handler


POLYNOMIALS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {f"numpy.polynomial.{name}": _written(module, name) for module, names in _WRITTEN.items() for name in names}
    | {f"numpy.polynomial.{name}": _trimmed(name) for name in _TRIMMED}
)
"""By path, without the name of the module for each kind of polynomial."""
