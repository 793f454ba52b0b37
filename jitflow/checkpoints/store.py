"""`save` and `restore`: from a structure of objects to a file, and back into the same structure."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from jitflow.checkpoints.files import Contents, open_contents, read_tensors, write_file
from jitflow.errors import UserKeyError, UserTypeError, UserValueError
from jitflow.records import dataclass
from jitflow.runtime.snapshots import assign_all, snapshot
from jitflow.structure import announce, named_variables

__all__ = ["Restored", "restore", "restore_contents", "save"]

_LISTED = 5
"""Names in a message."""


@dataclass(frozen=True)
class Restored:
    """What `restore` did: the names that it restored, those that it could not, and what was stored beside them."""

    names: tuple[str, ...]
    missing: tuple[str, ...]
    """Variables of the objects that the file does not hold."""
    unused: tuple[str, ...]
    """Tensors of the file that no variable took."""
    metadata: Mapping[str, Any]


def save(path: str | os.PathLike[str], objects: Any, metadata: Mapping[str, Any] | None = None) -> None:
    """Write all variables, optimisers and random generators in ``objects`` to one safetensors file.

    ``objects`` is any structure of dicts, lists, tuples and objects; the path to a variable is its name in the file,
    as in ``model.layers.0.weight``. The file holds one moment between two steps, even if other threads train: calls of
    compiled functions wait while the variables are copied, not while the file is written. The file appears whole: a
    process that dies leaves the one that was there before. ``metadata`` is what JSON can hold, such as a step number.

    Raises ValueError if there are no variables, and OSError if the file cannot be written.
    """
    found = named_variables(objects)
    write_file(Path(path), dict(zip(found, snapshot(list(found.values())), strict=True)), dict(metadata or {}))


def restore(
    path: str | os.PathLike[str], objects: Any, names: str | Iterable[str] | None = None, strict: bool = True
) -> Restored:
    """Give the variables in ``objects`` the values that a file holds under their names: all of them, or none.

    ``names`` are the names to restore, with ``*`` for any text (``"encoder.*"``); others stay as they are. Without it,
    all are, and the names in the objects and in the file must be the same, unless ``strict`` is false: then what only
    one of them has stays as it is. Any safetensors file will do. All variables change at one moment, between two calls.

    Raises ValueError for files that are damaged, and for tensors of another dtype or shape than their variable,
    KeyError for names that are missing, FileNotFoundError.
    """
    with open_contents(Path(path)) as contents:
        return restore_contents(contents, objects, names, strict)


def restore_contents(
    contents: Contents, objects: Any, names: str | Iterable[str] | None = None, strict: bool = True
) -> Restored:
    """`restore`, from a file whose header has been read."""
    announce(objects, {name: contents.kind(name) for name in contents.tensors})
    variables = named_variables(objects)
    wanted, partial = list(variables), names is not None
    if names is not None:
        patterns = [names] if isinstance(names, str) else list(names)
        wanted = [name for name in wanted if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)]
        for pattern in patterns:
            if not fnmatch.filter(variables, pattern):
                raise UserKeyError(f"no variable of the objects has a name like {pattern!r}")
    missing = [name for name in wanted if name not in contents.tensors]
    unused = [name for name in contents.tensors if name not in wanted]
    if strict and (missing or (unused and not partial)):
        raise _names_differ(contents, missing, [] if partial else unused)
    shared = [name for name in wanted if name in contents.tensors]
    if not shared:
        raise _names_differ(contents, missing, unused)
    for name in shared:
        _require_same_kind(contents, name, variables[name])
    tensors = read_tensors(contents, shared)
    assign_all([variables[name] for name in shared], [tensors[name] for name in shared])
    return Restored(tuple(shared), tuple(missing), tuple(unused), contents.details)


def _names_differ(contents: Contents, missing: list[str], unused: list[str]) -> UserKeyError:
    found = [
        f"{what} {', '.join(map(repr, names[:_LISTED]))}{', ...' if len(names) > _LISTED else ''}"
        for what, names in (("only the objects have", missing), ("only the file has", unused))
        if names
    ]
    return UserKeyError(
        f"the checkpoint {contents.path} holds other names than the objects: {'; '.join(found)}",
        mend="restore the structure that was saved, say which names=, or pass strict=False to take what both have",
    )


def _require_same_kind(contents: Contents, name: str, variable: Any) -> None:
    dtype, shape = contents.kind(name)
    if shape != variable.shape:
        raise UserValueError(
            f"the tensor {name!r} of {contents.path} has shape {shape}, its variable {variable.shape}",
            mend="leave it out with names=, or make the variable of that shape",
        )
    if dtype != np.dtype(variable.dtype):
        raise UserTypeError(f"the tensor {name!r} of {contents.path} is {dtype}, its variable {variable.dtype}")
