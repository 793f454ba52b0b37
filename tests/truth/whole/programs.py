"""The random program of a seed, and the calls that are made of it."""

from __future__ import annotations

import random
from collections.abc import Sequence

from tests.truth.whole.arguments import Call, calls
from tests.truth.whole.writer import Text, Writer

__all__ = ["program_of"]


def program_of(seed: int, length: int = 3) -> tuple[Text, Sequence[Call]]:
    """The program of a seed."""
    choose = random.Random(seed).randrange
    return Writer(choose, length).program(), calls(choose)
