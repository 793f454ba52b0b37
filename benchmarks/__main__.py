"""`python -m benchmarks`: the command `jitflow bench`, from a checkout."""

from __future__ import annotations

import typer

from .command import bench

typer.run(bench)
