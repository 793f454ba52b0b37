"""One module: the kernels of a host program as a text that NVRTC compiles, and how each of them is launched."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence

from jitflow.backends.cuda.apart import restricted, written_by
from jitflow.backends.cuda.emit_memory import AT
from jitflow.backends.cuda.grid import NARROW_SUFFIX, Grid, Launch, grid_of, takes_record
from jitflow.backends.cuda.names import identifier
from jitflow.backends.cuda.offload import offload
from jitflow.backends.cuda.printer import ModuleText, Printer
from jitflow.backends.cuda.table import EMISSION
from jitflow.backends.cuda.types import TYPEDEFS, dtype_of, memory_type, register_type
from jitflow.ir.core import Function, Op, Value, walk
from jitflow.ir.types import Buffer, Index
from jitflow.records import dataclass

__all__ = ["CudaModule", "cuda_text", "print_program"]


@dataclass(frozen=True, slots=True)
class CudaModule:
    """The kernels of one program.

    ``text`` is the source, ``launches`` how to run each kernel, ``sites`` the ops that can fail, by the number in the
    second word of the error record.
    """

    text: str
    launches: tuple[Launch, ...]
    sites: tuple[Op, ...]


def cuda_text(program: Function) -> str:
    """The source of the kernels of a host program that was lowered for a GPU, as they run there.

    Comments say in which shapes they are launched.
    """
    return print_program(offload(program, "cuda:0")).text


def print_program(program: Function, sites: Sequence[Op] = ()) -> CudaModule:
    """Print the kernels of a host program that was lowered for a GPU, in primitives.

    ``sites`` are those of modules before this one, which it continues. Raises `CompilerBug` for an op or a type that
    kernels do not have.
    """
    module = ModuleText()
    module.sites += sites
    recorded = takes_record(program)
    apart = restricted(program)
    printed = [_print_kernel(module, one, apart.get(one.name, ()), recorded=recorded) for one in program.kernels]
    parts = [TYPEDEFS, AT, *module.helpers.values(), *(text for _, text in printed)]
    return CudaModule("\n\n".join(parts) + "\n", tuple(launch for launch, _ in printed), tuple(module.sites))


def _print_kernel(
    module: ModuleText, kernel: Function, apart: Collection[Value], *, recorded: bool
) -> tuple[Launch, str]:
    grid = grid_of(kernel)
    printer = Printer(module, kernel, EMISSION, grid)
    parameters = _declare_parameters(printer, kernel, apart)
    if recorded:
        parameters.append("u64 *error")
        printer.do("if (*error != 0) return;")
    for line in grid.prologue(printer.index):
        printer.do(line)
    printer.emit_region(kernel.region)
    printer.check_room()
    launch = Launch(identifier(kernel.name), kernel.parameters, grid)
    start = f'extern "C" __global__ void {_bounds(kernel, launch)}'
    comment, takes = _launch_comment(launch, printer), ", ".join(parameters)
    if printer.index == "i64":
        return launch, "\n".join([comment, f"{start}{launch.kernel}({takes}) {{", *printer.lines, "}"])
    return launch, "\n".join([comment, *_for_indices(start, launch.kernel, kernel, parameters, printer.lines)])


def _for_indices(start: str, name: str, kernel: Function, parameters: Sequence[str], lines: Sequence[str]) -> list[str]:
    """A kernel for indices of 32 bits, and one for those of 64 if it may be either, as a function of their type."""
    given = ", ".join(parameters)
    names = ", ".join(re.sub(r".*\W", "", parameter) for parameter in parameters)
    are_indices = [isinstance(parameter.type, Index) for parameter in kernel.parameters]
    takes = [
        f"index {one.split()[-1]}" if is_index else one for one, is_index in zip(parameters, are_indices, strict=False)
    ]
    takes += parameters[len(takes) :]
    generic = f"template <typename index> __device__ __forceinline__ void {name}_by({', '.join(takes)}) {{"
    kinds = {name: "i64", name + NARROW_SUFFIX: "i32"} if kernel.attributes["narrow"] else {name: "i32"}
    kernels = [f"{start}{one}({given}) {{ {name}_by<{kind}>({names}); }}" for one, kind in kinds.items()]
    return [generic, *lines, "}", *kernels]


def _bounds(kernel: Function, launch: Launch) -> str:
    """How many registers a thread may have: so few that a second block works too, if it has tiles for tensor cores."""
    if launch.grid.team == 1:
        return ""
    forms = [op.attributes["form"] for op in walk(kernel.region) if op.name == "multiply_tile"]
    return f"__launch_bounds__({math.prod(launch.block)}, {2 if forms and 'fma' not in forms else 1}) "


def _declare_parameters(printer: Printer, kernel: Function, apart: Collection[Value]) -> list[str]:
    """The parameters as C++ declares them; those through which nothing is written are ``const``."""
    written = written_by(kernel)
    declared: list[str] = []
    for parameter in kernel.parameters:
        name = printer.names.fresh(parameter.name)
        printer.alias(parameter, name)
        if isinstance(parameter.type, Buffer):
            constant = "" if parameter in written else "const "
            alone = "__restrict__ " if parameter in apart else ""
            declared.append(f"{constant}{memory_type(parameter.type.dtype)} *{alone}{name}")
        else:
            declared.append(f"{register_type(dtype_of(parameter.type))} {name}")
    return declared


def _launch_comment(launch: Launch, printer: Printer) -> str:
    blocks = ", ".join(_blocks_text(launch.grid, number, printer) for number in range(len(launch.grid.axes)))
    return f"// grid ({blocks or 1}), block ({', '.join(str(count) for count in launch.block if count > 1) or 1})"


def _blocks_text(grid: Grid, number: int, printer: Printer) -> str:
    """The blocks along an axis, as a formula over the kernel's parameters."""
    axis = grid.axes[number]
    start, stop = (printer.operand(b) if isinstance(b, Value) else str(b) for b in (axis.start, axis.stop))
    length = stop if start == "0" else f"({stop} - {start})"
    share = axis.step * (grid.workers if axis.name == "x" else 1)
    return length if share == 1 else f"ceil({length} / {share})"
