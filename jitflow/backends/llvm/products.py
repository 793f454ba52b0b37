"""Matrix products of middling size in pieces that BLAS multiplies without packing.

OpenBLAS first copies both matrices of a product into the order in which its kernel reads them. For small products that
costs more than it brings, so where vectors have 512 bits it has kernels that take the matrices as they lie, for up to
100 * 100 * 100 multiplications. A product that is a few times larger costs up to twice as much for each of them: the
steps of recurrent networks and small batches are such products. In pieces they are as fast as small ones (measured for
16 x 128 x 512: 25 us before, 15 us after; with the second matrix transposed, 47 and 18).

The pieces depend on the shape alone. The inner axis is split if that leaves it long enough, else the longer of the
others. The kernel for a first matrix that is transposed, in BLAS's order, beside one that is not, takes results of up
to 1,200 elements; there columns are split.
"""

from __future__ import annotations

from jitflow.processor import has_features

__all__ = ["in_pieces", "pays_in_pieces"]

_TYPES = {"sgemm": "float", "dgemm": "double"}
_SMALL = 100**3
"""The multiplications of the largest product that is not packed."""
_RESULT = 1200
"""The elements of the largest result for a first matrix that is transposed."""
_DEPTH = 32
"""The shortest inner axis that the kernels are good for."""
_MOST_PIECES = 4
"""A product that would need more pieces is left to BLAS, which may give it several threads."""


def pays_in_pieces(symbol: str) -> bool:
    """Whether a library function is one that is faster in pieces on this processor."""
    return symbol in _TYPES and has_features("avx512f")


def in_pieces(symbol: str) -> tuple[str, str]:
    """The name and the text of a function that takes the address of the library's, and what that takes."""
    name = f"{symbol}_in_pieces"
    text = _TEXT.format(
        name=name, type=_TYPES[symbol], small=_SMALL, small_less=_SMALL - 1, result=_RESULT, result_less=_RESULT - 1,
        most=_MOST_PIECES, depth=_DEPTH,
    )  # fmt: skip
    return name, text


_TEXT = """\
define internal void @{name}(ptr %gemm, ptr %transa, ptr %transb, ptr %m, ptr %n, ptr %k, ptr %alpha, ptr %a, \
ptr %lda, ptr %b, ptr %ldb, ptr %beta, ptr %c, ptr %ldc) #0 {{
start:
  %m.piece = alloca i32
  %n.piece = alloca i32
  %k.piece = alloca i32
  %beta.piece = alloca {type}
  %m.32 = load i32, ptr %m
  %n.32 = load i32, ptr %n
  %k.32 = load i32, ptr %k
  %rows = sext i32 %m.32 to i64
  %columns = sext i32 %n.32 to i64
  %inner = sext i32 %k.32 to i64
  %letter.a = load i8, ptr %transa
  %letter.b = load i8, ptr %transb
  %flipped.a = icmp ne i8 %letter.a, 78
  %flipped.b = icmp ne i8 %letter.b, 78
  %plain.b = xor i1 %flipped.b, true
  %awkward = and i1 %flipped.a, %plain.b
  %area = mul i64 %rows, %columns
  %volume = mul i64 %area, %inner
  %volume.up = add i64 %volume, {small_less}
  %by.volume = sdiv i64 %volume.up, {small}
  %area.up = add i64 %area, {result_less}
  %by.area = sdiv i64 %area.up, {result}
  %more = icmp sgt i64 %by.area, %by.volume
  %larger = select i1 %more, i64 %by.area, i64 %by.volume
  %pieces = select i1 %awkward, i64 %larger, i64 %by.volume
  %several = icmp sgt i64 %pieces, 1
  %few = icmp sle i64 %pieces, {most}
  %deep = icmp sge i64 %inner, {depth}
  %straight = xor i1 %awkward, true
  %has.kernel = or i1 %straight, %deep
  %some = and i1 %several, %few
  %split = and i1 %some, %has.kernel
  br i1 %split, label %choose, label %whole
whole:
  call void %gemm(ptr %transa, ptr %transb, ptr %m, ptr %n, ptr %k, ptr %alpha, ptr %a, ptr %lda, ptr %b, ptr %ldb, \
ptr %beta, ptr %c, ptr %ldc)
  ret void
choose:
  %lda.32 = load i32, ptr %lda
  %ldb.32 = load i32, ptr %ldb
  %ldc.32 = load i32, ptr %ldc
  %leading.a = sext i32 %lda.32 to i64
  %leading.b = sext i32 %ldb.32 to i64
  %leading.c = sext i32 %ldc.32 to i64
  %share = sdiv i64 %inner, %pieces
  %enough = icmp sge i64 %share, {depth}
  %by.inner = and i1 %enough, %straight
  %wide = icmp sge i64 %columns, %rows
  %by.columns = or i1 %wide, %awkward
  %other = select i1 %by.columns, i64 %columns, i64 %rows
  %length = select i1 %by.inner, i64 %inner, i64 %other
  %length.up = add i64 %length, %pieces
  %length.last = sub i64 %length.up, 1
  %step = sdiv i64 %length.last, %pieces
  %inner.a = select i1 %flipped.a, i64 1, i64 %leading.a
  %row.a = select i1 %flipped.a, i64 %leading.a, i64 1
  %inner.b = select i1 %flipped.b, i64 %leading.b, i64 1
  %column.b = select i1 %flipped.b, i64 1, i64 %leading.b
  %other.a = select i1 %by.columns, i64 0, i64 %row.a
  %other.b = select i1 %by.columns, i64 %column.b, i64 0
  %other.c = select i1 %by.columns, i64 %leading.c, i64 1
  %stride.a = select i1 %by.inner, i64 %inner.a, i64 %other.a
  %stride.b = select i1 %by.inner, i64 %inner.b, i64 %other.b
  %stride.c = select i1 %by.inner, i64 0, i64 %other.c
  %first = load {type}, ptr %beta
  store i32 %m.32, ptr %m.piece
  store i32 %n.32, ptr %n.piece
  store i32 %k.32, ptr %k.piece
  store {type} %first, ptr %beta.piece
  %other.size = select i1 %by.columns, ptr %n.piece, ptr %m.piece
  %size.piece = select i1 %by.inner, ptr %k.piece, ptr %other.size
  %following = select i1 %by.inner, {type} 1.0, {type} %first
  br label %turn
turn:
  %position = phi i64 [ 0, %choose ], [ %next, %turn ]
  %rest = sub i64 %length, %position
  %last = icmp slt i64 %rest, %step
  %size = select i1 %last, i64 %rest, i64 %step
  %size.32 = trunc i64 %size to i32
  store i32 %size.32, ptr %size.piece
  %offset.a = mul i64 %position, %stride.a
  %offset.b = mul i64 %position, %stride.b
  %offset.c = mul i64 %position, %stride.c
  %part.a = getelementptr {type}, ptr %a, i64 %offset.a
  %part.b = getelementptr {type}, ptr %b, i64 %offset.b
  %part.c = getelementptr {type}, ptr %c, i64 %offset.c
  call void %gemm(ptr %transa, ptr %transb, ptr %m.piece, ptr %n.piece, ptr %k.piece, ptr %alpha, ptr %part.a, \
ptr %lda, ptr %part.b, ptr %ldb, ptr %beta.piece, ptr %part.c, ptr %ldc)
  store {type} %following, ptr %beta.piece
  %next = add i64 %position, %step
  %onwards = icmp slt i64 %next, %length
  br i1 %onwards, label %turn, label %done
done:
  ret void
}}"""
