"""Checkpoints of models some of whose variables lie on several servers: a folder with a file for each shard.

Each server writes its shards, rows and slots; what this process holds goes into another file, and a manifest says what
there is. The folder is written beside its place under another name, and takes the place when it is whole: a process
that dies leaves no half of a checkpoint. Everything is copied at one moment, when no step of this process is under way,
and written after that.
"""

from __future__ import annotations

import errno
import json
import os
import secrets
import shutil
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from jitflow.checkpoints.files import DamagedFileError, open_contents, write_file
from jitflow.checkpoints.store import restore_contents
from jitflow.cluster.sharded import ShardedVariable
from jitflow.errors import UserKeyError, UserValueError
from jitflow.runtime.variable import using
from jitflow.structure import announce, named_objects, named_variables

__all__ = ["restore", "save"]

_MANIFEST, _REST, _FORMAT = "manifest.json", "variables.safetensors", 1


def save(folder: str | os.PathLike[str], objects: Any, metadata: Mapping[str, Any] | None = None) -> None:
    """Write all variables, optimisers and random generators in ``objects`` to a new folder, shard by shard.

    ``objects`` and the names in them are those of `jitflow.save`. The folder holds one moment between two steps of this
    process, and appears whole. Servers write their files themselves: where they are on other machines, ``folder`` must
    be on a file system that all of them share. ``metadata`` is what JSON can hold, such as a step number.

    Raises FileExistsError if there is something at that place, and OSError if files cannot be written.
    """
    place = Path(folder).absolute()
    if place.exists():
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(folder))
    tables, rest = _tables_in(objects), named_variables(objects, elsewhere=True)
    partial = place.with_name(f".{place.name}.{secrets.token_hex(4)}.partial")
    partial.mkdir()
    try:
        with using(rest.values()), ExitStack() as stack:  # a compiled step holds its variables until it ends
            for table in sorted(tables.values(), key=lambda one: one.key):
                stack.enter_context(table.changing())
            values = {name: variable._elements.copy() for name, variable in rest.items()}
            for table in tables.values():
                table.on_all("keep")
        about = {name: _write(table, partial, number) for number, (name, table) in enumerate(tables.items())}
        if values:
            write_file(partial / _REST, values, {})
        manifest = {"format": _FORMAT, "tables": about, "rest": _REST if values else None, "metadata": metadata or {}}
        (partial / _MANIFEST).write_text(json.dumps(manifest, indent=1))
        partial.rename(place)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def _write(table: ShardedVariable, folder: Path, number: int) -> dict[str, Any]:
    """Let servers write what they have kept, and say what is written."""
    files = [f"table-{number}-shard-{k}-of-{table.shards}.safetensors" for k in range(table.shards)]
    table.on_all("write", [(str(folder / file),) for file in files])
    return {"shape": list(table.shape), "dtype": str(table.dtype), "files": files}


def restore(folder: str | os.PathLike[str], objects: Any) -> Mapping[str, Any]:
    """Give the variables in ``objects`` the values that a folder holds under their names; the metadata of the folder.

    Sharded variables may have another number of shards than those that were saved. All files are read before anything
    changes.

    Raises ValueError for files that are damaged, and for another dtype or shape than a variable has, KeyError for names
    that only one of the two has, FileNotFoundError.
    """
    place = Path(folder).absolute()
    manifest = _manifest(place)
    tables, saved = _tables_in(objects), manifest["tables"]
    if different := sorted(tables.keys() ^ saved.keys()):
        where = "the objects" if different[0] in tables else "the checkpoint"
        raise UserKeyError(f"only {where} have a variable of several shards named {different[0]!r}")
    for name, table in tables.items():
        found = (tuple(saved[name]["shape"]), saved[name]["dtype"])
        if found != (table.shape, str(table.dtype)):
            raise UserValueError(
                f"{name} is of another kind in the checkpoint", found=f"{found[1]} {found[0]}",
                expected=f"{table.dtype} {table.shape}",
            )  # fmt: skip
    for name, table in tables.items():
        table.fetch([str(place / file) for file in saved[name]["files"]])
    if manifest["rest"] is not None:
        with open_contents(place / manifest["rest"]) as contents:
            announce(objects, {name: contents.kind(name) for name in contents.tensors})
            restore_contents(contents, named_variables(objects, elsewhere=True))
    for table in tables.values():
        with table.changing():
            table.on_all("take")
    metadata: Mapping[str, Any] = manifest["metadata"]
    return metadata


def _manifest(place: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads((place / _MANIFEST).read_text())
    except ValueError:
        raise DamagedFileError(f"the checkpoint {place} is damaged: its manifest cannot be read") from None
    if found.get("format") != _FORMAT:
        raise UserValueError(f"{place} is of format {found.get('format')}, and this version reads {_FORMAT}")
    return found


def _tables_in(objects: Any) -> dict[str, ShardedVariable]:
    return {path or thing.name or "table": thing for path, thing in named_objects(objects)
            if isinstance(thing, ShardedVariable)}  # fmt: skip
