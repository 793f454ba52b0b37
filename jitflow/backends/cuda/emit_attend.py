"""Rows of softmax(scores) times a matrix, without scores in memory: 128 rows a team, 64 columns of scores at a time.

Each warp has 16 rows: in registers what they are (the left factor), the scores of a step, and the sums of the result.
The scores of a thread lie just as the left factor of the next product wants them (``mma``), so they go from one product
into the other as they are. Of the second factor's rows and the third's 64 are on the chip; while scores are made the
third is on its way, and while those are multiplied the next of the second. Before sm_80 the same pieces are multiplied
by multiplications, with what other lanes have.

A row carries its largest score so far and the sum of its powers; where a larger score comes, sum and result are scaled
down. What lies behind the end of a factor is 0 on the chip, and scores there are -inf, so their powers are 0.
"""

from __future__ import annotations

from jitflow.backends.cuda.emit_arithmetic import FLOAT_TO_HALF
from jitflow.backends.cuda.emit_tiles import TILES
from jitflow.backends.cuda.printer import Emission, Printer
from jitflow.backends.cuda.types import memory_type
from jitflow.ir.core import Op, Region

__all__ = ["ATTEND_EMISSION"]

_ATTEND = """\
// The bits of a number as a half float, to the nearest.
template <Form FORM> __device__ u32 as_half(f32 number) {
    if (FORM == Form::f16)
        return float_to_half(number);
    const u32 bits = __float_as_uint(number);
    return number != number ? 0x7fc0u : (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
}
template <Form FORM> __device__ void put(u16 &place, f32 number) { place = as_half<FORM>(number); }
template <Form FORM> __device__ void put(f32 &place, f32 number) { place = number; }
// Adds the product of 16 x 16 by 16 x 8 numbers, which lie in the registers of a warp, to 16 x 8 sums.
template <Form FORM> __device__ void multiply_halves(f32 *sum, const u32 (&a)[4], const u32 *b, i32 lane) {
#if __CUDA_ARCH__ >= 800
    multiply_piece<FORM>(sum, a, b);
#else
    #pragma unroll 1
    for (i32 step = 0; step < 8; ++step) {
        u32 left[2], right[2];
        #pragma unroll
        for (i32 n = 0; n < 2; ++n) {
            const u32 low_a = __shfl_sync(~0u, a[n], lane / 4 * 4 + step % 4);
            const u32 high_a = __shfl_sync(~0u, a[2 + n], lane / 4 * 4 + step % 4);
            const i32 from = (lane % 4 * 2 + n) * 4 + step % 4;
            const u32 low_b = __shfl_sync(~0u, b[0], from), high_b = __shfl_sync(~0u, b[1], from);
            left[n] = step < 4 ? low_a : high_a;
            right[n] = step < 4 ? low_b : high_b;
        }
        #pragma unroll
        for (i32 n = 0; n < 4; ++n)
            #pragma unroll
            for (i32 half = 0; half < 2; ++half)
                sum[n] = __fmaf_rn(as_float<FORM>((u16)(left[n / 2] >> 16 * half)),
                    as_float<FORM>((u16)(right[n % 2] >> 16 * half)), sum[n]);
    }
#endif
}
__device__ void ask() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
// Waits until all but the last groups of copies are there, for all of the team.
template <i32 LEFT> __device__ void receive() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" :: "n"(LEFT) : "memory");
#endif
    __syncthreads();
}
__device__ f32 largest(f32 a, f32 b) { return a < b ? b : a; }
// A number of the four lanes that have a row.
template <typename Fold> __device__ f32 of_row(f32 number, const Fold &fold) {
    number = fold(number, __shfl_xor_sync(~0u, number, 1));
    return fold(number, __shfl_xor_sync(~0u, number, 2));
}
template <Form FORM, i32 WIDTH, typename Out, i32 ROOM, typename Score, typename Power>
__device__ void attend(
    u8 (&room)[ROOM], const char *left, i64 left_row, const char *right, i64 right_row, const char *third,
    i64 third_row, char *out, i64 out_row, i64 top, i64 rows, i64 columns, i64 steps, i64 values, i32 warp, i32 lane,
    const Score &score, const Power &power
) {
    constexpr i32 PITCH = WIDTH + 8, STEP = 64, ROWS = 128;
    static_assert(ROWS * PITCH * sizeof(u16) <= ROOM, "rows");
    u16 *const rights = (u16 *)room, *const thirds = rights + STEP * PITCH;
    const i32 thread = warp * 32 + lane, half = lane / 8 % 2 * 8, other = lane / 16 * 8, line = lane % 8;
    const i32 first = 16 * warp + lane / 4, below = (rows - top < ROWS ? (i32)(rows - top) : ROWS) - first;
    const f32 lowest = __int_as_float(0xff800000);
    u32 a[WIDTH / 16][4];
    f32 sums[WIDTH / 2], most[2] = {lowest, lowest}, total[2] = {0, 0};
    #pragma unroll
    for (i32 n = 0; n < WIDTH / 2; ++n)
        sums[n] = 0;
    __syncthreads();
    fetch<ROWS, WIDTH, PITCH>(rights, left, left_row, rows - top, steps, thread);
    ask();
    receive<0>();
    #pragma unroll
    for (i32 n = 0; n < WIDTH / 16; ++n)
        read_matrices<false>(a[n], rights + (16 * warp + half + line) * PITCH + 16 * n + other);
    __syncthreads();
    fetch<STEP, WIDTH, PITCH>(rights, right, right_row, columns, steps, thread);
    ask();
    for (i64 column = 0; column < columns; column += STEP) {
        fetch<STEP, WIDTH, PITCH>(thirds, third + column * third_row, third_row, columns - column, values, thread);
        ask();
        receive<1>();
        f32 scores[STEP / 2];
        #pragma unroll
        for (i32 n = 0; n < STEP / 2; ++n)
            scores[n] = 0;
        #pragma unroll
        for (i32 step = 0; step < WIDTH / 16; ++step)
            #pragma unroll
            for (i32 n = 0; n < STEP / 16; ++n) {
                u32 b[4];
                read_matrices<false>(b, rights + (16 * n + other + line) * PITCH + 16 * step + half);
                multiply_halves<FORM>(&scores[8 * n], a[step], b, lane);
                multiply_halves<FORM>(&scores[8 * n + 4], a[step], b + 2, lane);
            }
        __syncthreads();
        if (column + STEP < columns)
            fetch<STEP, WIDTH, PITCH>(rights, right + (column + STEP) * right_row, right_row, columns - column - STEP,
                steps, thread);
        ask();
        f32 larger[2] = {most[0], most[1]};
        const i32 here = columns - column < STEP ? (i32)(columns - column) : STEP;
        const bool whole = here == STEP && top + 16 * warp + 16 <= rows;
        const auto made = [&](i32 n, bool whole) {
            const i32 down = n % 4 / 2 * 8, across = n / 4 * 8 + lane % 4 * 2 + n % 2;
            if (whole || (across < here && down < below))
                return score(top + first + down, column + across, scores[n]);
            return across < here ? 0.0f : lowest;
        };
        if (whole) {  // without asking for each
            #pragma unroll
            for (i32 n = 0; n < STEP / 2; ++n)
                scores[n] = made(n, true);
        } else {
            #pragma unroll
            for (i32 n = 0; n < STEP / 2; ++n)
                scores[n] = made(n, false);
        }
        #pragma unroll
        for (i32 n = 0; n < STEP / 2; ++n)
            larger[n % 4 / 2] = largest(larger[n % 4 / 2], scores[n]);
        f32 scale[2];
        #pragma unroll
        for (i32 n = 0; n < 2; ++n) {
            larger[n] = of_row(larger[n], largest);
            scale[n] = power(most[n] - (larger[n] == lowest ? 0.0f : larger[n]));
            most[n] = larger[n];
            total[n] *= scale[n];
        }
        #pragma unroll
        for (i32 n = 0; n < WIDTH / 2; ++n)
            sums[n] *= scale[n % 4 / 2];
        #pragma unroll
        for (i32 n = 0; n < STEP / 2; ++n) {
            const f32 from = most[n % 4 / 2];
            scores[n] = power(scores[n] - (from == lowest ? 0.0f : from));
            total[n % 4 / 2] += scores[n];
        }
        receive<1>();
        #pragma unroll
        for (i32 step = 0; step < STEP / 16; ++step) {
            u32 weights[4];
            #pragma unroll
            for (i32 n = 0; n < 4; ++n)
                weights[n] = as_half<FORM>(scores[8 * step + 2 * n])
                    | as_half<FORM>(scores[8 * step + 2 * n + 1]) << 16;
            #pragma unroll
            for (i32 n = 0; n < WIDTH / 16; ++n) {
                u32 b[4];
                read_matrices<true>(b, thirds + (16 * step + half + line) * PITCH + 16 * n + other);
                multiply_halves<FORM>(&sums[8 * n], weights, b, lane);
                multiply_halves<FORM>(&sums[8 * n + 4], weights, b + 2, lane);
            }
        }
        __syncthreads();
    }
    #pragma unroll
    for (i32 n = 0; n < 2; ++n)
        total[n] = of_row(total[n], [](f32 a, f32 b) { return a + b; });
    #pragma unroll
    for (i32 n = 0; n < WIDTH / 2; ++n) {
        const i32 down = n % 4 / 2 * 8, place = n / 4 * 8 + lane % 4 * 2 + n % 2;
        if (down < below && place < values)
            put<FORM>(*(Out *)(out + (top + first + down) * out_row + place * sizeof(Out)), sums[n] / total[n % 4 / 2]);
    }
}"""


