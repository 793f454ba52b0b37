"""Gradients as users take them: `grad` and its kin, of plain functions and inside compiled ones.

Each takes a function and gives a function. Outside of compiled code that one is compiled; inside, it is traced with the
rest. What is differentiated by is a positional argument, a number or an array or any structure of them.

The gradient of a real function of complex numbers is that of its real and imaginary parts, ``df/dx + 1j * df/dy``,
which points where the function grows (as in TensorFlow and PyTorch; JAX gives the conjugate).
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar, overload

from jitflow.errors import UserTypeError
from jitflow.reuse import made_of, token
from jitflow.transforms.scaling import in_force
from jitflow.transforms.transformed import refuse_part, transformed

if TYPE_CHECKING:
    from jitflow.api import CompiledFunction

__all__ = ["checkpoint", "custom_gradient", "grad", "hessian", "hvp", "jacobian", "jvp", "stop_gradient",
           "value_and_grad", "vjp"]  # fmt: skip

Function = Callable[..., Any]
Argnums = int | Sequence[int]
_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


def value_and_grad(
    fun: Callable[_Parameters, _Result], argnums: Argnums | None = None, has_aux: bool = False, variables: Any = None
) -> CompiledFunction[_Parameters, tuple[_Result, Any]]:
    """A function that gives the value of ``fun`` and its gradient, as a pair.

    ``fun`` returns one real number; with ``has_aux``, a pair of it and anything else, which is handed through. The
    gradient is by the positional argument ``argnums`` (the first, if nothing is said) and has its structure, shapes
    and dtypes, with None where it has None; by several, a tuple. With ``variables``, a structure of
    `jitflow.Variable`, it is by what these hold, in the same structure; with both, a pair.

    What is differentiated by is a value: ``fun`` may write to it, and the caller's array stays as it was. What ``fun``
    writes to other arguments is seen.

    Reverse mode (Speelpenning 1980): time and memory are a small multiple of the function's own, whatever the number of
    inputs. Loops are run backwards from values that their turns have kept.

    Raises TypeError where the function returns no real number, or an argument has parts that are no floats.
    """
    argnums, has_aux = _known(argnums), _known(has_aux)
    kind = ("value_and_grad", *_kind(argnums), has_aux, token(variables))
    return transformed(fun, _reverse(argnums, has_aux, variables, with_value=True), kind)


def grad(
    fun: Callable[_Parameters, Any], argnums: Argnums | None = None, has_aux: bool = False, variables: Any = None
) -> CompiledFunction[_Parameters, Any]:
    """A function that gives the gradient of ``fun`` alone; with ``has_aux`` the pair of it and the rest.

    Arguments and errors are those of `value_and_grad`.
    """
    argnums, has_aux = _known(argnums), _known(has_aux)
    kind = ("grad", *_kind(argnums), has_aux, token(variables))
    return transformed(fun, _reverse(argnums, has_aux, variables, with_value=False), kind)


def vjp(fun: Callable[..., _Result], *primals: Any) -> tuple[_Result, Callable[[Any], tuple[Any, ...]]]:
    """``fun(*primals)``, and a function from cotangents of that to cotangents of each of the ``primals``, as a tuple.

    A cotangent has the structure, shapes and dtypes of what it belongs to. The function of the cotangents runs ``fun``
    once more, and backwards; what it shares with the first run is computed once if both are in one compiled function.

    The primals are values: ``fun`` may write to them without the caller's arrays changing, and the second run finds
    them as they were at the first, whatever has been written to the caller's arrays since. What ``fun`` reads from
    elsewhere is read anew.

    Raises NotImplementedError for a function that changes what it reads from outside: a variable, a random generator.
    """
    from jitflow.frontend.recording.trace import active_trace

    if active_trace() is not None:
        from jitflow.frontend.transforms import derivatives

        chosen = derivatives.chosen_arguments(primals, range(len(primals)))
        value = derivatives.value(fun, chosen, derivatives.alone, {})
        return value, lambda cotangents: tuple(derivatives.pullback(fun, chosen, {}, cotangents, "the vjp"))
    pull = _compiled(fun, _pull)
    value, held = _compiled(fun, _call)(*primals)
    return value, lambda cotangents: pull((cotangents, held), *primals)


def _call(fun: Function, *primals: Any) -> tuple[Any, tuple[Any, ...]]:
    """The value, and the numbers and arrays among the primals as they are now."""
    from jitflow.frontend.transforms import derivatives

    chosen = derivatives.chosen_arguments(primals, range(len(primals)))
    return derivatives.value(fun, chosen, derivatives.alone, {}), derivatives.kept(chosen)


def _pull(fun: Function, given: tuple[Any, Sequence[Any]], *primals: Any) -> tuple[Any, ...]:
    from jitflow.frontend.transforms import derivatives

    cotangents, held = given
    chosen = derivatives.as_they_were(derivatives.chosen_arguments(primals, range(len(primals))), held)
    return tuple(derivatives.pullback(fun, chosen, {}, cotangents, "the vjp"))


@overload
def jvp(
    fun: Callable[..., _Result], primals: Sequence[Any], tangents: Sequence[Any], has_aux: Literal[False] = False
) -> tuple[_Result, Any]: ...
@overload
def jvp(
    fun: Callable[..., tuple[_Result, Any]], primals: Sequence[Any], tangents: Sequence[Any], has_aux: Literal[True]
) -> tuple[_Result, Any, Any]: ...
def jvp(fun: Function, primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False) -> Any:
    """``fun(*primals)``, and how it changes when the arguments change by ``tangents``, as a pair.

    Both are sequences with one item for each argument, of the same structure and shapes. The change has the structure
    of the value. With ``has_aux`` the function returns a pair of a value and anything else, and the result is a triple.

    Forward mode: the changes are computed along with the values, in a small multiple of the function's own time, and
    nothing is kept of loops.

    Raises TypeError where the two have not the same structure, ValueError where they have not the same shapes, and
    TypeError where an argument has parts that are no floats.
    """
    from jitflow.frontend.recording.trace import active_trace

    if len(primals) != len(tangents):
        raise TypeError(f"expected a tangent for each of {len(primals)} arguments, got {len(tangents)}")
    push = _push_pair if has_aux else _push
    if active_trace() is not None:
        return push(fun, tuple(primals), tuple(tangents))
    return _compiled(fun, push)(tuple(primals), tuple(tangents))


def _push(fun: Function, primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False) -> Any:
    from jitflow.frontend.transforms import derivatives

    chosen = derivatives.chosen_arguments(primals, range(len(primals)))
    traced = derivatives.trace_function(fun, chosen, {}, derivatives.pair if has_aux else derivatives.alone)
    (value, aux), change = derivatives.forward(traced, derivatives.tangents_of(traced, tangents))
    return (value, change, aux) if has_aux else (value, change)


def _push_pair(fun: Function, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    return _push(fun, primals, tangents, has_aux=True)


def jacobian(fun: Callable[_Parameters, Any], argnums: Argnums = 0) -> CompiledFunction[_Parameters, Any]:
    """A function that gives the derivatives of the elements of what ``fun`` returns by the elements of an argument.

    For a result of shape ``s`` and an argument of shape ``t`` it has shape ``s + t``; by several arguments it is a
    tuple. ``fun`` returns one real array or number. It takes a reverse sweep for each element of the result.

    Raises TypeError where it returns something else, or an argument has parts that are no floats.
    """
    argnums = _known(argnums)

    def run(fun: Function, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        from jitflow.frontend.transforms import derivatives

        found = derivatives.jacobian(fun, derivatives.chosen_arguments(args, argnums), kwargs)
        return found[0] if isinstance(argnums, int) else tuple(found)

    return transformed(fun, run, ("jacobian", *_kind(argnums)))


def hessian(fun: Callable[_Parameters, Any], argnum: int = 0) -> CompiledFunction[_Parameters, Any]:
    """A function that gives the second derivatives of ``fun``, which returns one real number, by one argument.

    For an argument of shape ``t`` they have shape ``t + t``. It takes a reverse sweep of the gradient for each element.

    Raises TypeError where it returns something else, or an argument has parts that are no floats.
    """
    argnum = _known(argnum)
    first = _reverse(argnum, has_aux=False, variables=None, with_value=False)

    def run(fun: Function, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        from jitflow.frontend.transforms import derivatives

        def gradient(*args: Any, **kwargs: Any) -> Any:
            return first(fun, args, kwargs)

        return derivatives.jacobian(gradient, derivatives.chosen_arguments(args, argnum), kwargs)[0]

    return transformed(fun, run, ("hessian", argnum))


def hvp(fun: Function, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, ...]:
    """The Hessian of ``fun`` at ``primals`` times ``tangents``, without the Hessian: a tuple like ``primals``.

    ``fun`` takes the ``primals`` and returns one real number. It takes a few times as long as the gradient (Pearlmutter
    1994).

    Raises TypeError where it returns something else or the structures differ, and ValueError where shapes do.
    """
    from jitflow.frontend.recording.trace import active_trace

    if active_trace() is not None:
        return _second(fun, tuple(primals), tuple(tangents))
    return _compiled(fun, _second)(tuple(primals), tuple(tangents))  # type: ignore[no-any-return]


def _second(fun: Function, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, ...]:
    from jitflow.frontend.transforms import derivatives

    numbers = tuple(range(len(primals)))
    first = _reverse(numbers, has_aux=False, variables=None, with_value=False)
    chosen = derivatives.chosen_arguments(primals, numbers)
    return tuple(derivatives.pullback(lambda *args: first(fun, args, {}), chosen, {}, tuple(tangents)))


def custom_gradient(
    fun: Callable[_Parameters, tuple[_Result, Callable[..., Any]]],
) -> Callable[_Parameters, _Result]:
    """Give a function a gradient of its own (a decorator).

    ``fun`` returns a pair: its result, and a function that takes the cotangent of that (one for each item, if it is a
    tuple) and returns the cotangents of its arguments: one, or a tuple, with None where nothing arrives. What it reads
    from elsewhere, variables among it, counts as a constant for derivatives. A gradient by it raises TypeError where it
    returns no pair, and ValueError where cotangents have not the shapes of the arguments.

    >>> @jitflow.custom_gradient
    ... def clipped(x):
    ...     return np.clip(x, -1, 1), lambda dy: dy
    """

    @functools.wraps(fun)
    def with_gradient(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        return _custom(fun, args, kwargs)  # type: ignore[no-any-return]

    return with_gradient


def _custom(fun: Function, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    from jitflow.frontend.recording.trace import active_trace
    from jitflow.frontend.transforms import own_rules

    return fun(*args, **kwargs)[0] if active_trace() is None else own_rules.custom(fun, args, kwargs)


def checkpoint(fun: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """A function of which a reverse sweep keeps the arguments only, and computes the rest again (a decorator).

    It trades time for memory (Griewank 1992; Chen et al. 2016): wrap the body of a long loop, or a layer. What ``fun``
    writes to its arguments is written as without it.
    """

    @functools.wraps(fun)
    def recomputed(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        return _recomputed(fun, args, kwargs)  # type: ignore[no-any-return]

    return recomputed


def _recomputed(fun: Function, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    from jitflow.frontend.recording.trace import active_trace
    from jitflow.frontend.transforms import own_rules

    return fun(*args, **kwargs) if active_trace() is None else own_rules.recomputed(fun, args, kwargs)


def stop_gradient(x: _Result) -> _Result:
    """``x``, a number, an array or a structure of them, which counts as a constant for derivatives."""
    from jitflow.frontend.recording.trace import active_trace
    from jitflow.frontend.transforms.derivatives import stop

    return x if active_trace() is None else stop(x)


def _known(said: Any) -> Any:
    """``argnums`` and its like as Python's own values: what the program read from outside is guarded by its value.

    Raises TypeError for what names no positions.
    """
    from jitflow.frontend.recording.trace import active_trace

    if said is None or isinstance(said, bool):
        return said
    if isinstance(said, list | tuple):
        return tuple(map(_known, said))
    if active_trace() is not None:
        from jitflow.frontend.arrays.operands import static_int

        return static_int(said, "argnums")
    try:
        return operator.index(said)
    except TypeError:
        raise UserTypeError(
            "argnums names no argument", found=type(said).__name__, expected="the position of an argument, or several"
        ) from None


def _kind(argnums: Argnums | None) -> tuple[Any, ...]:
    return (argnums,) if argnums is None or isinstance(argnums, int) else (None, *argnums)


def _compiled(fun: Function, transform: Function) -> Function:
    """``transform(fun, first, rest)`` as a compiled function, the same one at the next call."""
    from jitflow.api import derived

    def make() -> Any:
        return lambda first, *rest: transform(fun, first, *rest)

    refuse_part(fun)
    return made_of(fun, transform, make, derived)  # type: ignore[no-any-return]


def _reverse(argnums: Argnums | None, has_aux: bool, variables: Any, with_value: bool) -> Function:
    """The transformation of `grad` and `value_and_grad`."""
    by_arguments = variables is None or argnums is not None
    chosen: Argnums = 0 if argnums is None else argnums if isinstance(argnums, int) else tuple(argnums)

    def run(fun: Function, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        from jitflow.frontend.transforms import derivatives, tables

        split = derivatives.pair if has_aux else derivatives.alone
        held = derivatives.variables_in([] if variables is None else variables)
        own, gathers = tables.apart(held.items)
        fun, args = gathers.by_tickets(fun, args)
        numbers = (chosen,) if isinstance(chosen, int) else chosen
        places = derivatives.chosen_arguments(args, gathers.among(numbers if by_arguments else ()))
        traced = derivatives.trace_function(fun, places, kwargs, split, own)
        one, scale = derivatives.program_object(derivatives.one_like(traced)), in_force()
        seed = one if scale is None else scale.scaled(one)
        (value, aux), found, by_variables = derivatives.reverse(traced, [seed.value])
        if scale is not None:
            numbers_end = len(found) - len(gathers.tables)  # behind it are the ends of tickets
            found = [*map(scale.unscaled, found[:numbers_end]), *found[numbers_end:]]
            by_variables = list(map(scale.unscaled, by_variables))
        gradients = derivatives.in_structure(traced, found)
        gradients, by_variables = gathers.collected(gradients, by_variables, scale)
        gradient: Any = gradients[0] if by_arguments and isinstance(chosen, int) else tuple(gradients)
        if variables is not None:
            gradient = (gradient, held.rebuild(by_variables)) if by_arguments else held.rebuild(by_variables)
        if not with_value:
            return (gradient, aux) if has_aux else gradient
        return ((value, aux) if has_aux else value), gradient

    return run
