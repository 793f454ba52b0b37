"""Parts of a ``try`` statement that the running program may leave where something is raised (`syntax.attempts`).

A part is traced into a region. The checks in it for which there is a handler cut it into pieces, each of which runs if
the check before it holds:

    check %0 {error="IndexError"}           %2, %3 = if %0 {
    %1 = slice %x ...                ->       %1 = slice %x ...
                                              yield 0, %1
                                            } {
                                              yield 1, (some value)      the first handler is for it
                                            }

What was stored before a check that fails stays stored, as in Python. A library function that may raise is called once
more before, to see whether it does. The paths of a branch are cut as well, and what follows the branch runs if neither
has failed. What is raised in a loop inside is not caught: a ``try`` around it is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, NamedTuple

import jitflow.frontend.tracers as tracers
from jitflow.errors import ExceptionName
from jitflow.frontend.control.cells import UNBOUND, Cells
from jitflow.frontend.control.contents import Changes
from jitflow.frontend.control.foreseen import can_be_foreseen, raises_nothing
from jitflow.frontend.control.joining import join
from jitflow.frontend.control.leaves import flatten
from jitflow.frontend.control.local_types import placeholder
from jitflow.frontend.control.merge import resolved
from jitflow.frontend.control.paths import Path, trace_path
from jitflow.frontend.control.raising import fail, fail_with
from jitflow.frontend.control.telling import NOTHING_TOLD, Moments, error_of, number_of, told_by
from jitflow.frontend.control.trying import (
    Handlers,
    Statements,
    constant_behind,
    is_for_the_compiler,
    raised_by,
    refusal,
    site_of,
)
from jitflow.frontend.recording import values
from jitflow.frontend.recording.regions import Knowledge, Scope
from jitflow.frontend.recording.trace import active_trace, current_trace
from jitflow.ir.core import Builder, Op, Region, Value, walk
from jitflow.ir.dims import Dim, symbol, symbols
from jitflow.ir.dtypes import BOOL
from jitflow.ir.types import Place, Scalar, Tensor, Type, Variable, dims_of, map_dims
from jitflow.records import dataclass

__all__ = ["attempt", "attempts"]

VALUE = "the value"
_ANOTHER = tuple(number - 1 for number in NOTHING_TOLD)
"""What differs from what is told of nothing in each place, so that each of them is carried out of the branch."""


class Caught(NamedTuple):
    """What is caught of what an op may raise, and the number of the handler that is for it."""

    number: int
    errors: tuple[str, ...]


def attempts(line: int, about: str = "") -> bool:
    """Whether the ``try`` statement of a line is attempted part by part, or so is what its ``finally`` follows."""
    trace = active_trace()
    return trace is not None and bool(trace.choices.answer(site_of(line, about)))


def attempt(
    run: Callable[[], Any],
    handled: Callable[[], tuple[Any, ...]],
    numbers: Sequence[int] = (),
    asking: Sequence[int] | None = None,
) -> tuple[Any, ...]:
    """What ``run`` gives, and the number of the handler that is for what it raised: 0 if it raised nothing.

    With ``asking``, the numbers of handlers that ask for the exception, a third is what is told of it.
    """
    statements = current_trace().state(Statements)
    statements.attempting += 1
    try:
        return _attempt(run, Handlers(handled, numbers), asking)
    finally:
        statements.attempting -= 1


def _attempt(run: Callable[[], Any], handlers: Handlers, asking: Sequence[int] | None) -> tuple[Any, ...]:
    trace, cells = current_trace(), Cells(run)
    objects, outer = Changes((*cells.contents(), *cells.own())), trace.scope
    scope = _Pieces(Builder(loc=outer.builder.loc), outer.knowledge.copy(), outer, recalled=outer.recalled)
    nothing = () if asking is None else (NOTHING_TOLD,)
    scope.heads = 1 if asking is None else 1 + len(NOTHING_TOLD)
    statements, noted = trace.state(Statements), trace.noted
    moments: dict[Op, _Moment] = {}

    def note(op: Op) -> None:
        noted(op)
        if op.name != "if" and handlers.first_raised(op) is not None:
            moments[op] = _Moment(trace.scope, trace.knowledge.copy(), objects.now())

    statements.handled.append(handlers.handles)
    trace.state(Moments).append(moments)
    trace.noted = note
    try:
        path = trace_path(lambda: _caught(run, handlers), dict, scope, is_whole=True)
    finally:
        statements.handled.pop()
        trace.state(Moments).pop()
        trace.noted = noted
    with trace.region(scope):
        scope.handlers = _numbers(scope.builder.ops, handlers, asking or ())
    if not scope.handlers:
        objects.before.restore()
        return run(), 0, *nothing
    objects.take_back(path)
    first = next(iter(scope.handlers))
    if first.name == "check" and _constant(scope, first) is False and scope.builder.ops[0] is first:
        told = tuple(map(tracers.wrap, told_by(first)[1:]))
        objects.write_back(moments[first].content)
        return None, scope.handlers[first].number, *((number_of(first), *told) for _ in nothing)
    if any(moment.content for moment in moments.values()) or objects.left(path):
        scope.pieces = _pieces(scope.handlers, objects, moments)
    return _dynamic(path, scope, nothing, objects)


class _Moment(NamedTuple):
    """Where an op stands that may raise something, what is known there, and what objects held that had changed."""

    scope: Scope
    knowledge: Knowledge
    content: dict[int, Any]


def _caught(run: Callable[[], Any], handlers: Handlers) -> Any:
    """``run()``; what Python itself raises while tracing is a check that fails."""
    try:
        return run()
    except BaseException as error:
        if is_for_the_compiler(error) or not handlers.handles(type(error)):
            raise
        if not isinstance(error, Exception):
            fail(type(error), str(error))
        fail_with(error)


def _constant(scope: Scope, op: Op) -> Any:
    with current_trace().region(scope):
        return constant_behind(op.operands[0])


def _numbers(ops: Sequence[Op], handlers: Handlers, asking: Sequence[int]) -> dict[Op, Caught]:
    """The ops that may raise what a handler is for, and the branches with such ops in them.

    Raises for those of which nobody knows before whether they do.
    """
    found: dict[Op, Caught] = {}
    for op in ops:
        raised = handlers.first_raised(op)
        if op.name == "if":
            inside: dict[Op, Caught] = {}
            for region in op.regions:
                with current_trace().region() as path:
                    path.builder.ops.extend(region.ops)
                    inside |= _numbers(region.ops, handlers, asking)
            found |= inside and {op: Caught(0, ()), **inside}
            continue
        inner = ((each, handlers.first_raised(each)) for region in op.regions for each in walk(region))
        refused = next(((each, kind) for each, kind in inner if kind is not None), None)
        if refused is None and raised is not None and not can_be_foreseen(op, handlers):
            refused = op, raised
        if refused is not None and refused[1] is not None:
            raise current_trace().locate(refusal(refused[1], refused[0]))
        if raised is not None:
            errors = tuple(ExceptionName.of(kind) for kind in raised_by(op) if handlers.handles(kind))
            found[op] = Caught(handlers.number_for(raised), errors)
            told = error_of(op)
            if not (told if found[op].number in asking else found[op].number > 0 or told):
                raise current_trace().locate(refusal(raised, op))
    return found


def _dynamic(path: Path, scope: _Pieces, nothing: tuple[Any, ...], objects: Changes) -> tuple[Any, ...]:
    trace, pieces = current_trace(), scope.pieces
    thing = UNBOUND if path.ended else resolved(path.result)
    carried = any(isinstance(leaf, tracers.Tracer) for leaf in flatten(thing).items)
    path.ended = False
    told = {"told": nothing[0]} if nothing else {}
    with trace.region() as other:
        pass
    failed = Path(other, False, None, {"fail": -1, "told": _ANOTHER})
    objects.leave(failed, {})
    contents = objects.as_locals([path, failed, *pieces.values()])
    path.locals |= {"fail": 0, **told, **({VALUE: thing} if carried else {})}
    for op, piece in pieces.items():
        with trace.region(piece.scope):
            piece.locals |= {"fail": scope.handlers[op].number, "told": tuple(map(tracers.wrap, told_by(op)))}
    names = ("fail", *told, *contents, *([VALUE] if carried else []))
    always = trace.make("constant", value=True, type=Scalar(BOOL))
    here = trace.here()
    key = here.file, here.line
    found = join(always, [path, failed], names, key, objects.before, objects.left_in, [*pieces.values()])
    objects.write({name: found[name] for name in contents})
    value = resolved(found[VALUE]) if carried else None if thing is UNBOUND else thing
    return value, found["fail"], *(found[name] for name in told)


def _pieces(handlers: Mapping[Op, Caught], objects: Changes, moments: Mapping[Op, _Moment]) -> dict[Op, Path]:
    """What happens where an op raises something: a path that ends there, with what objects hold at that moment."""
    found = {}
    for op in (op for op in handlers if op.name != "if"):
        around = moments[op].scope
        scope = Scope(Builder(loc=op.loc), moments[op].knowledge, around, recalled=around.recalled)
        found[op] = Path(scope, False, None, {})
        objects.leave(found[op], moments[op].content)
    return found


@dataclass(eq=False)
class _Pieces(Scope):
    """The region of a part, which becomes pieces when it is closed. What it yields first is the handler's number."""

    handlers: Mapping[Op, Caught] = field(default_factory=dict)
    pieces: Mapping[Op, Path] = field(default_factory=dict)
    """What happens where an op raises something."""
    heads: int = 1
    """How many values tell of a failure: the number, what is told, and what objects hold that have changed."""

    def close(self, parameters: Sequence[Value], yielded: Sequence[Value]) -> Region:
        """The region, with what follows each check in a branch of its own."""
        region = super().close(parameters, yielded)
        if self.pieces:
            names = next(iter(self.pieces.values())).slots
            self.heads = sum(not name.startswith(VALUE) for name in names)
        return replace(self._nested(region.ops[:-1], tuple(yielded), frozenset()), parameters=tuple(parameters))

    def _nested(self, ops: Sequence[Op], yielded: Sequence[Value], sizes: frozenset[str], start: int = 0) -> Region:
        """A region of ops, cut into pieces. ``sizes`` are those that the attempt has bound before."""
        trace, builder = current_trace(), Builder()
        place = next((place for place, op in enumerate(ops) if place >= start and op in self.handlers), len(ops))
        builder.ops.extend(ops[:place])
        if place == len(ops):
            return builder.region((), yielded)
        op = ops[place]
        builder.loc = op.loc
        sizes |= _named(ops[:place])
        assert self.outer is not None
        is_outside = trace.is_visible_in(self.outer)

        def visible(dim: Dim) -> bool:
            return all(name in sizes or is_outside(symbol(name)) for name in symbols(dim))

        def outside(value: Value) -> Type:
            return map_dims(_flowing(value), lambda dim: dim if visible(dim) else trace.size("size"))

        if op.name == "if":
            failed = [Value(outside(value), "fail") for value in yielded[: self.heads]]
            heads = [value.type for value in failed]
            regions = tuple(self._turned(region, heads, sizes) for region in op.regions)
            builder.ops.append(replace(op, results=(*failed, *op.results), regions=regions))
            holds = builder.make("equal", failed[0], builder.make("constant", value=0, type=heads[0]))
            inner = self._nested(ops[place + 1 :], yielded, sizes | _named([op]))
        else:
            with trace.region(Scope(builder, outer=self)):
                holds = raises_nothing(op, self.handlers[op].errors)
            if op.name != "host_call":  # which may raise what another statement catches
                trace.state(Statements).foreseen.add(op)
            after, start = (place + 1, 0) if op.name == "check" else (place, 1)
            inner = self._nested(ops[after:], yielded, sizes, start)
        with trace.region(Scope(Builder(loc=op.loc), outer=self)) as otherwise:
            if op in self.pieces:
                region = self.pieces[op].region
                assert region is not None
                failed = list(region.yielded[: self.heads])
                otherwise.builder.ops.extend(_leading_to(region.ops[:-1], failed))
            elif op.name != "if":
                number = trace.make("constant", value=self.handlers[op].number, type=yielded[0].type)
                failed = [number, *told_by(op)][: self.heads]
            missing = [*failed, *(_some(_flowing(value), visible) for value in yielded[self.heads :])]
        other = otherwise.close((), missing)
        types = [*map(outside, yielded)]
        return builder.region((), builder.add("if", holds, types=types, regions=(inner, other)))

    def _turned(self, region: Region, heads: Sequence[Type], sizes: frozenset[str]) -> Region:
        """A path of a branch, which yields what tells of a failure before all else."""
        with current_trace().region(Scope(Builder(), outer=self)) as turned:
            turned.builder.ops.extend(region.ops[:-1])
            nothing = [_nothing(kind) if isinstance(kind, Scalar) else _some(kind, lambda _: True) for kind in heads]
        return self._nested(turned.builder.ops, (*nothing, *region.yielded), sizes)


