"""Checkpoints: the variables of any structure of objects in one safetensors file, as they were between two steps."""

from __future__ import annotations

from jitflow.checkpoints.manager import Checkpoint, CheckpointManager
from jitflow.checkpoints.store import Restored, restore, save

__all__ = ["Checkpoint", "CheckpointManager", "Restored", "restore", "save"]
