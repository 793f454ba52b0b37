"""The Python entry: a plan carried out step by step.

It is the specification of the native entry, and what runs where objects lie in memory in a way
that the native one does not know. It relies on nothing but Python, ctypes and NumPy's C API.

It differs from the native entry in one thing that cannot be seen: a new array is copied out of
its pool block, since taking the block over means writing into NumPy's private fields.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np

from jitflow.interruptions import pass_interruption
from jitflow.runtime.entry import plan as p
from jitflow.runtime.entry.plan import ERROR_SLOTS, Plan
from jitflow.runtime.entry.python_guards import array_fits, found_by, guard_holds, scalar_types
from jitflow.runtime.entry.python_results import ResultBuilder, Slots
from jitflow.runtime.entry.specialisation import NOT_MATCHED, Specialisation
from jitflow.runtime.generators.drawing import begin
from jitflow.runtime.native import locks
from jitflow.runtime.native.dtypes import numpy_dtype, slot_count
from jitflow.runtime.variable import HEADER


class _Mismatch(Exception):
    """The arguments do not fit the plan."""


def call(specialisation: Specialisation, arguments: tuple[Any, ...]) -> Any:
    """Call a specialisation with its flat arguments; `NOT_MATCHED` when they do not fit."""
    binding = Binding(specialisation.plan)
    if not binding.bind(arguments):
        return NOT_MATCHED
    if specialisation.guard_address and not guard_function(specialisation.guard_address)(binding.slots):
        return NOT_MATCHED
    variables = variables_of(specialisation.plan, binding)
    if variables is not None and locks.is_repeated(variables):
        return NOT_MATCHED
    specialisation.count_hit()
    results = (ctypes.c_int64 * max(specialisation.plan.result_slots, 1))()
    error = (ctypes.c_int64 * ERROR_SLOTS)()
    function = run_function(specialisation.run_address, binding.releases_gil())
    run = partial(function, ctypes.addressof(specialisation.context), binding.slots, results, error)
    builder = ResultBuilder(specialisation.plan, binding, results)
    drawing = begin(*binding.objects()) if specialisation.plan.draws else None
    try:  # what Ctrl-C raises may come as soon as the run has ended
        status = run() if variables is None else run_alone(variables, run)
        if status:
            specialisation.raise_error(status, ctypes.addressof(error))
            raise SystemError("jitflow: the error handler of a failed call did not raise")
        return builder.build()
    finally:
        if drawing is not None:
            drawing.end()
        if not error[0]:
            builder.release()


def variables_of(plan: Plan, binding: Binding) -> Slots | None:
    """What a call takes its variables with, if it uses any."""
    uses = [(binding.lock_of(use.slot), use.writes) for use in plan.uses]
    return locks.frame_of(uses) if uses else None


def run_alone(variables: Slots, run: Callable[[], int]) -> int:
    """Run while no other call uses the variables."""
    try:
        locks.lock(variables)
        return run()
    finally:
        locks.unlock(variables)


@lru_cache(maxsize=256)
def run_function(address: int, releases_gil: bool) -> Callable[..., int]:
    """A program, as a function of four addresses."""
    prototype = ctypes.CFUNCTYPE if releases_gil else ctypes.PYFUNCTYPE
    pointer = ctypes.c_void_p
    return prototype(ctypes.c_int32, pointer, pointer, pointer, pointer)(address)


@lru_cache(maxsize=256)
def guard_function(address: int) -> Callable[..., int]:
    """A plan's guard, as a function of the argument slots."""
    return ctypes.PYFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(address)


# -- arguments to slots ----------------------------------------------------------------------------


class Binding:
    """The registers and slots of one call."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.slots: Slots = (ctypes.c_int64 * max(plan.argument_slots, 1))()
        self.array_bytes = 0
        self._registers: dict[int, Any] = {}
        self._arguments: tuple[Any, ...] = ()

    def bind(self, arguments: tuple[Any, ...]) -> bool:
        """Read, check and pack; False when something does not fit."""
        self._arguments = arguments
        try:
            for check in self.plan.checks:
                thing = self.register(check.register)
                if isinstance(check, p.ArrayLeaf):
                    self._pack_array(check, thing)
                elif isinstance(check, p.ScalarLeaf):
                    self._pack_scalar(check, thing)
                elif isinstance(check, p.ObjectLeaf):
                    self.slots[check.slot] = id(thing)
                elif isinstance(check, p.IsSame | p.IsOther):
                    if (thing is self.register(check.other)) != isinstance(check, p.IsSame):
                        return False
                elif not guard_holds(check, thing):
                    return False
            for number in range(len(self.plan.reads)):
                self.register(number)
        except _Mismatch:
            return False
        return len(arguments) == len(self.plan.parameter_names)

    def objects(self) -> list[Any]:
        """The objects whose addresses are in slots."""
        return [self.register(check.register) for check in self.plan.checks if isinstance(check, p.ObjectLeaf)]

    def lock_of(self, slot: int) -> int:
        """Where the lock words lie of the variable whose array is in a slot."""
        return self.slots[slot] - HEADER

    def releases_gil(self) -> bool:
        """Whether `run` may take long enough to let other threads run."""
        threshold = self.plan.releases_gil_bytes
        return threshold is not None and self.array_bytes > threshold

    def register(self, number: int) -> Any:
        """What a register holds, read when it is first asked for."""
        if number not in self._registers:
            try:
                self._registers[number] = found_by(self.plan.reads[number], self._arguments, self.register)
            except Exception as error:
                pass_interruption(error)
                raise _Mismatch from error
        return self._registers[number]

    def _fitting(self, leaf: p.ArrayLeaf, array: Any) -> Any:
        """The array, if it is one of the leaf's class."""
        return array if array_fits(leaf, array) else None

    def _pack_array(self, leaf: p.ArrayLeaf, thing: Any) -> None:
        array = self._fitting(leaf, thing)
        if array is None:
            raise _Mismatch
        words: list[ctypes.c_int64 | int] = [array.ctypes.data, *array.shape, *array.strides]
        self.slots[leaf.slot : leaf.slot + len(words)] = words
        self.array_bytes += array.nbytes

    def _pack_scalar(self, leaf: p.ScalarLeaf, scalar: Any) -> None:
        if type(scalar) not in scalar_types(leaf):
            raise _Mismatch
        dtype = numpy_dtype(leaf.dtype)
        try:
            bits = np.array(scalar, dtype).tobytes()
        except OverflowError as error:
            raise _Mismatch from error
        signed = dtype.kind == "i"
        for place in range(slot_count(leaf.dtype)):
            word = bits[8 * place : 8 * place + 8]
            self.slots[leaf.slot + place] = _as_signed(int.from_bytes(word, "little", signed=signed))


def _as_signed(word: int) -> int:
    return word - (1 << 64) if word >> 63 else word
