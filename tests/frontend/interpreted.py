"""Runs the frontend without a compiler: what was traced goes through the reference interpreter.

Guards are checked as the Python entry checks them, so that tests of "never stale" see what a compiled function does.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from types import FunctionType
from typing import Any

from jitflow.compilation.failures import for_the_caller
from jitflow.errors import UserError
from jitflow.frontend.entry.compilable import refuse_function_kind
from jitflow.frontend.entry.function import TracedFunction, trace
from jitflow.frontend.entry.result_tree import Chosen, Computed, Group
from jitflow.ir.core import Function, walk
from jitflow.ir.dims import Dim, Expression, evaluate
from jitflow.ir.interpreter import interpret
from jitflow.ir.ops.derivative import DERIVATIVE_NAMES
from jitflow.ir.types import Index, dims_of
from jitflow.ir.verifier import verify
from jitflow.passes.pipeline import run_passes
from jitflow.runtime.entry import plan as p
from jitflow.runtime.entry.entry_python import Binding
from jitflow.runtime.entry.parameters import make_binder, parameters_of

__all__ = ["Interpreted", "interpreted"]

_COMPARE = {"==": int.__eq__, "!=": int.__ne__, ">=": int.__ge__, "<": int.__lt__}


def interpreted(fn: Any = None, *, static: Iterable[str] = ()) -> Any:
    """Decorate as `jitflow.function` does."""
    return Interpreted(fn, tuple(static)) if fn is not None else lambda inner: Interpreted(inner, tuple(static))


class Interpreted:
    """A function that is traced once for each set of guards, and interpreted at every call."""

    __jitflow_compiled__ = True

    def __init__(self, fn: FunctionType, static: tuple[str, ...] = ()) -> None:
        refuse_function_kind(fn)
        self.__wrapped__ = fn
        self._static = static
        self.traced: list[TracedFunction] = []

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else lambda *args, **kwargs: self(instance, *args, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        flat = make_binder(self.__wrapped__)(*args, **kwargs)
        for traced in reversed(self.traced):
            registers = _match(traced, flat)
            if registers is not None:
                return _run(traced, registers)
        traced = self.trace(*flat)
        self.traced.append(traced)
        registers = _match(traced, flat)
        assert registers is not None, "the trace of a call does not match it"
        return _run(traced, registers)

    def trace(self, *flat: Any) -> TracedFunction:
        """Trace at flat arguments."""
        try:
            traced = trace(self.__wrapped__, parameters_of(self.__wrapped__).names, flat, static=self._static)
        except UserError as error:
            raise for_the_caller(error) from None
        verify(traced.function)
        return replace(traced, function=_written_out(traced.function))

    @property
    def count(self) -> int:
        """How often the function was traced."""
        return len(self.traced)


def _written_out(function: Function) -> Function:
    """The function with its derivatives written out, which have no meaning to the interpreter."""
    if any(op.name in DERIVATIVE_NAMES for op in walk(function.region)):
        function = run_passes(function, ("unmark", "differentiate"))
        verify(function)
    return function


def _match(traced: TracedFunction, flat: tuple[Any, ...]) -> Binding | None:
    plan = p.Plan(traced.parameter_names, traced.reads, traced.checks, traced.argument_slots, 0, p.TupleOf(()))
    binding = Binding(plan)
    if not binding.bind(flat):
        return None
    sizes: dict[str, int] = {}
    for leaf, parameter in zip(traced.leaves, traced.function.parameters, strict=True):
        given = binding.register(leaf.register)
        if isinstance(parameter.type, Index) and parameter.type.dim is not None:
            sizes[str(parameter.type.dim)] = given
        for dim, size in zip(dims_of(parameter.type), getattr(given, "shape", ()), strict=False):
            if isinstance(dim, Expression) and dim.is_symbol and str(dim) not in sizes:
                sizes[str(dim)] = size
            elif _number(dim, sizes) != size:
                return None
    holds = all(
        _COMPARE[fact.relation](_number(fact.left, sizes), _number(fact.right, sizes)) for fact in traced.function.facts
    )
    return binding if holds else None


def _number(dim: Dim, sizes: dict[str, int]) -> int:
    return evaluate(dim, sizes)


def _run(traced: TracedFunction, binding: Binding) -> Any:
    results = interpret(traced.function, *(binding.register(leaf.register) for leaf in traced.leaves))

    def build(tree: Any) -> Any:
        if isinstance(tree, Computed):
            found = results[tree.index]
            for make, numbers in tree.made:
                found = getattr(found, make) if isinstance(make, str) else make(found, *map(build, numbers))
            return found
        if isinstance(tree, p.SameObject):
            return binding.register(tree.register)
        if isinstance(tree, p.ConstantObject):
            return tree.object
        if isinstance(tree, Chosen):
            return build(dict(tree.options)[int(build(tree.number))])
        assert isinstance(tree, Group)
        return _container(tree.make(tuple(p.ConstantObject(build(child)) for child in tree.children)))

    return build(traced.results)


def _container(node: Any) -> Any:
    children = [child.object for child in node.children]
    match node:
        case p.TupleOf():
            return tuple(children)
        case p.ListOf():
            return children
        case p.DictOf(keys):
            return dict(zip(keys, children, strict=True))
        case p.StructOf(kind, _, None):
            return kind(*children)
        case p.StructOf(kind, _, names):
            return kind(**dict(zip(names, children, strict=True)))
    raise AssertionError(node)
