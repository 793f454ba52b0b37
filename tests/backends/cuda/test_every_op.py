"""The whole table of operations on a GPU: every op of tensors by itself, on every dtype; sizes and layouts take turns.

Elementwise ops, reductions and accumulations are made of their typing rules, several of them one program; the others
are the samples of `tests/ir`. What comes out is compared with the reference interpreter, which is NumPy. Products and
functions of complex numbers have the very bits that they have on the CPU, where `tests/truth` judges them.
"""

from __future__ import annotations

import copy
import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from jitflow.backends.cuda import compile_to_cubin
from jitflow.errors import UserNotImplementedError
from jitflow.ir.core import Builder, Function
from jitflow.ir.dims import symbol
from jitflow.ir.dtypes import DTYPES, DType
from jitflow.ir.interpreter import interpret
from jitflow.ir.ops import OPS
from jitflow.ir.ops.devices import DEVICE_OPS
from jitflow.ir.types import Tensor
from jitflow.passes.analyses.homebound import WHOLE, refuse_homebound
from jitflow.passes.pipeline import run_passes, tensor_pipeline
from tests.backends.cuda.kernels import ARCHITECTURES, needs_nvrtc
from tests.backends.cuda.native import Native
from tests.compare import EXACT, REDUCTION, assert_all_same, assert_same, tolerance_of
from tests.execute import Compiled, layouts_of
from tests.ir.samples import NO_REFERENCE, elementwise_function, folding_function, sample
from tests.sampled import sampled
from tests.special_numbers import arguments_for, numbers
from tests.truth.data import lay_out

pytestmark = needs_nvrtc

DIMS = (symbol("n"), symbol("m"))
SHAPES = ((2, 33), (0, 3), (3, 0), (1, 1), (2, 31), (3, 1025))
ARRAYS = ("C", "F", "reversed", "strided", "transposed", "gaps", "offset")
TOGETHER = 8
"""Ops of one program."""
IN_TURN = 30
"""Of so many programs one runs each time; all together where there is time."""
LIMITED = ("add", "multiply", "m2")
"""Folding with these, numbers that leave the range do so in some orders only."""

EXTREMA = ("maximum", "minimum", "fmax", "fmin")
"""Of zeros of both signs, either is the extreme one."""

GONE = {"size", "call", *(op.name for op in DEVICE_OPS)}
"""What no user's program gives: a size by itself, calls that were inlined, and what partitions say to each other."""
STAYS = {"print", "pop", "peek", "poke", "recur", *WHOLE}
"""What the table `homebound` keeps on the host, in the samples."""


def ops_of(dtype: DType) -> dict[str, Function]:
    """Each op of elements that takes a dtype, on matrices, in every way of folding."""
    kind = Tensor(dtype, DIMS)
    found: dict[str, Function | None] = {}
    for name, op in OPS.items():
        if name == "fma" and dtype.bits == 16:
            continue  # expansions make it, of wider floats; what is computed in f32 is rounded twice
        if "elementwise" in op.traits:
            found[name] = elementwise_function(name, dtype, kind)
        elif "reduction" in op.traits:
            found |= {f"{name} {axes}": folding_function(name, kind, axes=axes) for axes in ((0,), (1,), (0, 1))}
        elif "accumulation" in op.traits:
            found |= {f"{name} {axis}": folding_function(name, kind, axis=axis) for axis in (0, 1)}
    return {name: function for name, function in found.items() if function is not None}


def joined(functions: Sequence[Function]) -> Function:
    """One function that does what several do."""
    builder = Builder()
    builder.ops += [op for function in functions for op in function.region.body]
    parameters = [parameter for function in functions for parameter in function.parameters]
    return Function("several", builder.region(parameters, [value for f in functions for value in f.region.yielded]))


