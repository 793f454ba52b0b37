"""jitflow compiles whole NumPy programs.

>>> import numpy as np, jitflow
>>> @jitflow.function
... def softmax(x):
...     e = np.exp(x - x.max(axis=1, keepdims=True))
...     return e / e.sum(axis=1, keepdims=True)

What compiles is imported when it is first needed, so that importing jitflow costs little.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jitflow.errors import CompilationWarning, CompilerBug, JitflowError, UserError

if TYPE_CHECKING:
    from builtins import breakpoint

    from jitflow import cluster, data, nn, optim, random
    from jitflow.api import CacheInfo, function
    from jitflow.checkpoints import CheckpointManager, restore, save
    from jitflow.compilation.naming import name
    from jitflow.frontend.control.explicit import cond, map, scan, while_loop
    from jitflow.frontend.outside.arguments import Spec
    from jitflow.frontend.outside.scopes import device
    from jitflow.frontend.python.callbacks import callback
    from jitflow.frontend.transforms.own_rules import fori_loop
    from jitflow.machines.hardware import devices
    from jitflow.machines.machine import Machine
    from jitflow.passes.place.placement import Placement
    from jitflow.runtime.native.pool import memory_stats
    from jitflow.runtime.parallel.threads import num_threads, set_num_threads
    from jitflow.runtime.variable import Variable
    from jitflow.simulation import simulate
    from jitflow.structure import variables
    from jitflow.timeline.profiling import profile
    from jitflow.transforms.batches import vmap
    from jitflow.transforms.gradients import (
        checkpoint,
        custom_gradient,
        grad,
        hessian,
        hvp,
        jacobian,
        jvp,
        stop_gradient,
        value_and_grad,
        vjp,
    )
    from jitflow.transforms.quantisation import quantise

__all__ = [
    "CacheInfo",
    "CheckpointManager",
    "CompilationWarning",
    "CompilerBug",
    "JitflowError",
    "Machine",
    "Placement",
    "Spec",
    "UserError",
    "Variable",
    "breakpoint",
    "callback",
    "checkpoint",
    "cluster",
    "cond",
    "custom_gradient",
    "data",
    "device",
    "devices",
    "fori_loop",
    "function",
    "grad",
    "hessian",
    "hvp",
    "jacobian",
    "jvp",
    "load",
    "map",
    "memory_stats",
    "name",
    "nn",
    "num_threads",
    "optim",
    "profile",
    "quantise",
    "random",
    "restore",
    "save",
    "scan",
    "set_num_threads",
    "simulate",
    "stop_gradient",
    "value_and_grad",
    "variables",
    "vjp",
    "vmap",
    "while_loop",
]

__version__ = "0.1.0"

_PACKAGES = ("cluster", "data", "nn", "optim", "random")
_LAZY = {
    "CheckpointManager": "jitflow.checkpoints",
    "CacheInfo": "jitflow.api",
    "Machine": "jitflow.machines.machine",
    "Placement": "jitflow.passes.place.placement",
    "Variable": "jitflow.runtime.variable",
    "Spec": "jitflow.frontend.outside.arguments",
    "breakpoint": "builtins",
    "callback": "jitflow.frontend.python.callbacks",
    "cond": "jitflow.frontend.control.explicit",
    "device": "jitflow.frontend.outside.scopes",
    "devices": "jitflow.machines.hardware",
    "fori_loop": "jitflow.frontend.transforms.own_rules",
    "function": "jitflow.api",
    "grad": "jitflow.transforms.gradients",
    "jvp": "jitflow.transforms.gradients",
    "vjp": "jitflow.transforms.gradients",
    "jacobian": "jitflow.transforms.gradients",
    "hvp": "jitflow.transforms.gradients",
    "hessian": "jitflow.transforms.gradients",
    "custom_gradient": "jitflow.transforms.gradients",
    "checkpoint": "jitflow.transforms.gradients",
    "load": "jitflow.exports.loaded",
    "map": "jitflow.frontend.control.explicit",
    "memory_stats": "jitflow.runtime.native.pool",
    "name": "jitflow.compilation.naming",
    "num_threads": "jitflow.runtime.parallel.threads",
    "profile": "jitflow.timeline.profiling",
    "quantise": "jitflow.transforms.quantisation",
    "restore": "jitflow.checkpoints",
    "save": "jitflow.checkpoints",
    "scan": "jitflow.frontend.control.explicit",
    "set_num_threads": "jitflow.runtime.parallel.threads",
    "simulate": "jitflow.simulation",
    "stop_gradient": "jitflow.transforms.gradients",
    "value_and_grad": "jitflow.transforms.gradients",
    "variables": "jitflow.structure",
    "vmap": "jitflow.transforms.batches",
    "while_loop": "jitflow.frontend.control.explicit",
}


def _member(name: str) -> Any:
    import importlib

    if name in _PACKAGES:
        return importlib.import_module(f"jitflow.{name}")
    if name not in _LAZY:
        raise AttributeError(f"module 'jitflow' has no attribute {name!r}")
    member = getattr(importlib.import_module(_LAZY[name]), name)
    globals()[name] = member
    return member


if not TYPE_CHECKING:  # a type checker that sees it believes in every name
    __getattr__ = _member


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY, *_PACKAGES})
