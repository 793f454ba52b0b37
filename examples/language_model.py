"""A language model with a vocabulary of 40,000 words: an LSTM that is trained by the full or by a sampled softmax.

python examples/language_model.py                      512 sampled words beside the right one
python examples/language_model.py --softmax full       all words, as the evaluation at the end does in both cases
python examples/language_model.py --shards 2           the tables of words lie on two servers, which Ray starts here
python examples/language_model.py --shards 2 --address 10.0.0.5:6379      or on a cluster

The text is made up. Words are numbered from the most frequent one, with frequencies that fall as Zipf's law says. Each
has one of 40 parts of speech, and a grammar says which four may follow each of these: that is what can be learned.
"""

from __future__ import annotations

import math
import time
from argparse import ArgumentParser
from contextlib import nullcontext

import numpy as np
from rich.progress import track

import jitflow
from jitflow import Variable, nn
from jitflow.cluster import ShardedVariable, connect

WORDS, PARTS, FOLLOWERS = 40_000, 40, 4
FEATURES, UNITS = 64, 128
BATCH, LENGTH = 32, 20


@jitflow.function
def made_up(rng, length):
    """A text: the part of speech of a word follows from the one before, its rank among its kind from Zipf's law."""
    text = np.empty(length, np.int64)
    part = 0
    for position in range(length):
        part = (part * 7 + 3 + 11 * rng.integers(FOLLOWERS)) % PARTS
        rank = int((WORDS // PARTS + 1) ** rng.random()) - 1
        text[position] = rank * PARTS + part
    return text


class LanguageModel:
    """Words become features, an LSTM reads them in order, and its state after each gives a score to every next word."""

    def __init__(self, rng, shards=0):
        def table(make, *shape):
            return ShardedVariable(make, shards, shape=shape) if shards else Variable(make(shape, rng))

        self.embedding, self.softmax = table(nn.normal, WORDS, FEATURES), table(nn.normal, WORDS, FEATURES)
        self.bias = table(lambda shape, rng: nn.zeros(shape), WORDS)
        self.read, self.recall = (Variable(nn.glorot_uniform((n, 4 * UNITS), rng)) for n in (FEATURES, UNITS))
        self.gates = Variable(np.repeat(np.float32([0, 1, 0, 0]), UNITS))  # what is remembered stays, at first
        self.out = Variable(nn.glorot_uniform((UNITS, FEATURES), rng))

    def __call__(self, words):
        """What is expected after each word: of ``(batch, length)`` words make ``(batch * length, FEATURES)``."""
        batch, length = words.shape
        state, memory = np.zeros((batch, UNITS), np.float32), np.zeros((batch, UNITS), np.float32)
        seen = self.embedding[words] @ self.read + self.gates
        states = np.empty((batch, length, UNITS), np.float32)
        for position in range(length):
            take, keep, show, new = np.split(seen[:, position] + state @ self.recall, 4, axis=1)
            memory = nn.sigmoid(keep) * memory + nn.sigmoid(take) * np.tanh(new)
            state = nn.sigmoid(show) * np.tanh(memory)
            states[:, position] = state
        return states.reshape(-1, UNITS) @ self.out


def train(model, softmax, samples, steps, rng):
    """Train on a text that nobody has seen, step by step; return words per second, the first step left out."""
    # Gradients of one word among 640 are small, and a row that is met once is to move as far as the others.
    weights, optimiser = vars(model), jitflow.optim.Adagrad(0.1, first_sum=1e-6)

    def full(words):
        return nn.cross_entropy(model(words[:, :-1]) @ model.softmax.T + model.bias, words[:, 1:].reshape(-1))

    def sampled(words):
        expected, right = model(words[:, :-1]), words[:, 1:].reshape(-1)
        return nn.sampled_softmax(expected, model.softmax, model.bias, right, samples, rng)

    loss = {"full": full, "sampled": sampled}[softmax]
    step = jitflow.function(lambda words: optimiser.minimize(loss, weights, words))
    taken = 0.0
    for number in track(range(steps), f"training, {softmax} softmax"):
        words = made_up(rng, BATCH * (LENGTH + 1)).reshape(BATCH, LENGTH + 1)
        start = time.perf_counter()
        step(words)
        taken += time.perf_counter() - start if number else 0.0
    words = made_up(rng, 40 * (LENGTH + 1)).reshape(40, LENGTH + 1)
    return BATCH * LENGTH * (steps - 1) / taken, math.exp(jitflow.function(full)(words))


def main() -> None:
    parser = ArgumentParser(description="Train a language model.")
    parser.add_argument("--softmax", choices=("sampled", "full"), default="sampled")
    parser.add_argument("--samples", type=int, default=512, help="words that a sampled softmax looks at")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--shards", type=int, default=0, help="servers for the tables of words; 0: none")
    parser.add_argument("--address", help="that of a Ray cluster")
    options = parser.parse_args()
    rng = jitflow.random.Generator(1)
    with connect(options.address) if options.shards else nullcontext():
        model = LanguageModel(rng, options.shards)
        speed, perplexity = train(model, options.softmax, options.samples, options.steps, rng)
    print(f"{speed:,.0f} words per second")
    print(f"perplexity of new text: {perplexity:,.0f}")


if __name__ == "__main__":
    main()
