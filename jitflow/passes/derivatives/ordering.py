"""Rules of routines that put elements in order: each element's derivative goes where the element went.

A sorted array is a permuted one, a median or a quantile a weighted mean of two sorted elements (NumPy's ``linear``
method). Of equal elements NumPy's order decides.
"""

from __future__ import annotations

from collections.abc import Sequence

from jitflow.ir.core import Op, Value
from jitflow.ir.dims import Dim, product
from jitflow.ir.dtypes import F64, I64
from jitflow.ir.types import Tensor, dims_of
from jitflow.passes.derivatives.factors import where
from jitflow.passes.derivatives.notation import Notation, dtype_of, options_of, rank
from jitflow.passes.derivatives.rules import Arriving, Change, Part, Refused, Tangent, Transpose, given, no_rule, total

__all__ = ["TANGENTS", "TRANSPOSES"]


# -- permutations


def _positions(m: Notation, op: Op) -> list[Value]:
    """The index arrays of the elements in their new order."""
    (operand, *_), result = op.operands, op.results[0]
    dims = dims_of(operand.type)
    axis = options_of(op)["axis"] % len(dims)

    def order(value: Value) -> Value:
        (found,) = m.add(
            "host_call", value, types=(Tensor(I64, dims),), routine="numpy.argsort", keywords=(),
            options=(("axis", axis),), effect="none",
        )  # fmt: skip
        return found

    def along(positions: Value) -> list[Value]:
        iotas = [m("iota", dtype=I64, dims=dims, axis=place) for place in range(len(dims))]
        return [*iotas[:axis], positions, *iotas[axis + 1 :]]

    if op.attributes["routine"] == "numpy.sort":
        return along(order(operand))
    # Nobody knows how NumPy partitions, but the elements of both orders are the same.
    places = order(order(result))
    return along(m("gather", order(operand), *along(places), axis=0))


def _permuted(m: Notation, op: Op, cotangents: Sequence[Change]) -> Sequence[Arriving]:
    cotangent = given(cotangents)

    def add_to(m: Notation, place: Value) -> None:
        m.add("scatter", place, *_positions(m, op), cotangent, axis=0, combine="add")

    return (Part(add_to), *(None for _ in op.operands[1:]))


def _permuted_tangent(m: Notation, op: Op, tangents: Sequence[Change]) -> Sequence[Change]:
    tangent = tangents[0]
    assert tangent is not None
    return (m("gather", tangent, *_positions(m, op), axis=0),)


# -- what takes or repeats elements by their positions: done with the positions themselves


def _taken(m: Notation, op: Op) -> tuple[Value, int]:
    """From where each element of the result comes along an axis, and that axis."""
    operand, *rest = op.operands
    dims = dims_of(operand.type)
    axis = options_of(op)["axis"] % len(dims)
    options = tuple((key, 0 if key == "axis" else value) for key, value in op.attributes["options"])
    (positions,) = m.add(
        "host_call", m("iota", dtype=I64, dims=(dims[axis],), axis=0), *rest,
        types=(Tensor(I64, (dims_of(op.results[0].type)[axis],)),), routine=op.attributes["routine"],
        keywords=op.attributes["keywords"], options=options, effect=op.attributes["effect"],
    )  # fmt: skip
    return positions, axis


def _selected(m: Notation, op: Op, cotangents: Sequence[Change]) -> Sequence[Arriving]:
    cotangent = given(cotangents)

    def add_to(m: Notation, place: Value) -> None:
        positions, axis = _taken(m, op)
        m.add("scatter", place, positions, cotangent, axis=axis, combine="add")

    return (Part(add_to), *(None for _ in op.operands[1:]))


def _selected_tangent(m: Notation, op: Op, tangents: Sequence[Change]) -> Sequence[Change]:
    tangent = tangents[0]
    assert tangent is not None
    positions, axis = _taken(m, op)
    return (m("gather", tangent, positions, axis=axis),)


# -- quantiles

_PARTS = {"median": 0, "quantile": 1, "percentile": 100}