def _leading_to(ops: Sequence[Op], wanted: Iterable[Value]) -> list[Op]:
    """Those ops that some values are computed by, and those that do something."""
    needed, found = set(wanted), list[Op]()
    for op in reversed(ops):
        if op.own_effects or op.regions or not needed.isdisjoint(op.results):
            found.append(op)
            needed.update(op.operands)
    return found[::-1]


def _named(ops: Sequence[Op]) -> frozenset[str]:
    """The sizes that are in the types of what ops give."""
    dims = (dim for op in ops for result in op.results for dim in dims_of(result.type))
    bound = (op.attributes["binds"] for op in ops if "binds" in op.attributes)
    return frozenset().union(*map(symbols, dims), bound)


def _flowing(value: Value) -> Type:
    """The type of what may be this value or another one: of a variable, that of a place."""
    kind = value.type
    return Place(kind.dtype, kind.dims) if isinstance(kind, Variable) else kind


def _nothing(kind: Scalar) -> Value:
    """What tells of no failure, or is read by nobody."""
    nothing = {"b": False, "f": 0.0, "c": 0j}.get(kind.dtype.kind, 0)
    return current_trace().make("constant", value=nothing, type=kind)


def _some(kind: Type, visible: Callable[[Dim], bool]) -> Value:
    """Some value of a type, which nobody reads."""
    found, trace = map_dims(kind, lambda dim: dim if visible(dim) else 0), current_trace()
    if isinstance(found, Place):
        return trace.storage.memory(Tensor(found.dtype, found.dims))
    assert isinstance(found, Scalar | Tensor)
    number = placeholder(trace, found if isinstance(found, Scalar) else Scalar(found.dtype))
    return number if isinstance(found, Scalar) else values.fill(number, found.dims)
