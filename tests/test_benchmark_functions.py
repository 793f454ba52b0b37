"""The benchmark of NumPy's functions: every row runs, and what it says of a row."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import numpy as np
from rich.console import Console

from benchmarks.function_rows import REASONS, ROWS, arguments
from benchmarks.functions import FunctionSession, Line, as_record, names_of, print_table
from jitflow.frontend.numpy.dispatch import FUNCTIONS
from jitflow.frontend.numpy.ufuncs import LOOPS

EXPRESSIONS = [expression for expressions in ROWS.values() for expression in expressions]
STORED = Path(__file__).parents[1] / "benchmarks" / "results" / "functions.json"


def test_every_row_is_numpy_s_and_stored() -> None:
    given = arguments(100)
    for expression in EXPRESSIONS:
        eval(expression, {"np": np}, {name: given[name] for name in names_of(expression)})
    assert len(set(EXPRESSIONS)) == len(EXPRESSIONS)
    stored = json.loads(STORED.read_text())["functions"]
    assert {row["expression"] for row in stored} == set(EXPRESSIONS)
    slow = {row["expression"] for row in stored if min(row["against_numpy"].values()) < 0.9}
    assert slow - set(REASONS) == set(), "what is slower than NumPy wants a reason"


def test_it_measures_and_compares() -> None:
    session = FunctionSession("jitflow")
    numpy, ours, error = session.measure("np.repeat(x, 3)", "small", 1)
    assert numpy > 0 < ours
    assert not error
    assert "not compiled" in session.measure("np.array2string(x)", "small", 1)[2]
    lines = [Line("np.repeat(x, 3)", "moving", {"small": 2.0}, {"small": 1.0}), Line("f", "moving", error="wrong")]
    assert as_record(lines)["summaries"]["small"]["geometric_mean"] == 2.0
    output = StringIO()
    print_table(lines, Console(file=output, width=150))
    assert "2.00" in output.getvalue()
    assert "wrong" in output.getvalue()


def test_few_functions_have_no_row() -> None:
    text = " ".join(EXPRESSIONS)
    names = {function.__name__ for function in (*FUNCTIONS, *LOOPS) if callable(function)}
    assert {name for name in names if f".{name}(" not in text} == set(WITHOUT_A_ROW)


WITHOUT_A_ROW = """amax amin around as_strided asanyarray asarray atleast_1d atleast_3d bool broadcast
broadcast_arrays broadcast_shapes can_cast common_type complex128 complex64 diag_indices_from dsplit empty_like float16
float32 float64 from_dlpack fromiter int16 int32 int64 int8 iscomplexobj isrealobj isscalar ix_ mask_indices
matrix_transpose may_share_memory min_scalar_type ndarray ndim require result_type roots shape shares_memory size
tensorinv tril_indices_from triu_indices_from uint16 uint32 uint64 uint8 unstack vectorize""".split()
"""What tells of types and shapes, is another function by another name, or wants what these arguments are not."""
