"""Random programs with variables, overlapping places and nested regions, always well typed.

They are built to hit what passes must keep in order: values that were loaded are used after their memory was written
to, in the same region, in the next turn of a loop, or behind it; places overlap, are carried round, swapped and chosen
by branches; loops turn zero times, once or often; checks fail, some at once, others not at all. Two sizes, ``n`` and
``k``, are the same number, which only checks find out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from jitflow.ir.core import Builder, Fact, Function, Region, Value
from jitflow.ir.dims import Dim, symbol
from jitflow.ir.dtypes import BOOL, F64, I64
from jitflow.ir.types import Index, Place, Scalar, Tensor, Variable, dims_of

__all__ = ["ProgramMaker", "stateful_program"]

N, M, K = symbol("n"), symbol("m"), symbol("k")
_ARITHMETIC = ["add", "subtract", "multiply", "maximum", "minimum"]
_FLOAT, _BOOL = Scalar(F64), Scalar(BOOL)


def stateful_program(seed: int, length: int = 20) -> Function:
    """A program of about ``length`` ops outside of regions; the same for the same seed. Facts: ``n >= 3, m >= 2``.

    ``n`` and ``k`` are to be the same.
    """
    return ProgramMaker(Random(seed)).program(length)


class ProgramMaker:
    def __init__(self, random: Random) -> None:
        self.random = random
        self.builder = Builder()
        self.values: list[Value] = []
        self.places: list[Value] = []
        self.positions: list[Value] = []
        self.loops = 0
        self.depth = 0

    def program(self, length: int) -> Function:
        random = self.random
        parameters = [
            Value(Variable(F64, (N,)), "u"), Value(Variable(F64, (N,)), "v"), Value(Variable(F64, (N, M)), "w"),
            Value(Tensor(F64, (N,)), "x"), Value(Tensor(F64, (N, M)), "y"), Value(_FLOAT, "s"), Value(_FLOAT, "t"),
            Value(Tensor(F64, (K,)), "z"), Value(Variable(F64, (K,)), "q"),
        ]  # fmt: skip
        self.places, self.values = [*parameters[:3], parameters[-1]], parameters[3:-1]
        self.ops(length)
        yielded = random.sample(self.values, min(5, len(self.values)))
        local = [place for place in self.places if isinstance(place.type, Variable) and place not in parameters]
        for place in random.sample(local, min(2, len(local))):
            yielded.append(self.builder.make("load", place))
        facts = (Fact(N, ">=", 3), Fact(M, ">=", 2))
        return Function("stateful", self.builder.region(parameters, yielded), facts)

    def ops(self, count: int) -> None:
        for _ in range(count):
            self.random.choice(self.kinds())()

    def kinds(self) -> list[Callable[[], None]]:
        """What an op may be, where the program is now."""
        straight = [
            self.load, self.load, self.store, self.store, self.store, self.place, self.place, self.view, self.unary,
            self.binary, self.binary, self.element, self.write_element, self.reduce, self.scalar, self.variable,
            self.shift, self.check, self.scatter, self.gather, self.meet,
        ]  # fmt: skip
        nested = [self.branch, self.loop, self.loop, self.repeat] if self.depth < 2 else []
        return straight + nested

    # Picking

    def pick(self, dims: Sequence[Dim] | None = None) -> Value:
        fitting = [value for value in self.values if dims is None or dims_of(value.type) == tuple(dims)]
        return self.random.choice(fitting) if fitting else self.make_like(dims or ())

    def make_like(self, dims: Sequence[Dim]) -> Value:
        number = self.builder.make("constant", value=self.random.choice([0.0, 1.0, -2.5]), type=_FLOAT)
        return self.builder.make("broadcast", number, dims=tuple(dims), axes=()) if dims else number

    def keep(self, value: Value) -> None:
        self.values.append(value)

    # Straight ops

    def load(self) -> None:
        place = self.random.choice(self.places)
        if dims_of(place.type):
            self.keep(self.builder.make("load", place))

    def store(self) -> None:
        place = self.random.choice(self.places)
        value = self.pick(dims_of(place.type)) if self.random.random() < 0.7 else self.pick(())
        self.builder.add("store", place, value)

    def place(self) -> None:
        self.places.append(self.viewed(self.random.choice(self.places)))

    def view(self) -> None:
        self.keep(self.viewed(self.pick()))

    def viewed(self, value: Value) -> Value:
        dims = dims_of(value.type)
        if not dims:
            return value
        kind = self.random.choice(["transpose", "reverse", "inner", "row", "reshape"])
        if kind == "transpose":
            return self.builder.make("transpose", value, axes=tuple(reversed(range(len(dims)))))
        if kind == "reshape" and isinstance(value.type, Tensor):
            return self.builder.make("reshape", value, dims=(1, *dims))
        if kind == "row" and len(dims) > 1 and dims[0] in (N, 1):
            start = self.position() if dims[0] == N else 0
            starts, sizes = (start, *([0] * (len(dims) - 1))), (1, *dims[1:])
            row = self.builder.make("slice", value, starts=starts, sizes=sizes, steps=(1,) * len(dims))
            return self.builder.make("reshape", row, dims=dims[1:])
        if kind == "reverse":
            starts, steps = (dims[0] - 1, *([0] * (len(dims) - 1))), (-1, *([1] * (len(dims) - 1)))
            return self.builder.make("slice", value, starts=starts, sizes=dims, steps=steps)
        if dims[0] != N:
            return value
        start = self.random.choice([0, 1, 2])
        starts, sizes = (start, *([0] * (len(dims) - 1))), (N - 2, *dims[1:])
        return self.builder.make("slice", value, starts=starts, sizes=sizes, steps=(1,) * len(dims))

    def position(self) -> Dim:
        """A position below ``n``: a constant, or that of a loop around."""
        fitting = [value.type.dim for value in self.positions if isinstance(value.type, Index)]
        choices: list[Dim] = [0, 1, N - 1, *(dim for dim in fitting if dim is not None)]
        return self.random.choice(choices)

    def shift(self) -> None:
        """A store of what lies beside it."""
        long = [place for place in self.places if dims_of(place.type)[:1] == (N,)]
        place = self.random.choice(long)
        dims = dims_of(place.type)
        rest = len(dims) - 1
        first, second = self.random.sample([0, 1, 2], 2)
        sizes, steps = (N - 2, *dims[1:]), (1,) * len(dims)
        source = self.builder.make("slice", place, starts=(first, *([0] * rest)), sizes=sizes, steps=steps)
        target = self.builder.make("slice", place, starts=(second, *([0] * rest)), sizes=sizes, steps=steps)
        value = self.builder.make("load", source)
        if self.random.random() < 0.5:
            value = self.builder.make("add", value, self.pick(()))
        self.builder.add("store", target, value)

    def element_place(self) -> Value | None:
        flat = [place for place in self.places if dims_of(place.type) == (N,)]
        if not flat:
            return None
        source = self.random.choice(flat)
        cut = self.builder.make("slice", source, starts=(self.position(),), sizes=(1,), steps=(1,))
        return self.builder.make("reshape", cut, dims=())

    def element(self) -> None:
        place = self.element_place()
        if place is not None:
            loaded = self.builder.make("load", place)
            if self.random.random() < 0.3:
                self.builder.add("store", place, self.pick(()))
            self.keep(self.builder.make("cast", loaded, dtype=F64))
            if self.random.random() < 0.2:
                self.keep(loaded)

    def write_element(self) -> None:
        place = self.element_place()
        if place is not None:
            self.builder.add("store", place, self.pick(()))

    def unary(self) -> None:
        self.keep(self.builder.make(self.random.choice(["negative", "absolute", "copy"]), self.pick()))

    def binary(self) -> None:
        value = self.pick()
        other = self.pick(dims_of(value.type)) if self.random.random() < 0.7 else self.pick(())
        self.keep(self.builder.make(self.random.choice(_ARITHMETIC), value, other))

    def reduce(self) -> None:
        value = self.pick()
        if dims_of(value.type):
            axes = tuple(axis for axis in range(len(dims_of(value.type))) if self.random.random() < 0.6)
            if axes:
                self.keep(self.builder.make("reduce_fmax", value, axes=axes))

    def scalar(self) -> None:
        self.keep(self.builder.make(self.random.choice(_ARITHMETIC), self.pick(()), self.pick(())))

    def variable(self) -> None:
        self.places.append(self.builder.make("variable", self.pick()))

    def check(self) -> None:
        position, zero = self.builder.make("size", dim=self.position()), self.builder.make("size", dim=0)
        holds = self.builder.make("greater_equal", position, zero)
        if self.random.random() < 0.2:
            holds = self.condition()
        self.builder.add("check", holds, error="ValueError", message="no")

    def meet(self) -> None:
        """A check that ``k`` is ``n``, and a value that trusts it."""
        sizes = [self.builder.make("size", dim=dim) for dim in (N, K)]
        self.builder.add("check", self.builder.make("equal", *sizes), error="ValueError", message="differ")
        met = self.builder.make("broadcast", self.pick((K,)), dims=(N,), axes=(0,), assumed=True)
        self.keep(self.builder.make("add", met, self.pick((N,))))

    def indices(self) -> Value:
        return self.builder.make("constant", value=self.random.choice([(0, 1), (1, 1), (2, 0)]), type=Tensor(I64, (2,)))

    def scatter(self) -> None:
        flat = [place for place in self.places if dims_of(place.type) == (N,)]
        if flat:
            combine = self.random.choice(["set", "add"])
            value = self.pick((2,)) if self.random.random() < 0.5 else self.pick(())
            self.builder.add("scatter", self.random.choice(flat), self.indices(), value, axis=0, combine=combine)

    def gather(self) -> None:
        self.keep(self.builder.make("gather", self.pick((N,)), self.indices(), axis=0))

    # Regions

    def condition(self) -> Value:
        return self.builder.make(self.random.choice(["less", "greater_equal"]), self.pick(()), self.pick(()))

    def branch(self) -> None:
        condition, like = self.condition(), [self.pick(), self.random.choice(self.places)]
        types = [_flowing(value) for value in like]
        regions = tuple(self.inner([], like) for _ in range(2))
        self.take(self.builder.add("if", condition, types=types, regions=regions))

    def loop(self) -> None:
        stop = self.random.choice([0, 1, 2, N])
        bounds = [self.builder.make("size", dim=dim) for dim in (0, stop, 1)]
        carried = self.carried()
        self.loops += 1
        position = Value(Index(symbol(f"turn{self.loops}")), f"turn{self.loops}")
        parameters = [Value(_flowing(value)) for value in carried]
        if stop == N:
            self.positions.append(position)
        region = self.inner([position, *parameters], parameters)
        if stop == N:
            self.positions.remove(position)
        types = [parameter.type for parameter in parameters]
        self.take(self.builder.add("for", *bounds, *carried, types=types, regions=(region,)))

    def repeat(self) -> None:
        """A ``while`` with a counter."""
        start = self.builder.make("constant", value=0.0, type=_FLOAT)
        carried = [start, *self.carried()]
        types = [_flowing(value) for value in carried]
        outer, self.builder.ops = self.builder.ops, []
        tested = [Value(type) for type in types]
        limit = self.builder.make("constant", value=self.random.choice([0.0, 1.0, 3.0]), type=_FLOAT)
        condition = self.builder.region(tested, [self.builder.make("less", tested[0], limit)])
        self.builder.ops = outer
        parameters = [Value(type) for type in types]
        body = self.inner(parameters, parameters, counter=parameters[0])
        self.take(self.builder.add("while", *carried, types=types, regions=(condition, body)))

    def carried(self) -> list[Value]:
        places = self.random.sample(self.places, min(len(self.places), self.random.choice([0, 1, 2])))
        return [self.pick() for _ in range(self.random.choice([0, 1, 2]))] + places

    def take(self, results: Sequence[Value]) -> None:
        for result in results:
            (self.places if isinstance(result.type, Place) else self.values).append(result)

    def inner(self, parameters: list[Value], like: Sequence[Value], counter: Value | None = None) -> Region:
        """A region that yields values of the types of ``like``."""
        outer = (self.builder.ops, list(self.values), list(self.places))
        self.builder.ops = []
        self.depth += 1
        self.take([value for value in parameters if not isinstance(value.type, Index)])
        self.ops(self.random.choice([1, 3, 5]))
        yielded: list[Value] = []
        for value in like:
            if value is counter:
                one = self.builder.make("constant", value=1.0, type=_FLOAT)
                yielded.append(self.builder.make("add", counter, one))
                continue
            pool = self.places if isinstance(value.type, Variable | Place) else self.values
            fitting = [other for other in pool if _flowing(other) == _flowing(value)]
            yielded.append(self.random.choice(fitting or [value]))
        region = self.builder.region(parameters, yielded)
        self.depth -= 1
        self.builder.ops, self.values, self.places = outer
        return region


def _flowing(value: Value) -> Tensor | Scalar | Place:
    """The type that awaits a value at the edge of a region."""
    kind = value.type
    assert isinstance(kind, Tensor | Scalar | Variable | Place)
    return Place(kind.dtype, kind.dims) if isinstance(kind, Variable) else kind
