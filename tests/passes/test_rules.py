"""Every law of algebra agrees with NumPy for every dtype it fires on: limits, signed zeros, infinities and nan."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from jitflow.ir.dims import symbol
from jitflow.ir.dtypes import DTYPES, DType
from jitflow.ir.interpreter import interpret
from jitflow.ir.parser import parse
from jitflow.ir.types import Scalar, Tensor, Type, Vector
from jitflow.ir.verifier import verify
from jitflow.passes.rules.rewrite import Rule, RuleTable, rewrite
from jitflow.passes.values.simplify import ALGEBRA, SIMPLIFICATION, simplify
from tests.ir.samples import NO_REFERENCE, sample, sampled_ops
from tests.passes.generate import left_side
from tests.passes.test_golden import assert_same_meaning


def _kinds(dtype: DType) -> list[tuple[Type, bool]]:
    array = Tensor(dtype, (symbol("n"), 7))
    return [(array, False), (array, True), (Scalar(dtype), False)]


@pytest.mark.parametrize("rule", ALGEBRA, ids=lambda rule: rule.name)
def test_law_agrees_with_numpy(rule: Rule) -> None:
    fired: Counter[str] = Counter()
    for dtype in DTYPES.values():
        for kind, spread in _kinds(dtype):
            before = left_side(rule, dtype, kind, spread)
            if before is None:
                continue
            here: Counter[str] = Counter()
            after = rewrite(before, RuleTable([rule]), here)
            fired += here
            if here:
                verify(after)
                assert_same_meaning(before, after, rounds=4)
    assert fired[rule.name] >= 2


@pytest.mark.parametrize("rule", ALGEBRA, ids=lambda rule: rule.name)
def test_law_holds_of_lanes(rule: Rule) -> None:
    """Kernels simplify too: what fires on vectors gives well-typed vectors."""
    for dtype in (DTYPES["f32"], DTYPES["i32"], DTYPES["bool"]):
        before = left_side(rule, dtype, Vector(dtype, 8))
        if before is not None:
            after = rewrite(before, RuleTable(SIMPLIFICATION))
            assert [value.type for value in after.results] == [value.type for value in before.results]


@pytest.mark.parametrize("name", sampled_ops())
def test_every_op_survives_simplification(name: str) -> None:
    before = sample(name)
    after = simplify(before)
    verify(after, "simplify")
    if before.layer == "tensor" and name not in ("print", "draw", *NO_REFERENCE):  # a generator goes on
        assert_same_meaning(before, after, rounds=2)


def test_the_driver_counts_what_fires() -> None:
    rule = next(rule for rule in ALGEBRA if rule.name == "negative_negative")
    before = left_side(rule, DTYPES["f64"], Scalar(DTYPES["f64"]))
    assert before is not None
    fired: Counter[str] = Counter()
    rewrite(before, RuleTable(ALGEBRA), fired)
    assert fired == {"negative_negative": 1}


def test_checked_arithmetic_is_left_alone() -> None:
    before = parse("""func @f(%x: int) {
      %0: int = negative %x {checked=true}
      %1: int = negative %0 {checked=true}
      yield %1
    }""")
    assert simplify(before).region.ops[1].name == "negative"
    with pytest.raises(OverflowError):
        interpret(simplify(before), int(np.iinfo(np.int64).min))
