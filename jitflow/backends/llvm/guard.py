"""The guard of a specialisation: an LLVM function that tests sizes and overlap, before anything is allocated.

``i32 guard(ptr arguments)`` returns 1 if the sizes in the argument slots are ones that the code was compiled for. Each
size symbol is bound where a parameter first has it as a dim, or by an integer that is a size; a dim that is a number,
or a size again, is compared, and so are the facts of the function. No array that the program writes to may share memory
with another one, nor its elements with each other. Dims equal to 1 are the entry's business.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from jitflow.ir.core import Function
from jitflow.ir.dims import Call, Dim, Expression, Symbol, symbols
from jitflow.ir.dtypes import C128
from jitflow.ir.types import Index, Scalar, Tensor, Variable

__all__ = ["guard_text"]

_PREDICATES = {"==": "eq", "!=": "ne", ">=": "sge", "<": "slt"}


def guard_text(function: Function, leaves: Sequence[object] = (), name: str = "guard", *, ordered: bool = True) -> str:
    """The text of the guard; empty if there is nothing to test.

    ``ordered`` calls take their variables, which finds those that come twice, and no other array is in their memory.
    ``leaves`` are what the parameters are, arrays with their layout classes.
    """
    writer = _GuardWriter()
    slot = 0
    for position, parameter in enumerate(function.parameters):
        leaf = leaves[position] if leaves else None
        if isinstance(parameter.type, Variable) and getattr(leaf, "layout", "") in ("unit", "general"):
            writer.require_elements_apart(parameter.type, slot)
        if isinstance(parameter.type, Index) and parameter.type.dim is not None:
            writer.bind(parameter.type.dim, slot)
        if isinstance(parameter.type, Tensor | Variable):
            for axis, dim in enumerate(parameter.type.dims):
                writer.bind(dim, slot + 1 + axis)
            slot += 1 + 2 * len(parameter.type.dims)
        else:
            slot += 2 if isinstance(parameter.type, Scalar) and parameter.type.dtype == C128 else 1
    writer.compare_deferred()
    for fact in function.facts:
        writer.require(fact.left, fact.relation, fact.right)
    if not function.attributes.get("overlap"):
        _require_apart(writer, function, function.attributes.get("variables", ()) if ordered else ())
    return writer.text(name)


def _require_apart(writer: _GuardWriter, function: Function, apart: Collection[int]) -> None:
    """No array that is written to overlaps another one. Those parameters that are known to be apart are left out."""
    slot = 0
    arrays: list[tuple[Variable | Tensor, int]] = []
    for position, parameter in enumerate(function.parameters):
        type = parameter.type
        if isinstance(type, Tensor | Variable):
            if position not in apart:
                arrays.append((type, slot))
            slot += 1 + 2 * len(type.dims)
        else:
            slot += 2 if isinstance(type, Scalar) and type.dtype == C128 else 1
    for number, (type, place) in enumerate(arrays):
        for other, (other_type, other_place) in enumerate(arrays if isinstance(type, Variable) else ()):
            pair_seen = other < number and isinstance(other_type, Variable)
            if other != number and not pair_seen:
                writer.require_apart(type, place, other_type, other_place)


class _GuardWriter:
    """Straight-line code that collects one bit."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._sizes: dict[str, str] = {}
        self._deferred: list[tuple[Dim, int]] = []
        self._extents: dict[int, tuple[str, str]] = {}
        self._answer = "true"
        self._count = 0

    def bind(self, dim: Dim, slot: int) -> None:
        """Take a size from its slot, or note that the slot is to be compared."""
        if dim == 1:
            return
        if isinstance(dim, Expression) and dim.is_symbol and str(dim) not in self._sizes:
            self._sizes[str(dim)] = self._load(slot)
        else:
            self._deferred.append((dim, slot))

    def compare_deferred(self) -> None:
        """Compare the dims that bind nothing, now that all sizes are known."""
        for dim, slot in self._deferred:
            self._and(self._let(f"icmp eq i64 {self._load(slot)}, {self._dim(dim)}"))

    def require(self, left: Dim, relation: str, right: Dim) -> None:
        """Test a fact."""
        assert all(name in self._sizes for dim in (left, right) for name in symbols(dim))
        self._and(self._let(f"icmp {_PREDICATES[relation]} i64 {self._dim(left)}, {self._dim(right)}"))

    def require_apart(self, one: Tensor | Variable, slot: int, other: Tensor | Variable, other_slot: int) -> None:
        """Test that two arrays share no byte: one ends before the other begins."""
        first, end = self._extent(one, slot)
        other_first, other_end = self._extent(other, other_slot)
        before = self._let(f"icmp ule i64 {end}, {other_first}")
        behind = self._let(f"icmp ule i64 {other_end}, {first}")
        self._and(self._let(f"or i1 {before}, {behind}"))

    def require_elements_apart(self, type: Variable, slot: int) -> None:
        """Test that no two elements share memory: a step along an axis leads over all that the shorter steps reach.

        `jitflow.frontend.outside.arguments.elements_meet` is the same for an array.
        """
        rank = len(type.dims)
        sizes = [self._load(slot + 1 + axis) for axis in range(rank)]
        steps = [self._let(f"call i64 @llvm.abs.i64(i64 {self._load(slot + 1 + rank + axis)}, i1 false)")
                 for axis in range(rank)]  # fmt: skip
        reaches = [self._let(f"mul i64 {self._let(f'sub i64 {size}, 1')}, {step}")
                   for size, step in zip(sizes, steps, strict=True)]  # fmt: skip
        for axis, step in enumerate(steps):
            room = str(type.dtype.itemsize)
            for other, reach in enumerate(reaches):
                if other != axis:
                    shorter = self._let(f"icmp {'ule' if other > axis else 'ult'} i64 {steps[other]}, {step}")
                    room = self._let(f"add i64 {room}, {self._let(f'select i1 {shorter}, i64 {reach}, i64 0')}")
            leads_over = self._let(f"icmp sge i64 {step}, {room}")
            is_short = self._let(f"icmp sle i64 {sizes[axis]}, 1")
            self._and(self._let(f"or i1 {leads_over}, {is_short}"))

    def _extent(self, type: Tensor | Variable, slot: int) -> tuple[str, str]:
        """The addresses of the first byte and behind the last; both the same for an array without elements."""
        if slot not in self._extents:
            rank = len(type.dims)
            first = last = self._load(slot)
            empty = "false"
            for axis in range(rank):
                size, stride = self._load(slot + 1 + axis), self._load(slot + 1 + rank + axis)
                reach = self._let(f"mul i64 {self._let(f'sub i64 {size}, 1')}, {stride}")
                backwards = self._let(f"icmp slt i64 {reach}, 0")
                first = self._let(f"add i64 {first}, {self._let(f'select i1 {backwards}, i64 {reach}, i64 0')}")
                last = self._let(f"add i64 {last}, {self._let(f'select i1 {backwards}, i64 0, i64 {reach}')}")
                none = self._let(f"icmp eq i64 {size}, 0")
                empty = none if empty == "false" else self._let(f"or i1 {empty}, {none}")
            end = self._let(f"add i64 {last}, {type.dtype.itemsize}")
            if empty != "false":
                first = self._let(f"select i1 {empty}, i64 0, i64 {first}")
                end = self._let(f"select i1 {empty}, i64 0, i64 {end}")
            self._extents[slot] = (first, end)
        return self._extents[slot]

    def text(self, name: str) -> str:
        """The whole function."""
        if self._answer == "true":
            return ""
        body = "\n".join(f"  {line}" for line in self._lines)
        declared = "declare i64 @llvm.abs.i64(i64, i1)\n" if "@llvm.abs.i64" in body else ""
        return (
            f"define i32 @{name}(ptr %arguments) {{\nstart:\n{body}\n"
            f"  %answer = zext i1 {self._answer} to i32\n  ret i32 %answer\n}}\n{declared}"
        )

    def _dim(self, dim: Dim) -> str:
        if isinstance(dim, int):
            return str(dim)
        total = "0"
        for monomial, coefficient in dim.terms:
            term = str(coefficient)
            for atom in monomial:
                factor = self._sizes[atom.name] if isinstance(atom, Symbol) else self._call(atom)
                term = factor if term == "1" else self._let(f"mul i64 {term}, {factor}")
            total = term if total == "0" else self._let(f"add i64 {total}, {term}")
        return total

    def _call(self, call: Call) -> str:
        first, *rest = [self._dim(operand) for operand in call.operands]
        for other in rest:
            if call.operator in ("min", "max"):
                smaller = self._let(f"icmp slt i64 {first}, {other}")
                pair = (first, other) if call.operator == "min" else (other, first)
                first = self._let(f"select i1 {smaller}, i64 {pair[0]}, i64 {pair[1]}")
            else:
                first = self._divide(first, other, call.operator)
        return first

    def _divide(self, left: str, right: str, operator: str) -> str:
        """Division rounded down. A fact rules out zero, but this code runs before that fact has said so."""
        zero = self._let(f"icmp eq i64 {right}, 0")
        divisor = self._let(f"select i1 {zero}, i64 1, i64 {right}")
        quotient = self._let(f"sdiv i64 {left}, {divisor}")
        remainder = self._let(f"srem i64 {left}, {divisor}")
        inexact = self._let(f"icmp ne i64 {remainder}, 0")
        signs = self._let(f"xor i64 {remainder}, {divisor}")
        opposed = self._let(f"icmp slt i64 {signs}, 0")
        adjust = self._let(f"and i1 {inexact}, {opposed}")
        if operator == "//":
            less = self._let(f"sub i64 {quotient}, 1")
            return self._let(f"select i1 {adjust}, i64 {less}, i64 {quotient}")
        more = self._let(f"add i64 {remainder}, {divisor}")
        return self._let(f"select i1 {adjust}, i64 {more}, i64 {remainder}")

    def _and(self, condition: str) -> None:
        self._answer = condition if self._answer == "true" else self._let(f"and i1 {self._answer}, {condition}")

    def _load(self, slot: int) -> str:
        address = self._let(f"getelementptr i8, ptr %arguments, i64 {8 * slot}")
        return self._let(f"load i64, ptr {address}, align 8")

    def _let(self, expression: str) -> str:
        self._count += 1
        self._lines.append(f"%v{self._count} = {expression}")
        return f"%v{self._count}"
