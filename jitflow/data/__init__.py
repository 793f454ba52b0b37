"""Data for training: pipelines over any iterable, and queues between threads."""

from __future__ import annotations

from jitflow.data.dataset import DataIterator, Dataset, arrays, from_ray
from jitflow.data.queues import Queue, QueueClosed

__all__ = ["DataIterator", "Dataset", "Queue", "QueueClosed", "arrays", "from_ray"]