def operands(name: str, function: Function, shape: tuple[int, int], layout: str) -> list[Any]:
    """Numbers that the op is defined for."""
    random = np.random.default_rng(len(name))
    found = []
    for parameter in function.parameters:
        dtype = parameter.type.dtype  # type: ignore[union-attr]
        given = numbers(dtype, int(np.prod(shape)), random).reshape(shape)
        if name == "power" and dtype.is_integer and found:
            given = (np.abs(given // 2) % 5).astype(given.dtype)
        if (
            name.startswith(("reduce", "accumulate"))
            and name.partition(" ")[0].endswith(LIMITED)
            and dtype.kind in "fc"
        ):
            given = random.standard_normal((2, *shape))
            given = (given[0] + 1j * given[1] if dtype.is_complex else given[0]).astype(dtype.numpy)
        found.append(lay_out(given, layout) if given.size else given)
    return found


def agrees(ops: dict[str, Function], shapes: Sequence[tuple[int, int]], layout: str) -> Native:
    """Compare what a program of several ops gives, and return it."""
    everything, compiled = joined([*ops.values()]), {}
    for shape in shapes:
        arguments = {name: operands(name, function, shape, layout) for name, function in ops.items()}
        flat = [operand for given in arguments.values() for operand in given]
        classes = layouts_of(flat)
        if classes not in compiled:
            compiled[classes] = Native(everything, flat)
        results = compiled[classes](*flat)
        for (name, function), got in zip(ops.items(), results, strict=True):
            check(f"{name} {shape} {layout}", function, arguments[name], np.asarray(got))
    return next(iter(compiled.values()))


on_the_cpu = functools.cache(Compiled)
"""An op compiled for the CPU, once for all shapes."""


def check(what: str, function: Function, arguments: Sequence[Any], got: Any) -> None:
    """Compare with NumPy, functions of complex numbers with the CPU: there of larger arrays, whose sizes are not 1."""
    is_complex, folds = any(map(np.iscomplexobj, arguments)), tolerance_of(function) is REDUCTION
    if is_complex and "elementwise" in function.region.ops[0].definition.traits:
        doubled = [np.tile(argument, (2, 2)) for argument in arguments]
        rows, columns = arguments[0].shape
        (wanted,) = on_the_cpu(function)(*doubled)
        assert_same(got, wanted[:rows, :columns], EXACT, what)
        return
    op, _ = function.region.ops
    if folds and got.dtype.itemsize == 2 and op.name.startswith(("reduce", "accumulate")):
        # NumPy rounds each sum of bf16, and loses more than we may.
        wide = op.definition.evaluate([arguments[0].astype(np.float64)], op.attributes, [op.result.type])  # type: ignore[misc]
        wanted = np.asarray(wide).astype(got.dtype)
    elif op.name == "erfc":  # SciPy's own is less accurate than the C library's
        wanted = np.vectorize(math.erfc, [np.float64])(arguments[0].astype(np.float64)).astype(got.dtype)
    else:
        wanted = np.asarray(interpret(function, *arguments)[0])
    if is_complex:
        got, wanted = (np.where(np.isnan(array), np.nan, array) for array in (got, wanted))  # of several, any
    if op.name.endswith(EXTREMA) and not op.definition.traits & {"elementwise"}:
        got, wanted = (np.where(array == 0, 0, array).astype(array.dtype) for array in (got, wanted))
    if is_complex and folds:
        # A part may be much smaller than the number, whose size says how far roundings go.
        allowed = REDUCTION.epsilons * np.finfo(wanted.dtype).eps * float(np.max(np.abs(wanted), initial=0.0))
        np.testing.assert_allclose(got, wanted, 0, allowed, err_msg=what)
    else:
        assert_same(got, wanted, tolerance_of(function), what)


def parts() -> list[Any]:
    """Programs of several ops of one dtype each."""
    found: list[tuple[DType, list[str]]] = []
    for dtype in DTYPES.values():
        names = [*ops_of(dtype)]
        found += [(dtype, names[at : at + TOGETHER]) for at in range(0, len(names), TOGETHER)]
    programs = [pytest.param(at, dtype, names, id=f"{dtype}-{names[0]}") for at, (dtype, names) in enumerate(found)]
    return sampled(programs, IN_TURN)


@pytest.mark.parametrize(("at", "dtype", "names"), parts())
def test_ops_of_elements(at: int, dtype: DType, names: list[str]) -> None:
    ops = ops_of(dtype)
    turn = at // IN_TURN
    shapes = [SHAPES[turn % len(SHAPES)], SHAPES[(turn + 2) % len(SHAPES)]]
    agrees({name: ops[name] for name in names}, shapes, ARRAYS[turn % len(ARRAYS)])


@pytest.mark.stress
@pytest.mark.parametrize(("at", "dtype", "names"), parts())
def test_ops_of_elements_in_every_layout_for_every_gpu(at: int, dtype: DType, names: list[str]) -> None:
    ops = ops_of(dtype)
    for layout in ARRAYS:
        code = agrees({name: ops[name] for name in names}, SHAPES, layout)
    for architecture in ARCHITECTURES:
        assert compile_to_cubin(code.source, architecture)


OTHERS = [
    name for name, op in OPS.items()
    if not op.traits & {"elementwise", "reduction", "accumulation"} and name not in GONE
    and sample(name).layer == "tensor"
]  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_other_ops(name: str) -> None:
    before = sample(name)
    function = run_passes(before, tensor_pipeline(before))
    if name in STAYS:
        with pytest.raises(UserNotImplementedError, match="on a GPU: "):
            refuse_homebound(function)
        return
    refuse_homebound(function)
    given = arguments_for(before, np.random.default_rng(1))
    ours, theirs = (copy.deepcopy(given) for _ in range(2))
    found = Native(function, given)(*ours)
    wanted = interpret(function if name in NO_REFERENCE else before, *theirs)
    assert_all_same(map(np.asarray, found), map(np.asarray, wanted), tolerance_of(before))
    assert_all_same(ours, theirs, EXACT)
