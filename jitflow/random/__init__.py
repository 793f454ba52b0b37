"""Random numbers that compiled programs draw: `Generator`, a counter-based generator with NumPy's methods."""

from __future__ import annotations

from jitflow.random.generator import Generator

__all__ = ["Generator"]
