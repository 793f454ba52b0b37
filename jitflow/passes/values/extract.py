"""A part of a program: what gives the values that it names, and nothing else.

    %h: f64[n] = exp %x
    mark %h {label="hidden"}                           %h: f64[n] = exp %x
    store %w, %h                            ->         yield %h
    %y: f64 = reduce_add %h {axes=[0]}
    yield %y

One backward sweep keeps the ops whose results are needed, and those that write to storage which something needed reads.
Without effects nothing that outlives the call is written: variables and arguments that the program writes to become
storage of its own, which starts with what they hold, so the part sees its own writes; prints and calls whose results
nobody needs are left out.

A ``check`` gives no value. It stays if something that is needed follows it and it tests values or sizes that the part
has as well: what follows may trust it (an index in range). Checks in loops are trusted inside these only. What a check
takes is needed then too, so the sweep runs again until no other check stays.

A name inside of a function that is differentiated is handed out of the region first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from jitflow.errors import CompilerBug
from jitflow.ir.core import Builder, Function, Op, Region, Value, clone_op, walk_inside
from jitflow.ir.dims import Dim, substitute, symbol
from jitflow.ir.effects import ANYTHING, Effects
from jitflow.ir.types import Tensor, Type, Variable, map_dims
from jitflow.passes.analyses.order import bound_sizes, reads_of

__all__ = ["extract"]


def extract(function: Function, labels: Sequence[str], *, effects: bool = False) -> Function:
    """The part of a function that yields the values that its marks call ``labels``.

    With ``effects`` it does all else that the function does besides computing its results. The parameters stay.
    """
    ops = _handed_out(function.region.body, frozenset(labels))
    values = {op.attributes["label"]: op.operands[0] for op in ops if op.name == "mark"}
    missing = [label for label in labels if label not in values]
    if missing:
        raise CompilerBug(f"no value is called {missing[0]!r} where it runs once", pass_name="extract")
    m = Builder(loc=function.region.ops[-1].loc)
    results: list[Value] = []
    for label in labels:
        value = values[label]
        results.append(m.make("copy", value) if value in results else value)
    m.add("yield", *results)
    body = [op for op in ops if op.name != "mark"]
    extracted = _uncopied(replace(function, region=Region(function.parameters, (*body, *m.ops))))
    return extracted if effects else _without_effects(extracted)


def _uncopied(function: Function) -> Function:
    """The function without copies of arguments, as those which are fed, that nobody writes to or gets hold of."""
    views = {op.result: op.operands[0] for op in function.region.ops if "view" in op.definition.traits}
    held = {op.operands[0] for op in function.region.ops if op.name == "variable"}
    for value in function.results:
        while value in views:
            value = views[value]
        held.add(value)
    given = {value for value in function.parameters if isinstance(value.type, Tensor)}
    copies = {
        op.result: op.operands[0]
        for op in function.region.ops
        if op.name == "copy" and op.operands[0] in given and op.result not in held
    }
    return function.with_ops(clone_op(op, copies) for op in function.region.ops if not copies.keys() & {*op.results})


# -- out of the functions that are differentiated


def _handed_out(ops: Iterable[Op], labels: frozenset[str]) -> list[Op]:
    """The ops, with the marks that regions of derivatives have behind their ops."""
    found: list[Op] = []
    for op in ops:
        if op.name not in ("vjp", "jvp", "recompute"):
            found.append(op)
            continue
        (region,) = op.regions
        inner = _handed_out(region.body, labels)
        marks = [one for one in inner if one.name == "mark" and one.attributes["label"] in labels]
        closing = region.ops[-1]
        yielded = (*closing.operands, *(mark.operands[0] for mark in marks))
        kept = (*(one for one in inner if one.name != "mark"), replace(closing, operands=yielded))
        sizes = {name: symbol(f"{name}.out") for one in kept for name in bound_sizes(one)}
        results = [Value(_with_sizes(mark.operands[0].type, sizes), mark.operands[0].name) for mark in marks]
        first = len(closing.operands)
        found.append(
            replace(
                op,
                results=(*op.results[:first], *results, *op.results[first:]),
                regions=(Region(region.parameters, kept),),
            )
        )
        found += [replace(mark, operands=(result,)) for mark, result in zip(marks, results, strict=True)]
    return found


def _with_sizes(kind: Type, sizes: Mapping[str, Dim]) -> Type:
    return map_dims(kind, lambda dim: substitute(dim, sizes))


# -- without effects


def _without_effects(function: Function) -> Function:
    """The function on storage of its own, and of its ops those that its results need."""
    parameters: list[Value] = []
    values: dict[Value, Value] = {}
    m = Builder(loc=function.region.ops[0].loc)
    for parameter in function.parameters:
        kind = parameter.type
        if isinstance(kind, Variable):
            given = Value(Tensor(kind.dtype, kind.dims), parameter.name)
            values[parameter] = m.make("variable", given)
            parameters.append(given)
        else:
            parameters.append(parameter)
    ops = (*m.ops, *(clone_op(op, values) for op in function.region.ops))
    used = {value for op in ops for value in reads_of(op)}
    region = Region(tuple(parameters), tuple(_silenced(ops, used)))
    local = replace(function, region=region)
    return local.with_ops(_Needed(local).ops())


def _silenced(ops: Iterable[Op], used: set[Value]) -> Iterator[Op]:
    """The ops without those that only act on the world outside, wherever they stand."""
    for op in ops:
        acts = any(effect.kind == "external" for effect in op.own_effects)
        if acts and used.isdisjoint(op.results):
            continue
        if op.regions:
            regions = (Region(region.parameters, tuple(_silenced(region.ops, used))) for region in op.regions)
            op = replace(op, regions=tuple(regions))
        yield op


class _Needed:
    """Backward sweeps over the ops of a function, all of whose storage is its own."""

    def __init__(self, function: Function) -> None:
        self.region = function.region
        self.effects = Effects(function)
        self.makers = {result: op for op in self.region.ops for result in op.results}
        self.binders: dict[str, Op] = {}
        for op in self.region.ops:
            for name in bound_sizes(op):
                self.binders.setdefault(name, op)
        self.values: set[Value] = set()
        self.sizes: set[str] = set()
        self.places: set[Value] = set()

    def ops(self) -> list[Op]:
        """What is needed, in order."""
        trusted: set[Op] = set()
        while True:
            kept = self.sweep(trusted)
            last = max((position for position, op in enumerate(self.region.body) if op in kept), default=0)
            found = {
                op for op in self.region.body[:last] if op not in kept and _only_checks(op) and self.is_trusted(op)
            }
            if not found:
                return [op for op in self.region.ops if op in kept]
            trusted |= found

    def sweep(self, trusted: set[Op]) -> set[Op]:
        """The ops that the results and some checks need."""
        kept = {self.region.ops[-1]}
        self.enter(self.region.ops[-1])
        for op in reversed(self.region.body):
            if op in trusted or self.is_needed(op):
                self.enter(op)
                kept.add(op)
        return kept

    def enter(self, op: Op) -> None:
        """An op is needed, and so is what it takes."""
        self.values.update(reads_of(op))
        for inner in (op, *walk_inside(op)):
            self.sizes.update(inner.sizes)
        for access in self.effects.of(op):
            if access.kind == "reads":
                self.places |= access.places

    def is_needed(self, op: Op) -> bool:
        """Whether an op gives something that is needed: a value, a size, or what storage holds."""
        if not self.values.isdisjoint(op.results):
            return True
        if any(self.binders[name] is op and name in self.sizes for name in bound_sizes(op)):
            return True
        written = {place for access in self.effects.of(op) if access.kind == "writes" for place in access.places}
        return bool(written) and (ANYTHING in written | self.places or not self.places.isdisjoint(written))

    def is_trusted(self, check: Op) -> bool:
        """Whether a check tests what the part has too."""
        seen: set[Value] = set()
        frontier = [*reads_of(check)]
        while frontier:
            value = frontier.pop()
            maker = self.makers.get(value)
            if value in seen or (maker is not None and maker.name == "constant"):
                continue
            seen.add(value)
            if value in self.values:
                return True
            if maker is not None and maker.name == "size" and not self.sizes.isdisjoint(maker.sizes):
                return True
            if maker is not None:
                frontier += reads_of(maker)
        return not seen


def _only_checks(op: Op) -> bool:
    """Whether an op is a check, or a decision whether to raise."""
    if op.name == "check":
        return True
    if op.name != "if" or op.results:
        return False
    return any(inner.name == "check" for inner in walk_inside(op))
