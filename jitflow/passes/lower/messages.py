"""Messages between the partitions of a program, and what else makes a host program one of several.

An array goes as memory in C order that belongs to the message, with its bytes and all its sizes: what the sender needs
no more is handed over as it is, everything else is copied. The receiver owns it, and binds the sizes that it does not
know yet. Numbers go as they are. A ``recv`` on a GPU has the bytes as its operand where they are known before, so that
the GPU's memory for them can be taken by then.

A partition takes its arguments from the slots of the whole program, which the attribute ``slots`` names. At the end all
meet, so that nobody hands out results unless all can (``meets``: lowering adds that). What waits on the caller's thread
polls (``polls``), unless it stands behind a write to a variable (`settle.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jitflow.ir.core import Op, Value
from jitflow.ir.dims import Dim, Expression, product, symbols
from jitflow.ir.layout import contiguous
from jitflow.ir.types import Buffer, Index, Scalar, Tensor, Type, dims_of
from jitflow.passes.lower.owning import OwningProgram
from jitflow.passes.lower.program import Storage, is_array

__all__ = ["MESSAGE_OPS", "meet_at_end"]


def _send(host: OwningProgram, op: Op) -> None:
    parts = []
    for value in op.operands:
        dims = dims_of(value.type)
        if is_array(value) and dims:
            storage = host.take(op, value)
            assert storage.bytes is not None
            parts = [storage.buffer, storage.bytes, *map(host.dim, dims)]
        else:
            parts = [host.number(value)]
    host.builder.add("send", *parts, channel=op.attributes["channel"], to=op.attributes["to"])


def _recv(host: OwningProgram, op: Op) -> None:
    given = {"channel": op.attributes["channel"], "source": op.attributes["source"], "polls": 1}
    if not op.results:
        host.builder.add("recv", types=(), **given)
        return
    value, type, dims = op.result, op.result.type, dims_of(op.result.type)
    if not dims:
        kind = Index() if isinstance(type, Index) else Scalar(type.dtype) if isinstance(type, Tensor) else type
        number = host.builder.make("recv", types=(kind,), names=(value.name,), **given)
        host.set_number(value, number)
        _bind(host, [type.dim if isinstance(type, Index) else None], [number])
        return
    assert isinstance(type, Tensor)
    types: list[Type] = [Buffer(type.dtype), Index(), *(Index() for _ in dims)]
    known = host.target.distributed and all(host.scopes.knows(name) for dim in dims for name in symbols(dim))
    room = [host.dim(product(dims) * type.dtype.itemsize)] if known else []
    buffer, nbytes, *sizes = host.builder.add("recv", *room, types=types, names=(value.name,), **given)
    _bind(host, dims, sizes)
    layout = contiguous(dims, type.dtype.itemsize)
    host.give(value, Storage(buffer, nbytes, -1, type.dtype, dims, layout))


def _bind(host: OwningProgram, dims: Sequence[Dim | None], sizes: Sequence[Value]) -> None:
    for dim, size in zip(dims, sizes, strict=True):
        if isinstance(dim, Expression) and dim.is_symbol and not host.scopes.knows(str(dim)):
            host.scopes.bind(str(dim), size)


def _meet(host: OwningProgram, op: Op) -> None:
    host.builder.add("meet", polls=1)


def _progress(host: OwningProgram, op: Op) -> None:
    host.builder.add("progress", **{name: op.attributes[name] for name in ("level", "order") if name in op.attributes})


MESSAGE_OPS: dict[str, Callable[[OwningProgram, Op], None]] = {
    "send": _send, "recv": _recv, "meet": _meet, "progress": _progress,
}  # fmt: skip


def meet_at_end(host: OwningProgram) -> None:
    """Behind everything that may fail, where the function asks for it."""
    if host.function.attributes.get("meets"):
        host.builder.add("meet", polls=1)
