"""Mixed precision: products in halves, everything else as it is written."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, overload

from jitflow.errors import UserValueError
from jitflow.transforms.scaling import LossScale, scaled_by

if TYPE_CHECKING:
    from jitflow.api import CompiledFunction

__all__ = ["MixedStep", "mixed"]

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")
_FIRST_SCALES = {"bf16": None, "f16": 65536.0}
"""Powers of two. bf16 has the range of f32, so that nothing is lost without a scale."""


class MixedStep(Generic[_Parameters, _Result]):
    """What `mixed` gives: a function with a memory of its own, the scale of its losses.

    ``function`` is the compiled function, with `explain` and all else. A checkpoint of the object holds the scale.
    """

    def __init__(
        self, step: Callable[_Parameters, _Result], dtype: str, scale: float | None, growth_interval: int
    ) -> None:
        if dtype not in _FIRST_SCALES:
            raise UserValueError("expected products in 'bf16' or 'f16'", found=repr(dtype))
        first = _FIRST_SCALES[dtype] if scale is None else scale
        if first is not None and not (first > 0 and math.isfinite(first) and math.frexp(first)[0] == 0.5):
            raise UserValueError("expected the scale of losses to be a power of two", found=repr(scale))
        if growth_interval < 1:
            raise UserValueError("expected a positive number of steps", found=f"growth_interval={growth_interval}")
        self.scale = None if first is None else LossScale(first, growth_interval)
        self._step, self._dtype = step, dtype
        self.function = self._compiled()
        functools.update_wrapper(self, _plain(step))

    def _compiled(self) -> CompiledFunction[_Parameters, _Result]:
        from jitflow.api import derived
        from jitflow.signatures import with_signature

        dtype, scale = self._dtype, self.scale

        def run(fun: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
            from jitflow.frontend.outside.scopes import products_in

            with products_in(dtype), scaled_by(scale):
                return fun(*args, **kwargs)

        return derived(with_signature(_plain(self._step), run), self._step)  # type: ignore[no-any-return]

    def __call__(self, *args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        return self.function(*args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        """A copy has a scale of its own, which its function uses."""
        return {name: value for name, value in vars(self).items() if name != "function"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.function = self._compiled()


def _plain(step: Any) -> Any:
    return step.__wrapped__ if getattr(type(step), "__jitflow_compiled__", False) else step


@overload
def mixed(
    step: None = None, *, dtype: str = "bf16", scale: float | None = None, growth_interval: int = 2000
) -> Callable[[Callable[_Parameters, _Result]], MixedStep[_Parameters, _Result]]: ...
@overload
def mixed(
    step: Callable[_Parameters, _Result], *, dtype: str = "bf16", scale: float | None = None,
    growth_interval: int = 2000,
) -> MixedStep[_Parameters, _Result]: ...  # fmt: skip
def mixed(step: Any = None, *, dtype: str = "bf16", scale: float | None = None, growth_interval: int = 2000) -> Any:
    """A step of training that computes its products in mixed precision (a decorator).

    Matrix products of float32 that ``step`` computes, and those of its derivatives, are products of halves: operands
    and results are rounded to ``dtype``, ``"bf16"`` or ``"f16"``, and sums are float32. All other arithmetic, variables
    and the state of optimisers are as they are written. ``step`` is a plain or compiled function and is compiled.

    With ``scale``, which halves of 16 bits need and have by default, at 65536, gradients are computed of the loss times
    the scale, and divided by it. A step of an optimiser whose gradients are not finite is not made, and halves the
    scale; after ``growth_interval`` good ones it is doubled. `MixedStep.scale` holds both numbers in variables, which
    checkpoints save. ``LBFGS``, which searches along a line, knows nothing of that.

    On a CPU halves are converted to float32 and back: that costs time and saves none. It is for GPUs, and to see
    whether a model trains in halves.

    Micikevicius and others, Mixed Precision Training, 2018. Raises ValueError for another dtype, and for a scale that
    is no power of two.
    """
    made = functools.partial(MixedStep, dtype=dtype, scale=scale, growth_interval=growth_interval)
    return made if step is None else made(step)