class _Quantile:
    """A median or quantile as weighted elements of rows: ``rows`` by ``size`` elements, ``count`` fractions."""

    def __init__(self, m: Notation, op: Op) -> None:
        self.m, self.op = m, op
        name = str(op.attributes["routine"]).removeprefix("numpy.")
        options, keywords = options_of(op), [key for key in op.attributes["keywords"] if key]
        unlike = len(op.operands) > 1 and rank(op.operands[1]) > 1 and name.startswith("nan")
        if options.get("method", "linear") != "linear" or keywords or unlike:
            raise no_rule(op)
        operand = op.operands[0]
        self.dims = dims_of(operand.type)
        axis = options.get("axis")
        axes = range(len(self.dims)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        self.folded = sorted(place % len(self.dims) for place in axes)
        self.kept = [place for place in range(len(self.dims)) if place not in self.folded]
        self.rows: Dim = product([self.dims[place] for place in self.kept])
        self.size: Dim = product([self.dims[place] for place in self.folded])
        self.scale = _PARTS[name.removeprefix("nan")]
        self.skips = name.startswith("nan")
        self.dtype = dtype_of(op.results[0])
        """Rows of f32 have quantiles of f64 where the fractions are an array."""

    def flat(self, value: Value) -> Value:
        """Something of the operand's shape, as rows."""
        moved = self.m("transpose", value, axes=(*self.kept, *self.folded))
        return self.m("reshape", moved, dims=(self.rows, self.size), assumed=True)

    def unflat(self, value: Value) -> Value:
        """Rows as something of the operand's shape."""
        order = (*self.kept, *self.folded)
        moved = self.m("reshape", value, dims=tuple(self.dims[place] for place in order), assumed=True)
        return self.m("transpose", moved, axes=tuple(order.index(place) for place in range(len(order))))

    def fractions(self) -> Value:
        """The fractions in a line."""
        m = self.m
        if not self.scale:
            return m.filled(0.5, Tensor(F64, (1,)))
        fraction = m.cast(self.op.operands[1], F64)
        count = product(dims_of(fraction.type))
        line = m("reshape", fraction, dims=(count,), assumed=True)
        return line if self.scale == 1 else m("divide", line, float(self.scale))

    def ends(self) -> tuple[tuple[Value, Value], tuple[Value, Value], Value]:
        """The lower and the upper element of each row and fraction: index arrays each; and the upper one's weight."""
        m, rows = self.m, self.flat(self.op.operands[0])
        (order,) = m.add(
            "host_call", rows, types=(Tensor(I64, (self.rows, self.size)),), routine="numpy.argsort", keywords=(),
            options=(("axis", -1),), effect="none",
        )  # fmt: skip
        fractions = self.fractions()
        dims = (self.rows, *dims_of(fractions.type))
        count = m.cast(m("cast", m.size(self.size), dtype=I64), F64)
        if self.skips:
            counted = m("cast", m("logical_not", m("isnan", rows)), dtype=F64)
            count = m("broadcast", m("reduce_add", counted, axes=(1,)), dims=dims, axes=(0,))
        fraction = m("broadcast", fractions, dims=dims, axes=(1,))
        place = m("multiply", fraction, m("subtract", count, 1))
        low = m("floor", place)
        high = m("minimum", m("add", low, 1), m("maximum", m("subtract", count, 1), 0))
        row = m("iota", dtype=I64, dims=dims, axis=0)
        lower, upper = (
            (row, m("gather", order, row, m("cast", end, dtype=I64), axis=0, mode="clip")) for end in (low, high)
        )
        self.steps = m.cast(m("subtract", count, 1), self.dtype)
        return lower, upper, m.cast(m("subtract", place, low), self.dtype)

    def slope(self, lower: tuple[Value, Value], upper: tuple[Value, Value]) -> Value:
        """By how much the result grows with the fraction."""
        m, rows = self.m, self.m.cast(self.flat(self.op.operands[0]), self.dtype)
        rise = m("subtract", *(m("gather", rows, *end, axis=0) for end in (upper, lower)))
        return m("divide", m("multiply", rise, self.steps), float(self.scale))

    def from_result(self, cotangent: Value) -> Value:
        """What arrives at the result, for each row and fraction."""
        m, count = self.m, product(dims_of(self.fractions().type))
        return m("transpose", m("reshape", cotangent, dims=(count, self.rows), assumed=True), axes=(1, 0))

    def as_result(self, tangent: Change) -> Change:
        """What is known for each row and fraction, in the shape of the result."""
        if tangent is None:
            return None
        turned = self.m("transpose", tangent, axes=(1, 0))
        dims = dims_of(self.op.results[0].type)
        return self.m("reshape", turned, dims=dims, assumed=True)


def _quantile(m: Notation, op: Op, cotangents: Sequence[Change]) -> Sequence[Arriving]:
    quantile = _Quantile(m, op)
    lower, upper, weight = quantile.ends()
    cotangent = quantile.from_result(given(cotangents))
    memory = m("variable", m.zeros(Tensor(dtype_of(cotangent), (quantile.rows, quantile.size))))
    above = m("multiply", cotangent, weight)
    m.add("scatter", memory, *upper, above, axis=0, combine="add")
    m.add("scatter", memory, *lower, m("subtract", cotangent, above), axis=0, combine="add")
    found = m.cast(quantile.unflat(m("load", memory)), dtype_of(op.operands[0]))
    if not quantile.scale:
        return (found,)
    growth = m("reduce_add", m("multiply", cotangent, quantile.slope(lower, upper)), axes=(0,))
    growth = m.cast(growth, dtype_of(op.operands[1]))
    return found, m("reshape", growth, dims=dims_of(op.operands[1].type), assumed=True)


def _quantile_tangent(m: Notation, op: Op, tangents: Sequence[Change]) -> Sequence[Change]:
    quantile = _Quantile(m, op)
    lower, upper, weight = quantile.ends()
    of_array, of_fraction = (*tangents, None)[:2]
    parts = []
    if of_array is not None:
        rows = m.cast(quantile.flat(of_array), quantile.dtype)
        low, high = (m("gather", rows, *end, axis=0) for end in (lower, upper))
        parts.append(m("add", low, m("multiply", weight, m("subtract", high, low))))
    if of_fraction is not None:
        slope = quantile.slope(lower, upper)
        line = m("reshape", of_fraction, dims=dims_of(slope.type)[1:], assumed=True)
        line = m("broadcast", m.cast(line, dtype_of(slope)), dims=dims_of(slope.type), axes=(1,))
        parts.append(m("multiply", slope, line))
    return (quantile.as_result(total(m, parts)),)


# -- counting


def _bincount(m: Notation, op: Op, cotangents: Sequence[Change]) -> Sequence[Arriving]:
    """Every weight is added to the bin of its number."""
    numbers = op.operands[0]
    found = m("gather", given(cotangents), numbers, axis=0)
    return tuple(found if key == "weights" else None for key in _keys(op))


def _bincount_tangent(m: Notation, op: Op, tangents: Sequence[Change]) -> Sequence[Change]:
    (place,) = (number for number, key in enumerate(_keys(op)) if key == "weights")
    tangent = tangents[place]
    assert tangent is not None
    memory = m("variable", m.zeros(op.results[0].type))
    m.add("scatter", memory, op.operands[0], m.cast(tangent, dtype_of(op.results[0])), axis=0, combine="add")
    return (m("load", memory),)


def _bins(m: Notation, op: Op) -> tuple[Value, Value]:
    """The bin of each element of a histogram, and whether it has one. Only the last bin has its right edge."""
    array, edges = op.operands[0], op.results[1]
    last = dims_of(edges.type)[0] - 1
    (above,) = m.add(
        "host_call", edges, array, types=(Tensor(I64, dims_of(array.type)),), routine="numpy.searchsorted",
        keywords=("", ""), options=(("side", "right"),), effect="none",
    )  # fmt: skip
    limit, count = m("gather", edges, m("cast", m.size(last), dtype=I64), axis=0), m("cast", m.size(last), dtype=I64)
    found = where(
        m, m("equal", array, m.cast(limit, dtype_of(array))), m("subtract", count, 1), m("subtract", above, 1)
    )
    inside = m("logical_and", m("greater_equal", found, 0), m("less", found, count))
    return where(m, inside, found, 0), inside


def _histogram(m: Notation, op: Op, cotangents: Sequence[Change]) -> Sequence[Arriving]:
    """Every weight is added to the bin of its element; edges that are given are the edges that come back."""
    of_sums, of_edges = cotangents
    if of_edges is not None and "bins" not in _keys(op):
        raise no_rule(op, "give the edges of the bins, or as many bins of floats as a number")
    arriving: dict[str, Change] = {"bins": of_edges}
    if of_sums is not None and "weights" in _keys(op):
        bins, inside = _bins(m, op)
        arriving["weights"] = where(m, inside, m("gather", of_sums, bins, axis=0), 0)
    return tuple(arriving.get(key) for key in _keys(op))


def _histogram_tangent(m: Notation, op: Op, tangents: Sequence[Change]) -> Sequence[Change | Refused]:
    moving = {key: tangent for key, tangent in zip(_keys(op), tangents, strict=True) if tangent is not None}
    bins, inside = _bins(m, op)
    memory = m("variable", m.zeros(op.results[0].type))
    if "weights" in moving:
        part = where(m, inside, m.named(moving["weights"], dims_of(inside.type)), 0)
        m.add("scatter", memory, bins, m.cast(part, dtype_of(op.results[0])), axis=0, combine="add")
    own_edges = "bins" not in _keys(op) and moving.keys() - {"weights"}
    return m("load", memory), Refused("give the edges of the bins") if own_edges else moving.get("bins")


def _keys(op: Op) -> list[str]:
    keys = [*op.attributes["keywords"]]
    return keys + [""] * (len(op.operands) - len(keys))


_QUANTILES = [f"numpy.{prefix}{name}" for prefix in ("", "nan") for name in _PARTS]

TRANSPOSES: dict[str, Transpose] = {
    "numpy.sort": _permuted,
    "numpy.partition": _permuted,
    "numpy.repeat": _selected,
    "numpy.delete": _selected,
    "numpy.bincount": _bincount,
    "jitflow.runtime.calls.routines.histogram": _histogram,
    **dict.fromkeys(_QUANTILES, _quantile),
}

TANGENTS: dict[str, Tangent] = {
    "numpy.sort": _permuted_tangent,
    "numpy.partition": _permuted_tangent,
    "numpy.repeat": _selected_tangent,
    "numpy.delete": _selected_tangent,
    "numpy.bincount": _bincount_tangent,
    "jitflow.runtime.calls.routines.histogram": _histogram_tangent,
    **dict.fromkeys(_QUANTILES, _quantile_tangent),
}
