"""The objects that stand for values while the user's function runs: arrays, numbers, sizes.

================  =============================  ==============================================================
tracer            stands for                     what its operators do
================  =============================  ==============================================================
`ArrayTracer`     an array, 0-d ones included    NumPy's functions: `jitflow.frontend.numpy.dispatch`
`VariableTracer`  a `jitflow.Variable`           those of an array
`ScalarTracer`    a NumPy scalar (strong)        NumPy's functions
`NumberTracer`    a Python number (weak)         Python's arithmetic among weak ones, NumPy's with anything else
`SizeTracer`      a Python int that is a size    exact arithmetic on dims, without any op
`Alternatives`    one of several of these        what that one's do, done once for each of them
================  =============================  ==============================================================

`isinstance(tracer, numpy.ndarray)` (or ``float``, ``int``...) is true where it would be of the value, because user code
asks. So code here and in `jitflow.frontend.numpy` tests for tracers *before* it tests for arrays and numbers.

`lift` makes an IR value of anything that NumPy takes as an operand; `wrap` makes the tracer of an IR value.

What tracers delegate to, NumPy's functions and Python's arithmetic, they find in `surface`.
"""

from __future__ import annotations

from jitflow.frontend.tracers import python_numbers  # noqa: F401 - the arithmetic of numbers
from jitflow.frontend.tracers.alternatives import Alternatives, distributed, holds_alternatives, kind_by_kind
from jitflow.frontend.tracers.array import ArrayTracer
from jitflow.frontend.tracers.base import Tracer, located
from jitflow.frontend.tracers.lifting import constant, element_type, known_key, lift, type_of, wrap
from jitflow.frontend.tracers.scalar import NumberTracer, ScalarTracer, is_weak
from jitflow.frontend.tracers.size import NEGATIVE_SIZE, SizeTracer, as_size, dim_of, size_of
from jitflow.frontend.tracers.variable import VariableTracer

__all__ = ["NEGATIVE_SIZE", "Alternatives", "ArrayTracer", "NumberTracer", "ScalarTracer", "SizeTracer", "Tracer",
           "VariableTracer", "as_size", "constant", "dim_of", "distributed", "element_type", "holds_alternatives",
           "is_weak", "kind_by_kind", "known_key", "lift", "located", "size_of", "type_of", "wrap"]  # fmt: skip
