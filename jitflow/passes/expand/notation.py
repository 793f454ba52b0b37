"""Words beyond those of `Term`, for expansions of whole ops: any op, any conversion, loops.

`Term` knows the primitives of the `Machine` protocol. The expansions of ops that are no elementary functions need what
only `BuilderMachine` has; here it is, on terms.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from jitflow.ir.core import Value
from jitflow.ir.dtypes import DTYPES
from jitflow.passes.expand.builder_machine import BuilderMachine
from jitflow.passes.expand.primitives import INDEX
from jitflow.passes.expand.term import Term

__all__ = ["Number", "apply", "convert", "differ", "machine_of", "primitive", "repeat_while", "signed", "smallest_of",
           "unsigned", "width_of"]  # fmt: skip

Number: TypeAlias = Term[Value]


def machine_of(x: Number) -> BuilderMachine:
    """The machine behind a term, which has more than the protocol asks for."""
    assert isinstance(x.machine, BuilderMachine)
    return x.machine


def apply(name: str, *operands: Number) -> Number:
    """Any elementwise op, expanded in its turn if it is no primitive."""
    machine = machine_of(operands[0])
    return Term(machine, machine.apply(name, *(operand.value for operand in operands)))


def primitive(name: str, *operands: Number) -> Number:
    """A primitive of the operands' dtype that the protocol does not name."""
    machine = machine_of(operands[0])
    return Term(machine, machine.primitive(name, *(operand.value for operand in operands)))


def convert(x: Number, dtype: str) -> Number:
    """What ``astype`` gives, for any value and any two dtypes."""
    machine = machine_of(x)
    return Term(machine, machine.convert(x.value, dtype))


def repeat_while(
    condition: Callable[..., Number], body: Callable[..., tuple[Number, ...]], *values: Number
) -> tuple[Number, ...]:
    """The loop of `BuilderMachine.repeat_while`, on terms."""
    machine = machine_of(values[0])

    def terms(carried: tuple[Value, ...]) -> tuple[Number, ...]:
        return tuple(Term(machine, value) for value in carried)

    results = machine.repeat_while(
        lambda *carried: condition(*terms(carried)).value,
        lambda *carried: tuple(term.value for term in body(*terms(carried))),
        tuple(value.value for value in values),
    )
    return terms(results)


def unsigned(x: Number) -> Number:
    """An integer's or a float's bits as an unsigned integer."""
    return x if x.dtype[0] == "u" else x.bitcast(f"u{width_of(x)}")


def signed(x: Number) -> bool:
    """Whether an integer has a sign; a size has."""
    return x.dtype[0] == "i"


def width_of(x: Number) -> int:
    """How many bits a number has."""
    return 64 if x.dtype == INDEX else DTYPES[x.dtype].bits


def smallest_of(x: Number) -> int:
    """The smallest of its signed integers."""
    return -1 << (width_of(x) - 1)


def differ(a: Number, b: Number) -> Number:
    """Exclusive or of masks."""
    return primitive("logical_xor", a, b)
