"""The peers: how each of them takes the input, compiles its form of a workload, and runs it.

A peer that is not installed is left out. Input is handed over once, outside of what is timed; a run lasts until the
results are there. Each uses as many threads as its process may use cores; numba's outer loops are `prange`, which is
`range` until it compiles with ``parallel=True``.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .machine import usable_cores
from .workload import Form, Inputs, Workload

__all__ = ["PEERS", "Peer", "Run", "installed_peers", "missing_text", "prepare_jax"]

Run = Callable[[], Any]


@dataclass(frozen=True)
class Peer:
    """One way to run a workload. `prepare` returns None where the peer has no form of it."""

    name: str
    package: str
    prepare: Callable[[Workload, Inputs], Run | None]
    finish: Callable[[Any], object] = lambda results: None
    """Waits until the results of a run are there, where a run only asks for them."""

    @property
    def is_installed(self) -> bool:
        """Whether the package can be imported."""
        return importlib.util.find_spec(self.package) is not None


def _prepare_numpy(workload: Workload, inputs: Inputs) -> Run:
    return lambda: workload.function(*inputs)


def _prepare_jitflow(workload: Workload, inputs: Inputs) -> Run:
    import jitflow

    compiled = jitflow.function(workload.function)
    return lambda: compiled(*inputs)


def _prepare_numba(make_form: Callable[[], Form] | None, inputs: Inputs) -> Run | None:
    if make_form is None:
        return None
    form: Any = make_form()
    if usable_cores() > 1:
        import numba

        form = numba.njit(**{**form.targetoptions, "parallel": True})(form.py_func)
    return lambda: form(*inputs)


def prepare_jax(workload: Workload, inputs: Inputs, *, queued: bool = False) -> Run | None:
    """With ``queued`` a run does not wait for its results."""
    if workload.jax is None:
        return None
    import jax
    import jax.numpy as jnp

    step = jax.jit(workload.jax(), donate_argnums=tuple(workload.carried))
    arguments = [jnp.array(value) if isinstance(value, np.ndarray | np.generic) else value for value in inputs]

    def run() -> Any:
        results = step(*arguments)
        if not queued:
            jax.block_until_ready(results)
        for argument, result in workload.carried.items():
            arguments[argument] = results[result]
        return results

    return run


def _prepare_torch(workload: Workload, inputs: Inputs) -> Run | None:
    if workload.torch is None:
        return None
    import torch

    torch.set_num_threads(usable_cores())
    torch.compiler.reset()
    compiled = torch.compile(workload.torch())
    arguments = [torch.tensor(value) if isinstance(value, np.ndarray | np.generic) else value for value in inputs]

    def run() -> Any:
        with torch.inference_mode():
            return compiled(*arguments)

    return run


PEERS: dict[str, Peer] = {
    peer.name: peer
    for peer in (
        Peer("numpy", "numpy", _prepare_numpy),
        Peer("jitflow", "jitflow", _prepare_jitflow),
        Peer("numba-array", "numba", lambda workload, inputs: _prepare_numba(workload.numba_array, inputs)),
        Peer("numba-loops", "numba", lambda workload, inputs: _prepare_numba(workload.numba_loops, inputs)),
        Peer("jax", "jax", prepare_jax),
        Peer("torch", "torch", _prepare_torch),
    )
}


def installed_peers(names: Sequence[str] = ()) -> list[Peer]:
    """Return the peers that can run here; NumPy is always among them, being the oracle.

    With `names`, only those; "numba" names both of its forms.
    """
    return [peer for peer in _chosen(names) if peer.is_installed]


def missing_text(names: Sequence[str] = (), peers: Mapping[str, Peer] = PEERS) -> str:
    """Which of the peers that were asked for are not installed, and how to install them; empty if all are."""
    packages = list(dict.fromkeys(peer.package for peer in _chosen(names, peers) if not peer.is_installed))
    if not packages:
        return ""
    return f"not installed: {', '.join(packages)} (pip install {' '.join(packages)}, or all with 'jitflow[bench]')"


def _chosen(names: Sequence[str], peers: Mapping[str, Peer] = PEERS) -> list[Peer]:
    return [
        peer
        for peer in peers.values()
        if not names or peer.name == "numpy" or peer.name in names or peer.package in names
    ]
