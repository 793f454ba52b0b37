"""What is known of the integers of a function: sizes, positions of loops, and numbers computed from them.

Each integer value gets a dim: what its type says, what its arithmetic comes to, or a name of its own (``$1``) that
stands for it. What the numbers may be, `jitflow.ir.bounds` proves. It learns

- the range of a loop's position, and that the loop turns where its body runs;
- what a condition says inside the branch, or the turn of a ``while``, that it decides about;
- what a check has found, from there on, and wherever it is known that the way was taken on which it stands;
- of a number that a loop carries and that each turn makes larger (or smaller), that it is never below (above) what it
  was at first; of one that counts, that it does not come to the largest integer.

Arithmetic on 64-bit integers comes to a dim only if it cannot wrap around, or would have raised; where a condition is
why it cannot, it is forgotten with that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from jitflow.ir.bounds import Bounds, Choice
from jitflow.ir.core import Function, Op, Region, Value
from jitflow.ir.dims import Dim, Expression, substitute, symbol, symbols
from jitflow.ir.dtypes import BOOL, I64
from jitflow.ir.lengths import length
from jitflow.ir.types import Index, Scalar, Type, dims_of
from jitflow.passes.analyses.comparisons import COMPARISONS, OPPOSITE
from jitflow.passes.analyses.growth import EARLY, FURTHEST, SMALL_STEP, Growth, keeps_value

__all__ = ["Integers", "is_integer"]

_MOST_TERMS = 8
_LONGEST = 32
"""Sizes and calls with which a number is written, at most."""


def is_integer(value: Value) -> bool:
    """Whether a value is a size or an integer scalar."""
    return isinstance(value.type, Index) or (isinstance(value.type, Scalar) and value.type.dtype.is_integer)


class Integers:
    """The integers of one function while a pass goes over it; ``producer`` gives the op that computes a value now."""

    def __init__(self, function: Function, producer: Callable[[Value], Op | None]) -> None:
        self.bounds = Bounds(function.facts)
        self._producer = producer
        self._dims: dict[Value, Dim] = {}
        self._growth = Growth(function)
        self._given = {name for value in function.parameters for dim in _dims_in(value.type) for name in symbols(dim)}
        """The sizes of the function's arguments."""
        self._counted: set[str] = set()
        """Names of numbers that come from near 0 by small steps."""
        self._names = 0
        self._names_of_choices: dict[tuple[Choice, Value | None], str] = {}
        """What is chosen in the same way twice is one number."""
        self._wrapping: dict[Value, Dim] = {}
        """What arithmetic comes to that might wrap around: true where it does not."""
        self._inside: dict[tuple[tuple[Value, ...], int], list[Dim]] = {}
        """What was known at the end of the test of a ``while``, and of a way of a branch, by the results."""
        self._supposed: list[tuple[int, Value]] = []
        """The values that are what they are by facts, with how many of these were known."""
        self._supposing: set[Value] = set()
        """The same values."""

    # The dims of values

    def dim(self, value: Value) -> Dim:
        """What an integer value is."""
        if isinstance(value.type, Index) and value.type.dim is not None:
            return value.type.dim
        if value not in self._dims:
            op = self._producer(value)
            found = None if op is None else self._computed(op)
            self._dims[value] = self._anonymous(value) if found is None else found
            if op is not None and not self._supposing.isdisjoint(op.operands):
                self._suppose(value)
        return self._dims[value]

    def _suppose(self, value: Value) -> None:
        """What a value is follows from what is known here, and is forgotten with that."""
        if self.bounds.facts and value not in self._supposing:
            self._supposing.add(value)
            self._supposed.append((self.bounds.mark(), value))

    def settle(self, value: Value, dim: Dim) -> None:
        """An integer is known to be ``dim``."""
        self._dims[value] = dim

    def _new_name(self) -> str:
        self._names += 1
        return f"${self._names}"

    def _anonymous(self, value: Value) -> Dim:
        name = self._new_name()
        bits = value.type.dtype if isinstance(value.type, Scalar) else I64
        if bits.kind == "u":
            lowest, highest = 0, (1 << bits.bits) - 1
        else:
            lowest, highest = -(1 << (bits.bits - 1)), (1 << (bits.bits - 1)) - 1
        self.bounds.name(name, signed=True, lower=[lowest], upper=[highest])
        return symbol(name)

    def _computed(self, op: Op) -> Dim | None:
        """What the only result of an op is; None if that has no dim."""
        if len(op.results) != 1:
            return None
        if op.name == "container_length":
            return self._between(0, FURTHEST)
        if op.name == "constant":
            number = op.attributes["value"]
            return int(number) if isinstance(number, int) else None
        if not op.operands or not all(map(is_integer, op.operands[op.name == "select" :])):
            return None
        if op.name == "to_index" or (op.name == "cast" and keeps_value(op)):
            return self.dim(op.operands[0])
        kind = op.result.type
        if isinstance(kind, Scalar) and kind.dtype != I64:
            return None
        if op.name in ("maximum", "minimum", "select"):
            return self._chosen(op)
        if op.name == "bitwise_and":
            return self._masked(op)
        dim = self._arithmetic(op)
        if dim is None or length(dim) > _LONGEST:
            divisor = self.dim(op.operands[1]) if op.name == "remainder" else None
            return self._between(0, divisor - 1) if isinstance(divisor, int) and divisor > 0 else None
        if isinstance(dim, Expression) and len(dim.terms) > _MOST_TERMS:
            return None
        if isinstance(kind, Index) or op.attributes.get("checked"):
            return dim
        if self.bounds.fits(dim):
            self._suppose(op.result)
            return dim
        self._wrapping[op.result] = dim
        return None

    def _arithmetic(self, op: Op) -> Dim | None:
        if op.name == "negative":
            return -self.dim(op.operands[0])
        if op.name not in ("add", "subtract", "multiply", "floor_divide", "remainder", "left_shift", "right_shift"):
            return None
        left, right = map(self.dim, op.operands)
        if op.name in ("left_shift", "right_shift"):
            if not isinstance(right, int) or not 0 <= right < 63:
                return None
            return left * (1 << right) if op.name == "left_shift" else left // (1 << right)
        if op.name == "add":
            return left + right
        if op.name == "subtract":
            return left - right
        if op.name == "multiply":
            return left * right
        if not isinstance(right, int) or right <= 0:
            return None
        return left // right if op.name == "floor_divide" else left % right

    def _chosen(self, op: Op) -> Dim:
        options = tuple(map(self.dim, op.operands[-2:]))
        if op.name == "select":
            given = tuple(tuple(self._told(op.operands[0], answer)) for answer in (True, False))
            arms = zip(op.operands[1:], options, given, strict=True)
            choice = Choice("any", tuple(self._where(*arm) for arm in arms), given)
            if choice.options != options:
                self._suppose(op.result)
        else:
            choice = Choice(op.name[:3], options)
        is_told = op.name != "select" or (all(given) and self._decides(op.operands[0]))
        key = (choice, None if is_told else op.operands[0])
        name = self._names_of_choices.get(key)
        if name is None:
            name = self._names_of_choices[key] = self._new_name()
            self.bounds.choose(name, choice)
        return symbol(name)

    def _decides(self, condition: Value) -> bool:
        """Whether what is told by a condition, if something is with either answer, says all about it."""
        op = self._producer(condition)
        return op is not None and op.name in ("less", "less_equal", "greater", "greater_equal")

    def _between(self, lowest: int, highest: int) -> Dim:
        """A number of which no more is known."""
        name = self._new_name()
        self.bounds.name(name, signed=True, lower=[lowest], upper=[highest])
        return symbol(name)

    def _masked(self, op: Op) -> Dim | None:
        """Bits of a number: they come to no more than those of the mask."""
        masks = [dim for dim in map(self.dim, op.operands) if isinstance(dim, int) and dim >= 0]
        if not masks:
            return None
        return self._between(0, min(masks))

    def _where(self, value: Value, dim: Dim, given: Sequence[Dim]) -> Dim:
        """What ``value``, which is ``dim``, comes to where something is given."""
        exact = self._wrapping.get(value)
        if exact is None:
            return dim
        mark = self.bounds.mark()
        for known in given:
            self.bounds.learn(known)
        fits = self.bounds.fits(exact)
        self.bounds.forget(mark)
        return exact if fits else dim

    # Questions

    def difference(self, left: Value, right: Value) -> Dim:
        """What one integer is above another."""
        return self.dim(left) - self.dim(right)

    def decide(self, op: Op) -> bool | None:
        """What a comparison of integers comes to, if that is known."""
        difference = self.difference(*op.operands)
        negated = -difference
        if op.name in ("less", "greater_equal"):
            at_least = self._decide(difference, negated - 1)
            return at_least if op.name == "greater_equal" or at_least is None else not at_least
        if op.name in ("greater", "less_equal"):
            at_most = self._decide(negated, difference - 1)
            return at_most if op.name == "less_equal" or at_most is None else not at_most
        equal: bool | None = None
        if self.bounds.proves(difference - 1) or self.bounds.proves(negated - 1):
            equal = False
        elif self.bounds.proves(difference) and self.bounds.proves(negated):
            equal = True
        return equal if op.name == "equal" or equal is None else not equal

    def _decide(self, holds: Dim, fails: Dim) -> bool | None:
        return True if self.bounds.proves(holds) else False if self.bounds.proves(fails) else None

    def fits(self, op: Op) -> bool:
        """Whether arithmetic that is checked for overflow never overflows."""
        if op.result.type != Scalar(I64, getattr(op.result.type, "weak", False)) or not all(
            map(is_integer, op.operands)
        ):
            return False
        dim = self._arithmetic(op)
        return dim is not None and self.bounds.fits(dim)

    # Learning

    def learn(self, condition: Value, answer: bool) -> None:
        """From here on ``condition`` is known to be ``answer``."""
        for dim in self._told(condition, answer):
            self.bounds.learn(dim)

    def _told(self, condition: Value, answer: bool) -> Iterator[Dim]:
        """The dims that are at least 0 if ``condition`` is ``answer``."""
        op = self._producer(condition)
        if op is None:
            return
        if op.name == "logical_not":
            yield from self._told(op.operands[0], not answer)
        elif op.name == "cast" and op.operands[0].type in (Scalar(BOOL), Scalar(BOOL, True)):
            yield from self._told(op.operands[0], answer)
        elif op.name == "if":
            yield from self._told_by_branches(op, op.results.index(condition), answer)
        elif (op.name == "logical_and" and answer) or (op.name == "logical_or" and not answer):
            for operand in op.operands:
                yield from self._told(operand, answer)
        elif op.name in COMPARISONS and all(map(is_integer, op.operands)):
            difference = self.dim(op.operands[0]) - self.dim(op.operands[1])
            name = op.name if answer else OPPOSITE[op.name]
            if name in ("greater_equal", "equal"):
                yield difference
            if name in ("less_equal", "equal"):
                yield -difference
            if name == "greater":
                yield difference - 1
            if name == "less":
                yield -difference - 1

    def _told_by_branches(self, op: Op, number: int, answer: bool) -> Iterator[Dim]:
        """What ``a and b`` and ``a or b`` say, whose second part is computed only if the first does not decide."""
        decided = op.regions[answer].yielded[number]
        while (cast := self._producer(decided)) is not None and cast.name == "cast":
            decided = cast.operands[0]
        known = None if cast is None or cast.name != "constant" else cast.attributes["value"]
        if decided is op.operands[0] or known is (not answer):
            yield from self._told(op.operands[0], answer)
            yield from self._told(op.regions[not answer].yielded[number], answer)
            yield from self._inside.get((op.results, int(not answer)), ())

    def bound(self, op: Op) -> None:
        """An op has been reached that gives an integer a name."""
        name, dim = op.attributes["binds"], self.dim(op.operands[0])
        self.bounds.name(name, lower=[dim], upper=[dim])

    def enter(self, op: Op, number: int, earlier: Sequence[Region]) -> int:
        """Enter region ``number`` of an op, whose regions before it are ``earlier`` by now. For `leave`."""
        mark = self.bounds.mark()
        if op.name == "if":
            self.learn(op.operands[0], number == 0)
        elif op.name == "for":
            self._enter_for(op)
            self._carried(op, op.operands[3:], [op.regions[0].parameters[1:]])
        elif op.name == "while":
            if number == 0:
                self._carried(op, op.operands, [region.parameters for region in op.regions])
            else:
                names = dict(_renamed_sizes(earlier[0].parameters, op.regions[1].parameters))
                for dim in (*self._inside[op.results, 0], *self._told(earlier[0].yielded[0], True)):
                    self.bounds.learn(substitute(dim, names))
        return mark

    def leave(self, mark: int, op: Op, number: int) -> None:
        """Forget what held inside of region ``number`` of an op, but for where it is known that this was run."""
        if op.name == "while" or (op.name == "if" and op.results):
            self._inside[op.results, number] = self.bounds.facts[mark:]
        self.bounds.forget(mark)
        while self._supposed and self._supposed[-1][0] > mark:
            _, value = self._supposed.pop()
            self._supposing.discard(value)
            self._dims.pop(value, None)

    def _enter_for(self, op: Op) -> None:
        start, stop, step = map(self.dim, op.operands[:3])
        position = op.regions[0].parameters[0]
        known = isinstance(position.type, Index) and position.type.dim is not None
        if known:
            name = str(position.type.dim)  # type: ignore[union-attr]
        else:
            name = self._new_name()
            self._dims[position] = symbol(name)
        if not isinstance(step, int) or not step:
            self.bounds.name(name, signed=True)
            return
        low, high = (start, stop - 1) if step > 0 else (stop + 1, start)
        self.bounds.name(name, signed=True, lower=[low], upper=[high])
        self.bounds.learn(high - low)

    # Numbers that a loop carries

    def _carried(self, op: Op, initial: Sequence[Value], parameters: Sequence[Sequence[Value]]) -> None:
        body = op.regions[-1]
        for number, first in enumerate(initial):
            if not is_integer(first) or not is_integer(parameters[0][number]):
                continue
            if isinstance(first.type, Index) and parameters[0][number].type != Index():
                continue
            own, yielded = parameters[-1][number], body.yielded[number]
            start = self.dim(first)
            lower = [start] if self._growth.moves(yielded, own, start, 1) else []
            upper = [start] if self._growth.moves(yielded, own, start, -1) else []
            counted = self._is_counted(start) and self._growth.counts(yielded, own)
            if counted:
                lower, upper = [*lower, -FURTHEST], [*upper, FURTHEST]
            for value in (*(values[number] for values in parameters), op.results[number]):
                dim = self._anonymous(value)
                for bound in lower:
                    self.bounds.at_least(str(dim), bound)
                for bound in upper:
                    self.bounds.at_most(str(dim), bound)
                self._dims[value] = dim
                if counted:
                    self._counted.add(str(dim))
            for values in parameters:
                self._dims[values[number]] = self._dims[own]
            if op.name == "for":
                self._bound_positions(op, own, yielded, start)

    def _bound_positions(self, op: Op, own: Value, yielded: Value, start: Dim) -> None:
        """What a loop carries from turn to turn, and only ever sets to where it is, lies where the loop goes."""
        positions = self._growth.set_to(yielded, own)
        stop, step = map(self.dim, op.operands[1:3])
        name = self.dim(op.regions[0].parameters[0])
        if not positions or not isinstance(step, int) or step <= 0 or not self._are_known(positions):
            return
        furthest = [substitute(position, {str(name): stop - 1}) for position in positions]
        known = str(self._dims[own])
        if all(map(self.bounds.proves, (start, *positions))):
            self.bounds.at_least(known, 0)
        if all(self.bounds.proves(furthest[0] - other) for other in (start, *positions)):
            self.bounds.at_most(known, furthest[0])

    def _are_known(self, dims: Sequence[Dim]) -> bool:
        """Whether nothing in dims is bound later on."""
        return all(name in self._given or self.bounds.knows(name) for dim in dims for name in symbols(dim))

    def _is_counted(self, dim: Dim) -> bool:
        """Whether a number is not far from 0, or has come to where it is by small steps from there."""
        if isinstance(dim, int):
            return abs(dim) <= EARLY
        rest = [dim - symbol(name) for name in symbols(dim) if name in self._counted]
        return len(rest) == 1 and isinstance(rest[0], int) and abs(rest[0]) <= SMALL_STEP


def _renamed_sizes(before: Sequence[Value], after: Sequence[Value]) -> Iterator[tuple[str, Dim]]:
    """What the sizes that one region's parameters bind are called in another one."""
    for one, other in zip(before, after, strict=True):
        dims = [value.type.dim for value in (one, other) if isinstance(value.type, Index)]
        if len(dims) == 2 and isinstance(dims[0], Expression) and dims[0].is_symbol and dims[1] is not None:
            yield str(dims[0]), dims[1]


def _dims_in(kind: Type) -> Sequence[Dim]:
    known = kind.dim if isinstance(kind, Index) else None
    return dims_of(kind) if known is None else (known,)
