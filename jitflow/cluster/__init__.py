"""Many processes and machines: replicas of a model, and servers that hold its variables, on Ray."""

from __future__ import annotations
