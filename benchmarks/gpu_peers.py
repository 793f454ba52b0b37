"""The peers on a GPU: their arrays lie there, and a run only asks for work. Each is waited for in its own way.

Everybody multiplies matrices of f32 in f32, as NumPy does: JAX is told so (`gpu_session.ON_GPU`), others do anyway.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import numpy as np

from .peers import Peer, Run, prepare_jax
from .training_peers import TrainingPeer
from .workload import Inputs, Workload

__all__ = ["DEVICE", "PEERS", "TRAINING_PEERS"]

DEVICE = "cuda:0"


def _prepare_jitflow(workload: Workload, inputs: Inputs) -> Run:
    import jitflow
    from jitflow.runtime.native.cuda import gpu

    compiled = jitflow.function(workload.function)
    arguments = [gpu(DEVICE).put(value) if isinstance(value, np.ndarray) else value for value in inputs]
    return lambda: compiled(*arguments)


def _finish_jitflow(results: Any) -> None:
    from jitflow.runtime.native.cuda import gpu

    gpu(DEVICE).synchronize()


def _prepare_cupy(workload: Workload, inputs: Inputs) -> Run | None:
    if workload.cupy is None:
        return None
    import cupy

    form = workload.cupy()
    arguments = [cupy.asarray(value) if isinstance(value, np.ndarray) else value for value in inputs]
    return lambda: form(*arguments)


def _finish_cupy(results: Any) -> None:
    import cupy

    cupy.cuda.get_current_stream().synchronize()


def _finish_jax(results: Any) -> None:
    import jax

    jax.block_until_ready(results)


def _prepare_torch(workload: Workload, inputs: Inputs, mode: str | None = None) -> Run | None:
    if workload.torch is None:
        return None
    import torch

    torch.compiler.reset()
    compiled = torch.compile(workload.torch(), mode=mode)
    with _on_gpu():
        arguments = [torch.tensor(value) if isinstance(value, np.ndarray | np.generic) else value for value in inputs]

    def run() -> Any:
        with torch.inference_mode():
            return compiled(*arguments)

    return run


def _finish_torch(results: Any) -> None:
    import torch

    torch.cuda.synchronize()


def _on_gpu() -> AbstractContextManager[Any]:
    """Within, torch makes its arrays on the GPU."""
    import torch

    device: AbstractContextManager[Any] = torch.device("cuda")
    return device


_GRAPHS = "reduce-overhead"
"""What torch calls it when a compiled function is replayed as a CUDA graph."""

PEERS: dict[str, Peer] = {
    peer.name: peer
    for peer in (
        Peer("jitflow", "jitflow", _prepare_jitflow, _finish_jitflow),
        Peer("cupy", "cupy", _prepare_cupy, _finish_cupy),
        Peer("jax", "jax", partial(prepare_jax, queued=True), _finish_jax),
        Peer("torch", "torch", _prepare_torch, _finish_torch),
        Peer("torch-graphs", "torch", partial(_prepare_torch, mode=_GRAPHS), _finish_torch),
    )
}

TRAINING_PEERS: dict[str, TrainingPeer] = {
    peer.name: peer
    for peer in (
        TrainingPeer("jitflow", "jitflow", "with_jitflow", DEVICE, finish=_finish_jitflow),
        TrainingPeer("jax", "jax", "with_jax", "queued", finish=_finish_jax),
        TrainingPeer("torch", "torch", "with_torch", "compile", _on_gpu, _finish_torch),
        TrainingPeer("torch-graphs", "torch", "with_torch", _GRAPHS, _on_gpu, _finish_torch),
    )
}
