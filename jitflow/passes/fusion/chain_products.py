"""On a GPU, two products with a softmax of rows between them become one kernel, in which no score goes to memory.

The kernel (`lower/chains.py`) goes over the columns of the first product block by block, and carries on the maximum and
the sum of each row, and what the second product has come to, which it scales down where a larger maximum comes
(FlashAttention, Dao et al. 2022). Whatever makes scores of products goes along: scales, masks, biases, any elementwise
work. Relies on `fuse`, which makes one kernel of that and the softmax; each of the values between may have one use, so
what a gradient needs again stays in memory, and so the chain apart. It moves no product past anything but pure ops.

    %0: f16[n, m] = matmul %q, %k            %2: f16[n, p] = fusion %q, %k, %v (%a, %b, %c) {
    %1: f16[n, m] = fusion %0 (...)    ->      %3: f16[n, m] = matmul %a, %b
    %2: f16[n, p] = matmul %1, %v              ... %4 = softmax of %3
                                               %5: f16[n, p] = matmul %4, %c
                                             }
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType

from jitflow.ir.core import Function, Op, Region, Value, uses
from jitflow.ir.ops import OPS
from jitflow.ir.types import Tensor, dims_of
from jitflow.passes.fusion.absorb import is_elementwise
from jitflow.records import dataclass

__all__ = ["Chain", "chain_of", "chain_products"]


@dataclass(frozen=True, slots=True, eq=False)
class Chain:
    """A fusion's two products, in terms of the parameters of its region, and the scores between them."""

    first: Op
    last: Op
    scores: Value
    """What the softmax is of."""
    weights: Value
    """The softmax, which the last op multiplies."""
    prologue: tuple[Op, ...]
    """The ops that make scores of the first product."""


def chain_products(function: Function) -> Function:
    """Move products into the softmax between them; ``decisions`` says which."""
    decisions: list[str] = []
    region = _region(function.region, uses(function.region), decisions)
    if not decisions:
        return function
    made = (*function.attributes.get("decisions", ()), *decisions)
    return replace(function, region=region, attributes=MappingProxyType({**function.attributes, "decisions": made}))


def chain_of(fusion: Op) -> Chain | None:
    """The chain that a fusion is, if it is one."""
    body = fusion.regions[0].body
    is_chain = len(body) > 2 and body[0].name == body[-1].name == "matmul"
    return _chain(body[0], body[-1], body[1:-1]) if is_chain else None


def _region(region: Region, counts: Counter[Value], decisions: list[str]) -> Region:
    ops = [replace(op, regions=tuple(_region(inner, counts, decisions) for inner in op.regions))
           if op.regions and op.name != "fusion" else op for op in region.ops]  # fmt: skip
    producer = {result: number for number, op in enumerate(ops) for result in op.results}
    gone: set[int] = set()
    for number, last in enumerate(ops):
        made = _chained(ops, producer, number, counts) if last.name == "matmul" else None
        if made is not None:
            ops[number], moved = made
            gone.update(moved)
            decisions.append(f"{ops[number].attributes['kernel']} is a chain of products ({last.loc})")
    return Region(region.parameters, tuple(op for number, op in enumerate(ops) if number not in gone))


def _chained(
    ops: Sequence[Op], producer: dict[Value, int], number: int, counts: Counter[Value]
) -> tuple[Op, tuple[int, int]] | None:
    """The chain that ends with a product, and which ops go into it."""
    last = ops[number]
    middle = producer.get(last.operands[0])
    if middle is None or ops[middle].name != "fusion" or len(ops[middle].results) != 1:
        return None
    fusion = ops[middle]
    starts = [producer[operand] for operand in fusion.operands if operand in producer]
    start = next((one for one in starts if ops[one].name == "matmul"), None)
    if start is None or counts[fusion.result] != 1 or counts[ops[start].result] != 1:
        return None
    if not all(_is_pure(op) for op in ops[start + 1 : number]):
        return None
    made = _one(ops[start], fusion, last)
    return None if chain_of(made) is None else (made, (start, middle))


def _is_pure(op: Op) -> bool:
    return op.name == "check" or not (op.own_effects or (op.regions and op.name != "fusion"))


def _one(first: Op, fusion: Op, last: Op) -> Op:
    (region,) = fusion.regions
    factors = [Value(value.type, value.name) for value in (*first.operands, last.operands[1])]
    pairs = list(zip(fusion.operands, region.parameters, strict=True))
    inside = next(parameter for operand, parameter in pairs if operand is first.result)
    others = [(operand, parameter) for operand, parameter in pairs if operand is not first.result]
    result = Value(last.result.type, last.result.name)
    body = (
        replace(first, operands=tuple(factors[:2]), results=(inside,)),
        *region.body,
        replace(last, operands=(region.yielded[0], factors[2]), results=(result,)),
        Op(OPS["yield"], (result,), (), loc=last.loc),
    )
    given = (*(operand for operand, _ in others), *first.operands, last.operands[1])
    parameters = (*(parameter for _, parameter in others), *factors)
    return replace(fusion, operands=given, results=last.results, regions=(Region(parameters, body),), loc=last.loc)


def _chain(first: Op, last: Op, between: Sequence[Op]) -> Chain | None:
    """A chain of halves, whose rows are a softmax of what is made of the first product element by element."""
    type = first.result.type
    assert isinstance(type, Tensor)
    halves = {value.type.dtype.name for op in (first, last) for value in op.operands if isinstance(value.type, Tensor)}
    producer = {op.result: op for op in between if len(op.results) == 1}
    weights = last.operands[0]
    scores = _softmax_of(weights, producer)
    if len(halves) != 1 or not halves <= {"f16", "bf16"} or scores is None or 1 in type.dims[-2:]:
        return None
    needed, prologue = {scores}, list[Op]()
    for op in reversed(between):
        if needed.intersection(op.results):
            prologue.insert(0, op)
            needed.update(op.operands)
    region = Region((), (*prologue, Op(OPS["yield"], (scores,), ())))
    if dims_of(scores.type) != type.dims or not is_elementwise(region, first.result):
        return None
    return Chain(first, last, scores, weights, tuple(prologue))


def _softmax_of(value: Value, producer: dict[Value, Op]) -> Value | None:
    """What a value is the softmax of, along its last axis."""

    def made(value: Value, *names: str) -> Sequence[Value]:
        op = producer.get(value)
        return op.operands if op is not None and op.name in names else ()

    def folded(value: Value, name: str) -> Value | None:
        """The operand of a reduction along the last axis that is broadcast along it."""
        rank = len(dims_of(value.type))
        spread = producer.get(value)
        if spread is None or spread.name != "broadcast" or tuple(spread.attributes["axes"]) != tuple(range(rank - 1)):
            return None
        op = producer.get(spread.operands[0])
        if op is None or op.name != name or tuple(op.attributes["axes"]) != (rank - 1,):
            return None
        return op.operands[0]

    while inside := made(value, "cast", "copy"):
        value = inside[0]
    quotient = made(value, "divide")
    if not quotient or folded(quotient[1], "reduce_add") is not quotient[0]:
        return None
    powers = made(quotient[0], "exp")
    difference = made(powers[0], "subtract") if powers else ()
    if not difference or folded(difference[1], "reduce_maximum") is not difference[0]:
        return None
    return difference[0]
