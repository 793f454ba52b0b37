"""Writing CUDA C++: a module under construction, and one kernel in it.

A `Printer` turns the ops of one kernel into statements, one an op, with the user's line beside them. What an op becomes
is not decided here but in the row of the op in `table.EMISSION`. Literals, and scalars that are splatted, are written
where they are used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from jitflow.backends.cuda.grid import Grid
from jitflow.backends.cuda.names import Names
from jitflow.backends.cuda.types import dtype_of, register_type
from jitflow.errors import CompilerBug
from jitflow.ir.core import Function, Op, Region, Value
from jitflow.ir.location import NOWHERE
from jitflow.ir.types import Type

__all__ = ["Emission", "ModuleText", "Printer"]

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
        self.texts: dict[Value, str] = {}
        self.lines: list[str] = []
        self._depth = 1
        self._place = ""

    # -- lines

    def do(self, statement: str) -> None:
        """Add a statement."""
        self.lines.append(f"{INDENT * self._depth}{statement}")

    def let(self, result: Value, expression: str) -> None:
        """Add the statement that gives ``result`` its value, under a new name."""
        name = self.names.fresh(result.name)
        self.texts[result] = name
        self.do(f"const {self.type(result.type)} {name} = {expression};")

    def alias(self, result: Value, text: str) -> None:
        """``result`` is what is written in ``text``: a literal, or another value's name."""
        self.texts[result] = text

    def declare(self, value: Value, initial: str = "") -> str:
        """Add a variable that is assigned to, for what loops and branches yield."""
        name = self.names.fresh(value.name)
        self.do(f"{self.type(value.type)} {name}{f' = {initial}' if initial else ''};")
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
        return register_type(dtype_of(type))

    def operand(self, value: Value) -> str:
        """What stands for a value in an expression: its name, or itself if it is a literal."""
        try:
            return self.texts[value]
        except KeyError:
            raise CompilerBug(f"expected a value defined before its use, got {value}") from None

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

    def emit_region(self, region: Region) -> list[str]:
        """Write the ops of a region and return what it yields."""
        for op in region.body:
            self.emit(op)
        return [self.operand(value) for value in region.yielded]

    def assign(self, targets: Sequence[str], sources: Sequence[str], types: Sequence[Type]) -> None:
        """Give several variables new values at once: none is overwritten before it has been read."""
        changes = [change for change in zip(targets, sources, types, strict=True) if change[0] != change[1]]
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
