"""Where the elements of an array lie: byte offset and strides, as expressions over sizes.

A view op changes only the layout; `view_layout` is its meaning, or None where NumPy would have to copy.
"""

from __future__ import annotations

from collections.abc import Iterator, Set

from jitflow.ir.core import Fact, Op
from jitflow.ir.dims import Dim, product, symbol
from jitflow.ir.records import Attributes
from jitflow.ir.renaming import renamed_by
from jitflow.ir.types import Tensor, dims_of
from jitflow.records import dataclass

__all__ = ["Layout", "contiguous", "gaps", "is_contiguous", "parameter_layout", "stride_name", "view_layout",
           "windows_layout"]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Layout:
    """Byte ``offset`` of the first element and byte ``strides``, one an axis."""

    offset: Dim
    strides: tuple[Dim, ...]


def contiguous(dims: tuple[Dim, ...], itemsize: int, order: tuple[int, ...] | None = None) -> Layout:
    """Elements without gaps; ``order`` lists the axes from the outermost to the innermost (C order if not given)."""
    order = tuple(range(len(dims))) if order is None else order
    strides: list[Dim] = [0] * len(dims)
    for position, axis in enumerate(order):
        strides[axis] = itemsize * product([dims[inner] for inner in order[position + 1 :]])
    return Layout(0, tuple(strides))


def is_contiguous(dims: tuple[Dim, ...], itemsize: int, layout: Layout, facts: Set[Fact] = frozenset()) -> bool:
    """Whether the layout is provably C-contiguous; strides of axes of one element at most do not count."""
    expected = contiguous(dims, itemsize).strides
    for dim, have, want in zip(dims, layout.strides, expected, strict=True):
        if dim == 1 or have == want:
            continue
        if facts.isdisjoint((Fact(dim, "<", 2), Fact(have, "==", want), Fact(want, "==", have))):
            return False
    return True


def parameter_layout(position: int, type: Tensor, kind: str) -> Layout:
    """The layout of a parameter of layout class ``kind``; strides known only at run time are named sizes."""
    itemsize = type.dtype.itemsize
    if kind == "C":
        return contiguous(type.dims, itemsize)
    if kind == "F":
        return contiguous(type.dims, itemsize, tuple(reversed(range(type.rank))))
    strides: list[Dim] = [
        0 if dim == 1 else symbol(stride_name(position, axis)) for axis, dim in enumerate(type.dims)
    ]  # fmt: skip
    if kind == "unit" and type.dims[-1] != 1:
        strides[-1] = itemsize
    return Layout(0, tuple(strides))


def gaps(position: int, type: Tensor, kind: str) -> Iterator[Fact]:
    """What the layout class of a parameter says of its strides: the outer one of two axes, or the inner one."""
    if 1 in type.dims:
        return
    if kind == "general" and type.dims:
        yield Fact(symbol(stride_name(position, type.rank - 1)), "!=", type.dtype.itemsize)
    elif kind == "unit" and type.rank == 2:
        yield Fact(symbol(stride_name(position, 0)), "!=", type.dims[1] * type.dtype.itemsize)


def stride_name(position: int, axis: int) -> str:
    """The name of the size that is a parameter's byte stride."""
    return f"stride_{position}_{axis}"


def view_layout(op: Op, source: Layout, itemsize: int, facts: Set[Fact] = frozenset()) -> Layout | None:
    """The layout of the result of view op ``op`` on elements that lie as ``source`` says, by what ``facts`` say."""
    before, after = dims_of(op.operands[0].type), dims_of(op.result.type)
    if op.name == "transpose":
        return Layout(source.offset, tuple(source.strides[axis] for axis in op.attributes["axes"]))
    if op.name == "slice":
        starts, steps = op.attributes["starts"], op.attributes["steps"]
        offset = source.offset
        for start, stride in zip(starts, source.strides, strict=True):
            offset = offset + start * stride
        return Layout(offset, tuple(stride * step for stride, step in zip(source.strides, steps, strict=True)))
    if op.name == "broadcast":
        if renamed_by(op) is not None and is_contiguous(before, itemsize, source):
            return Layout(source.offset, contiguous(after, itemsize).strides)
        strides: list[Dim] = [0] * len(after)
        for axis, target in enumerate(op.attributes["axes"]):
            if before[axis] != 1 or after[target] == 1:
                strides[target] = source.strides[axis]
        return Layout(source.offset, tuple(strides))
    if op.name == "diagonal":
        first, second = op.attributes["axes"]
        shift = op.attributes["offset"]
        moved = source.strides[second] * shift if shift >= 0 else source.strides[first] * -shift
        kept = [stride for axis, stride in enumerate(source.strides) if axis not in (first, second)]
        return Layout(source.offset + moved, (*kept, source.strides[first] + source.strides[second]))
    if op.name == "window":
        return windows_layout(op.attributes, source)
    if op.name == "reshape":
        return _reshape(before, after, source, itemsize, facts)
    raise AssertionError(f"{op.name} is no view op")


def windows_layout(attributes: Attributes, source: Layout) -> Layout:
    """The layout of windows on elements that lie as ``source`` says; the first one may begin ``before`` them."""
    strides, inner, offset = list(source.strides), [], source.offset
    names = ("axes", "steps", "dilations")
    for axis, step, dilation in zip(*(attributes[name] for name in names), strict=True):
        strides[axis] = source.strides[axis] * step
        inner.append(source.strides[axis] * dilation)
    for axis, before in zip(attributes["axes"], attributes.get("before", ()), strict=False):
        offset -= source.strides[axis] * before
    return Layout(offset, (*strides, *inner))


def _reshape(
    before: tuple[Dim, ...], after: tuple[Dim, ...], source: Layout, itemsize: int, facts: Set[Fact]
) -> Layout | None:
    if is_contiguous(before, itemsize, source, facts):
        return Layout(source.offset, contiguous(after, itemsize).strides)
    old = [(dim, stride) for dim, stride in zip(before, source.strides, strict=True) if dim != 1]
    strides: list[Dim] = [itemsize] * len(after)
    position = 0
    for axis, dim in enumerate(after):
        if dim == 1:
            continue
        if position >= len(old):
            return None
        size, stride = old[position]
        if dim == size:
            strides[axis] = stride
            position += 1
        else:
            return None
    return Layout(source.offset, tuple(strides)) if position == len(old) else None
