"""Writing CUDA C++: a module under construction, and one kernel in it.

A `Printer` turns the ops of one kernel into statements, one an op, with the user's line beside them. What an op becomes
is not decided here but in the row of the op in `table.EMISSION`. Literals, and scalars that are splatted, are written
where they are used. A vector of more lanes than a warp has threads is several numbers in each thread, its *parts*: a
row that treats lanes alike is written once for each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from jitflow.backends.cuda.grid import Grid
from jitflow.backends.cuda.names import Names
from jitflow.backends.cuda.types import SIZES, dtype_of, parts_of, register_type
from jitflow.errors import CompilerBug
from jitflow.ir.core import Function, Op, Region, Value
from jitflow.ir.location import NOWHERE
from jitflow.ir.types import Index, Type
from jitflow.machines.hardware import ON_CHIP

__all__ = ["Emission", "ModuleText", "Printer", "part_by_part"]

INDENT = "    "


class ModuleText:
    """What the kernels of one module share: helper functions and the sites of errors."""

    def __init__(self) -> None:
        self.helpers: dict[str, str] = {}
        """Functions of the device by name, in the order in which they were asked for: the whole text of each."""
        self.sites: list[Op] = []

    def helper(self, name: str, text: str) -> None:
        """Add a function once."""
        self.helpers.setdefault(name, text)

    def site(self, op: Op) -> int:
        """The number under which a failure of ``op`` is reported."""
        self.sites.append(op)
        return len(self.sites) - 1


class Printer:
    """One kernel: values to names, ops to statements."""

    def __init__(self, module: ModuleText, function: Function, rows: Mapping[str, Emission], grid: Grid) -> None:
        self.module = module
        self.function = function
        self.rows = rows
        self.grid = grid
        self.names = Names()
        self.texts: dict[Value, list[str]] = {}
        self.lines: list[str] = []
        self.index = "index" if "narrow" in function.attributes else "i64"
        """The C++ type of indices."""
        self.rooms: list[str] = []
        """How many bytes a worker has in each room on the chip, by name."""
        self.on_chip = 0
        """Bytes that a block has there whatever it is launched with."""
        self.part = 0
        """Which of a thread's numbers is written."""
        self._depth = 1
        self._place = ""

    def check_room(self) -> None:
        """Raises `CompilerBug` where a block needs more memory on the chip than it may have, as far as is known."""
        known = sum(room for room in self.grid.rooms if isinstance(room, int)) * self.grid.workers
        if self.on_chip + known > ON_CHIP:
            raise CompilerBug(f"expected at most {ON_CHIP} bytes on the chip, got {self.on_chip + known}")

    # -- lines

    def do(self, statement: str) -> None:
        """Add a statement."""
        self.lines.append(f"{INDENT * self._depth}{statement}")

    def let(self, result: Value, expression: str) -> None:
        """Add the statement that gives ``result``, or the present part of it, its value, under a new name."""
        name = self.names.fresh(result.name)
        self.alias(result, name)
        self.do(f"const {self.type(result.type)} {name} = {expression};")

    def alias(self, result: Value, *texts: str) -> None:
        """``result``, or its parts from the present one on, is what is written: a literal, or another value's name."""
        self.texts[result] = [*self.texts.get(result, [])[: self.part], *texts]

    def declare(self, value: Value, initial: Sequence[str] = ()) -> list[str]:
        """Add variables that are assigned to, one for each part, for what loops and branches yield."""
        names = [self.names.fresh(value.name) for _ in range(parts_of(value.type))]
        for number, name in enumerate(names):
            self.do(f"{self.type(value.type)} {name}{f' = {initial[number]}' if initial else ''};")
        return names

    def shared(self, type: str, count: int, hint: str, *, align: int = 0) -> str:
        """The name of an array of a block's memory on the chip."""
        name = self.names.fresh(hint)
        self.on_chip += count * SIZES[type]
        self.do(f"__shared__ {f'__align__({align}) ' if align else ''}{type} {name}[{count}];")
        return name

    @contextmanager
    def indented(self) -> Iterator[None]:
        """Statements one step further to the right."""
        self._depth += 1
        yield
        self._depth -= 1

    @contextmanager
    def block(self, header: str) -> Iterator[None]:
        """Statements inside braces."""
        self.do(f"{header} {{")
        with self.indented():
            yield
        self.do("}")

    # -- values

    def type(self, type: Type) -> str:
        """The C++ type of a number."""
        return self.index if isinstance(type, Index) else register_type(dtype_of(type))

    def operand(self, value: Value) -> str:
        """What stands for a value, or the present part of it, in an expression: its name, or itself if a literal."""
        texts = self.parts(value)
        return texts[self.part] if len(texts) > 1 else texts[0]

    def parts(self, value: Value) -> list[str]:
        """What stands for all parts of a value."""
        try:
            return self.texts[value]
        except KeyError:
            raise CompilerBug(f"expected a value defined before its use, got {value}") from None

    def lane(self, type: Type) -> str:
        """The number of the lane that is the present part of a vector."""
        count = parts_of(type)
        if count == 1:
            return "lane"
        return f"({count} * lane + {self.part})" if self.part else f"{count} * lane"

    # -- ops

    def emit(self, op: Op) -> None:
        """Write one op; the user's line stands behind the first statement that comes from it."""
        row = self.rows.get(op.name)
        if row is None:
            raise CompilerBug(f"expected an op of kernels, got {op.name}", location=op.loc)
        before, place = len(self.lines), self._place
        if op.loc != NOWHERE:
            self._place = str(op.loc)
        comment = "" if self._place == place else f"  // {self._place}"
        row(self, op)
        if len(self.lines) > before:
            self.lines[before] += comment
        else:
            self._place = place

    def emit_region(self, region: Region) -> list[list[str]]:
        """Write the ops of a region and return what it yields, in parts."""
        for op in region.body:
            self.emit(op)
        return [self.parts(value) for value in region.yielded]

    def assign(self, targets: Sequence[list[str]], sources: Sequence[list[str]], types: Sequence[Type]) -> None:
        """Give several variables new values at once: none is overwritten before it has been read."""
        changes = [
            (target, source, type)
            for old, new, type in zip(targets, sources, types, strict=True)
            for target, source in zip(old, new, strict=True)
            if target != source
        ]
        overwritten = {target for target, _, _ in changes}
        late: list[tuple[str, str]] = []
        for target, source, type in changes:
            if source in overwritten:
                copy = self.names.fresh()
                self.do(f"const {self.type(type)} {copy} = {source};")
                source = copy
            late.append((target, source))
        for target, source in late:
            self.do(f"{target} = {source};")


Emission = Callable[[Printer, Op], None]
"""A row: writes an op and names its results."""


def part_by_part(row: Emission) -> Emission:
    """The row of an op that does the same with every lane."""

    def write(out: Printer, op: Op) -> None:
        for out.part in range(max(parts_of(value.type) for value in (*op.operands, *op.results))):
            row(out, op)
        out.part = 0

    return write
