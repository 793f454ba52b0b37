"""An index that is out of range is named by the axis of the array that the program wrote, wherever the axis goes."""

from __future__ import annotations

import numpy as np
import pytest

import jitflow
from tests.truth.whole.same import assert_does_what_python_does

CUBE = np.arange(24.0).reshape(2, 3, 4)
READ = ["[0, 1], :, i", "[0, 1], 1:1, i", "1, :, i", ":, None, i", "[0], None, :, i", "[0], None, :, i[1] * 3",
        "..., i", "i[:, None], :, [0, 1]", ":, None, :, i[1] * 3", "i[:, None] - 9, ::-1, i"]  # fmt: skip


@pytest.mark.parametrize("index", READ)
@pytest.mark.parametrize("statement", ["return a[{}]", "a[{}] = 1", "a[{}] += 1", "np.add.at(a, np.s_[{}], 1)"])
def test_it_names_the_axis(index: str, statement: str) -> None:
    names: dict[str, object] = {"np": np}
    exec(f"def program(a, i):\n    {statement.format(index)}", names)
    program = names["program"]
    assert_does_what_python_does(program, [(CUBE, np.array(found)) for found in ([0, 9], [-7, 1], [0, 1])])  # type: ignore[arg-type]


def test_batches_and_gradients_name_it_too() -> None:
    def looked_up(a: np.ndarray, i: np.ndarray) -> np.ndarray:
        return a[1, :, i].sum()  # type: ignore[no-any-return]

    for derived in (jitflow.grad(looked_up), jitflow.vmap(looked_up, in_axes=(None, 0))):
        with pytest.raises(IndexError, match="index 9 is out of bounds for axis 2 with size 4"):
            derived(CUBE, np.array([[0, 9]]))


def test_what_is_always_out_of_bounds_says_the_sizes_of_this_call() -> None:
    def program(a):
        for _ in range(2):
            a[len(a)] += a[0]

    compiled = jitflow.function(program)
    for size in (3, 5, 8):
        with pytest.raises(IndexError, match=f"index {size} is out of bounds for axis 0 with size {size}"):
            compiled(np.ones(size))
    assert compiled.cache_info().misses == 1
