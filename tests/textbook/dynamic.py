"""Dynamic programming and backtracking."""

from __future__ import annotations


def longest_common_subsequence(x: str, y: str) -> tuple[int, str]:
    """The longest text that both texts hold in order.

    >>> longest_common_subsequence("programming", "gaming")
    (6, 'gaming')
    >>> longest_common_subsequence("physics", "smartphone")
    (2, 'ph')
    """
    m = len(x)
    n = len(y)
    dp = [[0] * (n + 1) for _ in range(m + 1)]
    for i in range(1, m + 1):
        for j in range(1, n + 1):
            match = 1 if x[i - 1] == y[j - 1] else 0
            dp[i][j] = max(dp[i - 1][j], dp[i][j - 1], dp[i - 1][j - 1] + match)
    seq = ""
    i, j = m, n
    while i > 0 and j > 0:
        match = 1 if x[i - 1] == y[j - 1] else 0
        if dp[i][j] == dp[i - 1][j - 1] + match:
            if match == 1:
                seq = x[i - 1] + seq
            i -= 1
            j -= 1
        elif dp[i][j] == dp[i - 1][j]:
            i -= 1
        else:
            j -= 1
    return dp[m][n], seq


def edit_distance(first: str, second: str) -> int:
    """How many changes make one text of the other.

    >>> edit_distance("intention", "execution")
    5
    >>> edit_distance("", "abc")
    3
    >>> edit_distance("same", "same")
    0
    """
    m, n = len(first), len(second)
    dp = [[0 for _ in range(n + 1)] for _ in range(m + 1)]
    for i in range(m + 1):
        for j in range(n + 1):
            if i == 0:
                dp[i][j] = j
            elif j == 0:
                dp[i][j] = i
            elif first[i - 1] == second[j - 1]:
                dp[i][j] = dp[i - 1][j - 1]
            else:
                dp[i][j] = 1 + min(dp[i][j - 1], dp[i - 1][j], dp[i - 1][j - 1])
    return dp[m][n]


def knapsack(capacity: int, weights: list[int], values: list[int]) -> int:
    """The most that a knapsack holds.

    >>> knapsack(50, [10, 20, 30], [60, 100, 120])
    220
    >>> knapsack(5, [3, 2, 1], [1, 2, 3])
    5
    """
    n = len(values)
    dp = [[0] * (capacity + 1) for _ in range(n + 1)]
    for i in range(1, n + 1):
        for w in range(1, capacity + 1):
            if weights[i - 1] <= w:
                dp[i][w] = max(values[i - 1] + dp[i - 1][w - weights[i - 1]], dp[i - 1][w])
            else:
                dp[i][w] = dp[i - 1][w]
    return dp[n][capacity]


def coin_change(coins: list[int], amount: int) -> int:
    """In how many ways coins make an amount.

    >>> coin_change([1, 2, 3], 4)
    4
    >>> coin_change([5, 10], 3)
    0
    """
    table = [0] * (amount + 1)
    table[0] = 1
    for coin in coins:
        for j in range(coin, amount + 1):
            table[j] += table[j - coin]
    return table[amount]


def minimum_coins(coins: list[int], amount: int) -> int:
    """How few coins make an amount, or -1.

    >>> minimum_coins([1, 5, 10, 25], 63)
    6
    >>> minimum_coins([2], 3)
    -1
    """
    best = [0] + [amount + 1] * amount
    for value in range(1, amount + 1):
        for coin in coins:
            if coin <= value and best[value - coin] + 1 < best[value]:
                best[value] = best[value - coin] + 1
    return best[amount] if best[amount] <= amount else -1


def longest_increasing_subsequence(array: list[int]) -> list[int]:
    """A longest part that rises, by recursion.

    >>> longest_increasing_subsequence([10, 22, 9, 33, 21, 50, 41, 60, 80])
    [10, 22, 33, 41, 60, 80]
    >>> longest_increasing_subsequence([4, 8, 7, 5, 1, 12, 2, 3, 9])
    [1, 2, 3, 9]
    >>> longest_increasing_subsequence([])
    []
    """
    array_length = len(array)
    if array_length <= 1:
        return array
    pivot = array[0]
    is_found = False
    i = 1
    longest: list[int] = []
    while not is_found and i < array_length:
        if array[i] < pivot:
            is_found = True
            rest = [element for element in array[i:] if element >= array[i]]
            rest = longest_increasing_subsequence(rest)
            if len(rest) > len(longest):
                longest = rest
        else:
            i += 1
    rest = [element for element in array[1:] if element >= pivot]
    rest = [pivot, *longest_increasing_subsequence(rest)]
    if len(rest) > len(longest):
        return rest
    return longest


