"""What the code of kernels must have, read without a GPU: wide accesses, no memory of threads' own, tensor cores.

The counts are of PTX, and of what the assembler says of the machine code that it makes (``--ptxas-options=-v``).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from benchmarks.rooflines import CASES, execute, predict
from jitflow.backends.cuda import compile_to_ptx
from jitflow.backends.cuda.nvrtc import resources
from jitflow.errors import CompilerBug
from jitflow.ir.parser import parse
from jitflow.passes.schedule.cost import ROOM_BESIDE_ROWS, ROOM_OF_LANES
from jitflow.passes.schedule.target import A100, H200
from tests.backends.cuda.images import alone
from tests.backends.cuda.kernels import module_of, needs_nvrtc, sources
from tests.backends.cuda.native import OnDevice
from tests.backends.cuda.test_teams import WAYS
from tests.backends.cuda.test_tiles import FORMS, PROGRAMS, factors, layer
from tests.sampled import in_turn, sampled

pytestmark = needs_nvrtc


GPUS = {gpu.architecture: gpu for gpu in (A100, H200)}
WORKLOADS = [name for name in sources() if name.startswith("workload")]


@pytest.mark.parametrize(("name", "architecture"), sampled(in_turn(WORKLOADS, [*GPUS]), 6))
def test_workloads_spill_nothing(name: str, architecture: str) -> None:
    """Nothing lies in memory of a thread's own, and no block has more registers than there are."""
    for kernel, found in resources(sources()[name](), architecture).items():
        assert (found.stack, found.spilled) == (0, 0), f"{kernel}: {found}"
        assert found.registers * 256 <= GPUS[architecture].registers


@pytest.mark.parametrize(("name", "architecture"), sampled(in_turn(WAYS, [*GPUS]), 2))
def test_every_way_of_a_reduction_spills_nothing(name: str, architecture: str) -> None:
    text = OnDevice(WAYS[name][0], np.ones((2, 3), "f4")).source
    for found in resources(text, architecture).values():
        assert found.spilled == 0
        assert found.on_chip <= 16 << 10


@pytest.mark.parametrize(("form", "lies"), sampled(product(FORMS, ["x @ w", "x @ w.T", "x.T @ w.T"]), 4))
def test_products_are_tensor_cores_work(form: str, lies: str) -> None:
    dtype, options, _ = FORMS[form]
    name = "turned" if lies == "x.T @ w.T" else "layer"
    given = factors(name, 2, 3, 4, dtype)
    function = PROGRAMS[name]
    if lies == "x @ w.T":
        given, function = (given[0], given[1].T.copy(), given[2]), lambda x, w, b: layer(x, w.T, b)
    text = OnDevice(function, *given, architecture="compute_80", **options).source
    ptx = compile_to_ptx(text, "compute_80")
    expected = {
        "tf32": "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
        "f16": "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
        "bf16": "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
    }  # fmt: skip
    assert expected[form] in ptx
    assert "cp.async.cg.shared.global" in ptx
    assert ("ldmatrix.sync.aligned.m8n8.x4" in ptx) == (form in ("f16", "bf16"))
    for gpu in (A100, H200) if lies == "x @ w" else (A100,):
        assert all((found.stack, found.spilled) == (0, 0) for found in resources(text, gpu.architecture).values())


def normed(x: Any) -> Any:
    for _ in range(4):
        x = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + x.dtype.type(1e-3))
    return x


CROWDED: dict[str, Callable[[Any], Any]] = {
    "sweep after sweep": normed,
    "columns": lambda x: (*((x**power).sum(0) for power in range(1, 9)), x.argmax(0), x.var(0), x.min(0), x.max(0)),
    "many columns": lambda x: tuple((x * number).var(0) for number in range(1, 20)),
    "rows": lambda x: (*((x * number).sum(1) for number in range(1, 30)), x.var(1)),
}


