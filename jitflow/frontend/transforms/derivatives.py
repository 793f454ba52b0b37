"""Derivatives while tracing: the function is traced into a region, and an op asks for its derivative.

The parts of arguments that are differentiated by are values of the region's own, so that a function may write to its
argument and the caller's array stays as it was. Everything else of the program is used as it is.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserTypeError, UserValueError
from jitflow.frontend.control.alternatives import described
from jitflow.frontend.control.changing_lists import drain_lists
from jitflow.frontend.control.explicit import map as map_items
from jitflow.frontend.control.joining import outside_type
from jitflow.frontend.control.leaves import Leaves, flatten
from jitflow.frontend.control.local_types import kind_of
from jitflow.frontend.control.raising import EndOfPath
from jitflow.frontend.control.switching import of_one_kind
from jitflow.frontend.outside.proxies import counterpart
from jitflow.frontend.recording import values
from jitflow.frontend.recording.regions import Scope
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers.absent import NotGiven
from jitflow.frontend.tracers.base import located
from jitflow.frontend.tracers.surface import surface
from jitflow.frontend.transforms.left_behind import Around
from jitflow.frontend.transforms.reruns import refuse_changes, refuse_left_behind
from jitflow.frontend.transforms.tangents import cotangents_of, own_containers, tangents_of, weighed
from jitflow.frontend.transforms.traced import Chosen, Traced
from jitflow.ir.core import Value
from jitflow.ir.types import Place, Scalar, Tensor, Variable
from jitflow.runtime import variable as outside

__all__ = ["Chosen", "Traced", "alone", "as_they_were", "called", "chosen_arguments", "cotangents_of", "forward",
           "in_structure", "jacobian", "kept", "one_like", "pair", "program_object", "pullback", "result_from",
           "reverse", "stop", "tangents_of", "trace_function", "traced_floats", "value", "variables_in"]  # fmt: skip

Function = Callable[..., Any]


def chosen_arguments(args: Sequence[Any], argnums: int | Sequence[int]) -> Chosen:
    """All that the arguments ``argnums`` hold, but None. Raises ValueError for one that there is not, or twice."""
    leaves: dict[int, Leaves] = {}
    for number in (argnums,) if isinstance(argnums, int) else argnums:
        if not -len(args) <= number < len(args):
            raise located(
                UserValueError(
                    f"argnums names argument {number}, and the function is called with {len(args)}",
                    mend="pass what is differentiated by as a positional argument",
                )
            )
        if number % len(args) in leaves:
            raise located(UserValueError(f"argnums names argument {number % len(args)} twice"))
        leaves[number % len(args)] = flatten(own_containers(args[number]))
    places = tuple(
        (number, leaf) for number, found in leaves.items() for leaf, item in enumerate(found.items) if item is not None
    )
    return _chosen(args, leaves, places)


def traced_floats(args: Sequence[Any]) -> Chosen:
    """The floats and complex numbers in the arguments that only the running program knows."""
    leaves = {number: flatten(own_containers(arg)) for number, arg in enumerate(args)}
    places = tuple(
        (number, leaf)
        for number, found in leaves.items()
        for leaf, item in enumerate(found.items)
        if isinstance(item, tracers.Tracer) and (kind := kind_of(item)) is not None and kind.dtype.kind in "fc"
    )
    return _chosen(args, {number: leaves[number] for number, _ in places}, places)


def _chosen(args: Sequence[Any], leaves: Mapping[int, Leaves], places: Sequence[tuple[int, int]]) -> Chosen:
    inputs = tuple(_input(leaves[number].items[leaf]) for number, leaf in places)
    return Chosen(tuple(args), leaves, tuple(places), inputs)


def as_they_were(chosen: Chosen, held: Sequence[Any]) -> Chosen:
    """The same places with the numbers and arrays that `kept` took from them."""
    if len(held) != len(chosen.places):
        raise located(UserValueError(
            "the arguments of the vjp have another structure now than when it was taken",
            mend="take it of tuples, lists and dicts that stay as they are",
        ))  # fmt: skip
    return replace(chosen, inputs=tuple(map(_input, held)))


def kept(chosen: Chosen) -> tuple[Any, ...]:
    """What was chosen, in arrays that nobody else has."""
    trace = current_trace()
    return tuple(program_object(trace.make("copy", value)) if isinstance(value.type, Tensor) else tracers.wrap(value)
                 for value in chosen.inputs)  # fmt: skip


def trace_function(
    fn: Function, chosen: Chosen, kwargs: Mapping[str, Any], split: Callable[[Any], tuple[Any, Any]],
    variables: Sequence[Any] = (), *, once: bool = True, writes: bool = False,
) -> Traced:  # fmt: skip
    """Trace ``fn`` with what is chosen of its arguments as inputs of its own.

    ``split`` gives what of its result is differentiated, and the rest; ``once`` says that the function is traced only
    this once, ``writes`` that it matters what it writes to its arguments.
    """
    trace = current_trace()
    inputs = chosen.inputs
    parameters = [Value(value.type, value.name) for value in inputs]
    # From now on the variables are memory, and the region reads them from there: what was read before is a constant.
    memory = [trace.storage.place(_variable(variable)._value) for variable in variables]
    around = Around(fn, (*chosen.args, *kwargs.values()))
    yielded: list[Value] = []
    try:
        with trace.region() as scope:
            scope.once, scope.is_differentiated = once, True
            found = split(called(fn, chosen.with_items([*map(program_object, parameters)]), kwargs))
            found = of_one_kind(found[0]), *found[1:]
            result = flatten(found)
            outputs = len(flatten(found[0]).items)
            positions: list[int | None] = []
            for number, item in enumerate(result.items):
                if kind_of(item) is None:
                    if number < outputs:
                        raise located(_no_number(item))
                    positions.append(None)
                    continue
                positions.append(len(yielded))
                yielded.append(tracers.lift(item))
            written = []
            for item, parameter in zip(chosen.items, parameters, strict=True):
                if writes and parameter in trace.storage.variables:
                    written.append((item, len(yielded)))
                    yielded.append(trace.storage.read(parameter))
            left = around.left_behind(scope, parameters, [*zip(result.items, positions, strict=True)], yielded)
            drain_lists()
    except (EndOfPath, NotGiven):
        _inline(scope, parameters, inputs)
        raise
    region = scope.close(parameters, yielded)
    return Traced(region, chosen, inputs, result, tuple(positions), outputs, tuple(memory), tuple(written), left)


def called(fn: Any, args: Sequence[Any], kwargs: Mapping[str, Any] = MappingProxyType({})) -> Any:
    """``fn(*args, **kwargs)``. Raises TypeError, at the user's line, for what cannot be called so."""
    if not callable(fn) or isinstance(fn, tracers.Tracer):
        found = fn._describe() if isinstance(fn, tracers.Tracer) else type(fn).__name__
        raise located(UserTypeError("expected a function", found=found, mend="pass the function, not what it returns"))
    try:
        signature = inspect.signature(counterpart(fn))
    except (TypeError, ValueError):
        signature = inspect.signature(lambda *args, **kwargs: None)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        name = getattr(fn, "__name__", type(fn).__name__)
        raise located(UserTypeError(f"{name}{signature}: {error}")) from None
    return fn(*args, **kwargs)


