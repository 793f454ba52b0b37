"""The slopes of SciPy's special functions, by central differences, in both modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.errors import UserNotImplementedError

special = pytest.importorskip("scipy.special")

AT: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys("gammaln loggamma gamma rgamma psi erfcx erfi dawsn exp1 expi exp10 spence cosm1".split(), (1.3,)),
    **dict.fromkeys("i0 i1 i0e i1e j0 j1 y0 y1 k0 k1 k0e k1e log_ndtr".split(), (0.7,)),
    **dict.fromkeys("erfinv erfcinv ndtri".split(), (0.3,)),
    **dict.fromkeys("betaln beta kl_div huber".split(), (0.6, 1.7)),
    **dict.fromkeys("gammainc gammaincc jv yv iv kv zeta pseudo_huber".split(), (None, 2.5, 1.2)),
    **dict.fromkeys("boxcox boxcox1p inv_boxcox".split(), (1.4, None, 0.7)),
    "betainc": (None, 2.5, None, 1.5, 0.4),
    "hyp1f1": (None, 0.5, None, 1.5, 0.7),
    "hyp2f1": (None, 0.5, None, 1.5, None, 2.5, 0.3),
}
"""Where each function is looked at; a None stands in front of an operand that it has no slope by."""


@pytest.mark.parametrize("name", AT)
def test_slopes(name: str) -> None:
    function = getattr(special, name)
    operands = [operand for operand in AT[name] if operand is not None]
    constant = [
        before is None for before, operand in zip((1, *AT[name]), AT[name], strict=False) if operand is not None
    ]
    for place, is_constant in enumerate(constant):
        before, x, behind = tuple(operands[:place]), operands[place], tuple(operands[place + 1 :])

        def by_one(x: Any, before: Any = before, behind: Any = behind) -> Any:
            return function(*before, x, *behind)

        if is_constant:
            with pytest.raises(UserNotImplementedError, match="has no gradient"):
                jitflow.grad(by_one)(x)
            with pytest.raises(UserNotImplementedError, match="has no gradient"):
                jitflow.jvp(by_one, (x,), (1.0,))
            continue
        both = jitflow.function(lambda x: (jitflow.grad(by_one)(x), jitflow.jvp(by_one, (x,), (1.0,))[1]))
        expected = (by_one(x + 1e-6) - by_one(x - 1e-6)) / 2e-6
        assert both(x) == pytest.approx((expected, expected), rel=1e-7, abs=1e-9)


def test_arrays_beside_numbers() -> None:
    def total(a: Any, x: Any) -> Any:
        return special.betaln(a, x).sum() + special.gammainc(2.0, x * a).sum() + special.jv(1, x).sum()

    x = np.array([0.3, 0.7, 1.5])
    by_a, by_x = jitflow.grad(total, argnums=(0, 1))(1.3, x)
    assert by_a == pytest.approx((total(1.3 + 1e-6, x) - total(1.3 - 1e-6, x)) / 2e-6)
    steps = np.eye(3) * 1e-6
    assert by_x == pytest.approx([(total(1.3, x + step) - total(1.3, x - step)) / 2e-6 for step in steps])


@pytest.mark.parametrize(
    ("function", "x", "first", "second"),
    [
        (lambda x: special.i0e(x), 0.0, 0.0, 0.5),
        (lambda x: special.i1(x), 0.0, 0.5, 0.0),
        (lambda x: special.spence(x), 1.0, -1.0, 0.5),
        (lambda x: special.gammainc(1.0, x), 0.0, 1.0, -1.0),
        (lambda x: special.betainc(1.0, 1.0, x), 0.0, 1.0, 0.0),
    ],
)
def test_limits(function: Any, x: float, first: float, second: float) -> None:
    slope = jitflow.grad(function)
    assert slope(x) == pytest.approx(first)
    assert jitflow.grad(slope)(x) == pytest.approx(second)
