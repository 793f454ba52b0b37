"""Panels: columns of a matrix, as many as a block of a product has, in the order in which its steps read them.

What lies side by side along the columns is copied row by row, through all panels, so that memory is read in long
pieces. Where numbers along the inner axis lie side by side instead (``turned``), a vector of each of as many columns is
read, a whole line of memory where it may be, and rows and columns are exchanged in registers. Columns that are not
there are whatever there is: nobody stores what comes of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from jitflow.backends.llvm.emission.emitter import Emission, Emitter
from jitflow.backends.llvm.products.vector_text import VectorText, call_shared
from jitflow.ir.core import Op
from jitflow.ir.dtypes import F32, DType

__all__ = ["PANEL_EMISSION"]

_PANELS = "ptr %panels, ptr %from, i64 %step, i64 %column.stride, i64 %pitch, i64 %columns, i64 %steps"
_NEAR = "ptr %matrix, i64 %pitch"


def _pack_panels(out: Emitter, op: Op) -> Sequence[str]:
    columns, lanes, dtype = (op.attributes[name] for name in ("columns", "lanes", "dtype"))
    ahead = op.attributes["ahead"]
    name = f"panels_{dtype.name}_{columns}_by_{lanes}"
    if op.attributes.get("turned", False):
        name = f"turn_{name}"
        text = _turned_text(name, dtype, columns, lanes)
    else:
        name = f"pack_{name}_ahead_{ahead}"
        text = _copied_text(name, dtype, columns, lanes, ahead)
    call_shared(out, op, name, _PANELS, text, (0, 2))
    return ()


@cache
def _copied_text(name: str, dtype: DType, columns: int, lanes: int, rows_ahead: int) -> str:
    text = VectorText(dtype, lanes)
    width, firsts = columns * text.itemsize, range(0, columns, lanes)
    whole = text.let(f"sdiv i64 %columns, {columns}")
    rest = text.let(f"srem i64 %columns, {columns}")
    present = [text.below(text.let(f"sub i64 {rest}, {first}")) for first in firsts]
    last = text.below(str(columns - firsts[-1])) if columns % lanes else ""
    masks = [last if first == firsts[-1] else "" for first in firsts]
    ahead = text.let(f"mul i64 %step, {rows_ahead}")

    def copy(to: str, at: str, reading: Sequence[str]) -> None:
        places = [first * text.itemsize for first in firsts]
        read = [text.load_lanes(text.at(at, place), mask) for place, mask in zip(places, reading, strict=True)]
        for place, vector, mask in zip(places, read, masks, strict=True):
            text.store_lanes(vector, text.at(to, place), mask)

    with text.turns("%steps", [("ptr", "%panels"), ("ptr", "%from")]) as rows:
        line, source = rows.names
        with text.turns(whole, [("ptr", line), ("ptr", source)]) as turns:
            to, at = turns.names
            for address in text.addresses(text.at(at, ahead), range(0, width, text.line)):
                text.bring_near(address)
            copy(to, at, masks)
            turns.following = [text.at(to, "%pitch"), text.at(at, width)]
        to, at = turns.left
        with text.turns(text.smallest(rest, 1), ()):
            copy(to, at, present)
        rows.following = [text.at(line, width), text.at(source, "%step")]
    return text.text(name, _PANELS)


@cache
def _turned_text(name: str, dtype: DType, columns: int, lanes: int) -> str:
    text = VectorText(dtype, lanes)
    whole = text.let(f"sdiv i64 %steps, {lanes}")
    rest = text.let(f"srem i64 %steps, {lanes}")
    groups = text.let(f"sdiv i64 {text.let(f'add i64 %columns, {columns - 1}')}, {columns}")
    with text.turns(groups, [("ptr", "%panels"), ("i64", "0")]) as panels:
        panel, first = panels.names
        _turn_panel(text, columns, panel, first, (whole, rest))
        panels.following = [text.at(panel, "%pitch"), text.let(f"add i64 {first}, {columns}")]
    return text.text(name, _PANELS)


def _turn_panel(text: VectorText, columns: int, panel: str, start: str, steps: tuple[str, str]) -> None:
    """The panel of the columns from ``start`` on, in so many groups of steps and single ones."""
    lanes, pitch, last = text.lanes, columns * text.itemsize, text.let("sub i64 %columns, 1")
    whole, rest = steps
    with text.turns(str(columns // lanes), [("i64", start), ("ptr", panel)]) as groups:
        first, to = groups.names
        # A group without columns reads those of the one before.
        column = text.smallest(first, last)
        group = text.at("%from", text.let(f"mul i64 {column}, %column.stride"))
        present = text.let(f"sub i64 %columns, {column}")
        lines = text.addresses(group, text.offsets("%column.stride", lanes, present))
        with text.turns(whole, [("ptr", to), ("i64", "0")]) as turns:
            place, position = turns.names
            for step, vector in enumerate(text.turned([text.load(text.at(line, position)) for line in lines])):
                text.store(vector, text.at(place, step * pitch))
            turns.following = [text.at(place, lanes * pitch), text.let(f"add i64 {position}, {text.bytes}")]
        with text.turns(rest, list(zip(("ptr", "i64"), turns.left, strict=True))) as turns:
            place, position = turns.names
            for lane, line in enumerate(lines):
                number = text.load(text.at(line, position), text.element)
                text.store(number, text.at(place, lane * text.itemsize), text.element)
            turns.following = [text.at(place, pitch), text.let(f"add i64 {position}, {text.itemsize}")]
        groups.following = [text.let(f"add i64 {first}, {lanes}"), text.at(to, text.bytes)]


def _bring_near(out: Emitter, op: Op) -> Sequence[str]:
    rows, nbytes = op.attributes["rows"], op.attributes["bytes"]
    name = f"bring_near_{rows}x{nbytes}"
    call_shared(out, op, name, _NEAR, _near_text(name, rows, nbytes), (0,))
    return ()


@cache
def _near_text(name: str, rows: int, nbytes: int) -> str:
    text = VectorText(F32, 1)
    for line in text.addresses("%matrix", [text.let(f"mul i64 %pitch, {row}") for row in range(rows)]):
        for address in text.addresses(line, range(0, nbytes, text.line)):
            text.bring_near(address, cache=2)
    return text.text(name, _NEAR)


PANEL_EMISSION: dict[str, Emission] = {"bring_near": _bring_near, "pack_panels": _pack_panels}
