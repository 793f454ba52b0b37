"""Runs whole programs as a GPU would: the host program by the reference interpreter, each launch as PTX."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any
from unittest import mock

import numpy as np

from jitflow.backends.cuda import compile_to_ptx, print_program
from jitflow.ir import interpreter
from jitflow.ir.core import Function, Op
from jitflow.ir.ops.memory import Memory
from jitflow.passes.expand.expand import expand
from jitflow.passes.lower import GPU, lower
from jitflow.passes.pipeline import FUSION_PIPELINE, run_passes
from tests.backends.cuda.ptx import parse_ptx, run_ptx
from tests.execute import layouts_of

__all__ = ["Simulated"]


class Simulated:
    """A tensor function compiled to PTX, for the layout classes of arguments (C if there are none) and all sizes.

    ``change`` may plant a fault in the source.
    """

    def __init__(self, function: Function, arguments: Sequence[Any] = (), change: Callable[[str], str] = str) -> None:
        layouts = layouts_of(arguments) if arguments else ("C",) * len(function.parameters)
        attributes = MappingProxyType({**function.attributes, "layouts": layouts})
        self.lowered = lower(run_passes(replace(function, attributes=attributes), FUSION_PIPELINE), GPU)
        self.host = expand(self.lowered.host)
        self.module = print_program(self.host)
        self.kernels = parse_ptx(compile_to_ptx(change(self.module.text), "compute_75"))
        self.launches = {launch.kernel: launch for launch in self.module.launches}

    def __call__(self, *arguments: Any) -> tuple[Any, ...]:
        slots: list[Any] = []
        for argument in arguments:
            slots += [argument, *argument.shape, *argument.strides] if isinstance(argument, np.ndarray) else [argument]
        with mock.patch.dict(interpreter._SPECIAL, launch=lambda _, op, operands, sizes: self._launch(op, operands)):
            results = interpreter.interpret(self.host, *slots)
        return tuple(_result(place, results) for place in self.lowered.places)

    def _launch(self, op: Op, operands: Sequence[Any]) -> tuple[()]:
        launch = self.launches[op.attributes["kernel"]]
        words = [(operand.content, operand.start) if isinstance(operand, Memory) else operand for operand in operands]
        error = np.zeros(16, np.uint64)
        if launch.takes_error:
            words.append(error.view(np.uint8))
        sizes = [operand if isinstance(operand, int) else 0 for operand in operands]
        run_ptx(self.kernels[launch.kernel], words, *launch.shape(sizes))
        if error[0]:
            site = self.module.sites[int(error[1])]
            values = error.view(np.int64)[2:]
            raise getattr(builtins, site.attributes["error"])(site.attributes["message"].format(*values))
        return ()


def _result(place: Any, results: Sequence[Any]) -> Any:
    if place.kind == "scalar":
        return results[place.slot]
    memory, *numbers = results[place.slot : place.slot + 1 + 2 * place.rank]
    dims, strides = numbers[: place.rank], numbers[place.rank :]
    if 0 in dims:
        return np.empty(dims, place.dtype.numpy)
    return np.ndarray(dims, place.dtype.numpy, memory.content, memory.start, strides).copy()
