"""How often each word comes, words being numbers: counted in a dict, the most frequent one first."""

import numpy as np

import jitflow


@jitflow.function
def histogram_of_words(words):
    counts = {}
    for word in words:
        counts[word] = counts.get(word, 0) + 1
    most = 0
    best = -1
    for word, count in counts.items():
        if count > most:
            most, best = count, word
    return best, most, len(counts)


def example(size="small", seed=0):
    random = np.random.default_rng(seed)
    return (random.zipf(1.5, 40 if size == "small" else 500_000) % 100_003,)


if __name__ == "__main__":
    best, most, kinds = histogram_of_words(*example("large"))
    print(f"{kinds} words, of which {best} comes {most} times")
