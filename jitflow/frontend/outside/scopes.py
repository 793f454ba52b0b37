"""The scopes in which a program asks for a device, for products of halves, or for products of bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Protocol

import numpy as np

from jitflow.frontend.recording.trace import active_trace, current_trace
from jitflow.ir.dtypes import DType, parse_dtype
from jitflow.ir.location import Loc
from jitflow.machines.hardware import Device, device_named
from jitflow.records import dataclass

__all__ = ["Layers", "Weight", "device", "dtype_of_products", "layers", "layers_in", "lines_inside",
           "on_device", "products_in"]  # fmt: skip


class device:  # noqa: N801  it reads as a statement
    """``with jitflow.device("cpu:1"):`` what a compiled function computes inside is computed on that device.

    Scopes inside others win, and so do variables: what reads or writes one is done where it lives. What stands in no
    scope is placed by what it costs. Outside of compiled functions nothing happens.

    Raises TypeError and ValueError as `device_named` does.
    """

    def __init__(self, name: str | Device) -> None:
        self.name = device_named(name)
        self._outer: list[tuple[Any, str]] = []

    def __enter__(self) -> device:
        trace = active_trace()
        if trace is not None:
            self._outer.append((trace, trace.device))
            trace.device = self.name
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._outer:
            trace, outer = self._outer.pop()
            trace.device = outer

    def __repr__(self) -> str:
        return f"jitflow.device({self.name!r})"


def on_device(name: str, function: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
    """What a function of the program gives if it runs in the scope of a device."""
    with device(name):
        return function(*args, **keywords)


@dataclass(frozen=True)
class Weight:
    """An operand that is computed of nothing that a call passes: how the program spells it, and what tells it apart.

    ``held``: the objects that it is computed of, by register. Their identity is part of the ``key``.
    """

    spelled: str
    key: str
    held: Mapping[int, Any]


class Layers(Protocol):
    """What knows the products of a function that is quantised (`jitflow.transforms.quantisation`).

    ``where`` are the lines that a product comes from, innermost first, those that call the function left out.
    """

    @property
    def is_watching(self) -> bool:
        """Whether products are computed as they are written, and `seen`."""

    def seen(
        self, weight: Weight, where: Sequence[Loc]
    ) -> Callable[[np.ndarray[Any, Any], np.ndarray[Any, Any]], None]:
        """What to call with both operands of a product with a weight."""

    def left_alone(self, where: Sequence[Loc], why: str) -> None:
        """A product stays one of floats."""

    def known(self, weight: Weight, where: Sequence[Loc]) -> Any:
        """The quantised form of a product; None if it stays one of floats."""


class _Products:
    """In which dtype products of float32 are computed, None for their own; and what knows which are of bytes."""

    dtype: DType | None = None
    layers: Layers | None = None
    callers: int = 0
    """How many lines led to the function that the layers are of."""


@contextmanager
def products_in(dtype: str) -> Iterator[None]:
    """Compute matrix products of float32 that a compiled function computes inside, and their derivatives, in halves."""
    trace = active_trace()
    if trace is None:
        yield
        return
    products = trace.state(_Products)
    outer, products.dtype = products.dtype, parse_dtype(dtype)
    try:
        yield
    finally:
        products.dtype = outer


def dtype_of_products() -> DType | None:
    """In which dtype the program wants products of float32, None for their own."""
    return current_trace().state(_Products).dtype


@contextmanager
def layers_in(found: Layers) -> Iterator[None]:
    """Compute the products that a compiled function computes inside as these layers say."""
    products = current_trace().state(_Products)
    outer = products.layers, products.callers
    products.layers, products.callers = found, len(_lines())
    try:
        yield
    finally:
        products.layers, products.callers = outer


def layers() -> Layers | None:
    """What knows the products of the function that is being quantised, if one is."""
    return current_trace().state(_Products).layers


def lines_inside() -> Sequence[Loc]:
    """The lines that are running, innermost first, without those that call the function that is being quantised."""
    lines = _lines()
    return lines[: len(lines) - current_trace().state(_Products).callers]


def _lines() -> list[Loc]:
    return [place for place in current_trace().here(with_callers=True).chain() if place.file]
