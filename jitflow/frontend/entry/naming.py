"""Names of values in a program, and tracing the part of a program that some of them need.

`mark` leaves an op ``mark`` behind a value that the program names. When a part is traced (`trace_part`), a name that is
fed stands for the value that is fed from then on, a new array, and the values of those to fetch are collected.

A name that is fetched or fed must be one value: not a loop's, which has one in each turn, nor a branch's, which may
have none, nor that of two calls of a helper.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from types import FunctionType
from typing import Any

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserError, UserNotImplementedError, UserTypeError, UserValueError
from jitflow.frontend.control.local_types import kind_of
from jitflow.frontend.control.raising import EndOfPath
from jitflow.frontend.recording.locate import definition
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers.absent import Absent, NotGiven
from jitflow.frontend.tracers.base import located
from jitflow.ir.location import Loc
from jitflow.ir.types import Scalar, Tensor, dims_of
from jitflow.records import dataclass

__all__ = ["Part", "Wanted", "mark", "trace_part"]


@dataclass(eq=False)
class Part:
    """The part of a program that is being traced: names to fetch, what is fed, and the names that were found where."""

    fetch: tuple[str, ...]
    feed: Mapping[str, Any] | None = None
    labels: dict[str, Loc] = field(default_factory=dict)
    fetched: set[str] = field(default_factory=set)

    def concerns(self, label: str) -> bool:
        """Whether a name is fetched or fed."""
        return label in self.fetch or label in (self.feed or ())

    def find(self, label: str) -> None:
        """The program comes to a name."""
        trace = current_trace()
        here, first = trace.here(), self.labels.get(label)
        self.labels.setdefault(label, here)
        if not self.concerns(label):
            return
        if not trace.scope.is_straight:
            raise located(
                UserNotImplementedError(
                    f"{label!r} names a value in a loop or a branch, of which there may be many or none",
                    found="functions with a gradient of their own (custom_gradient) count as loops",
                    mend="name what the loop or the branch leaves behind, after it",
                )
            )
        if first is not None:
            raise located(
                UserValueError(
                    f"two values are called {label!r}",
                    found=f"the other one in {first}",
                    mend="give each a name of its own; a helper can take the name as an argument",
                )
            )

    @property
    def is_complete(self) -> bool:
        """Whether everything that is to be fetched has been found."""
        return all(label in self.fetched for label in self.fetch)


class Wanted:
    """The part of the program that is wanted, if it is not all of it."""

    part: Part | None = None


def trace_part(
    fn: FunctionType, args: Sequence[Any], kwargs: Mapping[str, Any], feed: Mapping[str, Any], effects: bool
) -> None:
    """Trace ``fn`` as far as the names to fetch need it; with ``effects`` to its end.

    Raises ValueError for names that there are not, and TypeError where an argument is needed that is not given.
    """
    trace = current_trace()
    part = trace.state(Wanted).part
    if part is None or part.feed is not None:
        raise located(
            UserNotImplementedError(
                "a part of a function that is called inside of a compiled function",
                mend="call it outside, or write the part as a function of its own that both call",
            )
        )
    part.feed = feed
    try:
        fn(*args, **kwargs)
    except EndOfPath:
        pass  # behind the part, or before it: then the names are missing
    except NotGiven:
        if effects or not part.is_complete:
            raise
        trace.refusals.clear()  # what comes behind the part is none of its business
    for label in (*part.fetch, *feed):
        if label not in part.labels:
            known = ", ".join(map(repr, part.labels))
            raise UserValueError(
                f"no value is called {label!r}",
                expected=f"one of {known}" if known else "a value that the function names: jitflow.name(value, 'name')",
                location=definition(fn.__code__),
            )


def mark(value: Any, label: Any) -> Any:
    """``value``, which the program calls ``label``; what is fed in its place, if anything is."""
    _check_label(label)
    trace = current_trace()
    part = trace.state(Wanted).part
    if part is not None:
        part.find(label)
        if part.feed and label in part.feed:
            value = _fed(part.feed[label], value, label)
    if type(value) is Absent:
        if part is not None and label in part.fetch:
            raise value.needed()
        return value
    kind = kind_of(value)
    if kind is None:
        raise located(
            UserTypeError(f"{label!r} names a {type(value).__name__}", expected="an array or a number",
                          mend="name the arrays in it, each for itself")
        )  # fmt: skip
    fetched = part is not None and label in part.fetch
    if fetched or isinstance(value, tracers.Tracer):
        found = tracers.lift(value)
        if isinstance(kind, Tensor) and not trace.storage.is_new_array(found):
            found = trace.make("copy", found)
        trace.add("mark", found, label=label)
    if part is not None and fetched:
        part.fetched.add(label)
    return value


def _check_label(label: Any) -> None:
    if type(label) is not str or not label:
        raise located(
            UserTypeError(
                "the name of a value must be a string that is known before the program runs",
                found=repr(label) if type(label) in (str, int, float, type(None)) else f"a {type(label).__name__}",
                mend="write it as a literal: jitflow.name(value, 'name')",
            )
        )


def _fed(given: Any, value: Any, label: str) -> Any:
    """What is fed, as what the program computes here: of its dtype and shape, and an array of the program's own."""
    kind = kind_of(given)
    if kind is None:
        raise located(UserTypeError(f"{label!r} is fed a {type(given).__name__}", expected="an array or a number"))
    if type(value) is not Absent:
        _require_same(kind, kind_of(value), label)
    if isinstance(kind, Scalar):
        return given
    return tracers.wrap(current_trace().make("copy", tracers.lift(given)), owned=True)


def _require_same(given: Tensor | Scalar, computed: Tensor | Scalar | None, label: str) -> None:
    if computed is None:
        raise located(UserTypeError(f"{label!r}, which is fed, names no array or number", mend="name the arrays in it"))
    if type(given) is not type(computed) or given.dtype != computed.dtype or _is_weak(given) != _is_weak(computed):
        error: UserError = UserTypeError(
            f"{label!r} is fed what is not of the type that the program computes", found=_text(given),
            expected=_text(computed), mend="convert it before",
        )  # fmt: skip
        raise located(error)
    dims, wanted = dims_of(given), dims_of(computed)
    if len(dims) != len(wanted) or not all(map(_are_equal, dims, wanted)):
        error = UserValueError(
            f"{label!r} is fed an array of another shape than the program computes", found=_text(given),
            expected=_text(computed),
        )  # fmt: skip
        raise located(error)


def _are_equal(given: Any, wanted: Any) -> bool:
    """Whether sizes are equal at this call, which a guard then tests; what only the running program knows may be."""
    trace = current_trace()
    if trace.is_open(wanted):
        return True
    known = trace.known(given, "==", wanted)
    if known is not None:
        return known
    why = "the shape of what is fed"
    if trace.number_of(given, why) != trace.number_of(wanted, why):
        return False
    return trace.decide(given, "==", wanted, why)


def _is_weak(kind: Tensor | Scalar) -> bool:
    return isinstance(kind, Scalar) and kind.weak


def _text(kind: Tensor | Scalar) -> str:
    """A type with the sizes that its dims have at this call."""
    if isinstance(kind, Scalar):
        return f"a Python {kind}" if kind.weak else f"a NumPy scalar {kind}"
    trace = current_trace()
    sizes = [str(dim) if trace.is_open(dim) else str(trace.number_of(dim, "")) for dim in kind.dims]
    return f"{kind.dtype.name}[{', '.join(sizes)}]"
