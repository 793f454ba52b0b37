"""Reads, guards and leaves: what matches a plan, and what reaches the slots."""

from __future__ import annotations

import builtins
import sys
from types import CellType, ModuleType
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.runtime.entry import plan as p
from jitflow.runtime.native import object_layout
from tests.runtime.conftest import Make
from tests.runtime.fakes import Missed, copy_array, copy_words, leaf_of, plan_of, vector_leaf


def matches(function: Any, *arguments: Any) -> bool:
    result = function(*arguments)
    assert result == "matched" or isinstance(result, Missed)
    return result == "matched"


# -- guards ----------------------------------------------------------------------------------------


def test_an_object_is_matched_by_identity(make: Make) -> None:
    first, second = [1], [1]
    function = make(plan_of("x", (p.IsObject(0, first),)))
    assert matches(function, first)
    assert not matches(function, second)


def test_a_type_is_matched_exactly(make: Make) -> None:
    class Derived(dict): ...

    function = make(plan_of("x", (p.IsType(0, dict),)))
    assert matches(function, {})
    assert not matches(function, Derived())


def test_a_length_is_matched_and_a_failing_len_does_not_match(make: Make) -> None:
    class Odd:
        def __len__(self) -> int:
            raise ValueError("no length")

    function = make(plan_of("x", (p.HasLength(0, 2),)))
    assert matches(function, (1, 2))
    assert matches(function, {"a": 1, "b": 2})
    assert not matches(function, [1])
    assert not matches(function, 7)
    assert not matches(function, Odd())


def test_keys_are_matched_in_order(make: Make) -> None:
    function = make(plan_of("x", (p.KeysAre(0, ("a", "b", 3)),)))
    assert matches(function, {"a": 1, "b": 2, 3: 0})
    assert matches(function, {"".join(["", "a"]): 1, "b": 2, 3: 0})
    assert not matches(function, {"b": 1, "a": 2, 3: 0})
    assert not matches(function, {"a": 1, "b": 2})
    assert not matches(function, {"a": 1, "b": 2, 3.0: 0})
    assert not matches(function, {"a": 1, "b": 2, 3: 0, 4: 0})
    assert not matches(function, [1, 2, 3])


@pytest.mark.parametrize(
    ("value", "same", "others"),
    [
        ("axis", "".join(["ax", "is"]), ["axes", b"axis", None]),
        (12345678901234567890, 12345678901234567890 + 0, [1, 1.0]),
        (0.0, 0.0, [-0.0, 0, np.float64(0)]),
        (float("nan"), float("nan"), [0.0]),
        (complex(1, -0.0), complex(1, -0.0), [complex(1, 0.0), 1.0]),
        (True, True, [1, False]),
        (None, None, [0]),
        ((1, 0.0), (1, 0.0), [(1, -0.0), (1, 0), (1,)]),
        (np.dtype("f4"), np.dtype("f4"), [np.dtype("f8")]),
        (slice(1, 2), slice(1, 2), [slice(1, 3)]),
    ],
)
def test_a_constant_is_matched_by_exact_type_and_value(make: Make, value: Any, same: Any, others: list[Any]) -> None:
    function = make(plan_of("x", (p.EqualsConstant(0, value, type(value)),)))
    assert matches(function, same)
    for other in others:
        assert not matches(function, other), other


def test_a_function_is_matched_by_code_defaults_and_cells(make: Make) -> None:
    def define(cell_value: int, default: Any, keyword_default: Any) -> Any:
        def helper(x: int, y: Any = default, *, z: Any = keyword_default) -> Any:
            return x, y, z, cell_value

        return helper

    shared = object()
    helper = define(1, shared, shared)
    guard = p.FunctionIs(0, helper.__code__, (shared,), (("z", shared),), helper.__closure__)
    function = make(plan_of("f", (guard,)))
    assert matches(function, helper)
    assert not matches(function, define(1, shared, shared))  # another cell
    assert not matches(function, len)
    helper.__kwdefaults__["z"] = None
    assert not matches(function, helper)
    helper.__kwdefaults__ = {"z": shared}
    assert matches(function, helper)
    helper.__defaults__ = (None,)
    assert not matches(function, helper)


def test_a_plain_function_may_be_defined_anew(make: Make) -> None:
    def define() -> Any:
        def helper(x: int = 3) -> int:
            return x

        return helper

    helper = define()
    function = make(plan_of("f", (p.FunctionIs(0, helper.__code__, helper.__defaults__),)))
    assert matches(function, helper)
    assert matches(function, define())
    assert not matches(function, lambda x=3: x)


