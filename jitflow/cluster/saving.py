"""Checkpoints of models some of whose variables lie on several servers: a folder with a file for each shard.

Each server writes its shards of all variables, rows and slots, into one safetensors file; what this process holds goes
into another. A manifest says what there is. The folder is written beside its place under another name, and takes the
place when it is whole: a process that dies leaves no half of a checkpoint.

Between the first server's writing and the last one's no step of this process may fall: they wait for each other.
"""

from __future__ import annotations

import errno
import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from jitflow.checkpoints.files import DamagedFileError
from jitflow.checkpoints.store import restore as restore_whole
from jitflow.checkpoints.store import save as save_whole
from jitflow.cluster.sharded import ShardedVariable
from jitflow.cluster.table import shard_file
from jitflow.errors import UserKeyError, UserValueError
from jitflow.structure import named_objects, named_variables

__all__ = ["restore", "save"]

MANIFEST, REST, FORMAT = "manifest.json", "variables.safetensors", 1


def save(folder: str | os.PathLike[str], objects: Any, metadata: Mapping[str, Any] | None = None) -> None:
    """Write all variables, optimisers and random generators in ``objects``, sharded ones shard by shard, to a new folder.

    ``objects`` and their names are those of `jitflow.save`. The folder holds one moment between two steps of this
    process, and appears whole. Servers write their files themselves: where they are on other machines, ``folder`` is on
    a file system that all of them share. ``metadata`` is what JSON can hold, such as a step number.

    Raises FileExistsError if there is something at that place, and OSError if files cannot be written.
    """
    place = Path(folder).absolute()
    if place.exists():
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(folder))
    tables, rest = _tables_in(objects), named_variables(objects, without_tables=True)
    partial = place.with_name(f".{place.name}.{secrets.token_hex(4)}.partial")
    partial.mkdir()
    try:
        with _held(tables):
            most = max(table.shards for table in tables.values())
            asked = []
            for number in range(most):
                for hosts, names in _by_hosts(tables, number):
                    asked.append((hosts, hosts.ask(number, "save", str(partial), number, most, names)))
            for hosts, each in asked:
                hosts.answers([each])
            if rest:
                save_whole(partial / REST, rest)
        about = {name: {"shape": table.shape, "dtype": str(table.dtype), "shards": table.shards}
                 for name, table in tables.items()}  # fmt: skip
        manifest = {"format": FORMAT, "files": most, "tables": about, "metadata": dict(metadata or {})}
        (partial / MANIFEST).write_text(json.dumps(manifest, indent=1))
        partial.rename(place)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
