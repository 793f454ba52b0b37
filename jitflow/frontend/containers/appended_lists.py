"""Lists of the caller's to which the program appends, and does nothing else: ``self.history.append(loss)``.

What the list holds when the call begins is none of the program's business, so it reads nothing of it but its length.
What is appended is a list of the program, which is written back behind the call, and may be one of the running program.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from jitflow.errors import UserNotImplementedError
from jitflow.frontend.containers.made_containers import made_container
from jitflow.frontend.control.changing_lists import slotted_site
from jitflow.frontend.control.logic import truth
from jitflow.frontend.outside.objects import Recorded
from jitflow.frontend.outside.slots import Slotted
from jitflow.frontend.outside.stores import Stores
from jitflow.frontend.recording.choices import Choice, Restart, Site
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers.base import located

__all__ = ["AppendedList"]


class AppendedList(Recorded):
    """The caller's list in a ``register``; ``count`` makes an input of its length."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, register: int, path: str, count: Callable[[], Any]) -> None:
        self.register, self.path, self._count = register, path, count
        trace = current_trace()
        with trace.region(trace.root):
            self._tail = made_container([], path)

    @property
    def length(self) -> Any:
        """``len(self)``."""
        tail = self._tail
        return self._count() + (tail.length if isinstance(tail, Recorded) else len(tail))

    def truth(self) -> Any:
        return truth(self.length)

    def append(self, item: Any) -> None:
        """``list.append``."""
        self._open()
        self._tail.append(item)

    def extend(self, items: Any) -> None:
        """``list.extend``."""
        self._open()
        self._tail.extend(items)

    def __iadd__(self, items: Any) -> AppendedList:
        self.extend(items)
        return self

    def _open(self) -> None:
        assert self.register is not None
        current_trace().state(Stores).open_tail(self.register, self.path, self._tail)


def _refused(name: str) -> Any:
    def refuse(self: AppendedList, *_: Any, **__: Any) -> NoReturn:
        site, choices = Site(Choice.PASSED, self.path), current_trace().choices
        if isinstance(self._tail, Slotted) and not choices.is_settled(slotted_site(site)):
            raise current_trace().begin_anew(Restart(slotted_site(site)))  # no container holds what is appended
        if not choices.is_settled(site):
            raise current_trace().begin_anew(Restart(site, is_wish=True))
        raise located(
            UserNotImplementedError(
                f"list.{name} of {self.path}, a list that the caller passes and the program appends to",
                mend="append to a list of the function's own, and return it",
            )
        )

    return refuse


for _name in ("__len__", "__bool__", "__iter__", "__getitem__", "__setitem__", "__delitem__", "__contains__", "__eq__",
              "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__add__", "__radd__", "__mul__", "__rmul__",
              "__imul__", "__index__", "__reversed__", "__array__", "__str__", "__format__", "__copy__", "__deepcopy__",
              "insert", "remove", "pop", "clear", "index", "count", "sort", "reverse", "copy", "settled",
              "returned"):  # fmt: skip
    setattr(AppendedList, _name, _refused(_name))


AppendedList.__name__ = "list"  # Python's messages name the class
