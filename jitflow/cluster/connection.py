"""`connect`: a Ray cluster to run on, joined by its address or started on this machine.

Ray carries actors, messages and restarts. A cluster that is started here is for this machine alone: its processes
listen on 127.0.0.1, there is no dashboard, and whoever talks to them must show a token, which lies in a file that only
the user can read. It ends with the process that started it.
"""

from __future__ import annotations

import os
import secrets
import stat
import sys
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from jitflow.config import cluster_address
from jitflow.errors import UserRuntimeError, UserValueError
from jitflow.machines.cores import usable_cores

if TYPE_CHECKING:
    from jitflow.machines.hardware import Device

__all__ = ["Cluster", "connect", "ray"]

_STARTED = Event()
"""Whether the Ray that this process is connected to was started here."""


def ray() -> Any:
    """The library. Raises RuntimeError, which says what to install, where it is missing."""
    try:
        import ray
    except ImportError:
        raise UserRuntimeError("clusters need Ray", mend="pip install 'jitflow[cluster]'") from None
    return ray


class Cluster:
    """A Ray cluster that this process is connected to. In a ``with`` block it is left, or ended, behind it."""

    __module__ = "jitflow.cluster"

    def __init__(self, is_mine: bool) -> None:
        self._is_mine = is_mine

    @property
    def is_local(self) -> bool:
        """Whether it was started by `connect`, for this machine alone."""
        return _STARTED.is_set()

    def nodes(self) -> list[dict[str, Any]]:
        """The machines that are alive: ``name``, ``address`` and ``resources`` (CPUs, GPUs, memory in bytes)."""
        return [
            {"name": node["NodeName"], "address": node["NodeManagerAddress"], "resources": node["Resources"]}
            for node in ray().nodes() if node["Alive"]
        ]  # fmt: skip

    def devices(self) -> tuple[Device, ...]:
        """The devices of all nodes, by whose names programs may ask for them (`jitflow.device`).

        Node 0 is this process. The others are processes, which this starts. Raises RuntimeError where one of them runs
        other versions than this process.
        """
        from jitflow.cluster.nodes import names
        from jitflow.machines.hardware import Device, kind_of, node_of

        return tuple(Device(kind_of(name), int(name.rpartition(":")[2]), node_of(name)) for name in names())

    def close(self) -> None:
        """Leave the cluster; one that was started by `connect` ends. Called twice, it does nothing."""
        if self._is_mine:
            from jitflow.cluster.nodes import forget

            self._is_mine = False
            forget()
            ray().shutdown()
            _STARTED.clear()

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<jitflow.cluster.Cluster {'of this machine' if self.is_local else 'joined'}>"


def connect(address: str | None = None, *, nodes: int | None = None) -> Cluster:
    """Connect this process to a Ray cluster.

    ``address`` is that of a running cluster, such as ``"10.0.0.5:6379"``, or ``"auto"`` for the one on this machine. If
    nothing is said, ``RAY_ADDRESS`` is asked, and where that says nothing Ray is started on this machine. A process
    that is connected already stays so.

    ``nodes`` is of how many processes, this one among them, programs may use the devices: as many as the cluster has
    machines if nothing is said. More of them share machines: ``connect(nodes=2)`` makes a second one on a laptop.

    Raises ValueError for less than one node, RuntimeError if Ray is not installed, and ConnectionError if there is no
    cluster at the address.
    """
    library = ray()
    if nodes is not None:
        _want_nodes(nodes)
    if library.is_initialized():
        return Cluster(False)
    address = address or cluster_address()
    if address:
        try:
            library.init(address=address, logging_level="error", namespace="jitflow")
        except (ConnectionError, RuntimeError, ValueError) as error:
            hint = "one that asks for a token wants RAY_AUTH_MODE=token, and the token in ~/.ray/auth_token"
            raise ConnectionError(f"there is no Ray cluster at {address!r} ({hint}): {error}") from None
        return Cluster(True)
    _keep_to_this_machine(library)
    _make_private_token(Path.home() / ".ray" / "auth_token")
    library.init(
        address="local", _node_ip_address="127.0.0.1", include_dashboard=False, num_cpus=usable_cores(),
        logging_level="error", namespace="jitflow",
    )  # fmt: skip
    _STARTED.set()
    return Cluster(True)


def _want_nodes(count: int) -> None:
    from jitflow.cluster.nodes import want

    if count < 1:
        raise UserValueError(f"expected at least one node, got {count}")
    want(count)


def _keep_to_this_machine(library: Any) -> None:
    """Let Ray take 127.0.0.1 at its word: it would put the machine's address in its place, for others to join."""
    with suppress(ImportError, AttributeError):
        sys.modules[library.__name__ + "._private.ray_constants"].ENABLE_RAY_CLUSTER = False  # type: ignore[attr-defined]


def _make_private_token(path: Path) -> None:
    """Make the token that Ray's processes know each other by, in a file for the user alone.

    Ray makes one itself if there is none, in a file that others may read.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        found = path.stat()
        if hasattr(os, "geteuid") and found.st_uid == os.geteuid() and stat.S_IMODE(found.st_mode) & 0o077:
            path.chmod(0o600)
        return
    with os.fdopen(descriptor, "w") as file:
        file.write(secrets.token_hex(32))