def alone(result: Any) -> tuple[Any, None]:
    """The result of a function that gives only what is differentiated."""
    return result, None


def pair(result: Any) -> tuple[Any, Any]:
    """The result of a function that gives something else as well. Raises TypeError for what is no pair."""
    if not isinstance(result, tuple) or len(result) != 2:
        raise located(
            UserTypeError(
                "with has_aux=True a function must return a pair",
                found=type(result).__name__,
                expected="what is differentiated, and the rest",
            )
        )
    return result


def reverse(traced: Traced, cotangents: Sequence[Value]) -> tuple[Any, list[Any], list[Any]]:
    """The function's result, as `trace_function` split it, and the gradients by its inputs and by the variables."""
    types = [outside_type(value.type) for value in traced.region.yielded]
    gradients = [
        *(value.type for value in traced.inputs),
        *map(_contents, traced.variables),
    ]
    found = current_trace().add(
        "vjp", *traced.inputs, *cotangents, *traced.variables, types=[*types, *gradients], regions=(traced.region,),
        inputs=len(traced.inputs), outputs=traced.outputs, variables=len(traced.variables),
    )  # fmt: skip
    made = [*map(program_object, found)]
    results, arrived = made[: len(types)], made[len(types) :]
    return result_from(traced, results), arrived[: len(traced.inputs)], arrived[len(traced.inputs) :]


