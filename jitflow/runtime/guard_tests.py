"""What guards ask of an object beside its type and identity.

These are functions of the runtime: a process that finds its code on disk asks them without importing what traces.
"""

from __future__ import annotations

from types import CellType
from typing import Any

import numpy as np

__all__ = ["has_keys", "is_read_only", "is_unbound", "lacks_attribute", "lacks_key"]


def lacks_attribute(name: str, thing: Any) -> bool:
    """Whether something has no such attribute."""
    return not hasattr(thing, name)


def lacks_key(name: str, namespace: dict[str, Any]) -> bool:
    """Whether a name is in no namespace."""
    return name not in namespace


def has_keys(identities: frozenset[int], thing: dict[Any, Any]) -> bool:
    """Whether these very objects are among the keys of a dict."""
    return identities <= {id(key) for key in thing}


def is_unbound(cell: CellType) -> bool:
    """Whether a name that functions share has no value."""
    try:
        return cell.cell_contents is cell
    except ValueError:
        return True


def is_read_only(array: Any) -> bool:
    """Whether an array may not be written to."""
    if type(array) is np.ndarray:
        return not array.flags.writeable
    from jitflow.runtime.device_arrays import header_of

    header = header_of(array)
    return header is not None and not header.flags.writeable
