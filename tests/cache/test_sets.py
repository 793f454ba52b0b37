"""Programs that make sets: kept where the order of these is one in all processes."""

from __future__ import annotations

import marshal
from pathlib import Path

import pytest

from jitflow.cache.content import content_of
from jitflow.cache.store import Store
from tests.cache.programs import disk, load

__all__ = ["disk"]

HEAD = "import numpy as np, jitflow\nfrom collections import defaultdict\n\n@jitflow.function\n"
KEPT = {
    "places": """\
def run(n):
    seen, todo = {(0, 0)}, [(0, 0)]
    while todo:
        a, b = todo.pop()
        for place in ((a + 1, b), (a, b + 1)):
            if place[0] < n and place[1] < n and place not in seen:
                seen.add(place)
                todo.append(place)
    return len(seen), sorted(seen)
""",
    "numbers": """\
def run(x):
    some, others = {3, 1, 2.5}, {v * v for v in (1, 2, 3)}
    some |= {4, 8}
    total = 0.0
    for v in some.union(others, [np.int64(9)]):
        total = total * 2 + v * x
    return total
""",
    "calls": """\
def run(n):
    some = set()
    for k in range(n):
        if k % 3 != 1:
            some.add(k * 8)
    return [*some], len(set([1, 2]))
""",
    "of comprehensions in others": "def run(x):\n    return sum([sum({v % 3 for v in (k, 4)}) for k in (2, 4)])\n",
    "only asked for": "def run(x):\n    return x * 2 if 'a' in {'a', 'b', 'c'} else x\n",
}
NOT_KEPT = {
    "texts": "def run(x):\n    for c in {'a', 'b', 'c', 'd'}:\n        x = x * 2 + ord(c)\n    return x\n",
    "texts of a call": "def run(x):\n    for c in set('abcd'):\n        x = x * 2 + ord(c)\n    return x\n",
    "texts that are added and taken": """\
def run(x):
    todo = set()
    for c in "abcd":
        todo.add(c)
    while todo:
        x = x * 2 + ord(todo.pop())
    return x
""",
    "texts of a union": "def run(x):\n    for c in {1}.union(['a']):\n        x = x * 2 + (c == 1)\n    return x",
    "texts in tuples": "def run(x):\n    for c, n in {('a', 1), ('b', 2)}:\n        x = x * 2 + n\n    return x\n",
    "texts of a comprehension in another": """\
def run(x):
    return x + sum([[ord(c) for c in {t + "x" for t in "ab"} for c in c][0] for k in range(4)])
""",
    "by a method that has a name": """\
def run(x):
    todo = set()
    put = todo.add
    for c in "abcd":
        put(c)
    for c in todo:
        x = x * 2 + ord(c)
    return x
""",
    "by whoever makes items": "def run(x):\n    d = defaultdict(set)\n    d[1].add('a')\n    return x + len(d[1])\n",
    "by another name": "def run(x):\n    return x + sum([len(one) for one in map(set, ('ab', 'c'))])\n",
    "by the class of another": "def run(x):\n    return x + sum([ord(c) * k for k, c in enumerate(type({1})('ab'))])\n",
    "by another name of the class": "def run(x):\n    return x + len(KEYS([1]))\n\nKEYS = set\n",
    "a method that is asked for by its name": """\
def run(x):
    todo = set()
    getattr(todo, "update")(("a", "b", "c"))
    for c in todo:
        x = x * 2 + ord(c)
    return x
""",
    "nan": "def run(x):\n    for c in {float('nan'), 1.0, 2.0}:\n        x = x * 2 + (c == c)\n    return x\n",
    "a frozenset": "def run(x):\n    return x + sum([ord(c) * k for k, c in enumerate(frozenset('ab'))])\n",
    "hashes": "def run(x):\n    return x + hash('a') % 2\n",
}


@pytest.mark.parametrize("name", [*KEPT, *NOT_KEPT])
def test_sets(name: str, disk: Store, tmp_path: Path) -> None:
    text, path = HEAD + {**KEPT, **NOT_KEPT}[name], tmp_path / "program_sets.py"
    for misses in (1, int(name in NOT_KEPT)):
        run = load(path, text).run
        assert run(5) == run.__wrapped__(5)
        assert run.cache_info().misses == misses


def test_constant_sets_of_a_file_of_bytecode_are_others_if_they_come_in_another_order() -> None:
    """Marshalled sets are written in an order of their own."""
    text = "def run(x):\n    for k in {8, 0, 16}:\n        x = x * 10 + k\n    return x\n"
    code = compile(text, "sets.py", "exec").co_consts[0]
    again = marshal.loads(marshal.dumps(code))
    orders = [[[*constant] for constant in one.co_consts if type(constant) is frozenset] for one in (code, again)]
    assert (content_of(code) == content_of(again)) == (orders[0] == orders[1])
