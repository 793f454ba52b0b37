"""The check of object layouts, and the entry path that it decides."""

from __future__ import annotations

import sys
import sysconfig
from typing import Any

import numpy as np
import pytest

from jitflow.runtime.entry import dispatcher
from jitflow.runtime.entry import plan as p
from jitflow.runtime.entry.entry_constants import EntryConstants
from jitflow.runtime.entry.entry_native import emit_entry
from jitflow.runtime.native import object_layout
from tests.runtime.fakes import MULTIPLY_ADD, Methods, plan_of, vector_leaf

OFFSETS = [
    name for name in vars(object_layout) if name.startswith(("ARRAY_", "DTYPE_", "TUPLE_", "FIRST_")) or name == "VALUE"
]


@pytest.fixture(autouse=True)
def forget_the_answers() -> Any:
    answers = object_layout.layout_is_known, object_layout.dicts_have_versions
    for answer in answers:
        answer.cache_clear()
    yield
    for answer in answers:
        answer.cache_clear()


def test_this_interpreter_is_known() -> None:
    expected = sys.implementation.name == "cpython" and not sysconfig.get_config_var("Py_GIL_DISABLED")
    assert object_layout.layout_is_known() == expected


@pytest.mark.parametrize("name", OFFSETS)
def test_a_field_elsewhere_is_noticed(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(object_layout, name, getattr(object_layout, name) - 8)
    assert not object_layout.layout_is_known()


@pytest.mark.parametrize("offset", [-8, 8, 16])
def test_a_version_elsewhere_is_noticed(monkeypatch: pytest.MonkeyPatch, offset: int) -> None:
    assert object_layout.dicts_have_versions() == (sys.version_info < (3, 14))
    object_layout.dicts_have_versions.cache_clear()
    monkeypatch.setattr(object_layout, "DICT_VERSION", object_layout.DICT_VERSION + offset)
    assert not object_layout.dicts_have_versions()


def test_an_unknown_layout_takes_the_python_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_layout, "ARRAY_DATA", object_layout.ARRAY_STRIDES)
    assert not dispatcher.uses_native_entry()
    function_type = dispatcher.make_function_type(Methods)
    assert "__call__" in vars(function_type)


def test_an_entry_has_no_address_and_its_text_is_reproducible() -> None:
    first, second = emit_entry(MULTIPLY_ADD, "entry_f"), emit_entry(MULTIPLY_ADD, "entry_f")
    assert first.text == second.text
    assert first.constants.things == second.constants.things
    assert first.text.startswith("define ptr @entry_f(")
    assert all(str(id(thing)) not in first.text for thing in (np.ndarray, *first.constants.things))


def test_the_same_plan_over_objects_that_are_one_or_two_is_told_apart() -> None:
    one, other = object(), object()
    plans = [
        plan_of("x y", (p.IsObject(0, first), p.IsObject(1, second)))
        for first, second in ((one, one), (one, other), (other, one))
    ]
    same, different, turned = (EntryConstants(plan).arrangement for plan in plans)
    assert same != different == turned
    assert EntryConstants(plans[1]).things[-3:-1] == (one, other)


def test_an_item_of_an_unchecked_container_is_a_mistake_in_the_plan() -> None:
    plan = plan_of("x", (vector_leaf(1, 0),), reads=(p.Item(0, 0),))
    with pytest.raises(ValueError, match="before a guard fixed the type"):
        emit_entry(plan)
