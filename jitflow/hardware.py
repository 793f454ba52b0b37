"""Where programs run: the devices of this machine.

The program's own device is `HOME`: the caller's thread, and the memory in which NumPy's arrays lie. What else there is
are further CPU devices, each with a worker of its own, as many as ``JITFLOW_CPU_DEVICES`` says, and the GPUs that cupy
finds. Those are looked for when somebody asks for one, and take part in programs that have to do with them: a program
that does not would wait for the driver at its first call, and give other last bits on another machine.
"""

from __future__ import annotations

import sys

from jitflow.config import CONFIG
from jitflow.errors import UserTypeError, UserValueError
from jitflow.ir.context_names import DEVICE_PREFIX
from jitflow.records import value_record

__all__ = ["HOME", "ON_CHIP", "Device", "device_named", "devices", "has_seen_gpus", "is_gpu"]

HOME = "cpu:0"
"""The device of whoever calls."""
ON_CHIP = 48 << 10
"""Bytes on the chip that a block of any GPU may have without asking for more: all that a kernel keeps there fits in."""


@value_record
class Device:
    """A device of this machine: its ``kind`` and its number among those of its kind."""

    kind: str
    index: int

    @property
    def name(self) -> str:
        """What programs call it: ``cpu:1``."""
        return f"{self.kind}:{self.index}"

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
        from jitflow.runtime.cuda import gpu_count

        found += [Device("cuda", index) for index in range(gpu_count())]
    return tuple(found)


def has_seen_gpus() -> bool:
    """Whether somebody has asked for GPUs, and there are some: before that no program has to do with one."""
    runtime = sys.modules.get("jitflow.runtime.cuda")
    return runtime is not None and runtime.gpu_count.cache_info().currsize > 0 and runtime.gpu_count() > 0


def is_gpu(name: str) -> bool:
    """Whether a device of that name is a GPU, with memory of its own."""
    return name.startswith(DEVICE_PREFIX)


def device_named(name: str | Device) -> str:
    """The name of a device that there is; ``cpu`` is the first of its kind.

    Raises TypeError for what is no name, and ValueError for a device that this machine does not have.
    """
    if not isinstance(name, str | Device):
        raise UserTypeError("expected the name of a device", expected="a string such as 'cpu:0'", found=repr(name))
    full = str(name) if ":" in str(name) else f"{name}:0"
    known = [one.name for one in devices("cpu")]
    if full not in known:
        known += [one.name for one in devices("cuda")]
    if full not in known:
        raise UserValueError(
            f"there is no device {str(name)!r}", expected=f"one of {', '.join(known)}", mend=_mend(full)
        )
    return full


def _mend(name: str) -> str:
    kind, _, number = name.partition(":")
    if kind == "cpu" and number.isdigit():
        return f"set JITFLOW_CPU_DEVICES={int(number) + 1} before jitflow is imported"
    if kind == "cuda":
        from jitflow.runtime.cuda import why_no_gpu

        return why_no_gpu()
    return "jitflow.devices() tells which there are"
