"""What ``range`` and ``slice`` have beside the loop over them, of numbers that only the running program knows."""

from __future__ import annotations

import numpy as np
import pytest

from tests.truth.whole.same import assert_does_what_python_does

BOUNDS = [
    (1, 6, 2), (np.int16(1), np.int16(6), np.int16(2)), (np.uint64(6), np.uint64(0), np.int64(-1)), (True, 5, True),
    (0, 0, 1), (5, 1, -2), (0, 5, 0),
]  # fmt: skip


def parts(a, b, s):
    found = range(a), range(a, b), range(a, b, s)
    return [(r.start, r.stop, r.step, len(r), bool(r), 1 if r else 0) for r in found], str(found[2]), found


def single_items(a, b, s):
    r = range(a, b, s)
    return r[0], r[-1], r[len(r) // 2], r[-len(r)]


def beyond(a, b, s):
    return range(a, b, s)[b]


def slices(a, b, s):
    r = range(a, b, s)
    return [list(part) for part in (r[1:], r[:-1], r[::-1], r[::2], r[-2:], r[a:b], r[b:a:-1])], r[::s]


def membership(a, b, s):
    r = range(a, b, s)
    inside = [x in r for x in (3, a, b, 2.0, 2.5, 1 + 0j, True, np.float32(3), np.int8(5), "3", None, float("nan"))]
    return inside, a not in r, r.count(3), [k for k in range(8) if k in range(b)]


def positions(a, b, s):
    return range(a, b, s).index(a), range(a, b, s).index(a + s), range(a, b, s).index(b)


def comparisons(a, b, s):
    r = range(a, b, s)
    return r == range(a, b, s), r != range(3), r == range(a, b - 0, s), range(a, a) == range(0), r == [a], r != (a,)


def kinds(a, b, s):
    r = range(a, b, s)
    return isinstance(r, range), isinstance(a, range), type(r) is range, type(r).__name__, isinstance([], (range, list))


def gone_through(a, b, s):
    r = range(a, b, s)
    first, *rest = range(a, b, s)
    return sorted(r, reverse=True), max(r), min(r, default=-1), sum(r), any(r), all(r), first, rest, np.array(r)


def several(a, b, s):
    chosen = range(a, b, s) if b > 5 else range(b)
    other = range(3) if b > 5 else None
    for k in range(b):
        last = range(k)
    return chosen, other, list(chosen), len(last), [range(k, b) for k in range(3)]


def slices_as_objects(a, b, s):
    part = slice(a, b) if b > 5 else slice(None, b, s)
    return part, np.arange(10)[part], (part.start, part.stop, part.step), part == slice(a, b), {"rows": slice(a, None)}


@pytest.mark.parametrize(
    "program",
    [parts, single_items, beyond, slices, membership, positions, comparisons, kinds, gone_through, several,
     slices_as_objects],
    ids=lambda program: program.__name__,
)  # fmt: skip
def test_they_are_python_s(program):
    assert_does_what_python_does(program, BOUNDS)
