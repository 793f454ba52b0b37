"""Numbers like Fibonacci's modulo a prime, each known once: what has been found is kept in a dict."""

import jitflow


def find(known, n):
    if n in known:
        return known[n]
    half = n // 2
    if n % 2 == 0:
        a, b = find(known, half), find(known, half - 1)
        found = a * (a + 2 * b) % 1_000_000_007
    else:
        a, b = find(known, half + 1), find(known, half)
        found = (a * a + b * b) % 1_000_000_007
    known[n] = found
    return found


@jitflow.function
def fibonacci_memo(n):
    known = {0: 0, 1: 1, 2: 1}
    total = 0
    for k in range(1, n):
        total = (total + find(known, k * k)) % 1_000_000_007
    return total, len(known)


def example(size="small", seed=0):
    return (10 + seed if size == "small" else 2_000,)


if __name__ == "__main__":
    total, count = fibonacci_memo(*example("large"))
    print(f"{total} by {count} numbers")
