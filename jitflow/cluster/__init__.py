"""Many processes and machines: replicas of a model, servers that hold its variables, on Ray; a simulator of them."""

from __future__ import annotations

from jitflow.cluster.attempt import Run
from jitflow.cluster.connection import Cluster, connect
from jitflow.cluster.costs import Costs, StepTimes, fit
from jitflow.cluster.measuring import measure
from jitflow.cluster.replicas import Replicas
from jitflow.cluster.saving import restore, save
from jitflow.cluster.sharded import ShardedVariable
from jitflow.cluster.simulation import Setup, Simulated, best_backup, simulate
from jitflow.cluster.worker import Replica, replica

__all__ = [
    "Cluster",
    "Costs",
    "Replica",
    "Replicas",
    "Run",
    "Setup",
    "ShardedVariable",
    "Simulated",
    "StepTimes",
    "best_backup",
    "connect",
    "fit",
    "measure",
    "replica",
    "restore",
    "save",
    "simulate",
]
