"""The way of a traced function to a program on a GPU that can be called: as `compiler.py`, for one device.

trace -> tensor passes -> fuse -> lower for a GPU -> expand -> offload -> CUDA C++ and LLVM -> entry
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jitflow.compiler import Compilation, fuse

if TYPE_CHECKING:
    from jitflow.ir.core import Function
    from jitflow.passes.lower import Lowered
    from jitflow.runtime.cuda import Gpu
    from jitflow.runtime.entry_device import DeviceSpecialisation

__all__ = ["lower_for_gpu", "specialise_for_gpu"]


def lower_for_gpu(compilation: Compilation, device: str) -> tuple[Lowered, Function]:
    """The host program for one GPU with its kernels, and where its results come out.

    Raises `UserNotImplementedError` for programs of which a part has to stay on the host.
    """
    from jitflow.backends.cuda import offload
    from jitflow.passes.expand.expand import expand
    from jitflow.passes.lower import GPU, lower

    (fused,) = fuse(compilation)
    with compilation.stage("lower"):
        lowered = lower(fused, GPU)
    with compilation.stage("expand"):
        host = expand(lowered.host)
    with compilation.stage("offload"):
        return lowered, offload(host, device)


def specialise_for_gpu(compilation: Compilation, device: Gpu) -> DeviceSpecialisation:
    """What can be called with arguments as they were traced, compiled for a GPU that is at hand."""
    from jitflow.backends.cuda import compile_to_cubin, print_program
    from jitflow.backends.llvm import compile_program
    from jitflow.backends.llvm.guard import guard_text
    from jitflow.failures import failure_handler
    from jitflow.plans import make_plan
    from jitflow.runtime.cuda import DeviceProgram
    from jitflow.runtime.entry_device import DeviceSpecialisation

    lowered, host = lower_for_gpu(compilation, device.name)
    module = print_program(host)
    with compilation.stage("nvrtc"):
        image = compile_to_cubin(module.text, device.architecture)
    guard = guard_text(compilation.traced.function, ordered=compilation.ordered)
    with compilation.stage("llvm"):
        code = compile_program(host, fast_math=compilation.fastmath, extra_text=guard, sites=module.sites)
    program = DeviceProgram(
        device, image, run=code.address(), symbols=code.symbols, sites=code.sites,
        raise_error=failure_handler(code.sites), keep_alive=code,
    )  # fmt: skip
    plan = make_plan(compilation.traced, lowered, ordered=compilation.ordered)
    return DeviceSpecialisation(plan, program, code.address("guard") if guard else 0)
