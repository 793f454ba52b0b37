"""NVRTC takes every kernel that the compiler makes, for every kind of GPU, and says what is wrong with others."""

from __future__ import annotations

import pytest

from jitflow.backends.cuda import compile_to_cubin, compile_to_ptx, nvrtc
from jitflow.errors import CompilerBug
from tests.backends.cuda.kernels import ARCHITECTURES, needs_nvrtc, sources
from tests.sampled import in_turn, sampled

ELF = b"\x7fELF"


@needs_nvrtc
@pytest.mark.parametrize(("name", "architecture"), sampled(in_turn(sources(), ARCHITECTURES), 5 * len(ARCHITECTURES)))
def test_every_kernel_compiles(name: str, architecture: str) -> None:
    source = sources()[name]()
    assert "__global__" in source
    assert compile_to_cubin(source, architecture).startswith(ELF)


@needs_nvrtc
def test_nothing_is_contracted_or_approximated() -> None:
    """Bits are NumPy's only if products, sums, quotients and roots are each rounded by themselves."""
    source = """
extern "C" __global__ void kernel(float *x) {
    x[0] = x[1] * x[2] + x[3];
    x[4] = x[5] / x[6];
    x[7] = sqrtf(x[8]);
}"""
    ptx = compile_to_ptx(source, "compute_90")
    for instruction in ("mul.f32", "add.f32", "div.rn.f32", "sqrt.rn.f32"):
        assert instruction in ptx or instruction.replace(".f32", ".rn.f32") in ptx
    assert "fma" not in ptx
    assert "ftz" not in ptx


@needs_nvrtc
def test_what_nvrtc_refuses_is_a_bug_that_shows_the_source() -> None:
    with pytest.raises(CompilerBug, match=r"NVRTC refused the kernels for sm_90: .*\n.*undefined") as caught:
        compile_to_cubin("__device__ void f() {\n    undefined;\n}\n", "sm_90")
    assert "   2      undefined;" in str(caught.value)


@needs_nvrtc
def test_an_unknown_gpu_is_named() -> None:
    with pytest.raises(ValueError, match="expected a GPU architecture that NVRTC knows, got 'sm_1'"):
        compile_to_cubin("", "sm_1")


def test_without_nvrtc_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    nvrtc._library.cache_clear()
    monkeypatch.setattr(nvrtc, "_candidates", lambda: iter(()))
    try:
        assert not nvrtc.is_available()
        with pytest.raises(ImportError, match=r"pip install 'jitflow\[cuda13\]'"):
            compile_to_cubin("", "sm_90")
    finally:
        nvrtc._library.cache_clear()
