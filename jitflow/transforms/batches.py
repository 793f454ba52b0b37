"""Batches as users take them: `vmap`, of plain functions and inside compiled ones."""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from jitflow.errors import UserTypeError
from jitflow.signatures import by_position
from jitflow.transforms.transformed import transformed

if TYPE_CHECKING:
    from jitflow.api import CompiledFunction

__all__ = ["vmap"]

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


def vmap(
    fun: Callable[_Parameters, _Result], in_axes: Any = 0, out_axes: Any = 0
) -> CompiledFunction[_Parameters, _Result]:
    """A function of many examples, from ``fun``, which takes one: what ``fun`` gives for each, stacked.

    ``vmap(f)(xs)`` is ``np.stack([f(x) for x in xs])``, in the structure of what ``f`` returns; a matrix product of
    each example with a matrix that is the same for all is one product. ``in_axes`` says along which axis of each
    positional argument the examples are; None, that it is the same for all. It is one for all arguments, or a tuple,
    whose items may be structures like those of the arguments. Of a function with defaults or parameters that only have
    names, what is passed by keyword is mapped along its first axis, and defaults are not mapped.
    ``out_axes`` says where the axis of the examples is to be in the results; None, that a result is the same for all.

    Branches and loops go the way of each example. A check that fails, an index out of range or an assertion, raises for
    the first example for which it fails, unless that never comes to it. Examples are values: ``fun`` may write to them,
    and the caller's arrays stay as they were. Where there are no examples, there is nothing in the results.

    Where ``fun`` draws from a `jitflow.random.Generator`, each example has a child of it, as ``spawn`` makes them.

    Raises ValueError where the sizes of mapped axes differ, where there is no such axis or none is mapped, and where
    results of the examples may differ in shape; NotImplementedError where ``fun`` writes to what all examples share.

    >>> jitflow.vmap(lambda x, w: np.tanh(x @ w), in_axes=(0, None))
    >>> jitflow.vmap(jitflow.grad(loss), in_axes=(None, 0, 0))  # per-example gradients
    """
    in_axes, out_axes = _known(in_axes), _known(out_axes)

    def run(fun: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        from jitflow.frontend.outside.proxies import counterpart
        from jitflow.frontend.transforms import batches

        fun = counterpart(fun)
        return batches.batched(fun, *by_position(fun, args, kwargs), in_axes, out_axes)

    return transformed(fun, run, ("vmap", _key(in_axes), _key(out_axes)), what="a batch", as_passed=True)


def _known(axes: Any) -> Any:
    """Axes as Python's own values: what the program read from outside is guarded by its value."""
    from jitflow.frontend.recording.trace import active_trace

    if axes is None:
        return None
    if isinstance(axes, dict):
        return {key: _known(axis) for key, axis in axes.items()}
    if isinstance(axes, list | tuple):
        return tuple(map(_known, axes))
    if active_trace() is not None:
        from jitflow.frontend.arrays.operands import static_int

        return static_int(axes, "an axis")
    try:
        return operator.index(axes)
    except TypeError:
        raise UserTypeError(
            "vmap in_axes and out_axes must be an axis, None, or a structure of these", found=type(axes).__name__
        ) from None


def _key(axes: Any) -> Hashable:
    if isinstance(axes, dict):
        return ("dict", *((key, _key(axis)) for key, axis in axes.items()))
    return ("tuple", *map(_key, axes)) if isinstance(axes, tuple) else axes
