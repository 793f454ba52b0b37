"""Members of enumerations that the run chooses: states, items, attributes of objects, keys."""

from __future__ import annotations

import enum
from collections import deque
from dataclasses import dataclass

import numpy as np
import pytest

from jitflow.ir.parser import parse_type
from jitflow.ir.types import Container, Member, Several
from tests.truth.whole.same import assert_does_what_python_does

CALLS = [(np.array([0, 1, 2, 3, 4, 5]),), (np.array([2, 3]),)]


class State(enum.Enum):
    """Of more members than kinds that a value may be of."""

    IDLE = 0
    READY = 1
    RUNNING = 2
    WAITING = 3
    STOPPED = 4
    FAILED = 5


class Level(enum.IntEnum):
    """Members that are numbers."""

    LOW = 1
    HIGH = 2


@dataclass
class Job:
    """With members among its attributes."""

    key: int
    state: State = State.IDLE
    level: Level = Level.LOW


def goes_through_states(numbers):
    state, visited = State.IDLE, []
    for number in numbers.tolist():
        if state is State.IDLE and number > 0:
            state = State.READY
        elif state is State.READY and number > 1:
            state = State.RUNNING
        elif state is State.RUNNING:
            state = State.WAITING
        elif state == State.WAITING:
            state = State.STOPPED
        visited.append(state.value)
    return visited, state


def keeps_members(numbers):
    states, levels, mixed = [], [], [None]
    for number in numbers.tolist():
        states.append(State.FAILED if number > 3 else State.READY)
        levels.append(Level.HIGH if number > 2 else Level.LOW)
        if number > 1:
            mixed.append(State.WAITING)
        if number > 2:
            mixed.append(number)
    return states, levels, sum(levels), [level.name for level in levels], mixed, State.WAITING in mixed


def has_them_in_objects(numbers):
    jobs = {}
    for number in numbers.tolist():
        if number not in jobs:
            jobs[number] = Job(number)
        if number > 3:
            jobs[number].state = State.FAILED
        elif number > 1:
            jobs[number].level = Level.HIGH
    return [(job.key, job.state, job.level) for job in jobs.values() if job.state is not State.WAITING]


def has_them_in_a_queue(numbers):
    queue, seen = deque([(State.IDLE, 0)]), []
    while queue:
        state, depth = queue.popleft()
        seen.append((state, depth))
        if depth < numbers[1]:
            queue.append((State.READY if state is State.IDLE else State.IDLE, depth + 1))
    return seen


def looks_them_up(numbers):
    following = {State.IDLE: State.READY, State.READY: State.RUNNING, State.RUNNING: State.IDLE}
    pairs = {(State.IDLE, 0): 1, (State.READY, 0): 2}
    state, total = State.IDLE, 0
    for number in numbers.tolist():
        if number > 1:
            state = following[state]
            total += pairs.get((state, 0), 10)
    return state, total


@pytest.mark.parametrize("program", [
    goes_through_states, keeps_members, has_them_in_objects, has_them_in_a_queue, looks_them_up,
])  # fmt: skip
def test_the_run_chooses_them(program):
    assert_does_what_python_does(program, CALLS)


def asks_for_a_member(number):
    return State(number).name


def test_what_is_no_member_is_told_by_its_number():
    """The message had the text of what stands for the number."""
    assert_does_what_python_does(asks_for_a_member, [(2,), (7,), (0,)])


def test_their_types_are_read_as_they_are_printed():
    text = str(Container(item=Several((Member(Level, "HIGH"), Member(Level, "LOW")))))
    assert text == "list<either<member<Level, HIGH>, member<Level, LOW>>>"
    assert str(parse_type(text)) == text
