"""Rules of Fourier transforms, convolutions and interpolation.

The transforms are linear, and the adjoint of one is another: without its factor, ``ifft`` is the adjoint of ``fft``.
NumPy puts factors where ``norm`` says; the adjoint has them on the other side. A transform of ``n`` points pads or
cuts what it is given, so the adjoint cuts or pads what it gives. Of real input, ``rfft`` keeps the half that says it
all: its adjoint is the real part of an ``ifft`` of that half, and that of ``irfft`` an ``rfft`` that counts what
stands for two twice.
"""

from __future__ import annotations

from collections.abc import Sequence

from jitflow.ir.core import Op, Value
from jitflow.ir.dims import Dim, maximum, minimum
from jitflow.ir.dtypes import F64, I64, DType
from jitflow.ir.types import Index, Scalar, Tensor, dims_of
from jitflow.passes.derivatives.factors import where
from jitflow.passes.derivatives.notation import Notation, dtype_of, options_of, rank
from jitflow.passes.derivatives.reductions import reversed_along
from jitflow.passes.derivatives.rules import Arriving, Change, Tangent, Transpose, given, no_rule, total

__all__ = ["TANGENTS", "TRANSPOSES"]

_OTHER_SIDE = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}


def _name(op: Op) -> str:
    return str(op.attributes["routine"]).rpartition(".")[2]


def _same_call(m: Notation, op: Op, tangents: Sequence[Change]) -> Sequence[Change]:
    """The tangent of a linear routine of one array: that of the tangent."""
    tangent = tangents[0]
    assert tangent is not None
    return (
        m.add(
            "host_call", tangent, *op.operands[1:], types=(op.results[0].type,), **dict(op.attributes)
        )[0],
    )  # fmt: skip


# -- transforms


def _transform(m: Notation, name: str, value: Value, size: Dim, result: DType, norm: str, axis: int) -> Value:
    """A transform along one axis, whose result has ``size`` elements there. ``ifft`` pads what is shorter."""
    dims = dims_of(value.type)
    made = Tensor(result, (*dims[:axis], size, *dims[axis + 1 :]))
    operands, keywords = [value], [""]
    if name == "ifft" and dims[axis] != size:
        operands.append(m("cast", m.size(size), dtype=I64, weak=True))
        keywords.append("n")
    (found,) = m.add(
        "host_call", *operands, types=(made,), routine=f"numpy.fft.{name}", keywords=tuple(keywords),
        options=(("axis", axis), ("norm", norm)), effect="check",
    )  # fmt: skip
    return found


def _resized(m: Notation, value: Value, size: Dim, axis: int) -> Value:
    """The first ``size`` elements along an axis, zeros where there are no more."""
    dims = dims_of(value.type)
    if dims[axis] == size:
        return value
    least = minimum(size, dims[axis])
    kept = (*dims[:axis], least, *dims[axis + 1 :])
    value = m("slice", value, starts=(0,) * len(dims), sizes=kept, steps=(1,) * len(dims))
    rest = (*dims[:axis], size - least, *dims[axis + 1 :])
    wanted = (*dims[:axis], size, *dims[axis + 1 :])
    longer = m("concatenate", value, m.zeros(Tensor(dtype_of(value), rest)), axis=axis)
    return m.named(longer, wanted)


def _points(op: Op, axis: int) -> Dim:
    """Over how many points a transform along one axis goes."""
    name, size = _name(op).removeprefix("i").removeprefix("h"), dims_of(op.operands[0].type)[axis]
    result = dims_of(op.results[0].type)[axis]
    if _name(op) in ("fft", "ifft", "irfft", "hfft"):
        return result
    points = options_of(op).get("n", size)
    if len(op.operands) > 1:
        kind = op.operands[1].type
        if not (isinstance(kind, Index) and kind.dim is not None):
            raise no_rule(op, f"give np.fft.{name} as many points as the array has, by padding or cutting it before")
        points = kind.dim
    return points if isinstance(points, int) or points is not None else size


