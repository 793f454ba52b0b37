"""The functions that native code calls: checking and making arrays, reading dicts, putting exceptions away, polling.

They stand in one module that is compiled once and never freed, and entries find them in the same
table as Python's functions. So an entry is little more than a list of calls, and compiles in a
millisecond or two; a dict of twenty arrays costs twenty calls, not twenty copies of the code.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache

from jitflow.runtime.native.native_code import NativeCode, make_immortal
from jitflow.runtime.native.pending import DRAWER
from jitflow.runtime.native.polling import breathe, clock_address
from jitflow.runtime.native.python_api import (
    NUMPY_FUNCTIONS,
    PYTHON_FUNCTIONS,
    SUPPORT_FUNCTIONS,
    api_offset,
    numpy_function,
    python_function,
)


@cache
def api_table() -> int:
    """The address of the table of functions, which is never freed."""
    code = NativeCode(_text)
    make_immortal(code)
    addresses = [
        *map(python_function, PYTHON_FUNCTIONS),
        *map(numpy_function, NUMPY_FUNCTIONS),
        *map(code.address, SUPPORT_FUNCTIONS),
    ]
    table = (ctypes.c_void_p * len(addresses))(*addresses)
    make_immortal(table)
    drawer_name, next_name = sys.intern("exception"), sys.intern("tb_next")
    make_immortal((drawer_name, next_name))
    make_immortal(wait_for_variables)
    make_immortal(breathe)
    variables = {
        "drawer": id(DRAWER),
        "drawer_name": id(drawer_name),
        "next_name": id(next_name),
        "none": id(None),
        "poll_api": ctypes.addressof(table),
        "poll_breathe": id(breathe),
        "clock": clock_address(),
        "wait": id(wait_for_variables),
    }
    for name, value in variables.items():
        ctypes.c_void_p.from_address(code.address(name)).value = value
    return ctypes.addressof(table)


def wait_for_variables(frame: int) -> None:
    """Wait until it is the turn of a call that uses variables. Raises RuntimeError where that would never be."""
    from jitflow.runtime.native.locks import wait

    wait(frame)


def api_address(name: str) -> int:
    """The address of one function of the table."""
    return ctypes.c_void_p.from_address(api_table() + api_offset(name)).value or 0


def _text() -> str:
    from jitflow.runtime.native.support_text import support_text

    return support_text()
