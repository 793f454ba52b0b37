"""Sets of Python's that are given back as they lay."""

from __future__ import annotations

import random
from typing import Any

import pytest

from jitflow.runtime.objects.python_set_tables import RememberedSet, give_back

POOLS: dict[str, list[Any]] = {
    "integers that want one place": [*range(0, 400, 8)],
    "texts": [str(number) for number in range(60)],
    "tuples": [(number, number * 8) for number in range(60)],
    "floats": [number * 1.5 for number in range(50)],
}


def changed(keys: set[Any], pool: list[Any], draw: random.Random) -> list[Any]:
    """Do something to a set. Returns its keys in order."""
    what = draw.randrange(8)
    if what < 3:
        keys.add(draw.choice(pool))
    elif what < 5:
        keys.discard(draw.choice(pool))
    elif what == 5 and keys:
        keys.pop()
    elif what == 6:
        keys.update(draw.sample(pool, draw.randint(0, 20)))
    elif draw.random() < 0.2:
        keys.intersection_update(draw.sample(pool, 30))
    return [*keys]


@pytest.mark.parametrize("kind", POOLS)
def test_what_is_given_back_goes_on_as_it_would_have(kind: str) -> None:
    pool = POOLS[kind]
    for seed in range(150):
        draw = random.Random(seed)
        history, vain, rest = (draw.getrandbits(32) for _ in range(3))
        ours, plain = set[Any](), set[Any]()
        for keys in (ours, plain):
            draw = random.Random(history)
            for _ in range(draw.randrange(30)):
                changed(keys, pool, draw)
        remembered = RememberedSet(ours)
        draw = random.Random(vain)
        for _ in range(draw.randrange(30)):
            changed(ours, pool, draw)
        give_back(ours, remembered)
        assert RememberedSet(ours) == remembered
        draws = random.Random(rest), random.Random(rest)
        assert all(changed(ours, pool, draws[0]) == changed(plain, pool, draws[1]) for _ in range(20))
