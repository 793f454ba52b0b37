"""Kernels as CUDA C++, and their way to machine code through NVRTC, which needs neither a driver nor a GPU.

The kernels are those of the other backend, lowered for warps; `printer.py` writes them, `table.py` says what each op
becomes, `grid.py` how loops are spread over a grid, `nvrtc.py` compiles. `offload.py` makes the host program that
launches them.
"""

from jitflow.backends.cuda.module import CudaModule, cuda_text, print_program
from jitflow.backends.cuda.nvrtc import compile_to_cubin, compile_to_ptx
from jitflow.backends.cuda.offload import offload

__all__ = ["CudaModule", "compile_to_cubin", "compile_to_ptx", "cuda_text", "offload", "print_program"]
