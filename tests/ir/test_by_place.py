"""Entries by the storage that they have to do with."""

from __future__ import annotations

from jitflow.ir.by_place import ByPlace
from jitflow.ir.core import Value
from jitflow.ir.dtypes import F64
from jitflow.ir.effects import ANYTHING
from jitflow.ir.types import Variable

ONE, OTHER = (Value(Variable(F64, (3,)), name) for name in ("one", "other"))


def test_what_meets_is_found_and_what_may_be_anywhere() -> None:
    entries = ByPlace[str]()
    entries.add("of one", frozenset({ONE}))
    entries.add("of both", frozenset({ONE, OTHER}))
    entries.add("anywhere", frozenset({ANYTHING}))
    entries.add("nowhere", frozenset())
    assert entries.meeting(frozenset({OTHER})) == ["of both", "anywhere"]
    assert entries.meeting(frozenset({ONE})) == ["of one", "of both", "anywhere"]
    assert entries.meeting(frozenset()) == ["anywhere"]
    assert entries.meeting(frozenset({ANYTHING})) == ["of one", "of both", "anywhere", "nowhere"]


def test_a_copy_changes_by_itself() -> None:
    entries = ByPlace[str]()
    entries.add("of one", frozenset({ONE}))
    other = entries.copy()
    other.discard("of one")
    other.discard("of one")  # which is not there any more
    assert "of one" in entries
    assert not len(other)
    entries.add("of one", frozenset({OTHER}))
    assert entries.meeting(frozenset({ONE})) == []
    assert list(entries) == entries.meeting(frozenset({OTHER})) == ["of one"]
