"""Plausible mistakes, planted one at a time: the random programs of a few fixed seeds must catch each.

This tests the test: a generator that never writes a negative index, or a judge that forgives too much, fails here.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from jitflow.frontend.arrays import promotion
from jitflow.frontend.entry import reads, results
from jitflow.frontend.numpy import reductions, ufunc_methods, ufuncs
from jitflow.frontend.outside import arguments
from jitflow.frontend.recording.values import emit
from jitflow.frontend.tracers import lift
from jitflow.ir.dtypes import BOOL
from jitflow.ir.layout import parameter_layout
from jitflow.passes.fusion import materialize
from jitflow.passes.lower.kernels import elements, extremes, reduction
from jitflow.passes.lower.kernels.emitter import Emitter
from jitflow.passes.plan import planner
from jitflow.passes.rules.algebra import algebraic
from jitflow.passes.rules.rewrite import RuleTable, rewrite
from jitflow.passes.schedule import choose
from jitflow.passes.values import cse, simplify
from tests.truth.run import Refused, check_compiled
from tests.truth.test_random_programs import COMPILED, PARTS, program_of

CATCHING = {
    "the_mask_of_a_tail_is_one_lane_short": 1,
    "lanes_are_folded_with_another_op": 1,
    "the_identity_of_products_is_0": 20192,
    "the_identity_of_minima_is_0": 20,
    "negative_indices_do_not_wrap": 15,
    "fortran_arrays_are_read_in_c_order": 17,
    "results_are_stored_inside_all_loops_only": 20100,
    "maxima_forget_nan": 17,
    "remainders_have_the_sign_of_the_dividend": 12,
    "less_holds_of_equals": 10,
    "common_subexpressions_ignore_the_dtype": 3,
    "adding_0_to_a_float_is_left_out": 2021,
    "a_float_times_0_is_0": 21632,
    "python_floats_promote_strongly": 13,
    "small_integers_are_summed_as_they_are": 1,
    "masks_of_reductions_are_ignored": 20,
    "running_sums_run_along_the_first_axis": 2013,
    "clip_prefers_the_lower_bound": 3015,
    "the_last_of_equals_is_the_argmax": 1013,
    "results_show_what_they_are_copies_of": 1022,
    "the_layout_is_no_part_of_the_key": 0,
}
"""The seed of a program that catches the fault, so that the test need not look for one."""

OTHERS = [1000 * part + number for part in range(PARTS) for number in range(COMPILED)]
"""Where to look when the generator has changed: the seeds that `test_compiled` finds nothing wrong with."""

Patch = pytest.MonkeyPatch
FAULTS: dict[str, Callable[[Patch], None]] = {}


def fault(plant: Callable[[Patch], None]) -> Callable[[Patch], None]:
    FAULTS[plant.__name__] = plant
    return plant


def renamed(patch: Patch, wrong: dict[str, str]) -> None:
    """Kernels compute another op instead."""
    original = Emitter.elementwise

    def elementwise(self: Emitter, name: str, *operands: Any, **attributes: Any) -> Any:
        return original(self, wrong.get(name, name), *operands, **attributes)

    patch.setattr(Emitter, "elementwise", elementwise)


def more_rules(patch: Patch, *rules: Any) -> None:
    table = RuleTable([*simplify.SIMPLIFICATION, *rules])
    wrong = {**_passes(), "simplify": lambda function: rewrite(function, table)}
    patch.setattr("jitflow.passes.pipeline.PASSES", wrong)


def _passes() -> dict[str, Any]:
    from jitflow.passes.pipeline import PASSES

    return dict(PASSES)


def on_emission(patch: Patch, change: Callable[[Emitter, str, tuple[Any, ...], dict[str, Any]], Any]) -> None:
    original = Emitter.emit

    def emit_op(self: Emitter, name: str, *operands: Any, **keywords: Any) -> Any:
        operands, keywords = change(SimpleNamespace(emit=original, self=self), name, operands, keywords)
        return original(self, name, *operands, **keywords)

    patch.setattr(Emitter, "emit", emit_op)


@fault
def the_mask_of_a_tail_is_one_lane_short(patch: Patch) -> None:
    def change(was: Any, name: str, operands: Any, keywords: Any) -> Any:
        if name == "lanes_below":
            operands = (was.emit(was.self, "subtract", operands[0], was.self.size(1)),)
        return operands, keywords

    on_emission(patch, change)


@fault
def lanes_are_folded_with_another_op(patch: Patch) -> None:
    def change(was: Any, name: str, operands: Any, keywords: Any) -> Any:
        if name == "fold_lanes" and keywords.get("combine") == "add":
            keywords = {**keywords, "combine": "maximum"}
        return operands, keywords

    on_emission(patch, change)


@fault
def the_identity_of_products_is_0(patch: Patch) -> None:
    patch.setitem(reduction.IDENTITY, "multiply", lambda dtype: 0)


@fault
def the_identity_of_minima_is_0(patch: Patch) -> None:
    patch.setitem(reduction.IDENTITY, "minimum", lambda dtype: False if dtype == BOOL else 0)


@fault
def negative_indices_do_not_wrap(patch: Patch) -> None:
    original = elements.Elements._in_range

    def in_range(self: Any, position: Any, axis: int, dim: Any, mode: str) -> Any:
        zero = self.emitter.number(0, elements.I64)
        return original(self, self.emitter.elementwise("maximum", position, zero), axis, dim, mode)

    patch.setattr(elements.Elements, "_in_range", in_range)


@fault
def fortran_arrays_are_read_in_c_order(patch: Patch) -> None:
    for module in (planner, materialize):
        patch.setattr(module, "parameter_layout", lambda position, kind, layout: parameter_layout(
            position, kind, "C" if layout == "F" else layout))  # fmt: skip


@fault
def results_are_stored_inside_all_loops_only(patch: Patch) -> None:
    def stores(self: Any, along: set[Any]) -> Any:
        if along != set(self.outer):
            return ()
        return self._store([v for v in self.loops.yielded if not any(loop.reduced for loop in self.loops.loops_of(v))])

    patch.setattr(choose._Choice, "_stores", stores)


@fault
def maxima_forget_nan(patch: Patch) -> None:
    renamed(patch, {"maximum": "fmax"})


@fault
def remainders_have_the_sign_of_the_dividend(patch: Patch) -> None:
    renamed(patch, {"remainder": "fmod"})


@fault
def less_holds_of_equals(patch: Patch) -> None:
    renamed(patch, {"less": "less_equal"})


@fault
def common_subexpressions_ignore_the_dtype(patch: Patch) -> None:
    def key(self: Any, op: Any) -> Any:
        return (op.name, *(self.number(operand) for operand in op.operands))

    patch.setattr(next(thing for thing in vars(cse).values() if hasattr(thing, "key")), "key", key)


@fault
def adding_0_to_a_float_is_left_out(patch: Patch) -> None:
    more_rules(patch, algebraic("add_zero_to_float", "add(x, 0) -> x", "f"))


@fault
def a_float_times_0_is_0(patch: Patch) -> None:
    more_rules(patch, algebraic("multiply_float_by_zero", "multiply(x, 0) -> 0", "f"))


@fault
def python_floats_promote_strongly(patch: Patch) -> None:
    original = promotion.placeholder

    def placeholder(operand: Any) -> Any:
        found = original(operand)
        return np.dtype(np.float64) if found is float else found

    patch.setattr(promotion, "placeholder", placeholder)


@fault
def small_integers_are_summed_as_they_are(patch: Patch) -> None:
    original = reductions._reduction_dtype

    def reduction_dtype(ufunc: Any, value: Any, dtype: Any) -> Any:
        from jitflow.frontend.recording.values import dtype_of_value

        own = dtype_of_value(value)
        return own if dtype is None and own.is_integer else original(ufunc, value, dtype)

    patch.setattr(reductions, "_reduction_dtype", reduction_dtype)


@fault
def masks_of_reductions_are_ignored(patch: Patch) -> None:
    patch.setattr(reductions, "_masked", lambda ufunc, value, *rest: value)


@fault
def running_sums_run_along_the_first_axis(patch: Patch) -> None:
    patch.setattr(ufunc_methods, "only_axis", lambda method, value, axis: 0)


@fault
def clip_prefers_the_lower_bound(patch: Patch) -> None:
    clip = np._core.umath.clip  # type: ignore[attr-defined]
    wrong = {**ufuncs.LOOPS, clip: lambda x, low, high: emit("maximum", emit("minimum", x, high), low)}
    patch.setattr(ufuncs, "LOOPS", wrong)


@fault
def the_last_of_equals_is_the_argmax(patch: Patch) -> None:
    original = extremes.ArgReduction.__init__

    def init(self: Any, *arguments: Any) -> None:
        original(self, *arguments)
        self.better = f"{self.better}_equal"

    patch.setattr(extremes.ArgReduction, "__init__", init)


@fault
def results_show_what_they_are_copies_of(patch: Patch) -> None:
    patch.setattr(results.Results, "_apart", lambda self, result: lift(result))
    patch.setattr("jitflow.frontend.recording.memory.Storage.is_held", lambda self, value: False)


@fault
def numbers_outside_are_constants(patch: Patch) -> None:
    original = reads.Recorder._number

    def number(self: Any, thing: Any, register: int) -> Any:
        return original(self, thing, register) if self.inputs.comes_from_argument(register) else thing

    patch.setattr(reads.Recorder, "_number", number)


@fault
def the_layout_is_no_part_of_the_key(patch: Patch) -> None:
    patch.setattr(arguments, "layout_of", lambda array: "C")


def fails(seed: int, captured: bool) -> bool:
    try:
        check_compiled(program_of(seed, captured=captured), fewer=False)
    except Refused:
        return False
    except Exception:
        return True
    return False


@pytest.mark.parametrize("name", FAULTS)
def test_every_fault_is_caught(name: str) -> None:
    captured = name == "numbers_outside_are_constants"
    seeds = [CATCHING[name], *OTHERS] if name in CATCHING else [*range(40), *OTHERS]
    for seed in seeds:
        with pytest.MonkeyPatch.context() as patch:
            FAULTS[name](patch)
            caught = fails(seed, captured)
        if caught and not fails(seed, captured):
            return
    pytest.fail(f"{len(seeds)} programs do not notice")


def test_there_are_twenty() -> None:
    assert len(FAULTS) >= 20
