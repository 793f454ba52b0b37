"""What compiling does for GPUs: host programs that call the driver, kernels as a module for each, machine code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jitflow.backends.cuda import CudaModule
    from jitflow.ir.core import Function, Op

__all__ = ["kernels_text", "load_kernels", "offloaded", "print_kernels", "sites_of"]


def offloaded(hosts: Iterable[tuple[str, Function]]) -> tuple[Function, ...]:
    """Host programs, given with their devices, as they are for these; those of GPUs settle with what moves in them."""
    from jitflow.backends.cuda import offload
    from jitflow.machines.hardware import is_gpu
    from jitflow.passes.lower.settle import settle

    return tuple(settle(offload(host, device)) if is_gpu(device) else host for device, host in hosts)


def print_kernels(hosts: Iterable[tuple[str, Function]]) -> Mapping[str, CudaModule]:
    """The kernels of each GPU; the sites of one module follow those of the module before it."""
    from jitflow.backends.cuda import print_program
    from jitflow.machines.hardware import is_gpu

    modules: dict[str, CudaModule] = {}
    for device, host in hosts:
        if is_gpu(device):
            modules[device] = print_program(host, sites_of(modules))
    return modules


def sites_of(modules: Mapping[str, CudaModule]) -> tuple[Op, ...]:
    """The ops that can fail in the kernels of all modules: the last one knows those before it."""
    return [*modules.values()][-1].sites if modules else ()


def load_kernels(modules: Mapping[str, CudaModule]) -> Mapping[str, object]:
    """The kernels as machine code, on the GPUs that are to run them."""
    from jitflow.backends.cuda import compile_to_cubin
    from jitflow.runtime.native.cuda import gpu

    return {name: gpu(name).load(compile_to_cubin(one.text, gpu(name).architecture)) for name, one in modules.items()}


def kernels_text(fused: Function) -> str:
    """The kernels of a function as they would be for a GPU. That needs neither NVRTC nor a GPU."""
    from jitflow.backends.cuda import cuda_text
    from jitflow.passes.expand.expand import expand
    from jitflow.passes.lower import GPU, lower

    return cuda_text(expand(lower(fused, GPU).host))
