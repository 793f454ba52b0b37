"""Replicas and servers as threads of the test's process: the protocol without Ray."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from jitflow.cluster.memory import machine_name
from jitflow.cluster.reducer import Reducer
from jitflow.cluster.rounds import Leader
from jitflow.cluster.shard import Shard
from jitflow.cluster.worker import Outcome, Worker


class LocalPeers:
    """Parts of each peer by name; calls run on threads of a pool."""

    def __init__(self, parts: list[dict[str, Any]], pool: ThreadPoolExecutor) -> None:
        self.parts, self.pool = parts, pool
        self.machines = [machine_name()] * len(parts)

    def ask(self, where: int, part: str, method: str, *arguments: Any) -> Any:
        return self.pool.submit(getattr(self.parts[where][part], method), *arguments)

    def answers(self, asked: Any) -> list[Any]:
        return [one.result(60) for one in asked]


def run_locally(
    make_model: Any, data: Any, steps: int, *, workers: int = 2, servers: int = 2, mode: str = "sync", backup: int = 0,
    share: bool = True, every: int = 0, delays: Any = None,
) -> tuple[list[Worker], list[dict[str, Any]], list[Outcome]]:  # fmt: skip
    """Run replicas to their end; the workers, the parts of the servers, and how each worker ended."""
    count = workers + backup
    leader = Leader(workers, count)
    hosts = count if mode == "allreduce" else servers
    kind: Any = Reducer if mode == "allreduce" else Shard
    parts = [{"leader": leader, "shard": kind(number, hosts, *([every] * (kind is Shard)))} for number in range(hosts)]
    leader.begin(1, 0)
    for one in parts:
        one["shard"].begin(1, 0)
    with ThreadPoolExecutor(64) as calls, ThreadPoolExecutor(count) as runs:
        peers = LocalPeers(parts, calls)

        def whole(part: int) -> tuple[Worker, Outcome]:
            worker = Worker(make_model, part, count, mode, None if delays is None else delays[part])
            worker.connect(peers, share)
            return worker, worker.run(1, data, 0, steps, False)

        try:
            found = [one.result(120) for one in [runs.submit(whole, part) for part in range(count)]]
        except BaseException:
            leader.abort("a replica failed")
            for one in parts:
                one["shard"].abort("a replica failed")
            raise
    return [worker for worker, _ in found], parts, [outcome for _, outcome in found]