def _from_half(m: Notation, cotangent: Value, points: Dim, norm: str, axis: int) -> Value:
    """The adjoint of ``rfft``: complex cotangents of the half to real ones of all points."""
    found = _transform(m, "ifft", cotangent, points, dtype_of(cotangent), norm, axis)
    return m("real", found)


def _to_half(m: Notation, cotangent: Value, points: Dim, norm: str, axis: int) -> Value:
    """The adjoint of ``irfft``: real cotangents of all points to complex ones of the half."""
    half = _transform(m, "rfft", cotangent, points // 2 + 1, dtype_of(cotangent).complex, norm, axis)
    place = m("cast", m("iota", dtype=I64, dims=(points // 2 + 1,), axis=0), dtype=I64)
    last = m("equal", m("multiply", 2, place), m("cast", m.size(points), dtype=I64))
    single = m("logical_or", m("equal", place, 0), last)
    times = where(m, single, m.number(1, dtype_of(cotangent)), m.number(2, dtype_of(cotangent)))
    times = m("broadcast", m.cast(times, dtype_of(half)), dims=dims_of(half.type), axes=(axis,))
    return m("multiply", half, times)


def _fourier(m: Notation, op: Op, cotangents: Sequence[Change]) -> Sequence[Arriving]:
    """The adjoint of a transform along one axis."""
    name, options, cotangent = _name(op), options_of(op), given(cotangents)
    dims = dims_of(op.operands[0].type)
    axis = options.get("axis", -1) % len(dims)
    points, norm = _points(op, axis), _OTHER_SIDE[options.get("norm")]
    if name in ("hfft", "ihfft"):  # `irfft` of the conjugate, and the conjugate of `rfft`, with the factor opposite
        norm = options.get("norm") or "backward"
    if name in ("fft", "ifft"):
        found = _transform(m, "ifft" if name == "fft" else "fft", cotangent, points, dtype_of(cotangent), norm, axis)
    elif name in ("rfft", "ihfft"):
        cotangent = m("conjugate", cotangent) if name == "ihfft" else cotangent
        found = _from_half(m, cotangent, points, norm, axis)
    else:
        found = _to_half(m, cotangent, points, norm, axis)
        found = m("conjugate", found) if name == "hfft" else found
    return (_resized(m, found, dims[axis], axis), *(None for _ in op.operands[1:]))


def _fourier_of_axes(m: Notation, op: Op, cotangents: Sequence[Change]) -> Sequence[Arriving]:
    """The adjoint of a transform of several axes: of real arrays the last axis is the halved one."""
    name, options, cotangent = _name(op), options_of(op), given(cotangents)
    dims = dims_of(op.operands[0].type)
    axes = [axis % len(dims) for axis in options.get("axes", range(len(dims)))]
    norm = _OTHER_SIDE[options.get("norm")]
    inverse, real = name.startswith("i"), name.lstrip("i").startswith("r")
    others = axes[:-1] if real else axes
    if real and inverse:
        cotangent = _to_half(m, cotangent, dims_of(cotangent.type)[axes[-1]], norm, axes[-1])
    for axis in others:
        one = "fft" if inverse else "ifft"
        cotangent = _transform(m, one, cotangent, dims_of(cotangent.type)[axis], dtype_of(cotangent), norm, axis)
    if real and not inverse:
        cotangent = _from_half(m, cotangent, dims[axes[-1]], norm, axes[-1])
    return (_resized(m, cotangent, dims[axes[-1]], axes[-1]) if real and inverse else cotangent,)


# -- convolutions


def _convolved(m: Notation, op: Op, first: Value, second: Value) -> Value:
    return m.add("host_call", first, second, types=(op.results[0].type,), **dict(op.attributes))[0]


def _bilinear_tangent(m: Notation, op: Op, tangents: Sequence[Change]) -> Sequence[Change]:
    (first, second), (one, two) = op.operands, tangents
    parts = [
        None if one is None else _convolved(m, op, m.cast(one, dtype_of(first)), second),
        None if two is None else _convolved(m, op, first, m.cast(two, dtype_of(second))),
    ]
    return (total(m, parts),)


def _convolve(m: Notation, op: Op, cotangents: Sequence[Change]) -> Sequence[Arriving]:
    first, second = op.operands
    return _both_sides(m, op, first, second, given(cotangents))


def _correlate(m: Notation, op: Op, cotangents: Sequence[Change]) -> Sequence[Arriving]:
    """``correlate(a, v)`` is ``convolve(a, conj(v[::-1]))``."""
    first, second = op.operands
    turned = reversed_along(m, second, 0)
    turned = m("conjugate", turned) if dtype_of(second).is_complex else turned
    at_first, at_second = _both_sides(m, op, first, turned, given(cotangents))
    assert isinstance(at_second, Value)
    at_second = reversed_along(m, at_second, 0)
    return at_first, m("conjugate", at_second) if dtype_of(at_second).is_complex else at_second


def _both_sides(m: Notation, op: Op, first: Value, second: Value, cotangent: Value) -> tuple[Value, Value]:
    """What arrives at two lines that were convolved: the cotangent of all overlaps, correlated with the other one."""
    (one,), (two,) = dims_of(first.type), dims_of(second.type)
    whole, (shown,) = one + two - 1, dims_of(cotangent.type)
    start = _start(op, one, two)
    dtype = dtype_of(cotangent)
    parts = (m.zeros(Tensor(dtype, (start,))), cotangent, m.zeros(Tensor(dtype, (whole - start - shown,))))
    wide = m.named(m("concatenate", *parts, axis=0), (whole,)) if start != 0 or shown != whole else cotangent
    return _correlated(m, wide, second, one), _correlated(m, wide, first, two)


def _start(op: Op, one: Dim, two: Dim) -> Dim:
    """Where among all overlaps those begin that the result shows."""
    mode, least = options_of(op).get("mode", "full"), minimum(one, two)
    if mode == "full":
        return 0
    if mode == "valid":
        return least - 1
    if _name(op) == "convolve":
        return (least - 1) // 2
    behind = minimum(maximum(two - one, 0), 1)  # `correlate` counts from the other end if the second is the longer
    return (least - 1) // 2 + behind * (1 - least % 2)


def _correlated(m: Notation, wide: Value, other: Value, size: Dim) -> Value:
    """``np.correlate(wide, other, "valid")``."""
    other = m.cast(other, dtype_of(wide)) if not dtype_of(other).is_complex else other
    wide = m.cast(wide, dtype_of(other))
    (found,) = m.add(
        "host_call", wide, other, types=(Tensor(dtype_of(wide), (size,)),), routine="numpy.correlate", keywords=(),
        options=(("mode", "valid"),), effect="check",
    )  # fmt: skip
    return found


# -- interpolation


class _Interpolation:
    """Where each point lies between two knots, in f64, as NumPy interpolates whatever the dtypes of the arguments."""

    def __init__(self, m: Notation, op: Op) -> None:
        points, knots = (m.cast(operand, F64) for operand in op.operands[:2])
        heights = m.cast(op.operands[2], dtype_of(op.results[0]))
        if len(op.operands) > 3 or options_of(op).get("period") is not None:
            raise no_rule(op)
        count = m("cast", m.size(dims_of(knots.type)[0]), dtype=I64)
        kind = Tensor(I64, dims_of(points.type)) if rank(points) else Scalar(I64)
        (above,) = m.add(
            "host_call", knots, points, types=(kind,), routine="numpy.searchsorted", keywords=("", ""),
            options=(("side", "right"),), effect="none",
        )  # fmt: skip
        last = m("maximum", m("subtract", count, 2), 0)
        self.low = m("minimum", m("maximum", m("subtract", above, 1), 0), last)
        self.high = m("minimum", m("add", self.low, 1), m("subtract", count, 1))
        ends = [m("gather", knots, place, axis=0) for place in (self.low, self.high)]
        tops = [m("gather", heights, place, axis=0) for place in (self.low, self.high)]
        width = m("subtract", ends[1], ends[0])
        flat = m("equal", width, 0)
        width = where(m, flat, 1, width)
        self.m, self.options = m, options_of(op)
        share = where(m, flat, 0, m("divide", m("subtract", points, ends[0]), width))
        self.before = m("less", points, m("gather", knots, m.number(0, I64), axis=0))
        self.behind = m("greater", points, m("gather", knots, m("subtract", count, 1), axis=0))
        inside = m("logical_not", m("logical_or", self.before, self.behind))
        slope = m("divide", m("subtract", tops[1], tops[0]), m.cast(width, dtype_of(heights)))
        self.slope = where(m, inside, slope, 0)
        self.share = where(m, self.behind, 1, where(m, self.before, 0, share))
        """How much of the upper knot there is. Outside, the last knot counts alone, or neither does."""

    def weights(self) -> tuple[Value, Value]:
        """How much of the heights of the lower and the upper knot there is."""
        m = self.m
        low, high = m("subtract", 1, self.share), self.share
        for side, chosen in (("left", self.before), ("right", self.behind)):
            if self.options.get(side) is not None:
                low, high = where(m, chosen, 0, low), where(m, chosen, 0, high)
        return low, high


def _interp(m: Notation, op: Op, cotangents: Sequence[Change]) -> Sequence[Arriving]:
    found, cotangent = _Interpolation(m, op), given(cotangents)
    points, knots, heights = op.operands[:3]
    slope = m("conjugate", found.slope) if dtype_of(found.slope).is_complex else found.slope
    moved = m.cast(m("multiply", cotangent, slope), F64)
    at = []
    for target, arriving in ((knots, m("negative", moved)), (heights, cotangent)):
        memory = m("variable", m.zeros(target.type))
        for place, weight in zip((found.low, found.high), found.weights(), strict=True):
            part = m("multiply", arriving, m.cast(weight, dtype_of(arriving)))
            m.add("scatter", memory, place, m.cast(part, dtype_of(target)), axis=0, combine="add")
        at.append(m("load", memory))
    return m.cast(moved, dtype_of(points)), *at


def _interp_tangent(m: Notation, op: Op, tangents: Sequence[Change]) -> Sequence[Change]:
    found, dtype = _Interpolation(m, op), dtype_of(op.results[0])
    of_points, of_knots, of_heights = (
        None if tangent is None else m.cast(tangent, kind)
        for tangent, kind in zip(tangents[:3], (F64, F64, dtype), strict=True)
    )

    def between(line: Value) -> Value:
        parts = [
            m("multiply", m("gather", line, place, axis=0), m.cast(weight, dtype_of(line)))
            for place, weight in zip((found.low, found.high), found.weights(), strict=True)
        ]
        return m("add", *parts)

    moved = total(m, [of_points, None if of_knots is None else m("negative", between(of_knots))])
    parts = [
        None if moved is None else m("multiply", found.slope, m.cast(moved, dtype_of(found.slope))),
        None if of_heights is None else between(of_heights),
    ]
    return (total(m, parts),)


_LINES = [f"numpy.fft.{name}" for name in "fft ifft rfft irfft hfft ihfft".split()]
_GRIDS = [f"numpy.fft.{name}" for name in "fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn".split()]

TRANSPOSES: dict[str, Transpose] = {
    **dict.fromkeys(_LINES, _fourier),
    **dict.fromkeys(_GRIDS, _fourier_of_axes),
    "numpy.convolve": _convolve,
    "numpy.correlate": _correlate,
    "numpy.interp": _interp,
}

TANGENTS: dict[str, Tangent] = {
    **dict.fromkeys((*_LINES, *_GRIDS), _same_call),
    "numpy.convolve": _bilinear_tangent,
    "numpy.correlate": _bilinear_tangent,
    "numpy.interp": _interp_tangent,
}
