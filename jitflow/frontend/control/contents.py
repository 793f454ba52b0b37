"""Objects that the paths of a branch change: what they hold behind it is merged as locals are.

    if c:
        counts["n"] += 1          what is behind "n" is one number or the other

An object of the program's own that holds as many things as before, under the same names, goes on with what the path
that was taken has left in it. A list that becomes longer or shorter is one of the running program (`growing`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from jitflow.errors import UserNotImplementedError
from jitflow.frontend.control.changing_lists import begin_anew_with
from jitflow.frontend.control.merge import resolved
from jitflow.frontend.control.mutables import Mutables
from jitflow.frontend.tracers.base import located

__all__ = ["Changes"]


class HasLocals(Protocol):
    """A traced path."""

    locals: dict[str, Any]

    def __hash__(self) -> int: ...


class Changes:
    """The objects within reach of a branch, and what its paths have left in them."""

    def __init__(self, reached: Iterable[Any]) -> None:
        self.before = Mutables(reached)
        self._left: dict[HasLocals, dict[int, Any]] = {}
        self._names: dict[str, int] = {}

    def take_back(self, path: HasLocals) -> None:
        """A path has been traced: what it has changed is given back."""
        self.before.changed()  # raises for iterators
        self._left[path] = self.before.taken_back()

    def as_locals(self, paths: Sequence[HasLocals]) -> list[str]:
        """Let the paths have what is left in the objects as locals; returns their names."""
        for key in dict.fromkeys(key for path in paths for key in self._left[path]):
            held = self.before.behind(key)
            contents = [self._left[path].get(key, held.content) for path in paths]
            if not all(_are_of_one_form(held.content, content) for content in contents):
                if type(held.thing) is list:
                    begin_anew_with(held.thing)
                raise located(
                    UserNotImplementedError(
                        f"{held.word} that changes on a decision that only the running program makes",
                        mend="decide on the elements: use np.where, or an array that is written to",
                    )
                )
            name = f"an item of {held.word} {len(self._names)}"
            self._names[name] = key
            for path, content in zip(paths, contents, strict=True):
                path.locals[name] = content
        return [*self._names]

    def write(self, merged: Mapping[str, Any]) -> None:
        """Let the objects hold what was merged."""
        for name, content in merged.items():
            self.before.behind(self._names[name]).write(resolved(content))


def _are_of_one_form(one: Any, other: Any) -> bool:
    if isinstance(one, list):
        return len(one) == len(other)
    return isinstance(one, dict) and list(one) == list(other)
