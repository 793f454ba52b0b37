"""The table of emission: what each op of kernels and host programs becomes, and which ops never get here."""

from __future__ import annotations

from jitflow.backends.llvm.emission.emit_calls import CALL_EMISSION
from jitflow.backends.llvm.emission.emit_containers import CONTAINER_EMISSION
from jitflow.backends.llvm.emission.emit_control import CONTROL_EMISSION
from jitflow.backends.llvm.emission.emit_device import DEVICE_EMISSION
from jitflow.backends.llvm.emission.emit_draw import DRAW_EMISSION
from jitflow.backends.llvm.emission.emit_elementwise import ELEMENTWISE_EMISSION
from jitflow.backends.llvm.emission.emit_held_arrays import HELD_ARRAY_EMISSION
from jitflow.backends.llvm.emission.emit_host import HOST_EMISSION
from jitflow.backends.llvm.emission.emit_invoke import INVOKE_EMISSION
from jitflow.backends.llvm.emission.emit_lanes import LANE_EMISSION
from jitflow.backends.llvm.emission.emit_loops import LOOP_EMISSION
from jitflow.backends.llvm.emission.emit_memory import MEMORY_EMISSION
from jitflow.backends.llvm.emission.emit_messages import MESSAGE_EMISSION
from jitflow.backends.llvm.emission.emit_notes import NOTES_EMISSION
from jitflow.backends.llvm.emission.emit_sharing import SHARING_EMISSION
from jitflow.backends.llvm.emission.emit_tape import TAPE_EMISSION
from jitflow.backends.llvm.emission.emit_texts import TEXT_EMISSION
from jitflow.backends.llvm.emission.emitter import Emission
from jitflow.backends.llvm.products.emit_blocks import BLOCK_EMISSION
from jitflow.backends.llvm.products.emit_gathered_panels import GATHERED_EMISSION
from jitflow.backends.llvm.products.emit_overlap import OVERLAP_EMISSION
from jitflow.backends.llvm.products.emit_panels import PANEL_EMISSION

__all__ = ["EMISSION", "REMOVED_BY_EXPANSION", "REMOVED_BY_LOWERING"]

EMISSION: dict[str, Emission] = {
    **ELEMENTWISE_EMISSION,
    **MEMORY_EMISSION,
    **LANE_EMISSION,
    **CONTROL_EMISSION,
    **CALL_EMISSION,
    **LOOP_EMISSION,
    **HOST_EMISSION,
    **DEVICE_EMISSION,
    **INVOKE_EMISSION,
    **DRAW_EMISSION,
    **MESSAGE_EMISSION,
    **NOTES_EMISSION,
    **TAPE_EMISSION,
    **CONTAINER_EMISSION,
    **HELD_ARRAY_EMISSION,
    **TEXT_EMISSION,
    **BLOCK_EMISSION,
    **OVERLAP_EMISSION,
    **PANEL_EMISSION,
    **GATHERED_EMISSION,
    **SHARING_EMISSION,
}

REMOVED_BY_EXPANSION = {
    "floor_divide": "f", "remainder": "f", "power": "iu", "sign": "iuf", "logaddexp": "f", "logaddexp2": "f",
    "random_low": "u", "random_high": "u", "flush": "f", "power_modulo": "iu",
}  # fmt: skip
"""Ops that expansions turn into others before machine code is written, by the kinds of dtype for which they do. All
arithmetic on complex numbers is expanded into arithmetic on their parts, too."""

REMOVED_BY_LOWERING = frozenset({"print", "recursion", "recur"})
"""Ops of every layer that lowering, placement or the runtime replace."""
