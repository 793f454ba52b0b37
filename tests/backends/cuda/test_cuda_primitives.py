"""Every primitive, for every dtype, gives in PTX the bits that the reference gives, special numbers included."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from jitflow.backends.cuda import compile_to_ptx, print_program
from jitflow.ir.core import Builder, Function, Region, Value
from jitflow.ir.dtypes import DTYPES, I64, DType
from jitflow.ir.ops import OPS
from jitflow.ir.types import Buffer, Index, Scalar, Vector, with_dtype
from jitflow.passes.expand.primitives import FOLDS, LIBRARY, PRIMITIVES, dtype_class
from tests.backends.cuda.kernels import needs_nvrtc, shape_of
from tests.backends.cuda.ptx import parse_ptx, run_ptx
from tests.compare import assert_same
from tests.special_numbers import numbers

COUNT = 200
SHIFTS = {"left_shift", "right_shift"}
DIVISIONS = {"divide_truncated", "remainder_truncated"}
SIGN_OF_ZERO_IS_FREE = {"maximum", "minimum", "fmax", "fmin"}
REAL = [dtype for dtype in DTYPES.values() if not dtype.is_complex]


def spread(name: str, inputs: list[DType], output: DType, **attributes: Any) -> Function:
    """A kernel that applies an op to arrays, lane by lane; ``fold_lanes`` gives its result to all lanes."""
    kit = Builder()
    sources, target, count = [Value(Buffer(dtype)) for dtype in inputs], Value(Buffer(output)), Value(Index(), "n")
    zero, lanes = kit.make("size", dim=0), kit.make("size", dim=32)
    outer, kit.ops = kit.ops, []
    position = Value(Index(), "i")
    mask = kit.make("lanes_below", kit.make("subtract", count, position), lanes=32)

    def offset(dtype: DType) -> Value:
        return kit.make("multiply", position, kit.make("size", dim=dtype.itemsize))

    operands = [
        kit.make("read", source, offset(dtype), mask, lanes=32) for source, dtype in zip(sources, inputs, strict=True)
    ]
    result = kit.make(name, *operands, **attributes)
    if not isinstance(result.type, Vector):
        result = kit.make("splat", result, lanes=32)
    kit.add("write", target, offset(output), result, mask)
    body, kit.ops = kit.region([position], []), outer
    kit.add("for", zero, count, lanes, types=(), regions=(body,), parallel=True)
    identifier = "_".join([name, *(dtype.name for dtype in inputs), output.name, attributes.get("combine", "")])
    return Function(identifier, kit.region([*sources, target, count], []), layer="loop")


def arguments(name: str, inputs: list[DType]) -> list[Any]:
    """Numbers that the op is defined for: amounts below the width, divisors that do not overflow."""
    random = np.random.default_rng(len(name))
    found = [numbers(dtype, COUNT, random) for dtype in inputs]
    if name in SHIFTS:
        found[1] = (found[1] % inputs[1].bits).astype(inputs[1].numpy)
    if name in DIVISIONS:
        undefined = (0, -1) if inputs[1].kind == "i" else (0,)
        found[1] = np.where(np.isin(found[1], undefined), inputs[1].numpy.type(3), found[1])
    return found


def check(kernels: list[tuple[Function, list[Any], Any]]) -> None:
    """Compile kernels as one module, and compare what each gives."""
    program = Function("program", Region((), ()), (), "host", functions=tuple(kernel for kernel, _, _ in kernels))
    module = print_program(program)
    code = parse_ptx(compile_to_ptx(module.text, "compute_75"))
    for launch, (kernel, operands, expected) in zip(module.launches, kernels, strict=True):
        result = np.zeros(COUNT, expected.dtype)
        memory = [np.ascontiguousarray(array).view(np.uint8) for array in (*operands, result)]
        run_ptx(code[launch.kernel], [*memory, COUNT], *shape_of(launch, [0] * len(memory) + [COUNT]))
        assert_same(result, expected, what=kernel.name)


@needs_nvrtc
@pytest.mark.parametrize("dtype", REAL, ids=str)
def test_primitives(dtype: DType) -> None:
    kernels = []
    for name in sorted(PRIMITIVES[dtype_class(dtype.name)] - LIBRARY - {"select", "cast", "bitcast"}):
        if name == "multiply_high" and dtype.kind == "i":
            continue
        inputs = [dtype] * (OPS[name].arity or 0)
        operands = arguments(name, inputs)
        if name in SIGN_OF_ZERO_IS_FREE:
            operands = [np.where(array == 0, dtype.numpy.type(1), array) for array in operands]
        (type,) = OPS[name].infer([Vector(dtype, 32)] * len(inputs), {})  # type: ignore[misc]
        assert isinstance(type, Vector)
        expected = OPS[name].evaluate(operands, {}, [with_dtype(type, type.dtype)])  # type: ignore[misc]
        kernels.append((spread(name, inputs, type.dtype), operands, np.asarray(expected)))
    if kernels:
        check(kernels)


def convertible(source: DType, target: DType) -> bool:
    plain = {"signed", "unsigned", "float"}
    halves = {(source.name, target.name)} & {("f16", "f32"), ("f32", "f16")}
    return bool(halves) or {dtype_class(source.name), dtype_class(target.name)} <= plain


@needs_nvrtc
@pytest.mark.parametrize("source", REAL, ids=str)
def test_conversions(source: DType) -> None:
    kernels = []
    for target in REAL:
        for name in ("cast", "bitcast"):
            operand = arguments(name, [source])[0]
            if name == "cast":
                if not convertible(source, target):
                    continue
                if source.is_float and target.is_integer:
                    operand = np.abs(np.nan_to_num(operand, nan=7.5, posinf=3, neginf=-3)) % 100
                    operand = operand.astype(source.numpy)
            elif source.itemsize != target.itemsize or (source.kind == "b") != (target.kind == "b"):
                continue
            expected = OPS[name].evaluate([operand], {"dtype": target}, [Scalar(target)])  # type: ignore[misc]
            kernels.append((spread(name, [source], target, dtype=target), [operand], np.asarray(expected)))
    if kernels:
        check(kernels)


@needs_nvrtc
@pytest.mark.parametrize("dtype", [dtype for dtype in REAL if dtype_class(dtype.name) in FOLDS], ids=str)
def test_folds(dtype: DType) -> None:
    kernels = []
    for combine in sorted(FOLDS[dtype_class(dtype.name)]):
        operand = arguments(combine, [dtype])[0]
        operand = np.where(operand == 0, dtype.numpy.type(1), operand)
        operand[COUNT - COUNT % 32 :] = 0  # masked lanes read 0
        padded = np.concatenate([operand, np.zeros(-COUNT % 32, dtype.numpy)]).reshape(-1, 32)
        folded = [OPS["fold_lanes"].evaluate([row], {"combine": combine}, ()) for row in padded]  # type: ignore[misc]
        expected = np.repeat(np.array(folded, dtype.numpy), 32)[:COUNT]
        kernels.append((spread("fold_lanes", [dtype], dtype, combine=combine), [operand], expected))
    check(kernels)


@needs_nvrtc
def test_selection_and_lanes() -> None:
    random = np.random.default_rng(3)
    choice, yes, no = random.random(COUNT) < 0.5, numbers(I64, COUNT, random), numbers(I64, COUNT, random)
    select = spread("select", [DTYPES["bool"], I64, I64], I64)
    lane = spread("lane_index", [], I64, dtype=I64, lanes=32)
    check([(select, [choice, yes, no], np.where(choice, yes, no)), (lane, [], np.arange(COUNT) % 32)])
