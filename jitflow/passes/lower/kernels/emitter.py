"""Scopes of a kernel under construction: open loops, each with its own list of ops.

Code is emitted into the outermost scope where its operands are known. Because a loop's op is appended only when the
loop is closed, appending to an outer scope while an inner one is open puts code before the inner loop: everything that
does not vary along a loop stands outside of it, with no pass to move it there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import Any

from jitflow.ir.core import Builder, Region, Value
from jitflow.ir.dims import Dim
from jitflow.ir.dtypes import I64, DType
from jitflow.ir.location import Loc
from jitflow.ir.types import Index, Scalar, Type, Vector
from jitflow.passes.fusion.nest import Loop
from jitflow.records import dataclass

__all__ = ["Emitter", "Scope"]


@dataclass(eq=False)
class Scope:
    """An open loop (or the kernel's body): its ops, its position along ``loop``, and what it has computed."""

    builder: Builder
    depth: int
    loop: Loop | None = None
    index: Value | None = None
    mask: Value | None = None
    stop: Value | None = None
    """Where a masked loop ends: a step that ends before it has all its lanes."""
    lanes: int = 0
    step: bool = False
    """One step of a loop that is written out: its ops are in the list of the scope around it."""
    cache: dict[Any, Value] = field(default_factory=dict)


class Emitter:
    """Emits ops into a stack of scopes. Sizes become kernel parameters, collected in ``sizes``."""

    def __init__(self) -> None:
        self.scopes = [Scope(Builder(), 0)]
        self.depth_of: dict[Value, int] = {}
        self.sizes: dict[Dim, Value] = {}
        self.loc: Loc | None = None
        self.floor = 0
        """The outermost scope into which ops are emitted."""

    @property
    def scope(self) -> Scope:
        return self.scopes[-1]

    @property
    def position(self) -> Value:
        """Where the innermost open loop is."""
        assert self.scope.index is not None
        return self.scope.index

    def cached(self, key: Any) -> Value | None:
        """What an open scope has stored under ``key``."""
        for scope in reversed(self.scopes):
            if key in scope.cache:
                return scope.cache[key]
        return None

    def store_cached(self, key: Any, value: Value) -> None:
        """Remember ``value`` for as long as the scope in which it was computed is open."""
        self.scopes[self.depth_of.get(value, 0)].cache[key] = value

    # Emission

    def emit(self, name: str, *operands: Value, depth: int | None = None, **keywords: Any) -> Value:
        """One op with one result, in the outermost scope that knows its operands (or at ``depth``)."""
        (result,) = self.emit_all(name, *operands, depth=depth, **keywords)
        return result

    def emit_all(self, name: str, *operands: Value, depth: int | None = None, **keywords: Any) -> tuple[Value, ...]:
        if depth is None:
            depth = max((self.depth_of.get(operand, 0) for operand in operands), default=0)
            depth = max(depth, self.floor)
        builder = self.scopes[depth].builder
        if self.loc is not None:
            builder.loc = self.loc
        results = builder.add(name, *operands, **keywords)
        for result in results:
            self.depth_of[result] = depth
        return results

    def here(self, name: str, *operands: Value, **keywords: Any) -> tuple[Value, ...]:
        """An op with an effect: it stays in the innermost scope."""
        return self.emit_all(name, *operands, depth=len(self.scopes) - 1, **keywords)

    def number(self, value: object, dtype: DType, lanes: int = 0) -> Value:
        """A constant, in every lane if ``lanes``."""
        key = ("number", repr(value), dtype, lanes)
        found = self.cached(key)
        if found is None:
            found = self.emit("constant", value=value, type=Scalar(dtype))
            if lanes:
                found = self.emit("splat", found, lanes=lanes)
            self.store_cached(key, found)
        return found

    def size(self, dim: Dim) -> Value:
        """A dim as an index: a constant, or a parameter of the kernel that the host computes."""
        if dim not in self.sizes:
            if isinstance(dim, int):
                self.sizes[dim] = self.emit("size", depth=0, dim=dim)
            else:
                self.sizes[dim] = Value(Index(), "size")
                self.depth_of[self.sizes[dim]] = 0
        return self.sizes[dim]

    def arithmetic(self, name: str, left: Value, right: Value) -> Value:
        """Index arithmetic, with the trivial cases left out."""
        if name == "add" and right is self.sizes.get(0):
            return left
        if name == "add" and left is self.sizes.get(0):
            return right
        if name == "multiply" and right is self.sizes.get(1):
            return left
        return self.emit(name, left, right)

    def splat(self, value: Value, lanes: int) -> Value:
        """A scalar in every lane; a vector as it is."""
        if isinstance(value.type, Vector):
            return value
        key = ("splat", value, lanes)
        found = self.cached(key)
        if found is None:
            found = self.emit("splat", value, lanes=lanes)
            self.store_cached(key, found)
        return found

    def elementwise(self, name: str, *operands: Value, **attributes: Any) -> Value:
        """Arithmetic; scalars are splat where they meet vectors."""
        lanes = max((operand.type.lanes for operand in operands if isinstance(operand.type, Vector)), default=0)
        if lanes:
            operands = tuple(self.splat(operand, lanes) for operand in operands)
        return self.emit(name, *operands, **attributes)

    def index_scalar(self, index: Value) -> Value:
        """An index as an i64 number."""
        return self.emit("cast", index, dtype=I64)

    # Loops

    def loop(
        self,
        start: Value,
        stop: Value,
        step: Value,
        carried: Sequence[Value],
        body: Callable[[Sequence[Value]], Sequence[Value]],
        loop: Loop | None = None,
        lanes: int = 0,
        masked: bool = False,
        parallel: bool = False,
    ) -> list[Value]:
        """A ``for`` whose body is emitted by ``body(carried) -> next carried`` in a scope of its own.

        With ``masked``, the scope's mask covers the lanes that lie before ``stop``. ``parallel`` says that iterations
        may run in any order and at the same time.
        """
        index = Value(Index(), "i")
        types: list[Type] = [Index() if isinstance(value.type, Index) else value.type for value in carried]
        parameters = [Value(type) for type in types]
        depth = len(self.scopes)
        scope = Scope(Builder(), depth, loop, index, lanes=lanes)
        self.scopes.append(scope)
        for value in (index, *parameters):
            self.depth_of[value] = depth
        if masked:
            scope.stop = stop
            left = self.emit("subtract", stop, index)
            scope.mask = self.emit("lanes_below", left, lanes=lanes, mostly=True)
        following = body(parameters)
        region = self.close([index, *parameters], following)
        attributes = {"parallel": True} if parallel else {}
        return list(self.here("for", start, stop, step, *carried, types=types, regions=(region,), **attributes))

    def rest(
        self,
        start: Value,
        stop: Value,
        mask: Value,
        carried: Sequence[Value],
        body: Callable[[Sequence[Value]], Sequence[Value]],
        loop: Loop | None,
        lanes: int,
    ) -> list[Value]:
        """The turn of a vector loop for what is left behind whole vectors, under a mask, if anything is left.

        ``body`` is that of `loop`. A loop that runs at most once would be another loop for every pass of LLVM.
        """
        depth = len(self.scopes)
        scope = Scope(Builder(), depth, loop, lanes=lanes, stop=stop)
        self.scopes.append(scope)
        scope.index = self.emit("add", start, self.size(0), depth=depth)  # a value of this scope, as in a loop
        scope.mask = mask
        taken = self.close([], body(carried))
        skipped = Builder().region([], carried)
        types = [value.type for value in carried]
        return list(self.here("if", self.emit("less", start, stop), types=types, regions=(taken, skipped)))

    def lanes_between(self, start: Value, stop: Value, lanes: int) -> Value:
        """The mask of as many lanes as there are positions from ``start`` to ``stop``."""
        key = ("lanes between", start, stop, lanes)
        found = self.cached(key)
        if found is None:
            found = self.emit("lanes_below", self.emit("subtract", stop, start), lanes=lanes)
            self.store_cached(key, found)
        return found

    def share(
        self, count: Value, work: Value, parameters: Sequence[Value], body: Callable[[], object], **attributes: Any
    ) -> None:
        """Let threads run ``body`` on spans of the positions below ``count``, each of which is in ``parameters``."""
        depth = len(self.scopes)
        self.scopes.append(Scope(Builder(), depth))
        self.depth_of |= dict.fromkeys(parameters, depth)
        body()
        region = self.close(parameters, [])
        self.here("share", count, work, types=(), regions=(region,), **attributes)

    def turns(self, body: Callable[[Value, Value], object]) -> Region:
        """A region that is run at rows and columns, emitted by ``body(row, column)`` in a scope of its own."""
        position = Value(Index(), "i"), Value(Index(), "j")
        self.depth_of |= dict.fromkeys(position, len(self.scopes))
        self.scopes.append(Scope(Builder(), len(self.scopes)))
        body(*position)
        return self.close(position, [])

    @contextmanager
    def step(self, loop: Loop, position: int | Value, lanes: int = 0) -> Iterator[None]:
        """One step of a loop that is written out rather than run, at a position that may be computed outside of it."""
        depth = len(self.scopes)
        index = self.size(position) if isinstance(position, int) else position
        self.scopes.append(Scope(self.scope.builder, depth, loop, index, lanes=lanes, step=True))
        known = set(self.depth_of)
        yield
        self.scopes.pop()
        for value in self.depth_of.keys() - known:
            self.depth_of[value] = min(self.depth_of[value], depth - 1)

    def branch(
        self, condition: Value, body: Callable[[], object], otherwise: Callable[[], object] = lambda: None
    ) -> None:
        """Run ``body`` where the condition holds, else ``otherwise``."""
        regions = []
        for part in (body, otherwise):
            self.scopes.append(Scope(Builder(), len(self.scopes)))
            part()
            regions.append(self.close([], []))
        self.here("if", condition, types=(), regions=tuple(regions))

    def either(
        self, condition: Value, body: Callable[[], Sequence[Value]], otherwise: Callable[[], Sequence[Value]]
    ) -> Sequence[Value]:
        """What ``body`` gives where the condition holds, else what ``otherwise`` gives; only one is computed."""
        regions, types = [], []
        outside = self.floor
        self.floor = len(self.scopes)
        for part in (body, otherwise):
            self.scopes.append(Scope(Builder(), self.floor))
            given = part()
            types = [value.type for value in given]
            regions.append(self.close([], given))
        self.floor = outside
        return self.here("if", condition, types=types, regions=tuple(regions))

    def close(self, parameters: Sequence[Value], yielded: Sequence[Value]) -> Region:
        """Close the innermost scope as a region."""
        return self.scopes.pop().builder.region(parameters, yielded)
