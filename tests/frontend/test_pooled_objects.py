"""Objects of the user's classes that loops make and hand on: lists of nodes, trees, heaps and graphs, as in Python."""

from __future__ import annotations

import copy
import heapq
from collections import deque
from dataclasses import dataclass, field

import numpy as np
import pytest

import jitflow
from jitflow.errors import UserNotImplementedError

PROGRAMS = []


def program(*arguments):
    """Enter a program with what it is called with."""

    def enter(function):
        PROGRAMS.append((function, arguments))
        return function

    return enter


def shown(thing, seen=None):
    """What a thing is and holds, and which of the objects in it are one."""
    seen = {} if seen is None else seen
    if thing is None or isinstance(thing, int | float | str | np.generic):
        return type(thing).__name__, repr(thing)
    if id(thing) in seen:
        return "again", seen[id(thing)]
    seen[id(thing)] = len(seen)
    if isinstance(thing, list | tuple):
        return type(thing).__name__, [shown(one, seen) for one in thing]
    if isinstance(thing, dict):
        return "dict", [(shown(key, seen), shown(item, seen)) for key, item in thing.items()]
    names = thing.__slots__ if hasattr(type(thing), "__slots__") else vars(thing)
    return type(thing).__name__, [(name, shown(getattr(thing, name), seen)) for name in names]


class Link:
    def __init__(self, value, after=None):
        self.value = value
        self.next = after


class Tree:
    def __init__(self, key):
        self.key = key
        self.left = None
        self.right = None


@program(20)
@program(0)
def summed_list(n):
    head = None
    for i in range(n):
        head = Link(i * i, head)
    total, node = 0, head
    while node is not None:
        total += node.value
        node = node.next
    return total


class Links:
    def __init__(self):
        self.head = None
        self.length = 0

    def append(self, value):
        node = Link(value)
        if self.head is None:
            self.head = node
        else:
            last = self.head
            while last.next is not None:
                last = last.next
            last.next = node
        self.length += 1

    def reverse(self):
        before, node = None, self.head
        while node:
            after = node.next
            node.next = before
            before, node = node, after
        self.head = before


@program([3, 1, 2, 5])
def reversed_links(values):
    links = Links()
    for value in values:
        links.append(value)
    links.reverse()
    return links


@program([3, 8, 1, 9, 2, 5, 2], 5)
def searched_tree(keys, wanted):
    root = None
    for key in keys:
        if root is None:
            root = Tree(key)
            continue
        node = root
        while True:
            if key < node.key:
                if node.left is None:
                    node.left = Tree(key)
                    break
                node = node.left
            else:
                if node.right is None:
                    node.right = Tree(key)
                    break
                node = node.right
    node = root
    while node is not None and node.key != wanted:
        node = node.left if wanted < node.key else node.right
    return root, node is not None


def inserted(node, key):
    if node is None:
        return Tree(key)
    if key < node.key:
        node.left = inserted(node.left, key)
    else:
        node.right = inserted(node.right, key)
    return node


def walk(node, found):
    if node is not None:
        walk(node.left, found)
        found.append(node.key)
        walk(node.right, found)


@program([3, 8, 1, 9, 2, 5, 2])
def sorted_by_a_tree(keys):
    root = None
    for key in keys:
        root = inserted(root, key)
    found = []
    walk(root, found)
    return found


class Step:
    def __init__(self, position, parent=None):
        self.position = position
        self.parent = parent
        self.cost = 0 if parent is None else parent.cost + 1
        self.least = 0

    def __lt__(self, other):
        return self.least < other.least


def shortest_way(walls, start, goal):
    rows, columns = walls.shape
    heap, seen = [], set()
    heapq.heappush(heap, Step(start))
    while heap:
        step = heapq.heappop(heap)
        if step.position == goal:
            way = []
            while step is not None:
                way.append(step.position)
                step = step.parent
            return way[::-1]
        if step.position in seen:
            continue
        seen.add(step.position)
        for down, right in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            row, column = step.position[0] + down, step.position[1] + right
            if 0 <= row < rows and 0 <= column < columns and not walls[row, column] and (row, column) not in seen:
                other = Step((row, column), step)
                other.least = other.cost + abs(goal[0] - row) + abs(goal[1] - column)
                heapq.heappush(heap, other)
    return None


@program(30)
def heap_of_tuples(n):
    heap = []
    for i in range(n):
        heapq.heappush(heap, ((i * 7919) % 11, i, Link(i)))
    total = 0
    while heap:
        priority, _, node = heapq.heappop(heap)
        total = (total * 31 + node.value + priority) % 1000003
    return total


class Vertex:
    def __init__(self, name):
        self.name = name
        self.edges = []
        self.distance = -1


@program(6, [(0, 3), (3, 4), (4, 1), (1, 1)])
def distances(n, pairs):
    vertices = []
    for i in range(n):
        vertices.append(Vertex(i))
    for one, other in pairs:
        vertices[one].edges.append(vertices[other])
        vertices[other].edges.append(vertices[one])
    vertices[0].distance = 0
    queue = deque([vertices[0]])
    while queue:
        vertex = queue.popleft()
        for other in vertex.edges:
            if other.distance < 0:
                other.distance = vertex.distance + 1
                queue.append(other)
    return vertices


