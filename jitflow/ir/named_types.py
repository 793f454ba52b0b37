"""Types of named tuples: like those of other tuples, but for what comes out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["Named", "like_tuple"]


class Named(tuple[Any, ...]):
    """The type of a named tuple: those of its items. ``kind`` is its class, or the name that a text has for that."""

    kind: type | str

    def __new__(cls, kind: type | str, parts: Iterable[Any]) -> Named:
        """Of a class, with items of these types."""
        self = super().__new__(cls, parts)
        self.kind = kind
        return self

    @property
    def name(self) -> str:
        """The name of its class."""
        return self.kind if isinstance(self.kind, str) else self.kind.__name__

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Named) or not tuple.__eq__(self, other):
            return False
        is_read = isinstance(self.kind, str) or isinstance(other.kind, str)
        return self.name == other.name if is_read else self.kind is other.kind

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((self.name, tuple(self)))


def like_tuple(item: tuple[Any, ...], parts: Iterable[Any]) -> tuple[Any, ...]:
    """The type of a tuple of the same class with items of these types."""
    return Named(item.kind, parts) if isinstance(item, Named) else tuple(parts)
