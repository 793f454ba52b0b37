"""Which code may depend on the order of a set."""

from __future__ import annotations

from typing import Any

import pytest

from jitflow.cache.hash_order import Incomparable, require_no_order

HARMLESS = """\
[v - 1 for k, v in d.items()]
sorted(d.items(), key=lambda item: item[1] - 1)
[x - y for (k, x), (l, y) in zip(d.items(), e.p.items())]
{k: v - 2 for k, v in d.q.r.items()}
"a" in d.keys()
x in {1, 2}
x in {"a", "b"}
dict(d.items())
list(d.keys())
max(d.keys())
d["keys"] - 1
sum(1 for k in d.keys())
"""

HARMFUL = """\
len(d.keys() & e.keys())
d.keys() & e.keys()
sorted(d.keys() - ["a"])
sorted(d.keys() - f(e))
f(d.keys())
d.keys()
sorted(d.items)
[f(d.keys()), 1]
f(d.keys(), e.keys())
d.items() ^ e.items()
{1, x}
{k for k in d}
set(d)
frozenset(d)
hash(d)
d.__hash__()
[k for k in {"a", "b"}]
{} .keys() | d
zip(d.keys() | e, d)
d.union(set())
"""


def function(text: str) -> Any:
    namespace: dict[str, Any] = {}
    exec(f"def asked(d, e, f, x):\n    return {text}\n", namespace)
    return namespace["asked"]


def refuses(code: Any) -> bool:
    try:
        require_no_order(code)
    except Incomparable:
        return True
    return any(refuses(inner) for inner in code.co_consts if hasattr(inner, "co_consts"))


@pytest.mark.parametrize("text", HARMLESS.splitlines())
def test_harmless_code(text: str) -> None:
    assert not refuses(function(text).__code__)


@pytest.mark.parametrize("text", HARMFUL.splitlines())
def test_harmful_code(text: str) -> None:
    assert refuses(function(text).__code__)


def test_a_view_that_gets_a_name() -> None:
    def named(d: dict[str, int], e: dict[str, int]) -> Any:
        keys = d.keys()
        return [*(keys - e)]

    assert refuses(named.__code__)
