"""Partial execution: values that a program names, and functions that are the part of it which these need.

The idea is that of feed and fetch in the 2016 TensorFlow system (Abadi et al., OSDI 2016, section 3.2): the program is
a graph, and a call may ask for any values in it and give any others, whatever computes them in the program.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import FunctionType
from typing import TYPE_CHECKING, Any

from jitflow.errors import UserNotImplementedError, UserTypeError, UserValueError
from jitflow.records import dataclass

if TYPE_CHECKING:
    from jitflow.frontend.entry.function import TracedFunction

__all__ = ["Part", "extracted", "name", "part_of"]


def name(value: Any, label: str) -> Any:
    """``value``, an array or a number, which a compiled function calls ``label`` from now on; it is ``value`` itself.

    `partial` of the function fetches and feeds values by their names, and `ir`, `explain` and ``jitflow graph`` show
    them. A name costs nothing. Outside of compiled functions nothing happens.

    Raises TypeError for what is no array or number, and for a label that is no string.
    """
    from jitflow.frontend.recording.trace import active_trace

    if active_trace() is None:
        return value
    from jitflow.frontend.entry.naming import mark

    return mark(value, label)


@dataclass(frozen=True)
class Part:
    """What a part of a program gives: the values called ``labels``, as ``form`` has them."""

    labels: tuple[str, ...]
    form: str
    effects: bool


def part_of(
    fn: Callable[..., Any], fetch: str | Sequence[str], feed: Mapping[str, Any] | Iterable[str], effects: bool
) -> tuple[Callable[..., Any], Part]:
    """A function of the parameters of ``fn``, none of which has to be given, and of what is fed; and what it gives."""
    labels = (fetch,) if isinstance(fetch, str) else tuple(fetch)
    fed = {feed: inspect.Parameter.empty} if isinstance(feed, str) else feed
    given = dict(fed) if isinstance(fed, Mapping) else dict.fromkeys(fed, inspect.Parameter.empty)
    for label in (*labels, *given):
        if not isinstance(label, str):
            raise UserTypeError("names of values are strings", found=repr(label))
    if not labels:
        raise UserValueError("expected the name of a value to fetch", found=repr(fetch))
    doubles = [label for label in labels if labels.count(label) > 1]
    if doubles:
        raise UserValueError(f"{doubles[0]!r} is fetched twice")
    keywords = tuple((label, re.sub(r"\W", "_", label)) for label in given)
    form = "value" if isinstance(fetch, str) else "list" if isinstance(fetch, list) else "tuple"

    def run(fun: FunctionType, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        from jitflow.frontend.entry.naming import trace_part

        named = dict(kwargs)
        feeds = {label: named.pop(keyword) for label, keyword in keywords}
        return trace_part(fun, args, named, feeds, effects)

    from jitflow.signatures import with_signature

    signature = _signature(fn, {keyword: given[label] for label, keyword in keywords})
    return with_signature(fn, run, signature), Part(labels, form, effects)


def _signature(fn: Callable[..., Any], fed: Mapping[str, Any]) -> inspect.Signature:
    """The parameters of ``fn``, which may be left out, and those for what is fed, with the values for it if known."""
    from jitflow.frontend.tracers.absent import NOT_GIVEN

    kinds = inspect.Parameter
    own = []
    for parameter in inspect.signature(fn).parameters.values():
        starred = parameter.kind in (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD)
        optional = parameter.default is not kinds.empty
        own.append(parameter if starred or optional else parameter.replace(default=NOT_GIVEN))
        if parameter.name in fed:
            raise UserValueError(
                f"{parameter.name!r}, which is fed, is the name of a parameter too",
                mend="name the value otherwise, or pass the parameter",
            )
    last = [own.pop()] if own and own[-1].kind is kinds.VAR_KEYWORD else []
    more = [kinds(keyword, kinds.KEYWORD_ONLY, default=value) for keyword, value in fed.items()]
    return inspect.Signature([*own, *more, *last])


def extracted(traced: TracedFunction, part: Part) -> TracedFunction:
    """The part of what was traced."""
    from jitflow.frontend.entry.result_tree import Computed, Group
    from jitflow.ir.types import Scalar, Tensor, Variable
    from jitflow.passes.values.extract import extract
    from jitflow.runtime.entry.plan import ArrayLeaf, ListOf, TupleOf

    writes = any(isinstance(value.type, Variable) for value in traced.function.parameters)
    if traced.function.attributes.get("overlap") and writes and not part.effects:
        raise UserNotImplementedError(
            "a part of a function that writes to arguments which overlap in memory",
            mend="pass copies, or ask for what the part writes as well: effects=True",
        )
    if traced.is_storing and part.effects:
        raise UserNotImplementedError(
            "a part, with its effects, of a function that stores to objects from outside",
            mend="call the function itself, or ask for the part without effects=True",
        )
    function = extract(traced.function, part.labels, effects=part.effects)
    computed: list[Computed] = []
    for index, value in enumerate(function.results):
        assert isinstance(value.type, Tensor | Scalar)
        computed.append(Computed(index, value.type))
    made = ListOf if part.form == "list" else TupleOf
    results = computed[0] if part.form == "value" else Group(made, tuple(computed))
    if part.effects:
        return replace(traced, function=function, results=results)
    # Nothing is written, so the arrays need not be writeable. Checks and leaves share these objects.
    unwritten = {
        leaf: replace(leaf, writeable=False) for leaf in traced.leaves if isinstance(leaf, ArrayLeaf) and leaf.writeable
    }
    return replace(
        traced,
        function=function,
        results=results,
        stores=None,
        leaves=tuple(unwritten.get(leaf, leaf) if isinstance(leaf, ArrayLeaf) else leaf for leaf in traced.leaves),
        checks=tuple(unwritten.get(one, one) if isinstance(one, ArrayLeaf) else one for one in traced.checks),
    )
