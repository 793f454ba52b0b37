"""The few words that draws and `jitflow.nn` need beside NumPy's operators, on arrays and on traced values.

Distributions are NumPy code, which runs on arrays as it is and is traced in a compiled function: one text, the same
arithmetic, the same bits. Here is what differs: `Machine` on arrays, and in `jitflow.frontend.numpy.draws` on traced
values.
`machine` says which of them is meant.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from jitflow.errors import UserValueError
from jitflow.ir.philox import philox
from jitflow.loaded import is_tracing
from jitflow.runtime.variable import Variable, using

__all__ = ["CHILDREN", "COUNTER", "KEY", "SPAWNING", "STREAM", "Machine", "machine"]

KEY, STREAM, COUNTER, CHILDREN = range(4)
"""The words of the state of a generator."""
SPAWNING = np.uint64(0x7370617775696E67)
"""The key of the draws that make the key and the stream of a child."""


class Machine:
    """On arrays and numbers, now. Shapes are tuples; a shape of ``()`` stands for a number."""

    def number(self, thing: Any) -> Any:
        """A parameter of a distribution, as f64."""
        return np.asarray(thing, np.float64)

    def integer(self, thing: Any) -> Any:
        """An integer parameter, as i64."""
        return np.asarray(thing, np.int64)

    def array(self, thing: Any) -> Any:
        """An array, made of a list if it is none."""
        return np.asarray(thing)

    def shape(self, size: Any, *parameters: Any) -> tuple[Any, ...]:
        """The shape of a draw: ``size``, to which all parameters broadcast, or their common shape."""
        shapes = [np.shape(parameter) for parameter in parameters]
        if size is None:
            return np.broadcast_shapes(*shapes)
        wanted = tuple(size) if isinstance(size, tuple | list) else (size,)
        if any(length < 0 for length in wanted):
            raise UserValueError("negative dimensions are not allowed")
        if np.broadcast_shapes(wanted, *shapes) != wanted:
            raise UserValueError(
                f"Output size {wanted} is not compatible with broadcast dimensions of inputs "
                f"{np.broadcast_shapes(*shapes)}."
            )
        return wanted

    def count(self, shape: tuple[Any, ...]) -> Any:
        """How many numbers a shape holds, as u64."""
        return np.uint64(math.prod(shape))

    def indices(self, shape: tuple[Any, ...]) -> Any:
        """The position of each element in C order, as u64."""
        return np.arange(math.prod(shape), dtype=np.uint64).reshape(shape) if shape else np.uint64(0)

    def positions(self, shape: tuple[Any, ...], axis: int) -> Any:
        """The position of each element along an axis, as i64: an array of ``shape``."""
        axis %= len(shape)
        along = np.arange(shape[axis]).reshape([-1 if axis == one else 1 for one in range(len(shape))])
        return np.broadcast_to(along, shape)

    def zeros(self, shape: tuple[Any, ...], dtype: Any = np.float64) -> Any:
        """A new array of one axis, with as many elements as ``shape`` holds."""
        return np.zeros(math.prod(shape), dtype)

    def counters(self, shape: tuple[Any, ...], length: Any) -> Any:
        """A new array of i64: rows of ``length`` for each element of ``shape``."""
        return np.zeros((*shape, length), np.int64)

    def words(self, key: Any, stream: Any, counter: Any) -> tuple[Any, Any]:
        """The low and the high 64 random bits."""
        return philox(key, stream, counter)

    def state(self, words: tuple[Any, ...]) -> Any:
        """New memory that holds these words of u64."""
        return np.array(words, np.uint64)

    def memory(self, state: Any) -> Any:
        """What a generator keeps its words in: a variable, this one or one that starts as the array."""
        return state if type(state) is Variable else Variable(state)

    def advance(self, state: Any, place: int, by: Any) -> Any:
        """The words of the state, to one of which ``by`` is added in the same step."""
        with using((), [state]):
            before = state._elements.copy()
            state._elements[place] = before[place] + by
        return before

    def cast(self, thing: Any, dtype: Any) -> Any:
        """``thing.astype(dtype)``."""
        return np.asarray(thing).astype(dtype)

    def bits(self, thing: Any) -> Any:
        """The bits of f64, as u64."""
        return np.asarray(thing).view(np.uint64)

    def float_of(self, bits: Any) -> Any:
        """The f64 that has these bits."""
        return np.asarray(bits).view(np.float64)

    def require(self, condition: Any, message: str) -> None:
        """Raise ValueError unless ``condition`` holds everywhere."""
        if not np.all(condition):
            raise UserValueError(message)

    def repeat_while(self, condition: Callable[[Any], Any], body: Callable[[Any], Any], carry: Any) -> Any:
        """``carry = body(carry)`` as long as ``condition(carry)`` holds somewhere."""
        while np.any(condition(carry)):
            carry = body(carry)
        return carry

    def repeat(self, turns: Any, body: Callable[[Any, Any], Any], carry: Any) -> Any:
        """``carry = body(turn, carry)`` for each turn."""
        for turn in range(turns):
            carry = body(turn, carry)
        return carry

    def scalar(self, thing: Any, kind: type) -> Any:
        """A number as Python's ``kind``."""
        return kind(thing)


_PLAIN = Machine()


def machine() -> Machine:
    """The machine for what runs now: a function that is being traced, or plain Python."""
    if not is_tracing():
        return _PLAIN
    from jitflow.frontend.numpy.draws import TRACED

    return TRACED
