"""The surface of NumPy that random programs are made of: one row a pattern, with what "equal" means for it.

Fields in braces are filled by `programs.Generator`:

==========  ============================================================================================
``{a}``     a value; ``{b}`` and ``{c}`` are values that broadcast with it, or numbers written in the program
``{f}``     a float value, ``{z}`` a complex one, ``{i}`` an integer one, ``{t}`` one of bools
``{m}``     an array of at least one axis, ``{M}`` of at least two
``{axis}``  an axis of the first value, ``{axes}`` one, several or None
``{keep}``  True or False, ``{k}`` a small integer, ``{n}`` a small natural number
``{dtype}`` a dtype, ``{shape}`` a shape that fits the first value's size, ``{index}`` an index of the first value
==========  ============================================================================================
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ROWS", "Row"]


@dataclass(frozen=True)
class Row:
    """A pattern and how its result is judged (see `judge.py`)."""

    pattern: str
    closeness: str


def _rows(closeness: str, patterns: str) -> list[Row]:
    return [Row(line.strip(), closeness) for line in patterns.strip().splitlines() if line.strip()]


def _each(closeness: str, names: str, *forms: str) -> list[Row]:
    return [Row(form.replace("NAME", name), closeness) for name in names.split() for form in forms]


_UNARY = """negative positive absolute sign square reciprocal floor ceil trunc rint isnan isinf isfinite signbit
logical_not invert conjugate spacing sqrt fabs bitwise_count deg2rad rad2deg"""
_ELEMENTARY = """exp exp2 expm1 log log1p log2 log10 sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh
arctanh"""
_BINARY = """add subtract multiply divide floor_divide remainder fmod maximum minimum fmax fmin less less_equal greater
greater_equal equal not_equal logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor left_shift
right_shift gcd lcm copysign nextafter heaviside"""

_ELEMENTWISE = [
    *_each("exact", _UNARY, "np.NAME({a})"),
    *_each("elementary", _ELEMENTARY, "np.NAME({a})", "np.NAME({f})"),
    *_each("exact", _BINARY, "np.NAME({a}, {b})"),
    *_each("exact", "+ - * / // %", "{a} NAME {b}", "{b} NAME {a}", "{f} NAME {b}"),
    *_each("exact", "< <= > >= == != & | ^", "{a} NAME {b}"),
    *_each("exact", "& | ^ << >>", "{i} NAME {b}"),
    *_each("elementary", "hypot arctan2 power float_power", "np.NAME({f}, {b})"),
    *_each("cancelling", "logaddexp logaddexp2", "np.NAME({f}, {b})"),
    *_rows(
        "exact",
        """
        -{a}
        +{a}
        abs({a})
        ~{i}
        np.modf({f})[0]
        np.modf({f})[1]
        np.frexp({f})[0]
        np.frexp({f})[1]
        np.ldexp({f}, {k})
        np.divmod({a}, {b})[1]
        divmod({a}, {b})[0]
        np.where({t}, {b}, {c})
        np.where({a} > 0, {b}, 0)
        np.clip({a}, {b}, {c})
        {a}.clip(-1, 1)
        np.clip({a}, 0, None)
        {a}.real
        {a}.imag
        np.real({z})
        np.imag({z})
        np.isreal({a})
        np.iscomplex({a})
        {a}.conj()
        np.fix({f})
        np.round({a}, {k})
        {a}.round(1)
        np.nan_to_num({a})
        np.isposinf({f})
        np.isneginf({f})
        np.isclose({a}, {b})
        np.add({a}, {b}, dtype={dtype})
        np.multiply({a}, {b}, dtype={dtype}, casting='unsafe')
        np.add({a}, {b}, out=np.zeros(np.broadcast_shapes({a}.shape, np.shape({b})), {dtype}))
        np.maximum({a}, {b}, where={t}, out=np.zeros_like({a}))
        np.select([{t}, {a} > 1], [{b}, {c}], 3)
        {a}.astype({dtype})
        np.astype({a}, {dtype})
        {a}.copy()
        np.array({a})
        np.asarray({a})
        np.asarray({a}, {dtype})
        np.ascontiguousarray({a})
        np.angle({z})
        {i} ** 2
        {i} ** {n}
        """,
    ),
    *_rows(
        "elementary",
        """
        {f} ** 2
        {f} ** 0.5
        {f} ** {b}
        {a} ** 3
        2 ** {f}
        np.power({f}, {k})
        """,
    ),
]

_ELEMENTWISE += [*_rows("libm", "np.cbrt({a})"), *_rows("composite", "np.sinc({f})")]

_REDUCTIONS = [
    *_rows("extremum", "np.fmin.reduce({f}, axis={axes})"),
    *_each("linear", "sum mean", "np.NAME({a}, axis={axes}, keepdims={keep})", "{a}.NAME({axes})", "np.NAME({f})"),
    *_each("extremum", "max min", "np.NAME({a}, axis={axes}, keepdims={keep})", "{a}.NAME({axes})"),
    *_each("exact", "any all", "np.NAME({a}, axis={axes}, keepdims={keep})"),
    *_each("exact", "argmax argmin", "np.NAME({a}, axis={axis}, keepdims={keep})", "{a}.NAME()"),
    *_each("linear", "nansum nanmean", "np.NAME({f}, axis={axes}, keepdims={keep})"),
    *_each("extremum", "nanmax nanmin", "np.NAME({f}, axis={axes})"),
    *_each("exact", "nanargmax nanargmin", "np.NAME({f}, axis={axis})"),
    *_each("spread", "var std", "np.NAME({a}, axis={axes}, keepdims={keep})", "{f}.NAME({axes}, ddof=1)"),
    *_each("spread", "nanvar nanstd", "np.NAME({f}, axis={axes})"),
    *_each("product", "prod nanprod", "np.NAME({a}, axis={axes})"),
    *_rows(
        "exact",
        """
        np.count_nonzero({a}, axis={axes})
        np.ptp({a}, axis={axes})
        np.maximum.reduce({m}, axis={axis})
        np.logical_xor.reduce({a}, axis={axes})
        np.bitwise_and.reduce({i}, axis={axes})
        np.bitwise_xor.reduce({i}, axis={axes})
        np.max({a}, axis={axes}, initial=2)
        np.min({f}, axis={axes}, initial=1, where={f} > 0)
        np.any({a}, axis={axes}, where={a} > 1)
        np.maximum.accumulate({m}, axis={axis})
        np.array_equal({a}, {b})
        """,
    ),
    *_rows(
        "linear",
        """
        np.sum({a}, axis={axes}, dtype={dtype})
        np.sum({a}, axis={axes}, initial=3)
        np.sum({a}, axis={axes}, where={a} > 0)
        np.mean({m}, axis={axes}, where={m} == {m})
        np.add.reduce({a}, axis={axes})
        np.average({f}, axis={axis}, weights=np.arange({f}.shape[{axis}]) + 1)
        np.trapezoid({f}, axis={axis})
        """,
    ),
    *_rows(
        "running",
        """
        np.cumsum({a}, axis={axis})
        {a}.cumsum()
        np.add.accumulate({m}, axis={axis})
        np.cumulative_sum({m}, axis={axis}, include_initial=True)
        np.nancumsum({f}, axis={axis})
        """,
    ),
    *_rows("running product", "np.cumprod({a}, axis={axis})"),
]

_SHAPES = _rows(
    "exact",
    """
    {a}[{index}]
    {m}[{index}]
    {m}[{index}]
    {M}[{index}]
    {m}[::-1] - {m}
    {m}[1:] - {m}[:-1]
    {m}[np.arange({n}) % {m}.shape[0]]
    {m}[{i} % {m}.shape[0]]
    {M}[:, {i} % {M}.shape[1]]
    np.take({m}, [0, -1], axis={axis})
    np.take({m}, {i} % 9 - 4, mode='wrap')
    np.take_along_axis({m}, np.argmax({m}, axis={axis}, keepdims=True), axis={axis})
    {a}.reshape(-1)
    {a}.reshape({shape})
    np.reshape({m}, ({m}.shape[0], -1))
    {a}.ravel()
    {a}.flatten()
    {a}.T
    {M}.T + {M}
    np.transpose({a})
    {M}.swapaxes({axis}, 0)
    np.moveaxis({M}, {axis}, 0)
    np.moveaxis({M}, 0, -1)
    np.expand_dims({a}, {axis})
    {m}[None] * {m}[:, None]
    np.squeeze({a})
    np.squeeze({m}, axis={axis})
    np.broadcast_to({a}, ({n},) + {a}.shape)
    np.concatenate([{m}, {m}], axis={axis})
    np.concatenate([{m}, {b}])
    np.concatenate(({m}, {m}[::-1]), axis={axis}, dtype={dtype}, casting='unsafe')
    np.stack([{a}, {a}], axis={axis})
    np.hstack([{a}, {b}])
    np.vstack([{a}, {b}])
    np.dstack([{a}, {a}])
    np.column_stack([{m}, {m}])
    np.split({m}, [1, 3], axis={axis})[{n}]
    np.split({m}, 2)[1]
    np.array_split({m}, 3)[{n}]
    np.repeat({a}, {n}, axis={axis})
    np.tile({a}, ({n}, 2))
    np.flip({a}, {axes})
    np.roll({a}, {k}, axis={axis})
    np.roll({a}, {k})
    np.rot90({M}, {k})
    np.pad({m}, {n})
    np.pad({m}, 2, mode='edge')
    np.pad({m}, 1, mode='reflect')
    np.atleast_2d({a})
    np.atleast_3d({a})
    np.diag({m}, {k})
    np.diagonal({M}, {k})
    np.tril({M}, {k})
    np.triu({M}, {k})
    np.diff({m}, axis={axis})
    np.diff({m}, n=2)
    np.ediff1d({m})
    np.gradient({f}, axis={axis})
    np.outer({a}, {a})
    np.kron({m}, {m})
    np.zeros({a}.shape, {dtype}) + {a}
    np.ones_like({a})
    np.full_like({a}, {k})
    np.full(({n}, 2), {a})
    np.zeros_like({a}, dtype={dtype})
    np.arange({m}.shape[0]) * 2
    np.arange({k}, {n}, dtype=np.float32)
    np.arange({n}) + {a}
    np.arange({m}.size).reshape({m}.shape) + {m}
    np.linspace(0, 1, {n})
    np.linspace({f}, 2, 5)
    np.eye({n}, {m}.shape[0], {k})
    np.identity({n}) * 2.5
    np.tri({m}.shape[0])
    np.meshgrid({m}, {m})[0]
    np.indices(({m}.shape[0], 2))[1]
    {a}.size * 2
    {a} / {a}.size
    len({m}) + {m}
    {a}.ndim + {a}
    np.shape({a})[0] * {a}
    """,
)

_PRODUCTS = [
    *_rows(
        "product of matrices",
        """
        np.trace({M}, {k})
        np.dot({m}, {m})
        np.dot({M}, {M}.T)
        np.vdot({m}, {m})
        np.inner({m}, {m})
        {M} @ {M}.T
        {M}.T @ {M}
        {M} @ {m}
        {m} @ {m}
        np.matmul({M}, {b})
        np.matmul({M}.swapaxes(-1, -2), {M})
        np.tensordot({M}, {M}, axes=({axis}, {axis}))
        np.tensordot({m}, {m}, axes=1)
        np.einsum('ij,kj->ik', {M}, {M})
        np.einsum('ij,ij->i', {M}, {M})
        np.einsum('i,j->ij', {m}, {m})
        np.einsum('...i,...i', {m}, {m})
        np.einsum('ii->i', np.outer({m}[:9], {m}[:9]))
        np.einsum('ij->ji', {M})
        np.einsum('ijk->j', {M})
        np.vecdot({m}, {m})
        """,
    ),
    *_rows("norm", "np.linalg.norm({m})\nnp.linalg.norm({M}, axis={axis})\nnp.linalg.vector_norm({m})"),
]

ROWS: tuple[tuple[Row, ...], ...] = tuple(map(tuple, (_ELEMENTWISE, _ELEMENTWISE, _REDUCTIONS, _SHAPES, _PRODUCTS)))
"""The groups; a program picks a group first, so that no group crowds out another."""
