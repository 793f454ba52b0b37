"""Call sites of routines on a GPU: as in `host_calls`, with arrays that stay on the device, in the order of its stream.

Behind the words of the operands stands the program's stream. Arguments are arrays of cupy's over the addresses, without
a copy; what comes back is copied into the program's memory, or into new memory of the device. Numbers are memory of the
host.

*For what cupy has no answer, NumPy is asked*, on copies of the operands: arrays without elements, matrices that are
singular or hold nan. NumPy knows what to raise, or has an answer after all.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from jitflow.errors import exception_class
from jitflow.ir.routine_table import SUCCEEDS
from jitflow.ir.routines import adopt_results, argument_of, call_of, options_of, prepared, results_of, routine_on_gpu
from jitflow.runtime.calls.host_calls import CallSite
from jitflow.runtime.native.cuda import Gpu, gpu

__all__ = ["DeviceCallSite"]

Call = Callable[[Sequence[Any]], Any]


class DeviceCallSite(CallSite):
    """What one ``invoke`` with a device runs."""

    def __init__(self, attributes: Mapping[str, Any]) -> None:
        super().__init__(attributes)
        self._gpu = gpu(attributes["device"])
        self._answer = _answering(self._gpu, self.routine, attributes["keywords"], attributes["options"])

    def run(self, operands: int, results: int) -> None:
        """Call the routine on the operand words at an address, and fill in the result words at another."""
        words = (ctypes.c_int64 * (self._operand_words + 1)).from_address(operands)
        with self._gpu.working_on(words[self._operand_words]):
            arguments, start = [], 0
            for dtype, kind, rank in self._takes:
                end = start + 1 + 2 * rank
                arguments.append(self._argument(dtype, kind, words[start:end]))
                start = end
            found = results_of(self.routine, self._answer(arguments), len(self._dtypes))
            if self._dtypes:
                self._hand_over(found, results)

    def _argument(self, dtype: Any, kind: int | str, words: Sequence[int]) -> Any:
        address, *sizes = words
        if isinstance(kind, str):
            content = (ctypes.c_uint8 * dtype.itemsize).from_address(address)
            return argument_of(np.ndarray((), dtype, content), kind)
        return self._gpu.array(address, sizes[:kind], dtype, sizes[kind:])

    def _hand_over(self, found: Sequence[Any], address: int) -> None:
        words = (ctypes.c_int64 * self._starts[-1]).from_address(address)
        shapes = [words[start + 1 : end] for start, end in pairwise(self._starts)]
        arrays, _ = adopt_results(self.routine, found, self._dtypes, shapes, self._fresh, self._gpu.put)
        blocks: list[int] = []
        try:
            for start, array in zip(self._starts, arrays, strict=False):
                words[start + 1 : start + 1 + array.ndim] = list(array.shape)
                if not words[start]:
                    words[start] = self._gpu.allocate(array.nbytes)
                    blocks.append(words[start])
                if array.size:
                    self._gpu.array(words[start], array.shape, array.dtype)[...] = array
        except BaseException:
            for block in blocks:
                self._gpu.free(block)
            raise


def _answering(device: Gpu, routine: str, keywords: Sequence[str], options: Sequence[tuple[str, Any]]) -> Call:
    """A function of arguments on the device that gives the results of a routine."""
    if routine == SUCCEEDS:
        return _succeeding(device, **options_of(options))
    there, here = call_of(routine_on_gpu(routine), ["", *keywords], options), prepared(routine, keywords, options)

    def answer(arguments: Sequence[Any]) -> Any:
        if all(getattr(argument, "size", 1) for argument in arguments):
            try:
                return there([device.library, *arguments])
            except ValueError:  # as all that cupy says of values, and LinAlgError
                pass
        return here([device.copy_of(argument) for argument in arguments])

    return answer


def _succeeding(
    device: Gpu, routine: str, keywords: Sequence[str], options: Sequence[tuple[str, Any]], errors: Sequence[str]
) -> Call:
    """As `routines.succeeds`."""
    answer, expected = _answering(device, routine, keywords, options), tuple(map(exception_class, errors))

    def succeeds(arguments: Sequence[Any]) -> Any:
        try:
            answer(arguments)
        except expected:
            return np.False_
        except Exception:  # the call itself will raise it
            return np.True_
        return np.True_

    return succeeds
