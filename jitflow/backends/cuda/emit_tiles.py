"""Tiles of products: what a team multiplies on the chip, and what it does with each element.

A tile of a factor lies on the chip as it does in memory, in lines along the direction without gaps; a line has some
bytes more than it needs, so that the threads that read a column find it in different banks. Two tiles of each factor
are there: one is multiplied while the other is copied. What lies behind the end of a factor is 0 on the chip.

Of the 128 x 128 sums each thread has 64. With tensor cores (``mma.sync``, from sm_80 on) a warp has 64 x 32 of them, in
pieces of 16 x 8, of which a thread has two pairs; its operands are read by ``ldmatrix``, which also turns what lies the
other way round. Else (``fma``, and everywhere before sm_80) a thread has 8 x 8. What is done with the product is done
row by row, 16 of which go through memory on the chip: so neighbouring threads have neighbouring columns.
"""

from __future__ import annotations

from jitflow.backends.cuda.printer import Emission, Printer
from jitflow.backends.cuda.types import memory_type
from jitflow.ir.core import Op

__all__ = ["TILES", "TILE_EMISSION"]

TILES = """\
// Copies lines of a matrix to the chip; what lies behind its ends is 0 there.
template <i32 LINES, i32 LENGTH, i32 PITCH, typename T>
__device__ void fetch(T *tile, const char *source, i64 stride, i64 lines, i64 length, i32 thread) {
    constexpr i32 PIECE = 16 / sizeof(T), PIECES = LENGTH / PIECE, STEP = 256 / PIECES;
    const i32 start = thread % PIECES * PIECE, first = thread / PIECES;
    const i32 left = length - start < PIECE ? (i32)(length - start) : PIECE;
    const i32 there = lines < LINES ? (i32)lines : LINES;
    const char *from = source + first * stride + start * sizeof(T);
    T *to = tile + first * PITCH + start;
    #pragma unroll 1
    for (i32 line = first; line < LINES; line += STEP, from += STEP * stride, to += STEP * PITCH) {
        if (line < there && left == PIECE && (u64)from % 16 == 0) {
#if __CUDA_ARCH__ >= 800
            const u32 place = __cvta_generic_to_shared(to);
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(place), "l"(from) : "memory");
#else
            *(uint4 *)to = *(const uint4 *)from;
#endif
        } else {
            #pragma unroll
            for (i32 part = 0; part < PIECE; ++part)
                to[part] = line < there && part < left ? ((const T *)from)[part] : (T)0;
        }
    }
}
// Where an element of a tile lies, given its number along steps and across them.
template <bool ALONG, i32 PITCH> __device__ i32 place(i32 across, i32 step) {
    return ALONG ? across * PITCH + step : step * PITCH + across;
}
template <bool TURNED> __device__ void read_matrices(u32 (&registers)[4], const u16 *row) {
    const u32 place = __cvta_generic_to_shared(row);
    if (TURNED)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
            : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]), "=r"(registers[3]) : "r"(place) : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
            : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]), "=r"(registers[3]) : "r"(place) : "memory");
}
#define MULTIPLY(SHAPE, TYPES) \\
    asm volatile("mma.sync.aligned." SHAPE ".row.col.f32." TYPES ".f32 " \\
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \\
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]) \\
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
enum class Form { fma, f16, bf16, tf32 };
template <Form FORM> __device__ void multiply_piece(f32 *sum, const u32 (&a)[4], const u32 *b) {
#if __CUDA_ARCH__ >= 800
    if (FORM == Form::f16)
        MULTIPLY("m16n8k16", "f16.f16");
    else if (FORM == Form::bf16)
        MULTIPLY("m16n8k16", "bf16.bf16");
    else
        MULTIPLY("m16n8k8", "tf32.tf32");
#endif
}
template <Form FORM> __device__ f32 as_float(u16 bits) {
    f32 number = __uint_as_float((u32)bits << 16);
    if (FORM == Form::f16)
        asm("cvt.f32.f16 %0, %1;" : "=f"(number) : "h"(bits));
    return number;
}
template <Form FORM> __device__ f32 as_float(f32 number) { return number; }
__device__ u32 as_tf32(f32 number) {
    u32 rounded = 0;
#if __CUDA_ARCH__ >= 800
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(number));
#endif
    return rounded;
}
#if __CUDA_ARCH__ >= 800
template <Form FORM> constexpr bool has_cores = FORM != Form::fma;
#else
template <Form FORM> constexpr bool has_cores = false;
#endif
// The row and column in a tile of a thread's sum of this number.
template <Form FORM> __device__ i32 row_of(i32 number, i32 warp, i32 lane) {
    if (has_cores<FORM>)
        return warp / 4 * 64 + number / 16 * 16 + lane / 4 + number % 4 / 2 * 8;
    const i32 thread = warp * 32 + lane;
    return thread / 16 * 4 + number / 8 % 4 + number / 32 * 64;
}
template <Form FORM> __device__ i32 column_of(i32 number, i32 warp, i32 lane) {
    if (has_cores<FORM>)
        return warp % 4 * 32 + number % 16 / 4 * 8 + lane % 4 * 2 + number % 2;
    const i32 thread = warp * 32 + lane;
    return thread % 16 * 4 + number % 4 + number % 8 / 4 * 64;
}
// Puts those of a thread's sums to the chip that belong to these 16 rows of a tile.
template <Form FORM, i32 ROW_PITCH>
__device__ void put_rows(f32 *rows, const f32 (&sums)[64], i32 slice, i32 warp, i32 lane) {
    #pragma unroll
    for (i32 n = 0; n < 64; ++n) {
        const bool here = has_cores<FORM> ? n / 16 == slice % 4 && warp / 4 == slice / 4
                                          : n / 32 == slice / 4 && warp / 2 == slice % 4;
        if (here)
            rows[row_of<FORM>(n, warp, lane) % 16 * ROW_PITCH + column_of<FORM>(n, warp, lane)] = sums[n];
    }
}
// Four numbers of a step that are neighbours across it.
template <Form FORM, bool ALONG, i32 PITCH, typename T>
__device__ void read_four(f32 *numbers, const T *tile, i32 across, i32 step) {
    if constexpr (!ALONG && sizeof(T) == 4) {
        const float4 four = *(const float4 *)&tile[step * PITCH + across];
        numbers[0] = four.x, numbers[1] = four.y, numbers[2] = four.z, numbers[3] = four.w;
    } else {
        #pragma unroll
        for (i32 n = 0; n < 4; ++n)
            numbers[n] = as_float<FORM>(tile[place<ALONG, PITCH>(across + n, step)]);
    }
}
// Adds the product of two tiles to a thread's sums.
template <Form FORM, i32 DEPTH, bool LEFT_ALONG, bool RIGHT_ALONG, i32 LEFT, i32 RIGHT, typename T>
__device__ void multiply_tiles(f32 (&sums)[64], const T *left, const T *right, i32 warp, i32 lane) {
    if constexpr (!has_cores<FORM>) {
        const i32 row = row_of<Form::fma>(0, warp, lane), column = column_of<Form::fma>(0, warp, lane);
        #pragma unroll
        for (i32 step = 0; step < DEPTH; ++step) {
            f32 a[8], b[8];
            #pragma unroll
            for (i32 n = 0; n < 8; n += 4) {
                read_four<FORM, LEFT_ALONG, LEFT>(a + n, left, row + n * 16, step);
                read_four<FORM, RIGHT_ALONG, RIGHT>(b + n, right, column + n * 16, step);
            }
            #pragma unroll
            for (i32 n = 0; n < 64; ++n)
                sums[n] = __fmaf_rn(a[n / 8], b[n % 8], sums[n]);
        }
    } else if constexpr (FORM == Form::tf32) {
        const i32 row = warp / 4 * 64 + lane / 4, column = warp % 4 * 32 + lane / 4;
        #pragma unroll
        for (i32 step = 0; step < DEPTH; step += 8) {
            const i32 first = step + lane % 4;
            u32 a[4][4], b[4][2];
            #pragma unroll
            for (i32 n = 0; n < 16; ++n) {
                const i32 across = row + n / 4 * 16 + n % 2 * 8, along = first + n % 4 / 2 * 4;
                a[n / 4][n % 4] = as_tf32(left[place<LEFT_ALONG, LEFT>(across, along)]);
            }
            #pragma unroll
            for (i32 n = 0; n < 8; ++n)
                b[n / 2][n % 2] = as_tf32(right[place<RIGHT_ALONG, RIGHT>(column + n / 2 * 8, first + n % 2 * 4)]);
            #pragma unroll
            for (i32 n = 0; n < 16; ++n)
                multiply_piece<FORM>(&sums[4 * n], a[n / 4], b[n % 4]);
        }
    } else {
        const i32 half = lane / 8 % 2 * 8, other = lane / 16 * 8, line = lane % 8;
        #pragma unroll
        for (i32 step = 0; step < DEPTH; step += 16) {
            u32 a[4][4], b[2][4];
            #pragma unroll
            for (i32 n = 0; n < 4; ++n) {
                const i32 row = warp / 4 * 64 + 16 * n;
                read_matrices<!LEFT_ALONG>(a[n], left + (LEFT_ALONG
                    ? (row + half + line) * LEFT + step + other : (step + other + line) * LEFT + row + half));
            }
            #pragma unroll
            for (i32 n = 0; n < 2; ++n) {
                const i32 column = warp % 4 * 32 + 16 * n;
                read_matrices<!RIGHT_ALONG>(b[n], right + (RIGHT_ALONG
                    ? (column + other + line) * RIGHT + step + half : (step + half + line) * RIGHT + column + other));
            }
            #pragma unroll
            for (i32 n = 0; n < 16; ++n)
                multiply_piece<FORM>(&sums[4 * n], a[n / 4], b[n % 4 / 2] + n % 2 * 2);
        }
    }
}
// A thread's sums of a tile of a product, whose factors begin here.
template <Form FORM, i32 DEPTH, bool LEFT_ALONG, bool RIGHT_ALONG, typename T, i32 ROOM>
__device__ void multiply_tile(
    f32 (&sums)[64], u8 (&room)[ROOM], const char *left, i64 left_stride, const char *right, i64 right_stride,
    i64 rows, i64 columns, i64 steps, i32 warp, i32 lane
) {
    constexpr i32 LINES = 128, MORE = 16 / sizeof(T);
    constexpr i32 LEFT = (LEFT_ALONG ? DEPTH : LINES) + MORE, RIGHT = (RIGHT_ALONG ? DEPTH : LINES) + MORE;
    constexpr i32 OF_LEFT = (LEFT_ALONG ? LINES : DEPTH) * LEFT, OF_RIGHT = (RIGHT_ALONG ? LINES : DEPTH) * RIGHT;
    static_assert(2 * (OF_LEFT + OF_RIGHT) * sizeof(T) <= ROOM, "tiles");
    T *const lefts = (T *)room, *const rights = lefts + 2 * OF_LEFT;
    const i32 thread = warp * 32 + lane;
    const auto copy = [&](i64 step) {
        const i32 turn = step / DEPTH % 2;
        T *const a = lefts + turn * OF_LEFT, *const b = rights + turn * OF_RIGHT;
        if (LEFT_ALONG)
            fetch<LINES, DEPTH, LEFT>(a, left + step * sizeof(T), left_stride, rows, steps - step, thread);
        else
            fetch<DEPTH, LINES, LEFT>(a, left + step * left_stride, left_stride, steps - step, rows, thread);
        if (RIGHT_ALONG)
            fetch<LINES, DEPTH, RIGHT>(b, right + step * sizeof(T), right_stride, columns, steps - step, thread);
        else
            fetch<DEPTH, LINES, RIGHT>(b, right + step * right_stride, right_stride, steps - step, columns, thread);
    };
    #pragma unroll
    for (i32 n = 0; n < 64; ++n)
        sums[n] = 0;
    __syncthreads();
    copy(0);
    for (i64 step = 0; step < steps; step += DEPTH) {
#if __CUDA_ARCH__ >= 800
        asm volatile("cp.async.commit_group;" ::: "memory");
#endif
        if (step + DEPTH < steps)
            copy(step + DEPTH);
#if __CUDA_ARCH__ >= 800
        asm volatile("cp.async.commit_group;" ::: "memory");
        asm volatile("cp.async.wait_group 1;" ::: "memory");
#endif
        __syncthreads();
        const i32 now = step / DEPTH % 2;
        multiply_tiles<FORM, DEPTH, LEFT_ALONG, RIGHT_ALONG, LEFT, RIGHT>(
            sums, lefts + now * OF_LEFT, rights + now * OF_RIGHT, warp, lane);
        __syncthreads();
    }
}"""