def _attend(out: Printer, op: Op) -> None:
    places, counts = op.operands[:12], op.operands[12:]
    pointers = []
    rows, columns, steps, values, top = map(out.operand, counts)
    for number, kind in enumerate(("const char *", "const char *", "const char *", "char *")):
        buffer, start, row = map(out.operand, places[3 * number : 3 * number + 3])
        first = f" + {top} * {row}" if number == 0 else ""
        pointers += [f"({kind}){buffer} + {start}{first}", row]
    for name, text in (("tiles", TILES), ("float_to_half", FLOAT_TO_HALF), ("attend", _ATTEND)):
        out.module.helper(name, text)
    room = out.shared("u8", op.attributes["room"], "rows", align=16)
    score, power = (_function(out, region, hint) for region, hint in zip(op.regions, ("score", "power"), strict=True))
    form, width, type = op.attributes["form"], op.attributes["width"], memory_type(op.attributes["out"])
    given = [room, *pointers, top, rows, columns, steps, values, "warp", "lane", score, power]
    out.do(f"attend<Form::{form}, {width}, {type}>({', '.join(given)});")


def _function(out: Printer, region: Region, hint: str) -> str:
    """A region as a function of C++, and its name."""
    name, names = out.names.fresh(hint), [out.names.fresh(value.name) for value in region.parameters]
    taken = [f"{out.type(value.type)} {one}" for value, one in zip(region.parameters, names, strict=True)]
    for value, one in zip(region.parameters, names, strict=True):
        out.alias(value, one)
    out.do(f"const auto {name} = [&]({', '.join(taken)}) -> f32 {{")
    with out.indented():
        ((result,),) = out.emit_region(region)
        out.do(f"return {result};")
    out.do("};")
    return name


ATTEND_EMISSION: dict[str, Emission] = {"attend": _attend}
