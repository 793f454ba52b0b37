"""In how many ways coins make each amount up to one, with lists of Python's as tables."""

import jitflow


@jitflow.function
def coin_change(coins, amount):
    ways = [0] * (amount + 1)
    ways[0] = 1
    for coin in coins:
        for value in range(coin, amount + 1):
            ways[value] = (ways[value] + ways[value - coin]) % 1_000_000_007
    return ways


def example(size="small", seed=0):
    return ([1, 2, 5], 12 + seed) if size == "small" else ([1, 2, 5, 10, 20, 50, 100, 200], 100_000)


if __name__ == "__main__":
    coins, amount = example("large")
    print(f"{coin_change(coins, amount)[amount]} ways modulo 1000000007")