def _multiply_tile(out: Printer, op: Op) -> None:
    left, left_start, left_row, left_step, right, right_start, right_step, right_column, *rest = map(
        out.operand, op.operands
    )
    rows, columns, steps, top, edge = rest
    form, depth = op.attributes["form"], op.attributes["steps"]
    along = op.attributes["along"]
    out.module.helper("tiles", TILES)
    sums = out.names.fresh("sums")
    strides = (left_row if along[0] else left_step), (right_column if along[1] else right_step)
    starts = f"{left_start} + {top} * {left_row}", f"{right_start} + {edge} * {right_column}"
    arguments = [
        f"(const char *){left} + {starts[0]}", strides[0], f"(const char *){right} + {starts[1]}", strides[1],
        f"{rows} - {top}", f"{columns} - {edge}", steps, "warp", "lane",
    ]  # fmt: skip
    types = (
        f"Form::{form}, {depth}, {', '.join(str(one).lower() for one in along)}, {memory_type(op.attributes['dtype'])}"
    )
    room = out.shared("u8", op.attributes["room"], "tiles", align=16)
    out.do(f"f32 {sums}[64];")
    out.do(f"multiply_tile<{types}>({sums}, {room}, {', '.join(arguments)});")
    (region,) = op.regions
    row, column, number = (out.names.fresh(value.name) for value in region.parameters)
    rows_here, slice_, which, place = map(out.names.fresh, ("rows_here", "slice", "which", "place"))
    pitch = op.attributes["pitch"]
    out.do(f"f32 *const {rows_here} = (f32 *){room};")
    out.do("#pragma unroll")
    with out.block(f"for (i32 {slice_} = 0; {slice_} < 8; ++{slice_})"):
        out.do("__syncthreads();")
        out.do(f"put_rows<Form::{form}, {pitch}>({rows_here}, {sums}, {slice_}, warp, lane);")
        out.do("__syncthreads();")
        out.do("#pragma unroll 1")
        with out.block(f"for (i32 {which} = 0; {which} < 8; ++{which})"):
            out.do(f"const i32 {place} = 256 * {which} + 32 * warp + lane;")
            out.do(f"const i64 {row} = {top} + 16 * {slice_} + {place} / 128, {column} = {edge} + {place} % 128;")
            out.do(f"const f32 {number} = {rows_here}[{place} / 128 * {pitch} + {place} % 128];")
            for value, name in zip(region.parameters, (row, column, number), strict=True):
                out.alias(value, name)
            with out.block(f"if ({row} < {rows} && {column} < {columns})"):
                out.emit_region(region)


TILE_EMISSION: dict[str, Emission] = {"multiply_tile": _multiply_tile}