# -- reads -----------------------------------------------------------------------------------------


def test_a_global_is_read_at_each_call_and_hides_a_builtin(make: Make) -> None:
    namespace: dict[str, Any] = {"__builtins__": builtins}
    function = make(plan_of("", (p.IsObject(0, abs),), reads=(p.Global(namespace, "abs"),)))
    assert matches(function)
    namespace["abs"] = max
    assert not matches(function)
    del namespace["abs"]
    assert matches(function)
    missing = make(plan_of("", (p.IsType(0, int),), reads=(p.Global(namespace, "no_such_name"),)))
    assert not matches(missing)


@pytest.mark.parametrize("has_versions", [True, False])
def test_names_are_looked_up_when_their_namespace_has_changed(
    make: Make, monkeypatch: pytest.MonkeyPatch, has_versions: bool
) -> None:
    if not has_versions:
        monkeypatch.setattr(object_layout, "dicts_have_versions", lambda: False)
    known: dict[str, Any] = {"len": len}
    module = ModuleType("module")
    module.member, module.__builtins__ = np.sin, known
    reads = (p.Global(vars(module), "member"), p.Global(vars(module), "len"), p.Attribute(0, "nargs"))
    checks = (p.IsObject(0, np.sin), p.EqualsConstant(2, 2, int), p.IsObject(1, len))
    function = make(plan_of("", checks, reads=reads))
    for _ in range(3):
        assert matches(function)
    for _ in range(30):  # often enough for Python to specialise what stores
        module.member = np.cos
        assert not matches(function)
        module.member = np.sin
        assert matches(function)
        del module.member
        assert not matches(function)
        vars(module).update({f"name_{number}": number for number in range(100)}, member=np.sin)
        assert matches(function)
        known["len"] = max
        assert not matches(function)
        module.len = len
        assert matches(function)
        vars(module).clear()
        assert not matches(function)
        known["len"], module.member, module.__builtins__ = len, np.sin, known
        assert matches(function)


def test_a_cell_is_read_at_each_call_and_may_be_empty(make: Make) -> None:
    cell = CellType("first")
    function = make(plan_of("", (p.EqualsConstant(0, "first", str),), reads=(p.Cell(cell),)))
    assert matches(function)
    cell.cell_contents = "second"
    assert not matches(function)
    del cell.cell_contents
    assert not matches(function)


def test_items_are_read_from_tuples_lists_and_dicts(make: Make) -> None:
    checks = (
        p.IsType(0, tuple),
        p.HasLength(0, 2),
        p.IsType(1, list),
        p.HasLength(1, 1),
        p.IsType(2, dict),
        p.EqualsConstant(3, 5, int),
    )
    reads = (p.Item(0, 1), p.Item(1, 0), p.Item(2, "k"))
    function = make(plan_of("x", checks, reads=reads))
    assert matches(function, (0, [{"k": 5}]))
    assert not matches(function, (0, [{"k": 6}]))
    assert not matches(function, (0, [{"j": 5}]))
    assert not matches(function, (0, []))
    assert not matches(function, (0, ({"k": 5},)))


def test_an_attribute_is_read_and_its_errors_mean_no_match(make: Make) -> None:
    class Settings:
        mode: Any = "fast"

        @property
        def broken(self) -> int:
            raise ValueError("broken")

        @property
        def interrupted(self) -> int:
            raise KeyboardInterrupt

    function = make(plan_of("x", (p.EqualsConstant(1, "fast", str),), reads=(p.Attribute(0, "mode"),)))
    settings = Settings()
    assert matches(function, settings)
    settings.mode = "slow"
    assert not matches(function, settings)
    assert not matches(function, 3)
    broken = make(plan_of("x", (p.IsType(1, int),), reads=(p.Attribute(0, "broken"),)))
    assert not matches(broken, settings)
    interrupted = make(plan_of("x", (p.IsType(1, int),), reads=(p.Attribute(0, "interrupted"),)))
    with pytest.raises(KeyboardInterrupt):
        interrupted(settings)


