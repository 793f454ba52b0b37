"""`jitflow.save` and `restore`: names, values, what is refused, and whose fault it is."""

from __future__ import annotations

import errno
import json
import os
import threading
from collections import namedtuple
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import safetensors.numpy

import jitflow
from jitflow.checkpoints.files import DamagedFileError
from jitflow.errors import UserKeyError, UserNotImplementedError, UserTypeError, UserValueError
from jitflow.random import Generator
from jitflow.runtime.snapshots import snapshot
from jitflow.structure import named_variables

Pair = namedtuple("Pair", "left right")
DTYPES = [np.bool_, np.int8, np.int64, np.uint16, np.uint64, np.float16, ml_dtypes.bfloat16, np.float32, np.float64,
          np.complex64, np.complex128]  # fmt: skip


@dataclass
class Layer:
    weight: Any
    bias: Any = None
    name: str = "layer"


class Slotted:
    __slots__ = ("first", "second", "unset")

    def __init__(self, first: Any, second: Any) -> None:
        self.first, self.second = first, second


@dataclass
class Model:
    layers: list[Layer]
    heads: dict[str, Any] = field(default_factory=dict)
    parent: Any = None
    table: Any = field(default_factory=lambda: np.zeros(1000))


def variable(*values: float) -> Any:
    return jitflow.Variable(np.array(values, np.float32))


def model(scale: float = 1.0) -> Model:
    layers = [Layer(variable(scale, 2 * scale), variable(3 * scale)), Layer(variable(4 * scale))]
    return Model(layers, {"digits": variable(5 * scale)})


def values(objects: Any) -> dict[str, Any]:
    found = named_variables(objects)
    return {name: value.tolist() for name, value in zip(found, snapshot(list(found.values())), strict=True)}


# -- names ------------------------------------------------------------------------------------------------


def test_names_are_paths() -> None:
    found = model()
    found.parent = found  # a circle
    found.heads["again"] = found.layers[0].weight  # another path to the same variable
    objects = {"model": found, "pair": Pair(variable(1), Slotted(variable(2), variable(3))), "seeds": (Generator(1),)}
    assert list(named_variables(objects)) == [
        "model.layers.0.weight", "model.layers.0.bias", "model.layers.1.weight", "model.heads.digits", "pair.left",
        "pair.right.first", "pair.right.second", "seeds.0.state",
    ]  # fmt: skip


def test_a_variable_alone_has_its_own_name() -> None:
    assert list(named_variables(variable(1))) == ["variable"]
    assert list(named_variables(jitflow.Variable(1.0, name="w"))) == ["w"]
    assert list(named_variables(Generator(1))) == ["state"]


def test_names_that_meet_are_refused() -> None:
    with pytest.raises(UserValueError, match=r"two variables have the name 'a\.b'"):
        named_variables({"a.b": variable(1), "a": {"b": variable(2)}})


def test_objects_without_variables_are_refused() -> None:
    with pytest.raises(UserValueError, match="there are no variables in these objects"):
        named_variables({"lock": threading.Lock(), "array": np.zeros(3), "module": os, "kind": Layer})


def test_structures_may_be_deep() -> None:
    chain: Any = variable(1)
    for _ in range(5000):
        chain = [chain]
    assert len(named_variables(chain)) == 1


# -- there and back ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(), (3,), (0, 2), (2, 3, 4)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_comes_back(dtype: Any, shape: tuple[int, ...], tmp_path: Path) -> None:
    value = (np.arange(np.prod(shape)).reshape(shape) * (1 + 2j if np.dtype(dtype).kind == "c" else 1)).astype(dtype)
    saved, other = jitflow.Variable(value), jitflow.Variable(np.ones(shape, dtype))
    jitflow.save(tmp_path / "x.safetensors", {"w": saved})
    jitflow.restore(tmp_path / "x.safetensors", {"w": other})
    np.testing.assert_array_equal(other.numpy(), value)


def test_a_structure_comes_back(tmp_path: Path) -> None:
    path, rng, other = tmp_path / "model.safetensors", Generator(1), Generator(2)
    jitflow.save(path, {"model": model(), "rng": rng}, metadata={"step": 3, "words": ["ü"]})
    fresh = model(0.0)
    restored = jitflow.restore(path, {"model": fresh, "rng": other})
    assert values(fresh) == values(model())
    np.testing.assert_array_equal(rng.random(5), other.random(5))
    assert restored.metadata == {"step": 3, "words": ["ü"]}
    assert restored.names == tuple(named_variables({"model": fresh, "rng": other}))
    assert (restored.missing, restored.unused) == ((), ())
    assert os.listdir(tmp_path) == ["model.safetensors"]


