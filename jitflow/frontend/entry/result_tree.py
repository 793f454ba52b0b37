"""What a traced function returns: a tree whose leaves are computed, passed on unchanged, or known already."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from typing import Any

from jitflow.ir.types import Scalar, Tensor
from jitflow.records import dataclass
from jitflow.runtime.entry.plan import ConstantObject, Result, SameObject

__all__ = ["Chosen", "Computed", "Group", "ResultTree", "leaves_of", "repeated"]


@dataclass(frozen=True, eq=False)
class Computed:
    """Result ``index`` of the IR function; the same number twice is the same object twice.

    ``made``: what is made of it one after the other, by name of a part or by a function of it and of numbers, if the
    program returns such a view; ``read_only``: nobody may write to it.
    ``views``: the parameters of which it is a view, where it shows them, and not the array itself; ``is_view``: the
    same for what the program makes. ``is_merged``: it is one of several arrays where it is no view.
    """

    index: int
    type: Tensor | Scalar
    read_only: bool = False
    made: tuple[tuple[Callable[..., Any] | str, tuple[Computed, ...]], ...] = ()
    views: frozenset[int] = frozenset()
    is_view: bool = False
    is_merged: bool = False


@dataclass(frozen=True, eq=False)
class Group:
    """A container; ``make`` turns the plan's results of its children into the plan's result of itself."""

    make: Callable[[tuple[Result, ...]], Result]
    children: tuple[ResultTree, ...]


@dataclass(frozen=True, eq=False)
class Chosen:
    """One of several results, by their number: the one whose number the running program computes."""

    number: ResultTree
    options: tuple[tuple[int, ResultTree], ...]


ResultTree = Computed | SameObject | ConstantObject | Chosen | Group


def leaves_of(tree: ResultTree, whole: Container[ResultTree] = ()) -> Iterator[ResultTree]:
    """The leaves, depth first. Groups in ``whole`` are leaves as well."""
    if isinstance(tree, Group) and tree not in whole:
        for child in tree.children:
            yield from leaves_of(child, whole)
    else:
        yield tree


def repeated(tree: ResultTree) -> set[ResultTree]:
    """The groups, and what is computed, that stand in several places: each is one object."""
    seen: set[ResultTree] = set()
    found: set[ResultTree] = set()

    def visit(tree: ResultTree) -> None:
        if isinstance(tree, Group | Computed) and tree in seen:
            found.add(tree)
            return
        seen.add(tree)
        parts = tree.children if isinstance(tree, Group) else ()
        for part in (thing for _, thing in tree.options) if isinstance(tree, Chosen) else parts:
            visit(part)

    visit(tree)
    return found
