"""Many machines: replicas that train one model, and what they would take on machines that are not here."""

from __future__ import annotations

from jitflow.cluster.costs import Costs, StepTimes, fit
from jitflow.cluster.simulation import Setup, Simulated, best_backup, simulate

__all__ = ["Costs", "Setup", "Simulated", "StepTimes", "best_backup", "fit", "simulate"]
