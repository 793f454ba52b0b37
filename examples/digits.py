"""The image classifier of the TensorFlow paper on real handwriting: 1,797 digits of 8 by 8 pixels, from scikit-learn.

python examples/digits.py                    a network of two layers, 64-100-10, trained by Adagrad
python examples/digits.py --model rnn        a recurrent network that reads a digit row by row, from top to bottom
python examples/digits.py --epochs 60        goes on where the last run stopped: checkpoints are in runs/
"""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path

import numpy as np
from rich.progress import track

import jitflow
from jitflow import Variable, nn


class Dense:
    """Two layers: pixels become 100 features, features become a score for each digit."""

    def __init__(self, rng):
        self.w1, self.b1 = Variable(nn.he_normal((64, 100), rng)), Variable(nn.zeros(100))
        self.w2, self.b2 = Variable(nn.glorot_normal((100, 10), rng)), Variable(nn.zeros(10))

    def __call__(self, images):
        hidden = nn.relu(images @ self.w1 + self.b1)
        return hidden @ self.w2 + self.b2


class Recurrent:
    """A state of 100 numbers that meets one row of pixels after the other; scores come from the last state."""

    def __init__(self, rng):
        self.row, self.state = Variable(nn.glorot_normal((8, 100), rng)), Variable(nn.orthogonal((100, 100), rng))
        self.bias = Variable(nn.zeros(100))
        self.w, self.b = Variable(nn.glorot_normal((100, 10), rng)), Variable(nn.zeros(10))

    def __call__(self, images):
        state = np.zeros((len(images), 100), np.float32)
        for start in range(0, 64, 8):
            state = np.tanh(images[:, start : start + 8] @ self.row + state @ self.state + self.bias)
        return state @ self.w + self.b


def load_digits():
    """Images for training and for testing, and their labels; every pixel has mean 0 and deviation 1 in training."""
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise SystemExit("this example reads scikit-learn's digits: pip install 'jitflow[examples]'") from None
    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))
    train, test = order[360:], order[:360]
    mean, deviation = images[train].mean(0), images[train].std(0)
    images = ((images - mean) / np.maximum(deviation, 1e-3)).astype(np.float32)  # some pixels are always white
    return (images[train], labels[train]), (images[test], labels[test])


def train(model, folder, epochs, batch=32):
    """Train to so many epochs, resuming from the folder's last checkpoint; return the accuracy on the test set."""
    (images, labels), test = load_digits()
    rng, optimiser, weights = jitflow.random.Generator(2), jitflow.optim.Adagrad(0.05), vars(model)

    @jitflow.function
    def step(images, labels):
        images = images + 0.3 * rng.standard_normal(images.shape, dtype=np.float32)  # no picture is seen twice
        return optimiser.minimize(lambda: nn.cross_entropy(model(images), labels), weights)

    @jitflow.function
    def accuracy(images, labels):
        return (model(images).argmax(axis=1) == labels).mean()

    state = {"model": model, "optimiser": optimiser, "rng": rng}
    with jitflow.CheckpointManager(folder, state, keep_last=2) as manager:
        resumed = manager.restore_latest()
        first = resumed.step if resumed else 0
        for epoch in track(range(first, epochs), f"training from epoch {first}"):
            order = rng.permutation(len(labels))
            losses = [step(images[rows], labels[rows]) for rows in np.split(order, range(batch, len(order), batch))]
            manager.step(epoch + 1, metric=np.mean(losses))
        if first < epochs:
            manager.save(epochs, metric=np.mean(losses))
    print(f"training images: {accuracy(images, labels):.1%} right")
    return accuracy(*test)


def main() -> None:
    parser = ArgumentParser(description="Train a classifier of handwritten digits.")
    parser.add_argument("--model", choices=("dense", "rnn"), default="dense")
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--folder", type=Path, help="where checkpoints are; runs/digits-<model> by default")
    options = parser.parse_args()
    model = {"dense": Dense, "rnn": Recurrent}[options.model](jitflow.random.Generator(1))
    right = train(model, options.folder or Path(f"runs/digits-{options.model}"), options.epochs)
    print(f"test images: {right:.1%} right")


if __name__ == "__main__":
    main()
