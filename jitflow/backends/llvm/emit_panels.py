"""Panels: columns of a matrix, as many as a block of a product has, in the order in which its steps read them.

What lies side by side along the columns is copied. Where numbers along the inner axis lie side by side instead
(``turned``), a vector of each of as many columns is read, a whole line of memory where it may be, and rows and columns
are exchanged in registers. Columns that are not there are whatever there is: nobody stores what comes of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from jitflow.backends.llvm.emitter import Emission, Emitter
from jitflow.backends.llvm.vector_text import VectorText, call_shared
from jitflow.ir.core import Op
from jitflow.ir.dtypes import DType

__all__ = ["PANEL_EMISSION"]

_PANEL = "ptr %panel, ptr %from, i64 %step, i64 %column.stride, i64 %columns, i64 %steps"


def _pack_panel(out: Emitter, op: Op) -> Sequence[str]:
    columns, lanes, dtype = (op.attributes[name] for name in ("columns", "lanes", "dtype"))
    turned = op.attributes.get("turned", False)
    name = f"{'turn' if turned else 'pack'}_panel_{dtype.name}_{columns}_by_{lanes}"
    text = (_turned_text if turned else _copied_text)(name, dtype, columns, lanes)
    call_shared(out, op, name, _PANEL, text, (0, 2))
    return ()


@cache
def _copied_text(name: str, dtype: DType, columns: int, lanes: int) -> str:
    text = VectorText(dtype, lanes)
    firsts = range(0, columns, lanes)
    masks = [text.below(text.let(f"sub i64 %columns, {first}")) for first in firsts]
    last = text.below(str(columns - firsts[-1]))
    with text.turns("%steps", [("ptr", "%panel"), ("ptr", "%from")]) as turns:
        panel, source = turns.names
        for first, mask in zip(firsts, masks, strict=True):
            read = text.load_lanes(text.at(source, first * text.itemsize), mask)
            place = text.at(panel, first * text.itemsize)
            text.store_lanes(read, place, last if columns - first < lanes else "")
        turns.following = [text.at(panel, columns * text.itemsize), text.at(source, "%step")]
    return text.text(name, _PANEL)


@cache
def _turned_text(name: str, dtype: DType, columns: int, lanes: int) -> str:
    text = VectorText(dtype, lanes)
    whole = text.let(f"sdiv i64 %steps, {lanes}")
    rest = text.let(f"srem i64 %steps, {lanes}")
    pitch = columns * text.itemsize
    with text.turns(str(columns // lanes), [("i64", "0")]) as groups:
        (first,) = groups.names
        # A group without columns reads those of the one before.
        last = text.let("sub i64 %columns, 1")
        start = text.smallest(first, last)
        group = text.at("%from", text.let(f"mul i64 {start}, %column.stride"))
        lines = text.addresses(group, text.offsets("%column.stride", lanes, text.let(f"sub i64 %columns, {start}")))
        to = text.at("%panel", text.let(f"mul i64 {first}, {text.itemsize}"))
        with text.turns(whole, [("ptr", to), ("i64", "0")]) as turns:
            panel, position = turns.names
            for step, vector in enumerate(text.turned([text.load(text.at(line, position)) for line in lines])):
                text.store(vector, text.at(panel, step * pitch))
            turns.following = [text.at(panel, lanes * pitch), text.let(f"add i64 {position}, {text.bytes}")]
        with text.turns(rest, list(zip(("ptr", "i64"), turns.left, strict=True))) as turns:
            panel, position = turns.names
            for lane, line in enumerate(lines):
                number = text.load(text.at(line, position), text.element)
                text.store(number, text.at(panel, lane * text.itemsize), text.element)
            turns.following = [text.at(panel, pitch), text.let(f"add i64 {position}, {text.itemsize}")]
        groups.following = [text.let(f"add i64 {first}, {lanes}")]
    return text.text(name, _PANEL)


PANEL_EMISSION: dict[str, Emission] = {"pack_panel": _pack_panel}
