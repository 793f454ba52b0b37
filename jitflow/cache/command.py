"""``jitflow cache``: looking at what is kept on disk, and clearing it away."""

from __future__ import annotations

import enum
import time
from typing import Annotated

import typer

from jitflow.cache.store import Entry, Store, StoredFile, Unreadable

__all__ = ["cache"]


class Action(enum.StrEnum):
    """What is to be done."""

    LIST = "list"
    SIZE = "size"
    VERIFY = "verify"
    CLEAR = "clear"
    LIMIT = "limit"


def cache(
    action: Annotated[
        Action,
        typer.Argument(
            help="list: what is kept; size: how much; verify: read all of it, and remove what is damaged; "
            "clear: remove all; limit: how much there may be."
        ),
    ] = Action.LIST,
    megabytes: Annotated[int | None, typer.Argument(min=1, help="A new limit, for the action limit.")] = None,
) -> None:
    """Show, check or clear what earlier processes have compiled, which later ones find."""
    store = Store()
    if action is Action.LIST:
        for file in sorted(store.files(), key=lambda file: -file.used):
            typer.echo(_line(store, file))
    elif action is Action.SIZE:
        files = [*store.files()]
        size = sum(file.size for file in files)
        typer.echo(f"{len(files)} files, {_megabytes(size)} of {_megabytes(store.limit())}, in {store.root}")
    elif action is Action.VERIFY:
        unfit = store.verify()
        for file, reason in unfit:
            typer.echo(f"{file.path}: {reason}")
        typer.echo("nothing is damaged" if not unfit else f"{len(unfit)} files cannot be used")
    elif action is Action.CLEAR:
        typer.echo(f"removed {store.clear()} files")
    elif megabytes is None:
        typer.echo(_megabytes(store.limit()))
    elif not store.set_limit(megabytes << 20):
        typer.echo(f"{store.root} cannot be written to, or others can write to it", err=True)
        raise typer.Exit(1)


def _megabytes(size: int) -> str:
    return f"{size / (1 << 20):.1f} MB"


def _line(store: Store, file: StoredFile) -> str:
    used = time.strftime("%Y-%m-%d %H:%M", time.localtime(file.used))
    try:
        entry: Entry | None = store.read(file.path)
    except (OSError, Unreadable):
        entry = None
    about = entry.about if entry is not None and isinstance(entry.about, dict) else {}
    return f"{used}  {file.size / 1024:9.1f} kB  {about.get('function', 'damaged')}"
