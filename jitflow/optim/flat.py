"""All variables as one vector, for optimisers that need products of gradients: what these share."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from jitflow.errors import UserNotImplementedError, UserTypeError, UserValueError
from jitflow.optim.optimiser import Optimiser
from jitflow.optim.outside import inside, object_outside, plainly
from jitflow.optim.structure import pairs, require_distinct
from jitflow.remote import Remote
from jitflow.replication import exchange_in_force

__all__ = ["FlatOptimiser", "flat", "move"]


def flat(gradients: Any, variables: Any) -> Any:
    """The gradients by some variables as one vector."""
    return np.concatenate([gradient.reshape(-1) for gradient, _ in pairs(gradients, variables)])


def move(variables: Any, by: Any) -> None:
    """Add the parts of a vector to the variables that they belong to, in place."""
    start = 0
    for variable, _ in pairs(variables, variables):
        variable += by[start : start + variable.size].reshape(variable.shape)
        start = start + variable.size


class FlatOptimiser(Optimiser):
    """An optimiser of one set of variables, of one dtype. Its slots have shapes of their own."""

    __jitflow_prepares__ = ()  # the shapes of slots are seen, whatever they depend on

    def slot_shapes(self, length: int) -> dict[str, tuple[int, ...]]:
        """The shape of each slot, for variables of ``length`` elements together."""
        raise NotImplementedError

    def memory_of(self, variables: Any) -> dict[str, Any]:
        """The slots, as the program sees them, by name."""
        require_distinct(variables)
        owner = object_outside(self)
        elsewhere = any(isinstance(variable, Remote) for variable, _ in pairs(variables, variables))
        if exchange_in_force() is not None or elsewhere:
            who = "servers of a variable" if elsewhere else "replicas"
            raise UserNotImplementedError(
                f"{type(owner).__name__} needs the loss at several places in a step, which {who} do not evaluate",
                mend="train with another optimiser, such as Adam",
            )
        outside = [object_outside(variable) for variable, _ in pairs(variables, variables)]
        plainly(lambda: owner._prepare(outside))
        slots = {name: inside(owner.slots[name][0]) for name in owner.slot_names}
        wanted = owner.slot_shapes(sum(variable.size for variable, _ in pairs(variables, variables)))
        for name, slot in slots.items():
            assert slot.shape == wanted[name]  # a fact
        return slots

    def _prepare(self, variables: list[Any]) -> None:
        dtype = variables[0].dtype
        if dtype.kind not in "fV" or any(variable.dtype != dtype for variable in variables):
            found = ", ".join(sorted({str(variable.dtype) for variable in variables}))
            message = f"{type(self).__name__} needs variables of one dtype of floats"
            raise UserTypeError(message, found=found, mend="make all variables of one dtype")
        with self._lock:
            shapes = self.slot_shapes(sum(variable.size for variable in variables))
            if not self._owners:
                self._make_slots({name: (dtype, shape) for name, shape in shapes.items()})
            known = [id(owner()) for owner in self._owners if owner() is not None]
            fits = all(self.slots[name][0].shape == shape for name, shape in shapes.items())
            if not fits or (known and known != [id(variable) for variable in variables]):
                raise UserValueError(
                    f"{type(self).__name__} is called with other variables than before",
                    mend="use an optimiser for each set of variables",
                )
            self._owners[:] = [weakref.ref(variable) for variable in variables]
