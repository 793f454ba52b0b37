"""The switches of jitflow, read from the environment once, when one of them is first asked for.

There are few of them on purpose, and all are in the table of `docs/calls.md`. Code asks `CONFIG`; nobody else
reads `os.environ`, so that what a process does cannot change between two calls. What only imports jitflow, as the
command line does before it runs a script, asks for none: the script may still set them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, cast

from jitflow.records import dataclass, field_names

__all__ = ["CONFIG", "Config", "cache_folder", "cluster_address", "read_config", "switches_are_read", "user_folder"]

EntryPath = Literal["native", "python"]

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"", "0", "false", "no", "off"})
_DUMP_LEVELS = 4


@dataclass(frozen=True, slots=True)
class Config:
    """The state of every switch."""

    disable: bool = False
    """`JITFLOW_DISABLE=1`: `jitflow.function` returns the plain Python function."""

    entry: EntryPath = "native"
    """`JITFLOW_ENTRY=python`: calls go through the entry written in Python, with the same results."""

    verify: bool = False
    """`JITFLOW_VERIFY=1`: the verifier runs after every pass, not only after tracing."""

    dump: int = 0
    """`JITFLOW_DUMP=0..3`, to stderr at each compilation: 1 names what is compiled and the time of each
    stage, 2 adds the IR after tracing and before code generation, 3 adds the IR after every pass."""

    cache_size: int = 64
    """`JITFLOW_CACHE_SIZE=N`: specialisations kept for each function before the oldest is evicted."""

    threads: int = 0
    """`JITFLOW_THREADS=N`: how many threads a call may use until `jitflow.set_num_threads` says otherwise; 0 if nothing
    is said, which is as many as the process may use processors (`cores.py`)."""

    cpu: str = "host"
    """`JITFLOW_CPU=x86-64-v3`: code is compiled for a lesser processor than the machine's (`processor.py`)."""

    cpu_devices: int = 1
    """`JITFLOW_CPU_DEVICES=N`: how many CPU devices there are, each but the first with a worker of its own."""

    cache: bool = True
    """`JITFLOW_CACHE=0`: what is compiled is neither kept on disk nor looked for there (`cache/`)."""

    cache_dir: str = ""
    """`JITFLOW_CACHE_DIR=FOLDER`: where it is kept, in place of the user's folder for caches."""

    def __getattr__(self, name: str) -> Any:
        """Python asks here for a switch that was never set: `CONFIG` begins so, and reads all of them now."""
        if name not in Config.__annotations__:
            raise AttributeError(name)
        read = read_config(os.environ)
        for switch in field_names(Config):
            object.__setattr__(self, switch, getattr(read, switch))
        return getattr(self, name)


def switches_are_read() -> bool:
    """Whether somebody has asked for a switch, so that none can change any more."""
    try:
        object.__getattribute__(CONFIG, "disable")
    except AttributeError:
        return False
    return True


def read_config(environment: Mapping[str, str]) -> Config:
    """Return the configuration that `environment` asks for.

    Raises ValueError for a value that a switch does not know: a misspelt switch value that does nothing
    would be worse than none.
    """
    return Config(
        disable=_flag(environment, "JITFLOW_DISABLE"),
        entry=cast(EntryPath, _one_of(environment, "JITFLOW_ENTRY", ("native", "python"))),
        verify=_flag(environment, "JITFLOW_VERIFY"),
        dump=_integer(environment, "JITFLOW_DUMP", default=0, smallest=0, largest=_DUMP_LEVELS - 1),
        cache_size=_integer(environment, "JITFLOW_CACHE_SIZE", default=64, smallest=1, largest=1 << 20),
        threads=_integer(environment, "JITFLOW_THREADS", default=0, smallest=1, largest=1 << 10),
        cpu=_one_of(environment, "JITFLOW_CPU", ("host", "x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4")),
        cpu_devices=_integer(environment, "JITFLOW_CPU_DEVICES", default=1, smallest=1, largest=1 << 8),
        cache=_flag(environment, "JITFLOW_CACHE", default=True),
        cache_dir=environment.get("JITFLOW_CACHE_DIR", ""),
    )


def user_folder(environment: Mapping[str, str] = os.environ, system: str = sys.platform) -> Path:
    """Where jitflow keeps what it has measured, as the system has it: ``XDG_CONFIG_HOME``, ``APPDATA``..."""
    if system == "win32":
        return Path(environment.get("APPDATA") or Path.home() / "AppData" / "Roaming") / "jitflow"
    if system == "darwin":
        return Path.home() / "Library" / "Application Support" / "jitflow"
    return Path(environment.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "jitflow"


def cache_folder(environment: Mapping[str, str] = os.environ, system: str = sys.platform) -> Path:
    """Where jitflow keeps what can be made anew, as the system has it: ``XDG_CACHE_HOME``, ``LOCALAPPDATA``..."""
    if CONFIG.cache_dir:
        return Path(CONFIG.cache_dir)
    if system == "win32":
        return Path(environment.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "jitflow" / "cache"
    if system == "darwin":
        return Path.home() / "Library" / "Caches" / "jitflow"
    return Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "jitflow"


def cluster_address(environment: Mapping[str, str] = os.environ) -> str:
    """The Ray cluster that this process is to join, as Ray has it: ``RAY_ADDRESS``. Empty if nothing is said."""
    return environment.get("RAY_ADDRESS", "").strip()


def _flag(environment: Mapping[str, str], name: str, *, default: bool = False) -> bool:
    text = environment.get(name, "").strip().lower()
    if not text:
        return default
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise ValueError(f"{name}: expected 0 or 1, got {environment[name]!r}")


def _one_of(environment: Mapping[str, str], name: str, known: Sequence[str]) -> str:
    """One of the known values; the first where nothing is said."""
    text = environment.get(name, "").strip().lower() or known[0]
    if text not in known:
        raise ValueError(f"{name}: expected {', '.join(known[:-1])} or {known[-1]}, got {environment[name]!r}")
    return text


def _integer(environment: Mapping[str, str], name: str, *, default: int, smallest: int, largest: int) -> int:
    text = environment.get(name, "").strip()
    if not text:
        return default
    try:
        value = int(text)
    except ValueError:
        value = smallest - 1
    if not smallest <= value <= largest:
        raise ValueError(f"{name}: expected an integer from {smallest} to {largest}, got {text!r}")
    return value


CONFIG = object.__new__(Config)
