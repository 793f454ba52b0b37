"""Graphs: adjacency lists, matrices, grids."""

from __future__ import annotations

import heapq
from collections import deque


def breadth_first(graph: list[list[int]], start: int) -> list[int]:
    """Nodes in the order in which they are reached.

    >>> breadth_first([[1, 2], [3], [3, 4], [4], []], 0)
    [0, 1, 2, 3, 4]
    >>> breadth_first([[], [0]], 1)
    [1, 0]
    """
    visited = [False] * len(graph)
    visited[start] = True
    queue = deque([start])
    order = []
    while queue:
        node = queue.popleft()
        order.append(node)
        for neighbour in graph[node]:
            if not visited[neighbour]:
                visited[neighbour] = True
                queue.append(neighbour)
    return order


def depth_first(graph: list[list[int]], start: int) -> list[int]:
    """Nodes in the order in which a walk in depth comes to them.

    >>> depth_first([[1, 2], [3], [3, 4], [4], []], 0)
    [0, 1, 3, 4, 2]
    """
    visited: set[int] = set()
    order: list[int] = []

    def visit(node: int) -> None:
        visited.add(node)
        order.append(node)
        for neighbour in graph[node]:
            if neighbour not in visited:
                visit(neighbour)

    visit(start)
    return order


def dijkstra(graph: list[list[tuple[int, int]]], source: int) -> list[float]:
    """The lengths of the shortest ways.

    >>> dijkstra([[(1, 4), (2, 1)], [(3, 1)], [(1, 2), (3, 5)], []], 0)
    [0.0, 3.0, 1.0, 4.0]
    """
    distances = [float("inf")] * len(graph)
    distances[source] = 0.0
    heap = [(0.0, source)]
    while heap:
        distance, node = heapq.heappop(heap)
        if distance > distances[node]:
            continue
        for neighbour, weight in graph[node]:
            other = distance + weight
            if other < distances[neighbour]:
                distances[neighbour] = other
                heapq.heappush(heap, (other, neighbour))
    return distances


def bellman_ford(edges: list[tuple[int, int, int]], vertex_count: int, source: int) -> list[float]:
    """The lengths of the shortest ways, of edges that may be negative.

    >>> bellman_ford([(2, 1, -10), (3, 2, 3), (0, 3, 5), (0, 1, 4)], 4, 0)
    [0.0, -2.0, 8.0, 5.0]
    >>> bellman_ford([(2, 1, -10), (3, 2, 3), (0, 3, 5), (0, 1, 4), (1, 3, 5)], 4, 0)
    Traceback (most recent call last):
        ...
    Exception: Negative cycle found
    """
    distance = [float("inf")] * vertex_count
    distance[source] = 0.0
    for _ in range(vertex_count - 1):
        for u, v, w in edges:
            if distance[u] != float("inf") and distance[u] + w < distance[v]:
                distance[v] = distance[u] + w
    for u, v, w in edges:
        if distance[u] != float("inf") and distance[u] + w < distance[v]:
            raise Exception("Negative cycle found")
    return distance


def floyd_warshall(graph: list[list[float]]) -> list[list[float]]:
    """The lengths of all shortest ways.

    >>> inf = float("inf")
    >>> floyd_warshall([[0, 3, inf], [inf, 0, 1], [2, inf, 0]])
    [[0, 3, 4], [3, 0, 1], [2, 5, 0]]
    """
    n = len(graph)
    dist = [row[:] for row in graph]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if dist[i][k] + dist[k][j] < dist[i][j]:
                    dist[i][j] = dist[i][k] + dist[k][j]
    return dist


def topological_sort(graph: list[list[int]]) -> list[int]:
    """Nodes in an order in which each stands before those it points to.

    >>> topological_sort([[1, 2], [3], [3], [4, 5], [], []])
    [0, 1, 2, 3, 4, 5]
    >>> topological_sort([[1], [0]])
    []
    """
    indegree = [0] * len(graph)
    for values in graph:
        for i in values:
            indegree[i] += 1
    queue = []
    for i in range(len(indegree)):
        if indegree[i] == 0:
            queue.append(i)
    order = []
    while queue:
        vertex = queue.pop(0)
        order.append(vertex)
        for x in graph[vertex]:
            indegree[x] -= 1
            if indegree[x] == 0:
                queue.append(x)
    return order if len(order) == len(graph) else []


