"""A script whose functions other processes run (`tests/living/test_processes.py`)."""

import multiprocessing
import pickle
from pathlib import Path

import cloudpickle
import joblib
import numpy as np

import jitflow

weights = jitflow.Variable(np.ones(3), "weights")
scale = 2.0


def clipped(x):
    if x.sum() > 3:
        return x / x.sum()
    return x


@jitflow.function
def step(x, turns):
    for turn in range(turns):
        weights[0] += turn
    return None if x is None else (clipped(x) * weights).sum() * scale


@jitflow.function
def twice(x, turns):
    return step(x, turns) + step(x, turns) if x is not None else twice(x, turns)


def powers(number):
    @jitflow.function(static="mode")
    def power(x, mode="sum"):
        total = x.sum() ** number
        return total if mode == "sum" else -total

    return power


class Model:
    def __init__(self, size):
        self.bias = jitflow.Variable(np.full(size, 0.5))

    @jitflow.function
    def forward(self, x):
        return x + self.bias if x.sum() > 0 else x


cube, slope = powers(3), jitflow.grad(lambda x: (x**2).sum())
x = np.arange(1.0, 4.0)


def outcome(things):
    """What all give in this process; ``weights`` change."""
    step, twice, cube, slope, weights = things
    found = [step(x, 3), twice(x, 2), cube(x), cube(x, mode="other"), *slope(x), *weights.numpy()]
    return [float(number) for number in found]


if __name__ == "__main__":
    things = (step, twice, cube, slope, weights)
    step.compile(x, 3)
    with step._lock:  # which goes nowhere
        sent = {module.__name__: module.dumps(things) for module in (pickle, cloudpickle)}
    for name, text in sent.items():
        Path(__file__).with_name(name).write_bytes(text)
    expected = outcome(pickle.loads(sent["pickle"]))
    assert weights.numpy()[0] == 1.0, "what is unpickled has variables of its own"
    assert outcome(cloudpickle.loads(sent["cloudpickle"])) == expected
    assert joblib.Parallel(n_jobs=2)(joblib.delayed(outcome)(things) for _ in range(3)) == [expected] * 3
    assert joblib.Parallel(n_jobs=2)(joblib.delayed(cube)(x) for _ in range(2)) == [216.0] * 2
    assert joblib.Parallel(n_jobs=2)([joblib.delayed(Model(3).forward)(x)])[0].tolist() == [1.5, 2.5, 3.5]
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(1) as pool:
            assert pool.map(cube, [x]) == [216.0]
            np.testing.assert_allclose(pool.starmap(step, [(x, 3), (x, 3)]), [3.0, 4.0])
            np.testing.assert_array_equal(pool.apply(Model(3).forward, (x,)), x + 0.5)
    assert outcome(things) == expected
    print(expected)
