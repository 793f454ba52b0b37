"""Where programs run: the devices of this machine.

The program's own device is `HOME`: the caller's thread, and the memory in which NumPy's arrays lie. What else there is
are further CPU devices, each with a worker of its own, as many as ``JITFLOW_CPU_DEVICES`` says, and the GPUs that cupy
finds. Those are looked for when somebody asks for one, and take part in programs that have to do with them: a program
that does not would wait for the driver at its first call, and give other last bits on another machine. So do devices
*elsewhere*, those of other processes of a cluster (`jitflow.cluster`), such as ``node:1/cpu:0``.
"""

from __future__ import annotations

from collections.abc import Sequence

from jitflow.config import CONFIG
from jitflow.errors import UserTypeError, UserValueError
from jitflow.ir.context_names import DEVICE_PREFIX
from jitflow.loaded import asked, loaded
from jitflow.records import dataclass

__all__ = ["HOME", "ON_CHIP", "Device", "device_named", "devices", "has_nodes", "has_seen_gpus", "is_elsewhere",
           "is_gpu", "kind_of", "node_of"]  # fmt: skip

HOME = "cpu:0"
"""The device of whoever calls."""
_NODE = "node:"
"""How the names of devices of a cluster begin."""
ON_CHIP = 48 << 10
"""Bytes on the chip that a block of any GPU may have without asking for more: all that a kernel keeps there fits in."""


@dataclass(frozen=True)
class Device:
    """A device: its ``kind``, its number among those of its kind, and its ``node``, if another process has it."""

    kind: str
    index: int
    node: int = 0

    @property
    def name(self) -> str:
        """What programs call it: ``cpu:1``."""
        return f"{_NODE}{self.node}/" * bool(self.node) + f"{self.kind}:{self.index}"

    def __str__(self) -> str:
        return self.name


def devices(kind: str | None = None) -> tuple[Device, ...]:
    """The devices of this machine, ``cpu:0`` first; those of one ``kind`` alone if one is given.

    Raises ValueError for a kind that jitflow does not know.
    """
    if kind not in (None, "cpu", "cuda"):
        raise UserValueError("expected a kind of device", expected="'cpu' or 'cuda'", found=repr(kind))
    found = [Device("cpu", index) for index in range(CONFIG.cpu_devices if kind != "cuda" else 0)]
    if kind != "cpu":
        from jitflow.runtime.native.cuda import gpu_count

        found += [Device("cuda", index) for index in range(gpu_count())]
    return tuple(found)


def has_seen_gpus() -> bool:
    """Whether somebody has asked for GPUs, and there are some: before that no program has to do with one."""
    gpu_count = loaded("jitflow.runtime.native.cuda", "gpu_count")
    return gpu_count is not None and gpu_count.cache_info().currsize > 0 and gpu_count() > 0


def has_nodes() -> bool:
    """Whether programs may name devices of other processes."""
    return len(asked("jitflow.cluster.nodes", "known_names") or ()) > 1


def is_gpu(name: str) -> bool:
    """Whether a device of that name is a GPU, with memory of its own."""
    return name.startswith(DEVICE_PREFIX)


def is_elsewhere(name: str) -> bool:
    """Whether a device of that name belongs to another process."""
    return name.startswith(_NODE)


def node_of(name: str) -> int:
    """The number of the node to which a device of that name belongs: 0 is this process."""
    return int(name.removeprefix(_NODE).partition("/")[0]) if is_elsewhere(name) else 0


def kind_of(name: str) -> str:
    """The kind of a device of that name, wherever it is."""
    return name.rpartition("/")[2].partition(":")[0]


def device_named(name: str | Device) -> str:
    """The name of a device that there is; ``cpu`` is the first of its kind, and ``node:0`` is this process.

    Raises TypeError for what is no name, and ValueError for a device that neither this machine nor a cluster has.
    """
    if not isinstance(name, str | Device):
        raise UserTypeError("expected the name of a device", expected="a string such as 'cpu:0'", found=repr(name))
    full = str(name) if ":" in str(name) else f"{name}:0"
    if is_elsewhere(full):
        return _named_elsewhere(full)
    known = [one.name for one in devices("cpu")]
    if full not in known:
        known += [one.name for one in devices("cuda")]
    if full not in known:
        raise UserValueError(
            f"there is no device {str(name)!r}", expected=f"one of {', '.join(known)}", mend=_mend(full)
        )
    return full


def _named_elsewhere(name: str) -> str:
    """The same for a device of a cluster."""
    known = asked("jitflow.cluster.nodes", "names") or ()
    full = name if "/" in name else f"{name}/{HOME}"
    if full in known:
        here = f"{_NODE}0/"
        return full.removeprefix(here)
    there = ", ".join([*known] or [one.name for one in devices("cpu")])
    raise UserValueError(f"there is no device {name!r}", expected=f"one of {there}", mend=_mend_elsewhere(name, known))


def _mend_elsewhere(name: str, known: Sequence[str]) -> str:
    number = name.removeprefix(_NODE).partition("/")[0]
    if number.isdigit() and not any(one.startswith(f"{_NODE}{int(number)}/") for one in known):
        return f"have so many nodes: cluster = jitflow.cluster.connect(nodes={int(number) + 1})"
    return "cluster.devices() tells which there are"


def _mend(name: str) -> str:
    kind, _, number = name.partition(":")
    if kind == "cpu" and number.isdigit():
        return f"set JITFLOW_CPU_DEVICES={int(number) + 1} before jitflow is imported"
    if kind == "cuda":
        from jitflow.runtime.native.cuda import why_no_gpu

        return why_no_gpu()
    return "jitflow.devices() tells which there are"