class Member:
    def __init__(self, key):
        self.key = key
        self.parent = self
        self.rank = 0


def root_of(member):
    while member.parent is not member:
        member.parent = member.parent.parent
        member = member.parent
    return member


@program(7, [(0, 3), (3, 4), (5, 6), (6, 5)])
def united(n, pairs):
    members = [Member(i) for i in range(n)]
    for one, other in pairs:
        one, other = root_of(members[one]), root_of(members[other])
        if one is not other:
            if one.rank < other.rank:
                one, other = other, one
            other.parent = one
            one.rank += one.rank == other.rank
    return members


@dataclass
class Particle:
    x: float
    v: float
    alive: bool = True


@program(9, 20)
def moved(n, steps):
    particles = []
    for i in range(n):
        particles.append(Particle(i * 0.5, 1 / (i + 1)))
    for _ in range(steps):
        for one in particles:
            one.x += one.v
            if one.x > 10:
                one.alive = False
    return particles, sum(one.x for one in particles if one.alive)


@dataclass(slots=True)
class Box:
    number: int
    items: list = field(default_factory=list)


@program(4)
def boxes(n):
    found = []
    for i in range(n):
        found.append(Box(i))
        found[0].items.append(i)
        object.__setattr__(found[i // 2], "number", i + 10)
    return found


@program(9)
def same_objects(n):
    one, other = Link(0), Link(0)
    items = [one, other]
    for i in range(n):
        items.append(Link(i, one if i % 2 else None))
    first = items[0]
    count = 0
    for item in items:
        count += (item is one) + 10 * (item.next is one) + 100 * (item == other) + 1000 * (item != first)
    return count, first is one, other == first, items.index(other), Link(0) in items, items.count(one)


@program(9)
def as_keys(n):
    nodes = []
    for i in range(n):
        nodes.append(Link(i))
    seen, distance = set(), {nodes[0]: 0.5}
    for i in range(1, n):
        seen.add(nodes[i * i % n])
        if nodes[i] in seen:
            distance[nodes[i]] = distance[nodes[0]] + i
    return len(seen), [distance.get(node, -1.0) for node in nodes], distance


class Late:
    def __init__(self, a):
        self.a = a


@program(6)
def of_several_kinds(n):
    items = []
    for i in range(n):
        item = Late(i)
        if i == 3:
            item.a = 2.5
        elif i == 1:
            item.a = None
        elif i == 2:
            item.a = "text"
        else:
            item.b = i * 0.5
        items.append(item)
    total = 0.0
    for item in items:
        if hasattr(item, "b"):
            total += item.b
        total += getattr(item, "b", 100)
    return items, total


@program(6)
def lacks_an_attribute(n):
    items = []
    for i in range(n):
        items.append(Late(i))
        if i % 2:
            items[i].b = i
    total = 0
    for item in items:
        total += item.b
    return total


@program(5)
def past_the_end(n):
    head = None
    for i in range(n):
        head = Link(i, head)
    while True:
        head = head.next


class Child:
    def __init__(self, parent, name):
        self.name = name
        self.children = []
        self.parent = parent
        if parent is not None:
            parent.children.append(self)


@program(7)
def handed_on_by_their_constructor(n):
    root = node = Child(None, 0)
    for i in range(1, n):
        child = Child(node, i)
        if i % 3 == 0:
            node = child
    return root


@program(4)
def copied(n):
    found = []
    for i in range(n):
        found.append(Link(i, found[i // 2] if i else None))
        twin = copy.copy(found[-1])
        twin.value += 10
        found.append(twin)
    return found, (found[0], {"one": found[1]})


@program(6)
def one_by_several_names(n):
    a = b = None
    for i in range(n):
        if i % 2:
            a = Link(i, b)
        else:
            b = Link(i, a)
    x = a if n % 3 == 0 else b
    y = x
    y.value = 77
    return a.value, b.value, x is a, x is b, y is x


def outcome(function, arguments):
    try:
        return shown(function(*copy.deepcopy(arguments)))
    except (AttributeError, IndexError, TypeError, ValueError) as error:
        return type(error), str(error)


@pytest.mark.parametrize(("function", "arguments"), PROGRAMS, ids=lambda part: getattr(part, "__name__", ""))
def test_objects_that_loops_make(function, arguments):
    compiled = jitflow.function(function)
    expected = outcome(function, arguments)
    assert outcome(compiled, arguments) == expected
    assert outcome(compiled, arguments) == expected


def test_a_star_on_random_grids():
    compiled = jitflow.function(shortest_way)
    random = np.random.default_rng(3)
    for _ in range(20):
        walls = random.random((9, 11)) < 0.3
        goal = (int(random.integers(9)), int(random.integers(11)))
        assert compiled(walls, (0, 0), goal) == shortest_way(walls, (0, 0), goal)


def read_as_dict(n):
    items = []
    while len(items) < n:
        items.append(Link(n))
    return items[0].__dict__


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (read_as_dict, "the __dict__ of an object of class Link, of which the run decides which it is"),
    ],
)
def test_what_such_objects_cannot_do(function, message):
    with pytest.raises(UserNotImplementedError) as caught:
        jitflow.function(function)(40)
    assert caught.value.message == message
    assert caught.value.mend
