"""Blocks of matrix products: the loops along the inner axis, in vector instructions.

In `multiply_block` lanes are columns. Sums of some rows of some vectors stay in registers while the inner axis is
walked; each step reads the vectors of a row of the right matrix and one number of each row of the left, so the loop
does little but multiply and add. There are ways for several vectors, and one that loads under a mask for what is
left; a row is walked by whichever still fits. AVX-512 stores under masks, too, and multiplies halves and quarters
faster; what has shorter vectors stores under masks slowly, or not at all, and stores halves, quarters and so on
instead. Blocks of i32 are of bytes, four of them in a lane (`byte_text.py`).

In `multiply_along` lanes are numbers along the inner axis, where those lie side by side in both matrices, and rows and
columns are too few for the other way. Each element has a vector of sums, and these are added up at the end.

Rows that are not there are the last one that is, computed and stored again, so that as many as there are go one way.
``few`` rows have ways of their own, with as many more vectors: a multiplication takes so long that several sums must
be under way at a time, and no block needs more.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise

from jitflow.backends.llvm.emission.emitter import Emission, Emitter
from jitflow.backends.llvm.products.byte_text import ByteText, way_of_bytes
from jitflow.backends.llvm.products.vector_text import VectorText, call_shared
from jitflow.ir.core import Op
from jitflow.ir.dtypes import I32, DType

__all__ = ["BLOCK_EMISSION"]

_BLOCK = (
    "ptr %block, i64 %pitch, ptr %left, i64 %row.stride, i64 %left.step, ptr %right, i64 %right.step, "
    "i64 %rows, i64 %columns, i64 %steps, i64 %before, i64 %ahead, i64 %left.ahead"
)
_ALONG = (
    "ptr %block, i64 %pitch, i64 %column.pitch, ptr %left, i64 %row.stride, ptr %right, i64 %column.stride, "
    "i64 %rows, i64 %columns, i64 %steps, i64 %before, i64 %ahead"
)


_SHAPE = "rows", "columns", "lanes", "dtype"


def _multiply_block(out: Emitter, op: Op) -> Sequence[str]:
    rows, columns, lanes, dtype, few = (op.attributes[name] for name in (*_SHAPE, "few"))
    name, way = f"multiply_block_{dtype.name}_{rows}x{columns}_by_{lanes}", ""
    if dtype == I32:
        way = way_of_bytes(out.module.target)
        name += f"_{way}"
    call_shared(out, op, name, _BLOCK, _block_text(name, dtype, rows, columns // lanes, lanes, few, way), (0, 3, 7))
    return ()


@cache
def _block_text(
    name: str, dtype: DType, rows: int, vectors: int, lanes: int, few: tuple[tuple[int, int], ...], way: str
) -> str:  # fmt: skip
    text = ByteText(lanes, way) if way else VectorText(dtype, lanes)
    lefts = text.addresses("%left", text.offsets("%row.stride", rows, "%rows"))
    lines = text.addresses("%block", text.offsets("%pitch", rows, "%rows"))
    short = {height: width for height, width in few if height < rows}
    are_few = {height: text.let(f"icmp sle i64 %rows, {height}") for height in short}
    text.do("br label %next")
    text.begin("next")
    place, arrivals = len(text.lines), [("start", "0", "%columns")]
    whole = range(vectors, text.stores_masked, -1)  # what stores under a mask does so with a whole vector as well
    widths = [lanes, lanes // 2, lanes // 4] if text.stores_masked else [lanes]
    widths = [width for width in widths if width >= text.block]
    ways = [(*way, lanes, way[1] * lanes - 1, "") for way in (*short.items(), *((rows, count) for count in whole))]
    ways += [(height, 1, lanes, 0, "%rest") for height in [*short][-1:] if text.stores_masked]
    ways += [(rows, 1, *pair, "%rest") for pair in pairwise([*widths, 0])]
    for height, count, width, narrower, some in ways:
        fits = text.let(f"icmp sgt i64 %rest, {narrower}")
        fits = text.let(f"and i1 {fits}, {are_few[height]}") if height in short else fits
        name_of_way = f"{height}x{count}x{width}{'m' * bool(some)}"
        text.choose(fits, f"within{name_of_way}", f"beyond{name_of_way}")
        text.use_lanes(width)
        right, places = text.at("%right", "%done"), text.addresses_from(lines[:height], "%done")
        behind = _columns(text, count, lefts[:height], places, right, some)
        step = count * width
        done, rest = text.let(f"add i64 %done, {step * text.itemsize}"), text.let(f"sub i64 %rest, {step}")
        arrivals.append((behind, done, rest))
        text.branch(text.let(f"icmp sgt i64 {rest}, 0"), "next", "end")
        text.begin(f"beyond{name_of_way}")
    text.do("br label %end")
    text.begin("end")
    for number, counted in enumerate(("%done", "%rest"), 1):
        found = ", ".join(f"[ {arrival[number]}, %{arrival[0]} ]" for arrival in arrivals)
        text.lines.insert(place, f"  {counted} = phi i64 {found}")
    return text.text(name, _BLOCK)


def _columns(
    text: VectorText, vectors: int, lefts: Sequence[str], lines: Sequence[str], right: str, some: str = ""
) -> str:
    """The way for so many vectors, or, under a mask, for some lanes of one; returns the block that it ends in.

    Lines of the result are asked for while its sums are made, and, into the second cache, those of the right matrix
    that blocks to come read: the first would not keep what lies a row apart until then.
    """
    mask = text.below(some) if some else ""
    for line in lines:
        for address in text.addresses(line, range(0, vectors * text.bytes, text.line)):
            text.bring_near(address)
    sums_before = [(text.vector, "zeroinitializer")] * (vectors * len(lefts))
    with text.turns("%steps", [("i64", "0"), ("ptr", right), *sums_before]) as turns:
        position, at, *sums = turns.names
        read = [text.load_lanes(text.at(at, column * text.bytes), mask) for column in range(vectors)]
        for address in text.addresses(text.at(at, "%ahead"), range(0, vectors * text.bytes, text.line)):
            text.bring_near(address, cache=2)
        text.bring_near(text.at(text.at(lefts[-1], position), "%left.ahead"))
        turns.following = [text.let(f"add i64 {position}, %left.step"), text.at(at, "%right.step")]
        for row, left in enumerate(lefts):
            factor = text.everywhere(text.load(text.at(left, position), text.element))
            for column, vector in enumerate(read):
                turns.following.append(text.fma(factor, vector, sums[row * vectors + column]))
    _, _, *sums = turns.left
    places = [text.at(line, column * text.bytes) for line in lines for column in range(vectors)]
    before, kept = text.block_name, f"kept{len(lefts)}x{vectors}x{text.lanes}{'m' * bool(mask)}"
    text.choose(text.let("icmp sgt i64 %before, 0"), f"more.{kept}", kept)
    there = [text.load_lanes(place, mask) for place in places]
    added = [text.add(total, one) for total, one in zip(sums, there, strict=True)]
    text.do(f"br label %{kept}")
    text.begin(kept)
    totals = [
        text.let(f"phi {text.vector} [ {total}, %{before} ], [ {more}, %more.{kept} ]")
        for total, more in zip(sums, added, strict=True)
    ]
    if some and not text.stores_masked:
        text.store_some(totals, places, some)
    else:
        for place, total in zip(places, totals, strict=True):
            text.store_lanes(total, place, mask)
    return text.block_name


def _multiply_along(out: Emitter, op: Op) -> Sequence[str]:
    rows, columns, lanes, dtype, short = (op.attributes[name] for name in (*_SHAPE, "short"))
    name = f"multiply_along_{dtype.name}_{rows}x{columns}_by_{lanes}"
    call_shared(out, op, name, _ALONG, _along_text(name, dtype, rows, columns, lanes, short), (0, 4, 7))
    return ()


@cache
def _along_text(name: str, dtype: DType, rows: int, columns: int, lanes: int, short: int) -> str:
    text = VectorText(dtype, lanes)
    lefts = text.addresses("%left", text.offsets("%row.stride", rows, "%rows"))
    rights = text.addresses("%right", text.offsets("%column.stride", columns, "%columns"))
    lines = text.addresses("%block", text.offsets("%pitch", rows, "%rows"))
    across = text.offsets("%column.pitch", columns, "%columns")
    if short:
        text.choose(text.let(f"icmp sle i64 %rows, {short}"), "short", "tall")
        _along(text, lefts[:short], rights, lines[:short], across)
        text.do("ret void")
        text.begin("tall")
    _along(text, lefts, rights, lines, across)
    return text.text(name, _ALONG)


def _along(
    text: VectorText, lefts: Sequence[str], rights: Sequence[str], lines: Sequence[str], across: Sequence[str]
) -> None:
    """The way for so many rows and columns."""
    rows, columns, lanes = len(lefts), len(rights), text.lanes
    places = [place for line in lines for place in text.addresses(line, across)]
    whole = text.let(f"sdiv i64 %steps, {lanes}")
    rest = text.let(f"srem i64 %steps, {lanes}")
    asked = text.let(f"select i1 {text.let('icmp eq i64 %ahead, 0')}, i64 0, i64 {whole}")
    state = ["0", *["zeroinitializer"] * (rows * columns)]
    types = ["i64", *[text.vector] * (rows * columns)]
    for count, asks in ((asked, True), (text.let(f"sub i64 {whole}, {asked}"), False)):
        with text.turns(count, list(zip(types, state, strict=True))) as turns:
            position, *sums = turns.names
            read = [text.load(text.at(right, position)) for right in rights]
            for right in rights if asks else ():
                text.bring_near(text.at(text.at(right, position), "%ahead"), cache=2)
            turns.following = [text.let(f"add i64 {position}, {text.bytes}")]
            for row, left in enumerate(lefts):
                factor = text.load(text.at(left, position))
                for column, vector in enumerate(read):
                    turns.following.append(text.fma(factor, vector, sums[row * columns + column]))
        state = turns.left
    position, *sums = state
    mask = text.below(rest)
    read = [text.load_lanes(text.at(right, position), mask) for right in rights]
    totals = []
    for row, left in enumerate(lefts):
        factor = text.load_lanes(text.at(left, position), mask)
        totals += [text.fma(factor, vector, sums[row * columns + column]) for column, vector in enumerate(read)]
    _store_totals(text, totals, places)


def _store_totals(text: VectorText, sums: Sequence[str], places: Sequence[str]) -> None:
    """Add up the lanes of each vector, and put the totals into memory, or add them to what is there."""
    is_first = text.let("icmp eq i64 %before, 0")
    nothing = text.let(f"alloca {text.element}")
    text.store("0.0", nothing, text.element)
    totals = []
    for start in range(0, len(sums), text.block):
        some = sums[start : start + text.block]
        block = text.summed([*some, *["zeroinitializer"] * (text.block - len(some))])
        for lane in range(len(some)):
            totals.append(text.let(f"extractelement <{text.block} x {text.element}> {block}, i64 {lane}"))
    following = []
    for place, total in zip(places, totals, strict=True):
        # A branch for each would be more text; where nothing was there before, what lies there may be anything.
        there = text.let(f"select i1 {is_first}, ptr {nothing}, ptr {place}")
        following.append(text.let(f"fadd {text.element} {total}, {text.load(there, text.element)}"))
    for place, total in zip(places, following, strict=True):
        text.store(total, place, text.element)


BLOCK_EMISSION: dict[str, Emission] = {
    "multiply_block": _multiply_block,
    "multiply_along": _multiply_along,
}
