"""One copy of a helper for both paths of a branch that call it.

A helper is written out where it is called, so a branch whose paths both call the next helper, which branches as well,
doubles the program with each level, while the program that runs makes one call for each. Where helpers in branches of
helpers are many, the trace starts anew and shares such calls: both paths are traced up to the call, the branch ends
there and yields its arguments, the helper is called once behind it, and a second branch of the same condition goes on::

    if c:                               if c: a = x + 1
        y = f(x + 1) * 2                else: a = x - 1
    else:                       ->      b = f(a)
        y = f(x - 1)                    if c: y = b * 2
                                        else: y = b

What stands before the call is recorded once more in the second branch, so it has to be without effects, and the helper
may write to nothing that was made before. Arguments have to be of the same types on both paths; what is no number or
array has to be the same. A number that is another one on each path is one that the running program knows; where the
helper needs it while it is traced, the paths keep their own calls.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import field
from functools import partial, wraps
from typing import Any

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserError
from jitflow.frontend.control.leaves import flatten
from jitflow.frontend.control.local_types import kind_of
from jitflow.frontend.control.merge import agreeing
from jitflow.frontend.control.mutables import Mutables
from jitflow.frontend.control.paths import Path
from jitflow.frontend.recording.choices import Choice, Restart, Site
from jitflow.frontend.recording.regions import Scope
from jitflow.frontend.recording.trace import Trace, current_trace
from jitflow.frontend.syntax import is_block
from jitflow.ir.core import Op, Value, walk_ops
from jitflow.ir.effects import written_by
from jitflow.records import dataclass

__all__ = ["is_seen", "sharable", "traced_paths"]

_SHARED = Site(Choice.SHARED_CALLS)
"""Stands for the decision to share calls."""
_MANY = 6
"""How often a branch is traced, deep in helpers, before calls are shared."""
_NUMBERS = (bool, int, float, complex)
_MOST = 1000
"""How often a branch is traced there at the most: where calls cannot be shared, each level doubles that."""
_DEEP = 3
"""How many calls deep that is."""
_MOST_SHARED = 4
"""The calls of one branch that are shared at the most: for each its paths are traced once more."""

Join = Callable[[Sequence[Any], Sequence[str]], dict[str, Any]]
TraceOne = Callable[..., Path]
"""Traces a path of a branch, and is told whether the condition of the branch `holds` there."""


class _Calls:
    """Calls of helpers in branches: how often branches were traced deep in them, and what shared calls give."""

    def __init__(self) -> None:
        self.deep: Counter[tuple[str, int]] = Counter()
        self.shared: dict[Scope, SharedCalls] = {}


class _Reached(BaseException):
    """A path has come to the call of a helper."""

    def __init__(self, call: _Call) -> None:
        super().__init__()
        self.call = call


@dataclass(frozen=True, eq=False)
class _Call:
    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    @property
    def operands(self) -> tuple[Any, ...]:
        return (*self.args, *self.kwargs.values())

    def is_like(self, other: _Call) -> bool:
        """Whether one call can serve for both."""
        if self.function is not other.function or tuple(self.kwargs) != tuple(other.kwargs):
            return False
        ours, theirs = self.operands, other.operands
        return len(self.args) == len(other.args) and all(map(_may_be_one, ours, theirs))

    def with_operands(self, operands: Sequence[Any]) -> Any:
        """Make the call, with other operands."""
        count = len(self.args)
        return _called(self.function, tuple(operands[:count]), dict(zip(self.kwargs, operands[count:], strict=True)))


@dataclass(frozen=True, eq=False)
class _Shared:
    """What a call gave, and the positions of the operands that the branch chose."""

    result: Any
    chosen: tuple[int, ...]


@dataclass(eq=False)
class SharedCalls:
    """What the calls of a path give, in their order; the next one is reached, or made if the path ``goes_on``."""

    results: Sequence[_Shared]
    goes_on: bool
    apart: Site
    made: int = field(default=0)

    def call(self, call: _Call) -> Any:
        """What a call that the path makes gives."""
        self.made += 1
        if self.made <= len(self.results):
            shared = self.results[self.made - 1]
            _keep_apart([call.operands[number] for number in shared.chosen], self.apart)
            return shared.result
        if self.goes_on:
            return call.function(*call.args, **call.kwargs)
        raise _Reached(call)


def sharable(function: Any) -> Any:
    """A helper as branches are to call it: itself, unless calls are shared."""
    if not current_trace().choices.answer(_SHARED):
        return function

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return _called(function, args, kwargs)

    return call


def _called(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    trace = current_trace()
    shared = trace.state(_Calls).shared.get(trace.scope)
    return function(*args, **kwargs) if shared is None else shared.call(_Call(function, args, kwargs))


def traced_paths(
    runs: Sequence[Callable[[], Any]], trace_one: TraceOne, join: Join, mutables: Mutables, key: tuple[str, int],
) -> list[Path]:  # fmt: skip
    """The paths of a branch, of which the first is taken if its condition holds, traced by ``trace_one``.

    ``join`` ends a branch and says what names are behind it.
    """
    trace = current_trace()
    _share_if_deep(trace, key)
    apart = Site(Choice.PASSED_AS_MEMORY, *key)
    if not trace.choices.answer(_SHARED) or trace.choices.answer(apart):
        return [trace_one(run, number == 0) for number, run in enumerate(runs)]
    results: list[_Shared] = []
    while True:
        reached, paths = _up_to_calls(trace, runs, trace_one, results, apart)
        calls = [call for call in reached if call is not None]
        if len(calls) < len(runs) or len(results) == _MOST_SHARED or not _is_one_call(calls, paths):
            break
        names = [f"argument {number + 1}" for number in range(len(calls[0].operands))]
        for path, call in zip(paths, calls, strict=True):
            path.locals = dict(zip(names, call.operands, strict=True))
        found = join(paths, names)
        operands = [found[name] for name in names]
        begin = len(trace.builder.ops)
        try:
            result = calls[0].with_operands(operands)
        except (UserError, RecursionError) as error:
            is_known = any(type(operand) in _NUMBERS for operand in calls[0].operands)
            if not is_known or not getattr(error, "is_refusal", True):
                raise
            mutables.restore()
            raise trace.begin_anew(Restart(apart)) from None
        chosen = [
            n for n, pair in enumerate(zip(*(call.operands for call in calls), strict=True)) if pair[0] is not pair[1]
        ]
        results.append(_Shared(result, tuple(chosen)))
        if mutables.changed() or _writes(trace, trace.builder.ops[begin:]):
            mutables.restore()
            raise trace.begin_anew(Restart(apart))
        _keep_apart([operands[number] for number in chosen], apart)
    for number, last in enumerate(reached):
        if last is not None:
            shared = SharedCalls(results, goes_on=True, apart=apart)
            paths[number] = _traced(trace, runs[number], partial(trace_one, holds=number == 0), shared)
    return paths


def _share_if_deep(trace: Trace, key: tuple[str, int]) -> None:
    """Start anew, to share calls, where branches in helpers in branches are traced often; refuse it beyond that."""
    if sum(1 for _ in trace.scope.around()) <= _DEEP:
        return
    if sum(not is_block(code) for code in trace.running_code()) <= _DEEP:
        return
    deep = trace.state(_Calls).deep
    deep[key] += 1
    if deep[key] > _MANY and not trace.choices.answer(_SHARED):
        raise trace.begin_anew(Restart(_SHARED))
    if deep[key] > _MOST:
        raise trace.too_large()


def _up_to_calls(
    trace: Trace,
    runs: Sequence[Callable[[], Any]],
    trace_one: TraceOne,
    results: list[_Shared],
    apart: Site,
) -> tuple[list[_Call | None], list[Path]]:
    """The paths up to the first call that is not among those that have been made, or to their ends."""
    reached: list[_Call | None] = [None] * len(runs)

    def up_to_call(number: int) -> Callable[[], Any]:
        def run() -> Any:
            try:
                return runs[number]()
            except _Reached as found:
                reached[number] = found.call
                return None

        return run

    paths = [
        _traced(
            trace,
            up_to_call(number),
            partial(trace_one, holds=number == 0),
            SharedCalls(results, goes_on=False, apart=apart),
        )
        for number in range(len(runs))
    ]
    return reached, paths


def _traced(
    trace: Trace, run: Callable[[], Any], trace_one: Callable[[Callable[[], Any]], Path], shared: SharedCalls
) -> Path:
    """A path, whose own calls give what ``shared`` says."""

    def inside() -> Any:
        trace.state(_Calls).shared[trace.scope] = shared
        return run()

    return trace_one(inside)


def _is_one_call(calls: Sequence[_Call], paths: Sequence[Path]) -> bool:
    first, *others = calls
    if not all(first.is_like(other) for other in others):
        return False
    return not any(is_seen(current_trace(), path.scope.builder.ops) for path in paths)


def is_seen(trace: Trace, ops: Sequence[Op]) -> bool:
    """Whether others may see that ops have run: they call out, or write to memory that they have not made."""
    return any(effect.kind == "external" for op in walk_ops(ops) for effect in op.own_effects) or _writes(trace, ops)


def _keep_apart(operands: Sequence[Any], apart: Site) -> None:
    """Start anew without sharing if something is written to later that a helper was handed: its result may show it."""
    storage = current_trace().storage
    for leaf in (leaf for operand in operands for leaf in flatten(operand).items):
        if isinstance(leaf, tracers.ArrayTracer):
            storage.copy_at(apart, leaf._value)


def _may_be_one(one: Any, other: Any) -> bool:
    """Whether an argument may be chosen by a branch: nobody could tell, while tracing, that it was."""
    if one is other:
        return True
    if isinstance(one, tuple) and type(one) is type(other) and len(one) == len(other):
        return all(map(_may_be_one, one, other))
    if isinstance(one, tracers.ArrayTracer | tracers.ScalarTracer) and type(one) is type(other):
        return kind_of(one) == kind_of(other)
    if type(one) is type(other) and type(one) in _NUMBERS:
        return True
    return not isinstance(one, list | dict | set) and agreeing([one, other])


def _writes(trace: Trace, ops: Sequence[Op]) -> bool:
    """Whether ops write to memory that they have not made."""
    inside = {result for op in walk_ops(ops) for result in op.results}
    variables = trace.storage.variables
    made: set[Value] = inside | {variables[root] for root in inside & variables.keys()}
    return any(not places <= made for places in written_by(ops))