@pytest.mark.parametrize("name", CROWDED)
def test_what_a_block_has_on_the_chip_is_there_on_every_gpu(name: str) -> None:
    """However many sweeps and reductions a nest has: beside a row, or alone."""
    text = OnDevice(CROWDED[name], np.ones((9, 9), "f4")).source
    for kernel in re.split(r"(?=template <typename index>)", text)[1:]:
        sizes = re.findall(r"__shared__ (?:__align__\(16\) )?[a-z]+(\d+) \w+\[(\d+)\];", kernel)
        room = sum(int(bits) // 8 * int(count) for bits, count in sizes)
        assert room <= (ROOM_BESIDE_ROWS if "extern __shared__" in kernel else ROOM_OF_LANES)


def test_more_than_a_block_may_have_is_refused() -> None:
    cells = "%0: buffer f32 = local {dtype=f32, count=12289}"
    span = "share %n, %n {step=1, threads=2, worth=9} (%i: index, %j: index, %k: index) {\n yield\n }"
    with pytest.raises(CompilerBug, match="expected at most 49152 bytes on the chip, got 49156"):
        module_of(parse(f"kernel @k(%n: index) {{\n {cells}\n {span}\n yield\n}}"))


STREAMS: dict[str, tuple[Callable[..., Any], Any]] = {
    "scale and add": (lambda x, y: x * y + 1, "f4"), "f64": (lambda x, y: x * y, "f8"),
    "bf16": (lambda x, y: x + y, ml_dtypes.bfloat16), "choice": (lambda x, y: np.where(x > y, x, -y), "f4"),
}  # fmt: skip


def drawn(seed: int) -> tuple[Callable[..., Any], Any]:
    """A program of a few light ufuncs over two arrays of one dtype, of which it makes up to two results."""
    random = np.random.default_rng(seed)
    forms = ("-{}", "np.abs({})", "np.floor({})", "({0} * 2 + 1)", "({} + {})", "({} - {})", "({} * {})",
             "np.maximum({}, {})", "np.where({0} > {1}, {1}, {0})")  # fmt: skip
    made = ["x", "y"]
    for _ in range(4):
        form = forms[random.integers(len(forms))]
        made.append(form.format(*(made[place] for place in random.integers(0, len(made), 2))))
    results = (f"{made[-1]} + x * y", f"{made[-2]} - {made[-1]}")[: 1 + seed % 2]
    return eval(f"lambda x, y: ({', '.join(results)})", {"np": np}), ("f4", "f8", "i4", "f2")[seed % 4]


@pytest.mark.parametrize("name", [*STREAMS, *range(8)])
def test_streams_move_sixteen_bytes_at_a_time(name: Any) -> None:
    """Contiguous aligned data moves in accesses of 128 bits, or of what makes 128 bits of the widest operand."""
    function, dtype = STREAMS[name] if name in STREAMS else drawn(name)
    given = np.ones((1 << 12), dtype), np.ones((1 << 12), dtype)
    device = OnDevice(function, *given, architecture="compute_80")
    results = device(*given)
    (_, _, _, counts), *_ = device.device.issued
    results = results if isinstance(results, tuple) else (results,)
    assert counts["st"] == sum(-(-result.nbytes // 512) for result in results)
    text = alone(device.source, device.device.launched)
    loads = re.findall(r"ld\.global\.nc\.v[24]", compile_to_ptx(text, "compute_80"))
    assert len(loads) >= len(given)
    assert all((found.stack, found.spilled) == (0, 0) for found in resources(text, "sm_80").values())


ROWS: dict[str, Callable[[Any], Any]] = {
    "softmax": WAYS["softmax"][0],
    "layer norm": WAYS["layer norm"][0],
    "log softmax": lambda x: (c := x - x.max(1, keepdims=True)) - np.log(np.exp(c).sum(1, keepdims=True)),
    "root mean square": lambda x: x / np.sqrt((x * x).mean(1, keepdims=True) + x.dtype.type(1e-5)),
    "between 0 and 1": lambda x: (x - x.min(1, keepdims=True)) / np.ptp(x, axis=1, keepdims=True),
}


@pytest.mark.parametrize(("name", "columns", "dtype"), [
    ("softmax", 1024, "f4"), ("softmax", 4096, "f4"), ("layer norm", 8192, "f4"), ("log softmax", 1000, "f8"),
    ("root mean square", 3000, "f4"), ("between 0 and 1", 2048, "f4"), ("softmax", 2048, "f2"),
])  # fmt: skip
def test_rows_go_over_memory_once(name: str, columns: int, dtype: str) -> None:
    """What is moved is one reading and one writing of each element, wherever sweeps need it."""
    x = np.random.default_rng(1).standard_normal((4, columns)).astype(dtype)
    device = OnDevice(ROWS[name], x, architecture="compute_80")
    device(x)
    moved = sum(counts["memory"] for *_, counts in device.device.issued)
    assert moved <= 1.03 * 2 * x.nbytes + 1024


def test_predictions_are_fractions_of_a_roofline() -> None:
    case = next(case for case in CASES if case.name.startswith("layer norm of 65536"))
    done = execute(case)
    for gpu in (A100, H200):
        row = predict(case, done, gpu)
        assert 0.5 < row["fraction"] < 1
        assert row["spilled"] == 0
