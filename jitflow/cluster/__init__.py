"""Many processes and machines: replicas of a model, and servers that hold its variables, on Ray."""

from __future__ import annotations

from jitflow.cluster.attempt import Run
from jitflow.cluster.connection import Cluster, connect
from jitflow.cluster.replicas import Replicas
from jitflow.cluster.worker import Replica, replica

__all__ = ["Cluster", "Replica", "Replicas", "Run", "connect", "replica"]
