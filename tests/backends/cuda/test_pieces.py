"""Vectors of more lanes than a warp has threads: each thread has several, which it moves by one instruction."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from jitflow.api import function as compiled
from jitflow.backends.cuda import compile_to_ptx
from jitflow.ir.interpreter import interpret
from jitflow.ir.ops.memory import Memory
from jitflow.ir.parser import parse
from tests.backends.cuda.kernels import module_of, needs_nvrtc, shape_of
from tests.backends.cuda.ptx import parse_ptx, run_ptx
from tests.compare import assert_same

pytestmark = needs_nvrtc

KERNEL = """kernel @k(%x: buffer f32, %out: buffer f32, %n: index) {{
  %0: index[0] = size {{dim=0}}
  %1: index[1] = size {{dim=1}}
  %4: index[4] = size {{dim=4}}
  %8: index[8] = size {{dim=8}}
  %step: index[{lanes}] = size {{dim={lanes}}}
  for %0, %n, %step {{parallel=true}} (%i: index) {{
    %left: index = subtract %n, %i
    %mask: boolx{lanes} = lanes_below %left {{lanes={lanes}}}
    %o: index = multiply %i, %4
    %a: f32x{lanes} = read %x, %o, %mask {{lanes={lanes}}}
    {body}
    write %out, %o, %r, %mask
    yield
  }}
  yield
}}"""

TO_ALL = "%r: f32x{lanes} = splat %f {{lanes={lanes}}}"
BODIES = {
    "arithmetic": "%r: f32x{lanes} = multiply %a, %a",
    "position": "%r: f32x{lanes} = lane_index {{dtype=f32, lanes={lanes}}}",
    "fold": '%f: f32 = fold_lanes %a {{combine="add"}}\n' + TO_ALL,
    "largest": '%f: f32 = fold_lanes %a {{combine="maximum"}}\n' + TO_ALL,
    "strided": "%p: index = multiply %i, %1\n%r: f32x{lanes} = read_strided %x, %p, %4, %mask {{lanes={lanes}}}",
    "first": """%z: f32 = constant {{value=1.0, type=<f32>}}
    %zs: f32x{lanes} = splat %z {{lanes={lanes}}}
    %hit: boolx{lanes} = greater %a, %zs
    %first: index = first_lane %hit
    %place: i64 = cast %first {{dtype=i64}}
    %number: f32 = cast %place {{dtype=f32}}
    %r: f32x{lanes} = splat %number {{lanes={lanes}}}""",
    "extracted": """%seven: index[37] = size {{dim=37}}
    %f: f32 = extract_lane %a, %seven\n"""
    + TO_ALL,
}


@pytest.mark.parametrize("lanes", [64, 128, 256])
@pytest.mark.parametrize("name", BODIES)
def test_every_lane_has_its_number(name: str, lanes: int) -> None:
    kernel = parse(KERNEL.format(lanes=lanes, body=BODIES[name].format(lanes=lanes)))
    count = 3 * lanes - 5
    x = np.random.default_rng(1).standard_normal(count).astype("f4")
    x[lanes : 2 * lanes] = 0.5  # no lane of the second vector is larger than 1
    wanted, got = np.zeros_like(x), np.zeros_like(x)
    interpret(kernel, Memory.of_array(x), Memory.of_array(wanted), count)
    module = module_of(kernel)
    code = parse_ptx(compile_to_ptx(module.text, "compute_75"))["k"]
    run_ptx(code, [x.view(np.uint8), got.view(np.uint8), count], *shape_of(module.launches[0], [0, 0, count]))
    assert_same(got, wanted, what=name)


STREAMS: dict[str, tuple[Callable[..., Any], str, str]] = {
    "f32": (lambda x, y: np.where(x > 0, x * y + 1, y), "f4", "v4.f32"),
    "f64": (lambda x, y: x * y, "f8", "v2.f64"),
    "f16": (lambda x, y: x + y, "f2", "v4.u32"),
    "i8": (lambda x, y: x + y, "i1", "v4.u32"),
    "complex": (lambda x, y: x + y, "c8", ".f32"),
}


@pytest.mark.parametrize("name", STREAMS)
def test_streams_move_sixteen_bytes_a_thread(name: str) -> None:
    function, dtype, expected = STREAMS[name]
    text = compiled(function).ir(np.ones(1000, dtype), np.ones(1000, dtype), stage="cuda")
    ptx = compile_to_ptx(text, "compute_80")
    moves = re.findall(r"(?:ld|st)\.global[\w.]*", ptx)
    assert {"ld", "st"} <= {move[:2] for move in moves if expected in move}
    assert "local" not in ptx


def test_each_operand_goes_its_own_way_wherever_it_begins() -> None:
    text = compiled(lambda x, y: x * 2 + y).ir(np.ones(1000, "f4"), np.ones(1000, "f4"), stage="cuda")
    (code,) = parse_ptx(compile_to_ptx(text, "compute_75")).values()
    for start in range(4):
        x, y = np.random.default_rng(start).standard_normal((2, 1000)).astype("f4")
        result, count = np.zeros(1000, "f4"), 777
        run_ptx(
            code, [(x.view(np.uint8), 4 * start), y.view(np.uint8), result.view(np.uint8), count], (1, 1, 1), (32, 8, 1)
        )
        assert_same(result[:count], x[start : start + count] * 2 + y[:count])
        assert not result[count:].any()


def test_long_bodies_and_short_rows_have_a_number_a_thread() -> None:
    for function, x in ((np.arctan2, np.ones((2, 1000))), (np.add, np.ones((2, 1000))[:, ::2])):
        text = compiled(lambda x, y, f=function: f(x, y)).ir(x[0], x[1], stage="cuda")
        assert "Piece" not in text
