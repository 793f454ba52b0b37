"""Products that a reverse loop sums up, turn by turn: one product of all turns' rows behind the loop.

What a matrix gets of a turn is a product over the few rows that the turn had, added to a sum as large as the matrix.
The rows of all turns on top of each other make one product, which does the same arithmetic without reading and writing
the sum each time. It is done where the rows are fewer numbers than the sum, so that memory grows with the turns no
faster than what the forward sweep keeps of them.

    for ... (%k: index[k], ...) {                            for ... (%k: index[k], ...) {
      %1: f32[p, n] = transpose %x                             store (%xs at n - 1 - k), %x
      %2: f32[p, q] = matmul %1, %d              ->            store (%ds at n - 1 - k), %d
      store %w', load %w' + %2                                 ...
      ...                                                    }
    }                                                        store %w', load %w' + matmul (transpose %xs), %ds

Rows that lie in memory turn by turn anyway are not put away again: those that the forward sweep kept, rows of an array
that the loop takes one by one, and cotangents of such rows. It relies on the sum being touched by nothing else in the
loop.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence

from jitflow.ir.core import Builder, Op, Region, Value, clone_op, uses, walk
from jitflow.ir.dims import Dim, evaluate, symbols
from jitflow.ir.types import Place, Tensor, Variable, dims_of
from jitflow.passes.derivatives.notation import Notation, dtype_of, rank
from jitflow.passes.fusion.contract import BLAS_LETTERS
from jitflow.records import dataclass

__all__ = ["Stacking", "put_away"]


@dataclass(frozen=True, eq=False)
class _Sum:
    """``store place, load place + shaped(product)`` in a region."""

    root: Value
    views: tuple[Op, ...]
    """What leads from the root to the place."""
    product: Op
    shaping: tuple[Op, ...]
    """Views of the product, of the same elements."""
    replaced: tuple[Op, ...]


class Stacking:
    """The stacks of one reverse loop, whose ops ``m`` writes: `within` before the loop, `behind` after it.

    ``turn`` is the position of the loop, which turns ``count`` times; ``complete`` is storage of which each turn writes
    a row that nothing else touches, the row of the forward turn; ``known`` are the sizes that are bound before it,
    ``hints`` their likely values; ``carried`` is storage that the loop hands on from turn to turn.
    """

    def __init__(
        self, m: Notation, turn: Dim, count: Dim, known: frozenset[str], hints: Mapping[str, int],
        carried: Collection[Value], complete: Collection[Value],
    ) -> None:  # fmt: skip
        self.m, self.count, self.known, self.hints = m, count, known, hints
        self.row = count - 1 - turn
        """The row of this turn in what lies in memory turn by turn: that of the forward one."""
        self._complete = complete
        self._carried = frozenset(carried)
        self._stacks: dict[Value, Value] = {}
        self._later: list[Callable[[], None]] = []
        self._producers: dict[Value, Op] = {}

    def within(self, region: Region) -> Region:
        """The region of the loop, with rows that are put away instead of sums."""
        self._producers = {result: op for op in region.ops for result in op.results}
        self._find_rows(region)
        sums: dict[Op, _Sum] = {}
        for op in region.ops:
            if op.name == "store" and (found := self._match(op)) is not None:
                sums[op] = found
        touched = self._touched(region)
        whole = Counter(found.root for found in sums.values())
        sums = {op: found for op, found in sums.items() if touched[found.root] == 2 * whole[found.root]}
        replaced = {op for found in sums.values() for op in found.replaced}
        counts = uses(region)
        for found in sums.values():
            made = {found.product, *found.shaping}
            replaced |= made if all(counts[op.result] == 1 for op in made) else set()
        ops: list[Op] = []
        for op in region.ops:
            if op in sums:
                ops += self._put_away(sums[op])
            elif op not in replaced:
                ops.append(op)
        return Region(region.parameters, tuple(ops))

    def behind(self) -> None:
        """Write the products of all rows."""
        for write in self._later:
            write()

    # -- what is there

    def _match(self, store: Op) -> _Sum | None:
        place, total = store.operands
        add = self._producers.get(total)
        if add is None or add.name != "add":
            return None
        load, shaped = self._producers.get(add.operands[0]), add.operands[1]
        if load is None or load.name != "load" or load.operands[0] is not place:
            return None
        root, views = self._origin(place)
        source, shaping = self._origin(shaped)
        product = self._producers.get(source)
        if root in self._carried or not isinstance(root.type, Variable) or root in self._producers:
            return None
        if product is None or product.name != "matmul" or not self._is_worth_it(product):
            return None
        if not all(self.known.issuperset(op.sizes) for op in (*views, *shaping, product)):
            return None
        return _Sum(root, views, product, shaping, (load, add, store))

    def _origin(self, value: Value) -> tuple[Value, tuple[Op, ...]]:
        """What a value or place shows, and the views that lead there; of values, all of its elements."""
        views: list[Op] = []
        while (op := self._producers.get(value)) is not None and "view" in op.definition.traits:
            if not isinstance(value.type, Variable | Place) and not _shows_all(op):
                break
            views.append(op)
            value = op.operands[0]
        return value, tuple(views[::-1])

    def _is_worth_it(self, product: Op) -> bool:
        left, right = product.operands
        if rank(left) != 2 or rank(right) != 2 or dtype_of(left).name not in BLAS_LETTERS:
            return False
        dims = {*symbols(dims_of(left.type)[0]), *symbols(dims_of(left.type)[1]), *symbols(dims_of(right.type)[1])}
        if not self.known.issuperset(dims):
            return False
        columns, rows = (evaluate(dim, self.hints) for dim in dims_of(left.type))
        others = evaluate(dims_of(right.type)[1], self.hints)
        return rows * (columns + others) < columns * others

    def _touched(self, region: Region) -> Counter[Value]:
        """How many ops in a region touch storage, by its root."""
        touched: defaultdict[Value, set[Op]] = defaultdict(set)
        for op in walk(region):
            if "view" in op.definition.traits and op.result in self._producers:
                continue
            for operand in op.operands:
                if isinstance(operand.type, Variable | Place):
                    touched[self._origin(operand)[0]].add(op)
        return Counter({root: len(ops) for root, ops in touched.items()})

    def _find_rows(self, region: Region) -> None:
        """Know the values of a turn that are a row of an array anyway, and need not be put away."""
        written = {self._origin(op.operands[0])[0] for op in walk(region) if op.name in ("store", "scatter")}
        for op in region.ops:
            if op.name == "store":
                value, row = self._laid_out(op.operands[1]), op.operands[0]
            elif op.name in ("load", "reshape") and isinstance(op.result.type, Tensor):
                value = row = op.result
            else:
                continue
            root = self._array_of_row(row)
            if root is None or _long(dims_of(value.type)) != _long(dims_of(root.type)[1:]):
                continue
            if root in self._complete if op.name == "store" else root not in written:
                self._stacks[value] = root

    def _laid_out(self, value: Value) -> Value:
        """What a value is but for axes of size 1 and the names of its sizes."""
        while (op := self._producers.get(value)) is not None and op.name in ("reshape", "broadcast"):
            (source,) = op.operands
            renamed = op.name == "broadcast" and op.attributes.get("assumed")
            if not renamed and _without_ones(source) != _without_ones(value):
                break
            if sum(_long(dims_of(source.type))) != sum(_long(dims_of(value.type))):
                break
            value = source
        return value

    def _array_of_row(self, row: Value) -> Value | None:
        """The array or storage of which ``row`` is the row of this turn."""
        views: list[Op] = []
        while (op := self._producers.get(row)) is not None and ("view" in op.definition.traits or op.name == "load"):
            views += [op] if op.name != "load" else []
            row = op.operands[0]
        if op is not None or not views or any(view.name != "reshape" for view in views[:-1]) or not dims_of(row.type):
            return None
        (count, *dims), part = dims_of(row.type), views[-1]
        everything = (self.row, *(0 for _ in dims)), (1, *dims), (1, *(1 for _ in dims))
        shown = tuple(part.attributes.get(name) for name in ("starts", "sizes", "steps"))
        return row if shown == everything and count == self.count else None

    # -- what becomes of it

    def _put_away(self, found: _Sum) -> list[Op]:
        left, right = found.product.operands
        m = Notation(Builder(loc=found.product.loc))
        flipped = self._producers.get(left)
        if flipped is not None and flipped.name == "transpose":
            rows = flipped.operands[0]
        else:
            rows = m("transpose", left, axes=(1, 0))
        stacks = [self._stack(m, value) for value in (rows, right)]

        def write() -> None:
            first, second = map(self._all_rows, stacks, (rows, right))
            value = self.m("matmul", self.m("transpose", first, axes=(1, 0)), second)
            self.m.increase(self._again(found.root, found.views), self._again(value, found.shaping))

        self._later.append(write)
        return m.builder.ops

    def _stack(self, inside: Notation, value: Value) -> Value:
        """The memory of what a value is in all turns; what two products share is kept once."""
        same = self._laid_out(value)
        if same in self._stacks and _long(dims_of(same.type)) == _long(dims_of(value.type)):
            return self._stacks[same]
        if value not in self._stacks:
            self._stacks[value] = put_away(self.m, inside, value, self.count, self.row)
        return self._stacks[value]

    def _all_rows(self, stack: Value, row: Value) -> Value:
        """What a value is in all turns, one below the other."""
        turns, *dims = dims_of(stack.type)
        height, width = dims_of(row.type)
        every_turn = stack if isinstance(stack.type, Tensor) else self.m("load", stack)
        return self.m.named(self.m("reshape", every_turn, dims=(turns * dims[0], dims[1])), (turns * height, width))

    def _again(self, value: Value, views: tuple[Op, ...]) -> Value:
        values: dict[Value, Value] = {}
        for op in views:
            values[op.operands[0]] = value
            again = clone_op(op, values)
            self.m.builder.ops.append(again)
            value = again.result
        return value


def put_away(m: Notation, inside: Notation, value: Value, count: Dim, row: Dim) -> Value:
    """Memory for what a value is in each of ``count`` turns of a loop; ``inside`` of it, this turn's goes to a row."""
    dims = dims_of(value.type)
    memory = m("variable", m("empty", dtype=dtype_of(value), dims=(count, *dims)))
    starts, steps = (row, *(0 for _ in dims)), (1, *(1 for _ in dims))
    part = inside("slice", memory, starts=starts, sizes=(1, *dims), steps=steps)
    inside.add("store", inside("reshape", part, dims=dims), value)
    return memory


def _shows_all(view: Op) -> bool:
    """Whether a view of a value has each of its elements once."""
    return view.name in ("reshape", "transpose") or bool(view.attributes.get("assumed"))


def _long(dims: Sequence[Dim]) -> list[bool]:
    """Which axes are longer than 1, as far as is known."""
    return [dim != 1 for dim in dims]


def _without_ones(value: Value) -> list[Dim]:
    return [dim for dim in dims_of(value.type) if dim != 1]
