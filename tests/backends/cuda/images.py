"""What a stand-in for a GPU loads in place of machine code: source, of which each kernel becomes PTX at its launch.

NVRTC takes most of the time of these tests, and most kernels of a module are for sizes that a test never comes to.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection

from jitflow.backends.cuda import compile_to_ptx, nvrtc
from tests.backends.cuda.ptx import Kernel, parse_ptx

__all__ = ["alone", "image_of", "kernel_of"]

_KERNEL = re.compile(
    r'^extern "C" __global__ void (?:__launch_bounds__\([^)]*\) )?(\w+)\([^)]*\) \{(?:[^\n]+\}$|$.*?^\}$)', re.M | re.S
)


def alone(text: str, names: Collection[str]) -> str:
    """A module with no more kernels than these."""
    return _KERNEL.sub(lambda found: found[0] if found[1] in names else "", text)


def image_of(text: str, architecture: str) -> bytes:
    """What is loaded of a module."""
    return f"{architecture}\n{text}".encode()


def kernel_of(image: bytes, name: str) -> Kernel:
    """One kernel of a module."""
    architecture, _, text = image.decode().partition("\n")
    return _compiled(alone(text, [name]), architecture, nvrtc.OPTIONS)[name]


@functools.cache
def _compiled(text: str, architecture: str, options: tuple[str, ...]) -> dict[str, Kernel]:
    """What many tests want of the same text; those that change the options get their own."""
    return parse_ptx(compile_to_ptx(text, architecture))