def components(n: int, edges: list[tuple[int, int]]) -> int:
    """How many parts a graph has, by union and find.

    >>> components(5, [(0, 1), (1, 2), (3, 4)])
    2
    >>> components(3, [])
    3
    """
    parent = list(range(n))

    def find(x: int) -> int:
        while parent[x] != x:
            parent[x] = parent[parent[x]]
            x = parent[x]
        return x

    count = n
    for a, b in edges:
        a, b = find(a), find(b)
        if a != b:
            parent[a] = b
            count -= 1
    return count


def kruskal(n: int, edges: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """The edges of a smallest spanning tree.

    >>> kruskal(4, [(0, 1, 3), (1, 2, 5), (2, 3, 1)])
    [(2, 3, 1), (0, 1, 3), (1, 2, 5)]
    >>> kruskal(3, [(0, 1, 3), (0, 2, 1), (1, 2, 1)])
    [(0, 2, 1), (1, 2, 1)]
    """

    def find_parent(i: int) -> int:
        if i != parent[i]:
            parent[i] = find_parent(parent[i])
        return parent[i]

    edges = sorted(edges, key=lambda edge: edge[2])
    parent = list(range(n))
    chosen = []
    for edge in edges:
        parent_a = find_parent(edge[0])
        parent_b = find_parent(edge[1])
        if parent_a != parent_b:
            chosen.append(edge)
            parent[parent_a] = parent_b
    return chosen


def count_islands(grid: list[list[int]]) -> int:
    """How many areas of ones a grid has.

    >>> count_islands([[1, 1, 0], [0, 0, 1], [1, 0, 1]])
    3
    >>> count_islands([[0]])
    0
    """
    rows, columns = len(grid), len(grid[0])
    seen = [[False] * columns for _ in range(rows)]

    def fill(i: int, j: int) -> None:
        if i < 0 or j < 0 or i >= rows or j >= columns:
            return
        if seen[i][j] or grid[i][j] == 0:
            return
        seen[i][j] = True
        fill(i + 1, j)
        fill(i - 1, j)
        fill(i, j + 1)
        fill(i, j - 1)

    count = 0
    for i in range(rows):
        for j in range(columns):
            if grid[i][j] == 1 and not seen[i][j]:
                fill(i, j)
                count += 1
    return count


def shortest_path(grid: list[list[int]], start: tuple[int, int], goal: tuple[int, int]) -> int:
    """How many steps a way through the zeros of a grid has, or -1.

    >>> shortest_path([[0, 1, 0], [0, 0, 0], [1, 1, 0]], (0, 0), (2, 2))
    4
    >>> shortest_path([[0, 1], [1, 0]], (0, 0), (1, 1))
    -1
    """
    queue = deque([(start[0], start[1], 0)])
    seen = {start}
    while queue:
        row, column, steps = queue.popleft()
        if (row, column) == goal:
            return steps
        for down, right in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            i, j = row + down, column + right
            if 0 <= i < len(grid) and 0 <= j < len(grid[0]) and grid[i][j] == 0 and (i, j) not in seen:
                seen.add((i, j))
                queue.append((i, j, steps + 1))
    return -1


def is_bipartite(graph: dict[int, list[int]]) -> bool:
    """Whether two colours do.

    >>> is_bipartite({0: [1, 3], 1: [0, 2], 2: [1, 3], 3: [0, 2]})
    True
    >>> is_bipartite({0: [1, 2], 1: [0, 2], 2: [0, 1]})
    False
    """
    colours: dict[int, int] = {}
    for start in graph:
        if start in colours:
            continue
        colours[start] = 0
        stack = [start]
        while stack:
            node = stack.pop()
            for neighbour in graph[node]:
                if neighbour not in colours:
                    colours[neighbour] = 1 - colours[node]
                    stack.append(neighbour)
                elif colours[neighbour] == colours[node]:
                    return False
    return True
