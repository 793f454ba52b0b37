"""Gradients as users take them: `grad` and its kin, of plain functions and inside compiled ones.

Each takes a function and gives a function. Outside of compiled code that one is compiled; inside, it is traced with the
rest. What is differentiated by is a positional argument, a number or an array or any structure of them.

The gradient of a real function of complex numbers is that of its real and imaginary parts, ``df/dx + 1j * df/dy``,
which points where the function grows (as in TensorFlow and PyTorch; JAX gives the conjugate).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

__all__ = ["grad", "stop_gradient", "value_and_grad"]

Function = Callable[..., Any]
Argnums = int | Sequence[int]


def value_and_grad(
    fun: Function, argnums: Argnums | None = None, has_aux: bool = False, variables: Any = None
) -> Function:
    """A function that gives the value of ``fun`` and its gradient, as a pair.

    ``fun`` returns one real number; with ``has_aux``, a pair of it and anything else, which is handed through. The
    gradient is by the positional argument ``argnums`` (the first, if nothing is said) and has its structure, shapes
    and dtypes; by several, a tuple. With ``variables``, a structure of `jitflow.Variable`, it is by what these hold, in
    the same structure; with both, a pair.

    Reverse mode (Speelpenning 1980): time and memory are a small multiple of the function's own, whatever the number of
    inputs. Loops are run backwards from values that their turns have kept.

    Raises TypeError where the function returns no real number, or an argument has parts that are no floats.
    """
    return _transformed(fun, _reverse(argnums, has_aux, variables, with_value=True))


def grad(fun: Function, argnums: Argnums | None = None, has_aux: bool = False, variables: Any = None) -> Function:
    """A function that gives the gradient of ``fun`` alone; with ``has_aux`` the pair of it and the rest.

    See `value_and_grad`.
    """
    return _transformed(fun, _reverse(argnums, has_aux, variables, with_value=False))


def stop_gradient(x: Any) -> Any:
    """``x``, a number, an array or a structure of them, which counts as a constant for derivatives."""
    from jitflow.frontend.derivatives import stop
    from jitflow.frontend.trace import active_trace

    return x if active_trace() is None else stop(x)


def _transformed(fun: Function, transform: Function) -> Function:
    """``transform(fun, args, kwargs)`` as a function: compiled, or traced with what is being traced."""
    from jitflow.api import function
    from jitflow.frontend.trace import active_trace

    fun = getattr(fun, "__wrapped__", fun) if getattr(type(fun), "__jitflow_compiled__", False) else fun

    if active_trace() is not None:
        return lambda *args, **kwargs: transform(fun, args, kwargs)
    return function(_with_parameters_of(fun, transform))  # type: ignore[no-any-return]


def _with_parameters_of(fun: Function, transform: Function) -> Function:
    """``transform(fun, args, kwargs)`` as a function with the parameters of ``fun``, which calls bind natively."""
    defaults: dict[str, Any] = {}
    parameters, positional, named = [], [], []
    kinds = inspect.Parameter
    for parameter in inspect.signature(fun).parameters.values():
        text = parameter.name
        if parameter.default is not kinds.empty:
            defaults[f"default_{parameter.name}"] = parameter.default
            text += f"=default_{parameter.name}"
        if parameter.kind is kinds.KEYWORD_ONLY:
            if not any(one.startswith("*") for one in parameters):
                parameters.append("*")
            named.append(f"{parameter.name!r}: {parameter.name}")
        elif parameter.kind is kinds.VAR_POSITIONAL:
            text = f"*{text}"
            positional.append(text)
        elif parameter.kind is kinds.VAR_KEYWORD:
            text = f"**{text}"
            named.append(text)
        else:
            positional.append(text.split("=")[0])
        parameters.append(text)
    body = f"transform(fun, ({''.join(f'{one}, ' for one in positional)}), {{{', '.join(named)}}})"
    source = f"def outer(transform, fun):\n    def transformed({', '.join(parameters)}):\n        return {body}\n"
    names = {"__name__": __name__, **defaults}
    exec(source + "    return transformed\n", names)
    transformed: Function = names["outer"](transform, fun)
    for name in ("__name__", "__qualname__", "__doc__"):
        setattr(transformed, name, getattr(fun, name, None) or getattr(transformed, name))
    return transformed


def _reverse(argnums: Argnums | None, has_aux: bool, variables: Any, with_value: bool) -> Function:
    """The transformation of `grad` and `value_and_grad`."""
    by_arguments = variables is None or argnums is not None
    chosen: Argnums = 0 if argnums is None else argnums if isinstance(argnums, int) else tuple(argnums)

    def split(result: Any) -> tuple[Any, Any]:
        if not has_aux:
            return result, None
        if not isinstance(result, tuple) or len(result) != 2:
            raise TypeError(f"with has_aux=True the function must return a pair, got {type(result).__name__}")
        return result

    def run(fun: Function, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        from jitflow.frontend import derivatives

        numbers = derivatives.check_argnums(chosen, len(args)) if by_arguments else ()
        held = derivatives.variables_in([] if variables is None else variables)
        traced = derivatives.trace_function(fun, args, kwargs, numbers, split, held.items)
        (value, aux), found, by_variables = derivatives.reverse(traced, [derivatives.one_like(traced)])
        gradients = derivatives.in_structure(traced, found)
        gradient: Any = gradients[0] if by_arguments and isinstance(chosen, int) else tuple(gradients)
        if variables is not None:
            gradient = (gradient, held.rebuild(by_variables)) if by_arguments else held.rebuild(by_variables)
        if not with_value:
            return (gradient, aux) if has_aux else gradient
        return ((value, aux) if has_aux else value), gradient

    return run