def test_compiled_functions_see_what_was_restored(tmp_path: Path) -> None:
    w = variable(1, 2)

    @jitflow.function
    def double() -> Any:
        w[...] *= 2
        return w.sum()

    jitflow.save(tmp_path / "w", w)
    assert double() == 6
    jitflow.restore(tmp_path / "w", w)
    assert double() == 6
    assert double.cache_info().misses == 1


def test_the_library_reads_our_files_and_we_read_the_librarys(tmp_path: Path) -> None:
    jitflow.save(tmp_path / "ours", model())
    found = safetensors.numpy.load_file(tmp_path / "ours")
    np.testing.assert_array_equal(found["layers.0.weight"], np.array([1, 2], np.float32))
    safetensors.numpy.save_file({name: array * 2 for name, array in found.items()}, tmp_path / "theirs")
    fresh = model(0.0)
    assert jitflow.restore(tmp_path / "theirs", fresh).metadata == {}
    assert values(fresh) == values(model(2.0))


# -- parts ------------------------------------------------------------------------------------------------


def test_names_choose_what_is_restored(tmp_path: Path) -> None:
    path, fresh = tmp_path / "model", model(0.0)
    jitflow.save(path, model())
    restored = jitflow.restore(path, fresh, names=["layers.0.*", "heads.digits"])
    assert restored.names == ("layers.0.weight", "layers.0.bias", "heads.digits")
    assert restored.unused == ("layers.1.weight",)
    assert values(fresh) == {**values(model()), "layers.1.weight": [0.0]}
    with pytest.raises(UserKeyError, match="no variable of the objects has a name like 'encoder"):
        jitflow.restore(path, fresh, names="encoder.*")


def test_a_part_that_the_file_lacks_is_an_error(tmp_path: Path) -> None:
    jitflow.save(tmp_path / "model", model())
    fresh = model(0.0)
    fresh.heads["words"] = variable(0)
    with pytest.raises(UserKeyError, match=r"only the objects have 'heads\.words'"):
        jitflow.restore(tmp_path / "model", fresh, names=["layers.*", "heads.*"])
    assert all(value == 0 for value in np.concatenate(list(values(fresh).values())))


def test_names_that_differ(tmp_path: Path) -> None:
    jitflow.save(tmp_path / "model", model())
    fresh = model(0.0)
    fresh.heads = {"words": variable(7)}
    with pytest.raises(UserKeyError, match=r"only the objects have 'heads\.words'; only the file has 'heads\.digits'"):
        jitflow.restore(tmp_path / "model", fresh)
    assert values(fresh)["layers.1.weight"] == [0.0]
    restored = jitflow.restore(tmp_path / "model", fresh, strict=False)
    assert (restored.missing, restored.unused) == (("heads.words",), ("heads.digits",))
    assert values(fresh)["layers.1.weight"] == [4.0]
    assert values(fresh)["heads.words"] == [7.0]
    with pytest.raises(UserKeyError, match="holds other names"):  # nothing at all in common is a mistake
        jitflow.restore(tmp_path / "model", {"x": variable(1)}, strict=False)


@pytest.mark.parametrize(
    ("other", "error", "message"),
    [
        (variable(1, 2), UserValueError, r"the tensor 'b' of .* has shape \(1,\), its variable \(2,\)"),
        (jitflow.Variable([1.0]), UserTypeError, "the tensor 'b' of .* is float32, its variable float64"),
    ],
)
def test_another_kind_of_tensor_is_an_error_and_changes_nothing(
    other: Any, error: Any, message: str, tmp_path: Path
) -> None:
    jitflow.save(tmp_path / "x", {"a": variable(1), "b": variable(2)})
    first = variable(0)
    with pytest.raises(error, match=message):
        jitflow.restore(tmp_path / "x", {"a": first, "b": other})
    assert first.numpy() == 0


# -- damage -----------------------------------------------------------------------------------------------


