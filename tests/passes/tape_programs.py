"""Random programs with tapes, beside all that stateful programs have.

Pushes and pops are balanced as a gradient's are: what a loop pushes, another pops in reverse behind it; between a push
and its pop stand other ops, which may use the same tape. Sizes change from turn to turn, branches push or do not, and
a tape may be made outside of everything or in a turn.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from jitflow.ir.core import Function, Region, Value
from jitflow.ir.dims import Dim, substitute, symbol
from jitflow.ir.dtypes import BOOL, F64, I64
from jitflow.ir.types import Index, Scalar, Tensor, Type, dims_of, map_dims
from tests.passes.stateful_programs import N, ProgramMaker

__all__ = ["tape_program"]


def tape_program(seed: int, length: int = 8) -> Function:
    """A program of about ``length`` ops outside of regions, brackets and pairs of loops."""
    return _TapeMaker(Random(seed)).program(length)


class _TapeMaker(ProgramMaker):
    def __init__(self, random: Random) -> None:
        super().__init__(random)
        self.tapes: list[Value] = []
        self.brackets = 0

    def kinds(self) -> list[Callable[[], None]]:
        brackets = [self.bracket] * 4 + [self.look] * 2 if self.brackets < 3 else []
        return super().kinds() + brackets + ([self.loops_there_and_back] * 4 if self.depth < 2 else [])

    def tape(self) -> Value:
        if not self.tapes or self.random.random() < 0.3:
            self.tapes.append(self.builder.make("tape", dtype=F64))
        return self.random.choice(self.tapes)

    def saved(self) -> Value:
        """A value to push: often one that a kernel has just computed."""
        if self.random.random() < 0.5:
            self.binary()
            return self.values[-1]
        return self.pick()

    def few_ops(self) -> None:
        self.ops(self.random.choice([0, 1, 2]))

    def bracket(self) -> None:
        """A push, other ops, and the pop."""
        tape, value = self.tape(), self.saved()
        self.brackets += 1
        self.builder.add("push", tape, value)
        self.few_ops()
        self.keep(self.builder.make("pop", tape, types=(value.type,)))
        self.brackets -= 1

    def look(self) -> None:
        """A number on a tape that is looked at and replaced before it is popped."""
        numbers = [value for value in self.values if value.type == Scalar(F64)]
        if not numbers:
            return
        tape, last = self.tape(), self.builder.make("constant", value=1, type=Scalar(I64))
        self.brackets += 1
        self.builder.add("push", tape, self.random.choice(numbers))
        self.few_ops()
        self.keep(self.builder.make("peek", tape, last, types=(Scalar(F64),)))
        self.few_ops()
        if self.random.random() < 0.5:
            self.builder.add("poke", tape, last, self.random.choice(numbers))
        self.keep(self.builder.make("pop", tape, types=(Scalar(F64),)))
        self.brackets -= 1

    def loops_there_and_back(self) -> None:
        """A loop that pushes in each of its turns, and one that goes back and pops."""
        stop = self.random.choice([0, 1, 2, N])
        tape, choices = self.tape(), self.builder.make("tape", dtype=BOOL)
        there, position = self.position_of("turn")
        pushed: list[tuple[Type, bool]] = []

        def push() -> None:
            for _ in range(self.random.choice([1, 1, 2])):
                pushed.append(self.push_one(tape, choices, there if stop == N else None))
                self.few_ops()

        self.turns((0, stop, 1), position, push)
        self.few_ops()
        back, position = self.position_of("back")

        def pop() -> None:
            for kind, chosen in reversed(pushed):
                self.pop_one(tape, choices, map_dims(kind, lambda dim: substitute(dim, {str(there): back})), chosen)
                self.few_ops()

        self.turns((stop - 1, -1, -1), position, pop)

    def position_of(self, hint: str) -> tuple[Dim, Value]:
        self.loops += 1
        name = symbol(f"{hint}{self.loops}")
        return name, Value(Index(name), str(name))

    def turns(self, span: tuple[Dim, Dim, Dim], position: Value, body: Callable[[], None]) -> None:
        """A loop that carries a number."""
        bounds = [self.builder.make("size", dim=dim) for dim in span]
        carried, parameter = self.pick(()), Value(Scalar(F64))
        start = self.builder.make("cast", carried, dtype=F64) if isinstance(carried.type, Tensor) else carried
        if isinstance(start.type, Tensor):
            start = self.make_like(())
        region = self.body([position, parameter], body)
        self.take(self.builder.add("for", *bounds, start, types=(parameter.type,), regions=(region,)))

    def body(self, parameters: list[Value], body: Callable[[], None]) -> Region:
        outer = (self.builder.ops, list(self.values), list(self.places), list(self.tapes))
        self.builder.ops = []
        self.depth += 1
        self.take(parameters[1:])
        body()
        numbers = [value for value in self.values if value.type == Scalar(F64)]
        region = self.builder.region(parameters, [self.random.choice(numbers)] if parameters else [])
        self.depth -= 1
        self.builder.ops, self.values, self.places, self.tapes = outer
        return region

    def push_one(self, tape: Value, choices: Value, turn: Dim | None) -> tuple[Type, bool]:
        """Push a value, or do not, and remember which; the first elements of one, as many as turns have passed."""
        value = self.saved()
        if turn is not None and dims_of(value.type)[:1] == (N,) and self.random.random() < 0.5:
            rest = dims_of(value.type)[1:]
            starts, steps = (0,) * (1 + len(rest)), (1,) * (1 + len(rest))
            value = self.builder.make("slice", value, starts=starts, sizes=(turn, *rest), steps=steps)
        if self.random.random() < 0.7:
            self.builder.add("push", tape, value)
            return value.type, False
        condition = self.condition()
        if isinstance(condition.type, Tensor):
            condition = self.builder.make("constant", value=True, type=Scalar(BOOL))
        yes = self.body([], lambda: self.builder.add("push", tape, value) and None)
        self.builder.add("if", condition, types=(), regions=(yes, self.body([], lambda: None)))
        self.builder.add("push", choices, condition)
        return value.type, True

    def pop_one(self, tape: Value, choices: Value, kind: Type, chosen: bool) -> None:
        if not chosen:
            self.keep(self.builder.make("pop", tape, types=(kind,)))
            return
        condition = self.builder.make("pop", choices, types=(Scalar(BOOL),))
        regions = []
        for taken in (True, False):
            outer, self.builder.ops = self.builder.ops, []
            value = self.builder.make("pop", tape, types=(kind,)) if taken else self.make_like(dims_of(kind))
            if not taken and isinstance(kind, Tensor) and not kind.dims:
                value = self.builder.make("broadcast", value, dims=(), axes=())
            regions.append(self.builder.region((), [value]))
            self.builder.ops = outer
        self.keep(self.builder.make("if", condition, types=(kind,), regions=tuple(regions)))

    def inner(self, parameters: list[Value], like: object, counter: Value | None = None) -> Region:
        tapes = list(self.tapes)
        region = super().inner(parameters, like, counter)  # type: ignore[arg-type]
        self.tapes = tapes
        return region
