"""Which values matter: those that vary with what is differentiated by, and that the differentiated results depend on.

Both sets are found by following edges until nothing is new, forwards and backwards, through regions and through storage
(a variable stands for its contents at all times). What is in both is *active*; nothing else gets a cotangent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jitflow.errors import UserNotImplementedError
from jitflow.ir.core import Op, Region, Value, walk
from jitflow.ir.effects import Effects
from jitflow.ir.types import Container, Place, Tape
from jitflow.passes.derivatives.notation import is_differentiable
from jitflow.passes.derivatives.partials import is_constant

__all__ = ["Activity"]

Edge = tuple[Value, Value]


class Activity:
    """The active values and variables of a region."""

    def __init__(self, region: Region, effects: Effects, inputs: Sequence[Value], outputs: Sequence[Value]) -> None:
        self.effects = effects
        edges = [edge for edge in self._edges(region) if all(map(_can_vary, edge))]
        varied = _reached(inputs, edges)
        useful = _reached(outputs, [(target, source) for source, target in edges])
        self.active = varied & useful
        _refuse_bits(region, varied, useful)
        _refuse_containers(region, varied, useful)

    def __contains__(self, value: Value) -> bool:
        if isinstance(value.type, Place):
            return any(root in self.active for root in self.roots(value))
        return value in self.active

    def roots(self, place: Value) -> frozenset[Value]:
        """The variables that a place may show."""
        return self.effects.places(place)

    def _edges(self, region: Region) -> Iterator[Edge]:
        """From where to where a small change goes."""
        for op in walk(region):
            if is_constant(op):
                continue
            if op.name == "load":
                yield from ((root, op.result) for root in self.roots(op.operands[0]))
            elif op.name in ("store", "scatter", "push", "poke"):
                yield from ((op.operands[-1], root) for root in self.roots(op.operands[0]))
            elif op.name == "recompute":
                yield from zip(op.operands, op.regions[0].parameters, strict=True)
                yield from zip(op.regions[0].yielded, op.results, strict=True)
            elif op.name == "custom_vjp":  # what its region uses beside its operands is constant
                yield from ((operand, result) for operand in op.operands for result in op.results)
            elif op.regions:
                yield from _flow(op)
            elif not _is_place(op):
                yield from _through(op)


def _refuse_bits(region: Region, varied: set[Value], useful: set[Value]) -> None:
    """Raise UserNotImplementedError where a number that matters is made of the bits of one that varies.

    Bits are integers, which have no derivative, and so the number would count as a constant.
    """
    bits = [op for op in walk(region) if op.name == "bitcast"]
    taken = [op.result for op in bits if op.operands[0] in varied]
    if not taken:
        return
    edges = [edge for op in walk(region) for edge in (_flow(op) if op.regions else _through(op))]
    reached = _reached(taken, edges)
    for op in bits:
        if op.result in useful and op.operands[0] in reached:
            error = UserNotImplementedError(
                "the gradient of a number that is made of the bits of another one",
                mend="instead of np.frexp(x)[0] write np.ldexp(x, -np.frexp(jitflow.stop_gradient(x))[1])",
            )
            raise error.at(op.loc)


def _refuse_containers(region: Region, varied: set[Value], useful: set[Value]) -> None:
    """Raise UserNotImplementedError where a number that varies goes into a container, and one that matters comes out.

    What is put into one and taken out again is no edge, and so it would count as a constant.
    """
    ops = [op for op in walk(region) if any(isinstance(operand.type, Container) for operand in op.operands)]
    if not any(operand in varied for op in ops if not op.regions for operand in op.operands):
        return
    for op in ops:
        if not op.regions and any(result in useful for result in op.results):
            error = UserNotImplementedError(
                "the gradient of a number that was in a dict, set, deque or list which the running program changes",
                mend="keep the numbers in an array that is written to, or in a list that only grows",
            )
            raise error.at(op.loc)


def _through(op: Op) -> Iterator[Edge]:
    return ((operand, result) for operand in op.operands for result in op.results)


def _can_vary(value: Value) -> bool:
    kind = value.type
    return kind.dtype.kind in "fc" if isinstance(kind, Tape) else is_differentiable(kind)


def _is_place(op: Op) -> bool:
    return any(isinstance(value.type, Place) for value in op.results)


def _flow(op: Op) -> Iterator[Edge]:
    """The edges into and out of the regions of an op."""
    if op.name == "if":
        for region in op.regions:
            yield from zip(region.yielded, op.results, strict=True)
    elif op.name in ("for", "while"):
        body, first = op.regions[-1], 3 if op.name == "for" else 0
        carried = body.parameters[1:] if op.name == "for" else body.parameters
        for source in (op.operands[first:], body.yielded):
            yield from zip(source, carried, strict=True)
            yield from zip(source, op.results, strict=True)
        for test in op.regions[:-1]:
            yield from zip(op.operands, test.parameters, strict=True)


def _reached(sources: Sequence[Value], edges: Sequence[Edge]) -> set[Value]:
    """What can be reached from ``sources``."""
    targets: dict[Value, list[Value]] = {}
    for source, target in edges:
        targets.setdefault(source, []).append(target)
    found, frontier = set(sources), list(sources)
    while frontier:
        for target in targets.get(frontier.pop(), ()):
            if target not in found:
                found.add(target)
                frontier.append(target)
    return found