def saved(folder: Path) -> tuple[Path, dict[str, Any]]:
    path, objects = folder / "x", {"a": jitflow.Variable(np.ones(100)), "b": jitflow.Variable(np.ones(100))}
    jitflow.save(path, objects, metadata={"step": 12345})
    return path, objects


def test_a_byte_that_changed_is_found_by_its_tensor(tmp_path: Path) -> None:
    path, objects = saved(tmp_path)
    whole = bytearray(path.read_bytes())
    whole[-5] ^= 1
    path.write_bytes(whole)
    for one in objects.values():
        one.assign(7)
    with pytest.raises(DamagedFileError, match=r"is damaged: the tensor 'b' is not what was written"):
        jitflow.restore(path, objects)
    assert objects["a"].numpy()[0] == 7
    jitflow.restore(path, objects, names="a")  # the other one is whole
    assert objects["a"].numpy()[0] == 1


def test_wherever_a_file_is_cut_it_is_an_error(tmp_path: Path) -> None:
    path, objects = saved(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-801])
    with pytest.raises(DamagedFileError, match="it ends within the tensor 'a'"):
        jitflow.restore(path, objects)
    for length in (*range(0, len(whole), 97), len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(DamagedFileError):
            jitflow.restore(path, objects)


def test_no_byte_of_a_file_changes_unnoticed(tmp_path: Path) -> None:
    path, objects = saved(tmp_path)
    whole = path.read_bytes()
    for position in range(0, len(whole), 7):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 0x20]) + whole[position + 1 :])
        try:
            restored = jitflow.restore(path, objects)
        except (UserValueError, UserKeyError, UserTypeError):
            continue
        assert restored.metadata == {"step": 12345}  # such as another kind of space in the header
        assert objects["a"].numpy().tolist() == objects["b"].numpy().tolist() == [1.0] * 100


def test_other_files(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("these are not tensors, but some words")
    with pytest.raises(DamagedFileError, match="or it is no safetensors file"):
        jitflow.restore(tmp_path / "text", variable(1))
    with pytest.raises(FileNotFoundError):
        jitflow.restore(tmp_path / "none", variable(1))


def test_a_later_format(tmp_path: Path) -> None:
    metadata = {"jitflow": json.dumps({"format": "2"})}
    safetensors.numpy.save_file({"variable": np.zeros(1, np.float32)}, tmp_path / "x", metadata=metadata)
    with pytest.raises(UserValueError, match="is of format 2, and this version reads format 1"):
        jitflow.restore(tmp_path / "x", variable(1))


# -- what fails leaves the old file -----------------------------------------------------------------------


def test_metadata_are_json(tmp_path: Path) -> None:
    path, objects = saved(tmp_path)
    before = path.read_bytes()
    with pytest.raises(UserValueError, match="the metadata cannot be written as JSON"):
        jitflow.save(path, objects, metadata={"x": object()})
    assert path.read_bytes() == before


def test_a_disk_that_fails_leaves_the_file_that_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, objects = saved(tmp_path)
    before = path.read_bytes()

    def full(*arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    objects["a"].assign(2)
    with pytest.raises(OSError, match="No space left"):
        jitflow.save(path, objects)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["x"]


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        jitflow.save(tmp_path / "none" / "x", variable(1))


def test_compiled_functions_do_not_save(tmp_path: Path) -> None:
    w, path = variable(1), tmp_path / "x"
    with pytest.raises(UserNotImplementedError, match="would be written or read once, while tracing"):
        jitflow.function(lambda: jitflow.save("x", {"w": w}))()
    assert not path.exists()


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    w = jitflow.Variable(np.zeros(2))
    jitflow.save(tmp_path / "first", {"w": w})
    (tmp_path / "latest").symlink_to(tmp_path / "first")
    w.assign(1.0)
    jitflow.save(tmp_path / "latest", {"w": w})
    assert (tmp_path / "latest").is_symlink()
    w.assign(0.0)
    jitflow.restore(tmp_path / "first", {"w": w})
    assert w.numpy().tolist() == [1, 1]


def test_what_is_no_regular_file_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="pipe"):
        jitflow.save(tmp_path / "pipe", {"w": jitflow.Variable(1.0)})
    with pytest.raises(IsADirectoryError):
        jitflow.save(tmp_path, {"w": jitflow.Variable(1.0)})
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_a_name_that_the_format_needs_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="__metadata__"):
        jitflow.save(tmp_path / "c", {"__metadata__": jitflow.Variable(1.0), "w": jitflow.Variable(1.0)})


