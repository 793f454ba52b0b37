"""The importance of pages that link to each other (Brin and Page, 1998): iterate until the ranks settle.

Links are pairs (source, target); `np.add.at` sends each page's share to where it links. Pages without links share
with all.
"""

import numpy as np

import jitflow


@jitflow.function
def pagerank(source, target, n, damping, tolerance):
    links = np.zeros(n)
    np.add.at(links, source, 1.0)
    lonely = links == 0.0
    rank = np.full(n, 1.0 / n)
    rounds = 0
    while True:
        share = rank / np.where(lonely, 1.0, links)
        received = np.zeros(n)
        np.add.at(received, target, share[source])
        new = (1.0 - damping) / n + damping * (received + rank[lonely].sum() / n)
        change = np.abs(new - rank).sum()
        rank = new
        rounds += 1
        if change < tolerance:
            break
    return rank, rounds


def example(size="small", seed=0):
    n, links = (12, 20) if size == "small" else (5000, 40_000)
    random = np.random.default_rng(seed)
    source = random.integers(0, n, links)
    target = np.minimum(random.geometric(min(0.3, 20.0 / n), links) - 1, n - 1)
    return source, target, n, 0.85, 1e-8


if __name__ == "__main__":
    rank, rounds = pagerank(*example("large"))
    print(f"after {rounds} rounds page {rank.argmax()} ranks first, with {rank.max() * len(rank):.2f} times the mean")
