"""One checkpoint on disk: a safetensors file, written whole or not at all, and read only if it is whole.

The file is written beside its place under another name, and takes the place when the disk has all of it. A process that
dies at any moment leaves the file that was there before, and perhaps one under the other name.

The format knows names, dtypes and shapes. What it does not know is kept in its metadata: a checksum for each tensor,
which tell damage from data, and which tensors are complex, since the format has no complex numbers of 128 bits: they
are pairs of f64 along a last axis. Files without checksums, as other programs write them, are read without that check.
"""

from __future__ import annotations

import errno
import json
import math
import os
import re
import secrets
import struct
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np

from jitflow.errors import UserError, UserRuntimeError, UserValueError
from jitflow.ir.dtypes import C128, DTYPES
from jitflow.records import dataclass

__all__ = ["Contents", "DamagedFileError", "open_contents", "read_tensors", "remove_partial_files", "write_file"]

TEMPORARY = ".partial"
"""How the names of files end that are still being written."""

FORMAT = "1"
_METADATA = "__metadata__"
"""Where the format has its metadata, beside the names of tensors."""
_DTYPES = {name.upper(): dtype for name, dtype in DTYPES.items() if dtype != C128}
_LARGEST_HEADER = 100_000_000
"""Bytes; the format allows no more."""

Array = np.ndarray[Any, Any]
Kind = TypeVar("Kind")


class DamagedFileError(UserValueError):
    """A file that is no whole checkpoint: cut off, overwritten, or something else altogether."""


@dataclass(frozen=True)
class Tensor:
    """Where a tensor lies in its file."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    start: int
    end: int


@dataclass(frozen=True)
class Contents:
    """What a file holds, without the tensors' elements. ``details`` is what was stored beside them."""

    path: Path
    file: BinaryIO
    """Open as long as the contents are read: another file may take the place of this one at any time."""
    tensors: Mapping[str, Tensor]
    checksums: Mapping[str, int]
    complex_names: frozenset[str]
    details: Mapping[str, Any]

    def kind(self, name: str) -> tuple[np.dtype[Any], tuple[int, ...]]:
        """The dtype and shape of a tensor, as whoever saved it saw them."""
        tensor = self.tensors[name]
        if name in self.complex_names:
            return np.dtype(np.complex128), tensor.shape[:-1]
        return tensor.dtype, tensor.shape


# -- writing ----------------------------------------------------------------------------------------------


def write_file(path: Path, tensors: Mapping[str, Array], details: Mapping[str, Any]) -> None:
    """Write tensors and ``details``, which are what JSON can hold; a file that is there is replaced at once.

    A link stays one: it is the file that it leads to which is written.
    """
    if _METADATA in tensors:
        raise UserValueError(
            f"no variable can have the name {_METADATA!r} in a checkpoint", mend="use another key or attribute"
        )
    path = path.resolve() if path.is_symlink() else path
    if path.exists() and not path.is_file():
        kind = errno.EISDIR if path.is_dir() else errno.EINVAL
        raise OSError(kind, os.strerror(kind), str(path))
    plain = {name: _as_pairs(array) for name, array in tensors.items()}
    about = {
        "format": FORMAT,
        "checksums": {name: _checksum(array) for name, array in plain.items()},
        "complex": [name for name, array in tensors.items() if array.dtype == np.complex128],
        "details": details,
    }
    try:
        text = json.dumps(about, default=_as_number)
    except (TypeError, ValueError) as error:
        raise UserValueError(f"the metadata cannot be written as JSON: {error}") from None
    metadata = {"jitflow": text, "jitflow checksum": str(zlib.crc32(text.encode()))}
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path.parent))
    with _temporary(path) as temporary:
        _write_safetensors(plain, temporary, metadata)
        _synchronise(temporary, os.O_RDWR)
        os.replace(temporary, path)
    if hasattr(os, "O_DIRECTORY"):  # where folders can be synchronised, the disk is to know the new name
        _synchronise(path.parent, os.O_RDONLY | os.O_DIRECTORY)


@contextmanager
def _temporary(path: Path) -> Iterator[Path]:
    """An empty file beside ``path``, locked as long as it is written, so that nobody takes it for left over."""
    while True:
        temporary = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}{TEMPORARY}")
        descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
        try:
            if not _lock(descriptor, wait=True) or temporary.exists():
                yield temporary
                return
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        finally:
            os.close(descriptor)


def remove_partial_files(folder: Path, pattern: str) -> None:
    """Remove what processes left that died while they wrote files of such names into a folder."""
    for path in folder.glob(f".{pattern}{TEMPORARY}"):
        with suppress(OSError):  # it took its place, or is not ours
            descriptor = os.open(path, os.O_RDWR)
            try:
                if _lock(descriptor, wait=False):
                    path.unlink()
            finally:
                os.close(descriptor)


def _lock(descriptor: int, *, wait: bool) -> bool:
    """Lock a file until it is closed. Whether it is; not where another one has the lock, or files have none."""
    if sys.platform == "win32":
        return False
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False
    return True


def _write_safetensors(tensors: Mapping[str, Array], path: Path, metadata: Mapping[str, str]) -> None:
    try:
        from safetensors import SafetensorError
        from safetensors.numpy import save_file
    except ImportError:
        raise UserRuntimeError("checkpoints need safetensors", mend="pip install safetensors") from None
    try:
        save_file(dict(tensors), path, metadata=dict(metadata))
    except SafetensorError as error:
        code = re.search(r"os error (\d+)", str(error))
        if code is not None:
            raise OSError(int(code[1]), os.strerror(int(code[1])), str(path)) from error
        raise OSError(f"{path} cannot be written: {error}") from error


