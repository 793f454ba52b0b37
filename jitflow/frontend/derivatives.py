"""Derivatives while tracing: the function is traced into a region, and an op asks for its derivative.

The parts of arguments that are differentiated by are values of the region's own, so that a function may write to its
argument and the caller's array stays as it was. Everything else of the program is used as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserTypeError, UserValueError
from jitflow.frontend.control.branch import outside_type
from jitflow.frontend.control.kinds import kind_of
from jitflow.frontend.control.merge import Leaves, flatten
from jitflow.frontend.control.raising import EndOfPath
from jitflow.frontend.numpy import values
from jitflow.frontend.proxies import OutsideDict, OutsideList
from jitflow.frontend.scopes import Scope
from jitflow.frontend.trace import current_trace
from jitflow.frontend.tracers.base import located
from jitflow.ir.core import Region, Value
from jitflow.ir.types import Place, Scalar, Tensor, Variable
from jitflow.runtime import variable as outside

__all__ = [
    "Traced",
    "check_argnums",
    "forward",
    "in_structure",
    "one_like",
    "reverse",
    "stop",
    "trace_function",
    "variables_in",
]

Function = Callable[..., Any]


@dataclass(frozen=True, eq=False)
class Traced:
    """A function that was traced into a region: its differentiated inputs, and its result."""

    region: Region
    inputs: tuple[Value, ...]
    chosen: tuple[Leaves, ...]
    """The structure of each argument that is differentiated by."""
    result: Leaves
    positions: tuple[int | None, ...]
    """For each leaf of the result the value that the region yields; None for what is no number or array."""
    outputs: int
    """How many of the first values yielded are differentiated."""
    variables: tuple[Value, ...] = ()
    """The memory of the variables that are differentiated by."""


def check_argnums(argnums: int | Sequence[int], count: int) -> tuple[int, ...]:
    """The positions of the arguments to differentiate by. Raises ValueError for one that there is not."""
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    for number in numbers:
        if not -count <= number < count:
            raise located(
                UserValueError(
                    f"argnums names argument {number}, and the function is called with {count}",
                    mend="pass what is differentiated by as a positional argument",
                )
            )
    return tuple(number % count for number in numbers)


def trace_function(
    fn: Function, args: Sequence[Any], kwargs: Mapping[str, Any], numbers: Sequence[int],
    split: Callable[[Any], tuple[Any, Any]], variables: Sequence[Any] = (),
) -> Traced:  # fmt: skip
    """Trace ``fn`` with the arguments ``numbers`` as inputs of its own.

    ``split`` gives what of its result is differentiated, and the rest.
    """
    trace = current_trace()
    chosen = tuple(flatten(_own_containers(args[number])) for number in numbers)
    inputs = [_input(item) for leaves in chosen for item in leaves.items]
    parameters = [Value(value.type, value.name) for value in inputs]
    # From now on the variables are memory, and the region reads them from there: what was read before is a constant.
    memory = [trace.storage.place(_variable(variable)._value) for variable in variables]
    yielded: list[Value] = []
    with trace.region() as scope:
        own = iter([_own(parameter) for parameter in parameters])
        given = list(args)
        for number, leaves in zip(numbers, chosen, strict=True):
            given[number] = leaves.rebuild([next(own) for _ in leaves.items])
        try:
            found = split(fn(*given, **kwargs))
        except EndOfPath:
            _inline(scope, parameters, inputs)
            raise
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
    region = scope.close(parameters, yielded)
    return Traced(region, tuple(inputs), chosen, result, tuple(positions), outputs, tuple(memory))


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
    made = [*map(_made, found)]
    results, arrived = made[: len(types)], made[len(types) :]
    return _result(traced, results), arrived[: len(traced.inputs)], arrived[len(traced.inputs) :]


def _contents(memory: Value) -> Tensor:
    assert isinstance(memory.type, Variable | Place)
    return Tensor(memory.type.dtype, memory.type.dims)


def forward(traced: Traced, tangents: Sequence[Value]) -> tuple[Any, list[Any]]:
    """The function's result, as `trace_function` split it, and the tangents of what is differentiated of it."""
    types = [outside_type(value.type) for value in traced.region.yielded]
    found = current_trace().add(
        "jvp", *traced.inputs, *tangents, types=[*types, *types[: traced.outputs]], regions=(traced.region,),
        inputs=len(traced.inputs), outputs=traced.outputs,
    )  # fmt: skip
    made = [_made(value) for value in found]
    return _result(traced, made), made[len(types) :]


def stop(thing: Any) -> Any:
    """A structure whose numbers and arrays count as constants for derivatives."""
    leaves = flatten(thing)
    return leaves.rebuild([_stopped(item) for item in leaves.items])


def _stopped(item: Any) -> Any:
    if not isinstance(item, tracers.Tracer):
        return item
    return _made(current_trace().make("stop_gradient", tracers.lift(item)))


def _result(traced: Traced, made: Sequence[Any]) -> Any:
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
    return flatten(_own_containers(structure))


def _variable(item: Any) -> tracers.VariableTracer:
    if type(item) is outside.Variable:
        item = current_trace().variable(item)
    if not isinstance(item, tracers.VariableTracer):
        raise located(
            UserTypeError(
                "a gradient by something that is no variable",
                found=type(item).__name__,
                expected="a structure of variables, such as jitflow.variables(model)",
            )
        )
    if item.dtype.kind not in "fc":
        raise located(UserTypeError("a gradient by a variable that holds no floats", found=f"dtype {item.dtype}"))
    return item


def _own_containers(thing: Any) -> Any:
    """A structure from outside as one that the program may make anew."""
    if isinstance(thing, OutsideDict):
        return {key: _own_containers(item) for key, item in thing.items()}
    if isinstance(thing, OutsideList):
        return [_own_containers(item) for item in thing]
    return tuple(map(_own_containers, thing)) if type(thing) is tuple else thing


def _own(parameter: Value) -> Any:
    storage = current_trace().storage
    storage.made_here(parameter)
    return tracers.wrap(parameter) if isinstance(parameter.type, Scalar) else tracers.wrap(parameter, owned=True)


def _made(value: Value) -> Any:
    return _own(value)


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
    """The gradients by each chosen argument, in its structure."""
    rest = iter(gradients)
    return [leaves.rebuild([next(rest) for _ in leaves.items]) for leaves in traced.chosen]
