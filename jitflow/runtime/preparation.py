"""What objects of a library make ready for compiled code, once: an optimiser makes memory for variables that it meets.

A trace does it on its way. Code that was compiled in an earlier process has it done again when it is bound, before it
is called (`cache/binding.py`), and is no candidate if the answer is another one.
"""

from __future__ import annotations

from typing import Any

from jitflow.records import dataclass

__all__ = ["Preparation", "Slot"]


@dataclass(frozen=True)
class Preparation:
    """The object in register ``owner`` has been asked, by a method, about the variables in others, and has answered."""

    owner: int
    method: str
    variables: tuple[int, ...]
    answer: Any


@dataclass(frozen=True)
class Slot:
    """Where a variable is that the object in register ``owner`` has made: an attribute, and keys from there on."""

    owner: int
    attribute: str
    keys: tuple[Any, ...]