def test_reading_leaks_no_reference(make: Make) -> None:
    value, cell = object(), CellType()
    cell.cell_contents = value
    namespace = {"name": value}
    holder = type("Holder", (), {})()
    holder.name = value
    reads = (p.Cell(cell), p.Global(namespace, "name"), p.Attribute(0, "name"), p.Item(1, 0), p.Item(2, "k"))
    same = tuple(p.IsObject(register, value) for register in (3, 4, 5, 6, 7))
    checks = (p.IsType(1, list), p.KeysAre(2, ("k",)), *same)
    function = make(plan_of("holder items mapping", checks, reads=reads))
    arguments = (holder, [value], {"k": value})
    assert matches(function, *arguments)
    before = sys.getrefcount(value)
    for _ in range(1000):
        function(*arguments)
        function(holder, [value], {"k": None})  # fails at the last check
        function(holder, [None], {"k": value})
    assert sys.getrefcount(value) == before


# -- arrays ----------------------------------------------------------------------------------------


def arrays() -> dict[str, np.ndarray[Any, Any]]:
    base = np.arange(60, dtype="f4").reshape(3, 4, 5)
    return {
        "C": base,
        "F": np.asfortranarray(base),
        "unit": base[:, 1:],
        "unit reversed": base[::-1],
        "general": base[:, :, ::2],
        "transposed": base.transpose(1, 0, 2)[:, :, ::-1],
        "vector": base[0, 0],
        "strided vector": base[0, :, 0],
        "one element": base[0, 0, :1],
        "one strided element": base[::3, 0, 0],
        "empty": base[:0],
        "empty strided": base[:, :, ::2][:, :0],
        "scalar": np.array(3, "f4"),
        "row": base[:1, :, :],
        "column": np.zeros((7, 1), "f4"),
        "double": base.astype("f8"),
        "bool": base > 3,
        "bytes": base.astype("u1"),
        "signed bytes": base.astype("i1"),
        "wide": base.astype("i8"),
        "half": base.astype("f2"),
        "complex": base.astype("c16"),
        "broadcast": np.broadcast_to(np.float32(3), (3, 4, 5)),
    }


@pytest.mark.parametrize("name", list(arrays()))
def test_an_array_matches_the_leaves_of_its_class_alone(make: Make, name: str) -> None:
    pool = arrays()
    wanted = leaf_of(pool[name])
    function = make(plan_of("x", (wanted,)))
    for other in pool.values():
        leaf = leaf_of(other)
        key, expected = ((it.dtype, it.rank, it.layout, it.ones) for it in (leaf, wanted))
        assert matches(function, other) == (key == expected)


def test_only_plain_arrays_match(make: Make) -> None:
    class Derived(np.ndarray[Any, Any]): ...

    array = np.arange(6, dtype="f4")
    function = make(plan_of("x", (vector_leaf(0, 0),)))
    assert matches(function, array)
    assert not matches(function, array.view(Derived))
    assert not matches(function, array.astype(">f4"))
    assert not matches(function, [1.0, 2.0])
    assert not matches(function, np.float32(1))
    unaligned = np.frombuffer(bytearray(25), "f4", 6, 1)
    assert not matches(function, unaligned)
    assert matches(function, array.astype(np.dtype("f4", metadata={"unit": "m"})))


def test_long_long_is_the_same_as_long_where_their_sizes_are(make: Make) -> None:
    function = make(plan_of("x", (vector_leaf(0, 0, "i64"),)))
    assert matches(function, np.arange(4, dtype=np.longlong))
    assert matches(function, np.arange(4, dtype="q"))
    assert not matches(function, np.arange(4, dtype="u8"))


def test_a_written_array_must_be_writeable(make: Make) -> None:
    array = np.arange(6, dtype="f4")
    function = make(plan_of("x", (vector_leaf(0, 0, writeable=True),)))
    reader = make(plan_of("x", (vector_leaf(0, 0),)))
    assert matches(function, array)
    array.flags.writeable = False
    assert not matches(function, array)
    assert matches(reader, array)


def test_the_slots_of_an_array_are_data_dims_and_strides(make: Make) -> None:
    array = np.arange(60, dtype="i2").reshape(3, 4, 5)[:, 1:, ::2]
    leaf = p.ArrayLeaf(0, "i16", 3, "general", False, (False,) * 3, 2)
    results = p.TupleOf(tuple(p.PythonScalar(slot, "i64") for slot in range(7)))
    function = make(plan_of("x", (leaf,), results), copy_words(2, 0, 7))
    assert function(array) == (array.ctypes.data, *array.shape, *array.strides)


# -- scalars ---------------------------------------------------------------------------------------

LIMIT = 2**63


