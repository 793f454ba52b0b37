"""What is shipped along for WebAssembly does what C's functions do, bit for bit."""

from __future__ import annotations

import ctypes
import ctypes.util
import subprocess
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest

from jitflow.exports.helpers import helper_names, helpers_text
from jitflow.exports.linkers import _with_zig
from jitflow.exports.wasm32.make import digest
from jitflow.machines.processor import TARGETS
from jitflow.runtime.native.linking import LINKER
from tests.exports.elsewhere import has_node

_SCRIPT = """
import fs from "node:fs";
const {exports} = new WebAssembly.Instance(new WebAssembly.Module(fs.readFileSync(process.argv[2])));
const sent = fs.readFileSync(0), begin = sent.byteOffset;
const numbers = new Float64Array(sent.buffer.slice(begin, begin + sent.length));
const count = numbers.length / 3, out = new Float64Array(4 * count);
for (let i = 0; i < count; i++) {
  const [a, b, c] = numbers.subarray(3 * i, 3 * i + 3);
  out[4 * i] = exports.fma(a, b, c);
  out[4 * i + 1] = exports.fmaf(a, b, c);
  out[4 * i + 2] = exports.__truncdfhf2(a) & 0xffff;
  out[4 * i + 3] = exports.__extendhfsf2(i & 0xffff);
}
fs.writeSync(1, Buffer.from(out.buffer));
"""


@pytest.mark.skipif(not has_node, reason="no node, or no linker for WebAssembly")
def test_they_agree_with_c(tmp_path: Path) -> None:
    target = TARGETS["wasm32"]()
    machine = LINKER.make_machine(2, target)
    text = f'target datalayout = "{machine.target_data}"\ntarget triple = "{target.triple}"\n{helpers_text(target)}'
    with llvm.create_context() as context, llvm.parse_assembly(f"{text}\nattributes #0 = {{ nounwind }}", context) as m:
        (tmp_path / "helpers.o").write_bytes(machine.emit_object(m))
    names = [f"--export={name}" for name in helper_names(target)]
    linker = next(iter(_with_zig("wasm-ld")))
    module = tmp_path / "helpers.wasm"
    subprocess.run([*linker, "--no-entry", *names, str(tmp_path / "helpers.o"), "-o", str(module)], check=True)
    script = tmp_path / "helpers.mjs"
    script.write_text(_SCRIPT)

    numbers = _operands(20_000)
    sent = numbers.tobytes()
    ran = subprocess.run(["node", str(script), str(module)], input=sent, capture_output=True, check=True)
    found = np.frombuffer(ran.stdout, np.float64).reshape(-1, 4)
    libm = ctypes.CDLL(ctypes.util.find_library("m"))
    libm.fma.restype, libm.fma.argtypes = ctypes.c_double, [ctypes.c_double] * 3
    libm.fmaf.restype, libm.fmaf.argtypes = ctypes.c_float, [ctypes.c_float] * 3
    with np.errstate(all="ignore"):
        singles, halves = numbers.astype(np.float32), numbers[:, 0].astype(np.float16)
    expected = np.array([libm.fma(*row) for row in numbers.tolist()])
    np.testing.assert_array_equal(found[:, 0], expected)
    np.testing.assert_array_equal(np.signbit(found[:, 0]), np.signbit(expected), strict=True)
    expected = np.array([libm.fmaf(*row) for row in singles.tolist()])
    np.testing.assert_array_equal(found[:, 1], expected)
    assert (np.isnan(halves) | (found[:, 2].astype(np.uint16) == halves.view(np.uint16))).all()
    wide = np.arange(len(numbers)).astype(np.uint16).view(np.float16).astype(np.float64)
    np.testing.assert_array_equal(found[:, 3], wide)


def test_the_text_is_made_of_the_source() -> None:
    assert helpers_text(TARGETS["wasm32"]()).startswith(f"; of {digest()}\n"), "python jitflow/exports/wasm32/make.py"


def _operands(count: int) -> np.ndarray:
    """Numbers of all sizes, of like sizes that nearly cancel, small integers, halves, and special ones."""
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**64, (count, 3), np.uint64).view(np.float64)
    like = rng.normal(size=(count, 3)) * 2.0 ** rng.integers(-30, 30, (count, 3))
    like[::2, 2] = -like[::2, 0] * like[::2, 1] * (1 + rng.integers(-3, 4, (count + 1) // 2) * 2.0**-52)
    small = like * 2.0 ** rng.integers(-540, -480, (count, 1))
    small[:, 2] = like[:, 2] * 2.0 ** rng.integers(-1074, -1000, count)
    special = rng.choice(
        [0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 2.2e-308, 1.7e308, 1.0, -1.0, 3.0], (2000, 3)
    )
    return np.concatenate([bits, like, small, special, rng.integers(-4, 5, (2000, 3)).astype(float)])
