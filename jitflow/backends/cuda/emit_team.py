"""What the warps of a team do together: spans of positions, memory that all of them see, and waiting for each other.

What one warp has written another may read behind the next barrier. There is one in front of each span, behind which
what was there before may be written over, and one behind it. All warps of a team come to each, since what stands
beside spans they all do in the same way.
"""

from __future__ import annotations

from jitflow.backends.cuda.grid import ALIGNMENT
from jitflow.backends.cuda.printer import Emission, Printer
from jitflow.backends.cuda.types import WARP, memory_type
from jitflow.ir.core import Op

__all__ = ["TEAM_EMISSION"]


def _local(out: Printer, op: Op) -> None:
    """Memory of the team, on the chip."""
    dtype, count = op.attributes["dtype"], op.attributes["count"]
    out.alias(op.result, out.shared(memory_type(dtype), count, op.result.name or "shared"))


def _share(out: Printer, op: Op) -> None:
    count = out.operand(op.operands[0])
    (region,) = op.regions
    first, last, worker = region.parameters
    team = out.grid.team
    names = [out.names.fresh(value.name) for value in (first, last)]
    out.do("__syncthreads();")
    for name, number in zip(names, ("warp", "(warp + 1)"), strict=True):
        out.do(f"const {out.index} {name} = {count} * {number} / {team};")
    for value, text in zip((first, last, worker), (*names, f"({out.index})warp"), strict=True):
        out.alias(value, text)
    out.emit_region(region)
    out.do("__syncthreads();")


def _on_chip(out: Printer, op: Op) -> None:
    """A worker's part of the memory on the chip, behind what all workers of the block have of the rooms before."""
    name, type = out.names.fresh(op.result.name or "row"), memory_type(op.attributes["dtype"])
    if not out.rooms:
        out.do(f"extern __shared__ __align__({ALIGNMENT}) u8 chip[];")
    room = out.names.fresh("room")
    out.do(f"const i32 {room} = ((i32){out.operand(op.operands[0])} + {ALIGNMENT - 1}) / {ALIGNMENT} * {ALIGNMENT};")
    start = " + ".join([f"{out.grid.workers} * {before}" for before in out.rooms] + [f"threadIdx.y * {room}"])
    out.do(f"{type} *const {name} = ({type} *)(chip + {start});")
    out.rooms.append(room)
    out.alias(op.result, name)


_STAGE = """\
// Copies so many bytes to the chip, by all threads of a worker: 16 at a time where memory begins at such an address.
template <typename T> __device__ void stage(T *target, const T &source, i32 size, i32 thread, i32 threads) {
    const i32 whole = (u64)&source % 16 == 0 ? size / 16 * 16 : 0;
    for (i32 byte = 16 * thread; byte < whole; byte += 16 * threads) {
#if __CUDA_ARCH__ >= 800
        const u32 place = __cvta_generic_to_shared((u8 *)target + byte);
        const u8 *const from = (const u8 *)&source + byte;
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(place), "l"(from) : "memory");
#else
        *(uint4 *)((u8 *)target + byte) = *(const uint4 *)((const u8 *)&source + byte);
#endif
    }
    for (i32 n = whole / (i32)sizeof(T) + thread; n < size / (i32)sizeof(T); n += threads)
        target[n] = (&source)[n];
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}"""


def _stage(out: Printer, op: Op) -> None:
    target, source, offset, size = map(out.operand, op.operands)
    out.module.helper("stage", _STAGE)
    team = out.grid.team
    wait = "__syncthreads();" if team > 1 else "__syncwarp();"
    thread = f"{WARP} * warp + lane" if team > 1 else "lane"
    out.do(wait)
    out.do(f"stage({target}, at({source}, {offset}), (i32){size}, {thread}, {team * WARP});")
    out.do(wait)


TEAM_EMISSION: dict[str, Emission] = {"local": _local, "share": _share, "on_chip": _on_chip, "stage": _stage}
