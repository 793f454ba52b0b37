"""Random programs about views, and those that once went wrong: who shows whose memory, inside and for the caller.

``python -m tests.truth.views.reduce SEED...`` makes small programs of seeds that fail (``odd`` first, for odd views).
"""

from __future__ import annotations

import pytest

from tests.truth.views.check import Refused, Wrong, check
from tests.truth.views.programs import PRELUDE, Call, Program, program_of

MOST_REFUSED = 0.2
OWN, TURNED = Call(("own", "own"), 1, True), Call(("reversed", "frozen"), 1, False)


def run_seeds(seeds: range, *, odd: bool = False) -> None:
    """Check the programs of many seeds, and report all that failed."""
    problems, refused = [], 0
    for seed in seeds:
        program, calls = program_of(seed, odd=odd)
        try:
            check(program, calls)
        except Refused:
            refused += 1
        except Wrong as problem:
            problems.append(f"seed {seed}: {problem}\n{program.source.replace(PRELUDE, '')}")
    assert not problems, "\n\n".join([f"{len(problems)} of {len(seeds)} programs", *problems[:3]])
    assert refused <= 2 + len(seeds) * MOST_REFUSED


def test_programs() -> None:
    run_seeds(range(30, 36))


@pytest.mark.stress
@pytest.mark.parametrize("part", range(40))
def test_more_programs(part: int) -> None:
    run_seeds(range(10_000 + 100 * part, 10_000 + 100 * part + 50))
    run_seeds(range(10_050 + 100 * part, 10_050 + 100 * part + 25), odd=True)


PROGRAMS = {
    "a new array and all of it": "a = np.zeros(3); return a, a[:]",
    "all of a new array and it": "a = np.zeros(3); return a[:], a, a.view()",
    "parts of one number": "a = np.full(6, 2.5); return a[1:3], a[2:5], a.reshape(2, 3)",
    "a read-only new array": "a = y.imag; return a, a[1:]",
    "the part of a product in place": "z = x + 1j; r = z.real; z *= 2; return r.sum(), r",
    "bits of an array changed in place": "a = x + 1; v = a.view(np.int64); a += 1; return v.sum(), v[1:]",
    "bits that are written to": "a = x + 2; v = a.view(np.int64); v[1:] >>= 1; v ^= 1; return v, a",
    "bits of bits": "a = x + 1; return a.view(np.int64).view(np.float64), a",
    "the real part in one line": "z = x + 1j * x; r = z.real.ravel(); r[0] = 9; return z, r, z.imag.reshape(2, 3)",
    "bytes": "v = x.view(np.uint8); return v[3:9], {'bytes': v}, x.view(np.float32)[::-1]",
    "bytes of a new array": "a = np.zeros(6); v = a.view(np.uint8); a[0] = 1; return v, a",
    "strided": "n = len(x); s = as_strided(x, (n - 2, 3), (x.strides[0],) * 2); return s[1:].T, s",
    "a buffer": "return np.frombuffer(x, np.int32, count=4, offset=8), np.frombuffer(x)",
    "a reshape that may copy": "a = x[::-1]; return a.reshape(2, 3), a.reshape(-1), a.ravel()",
    "bits of one number": "a = np.array(x[0]); return a.view(np.complex64), a",
    "grids": "return np.meshgrid(x, x[:2], copy=False)",
}


@pytest.mark.parametrize("lines", PROGRAMS.values(), ids=PROGRAMS)
def test_what_once_was_wrong(lines: str) -> None:
    body = "".join(f"    {line}\n" for line in lines.split("; "))
    program = Program(f"{PRELUDE}\ndef program(x, y, k, flag):\n{body}", ((6,), (6,)), ("f8", "f8"))
    check(program, [OWN, OWN if "strided" in lines or "buffer" in lines or "uint8" in lines else TURNED])


@pytest.mark.parametrize("result", ["x[1:]", "x.T", "x.reshape(len(x))", "[x[:], x]"])
def test_a_view_of_what_branches_choose_is_no_copy(result: str) -> None:
    """The inner branch made a copy of the view, of which the result was a view without anybody's notice."""
    branches = "    x = x[::-1]\n    if k > 1:\n        if flag:\n            x = x + 1\n"
    source = f"{PRELUDE}\ndef program(x, y, k, flag):\n{branches}    return {result}\n"
    with pytest.raises(Refused, match="on another is one of its own"):
        check(Program(source, ((6,), (6,)), ("f8", "f8")), [OWN])


def test_what_may_be_read_only_on_a_path_is_refused() -> None:
    source = f"{PRELUDE}\ndef program(x, y, k, flag):\n    x = either(x, y, flag)\n    x += 1\n"
    check(Program(source, ((6,), (6,)), ("f8", "f8")), [OWN])
    with pytest.raises(Refused, match="read-only on one of the paths"):
        check(Program(source, ((6,), (6,)), ("f8", "f8")), [Call(("own", "frozen"), 1, True)])
