"""Golden files: kernels in loop ops, and the CUDA C++ that they become (without what stands above every module).

Each kernel was lowered for a GPU; the files hold it as it was then, so that they change only when this backend does.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from jitflow.backends.cuda.emit_memory import AT
from jitflow.backends.cuda.types import TYPEDEFS
from jitflow.ir.parser import parse
from jitflow.ir.verifier import verify
from tests.backends.cuda.kernels import module_of
from tests.golden import read_sections

GOLDEN = Path(__file__).parent / "golden" / "kernels.cu"


@pytest.mark.parametrize("name", read_sections(GOLDEN))
def test_kernels_print_as_before(name: str, check_golden: Callable[[Path, str, str], None]) -> None:
    kernel = parse(read_sections(GOLDEN)[name].before)
    verify(kernel, "golden")
    check_golden(GOLDEN, name, module_of(kernel).text.removeprefix(f"{TYPEDEFS}\n\n{AT}\n\n"))
