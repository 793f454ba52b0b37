"""Every row of the table of operations can be printed, read back, verified and, where NumPy can say it, interpreted."""

from __future__ import annotations

import numpy as np
import pytest

from jitflow.ir.core import walk
from jitflow.ir.dims import symbol
from jitflow.ir.dtypes import DTYPES, DType
from jitflow.ir.equal import structurally_equal
from jitflow.ir.interpreter import interpret
from jitflow.ir.ops import OPS
from jitflow.ir.parser import parse
from jitflow.ir.printer import print_function
from jitflow.ir.types import Buffer, Tensor
from jitflow.ir.verifier import verify
from tests.ir.samples import NO_REFERENCE, elementwise_function, sample, sampled_ops
from tests.special_numbers import arguments_for, numbers

ELEMENTWISE = [name for name, row in OPS.items() if "elementwise" in row.traits]


@pytest.mark.parametrize("name", sampled_ops())
def test_every_op_prints_parses_and_verifies(name: str) -> None:
    function = sample(name)
    assert name in {op.name for op in walk(function.region)}
    verify(function)
    text = print_function(function)
    again = parse(text)
    verify(again)
    assert structurally_equal(function, again)
    assert print_function(again) == text


@pytest.mark.parametrize("name", [name for name in sampled_ops() if name not in NO_REFERENCE])
def test_every_op_can_be_interpreted(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    function = sample(name)
    random = np.random.default_rng(1)
    if function.layer == "host":
        interpret(function, 5, libraries={"dgemm": lambda *operands: None})
        return
    if function.layer == "loop":
        memory = np.arange(64, dtype=np.float32)
        interpret(function, *(_loop_argument(value.type, memory) for value in function.parameters))
        return
    results = interpret(function, *arguments_for(function, random))
    assert len(results) == len(function.results)
    if name == "print":
        assert capsys.readouterr().out.startswith("it is ")


def _loop_argument(kind: object, memory: object) -> object:
    return memory if isinstance(kind, Buffer) else 1


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_elementwise_ops_keep_their_promise_about_types(dtype: DType) -> None:
    """The interpreter checks that NumPy's results have the dtype and shape that the typing rules say."""
    random = np.random.default_rng(2)
    checked = 0
    for name in ELEMENTWISE:
        function = elementwise_function(name, dtype, Tensor(dtype, (symbol("n"),)))
        if function is None or _numpy_lacks(name, dtype):
            continue
        arguments = [numbers(value.type.dtype, 40, random) for value in function.parameters]  # type: ignore[union-attr]
        if name == "power" and dtype.is_integer:
            arguments[1] = abs(arguments[1] // 2) % 5
        evaluate = OPS[name].evaluate
        assert evaluate is not None
        result = evaluate(arguments, function.region.ops[0].attributes, [function.results[0].type])
        wanted = function.results[0].type
        assert isinstance(wanted, Tensor)
        assert result.dtype == wanted.dtype.numpy, name
        assert result.shape == (40,), name
        checked += 1
    assert checked > 5


def _numpy_lacks(name: str, dtype: DType) -> bool:
    return dtype.name == "bf16" and name in ("erf", "erfc", "fma")
