"""The arithmetic of quantised products, in NumPy: ranges of activations, levels, and the weights in bytes.

Activations have one scale and zero for all of them (affine, levels from 0 to 255), weights a scale for each column
(symmetric, -127 to 127), as in ONNX Runtime, torch.ao and TFLite. Jacob and others, Quantization and Training of Neural
Networks for Efficient Integer-Arithmetic-Only Inference, 2018.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jitflow.records import dataclass

__all__ = ["GROUP", "LEVELS", "LONGEST", "QuantisedLayer", "quantised_layer"]

GROUP = 4
"""Steps that lie side by side: as many bytes as a sum has."""
LEVELS = 255
_LARGEST = 127
LONGEST = (2**31 - 1) // (LEVELS * _LARGEST)
"""Steps of which the sum is in i32, whatever the numbers are."""

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class QuantisedLayer:
    """A product with a weight of so many ``steps``: numbers are ``scale * (level - zero)``.

    ``packed``: the weight as i32[ceil(steps / 4), columns], four steps in each, zeros behind the last one.
    ``correction``: i32[columns], what sums of levels have too much since the zero is a level. ``scales``: f32[columns],
    what a sum is to be multiplied by.
    """

    steps: int
    scale: float
    zero: int
    packed: Array
    correction: Array
    scales: Array

    def product(self, activations: Array) -> Array:
        """What the compiled product gives, up to the last bit, for a matrix [m, steps]."""
        scaled = np.rint(activations.astype(np.float32) * np.float32(1 / self.scale))
        levels = np.clip(scaled, -self.zero, LEVELS - self.zero) + self.zero
        groups, columns = self.packed.shape
        grouped = self.packed.view(np.int8).reshape(groups, columns, GROUP)
        weight = grouped.transpose(0, 2, 1).reshape(groups * GROUP, columns)[: self.steps]
        sums = levels.astype(np.float64) @ weight.astype(np.float64) - self.correction  # all of them exact
        found: Array = sums.astype(np.float32) * self.scales
        return found


def quantised_layer(weight: Array, lowest: float, highest: float) -> QuantisedLayer | None:
    """The layer of a weight [steps, columns] for activations of this range, which 0 is made part of.

    None where its scales would leave float32.
    """
    lowest, highest = min(lowest, 0.0), max(highest, 0.0)
    scale = max((highest - lowest) / LEVELS, float(np.finfo(np.float32).tiny))
    zero = int(np.clip(np.rint(-lowest / scale), 0, LEVELS))
    steps, columns = weight.shape
    largest = np.abs(weight).max(axis=0, initial=0.0).astype(np.float64)
    own = np.where(largest > 0, largest / _LARGEST, 1.0)
    if max(scale, scale * float(own.max(initial=0.0))) > float(np.finfo(np.float32).max):
        return None
    levels = np.clip(np.rint(weight / own), -_LARGEST, _LARGEST).astype(np.int8)
    groups = -(-steps // GROUP)
    padded = np.zeros((groups * GROUP, columns), np.int8)
    padded[:steps] = levels
    packed = np.ascontiguousarray(padded.reshape(groups, GROUP, columns).transpose(0, 2, 1)).view("<i4")[..., 0]
    correction = zero * levels.sum(axis=0, dtype=np.int32)
    return QuantisedLayer(steps, scale, zero, packed, correction.astype(np.int32), (own * scale).astype(np.float32))
