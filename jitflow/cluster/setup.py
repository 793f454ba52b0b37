"""How many replicas there are, and what a step of theirs moves."""

from __future__ import annotations

from jitflow.cluster.costs import check_amount, check_count
from jitflow.errors import UserValueError
from jitflow.records import dataclass

__all__ = ["MODES", "Setup"]

MODES = ("sync", "async", "allreduce")


@dataclass(frozen=True, slots=True)
class Setup:
    """How replicas train a model: who there is, and what a step of each worker moves.

    ``workers``, ``servers``, ``mode``, ``backup`` and ``staleness`` are those of `Replicas`: with backups, gradients of
    the first ``workers`` of ``workers + backup`` count; with a staleness, no asynchronous worker is more steps ahead of
    the slowest than that. Without servers (``"allreduce"``), ``servers`` means nothing.
    ``gradient_bytes``: a dense gradient, of which each server gets an equal part. ``value_bytes``: the dense values
    that come back; None: as many. ``row_bytes``: rows of sharded tables that a step reads before it computes, and whose
    gradients it sends after, spread evenly over the servers. ``served``: seconds that servers compute for a worker's
    step, divided among them, as for a softmax that is computed where its shards are. ``examples``: in a worker's batch.

    Raises ValueError for numbers that are too small, a mode that there is not, and backups, a staleness, rows or what
    servers compute in a mode that has none.
    """

    workers: int
    servers: int = 1
    mode: str = "sync"
    backup: int = 0
    staleness: int | None = None
    gradient_bytes: float = 0.0
    value_bytes: float | None = None
    row_bytes: float = 0.0
    served: float = 0.0
    examples: int = 1

    def __post_init__(self) -> None:
        for name, least in (("workers", 1), ("servers", 0), ("backup", 0), ("examples", 1)):
            check_count(name, getattr(self, name), least)
        for name in ("gradient_bytes", "value_bytes", "row_bytes", "served"):
            if getattr(self, name) is not None:
                check_amount(name, getattr(self, name))
        if self.mode not in MODES:
            raise UserValueError(f"there is no mode {self.mode!r}", expected="one of " + ", ".join(map(repr, MODES)))
        if self.backup and self.mode != "sync":
            raise UserValueError(f"backups are for synchronous replicas, got mode={self.mode!r}", mend="backup=0")
        if self.staleness is not None:
            check_count("staleness", self.staleness, 0)
            if self.mode != "async":
                raise UserValueError(f"staleness is for asynchronous replicas, got mode={self.mode!r}")
        if self.mode != "allreduce" and not self.servers:
            raise UserValueError(f"mode={self.mode!r} needs at least one server", mend="mode='allreduce' needs none")
        if self.mode == "allreduce" and (self.row_bytes or self.served):
            raise UserValueError("mode='allreduce' has no servers that hold rows or compute", mend="mode='sync'")

    @property
    def values(self) -> float:
        """Bytes of the values that come back to a worker."""
        return self.gradient_bytes if self.value_bytes is None else self.value_bytes

    def __str__(self) -> str:
        backups = f" and {self.backup} backups" if self.backup else ""
        servers = "" if self.mode == "allreduce" else f", {self.servers} servers"
        return f"{self.mode}, {self.workers} workers{backups}{servers}"
