"""Tables whose rows lie elsewhere (`jitflow.remote`), while a program is traced: gathers, and gradients by tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserIndexError, UserNotImplementedError
from jitflow.frontend.control.calls_out import called_out
from jitflow.frontend.control.joining import outside_type
from jitflow.frontend.control.local_types import kind_of
from jitflow.frontend.outside.arguments import Spec
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers.base import located
from jitflow.frontend.transforms.derivatives import alone, called, program_object, trace_function, traced_floats
from jitflow.ir.core import Value
from jitflow.records import dataclass
from jitflow.remote import Remote, RowGradient, mapped_rows

__all__ = ["Gathers", "apart", "gathered"]


class _Tickets:
    """The tickets of the tables that the code which is traced now is differentiated by, the innermost last."""

    def __init__(self) -> None:
        self.of: list[tuple[Remote, Any]] = []

    @contextmanager
    def in_force(self, tables: Sequence[Remote], tickets: Sequence[Any]) -> Iterator[None]:
        """Let gathers of these tables depend on these tickets."""
        before = self.of
        self.of = [*before, *zip(tables, tickets, strict=True)]
        try:
            yield
        finally:
            self.of = before


def apart(variables: Sequence[Any]) -> tuple[list[Any], Gathers]:
    """The variables that are memory of this process, and the gathers of those that are not."""
    places = [place for place, thing in enumerate(variables) if isinstance(thing, Remote)]
    own = [thing for thing in variables if not isinstance(thing, Remote)]
    return own, Gathers([variables[place] for place in places], places)


@dataclass(eq=False)
class Gathers:
    """The gathers that a function makes of tables at some ``places`` among the variables that it is differentiated by.

    They are by tickets, numbers of the running program, which are one more argument of the function.
    """

    tables: list[Remote]
    places: list[int]
    tickets: tuple[Any, ...] = ()

    def by_tickets(self, function: Callable[..., Any], args: Sequence[Any]) -> tuple[Callable[..., Any], Sequence[Any]]:
        """The function and its arguments, with the tickets behind the others."""
        if not self.tables:
            return function, args
        self.tickets = tuple(called_out(table.begin, Spec("float")) for table in self.tables)

        def gathering(*args: Any, **kwargs: Any) -> Any:
            *rest, tickets = args
            with current_trace().state(_Tickets).in_force(self.tables, tickets):
                return called(function, rest, kwargs)

        return gathering, (*args, self.tickets)

    def among(self, numbers: Sequence[int]) -> Sequence[int]:
        """The arguments that are differentiated by: those of some numbers, and the tickets."""
        return (*(number - (number < 0) for number in numbers), -1) if self.tables else numbers

    def collected(self, gradients: list[Any], by_variables: list[Any], scale: Any) -> tuple[list[Any], list[Any]]:
        """The gradients by the arguments alone, and those by all variables, the tables among them."""
        if not self.tables:
            return gradients, by_variables
        *gradients, ends = gradients
        every = [*by_variables]
        for place, table, ticket, end in zip(self.places, self.tables, self.tickets, ends, strict=True):
            rows = f"rows{place}"
            spec = (Spec("i64", (rows,)), Spec(str(table.dtype), (rows, *table.shape[1:])))
            gradient = RowGradient(*called_out(table.collect, spec, ticket, end))
            every.insert(place, gradient if scale is None else mapped_rows(scale.unscaled, gradient))
        return gradients, every


def gathered(table: Remote, index: Any) -> Any:
    """``table[index]``, of integers, or of all rows. Raises NotImplementedError for other indices."""
    ids = _ids(index)
    shape = (table.shape[0],) if ids is None else tuple(ids.shape) if hasattr(ids, "shape") else ()
    dims = (*shape, *table.shape[1:])
    spec = Spec(str(table.dtype), dims) if dims else Spec(f"np.{table.dtype}")

    def rows() -> Any:
        return called_out(table.read, spec) if ids is None else called_out(table.gather, spec, ids)

    ticket = next((ticket for own, ticket in reversed(current_trace().state(_Tickets).of) if own is table), None)
    return rows() if ticket is None else _differentiated(table, ticket, ids, rows)


def _differentiated(table: Remote, ticket: Any, ids: Any, rows: Callable[[], Any]) -> Any:
    """The rows as a function of the ticket, in whose reverse what arrives is handed to the table."""
    trace = current_trace()
    traced = trace_function(lambda ticket: rows(), traced_floats((ticket,)), {}, alone, once=False)
    (result,) = traced.region.yielded
    own, cotangent = Value(traced.inputs[0].type, "ticket"), Value(result.type)
    with trace.region() as scope:
        given = (program_object(own), ids, program_object(cotangent))
        end = tracers.lift(called_out(table.arrive, Spec("float"), *given))
    backward = scope.close([own, cotangent], [end])
    found = trace.add(
        "custom_vjp", *traced.inputs, types=[outside_type(result.type)], regions=(traced.region, backward)
    )
    return program_object(found[0])


def _ids(index: Any) -> Any:
    """Integers, in an array or as a number; None for all rows."""
    if isinstance(index, tuple) and len(index) == 1:
        index = index[0]
    if index is Ellipsis or (isinstance(index, slice) and index == slice(None)):
        return None
    if isinstance(index, list):
        index = np.asarray(index)
    kind = None if index is None or isinstance(index, tuple | slice) else kind_of(index)
    if kind is None:
        raise located(UserNotImplementedError(
            "rows of a variable of several shards that are chosen by something else than integers",
            found=type(index).__name__, expected="an array of integers, an integer, or [...] for all rows",
            mend="take all rows first: table[...][index]",
        ))  # fmt: skip
    if kind.dtype.kind not in "iu":
        raise located(UserIndexError("arrays used as indices must be of integer (or boolean) type", found=str(kind)))
    return index
