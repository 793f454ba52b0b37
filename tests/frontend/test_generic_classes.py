"""Classes with type parameters: their objects are made as those of any class, with or without arguments for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import pytest

import jitflow
from tests.frontend.test_pooled_objects import outcome

Key = TypeVar("Key")
Item = TypeVar("Item")


class Link(Generic[Item]):
    def __init__(self, item: Item, below: Link[Item] | None) -> None:
        self.item, self.below = item, below


class Stack(Generic[Item]):
    def __init__(self) -> None:
        self.top: Link[Item] | None = None
        self.size = 0

    def push(self, item: Item) -> None:
        self.top = Link[Item](item, self.top)
        self.size += 1

    def pop(self) -> Item:
        if self.top is None:
            raise IndexError("pop from an empty stack")
        found, self.top = self.top.item, self.top.below
        self.size -= 1
        return found

    def __len__(self) -> int:
        return self.size


@dataclass
class Pair(Generic[Key, Item]):
    key: Key
    item: Item

    def scaled(self, factor: Any) -> Pair[Key, Item]:
        return Pair(self.key, self.item * factor)


class Labelled(Pair[str, Item]):
    def label(self) -> str:
        return f"{self.key}: {self.item}"


class Sized:
    def __init__(self, size: Any) -> None:
        self.size = size

    def __class_getitem__(cls, size: Any) -> Any:
        return cls(size)


def reversed_by_a_stack(n):
    stack = Stack[int]()
    for i in range(n):
        stack.push(i * i)
    return [stack.pop() for _ in range(len(stack))], len(stack)


def popped_too_often(n):
    stack = Stack()
    for i in range(n):
        stack.push(float(i))
    return stack.pop() + stack.pop()


def pairs(x):
    doubled = Pair[str, Any]("x", x).scaled(2)
    return doubled.item, doubled.key, Labelled("y", len(x)).label(), isinstance(doubled, Pair), Sized[len(x)].size


def of_no_parameters(x):
    return Box[int](x)


class Box:
    pass


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (reversed_by_a_stack, (5,)),
        (reversed_by_a_stack, (0,)),
        (popped_too_often, (3,)),
        (popped_too_often, (1,)),
        (pairs, (np.arange(3.0),)),
        (of_no_parameters, (1,)),
    ],
)
def test_classes_with_parameters(function, arguments):
    assert outcome(jitflow.function(function), arguments) == outcome(function, arguments)
