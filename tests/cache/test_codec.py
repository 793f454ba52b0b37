"""Plans as data: every record that a plan may consist of is written and read again, or refused by name."""

from __future__ import annotations

import dataclasses
import json
import math
from functools import partial
from typing import Any

import numpy as np
import pytest

from jitflow.cache import binding, plans
from jitflow.cache.codec import Damaged, Unstorable, pack, unpack
from jitflow.cache.content import Incomparable, content_of
from jitflow.errors import ExceptionName
from jitflow.ir.dtypes import BF16, F32
from jitflow.ir.types import Container, Scalar
from jitflow.runtime.entry import plan as p
from jitflow.runtime.entry import plan_results as r
from jitflow.runtime.objects.stores import numbers_in

RECORDS = sorted(
    {
        one
        for module in (p, r)
        for one in vars(module).values()
        if isinstance(one, type) and dataclasses.is_dataclass(one)
    },
    key=lambda one: one.__name__,
)
OF_IDENTITIES = {
    p.Global,
    p.Cell,
    p.Made,
    p.IsObject,
    p.IsType,
    p.EqualsConstant,
    p.KeysAre,
    p.Satisfies,
    p.FunctionIs,
    p.Plan,
}
"""Records with objects of the process, which `cache/plans.py` writes and binds."""
FIELDS: dict[str, Any] = {
    "int": 3, "str": "f64", "bool": True, "Any": "key", "Layout": "C", "tuple[bool | None, ...]": (True, False, None),
    "tuple[Any, ...]": ("a", 1), "Literal['python', 'numpy']": "numpy", "tuple[str, ...] | None": ("a",),
    "tuple[Result, ...]": (r.SameObject(1), r.NewArray(0, "f64", 2)), "Callable[..., Any]": numbers_in,
    "ViewOfArgument | ViewOfResult | SameResult | Remade": r.SameResult(2), "Callable[..., Any] | str": "real",
    "tuple[PythonScalar, ...]": (r.PythonScalar(3, "i64"),),
    "Container | ViewOfArgument | ViewOfResult | Remade | OneOf": r.TupleOf((r.SameObject(0),)),
    "tuple[tuple[int, Option], ...]": ((0, r.SameObject(1)), (1, r.ConstantObject(None))),
}  # fmt: skip


def equal(one: Any, other: Any) -> bool:
    """Whether two records are the same, field by field: they compare by identity."""
    if dataclasses.is_dataclass(one):
        return type(one) is type(other) and all(
            equal(getattr(one, field.name), getattr(other, field.name)) for field in dataclasses.fields(one)
        )
    if isinstance(one, tuple):
        return type(other) is tuple and len(one) == len(other) and all(map(equal, one, other))
    return type(one) is type(other) and bool(one == other)


@pytest.mark.parametrize("kind", [kind for kind in RECORDS if kind not in OF_IDENTITIES])
def test_records(kind: Any) -> None:
    record = kind(**{field.name: FIELDS[str(field.type)] for field in dataclasses.fields(kind)})
    data = pack(record)
    assert equal(unpack(json.loads(json.dumps(data))), record)


def test_every_record_is_known() -> None:
    bound = {*binding.BOUND, "Global", "Cell", "Made", "Plan"}
    assert bound == {kind.__name__ for kind in OF_IDENTITIES}
    written = plans.PlanWriter.plan.__code__.co_consts
    names = {name for names in written if isinstance(names, tuple) for name in names}
    assert {field.name for field in dataclasses.fields(p.Plan)} - {"gpus", "wanted", "made"} <= names


VALUES = [
    None, True, False, 0, -1, 1 << 200, 0.0, -0.0, math.inf, 1e-310, 1 - 0j, complex(math.inf, -0.0), "", "\ud800", b"",
    b"\0\xff", (), (1, (2.0,)), [1, [2]], {"a": (1,), 2: None}, slice(1, None, -1), range(3, 10, 2), ...,
    NotImplemented,
    np.float32(1.5), np.int8(-3), np.bool_(True), np.complex64(1 + 2j), np.dtype("f4"), F32, BF16, int,
    np.ndarray, len, Scalar(F32), Container(item=Scalar(F32)),
]  # fmt: skip


def _kind(thing: object) -> str:
    """What a test is called: the same in all processes."""
    return type(thing).__name__


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values(value: Any) -> None:
    again = unpack(json.loads(json.dumps(pack(value))))
    assert type(again) is type(value)
    assert repr(again) == repr(value)


def test_arrays_functions_and_errors() -> None:
    array = np.arange(6, dtype=np.int16).reshape(2, 3)
    again = unpack(json.loads(json.dumps(pack(array))))
    assert again.dtype == array.dtype
    assert again.tolist() == array.tolist()
    assert again.flags.writeable
    function = unpack(pack(partial(numbers_in, float)))
    assert (function.func, function.args) == (numbers_in, (float,))
    assert unpack(pack(ExceptionName.of(KeyError))) == "KeyError"


class Own:
    """A class of the user's."""


@pytest.mark.parametrize(
    "value", [object(), Own, Own(), lambda: 0, print, json.dumps, np.array([None]), {1, 2}], ids=_kind
)
def test_what_no_file_holds(value: Any) -> None:
    with pytest.raises(Unstorable):
        pack(value)


@pytest.mark.parametrize(
    "data",
    [1.5, [], [1], ["none"], ["named", "os", "system"], ["named", "builtins", "eval"],
     ["named", "jitflow.config", "os"], ["record", "Plan"], ["record", "NewArray", 1], ["outside", 1],
     ["float"], ["array", "O", [1], ""], ["dtype", "?!"], ["jitflow dtype", "f7"], ["number", "f8", "AA=="],
     ["exception", 3], ["single", "more"]],
    ids=repr,
)  # fmt: skip
def test_data_that_makes_no_sense(data: Any) -> None:
    with pytest.raises((Damaged, LookupError, ValueError, TypeError)):
        unpack(data)


DIFFERENT = [
    None, 0, False, 0.0, -0.0, 0j, "", b"", (), (0,), ((),), [], {}, "0", b"0", (0, 0), ("ab",), ("a", "b"), 1, True,
    1.0, np.float64(1), np.float32(1), np.int64(1), np.int32(1), np.dtype("f4"), np.dtype("i4"), np.sin, np.cos,
    math.sin, math, np, np.sum, len, int, float, np.float64, slice(1), range(1), range(0, 1, 2), ..., Own,
    frozenset({1}),
    frozenset(), np.mgrid, np.ogrid, dict.get, list.append,
]  # fmt: skip


def test_contents_tell_objects_apart() -> None:
    contents = [content_of(one) for one in DIFFERENT]
    assert len({*contents}) == len(contents)
    assert contents == [content_of(one) for one in DIFFERENT]


@pytest.mark.parametrize(
    "thing", [object(), Own(), np.zeros(3), frozenset(["a", "b"]), iter([]), np.frompyfunc(abs, 1, 1)], ids=_kind
)
def test_what_has_no_content(thing: Any) -> None:
    with pytest.raises(Incomparable):
        content_of(thing)


def test_objects_that_contain_themselves_or_each_other_many_times() -> None:
    itself: list[Any] = []
    itself.append(itself)
    assert content_of(itself) == content_of(itself)
    many: Any = ()
    for _ in range(60):
        many = (many, many)
    with pytest.raises(Incomparable):
        content_of(many)
