"""The table of emission: what each op of kernels becomes. Host ops never get here: the runtime launches kernels."""

from __future__ import annotations

from jitflow.backends.cuda.emit_arithmetic import ARITHMETIC_EMISSION
from jitflow.backends.cuda.emit_attend import ATTEND_EMISSION
from jitflow.backends.cuda.emit_control import CONTROL_EMISSION
from jitflow.backends.cuda.emit_memory import LANE_EMISSION, MEMORY_EMISSION
from jitflow.backends.cuda.emit_team import TEAM_EMISSION
from jitflow.backends.cuda.emit_tiles import TILE_EMISSION
from jitflow.backends.cuda.printer import Emission

__all__ = ["EMISSION"]

EMISSION: dict[str, Emission] = {
    **ARITHMETIC_EMISSION,
    **MEMORY_EMISSION,
    **LANE_EMISSION,
    **CONTROL_EMISSION,
    **TEAM_EMISSION,
    **TILE_EMISSION,
    **ATTEND_EMISSION,
}
