"""`Optimiser`: what all of them share. It is written with variables alone, as a user may write one.

An optimiser is a class with the names of its slots, which are variables beside each variable that it updates, and a
method `update`. The memory of slots is made when a variable is first seen. Hyperparameters are attributes: numbers of
the running program, so that another value compiles nothing.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from jitflow.config import CONFIG
from jitflow.errors import UserNotImplementedError, UserTypeError, UserValueError
from jitflow.optim.clipping import clip_by_global_norm, clip_by_value
from jitflow.optim.outside import is_traced, object_outside, prepared, slot_inside
from jitflow.optim.structure import pairs, require_distinct
from jitflow.remote import Remote, step_elsewhere
from jitflow.replication import Exchange, exchange_in_force
from jitflow.runtime.variable import Variable
from jitflow.transforms.scaling import in_force

__all__ = ["Optimiser", "next_rate", "runs_outside"]


class Optimiser:
    """Updates variables by gradients.

    ``learning_rate`` is a number, or a function from the number of steps done to one, such as a schedule of
    `jitflow.optim`. The attribute of this name is a variable, which holds the rate of the last step; assign to it to
    change the rate, which compiles nothing. ``steps`` is a variable as well. ``clip_value`` and ``clip_norm`` bound the
    gradients before they are used: each element, and the root of the sum of all squares.

    A class of your own gives the names of its ``slot_names``, and a method `update`.
    """

    slot_names: tuple[str, ...] = ()
    options: ClassVar[tuple[str, ...]] = ("schedule", "clip_value", "clip_norm", "weight_decay", "momentum", "nesterov")
    """Attributes that are None where they are off, so that a program can ask while it is traced."""

    def __init__(self, learning_rate: Any, *, clip_value: float | None = None, clip_norm: float | None = None) -> None:
        self.schedule = learning_rate if callable(learning_rate) else None
        first = float(learning_rate(0) if callable(learning_rate) else learning_rate)
        self.learning_rate = Variable(np.float64(first), "learning_rate", trainable=False)
        self.steps = Variable(np.int64(0), "steps", trainable=False)
        self.clip_value, self.clip_norm = clip_value, clip_norm
        self.slots: dict[str, list[Any]] = {name: [] for name in self.slot_names}
        self._owners: list[Callable[[], Any]] = []
        self._lock = threading.Lock()
        self._compiled: dict[str, Any] = {}

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "learning_rate" and "learning_rate" in vars(self):
            self.learning_rate.assign(value)
            return
        if name in self.options and not callable(value) and not value:
            value = None
        object.__setattr__(self, name, value)

    # -- what users call ----------------------------------------------------------------------------------

    def minimize(self, loss_fn: Callable[..., Any], variables: Any, *args: Any, has_aux: bool = False) -> Any:
        """One step down the gradient of ``loss_fn(*args)`` by ``variables``: its value before the step.

        ``variables`` are in any structure of dicts, lists and tuples. With ``has_aux`` the function returns a pair of
        the loss and something else, and so does this. In a compiled function the step becomes a part of it. Outside, it
        is compiled by itself: once, if ``loss_fn`` is one function, which gets what changes as ``args``.
        """
        if runs_outside():
            return self._compiled_method("minimize")(loss_fn, variables, args, has_aux)
        from jitflow.transforms.gradients import value_and_grad

        value, gradients = value_and_grad(loss_fn, has_aux=has_aux, variables=variables)(*args)
        self.apply(gradients, variables)
        return value

    def apply(self, gradients: Any, variables: Any) -> None:
        """One step along given gradients, which have the structure and the shapes of the variables."""
        if runs_outside():
            self._compiled_method("apply")(gradients, variables)
            return
        require_distinct(variables)
        exchange, scale = exchange_in_force(), in_force()
        if exchange is not None:
            self._exchange(exchange, gradients, variables)
        elif scale is None:
            self._advance(gradients, variables)
        else:
            scale.guarded([getattr(gradient, "rows", gradient) for gradient, _ in pairs(gradients, variables)],
                          lambda: self._advance(gradients, variables))  # fmt: skip

    def _exchange(self, exchange: Exchange, gradients: Any, variables: Any) -> None:
        """One step along the gradients of all replicas."""
        given = list(pairs(gradients, variables))
        if any(isinstance(variable, Remote) for _, variable in given):
            raise UserNotImplementedError(
                "replicas do not sum gradients by variables of several shards, which each of them makes for itself",
                mend="train with one process that steps, or keep the variable whole: jitflow.Variable",
            )
        own, named = [gradient for gradient, _ in given], [variable for _, variable in given]
        combined = exchange.combined(self, own, named)
        if combined is not None:
            self._advance(combined, named)

    def _advance(self, gradients: Any, variables: Any) -> None:
        everything = list(pairs(self.clipped(gradients), variables))
        found = [pair for pair in everything if not isinstance(pair[1], Remote)]
        slots = _slots_of(self, [variable for _, variable in found])
        rate = next_rate(self)
        self.steps.assign_add(1)
        found_once = (rate, *self.shared())
        by_dtype: dict[Any, Any] = {}
        for (gradient, variable), own in zip(found, slots, strict=True):
            dtype = variable.dtype
            if dtype not in by_dtype:
                by_dtype[dtype] = [np.positive(number).astype(dtype) for number in found_once]
            mine, *shared = by_dtype[dtype]
            self.update(variable, gradient.astype(dtype, copy=False), mine, *own, *shared)
        if len(found) < len(everything):
            step_elsewhere(self, [pair for pair in everything if isinstance(pair[1], Remote)], rate)

    def update(self, variable: Any, gradient: Any, rate: Any, *slots: Any) -> None:
        """Update one variable in place, and its slots; all have its shape and dtype. ``steps`` counts this step.

        Behind the slots stand the numbers of `shared`, in the variable's dtype, if there are any.
        """
        raise NotImplementedError

    def shared(self) -> tuple[Any, ...]:
        """The numbers that every update of a step needs, found once: they hang on options and ``steps`` alone."""
        return ()

    def clipped(self, gradients: Any) -> Any:
        """The gradients, clipped as the optimiser was told to."""
        if self.clip_value is not None:
            gradients = clip_by_value(gradients, self.clip_value)
        if self.clip_norm is not None:
            gradients = clip_by_global_norm(gradients, self.clip_norm)
        return gradients

    def first_value(self, slot: str) -> float:
        """What a slot holds before the first step."""
        return 0.0

    # -- compiled and plain -------------------------------------------------------------------------------

    def _compiled_method(self, name: str) -> Any:
        if name not in self._compiled:
            from jitflow.api import function

            def minimize(loss_fn: Any, variables: Any, args: Any, has_aux: Any) -> Any:
                return self.minimize(loss_fn, variables, *args, has_aux=has_aux)

            def apply(gradients: Any, variables: Any) -> None:
                self.apply(gradients, variables)

            self._compiled["minimize"] = function(minimize, static="has_aux")
            self._compiled["apply"] = function(apply)
        return self._compiled[name]

    # -- slots --------------------------------------------------------------------------------------------

    def _positions_of(self, variables: list[Any]) -> list[int]:
        with self._lock:
            return [self._position_of(variable) for variable in variables]

    def _position_of(self, variable: Any) -> int:
        """Where in the lists of slots those of a variable are; they are made if the variable is new.

        Slots that were restored before a variable was seen belong to the next new one: variables come in the order in
        which they came when the checkpoint was written.
        """
        if variable.dtype.kind not in "fV":  # bfloat16 is a V to NumPy
            raise UserTypeError(f"a variable of dtype {variable.dtype} cannot be optimised", expected="floats")
        if not self.slot_names:
            return 0
        free = [position for position, owner in enumerate(self._owners) if owner is _nobody]
        for position, owner in enumerate(self._owners):
            if owner() is variable:
                return position
        if not free:
            self._make_slots(dict.fromkeys(self.slot_names, (variable.dtype, variable.shape)))
            free = [len(self._owners) - 1]
        for name in self.slot_names:
            slot = self.slots[name][free[0]]
            if slot.shape != variable.shape or slot.dtype != variable.dtype:
                raise UserValueError(
                    f"the slot {name}.{free[0]} that was restored is {slot.dtype} of shape {slot.shape}, and the next "
                    f"variable {variable.dtype} of shape {variable.shape}",
                    mend="pass the variables in the order in which they were when the checkpoint was written",
                )
            if slot.device != variable.device:  # it is updated where the variable lives
                self.slots[name][free[0]] = Variable(slot.numpy(), slot.name, trainable=False, device=variable.device)
        self._owners[free[0]] = weakref.ref(variable)
        return free[0]

    def _make_slots(self, kinds: Mapping[str, Any]) -> None:
        for name, (dtype, shape) in kinds.items():
            value = np.full(shape, self.first_value(name), dtype)
            self.slots[name].append(Variable(value, f"{name}.{len(self._owners)}", trainable=False))
        self._owners.append(_nobody)

    __jitflow_prepares__: ClassVar[tuple[str, ...]] = ("_positions_of",)
    """What compiled code may ask for again, that an earlier process has compiled."""

    def __jitflow_content__(self) -> Any:
        """What a trace sees of the object itself, beside its class and what it asks for and reads."""
        return self.slot_names

    # -- copies and checkpoints ---------------------------------------------------------------------------

    def __jitflow_restoring__(self, kinds: Mapping[str, tuple[Any, tuple[int, ...]]]) -> None:
        """Make the slots that a checkpoint holds, so that they can be restored before a variable is seen."""
        with self._lock:
            while self.slot_names:
                found = {name: kinds.get(f"slots.{name}.{len(self._owners)}") for name in self.slot_names}
                if None in found.values():
                    break
                self._make_slots(found)

    def __getstate__(self) -> dict[str, Any]:
        """A copy belongs to copies of the variables, which it meets in the same order."""
        state = {name: value for name, value in vars(self).items() if name not in ("_lock", "_compiled")}
        return {**state, "_owners": [_nobody] * len(self._owners)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.Lock(), _compiled={})


# Functions rather than methods: what a program reads from an object outside is read again at each call.


def runs_outside() -> bool:
    """Whether a step is to be compiled by itself."""
    return not is_traced() and not CONFIG.disable


def next_rate(optimiser: Any) -> Any:
    """The learning rate of the next step."""
    if optimiser.schedule is not None:
        optimiser.learning_rate.assign(optimiser.schedule(optimiser.steps[()]))
    return optimiser.learning_rate[()]


def _slots_of(optimiser: Any, variables: list[Any]) -> list[list[Any]]:
    """The slots of each variable, as the program sees them."""
    owner, positions = object_outside(optimiser), prepared(optimiser, "_positions_of", variables)
    found = [[slot_inside(optimiser, "slots", name, place) for name in owner.slot_names] for place in positions]
    for variable, slots in zip(variables, found, strict=True):
        for slot in slots:
            assert slot.shape == variable.shape  # a fact, so that all of them are updated in one loop
    return found


def _nobody() -> None:
    """The owner of slots that no variable has taken yet."""
