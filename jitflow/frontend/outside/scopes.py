"""The scope in which a program asks for a device."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any

from jitflow.frontend.recording.trace import active_trace
from jitflow.hardware import Device, device_named

__all__ = ["device", "on_device"]


class device:  # noqa: N801  it reads as a statement
    """``with jitflow.device("cpu:1"):`` what a compiled function computes inside is computed on that device.

    Scopes inside others win, and so do variables: what reads or writes one is done where it lives. What stands in no
    scope is placed by what it costs. Outside of compiled functions nothing happens.

    Raises TypeError and ValueError as `device_named` does.
    """

    def __init__(self, name: str | Device) -> None:
        self.name = device_named(name)
        self._outer: list[tuple[Any, str]] = []

    def __enter__(self) -> device:
        trace = active_trace()
        if trace is not None:
            self._outer.append((trace, trace.device))
            trace.device = self.name
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._outer:
            trace, outer = self._outer.pop()
            trace.device = outer

    def __repr__(self) -> str:
        return f"jitflow.device({self.name!r})"


def on_device(name: str, function: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
    """What a function of the program gives if it runs in the scope of a device."""
    with device(name):
        return function(*args, **keywords)