def _contents(memory: Value) -> Tensor:
    assert isinstance(memory.type, Variable | Place)
    return Tensor(memory.type.dtype, memory.type.dims)


def forward(traced: Traced, tangents: Sequence[Value]) -> tuple[Any, Any]:
    """The function's result, as `trace_function` split it, and the tangent of what is differentiated of it."""
    types = [outside_type(value.type) for value in traced.region.yielded]
    found = current_trace().add(
        "jvp", *traced.inputs, *tangents, types=[*types, *types[: traced.outputs]], regions=(traced.region,),
        inputs=len(traced.inputs), outputs=traced.outputs,
    )  # fmt: skip
    made = [*map(program_object, found)]
    change, _ = traced.result.rebuild([*made[len(types) :], *traced.result.items[traced.outputs :]])
    return result_from(traced, made), change


def value(fn: Function, chosen: Chosen, split: Callable[[Any], tuple[Any, Any]], kwargs: Mapping[str, Any]) -> Any:
    """What a function returns of what is chosen, which it writes to as it does where its derivative is taken."""
    traced = trace_function(fn, chosen, kwargs, split)
    return reverse(replace(traced, outputs=0), ())[0][0]


def pullback(fn: Function, chosen: Chosen, kwargs: Mapping[str, Any], cotangents: Any, repeats: str = "") -> list[Any]:
    """The gradients of a function's results, weighted by ``cotangents``, by each chosen argument.

    ``repeats`` is what runs the function once more than that. Raises UserNotImplementedError if it may not.
    """
    around, weights = current_trace().scope, cotangents

    def weighed_result(result: Any) -> tuple[Any, None]:
        nonlocal weights
        found, weights = weighed(result, cotangents, around)
        return found, None

    traced = trace_function(fn, chosen, kwargs, weighed_result)
    if repeats:
        refuse_changes(traced.region, repeats)
        refuse_left_behind(traced, repeats)
    return in_structure(traced, reverse(traced, cotangents_of(traced, weights))[1])


def jacobian(fn: Function, chosen: Chosen, kwargs: Mapping[str, Any]) -> list[Any]:
    """The derivatives of each element of a function's result by each chosen argument: one reverse sweep an element."""
    apply = surface.apply_function
    found = value(fn, chosen, _real, kwargs)
    kind = kind_of(found)
    assert kind is not None
    if isinstance(kind, Scalar) or not kind.dims:
        return pullback(fn, chosen, kwargs, 1.0, "the Jacobian")
    shape = found.shape
    positions = apply(np.arange, (found.size,), {})

    def row(position: Any) -> Any:
        return pullback(fn, chosen, kwargs, (positions == position).astype(found.dtype).reshape(shape), "the Jacobian")

    rows = map_items(row, positions)
    stacked = []
    for leaves in rows:
        found = flatten(leaves)
        stacked.append(found.rebuild([item.reshape((*shape, *item.shape[1:])) for item in found.items]))
    return stacked


def _real(result: Any) -> tuple[Any, None]:
    """The result of a function that has a Jacobian. Raises TypeError for what is no real number or array."""
    result = of_one_kind(result)
    kind = kind_of(result)
    if kind is None or kind.dtype.kind != "f":
        raise located(
            UserTypeError(
                "the Jacobian of something that is no real number or array",
                found=type(result).__name__ if kind is None else str(kind),
                mend="return one array of floats",
            )
        )
    return result, None


