"""Philox 4x32-10 gives the words that its authors published, and the ops are those words."""

from __future__ import annotations

import numpy as np
import pytest

from jitflow.backends.llvm import compile_program
from jitflow.ir.core import Value
from jitflow.ir.dtypes import U64
from jitflow.ir.philox import philox
from jitflow.passes.expand.expand import expand
from tests.backends.programs import Kit, mapping, run

KNOWN = [
    # counter, key, result: words of 32 bits, the first lowest (kat_vectors of the Random123 distribution)
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]


def words(text: str) -> list[int]:
    """Pairs of words of 32 bits as words of 64."""
    parts = [int(word, 16) for word in text.split()]
    return [low | high << 32 for low, high in zip(parts[::2], parts[1::2], strict=True)]


@pytest.mark.parametrize(("counter", "key", "result"), KNOWN)
def test_known_answers(counter: str, key: str, result: str) -> None:
    low, high = words(counter)
    assert [int(word) for word in philox(words(key)[0], high, low)] == words(result)


@pytest.mark.parametrize("lanes", [0, 8])
@pytest.mark.parametrize(("name", "half"), [("random_low", 0), ("random_high", 1)])
def test_native_code_agrees(name: str, half: int, lanes: int) -> None:
    def build(kit: Kit, *numbers: Value) -> Value:
        return kit.make(name, *numbers)

    operands = list(np.random.default_rng(0).integers(0, 1 << 64, (3, 1003), np.uint64))
    executable = compile_program(expand(mapping(build, [U64] * 3, U64, lanes)))
    result = np.zeros(1003, np.uint64)
    run(executable, [*operands, result, result.size])
    np.testing.assert_array_equal(result, philox(*operands)[half])
