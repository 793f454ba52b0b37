"""Machine code for the CPU: a host program and its kernels become one native module.

`compile_program` writes the module as LLVM text (`module.py`, one row for each op in the `emit_*` files), has LLVM turn
it into object code (`engine.py`), and returns an `Executable`.
"""

from jitflow.backends.llvm.executable import Executable, compile_program

__all__ = ["Executable", "compile_program"]