def stop(thing: Any) -> Any:
    """A structure whose numbers and arrays count as constants for derivatives."""
    leaves = flatten(thing)
    return leaves.rebuild([_stopped(item) for item in leaves.items])


def _stopped(item: Any) -> Any:
    if not isinstance(item, tracers.Tracer):
        return item
    return program_object(current_trace().make("stop_gradient", tracers.lift(item)))


def result_from(traced: Traced, made: Sequence[Any]) -> Any:
    """The function's result in its structure, of what its region yields, and what it leaves behind in its place."""
    for left in traced.left:
        left.put_back(made)
    items = [
        item if position is None else made[position]
        for item, position in zip(traced.result.items, traced.positions, strict=True)
    ]
    return traced.result.rebuild(items)


def _input(item: Any) -> Value:
    kind = kind_of(item)
    if kind is None or kind.dtype.kind not in "fc":
        found = type(item).__name__ if kind is None else str(kind)
        raise located(
            UserTypeError(
                "a gradient by something that is no float or complex number",
                found=found,
                expected="floats, complex numbers, arrays of them, and structures of these",
                mend="convert it before (float(n), x.astype(float)), or leave it out of argnums",
            )
        )
    return tracers.lift(item)


def _no_number(item: Any) -> UserTypeError:
    return UserTypeError(
        "the function that is differentiated returns something else than numbers",
        found=type(item).__name__,
        mend="return a number; with has_aux=True, a pair of it and whatever else there is",
    )


def variables_in(structure: Any) -> Leaves:
    """A structure of variables taken apart."""
    return flatten(own_containers(structure))


def _variable(item: Any) -> tracers.VariableTracer:
    if type(item) is outside.Variable:
        item = current_trace().variable(item)
    if not isinstance(item, tracers.VariableTracer):
        raise located(
            UserTypeError(
                "a gradient by something that is no variable",
                found=described(item),
                expected="a structure of variables, such as jitflow.variables(model)",
                mend="make the arrays that are trained variables: self.w = jitflow.Variable(w)",
            )
        )
    if item.dtype.kind not in "fcV":  # bfloat16 is a V to NumPy
        found = f"dtype {item.dtype}"
        raise located(UserTypeError("a gradient by a variable that holds no floats", found=found, expected="floats"))
    return item


def program_object(parameter: Value) -> Any:
    """The program's object for a parameter of a region, or a result, which nothing else shows."""
    storage = current_trace().storage
    storage.made_here(parameter)
    return tracers.wrap(parameter) if isinstance(parameter.type, Scalar) else tracers.wrap(parameter, owned=True)


def _inline(scope: Scope, parameters: Sequence[Value], inputs: Sequence[Value]) -> None:
    """The region as part of the code around it: it raises, whatever the running program decides."""
    region = scope.close(parameters, ())
    trace = current_trace()
    trace.add("vjp", *inputs, types=[value.type for value in inputs], regions=(region,), inputs=len(inputs), outputs=0)


def one_like(traced: Traced) -> Value:
    """The cotangent 1 of a function's value. Raises TypeError if that is not one real number."""
    value = traced.region.yielded[0] if traced.outputs == 1 else None
    if value is None or values.rank(value) or values.dtype_of_value(value).kind != "f":
        found = "several results" if value is None else str(value.type)
        raise located(
            UserTypeError(
                "the gradient of something that is not one real number",
                found=found,
                mend="return a number, such as the sum or the mean of it; with has_aux=True a pair of it and the rest; "
                "jitflow.jacobian is for functions of several results",
            )
        )
    return current_trace().make("constant", value=1.0, type=Scalar(values.dtype_of_value(value)))


def in_structure(traced: Traced, gradients: Sequence[Any]) -> list[Any]:
    """The gradients by each chosen argument, in its structure, with None where it has None."""
    rest = iter(gradients)
    return [
        leaves.rebuild([None if item is None else next(rest) for item in leaves.items])
        for leaves in traced.chosen.leaves.values()
    ]
