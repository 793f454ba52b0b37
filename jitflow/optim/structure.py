"""Gradients beside the variables that they are by, in one structure of dicts, lists and tuples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from jitflow.errors import UserTypeError, UserValueError
from jitflow.remote import Remote, RowGradient, gradient_by, mapped_rows
from jitflow.runtime.variable import Variable

__all__ = ["mapped", "pairs", "require_distinct"]


def pairs(gradients: Any, variables: Any) -> Iterator[tuple[Any, Any]]:
    """Each gradient with its variable, in the order of the structure of variables."""
    if isinstance(variables, Remote):
        yield variables if gradients is variables else gradient_by(gradients, variables), variables
    elif isinstance(variables, Variable):
        if gradients is None or isinstance(gradients, dict | list | tuple):
            found = type(gradients).__name__
            raise UserTypeError("a variable needs a gradient", found=found, expected="an array of the variable's shape")
        gradients = gradients if hasattr(gradients, "shape") else np.positive(gradients)  # of a Python number
        if tuple(gradients.shape) != tuple(variables.shape):
            raise UserValueError(
                "a gradient has another shape than its variable",
                found=f"shape {tuple(gradients.shape)} for a variable of shape {tuple(variables.shape)}",
                expected="an array of the variable's shape",
            )
        yield gradients, variables
    elif isinstance(variables, dict):
        if isinstance(gradients, dict) and (missing := [key for key in variables if key not in gradients]):
            message = f"the gradients have nothing under the key {missing[0]!r} of the variables"
            raise UserValueError(message, expected="a dict with the keys of the variables")
        _require_same_size(gradients, variables, dict)
        for key, variable in variables.items():
            yield from pairs(gradients[key], variable)
    elif isinstance(variables, list | tuple):
        _require_same_size(gradients, variables, (list, tuple))
        for gradient, variable in zip(gradients, variables, strict=True):
            yield from pairs(gradient, variable)
    else:
        raise UserTypeError(
            f"expected variables, or lists, tuples and dicts of them, got {type(variables).__name__}",
            mend="collect those of a model with jitflow.variables(model)",
        )


def require_distinct(variables: Any) -> None:
    """Raise ValueError for a structure in which there is nothing, or one variable twice.

    A step of nothing would change nothing, and one with a variable twice would move that twice, and nobody would see.
    """
    found = [variable for _, variable in pairs(variables, variables)]
    if not found:
        raise UserValueError(
            "there are no variables to update",
            mend="pass those of a model, jitflow.variables(model), whose arrays are made by jitflow.Variable(array)",
        )
    if len({id(variable) for variable in found}) < len(found):
        raise UserValueError("a variable is to be updated twice", mend="pass it once: jitflow.variables(structure)")


def mapped(function: Any, thing: Any) -> Any:
    """A structure of dicts, lists and tuples with ``function`` of each part in its place.

    Of a gradient of rows, it is of the rows.
    """
    if isinstance(thing, RowGradient):
        return mapped_rows(function, thing)
    if isinstance(thing, dict):
        return {key: mapped(function, item) for key, item in thing.items()}
    if isinstance(thing, list):
        return [mapped(function, item) for item in thing]
    if isinstance(thing, tuple):
        items = [mapped(function, item) for item in thing]
        return type(thing)(*items) if hasattr(thing, "_fields") else tuple(items)
    return function(thing)


def _require_same_size(gradients: Any, variables: Any, kind: Any) -> None:
    if not isinstance(gradients, kind) or len(gradients) != len(variables):
        found = f"{len(gradients)} parts" if isinstance(gradients, kind) else type(gradients).__name__
        raise UserValueError(
            "the gradients have another structure than the variables",
            found=f"{found} for a {type(variables).__name__} of {len(variables)}",
            expected="the structure of the variables",
        )
