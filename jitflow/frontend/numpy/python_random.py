"""Python's own ``random`` while a program is traced: a `random.Random` by its address, as NumPy's generators.

Uniform numbers and whole numbers below a bound are draws of compiled code on the state of the object; what Python makes
of them with logarithms and roots is a call of the object's method.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserIndexError, UserTypeError
from jitflow.frontend.arrays.operands import as_value, refuse
from jitflow.frontend.control.calls_out import call_out
from jitflow.frontend.numpy.draw_calls import REQUIRED, bound, call_method, result_type
from jitflow.frontend.numpy.shuffled_lists import is_list, put_in_order
from jitflow.frontend.python.builtin_functions import BUILTIN_FUNCTIONS
from jitflow.frontend.python.chosen_items import indexed
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.recording.values import emit
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.core import Value
from jitflow.ir.dtypes import F64, I64
from jitflow.ir.types import Tensor
from jitflow.runtime.calls.calls_out import chosen_places, shuffled
from jitflow.runtime.generators.draws import python_is_native

__all__ = ["METHODS"]

_length = BUILTIN_FUNCTIONS["len"]


def _random(generator: Any) -> Any:
    if not python_is_native():
        return _number(generator, "random", F64)
    return _weak(emit("draw", generator.address, method="python_random"))


def _weak(value: Value) -> Any:
    dtype = values.dtype_of_value(value)
    return tracers.wrap(emit("cast", value, dtype=dtype, weak=True))


def _number(generator: Any, name: str, dtype: Any, *args: Any, **kwargs: Any) -> Any:
    """What the method itself gives."""
    (value,) = call_method(generator, name, [result_type(dtype, None)], *args, **kwargs)
    return tracers.wrap(value)


def _below(generator: Any, bound: Any) -> Any:
    """A whole number from 0 on, below a bound that is larger."""
    if not python_is_native():
        return _number(generator, "_randbelow", I64, bound)
    return _weak(emit("draw", generator.address, _integer(bound), method="python_below"))


def _integer(item: Any) -> Value:
    value = values.as_scalar(as_value(item))
    if values.rank(value) or not values.dtype_of_value(value).is_integer:
        raise UserTypeError("expected an integer for a draw of Python's random")
    return values.cast(value, I64)


def _uniform(generator: Any, a: Any, b: Any) -> Any:
    return a + (b - a) * _random(generator)


def _randrange(generator: Any, start: Any, stop: Any = None, step: Any = 1) -> Any:
    if stop is None:
        _require(start, _empty(1), (start,))
        return _below(generator, start)
    width = stop - start
    if type(step) is int and step == 1:
        _require(width, _empty(2), (start, stop, width))
        return start + _below(generator, width)
    return _number(generator, "randrange", I64, start, stop, step)


def _randint(generator: Any, a: Any, b: Any) -> Any:
    return _randrange(generator, a, b + 1)


def _require(width: Any, message: str, numbers: tuple[Any, ...]) -> None:
    """Raise ValueError unless a width is positive."""
    enough = emit("greater", _integer(width), values.constant(0, I64))
    values.check(enough, ValueError, message, *map(_integer, numbers[: message.count("{}")]))


@cache
def _empty(count: int) -> str:
    """What Python says to a range without numbers; ``{}`` stands for each of its numbers."""
    given = (771, 13)[:count] if count == 2 else (-771,)
    try:
        random.Random(0).randrange(*given)
    except ValueError as error:
        return re.sub(r"-?\d+", "{}", str(error))
    return "empty range for randrange()"


def _choice(generator: Any, seq: Any) -> Any:
    count = _length(seq)
    if type(count) is int and count == 0:
        raise UserIndexError("Cannot choose from an empty sequence")
    if isinstance(count, tracers.Tracer):
        enough = emit("greater", _integer(count), values.constant(0, I64))
        values.check(enough, IndexError, "Cannot choose from an empty sequence")
    return _item(seq, _below(generator, count))


def _item(items: Any, position: Any) -> Any:
    return items.start + items.step * position if isinstance(items, range) else indexed(items)[position]


def _positions(generator: Any, name: str, count: Any, shown: Any, *args: Any, **kwargs: Any) -> Any:
    """So many positions that a method chooses among the first ``shown``."""
    (dim,) = (tracers.dim_of(count),)
    arguments = (generator.handle, shown, *args)
    (found,) = call_out(current_trace(), partial(chosen_places, name), name, arguments, kwargs, [Tensor(I64, (dim,))])
    return tracers.wrap(found, owned=True)


def _several(name: str) -> Callable[..., Any]:
    """``sample`` and ``choices``: lists of items at positions that Python chooses."""

    def run(generator: Any, *args: Any, **kwargs: Any) -> Any:
        signatures: dict[str, dict[str, Any]] = {
            "sample": {"population": REQUIRED, "k": REQUIRED, "counts": None},
            "choices": {"population": REQUIRED, "weights": None, "cum_weights": None, "k": 1},
        }
        given = bound(name, signatures[name], args, kwargs)
        population, count = given.pop("population"), given["k"]
        if isinstance(count, tracers.Tracer) or given.get("counts") is not None:
            raise refuse(f"random.{name} of a number of items that the run decides", "write a loop of random.choice")
        positions = _positions(generator, name, count, _length(population), **given)
        return [_item(population, positions[place].item()) for place in range(count)]

    return run


def _shuffle(generator: Any, x: Any) -> None:
    if is_list(x):
        places = surface.replacements[np.arange](_length(x))
        _shuffle(generator, places)
        put_in_order(x, places)
    elif isinstance(x, tracers.ArrayTracer) and x.ndim == 1:
        kind = Tensor(values.dtype_of_value(x.value), values.dims(x.value))
        (found,) = call_out(current_trace(), shuffled, "shuffle", (generator.handle, x), {}, [kind])
        surface.set_item(x, ..., tracers.wrap(found, owned=True))
    else:
        raise refuse(f"random.shuffle of a {type(x).__name__}", "shuffle a list, or an array of one axis")


def _method(name: str) -> Callable[..., Any]:
    return lambda generator, *args, **kwargs: _number(generator, name, F64, *args, **kwargs)


def _getrandbits(generator: Any, k: Any) -> Any:
    if type(k) is not int or k > 63:
        raise refuse("random.getrandbits of more than 63 bits, or of a number of them that the run decides",
                     "draw several numbers of fewer bits")  # fmt: skip
    return _number(generator, "getrandbits", I64, k)


def _seed(generator: Any, a: Any = None, version: int = 2) -> None:
    call_method(generator, "seed", (), a, version)


_FORMULAS = (
    "gauss normalvariate lognormvariate expovariate gammavariate betavariate triangular vonmisesvariate paretovariate "
    "weibullvariate"
).split()

METHODS: Mapping[str, Callable[..., Any]] = {
    "random": _random,
    "uniform": _uniform,
    "randrange": _randrange,
    "randint": _randint,
    "choice": _choice,
    "choices": _several("choices"),
    "sample": _several("sample"),
    "shuffle": _shuffle,
    "getrandbits": _getrandbits,
    "seed": _seed,
    **{name: _method(name) for name in _FORMULAS},
}
"""Of a `random.Random`, and of ``random`` itself."""