@pytest.mark.parametrize(
    ("dtype", "kind", "values", "others"),
    [
        ("f64", "python", [0.5, -0.0, float("inf")], [1, np.float64(1), True]),
        ("i64", "python", [0, -1, LIMIT - 1, -LIMIT], [LIMIT, -LIMIT - 1, True, 1.0, np.int64(1)]),
        ("bool", "python", [True, False], [0, np.True_]),
        ("c128", "python", [1 - 2j], [1.0, np.complex128(1)]),
        ("bool", "numpy", [np.True_, np.False_], [True]),
        ("i8", "numpy", [np.int8(-128), np.int8(127)], [np.int16(1), 1]),
        ("i16", "numpy", [np.int16(-3)], [np.uint16(3)]),
        ("i32", "numpy", [np.int32(-3)], [np.int64(3)]),
        ("i64", "numpy", [np.int64(-3), np.longlong(-4)], [3, np.uint64(1)]),
        ("u8", "numpy", [np.uint8(255)], [np.int8(1)]),
        ("u64", "numpy", [np.uint64(2**64 - 1)], [np.int64(1)]),
        ("f16", "numpy", [np.float16(-1.5)], [np.float32(1)]),
        ("f32", "numpy", [np.float32(-1.5)], [1.5, np.float64(1)]),
        ("f64", "numpy", [np.float64(-1.5)], [1.5]),
        ("c64", "numpy", [np.complex64(1 - 2j)], [np.complex128(1)]),
        ("c128", "numpy", [np.complex128(1 - 2j)], [1j]),
    ],
)
def test_scalars_match_by_exact_type_and_keep_their_bits(
    make: Make, dtype: str, kind: str, values: list[Any], others: list[Any]
) -> None:
    leaf = p.ScalarLeaf(0, dtype, kind, 0)  # type: ignore[arg-type]
    result = p.PythonScalar(0, dtype) if kind == "python" else p.NumpyScalar(0, dtype)
    function = make(plan_of("x", (leaf,), result), copy_words(0, 0, 2))
    for value in values:
        found = function(value)
        canonical = np.int64 if type(value) is np.longlong else type(value)
        assert type(found) is canonical
        assert np.array(found).tobytes() == np.array(value).tobytes()
    for other in others:
        assert isinstance(function(other), Missed), other


def test_brain_floats_pass(make: Make) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    function = make(plan_of("x", (p.ScalarLeaf(0, "bf16", "numpy", 0),), p.NumpyScalar(0, "bf16")), copy_words(0, 0))
    value = ml_dtypes.bfloat16(1.5)
    assert function(value) == value
    assert type(function(value)) is ml_dtypes.bfloat16
    array = np.arange(5).astype(ml_dtypes.bfloat16)
    echo = make(plan_of("x", (vector_leaf(0, 0, "bf16"),), p.NewArray(0, "bf16", 1)), copy_array(0, 0, 1, 2))
    assert (echo(array) == array).all()
    assert echo(array).dtype == array.dtype


def test_small_integers_are_extended_to_the_whole_slot(make: Make) -> None:
    for value, expected in ((np.int8(-1), -1), (np.uint8(255), 255), (np.int32(-7), -7), (np.True_, 1)):
        dtype = {"int8": "i8", "uint8": "u8", "int32": "i32", "bool": "bool"}[value.dtype.name]
        leaf = p.ScalarLeaf(0, dtype, "numpy", 0)
        function = make(plan_of("x", (leaf,), p.PythonScalar(0, "i64")), copy_words(0, 0))
        assert function(value) == expected


def test_the_modules_guard_has_the_last_word(make: Make) -> None:
    def longer_than_three(function: Any) -> None:
        long = function.let(f"icmp sgt i64 {function.load('i64', '%arguments', 8)}, 3")
        function.give("i32", function.let(f"zext i1 {long} to i32"))

    function = make(plan_of("x", (vector_leaf(0, 0),)), guard=longer_than_three)
    assert matches(function, np.zeros(4, "f4"))
    assert not matches(function, np.zeros(3, "f4"))


def test_what_fails_for_read_only_arrays_is_compiled_for_them_alone() -> None:
    @jitflow.function
    def mark(x, count):
        for place in range(count):
            x[place] = 1.0
        return x.sum()

    closed = np.zeros(3)
    closed.flags.writeable = False
    for _ in range(2):
        assert mark(np.zeros(3), 2) == 2
        with pytest.raises(ValueError, match="assignment destination is read-only"):
            mark(closed, 2)
