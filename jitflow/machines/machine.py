"""What is known of devices: how fast they compute, move memory and talk to each other, and how much they hold.

A `Machine` is data. Placement and the simulator read it; nothing that a program computes depends on it. Machines that
are not here are described as text (``2*cpu``, ``cpu + 4*cuda(memory=80e9)``) or as JSON. What is known of this one was
measured (``jitflow doctor --measure``) and lies in the user's folder, or is the defaults below: figures of a common
processor's core and of a GPU of 2020, right within a small factor.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from jitflow.config import user_folder
from jitflow.errors import UserValueError
from jitflow.machines.hardware import devices, kind_of, node_of
from jitflow.records import dataclass

__all__ = ["KINDS", "Link", "Machine", "Processor", "as_machine", "machine_of", "profile_path", "read_profile",
           "this_machine", "write_profile"]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Processor:
    """What is known of one device: rates are in operations, bandwidths in bytes, costs in seconds."""

    kind: str
    """``cpu`` or ``cuda``."""
    single: float
    """Additions and products of f32 a second in an elementwise kernel, where memory is not what it waits for."""
    double: float
    integer: float
    elementary: float
    """Values of exp, sin and their like a second, in f64."""
    single_products: float
    """Multiplications and additions a second in a matrix product of f32."""
    double_products: float
    bandwidth: float
    """From and to memory."""
    cache_bandwidth: float
    """The same where everything fits into the cache."""
    cache: float
    """Bytes in the cache next to the arithmetic."""
    shared_cache: float
    """Bytes in the largest cache."""
    shared_cache_bandwidth: float
    launch: float
    """Until a kernel runs, with the memory that it writes."""
    step: float
    """A number's arithmetic outside of kernels, or in a loop over elements, where it waits for nothing."""
    call: float
    """A call of a compiled function that does nothing."""
    routine: float
    """A call of a library's function through Python."""
    memory: float
    """Bytes that it holds; 0 if nobody knows."""

    def bandwidth_at(self, distance: float) -> float:
        """That of memory which was used so many bytes ago."""
        if distance <= self.cache:
            return self.cache_bandwidth
        return self.shared_cache_bandwidth if distance <= self.shared_cache else self.bandwidth

    @property
    def facts(self) -> str:
        """What matters most of it, in a line."""
        return (
            f"{self.bandwidth / 1e9:.1f} GB/s, f32 {self.single / 1e9:.1f} and f64 {self.double / 1e9:.1f} G/s, "
            f"products {self.single_products / 1e9:.0f} and {self.double_products / 1e9:.0f} G/s, "
            f"launch {self.launch * 1e6:.2f} us"
        )


@dataclass(frozen=True, slots=True)
class Link:
    """From the memory of one device to another's: seconds until the first byte arrives, and bytes a second."""

    latency: float
    bandwidth: float


KINDS: Mapping[str, Processor] = MappingProxyType({
    "cpu": Processor("cpu", single=24e9, double=12e9, integer=12e9, elementary=0.6e9, single_products=60e9,
                     double_products=30e9, bandwidth=20e9, cache_bandwidth=100e9, cache=1e6, shared_cache=16e6,
                     shared_cache_bandwidth=50e9, launch=20e-9, step=0.08e-9, call=0.15e-6, routine=2e-6,
                     memory=0),
    "cuda": Processor("cuda", single=8e12, double=4e12, integer=8e12, elementary=0.8e12, single_products=15e12,
                      double_products=8e12, bandwidth=1.2e12, cache_bandwidth=3e12, cache=30e6, shared_cache=30e6,
                      shared_cache_bandwidth=3e12, launch=4e-6, step=1e-6, call=10e-6, routine=30e-6,
                      memory=40e9),
})  # fmt: skip
"""Guesses, by kind."""