def test_a_file_that_goes_on_is_damaged(tmp_path: Path) -> None:
    w = jitflow.Variable(1.0)
    jitflow.save(tmp_path / "c", {"w": w})
    with (tmp_path / "c").open("ab") as file:
        file.write(b"more")
    with pytest.raises(ValueError, match="goes on behind its last tensor"):
        jitflow.restore(tmp_path / "c", {"w": w})


NUMBER = '{"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}'
HOSTILE = {
    "deep": "[" * 100_000,
    "no object": "[1]",
    "one name twice": f'{{"w": {NUMBER}, "w": {NUMBER}}}',
    "no text": '{"\udcff": 1}',
    "overlapping": f'{{"w": {NUMBER}, "v": {NUMBER}}}',
    "a gap": f'{{"w": {NUMBER.replace("[0, 8]", "[8, 16]")}}}',
    "before the file": f'{{"w": {NUMBER.replace("[0, 8]", "[-8, 0]")}}}',
    "negative sizes": f'{{"w": {NUMBER.replace("[1]", "[-1, -1]")}}}',
    "sizes that overflow": f'{{"w": {NUMBER.replace("[1]", "[4611686018427387904, 4]").replace("8]", "0]")}}}',
    "a size that is no integer": f'{{"w": {NUMBER.replace("[1]", "[Infinity]")}}}',
    "offsets that are no integers": f'{{"w": {NUMBER.replace("8]", "8.0]")}}}',
    "metadata that are none": f'{{"__metadata__": {{"jitflow": "[1]"}}, "w": {NUMBER}}}',
    "checksums that are none": f'{{"__metadata__": {{"jitflow": "{{\\"checksums\\": 3}}"}}, "w": {NUMBER}}}',
    "no complex numbers": f'{{"__metadata__": {{"jitflow": "{{\\"complex\\": [\\"w\\"]}}"}}, "w": {NUMBER}}}',
}


@pytest.mark.parametrize("header", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_header_is_damaged(header: str, tmp_path: Path) -> None:
    text = header.encode(errors="surrogateescape")
    path = tmp_path / "step-0000000001.safetensors"
    path.write_bytes(len(text).to_bytes(8, "little") + text + bytes(8))
    w = jitflow.Variable(np.ones(1))
    with pytest.raises(DamagedFileError):
        jitflow.restore(path, {"w": w})
    with jitflow.CheckpointManager(tmp_path, {"w": w}, keep_last=1) as manager:
        assert manager.checkpoints() == []
        manager.save(2)
        assert [one.step for one in manager.checkpoints()] == [2]


def test_metadata_may_be_numbers_of_numpy_and_variables(tmp_path: Path) -> None:
    w, step = jitflow.Variable(1.0), jitflow.Variable(3)
    jitflow.save(tmp_path / "c", {"w": w}, metadata={"loss": np.float32(0.5), "epoch": np.int64(2), "step": step})
    assert jitflow.restore(tmp_path / "c", {"w": w}).metadata == {"loss": 0.5, "epoch": 2, "step": 3}


def test_errors_of_the_disk_have_their_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise safetensors.SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")

    monkeypatch.setattr(safetensors.numpy, "save_file", full)
    with pytest.raises(OSError, match="No space left") as raised:
        jitflow.save(tmp_path / "c", {"w": jitflow.Variable(1.0)})
    assert raised.value.errno == errno.ENOSPC


class Layers(list[Any]):
    """A list with an attribute beside its items."""

    def __init__(self, items: list[Any]) -> None:
        super().__init__(items)
        self.scale = jitflow.Variable(2.0)


def test_attributes_of_the_user_s_own_lists(tmp_path: Path) -> None:
    layers = Layers([jitflow.Variable(1.0)])
    jitflow.save(tmp_path / "c", {"layers": layers})
    assert jitflow.restore(tmp_path / "c", {"layers": layers}).names == ("layers.0", "layers.scale")
    assert len(jitflow.variables(layers)) == 2
    with pytest.raises(NotImplementedError, match=r"layers is a .*Layers, which a compiled function cannot take"):
        jitflow.function(lambda: layers[0] + 1)()
