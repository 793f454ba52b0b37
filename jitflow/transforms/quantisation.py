"""Quantising: a function of floats with its products in int8.

The function runs on the calibration data twice, compiled, with its products calling out: the first time their
activations' ranges are found, the second time the error that each makes by itself. Then it is traced once more for
whatever calls come, with products of bytes (`frontend/numpy/byte_products.py`). A product is known by how the program
computes its weight of which objects, and by the line and its callers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from jitflow.compilation.compiled_function import CompiledFunction
from jitflow.errors import UserTypeError, UserValueError
from jitflow.records import dataclass
from jitflow.transforms.quantised_layer import LONGEST, QuantisedLayer, quantised_layer

if TYPE_CHECKING:
    from jitflow.frontend.outside.scopes import Weight
    from jitflow.ir.location import Loc

__all__ = ["LayerReport", "QuantisationReport", "QuantisedFunction", "quantise"]

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class LayerReport:
    """One product: its ``weight`` as the program spells it, the user's ``line``, and the weight's ``shape``.

    ``lowest`` and ``highest``: the range of its activations over the calibration data. ``error``: the norm of what its
    result differs by from the product of floats, over the norm of that. ``left``: why it stays a product of floats,
    where it does; then there is nothing else.
    """

    weight: str
    line: str
    shape: tuple[int, int] = (0, 0)
    lowest: float = 0.0
    highest: float = 0.0
    error: float = 0.0
    left: str = ""


class QuantisationReport(tuple[LayerReport, ...]):
    """A `LayerReport` for each product, in the order of the program. It prints as a table."""

    __slots__ = ()

    def __str__(self) -> str:
        rows = [("weight", "line", "shape", "activations", "error")]
        for one in self:
            ranges, error = f"{one.lowest:.4g} to {one.highest:.4g}", f"{one.error:.2%}"
            shape = f"{one.shape[0]} x {one.shape[1]}"
            rows.append((one.weight, one.line, *((shape, ranges, error) if not one.left else (f"float: {one.left}",))))
        widths = [max(len(row[place]) for row in rows if len(row) == len(rows[0])) for place in range(len(rows[0]))]
        widths[:2] = [max(len(row[place]) for row in rows) for place in range(2)]
        padded = ([cell.ljust(width) for cell, width in zip(row, widths, strict=False)] for row in rows)
        return "\n".join("  ".join(row).rstrip() for row in padded)


@dataclass(eq=False)
class _Product:
    """What is known of a product."""

    spelled: str
    line: str
    held: tuple[Any, ...] = ()
    """The objects that its weight is computed of: others are not taken for them."""
    weight: Array | None = None
    lowest: float = 0.0
    highest: float = 0.0
    layer: QuantisedLayer | None = None
    left: str = ""
    different: float = 0.0
    whole: float = 0.0

    def see(self, activations: Array, weight: Array) -> None:
        """Take in a product of the calibration data."""
        if self.weight is None:
            self.weight = weight
            self._require_finite(weight, "the weight")
            if len(weight) > LONGEST:
                self.left = f"sums of more than {LONGEST} products may leave int32"
        elif not np.array_equal(weight, self.weight):
            self._fail("changes while the calibration data is run", mend="quantise a function whose weights stay")
        self._require_finite(activations, "an operand")
        if activations.size:
            self.lowest = min(self.lowest, float(activations.min()))
            self.highest = max(self.highest, float(activations.max()))

    def compare(self, activations: Array, weight: Array) -> None:
        """Take in the error of a product of the calibration data."""
        if self.layer is not None:
            exact = activations.astype(np.float64) @ weight.astype(np.float64)
            self.different += float(np.square(self.layer.product(activations) - exact).sum())
            self.whole += float(np.square(exact).sum())

    def quantise(self) -> None:
        """Make the layer of what was seen."""
        if self.weight is None or self.left:
            return
        layer = quantised_layer(self.weight, self.lowest, self.highest)
        if layer is None:
            self.left = "its numbers leave the range of float32"
        self.layer = layer

    def report(self) -> LayerReport:
        if self.layer is None:
            return LayerReport(self.spelled, self.line, left=self.left or "the calibration data never gets there")
        error = float(np.sqrt(self.different / self.whole)) if self.whole else 0.0
        shape = self.layer.steps, len(self.layer.scales)
        return LayerReport(self.spelled, self.line, shape, self.lowest, self.highest, error)

    def _require_finite(self, array: Array, what: str) -> None:
        if not np.isfinite(array).all():
            self._fail(f"is not finite: {what} has nan or infinities", mend="leave such examples out")

    def _fail(self, found: str, mend: str) -> None:
        raise UserValueError(f"the product with {self.spelled} ({self.line}) {found}", mend=mend)


class _Products:
    """The products of a function; `jitflow.frontend.outside.scopes.Layers` says who asks for what."""

    def __init__(self) -> None:
        self.found: dict[tuple[str, ...], _Product] = {}
        self.is_watching = True
        self._see = _Product.see

    def seen(self, weight: Weight, where: Sequence[Loc]) -> Callable[[Array, Array], None]:
        made = _Product(weight.spelled, str(where[0]), held=tuple(weight.held.values()))
        product = self.found.setdefault(_place(weight.key, where), made)

        def watch(activations: Array, weight: Array) -> None:
            self._see(product, activations, weight)

        return watch

    def left_alone(self, where: Sequence[Loc], why: str) -> None:
        self.found.setdefault(_place(why, where), _Product("", str(where[0]), left=why))

    def known(self, weight: Weight, where: Sequence[Loc]) -> QuantisedLayer | None:
        product = self.found.get(_place(weight.key, where))
        if product is None or (product.layer is None and not product.left):
            raise UserValueError(
                f"the product with {weight.spelled} was not reached with the calibration data",
                mend="add examples to it that get there, and quantise anew once weights are other arrays",
                location=where[0],
            )  # fmt: skip
        return product.layer

    def end_of_ranges(self) -> None:
        """All activations have been seen: what is seen from now on is compared."""
        for product in self.found.values():
            product.quantise()
        self._see = _Product.compare

    def end_of_watching(self) -> None:
        """All is known: weights of floats are not needed any more."""
        self.is_watching = False
        for product in self.found.values():
            product.weight = None


def _place(key: str, where: Sequence[Loc]) -> tuple[str, ...]:
    return (key, *(f"{place.file}:{place.line}:{place.column}" for place in where))


class QuantisedFunction(CompiledFunction[_Parameters, _Result]):
    """What `quantise` gives: a compiled function, with a report."""

    _products: _Products

    def report(self) -> QuantisationReport:
        """What became of each product, and the error that it makes on the calibration data."""
        return QuantisationReport(product.report() for product in self._products.found.values())


def quantise(f: Callable[_Parameters, _Result], calibration: Iterable[Any]) -> QuantisedFunction[_Parameters, _Result]:
    """A function that computes what ``f`` computes with its products in int8, for inference on a CPU.

    ``f`` is a plain or compiled function of which products have a *weight* as one operand: a variable or an array that
    it reads from outside, or what is computed of these. ``calibration`` holds examples of its arguments: tuples, or
    single arguments. ``f`` runs on them twice, so it should change nothing.

    A product of floats ``x @ w`` (also ``np.dot``, ``tensordot``, ``einsum``) becomes one of bytes with sums of int32.
    ``x`` has 256 levels over the range that the calibration data shows, 0 included, and is clipped to it; each column
    of ``w`` has 255 levels, symmetric to 0, and a scale of its own. Weights are those of the moment: later assignments
    to them change nothing, and need another `quantise`; a call that finds another array in their place is refused. All
    else stays as ``f`` has it: biases and activations are floats, and so are products of two things that depend on
    arguments, batches of products, and convolutions. A nan in ``x`` is taken for the lowest level.

    The result is compiled, called, explained and exported like any other function; `QuantisedFunction.report` tells the
    error of each product. Sums are exact, so its bits do not depend on the processor but for what is done in floats.

    Raises ValueError where the calibration data is empty, where a product of it is not finite, where nothing can be
    quantised, and, when it is called, for a product that the calibration data never got to; NotImplementedError for
    gradients, and for functions that write to their weights.

    >>> small = jitflow.quantise(lambda images: model(images), [images[:200]])
    >>> print(small.report())
    >>> small.export("model", jitflow.Spec("f32", ("n", 784)))
    """
    from jitflow.api import derived
    from jitflow.signatures import with_signature
    from jitflow.transforms.transformed import refuse_part

    refuse_part(f, "a quantised form")
    plain: Any = f
    if getattr(type(f), "__jitflow_compiled__", False):
        plain = plain.__wrapped__
    if not callable(plain):
        raise UserTypeError("expected a function to quantise", found=type(f).__name__)
    products = _Products()

    def run(fun: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        from jitflow.optim.outside import object_outside

        return _traced(object_outside(products), fun, args, kwargs)

    watched = derived(with_signature(plain, run), f)
    examples = list(_examples(calibration))
    if not examples:
        raise UserValueError("no calibration data", mend="pass some examples of the arguments: [(x,), ...]")
    for end in (products.end_of_ranges, lambda: None):
        for example in examples:
            watched(*example)
        end()
    if not any(product.layer is not None for product in products.found.values()):
        raise UserValueError(
            "nothing to quantise", found=_nothing(products),
            mend="weights must be variables or arrays that the function reads from outside: lambda x: f(weights, x)",
        )  # fmt: skip
    products.end_of_watching()
    made = derived(with_signature(plain, run), f, QuantisedFunction)
    made._products = products
    return made  # type: ignore[no-any-return]


def _traced(products: _Products, fun: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    from jitflow.frontend.numpy.byte_products import require_unwritten
    from jitflow.frontend.outside.scopes import layers_in

    with layers_in(products):
        found = fun(*args, **kwargs)
    require_unwritten()
    return found


def _nothing(products: _Products) -> str:
    left = [f"{product.line}: {product.report().left}" for product in products.found.values()]
    return "; ".join(dict.fromkeys(left)) or "a function without products"


def _examples(calibration: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    if isinstance(calibration, np.ndarray) or not isinstance(calibration, Iterable):
        raise UserTypeError(
            "expected examples of the arguments", found=type(calibration).__name__, mend="put them in a list: [x]"
        )
    for example in calibration:
        yield tuple(example) if isinstance(example, tuple) else (example,)
