"""Dicts whose keys depend on the path, keys that are classes, and what is raised that is no exception."""

from __future__ import annotations

import numpy as np
import pytest

import jitflow
from jitflow.errors import UserNotImplementedError
from tests.truth.whole.same import assert_does_what_python_does


class Kind:
    """A class that is a key."""


def looks_up(x):
    found = {"a": 1.0} if x > 0 else {"b": 2.0, "c": x}
    return found["a"]


def looks_up_in_several(x):
    found = {"a": 1.0} if x > 0 else [5, 6]
    return found[0]


def raises_a_number(x):
    if x > 0:
        raise 5  # noqa: B016
    return x


def test_what_one_kind_lacks_is_raised_for_that_kind():
    for program in (looks_up, looks_up_in_several, raises_a_number):
        assert_does_what_python_does(program, [(1,), (-1,), (2,)])


def test_a_key_of_several_kinds_is_refused():
    with pytest.raises(UserNotImplementedError, match="several types"):
        jitflow.function(lambda x: {2.5 if x else None: 1})(True)


def test_keys_from_outside_are_the_very_objects():
    assert jitflow.function(lambda: {Kind: 1, (Kind, 2): 3})() == {Kind: 1, (Kind, 2): 3}
    (key,) = jitflow.function(lambda: {Kind})()
    assert key is Kind
    holder = type("Holder", (), {})()
    keyed = jitflow.function(lambda h: {h.kind: np.ones(1)})
    for kind in (Kind, int, Kind):
        holder.kind = kind
        assert [*keyed(holder)] == [kind]


def stores_under(d, key, other):
    d[key] = 1
    d[key, "of a tuple"] = 2
    return d[other]


def test_keys_that_are_passed_keep_their_types():
    for key in (2, True, np.int64(3), np.uint8(4), np.True_):
        for other in ("a", "missing"):
            known, expected = {"a": 5}, {"a": 5}
            for function, held in ((jitflow.function(stores_under), known), (stores_under, expected)):
                try:
                    function(held, key, other)
                except KeyError as error:
                    assert error.args == ("missing",)
            assert repr(known) == repr(expected)
