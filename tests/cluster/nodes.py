"""Nodes that are objects of the test's process: all but the start of processes is as it is on a cluster."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from jitflow.cluster import nodes
from jitflow.cluster.node import Node


class LocalProcess:
    """The methods of a node run on threads, with copies of what they are given."""

    def __init__(self) -> None:
        self.node, self.pool = Node(), ThreadPoolExecutor(32)
        self.killed = False
        self.asked: list[str] = []

    def ask(self, method: str, *arguments: Any) -> Any:
        self.asked.append(method)
        return self.pool.submit(getattr(self.node, method), *pickle.loads(pickle.dumps(arguments)))

    def answer(self, asked: Any, seconds: float) -> Any:
        if self.killed:
            raise nodes.Died("it was killed")
        return asked.result(seconds)

    def kill(self) -> None:
        self.killed = True


@contextmanager
def local_nodes(count: int, how: str = "lines") -> Iterator[list[LocalProcess]]:
    """Nodes that talk by ``lines``, by ``messages`` with shared memory, or by messages alone, ``apart``."""
    lines: list[LocalProcess] = []

    def start(number: int) -> LocalProcess:
        lines.append(LocalProcess())
        return lines[-1]

    nodes.use(start, count)
    try:
        nodes.names()
        for number in range(1, count):
            handle = nodes.node(number)
            handle.shares = how != "apart"
            if how != "lines":
                handle.address = None
            handle.ask("share", handle.shares)
        yield lines
    finally:
        nodes.forget()
