"""The digits classifier of `digits.py`, trained by several processes at once; Ray is started on this machine.

python examples/replicas.py                              two workers, whose gradients two servers sum and step along
python examples/replicas.py --mode allreduce             no servers: the workers sum for each other
python examples/replicas.py --backup 1                   the first two of three workers count in each step
python examples/replicas.py --address 10.0.0.5:6379      on a cluster that is running
"""

from __future__ import annotations

from argparse import ArgumentParser

import numpy as np
from digits import load_digits

import jitflow
from jitflow import Variable, cluster, nn


class Classifier:
    """Pixels become 100 features, features become a score for each digit."""

    def __init__(self):
        draw = np.random.default_rng(0)
        self.w1, self.b1 = Variable(nn.he_normal((64, 100), draw)), Variable(nn.zeros(100))
        self.w2, self.b2 = Variable(nn.glorot_normal((100, 10), draw)), Variable(nn.zeros(10))
        self.optimiser = jitflow.optim.Adam(2e-3)
        self.noise = jitflow.random.Generator(cluster.replica().index)  # each worker draws its own

    def scores(self, images):
        return nn.relu(images @ self.w1 + self.b1) @ self.w2 + self.b2

    @jitflow.function
    def step(self, images, labels):
        images = images + 0.3 * self.noise.standard_normal(images.shape, dtype=np.float32)
        weights = [self.w1, self.b1, self.w2, self.b2]
        return self.optimiser.minimize(lambda: nn.cross_entropy(self.scores(images), labels), weights)

    @jitflow.function
    def correct(self, images, labels):
        return (self.scores(images).argmax(axis=1) == labels).sum()


def main():
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--servers", type=int, default=2)
    parser.add_argument("--mode", choices=["sync", "async", "allreduce"], default="sync")
    parser.add_argument("--backup", type=int, default=0, help="workers beyond those that count in each step")
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--address", help="of a Ray cluster; without, Ray is started on this machine")
    options = parser.parse_args()

    train, test = load_digits()
    batches = jitflow.data.arrays(*train).shuffle(seed=1).batch(32, partial=False).repeat()
    with (
        cluster.connect(options.address),
        cluster.Replicas(Classifier, options.workers, options.servers, options.mode, backup=options.backup) as replicas,
    ):
        run = replicas.run(options.steps, batches)
        print(f"loss {run.losses[:20].mean():.3f} at first, {run.losses[-20:].mean():.3f} at last")
        print(f"{np.median(run.seconds) * 1e3:.1f} ms for a step")
        correct = sum(replicas.map("correct", jitflow.data.arrays(*test).batch(60)))
    print(f"accuracy on the test set: {correct / len(test[1]):.1%}")


if __name__ == "__main__":
    main()
