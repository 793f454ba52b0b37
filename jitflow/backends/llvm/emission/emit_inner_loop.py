"""The direct way of a call whose work one of NumPy's loops does: sizes are compared, and the loop is called.

What it needs lies in three areas of the frame: a pointer for each operand and result; the number of matrices and the
sizes of the axes in the order in which the loop's signature names them; for each operand and result the distance of
its matrices, then of each the strides of its axes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain

from jitflow.backends.llvm.emission.emit_control import phi
from jitflow.backends.llvm.emission.emitter import UNLIKELY, Emitter
from jitflow.ir.dtypes import DType
from jitflow.ir.inner_loops import FLAG_FUNCTIONS, InnerLoop
from jitflow.records import dataclass

__all__ = ["Described", "call_loop"]

_INVALID = 1
"""C's ``FE_INVALID``, which is 1 on all processors that have vectors of floats."""


@dataclass(frozen=True, slots=True)
class Described:
    """An operand or result: words that hold its address, dims and strides."""

    address: str
    dims: Sequence[str]
    strides: Sequence[str]

    @staticmethod
    def contiguous(out: Emitter, address: str, dims: Sequence[str], dtype: DType) -> Described:
        """Memory without gaps."""
        strides = [str(dtype.itemsize)] if dims else []
        for dim in reversed(dims[1:]):
            strides.insert(0, out.let(f"mul i64 {strides[0]}, {dim}"))
        return Described(address, dims, strides)


def call_loop(
    out: Emitter,
    loop: InnerLoop,
    things: Sequence[Described],
    context: Callable[[str], str],
    fill: Callable[[Sequence[str]], str],
    otherwise: Callable[[], str],
) -> str:
    """Call the loop, or do what ``otherwise`` writes where it is not for these sizes or had no answer.

    ``things`` are operands and results, `context` loads a pointer, `fill` makes an area. Returns the status: 0, or that
    of the other way.
    """
    direct, other, done = (out.label(hint) for hint in ("direct", "other", "done"))
    address = context(loop.symbol)
    sizes, conditions = _sizes(out, loop, things)
    count, outer, fits = _stack(out, loop, things)
    wanted = out.let(f"icmp ne ptr {address}, null")
    for condition in (*conditions, *fits):
        wanted = out.let(f"and i1 {wanted}, {condition}")
    out.branch(wanted, direct, other)
    out.begin(direct)
    inner = chain.from_iterable(thing.strides[len(thing.dims) - len(names) :]
                                for thing, names in zip(things, loop.axes, strict=True))  # fmt: skip
    areas = [fill([thing.address for thing in things]), fill([count, *sizes]), fill([*outer, *inner])]
    clear, test = map(context, FLAG_FUNCTIONS)
    _clear_flag(out, clear, test)
    out.do(f"call void {address}({', '.join(f'ptr {area}' for area in areas)}, ptr null)")
    raised = out.let(f"call i32 {test}(i32 {_INVALID})")
    answered = out.block
    out.branch(out.let(f"icmp eq i32 {raised}, 0"), done, other, UNLIKELY)
    with out.cold(other):
        status = otherwise()
        left = out.block
        out.jump(done)
    out.begin(done)
    return out.let(phi("i32", ("0", answered), (status, left)))


def _clear_flag(out: Emitter, clear: str, test: str) -> None:
    """Take the flag down if it is up, which takes as long as the decomposition of a tiny matrix."""
    up, down = out.label("up"), out.label("down")
    out.branch(out.let(f"icmp eq i32 {out.let(f'call i32 {test}(i32 {_INVALID})')}, 0"), down, up)
    with out.cold(up):
        out.let(f"call i32 {clear}(i32 {_INVALID})")
        out.jump(down)
    out.begin(down)


def _sizes(out: Emitter, loop: InnerLoop, things: Sequence[Described]) -> tuple[list[str], list[str]]:
    """The size of each axis of the loop, and that all axes of one name have it and none is empty."""
    sizes: dict[str, str] = {}
    conditions = []
    for thing, names in zip(things, loop.axes, strict=True):
        for dim, name in zip(thing.dims[len(thing.dims) - len(names) :], names, strict=True):
            if sizes.setdefault(name, dim) != dim:
                conditions.append(out.let(f"icmp eq i64 {dim}, {sizes[name]}"))
    conditions += [out.let(f"icmp sgt i64 {size}, 0") for size in sizes.values()]
    return list(sizes.values()), conditions


def _stack(out: Emitter, loop: InnerLoop, things: Sequence[Described]) -> tuple[str, list[str], list[str]]:
    """How many matrices there are, how far apart they lie in each operand and result, and the conditions for it.

    An operand with one matrix for all of them lies still.
    """
    stacked = [len(thing.dims) > len(names) for thing, names in zip(things, loop.axes, strict=True)]
    if not any(stacked):
        return "1", ["0"] * len(things), []
    count = things[-1].dims[0]
    distances, conditions = [], [out.let(f"icmp sgt i64 {count}, 0")]
    for thing, has_stack in zip(things, stacked, strict=True):
        if not has_stack:
            distances.append("0")
        elif thing.dims[0] == count:
            distances.append(thing.strides[0])
        else:
            same = out.let(f"icmp eq i64 {thing.dims[0]}, {count}")
            single = out.let(f"icmp eq i64 {thing.dims[0]}, 1")
            conditions.append(out.let(f"or i1 {same}, {single}"))
            distances.append(out.let(f"select i1 {same}, i64 {thing.strides[0]}, i64 0"))
    return count, distances, conditions