_LINKS: Mapping[tuple[str, str], Link] = MappingProxyType({
    ("cpu", "cpu"): Link(6e-6, 8e9),
    ("cpu", "cuda"): Link(12e-6, 12e9),
    ("cuda", "cuda"): Link(12e-6, 40e9),
    ("node", "node"): Link(300e-6, 1.2e9),
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Machine:
    """Devices by name, the caller's first, and the links between them, by the names or kinds of the two ends.

    Rates are in operations a second, bandwidths in bytes a second, costs in seconds. ``jitflow doctor --measure`` takes
    those of this machine.
    """

    devices: tuple[tuple[str, Processor], ...]
    links: tuple[tuple[str, str, Link], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.devices)

    @property
    def processors(self) -> tuple[Processor, ...]:
        return tuple(processor for _, processor in self.devices)

    def link(self, source: str, target: str) -> Link:
        """The link between two devices of this machine: that of their names, else of their kinds, either way round."""
        known = {(one, other): link for one, other, link in self.links}
        kinds = (kind_of(source), kind_of(target))
        if node_of(source) != node_of(target):
            kinds = ("node", "node")
        for one, other in ((source, target), (target, source), kinds, kinds[::-1]):
            if (one, other) in known:
                return known[one, other]
        return _LINKS.get(kinds) or _LINKS[kinds[::-1]]

    def to_json(self) -> str:
        """As text that `from_json` reads back."""
        return json.dumps(
            {
                "devices": [{"name": name, **dataclasses.asdict(processor)} for name, processor in self.devices],
                "links": [{"from": one, "to": other, **dataclasses.asdict(link)} for one, other, link in self.links],
            },
            indent=1,
        )

    @classmethod
    def from_json(cls, text: str) -> Machine:
        """The machine that a text describes; what it does not say of a device is what is guessed of its kind.

        Raises ValueError where the text is no such description.
        """
        try:
            content = json.loads(text)
            devices = tuple(_device_of(entry) for entry in content["devices"])
            links = tuple(
                (str(entry["from"]), str(entry["to"]), Link(_amount(entry, "latency"), _amount(entry, "bandwidth")))
                for entry in content.get("links", ())
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UserValueError(
                f"this does not describe a machine: {type(error).__name__}: {error}",
                expected='{"devices": [{"name": "cpu:0", "memory": 8e9, ...}], "links": [{"from": "cpu", ...}]}',
            ) from None
        return cls(devices, links)

    def __str__(self) -> str:
        return "\n".join(f"{name:8}{processor.facts}" for name, processor in self.devices)


def as_machine(described: str | Path | Machine | Iterable[str]) -> Machine:
    """The machine that is meant: a record, a JSON file, a text such as ``2*cpu + cuda``, or names of devices.

    Raises ValueError for what describes none.
    """
    if isinstance(described, Machine):
        return described
    if isinstance(described, Path) or (isinstance(described, str) and described.endswith(".json")):
        return Machine.from_json(Path(described).read_text())
    if isinstance(described, str):
        return _parse(described)
    return machine_of([str(name) for name in described])


def this_machine(named: Iterable[str] = ()) -> Machine:
    """The devices of the CPU that there are, and what a program names besides: GPUs, and devices elsewhere."""
    return machine_of([*(device.name for device in devices("cpu")), *named])


def machine_of(names: Sequence[str]) -> Machine:
    """Devices of this machine, by their names: as they were measured, else as is guessed of their kind."""
    profile = read_profile()
    measured = {processor.kind: processor for processor in profile.processors} if profile else {}
    devices = []
    for name in names:
        kind = kind_of(name)
        if kind not in KINDS:
            raise UserValueError(f"there is no device {name!r}", expected="a name such as 'cpu:1' or 'cuda:0'")
        devices.append((name, measured.get(kind, KINDS[kind])))
    return Machine(tuple(devices), profile.links if profile else ())


# -- the profile of this machine


def profile_path() -> Path:
    """Where the profile of this machine lies."""
    return user_folder() / "machine.json"


def write_profile(machine: Machine, path: Path | None = None) -> Path:
    """Keep what was measured; whoever reads at the same time reads all of the old file or all of the new one."""
    path = path or profile_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(handle, "w") as file:
            file.write(machine.to_json() + "\n")
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    read_profile.cache_clear()
    return path


@cache
def read_profile() -> Machine | None:
    """What was measured of this machine, read once; None if nothing was.

    Raises ValueError if the file is broken: it was asked for, so that it is not passed over in silence.
    """
    path = profile_path()
    try:
        text = path.read_text()
    except OSError:
        return None
    try:
        return Machine.from_json(text)
    except (UserValueError, UnicodeDecodeError) as error:
        raise UserValueError(
            f"{path} is broken: {error}", mend="measure again: jitflow doctor --measure; or remove the file"
        ) from None


# -- reading descriptions

_TERM = re.compile(r"\s*(?:(\d+)\s*\*\s*)?(\w+)\s*(?:\((.*)\))?\s*")


def _parse(text: str) -> Machine:
    """A sum of kinds with how many there are of each, and what is different from what is known of the kind."""
    if text.lstrip().startswith("{"):
        return Machine.from_json(text)
    counts: dict[str, int] = {}
    devices: list[tuple[str, Processor]] = []
    for term in re.split(r"\+(?![^(]*\))", text):
        found = _TERM.fullmatch(term)
        if found is None or found[2] not in KINDS:
            raise UserValueError(
                f"expected a description of devices, got {text!r}",
                expected="kinds with their numbers, as in '2*cpu' or 'cpu + 4*cuda(memory=80e9)'",
            )
        kind = found[2]
        processor = _changed(machine_of([f"{kind}:0"]).processors[0], found[3] or "", text)
        for _ in range(int(found[1] or 1)):
            devices.append((f"{kind}:{counts.get(kind, 0)}", processor))
            counts[kind] = counts.get(kind, 0) + 1
    if not devices:
        raise UserValueError(f"expected at least one device, got {text!r}")
    return Machine(tuple(devices), machine_of([]).links)


def _changed(processor: Processor, changes: str, text: str) -> Processor:
    try:
        pairs = [change.split("=") for change in changes.split(",") if change.strip()]
        return replace(processor, **{name.strip(): float(number) for name, number in pairs})  # type: ignore[arg-type]
    except (ValueError, TypeError) as error:
        raise UserValueError(f"{text!r}: {error}", expected=f"some of {', '.join(_FIELDS)}") from None


_FIELDS = tuple(field.name for field in dataclasses.fields(Processor) if field.name != "kind")


def _device_of(entry: Mapping[str, Any]) -> tuple[str, Processor]:
    name = str(entry["name"])
    unknown = entry.keys() - {"name", "kind", *_FIELDS}
    if unknown:
        raise ValueError(f"{name} has no {', '.join(sorted(unknown))}")
    amounts: dict[str, Any] = {field: _amount(entry, field) for field in _FIELDS if field in entry}
    return name, replace(KINDS[kind_of(name)], **amounts)


def _amount(entry: Mapping[str, Any], field: str) -> float:
    number = float(entry[field])
    if not 0 <= number < float("inf") or (number == 0 and field not in ("memory", "latency")):
        raise ValueError(f"{field} is {number}")
    return number
