"""How each peer trains: a file for each library, with a function for each model, in the form that suits the library.

Each takes a `Case` and gives a function without arguments that makes one step and returns when its results are there:
the loss, for the classifier, and for the LSTM its loss and gradients. Inputs were handed over before.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from ..training_cases import Case

__all__ = ["PEERS", "TrainingPeer"]


@dataclass(frozen=True)
class TrainingPeer:
    """A library, and how it is asked to run: ``mode`` is what the functions of its file take.

    ``scope`` is one in which what a step works on is made; ``finish`` waits for what a step gives, if that does not.
    """

    name: str
    package: str
    file: str
    mode: str = ""
    scope: Callable[[], AbstractContextManager[Any]] = nullcontext
    finish: Callable[[Any], object] = lambda results: None

    def prepare(self, case: Case) -> Callable[[], Any]:
        """A function that makes one step."""
        module = importlib.import_module(f"{__name__}.{self.file}")
        make: Callable[..., Callable[[], Any]] = getattr(module, case.model)
        with self.scope():
            return make(case, self.mode)


PEERS = {
    peer.name: peer
    for peer in (
        TrainingPeer("jitflow", "jitflow", "with_jitflow"),
        TrainingPeer("tensorflow", "tensorflow", "with_tensorflow"),
        TrainingPeer("tensorflow-xla", "tensorflow", "with_tensorflow", "xla"),
        TrainingPeer("jax", "jax", "with_jax"),
        TrainingPeer("torch", "torch", "with_torch"),
        TrainingPeer("torch-compile", "torch", "with_torch", "compile"),
    )
}