def _as_number(thing: Any) -> Any:
    """A number of NumPy's, or a variable that holds one, as JSON can hold it."""
    if getattr(thing, "shape", None) != ():
        raise TypeError(f"Object of type {type(thing).__name__} is not JSON serializable")
    return thing.item()


def _as_pairs(array: Array) -> Array:
    """An array in C order, of a dtype that the format knows."""
    whole = np.ascontiguousarray(array).reshape(array.shape)
    return whole.reshape(-1).view(np.float64).reshape(*array.shape, 2) if array.dtype == np.complex128 else whole


def _checksum(array: Array) -> int:
    # The shape is part of it: a damaged header may describe other tensors that fit.
    return zlib.crc32(array.reshape(-1).view(np.uint8).data, zlib.crc32(f"{array.dtype}{array.shape}".encode()))


def _synchronise(path: Path, flags: int) -> None:
    """Wait until the disk has a file, or a folder."""
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# -- reading ----------------------------------------------------------------------------------------------


@contextmanager
def open_contents(path: Path) -> Iterator[Contents]:
    """What a file says that it holds. Raises `DamagedFileError` if it is none, or shorter than it says."""
    with path.open("rb") as file:
        yield _read_header(path, file)


def _read_header(path: Path, file: BinaryIO) -> Contents:
    size = os.fstat(file.fileno()).st_size
    prefix = file.read(8)
    length = struct.unpack("<Q", prefix)[0] if len(prefix) == 8 else _LARGEST_HEADER + 1
    if length > min(_LARGEST_HEADER, size - 8):
        raise _damaged(path, "its header is cut off, or it is no safetensors file")
    try:
        header = _parsed(file.read(length))
        metadata = _of(dict, header.pop(_METADATA, {}))
        tensors = {name: _tensor(_of(dict, entry), 8 + length) for name, entry in header.items()}
        text = _of(str, metadata.get("jitflow", "{}"))
        about = _parsed(text)
        checksums, details = _of(dict, about.get("checksums", {})), _of(dict, about.get("details", {}))
        pairs = frozenset(_of(str, name) for name in _of(list, about.get("complex", [])))
    except (ValueError, KeyError, TypeError, RecursionError):
        raise _damaged(path, "its header cannot be read") from None
    if metadata.get("jitflow checksum") not in (None, str(zlib.crc32(text.encode(errors="replace")))):
        raise _damaged(path, "its metadata are not those that were written")
    if about.get("format", FORMAT) != FORMAT:
        raise UserValueError(
            f"{path} is of format {about['format']}, and this version reads format {FORMAT}", mend="update jitflow"
        )
    for name in pairs:
        if name not in tensors or tensors[name].dtype != np.float64 or tensors[name].shape[-1:] != (2,):
            raise _damaged(path, f"{name!r} is no tensor of complex numbers")
    for name, tensor in tensors.items():
        if tensor.end > size:
            raise _damaged(path, f"it ends within the tensor {name!r}")
    ends = sorted((tensor.start, tensor.end) for tensor in tensors.values())
    if any(end != start for (_, end), (start, _) in pairwise([(0, 8 + length), *ends])):
        raise _damaged(path, "its tensors do not lie one behind the other")
    if size > max((end for _, end in ends), default=8 + length):
        raise _damaged(path, "it goes on behind its last tensor")
    return Contents(path, file, tensors, checksums, pairs, details)


def _parsed(text: str | bytes) -> dict[str, Any]:
    """An object in JSON, in which no name occurs twice."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ValueError
        return found

    return _of(dict, json.loads(text, object_pairs_hook=unique))


def _of(kind: type[Kind], thing: Any) -> Kind:
    if type(thing) is not kind:
        raise TypeError
    return thing


def read_tensors(contents: Contents, names: Iterable[str]) -> dict[str, Array]:
    """The tensors of some names. Raises `DamagedFileError`, which names the tensor, if one is not what was written."""
    return {name: _read_tensor(contents, name) for name in names}


def _read_tensor(contents: Contents, name: str) -> Array:
    tensor = contents.tensors[name]
    contents.file.seek(tensor.start)
    data = contents.file.read(tensor.end - tensor.start)
    if len(data) != tensor.end - tensor.start:
        raise _damaged(contents.path, f"it ends within the tensor {name!r}")
    array = np.frombuffer(data, tensor.dtype).reshape(tensor.shape)
    if name in contents.checksums and _checksum(array) != contents.checksums[name]:
        raise _damaged(contents.path, f"the tensor {name!r} is not what was written")
    return array.view(np.complex128).reshape(tensor.shape[:-1]) if name in contents.complex_names else array


def _tensor(entry: dict[str, Any], origin: int) -> Tensor:
    dtype, shape = _DTYPES[entry["dtype"]].numpy, tuple(_of(int, size) for size in _of(list, entry["shape"]))
    start, end = (_of(int, offset) for offset in _of(list, entry["data_offsets"]))
    fits = end - start == dtype.itemsize * math.prod(shape) and start >= 0 and max(shape, default=0) <= sys.maxsize
    if not fits or any(size < 0 for size in shape):
        raise ValueError
    return Tensor(dtype, shape, origin + start, origin + end)


def _damaged(path: Path, how: str) -> UserError:
    return DamagedFileError(f"the checkpoint {path} is damaged: {how}", mend="restore an earlier checkpoint")
