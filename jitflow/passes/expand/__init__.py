"""jitflow's elementary functions, as expansions into primitive arithmetic.

Every function is written once, over a `Machine` that offers additions,
multiplications, comparisons and bit operations. So the functions vectorise,
become part of the loops that use them, give the same bits however the code
around them was fused, and need no library. The error is below 2 units in the
last place over the whole range of each function, and mostly below 1;
`benchmarks/accuracy.py` measures it. Special values are those of NumPy.

`EXPANSIONS` maps the name of an operation, as NumPy spells it, to a function
`expand(machine, *operands)` that returns the result's value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jitflow.passes.expand.cube_root import cbrt
from jitflow.passes.expand.error_function import erf, erfc
from jitflow.passes.expand.exponential import exp, exp2, expm1
from jitflow.passes.expand.hyperbolic import cosh, sinh, tanh
from jitflow.passes.expand.inverse_hyperbolic import arccosh, arcsinh, arctanh
from jitflow.passes.expand.inverse_trigonometric import arccos, arcsin, arctan, arctan2
from jitflow.passes.expand.logarithm import log, log1p, log2, log10, logaddexp, logaddexp2
from jitflow.passes.expand.machine import Machine
from jitflow.passes.expand.power import power
from jitflow.passes.expand.term import expansion
from jitflow.passes.expand.trigonometric import cos, sin, tan

__all__ = ["EXPANSIONS", "Machine"]

FUNCTIONS = (
    *(exp, exp2, expm1, log, log1p, log2, log10, logaddexp, logaddexp2, power, cbrt),
    *(sin, cos, tan, arcsin, arccos, arctan, arctan2),
    *(sinh, cosh, tanh, arcsinh, arccosh, arctanh, erf, erfc),
)

EXPANSIONS: dict[str, Callable[..., Any]] = {function.__name__: expansion(function) for function in FUNCTIONS}
