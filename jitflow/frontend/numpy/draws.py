"""Random draws while a program is traced: the words of `jitflow.random.machine` on traced values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserValueError
from jitflow.frontend.arrays import broadcasting
from jitflow.frontend.arrays.operands import ArraySource, as_value, shape_argument
from jitflow.frontend.containers import conversions
from jitflow.frontend.control.explicit import fori_loop, while_loop
from jitflow.frontend.recording import values
from jitflow.frontend.recording.regions import Scope
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers.base import located
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.core import Value
from jitflow.ir.dims import product
from jitflow.ir.dtypes import F64, I64, U64, DType, dtype_of
from jitflow.ir.types import Tensor
from jitflow.random.machine import CHILDREN, SPAWNING, Machine

__all__ = ["TRACED", "Children"]


class Children:
    """The generators of the examples of a batch, where these draw from one from outside: its children."""

    def __init__(self) -> None:
        self._known: dict[Scope, dict[Value, tuple[Any, Any]]] = {}
        """In each batch, for the state of a generator from outside, that state and an example's own."""

    def of(self, state: Any) -> Any:
        """The state from which the code that is recorded draws where the program names ``state``."""
        storage = current_trace().storage
        for scope in reversed([*current_trace().scope.around()]):
            root = storage.root(state._value)
            if not scope.is_batched or storage.is_made_in(scope, root):
                continue
            known = self._known.setdefault(scope, {})
            if root not in known:
                own = Value(Tensor(U64, (4,)), "state")
                storage.homes[own] = scope
                known[root] = state, tracers.wrap(own, owned=True)
                storage.homes[own] = scope
            state = known[root][1]
        return state

    def drawn_from(self, scope: Scope, count: Any) -> list[tuple[Value, Value]]:
        """For each generator that a batch of ``count`` examples draws from, an example's state and those of all."""
        return [(own._value, _spawned(state, count)) for state, own in self._known.get(scope, {}).values()]


def _spawned(state: Any, count: Any) -> Value:
    """The states of so many children, as `jitflow.random.Generator.spawn` makes them."""
    key, stream, _, children = TRACED.advance(state, CHILDREN, TRACED.count((count,)))
    made = TRACED.words((TRACED.indices((count,)) + children) ^ SPAWNING, stream, key)
    nothing = surface.apply_function(np.zeros, (count,), {"dtype": np.uint64})
    stacked = surface.apply_function(np.stack, ((*made, nothing, nothing),), {"axis": 1})
    return tracers.lift(stacked)


class TracedMachine(Machine):
    """On traced values, and on what is known while tracing."""

    def number(self, thing: Any) -> Any:
        return _plain(thing, F64)

    def integer(self, thing: Any) -> Any:
        return _plain(thing, I64)

    def array(self, thing: Any) -> Any:
        if isinstance(thing, list | tuple | ArraySource):
            return surface.apply_function(np.array, (thing,), {})
        return thing

    def shape(self, size: Any, *parameters: Any) -> tuple[Any, ...]:
        shapes = [values.dims(tracers.lift(parameter)) for parameter in parameters]
        try:
            if size is None:
                return broadcasting.common_dims(shapes)
            wanted = shape_argument(size)
            if broadcasting.common_dims([wanted, *shapes]) != wanted:
                raise UserValueError("the parameters of a draw do not broadcast to its size")
        except UserValueError as error:
            raise located(error) from None
        return wanted

    def memory(self, state: Any) -> Any:
        return state

    def advance(self, state: Any, place: int, by: Any) -> Any:
        state = current_trace().state(Children).of(state)
        before = [state[word] for word in range(4)]
        state[place] = before[place] + by
        return before

    def count(self, shape: tuple[Any, ...]) -> Any:
        return tracers.wrap(values.cast(values.size_value(product(shape_argument(shape))), U64))

    def indices(self, shape: tuple[Any, ...]) -> Any:
        """A sum over the axes, so that the draw is elementwise in all of them and fuses with what is of its shape."""
        if not shape:
            return np.uint64(0)
        shape = shape_argument(shape)
        total: Value | None = None
        for axis in range(len(shape)):
            stride = product(shape[axis + 1 :])
            along = values.iota(U64, shape, axis)
            if stride != 1:
                along = values.emit("multiply", along, values.cast(values.size_value(stride), U64))
            total = along if total is None else values.emit("add", total, along)
        assert total is not None
        return tracers.wrap(total, owned=True)

    def positions(self, shape: tuple[Any, ...], axis: int) -> Any:
        return _new(values.iota(I64, shape_argument(shape), axis % len(shape)))

    def zeros(self, shape: tuple[Any, ...], dtype: Any = np.float64) -> Any:
        return surface.apply_function(np.zeros, (product(shape),), {"dtype": dtype})

    def counters(self, shape: tuple[Any, ...], length: Any) -> Any:
        return surface.apply_function(np.zeros, ((*shape, length),), {"dtype": np.int64})

    def words(self, key: Any, stream: Any, counter: Any) -> tuple[Any, Any]:
        operands = [tracers.lift(operand) for operand in (key, stream, counter)]
        low, high = (values.emit(name, *operands) for name in ("random_low", "random_high"))
        return _new(low), _new(high)

    def state(self, words: tuple[Any, ...]) -> Any:
        made = surface.apply_function(np.zeros, (len(words),), {"dtype": np.uint64})
        for position, word in enumerate(words):
            made[position] = word
        return made

    def cast(self, thing: Any, dtype: Any) -> Any:
        wanted = dtype_of(np.dtype(dtype))
        assert wanted is not None
        return _new(values.cast(values.as_scalar(as_value(thing)), wanted))

    def bits(self, thing: Any) -> Any:
        return _new(values.emit("bitcast", values.as_scalar(as_value(thing)), dtype=U64))

    def float_of(self, bits: Any) -> Any:
        return _new(values.emit("bitcast", values.as_scalar(as_value(bits)), dtype=F64))

    def require(self, condition: Any, message: str) -> None:
        if not isinstance(condition, tracers.Tracer):
            if not np.all(condition):
                raise located(UserValueError(message).refused())
            return
        holds = np.all(condition) if isinstance(condition, tracers.ArrayTracer) else condition
        values.check(values.as_strong(tracers.lift(holds)), UserValueError, message)

    def repeat_while(self, condition: Callable[[Any], Any], body: Callable[[Any], Any], carry: Any) -> Any:
        def proceed(carry: Any) -> Any:
            answer = condition(carry)
            return np.any(answer) if isinstance(answer, tracers.ArrayTracer) else answer

        return while_loop(proceed, body, carry)

    def repeat(self, turns: Any, body: Callable[[Any, Any], Any], carry: Any) -> Any:
        return fori_loop(0, turns, body, carry)

    def scalar(self, thing: Any, kind: type) -> Any:
        return (conversions.float_ if kind is float else conversions.int_)(thing)


def _new(value: Value) -> Any:
    return tracers.wrap(value, owned=True) if values.rank(value) else tracers.wrap(value)


def _plain(thing: Any, dtype: DType) -> Any:
    """An operand as an array or scalar of a dtype."""
    value = values.cast(values.as_scalar(as_value(thing)), dtype)
    return _new(value)


TRACED = TracedMachine()
