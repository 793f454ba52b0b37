"""NumPy without its warnings, which compiled functions do not give."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

__all__ = ["quiet"]


@contextmanager
def quiet() -> Iterator[None]:
    """Ignore floating-point and deprecation warnings."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