def longest_increasing_length(numbers: list[int]) -> int:
    """How long the longest part is that rises, in n log n.

    >>> longest_increasing_length([2, 5, 3, 7, 11, 8, 10, 13, 6])
    6
    >>> longest_increasing_length([5, 4, 3])
    1
    """
    tails: list[int] = []
    for number in numbers:
        low, high = 0, len(tails)
        while low < high:
            middle = (low + high) // 2
            if tails[middle] < number:
                low = middle + 1
            else:
                high = middle
        if low == len(tails):
            tails.append(number)
        else:
            tails[low] = number
    return len(tails)


def matrix_chain(dimensions: list[int]) -> int:
    """How few multiplications a chain of products takes.

    >>> matrix_chain([40, 20, 30, 10, 30])
    26000
    """
    n = len(dimensions) - 1
    cost = [[0] * n for _ in range(n)]
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length - 1
            cost[i][j] = 10**9
            for k in range(i, j):
                q = cost[i][k] + cost[k + 1][j] + dimensions[i] * dimensions[k + 1] * dimensions[j + 1]
                if q < cost[i][j]:
                    cost[i][j] = q
    return cost[0][n - 1]


def climbing_stairs(steps: int) -> int:
    """In how many ways stairs can be climbed, one or two at a time.

    >>> climbing_stairs(3)
    3
    >>> climbing_stairs(10)
    89
    >>> climbing_stairs(-7)
    Traceback (most recent call last):
        ...
    AssertionError: number_of_steps needs to be positive integer, your input -7
    """
    assert isinstance(steps, int) and steps > 0, f"number_of_steps needs to be positive integer, your input {steps}"
    if steps == 1:
        return 1
    previous, current = 1, 1
    for _ in range(steps - 1):
        current, previous = current + previous, current
    return current


def catalan_numbers(upper_limit: int) -> list[int]:
    """Catalan's numbers.

    >>> catalan_numbers(5)
    [1, 1, 2, 5, 14, 42]
    >>> catalan_numbers(-1)
    Traceback (most recent call last):
        ...
    ValueError: Limit for the Catalan sequence must be ≥ 0
    """
    if upper_limit < 0:
        raise ValueError("Limit for the Catalan sequence must be ≥ 0")
    catalan_list = [0] * (upper_limit + 1)
    catalan_list[0] = 1
    if upper_limit > 0:
        catalan_list[1] = 1
    for i in range(2, upper_limit + 1):
        for j in range(i):
            catalan_list[i] += catalan_list[j] * catalan_list[i - j - 1]
    return catalan_list


def queens(n: int) -> int:
    """In how many ways n queens stand on a board.

    >>> queens(4)
    2
    >>> queens(6)
    4
    """
    board = [0] * n

    def is_safe(row: int, column: int) -> bool:
        for i in range(row):
            if board[i] == column or abs(board[i] - column) == row - i:
                return False
        return True

    def place(row: int) -> int:
        if row == n:
            return 1
        count = 0
        for column in range(n):
            if is_safe(row, column):
                board[row] = column
                count += place(row + 1)
        return count

    return place(0)


def permutations(numbers: list[int]) -> list[list[int]]:
    """All orders of some numbers.

    >>> permutations([1, 2, 3])
    [[1, 2, 3], [1, 3, 2], [2, 1, 3], [2, 3, 1], [3, 1, 2], [3, 2, 1]]
    """
    result: list[list[int]] = []
    if len(numbers) == 0:
        return [[]]
    for i in range(len(numbers)):
        for rest in permutations(numbers[:i] + numbers[i + 1 :]):
            result.append([numbers[i], *rest])
    return result


def subset_sum(numbers: list[int], target: int) -> bool:
    """Whether some of the numbers have a sum.

    >>> subset_sum([2, 4, 6, 8], 5)
    False
    >>> subset_sum([2, 4, 6, 8], 14)
    True
    """
    reachable = {0}
    for number in numbers:
        reachable = reachable | {value + number for value in reachable}
    return target in reachable


def solve_maze(maze: list[list[int]]) -> int:
    """How many ways lead down and right through zeros.

    >>> solve_maze([[0, 0, 0], [0, 1, 0], [0, 0, 0]])
    2
    """

    def ways(i: int, j: int) -> int:
        if i >= len(maze) or j >= len(maze[0]) or maze[i][j]:
            return 0
        if i == len(maze) - 1 and j == len(maze[0]) - 1:
            return 1
        return ways(i + 1, j) + ways(i, j + 1)

    return ways(0, 0)


def combination_sum(candidates: list[int], target: int) -> list[list[int]]:
    """All ways in which candidates make a sum.

    >>> combination_sum([2, 3, 5], 8)
    [[2, 2, 2, 2], [2, 3, 3], [3, 5]]
    """
    answer: list[list[int]] = []
    path: list[int] = []

    def backtrack(index: int, rest: int) -> None:
        if rest == 0:
            answer.append(path.copy())
            return
        for i in range(index, len(candidates)):
            if candidates[i] <= rest:
                path.append(candidates[i])
                backtrack(i, rest - candidates[i])
                path.pop()

    backtrack(0, target)
    return answer
