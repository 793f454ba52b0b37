"""The longest of Collatz' sequences below n, whose lengths are kept in a dict where they are found."""

import jitflow


@jitflow.function
def collatz_memo(n):
    lengths = {1: 1}
    longest = 1
    for start in range(2, n):
        k = start
        steps = 0
        while k not in lengths:
            k = k // 2 if k % 2 == 0 else 3 * k + 1
            steps += 1
        lengths[start] = lengths[k] + steps
        if lengths[start] > lengths[longest]:
            longest = start
    return longest, lengths[longest]


def example(size="small", seed=0):
    return (50 + seed if size == "small" else 200_000,)


if __name__ == "__main__":
    (n,) = example("large")
    start, length = collatz_memo(n)
    print(f"below {n}, {start} takes longest: {length} numbers")
