"""Lists of the running program whose items are numbers of several kinds: ``p = [1.0]``, to which an int is appended.

Each item is a number that says which kind it is, and one of each kind, of which one counts (`list_tapes.Form`).
"""

from __future__ import annotations

from functools import cache
from typing import Any

from jitflow.errors import UserNotImplementedError
from jitflow.frontend.python.list_tapes import Form
from jitflow.frontend.python.lists import ListedTuples
from jitflow.frontend.tracers.base import located
from jitflow.ir.types import Scalar

__all__ = ["mixed_of"]


def mixed_of(form: Form) -> type[ListedTuples]:
    """The class of lists with items of a form."""
    return _mixed_of(form)


@cache
def _mixed_of(form: Form) -> type[ListedTuples]:
    names = tuple(f"column{number}" for number in range(len(form.kinds)))
    weak = tuple(isinstance(kind, Scalar) and kind.weak for kind in form.kinds)
    return type("MixedList", (_Mixed,), {"__jitflow_arrays__": names, "are_weak": weak, "form": form})


class _Mixed(ListedTuples):
    """A list of numbers of several kinds; each kind has an array of its own, and the first says which counts."""

    form: Form

    @property
    def array(self) -> Any:
        raise located(UserNotImplementedError(
            "an array, a sum or an order of a list with numbers of several types, which the running program changes",
            mend="give all of them one type, from the first on: 0.0 instead of 0, np.float64(0)",
        ))  # fmt: skip

    def item(self, position: Any) -> Any:
        return self.form.whole([*super().item(position)])

    @classmethod
    def made_of(cls, *columns: Any) -> list[Any]:
        return [items[items[0]] for items in super().made_of(*columns)]
