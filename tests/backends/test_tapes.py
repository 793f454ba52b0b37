"""Tapes in memory: chunks are entered, left, used again and given back, in whatever order blocks come and go."""

from __future__ import annotations

import numpy as np
import pytest

from jitflow.backends.llvm import compile_program
from jitflow.backends.llvm.emission.tapes import FIRST_CHUNK, HEADER, SMALLEST_CHUNK
from jitflow.ir.core import Function, Region, Value
from jitflow.ir.dtypes import I64
from jitflow.ir.types import Buffer, Scalar, Tape
from jitflow.ir.verifier import verify
from tests.backends.programs import INDEX, Allocator, Failed, Kit, host, kernel, run

NUMBER = Scalar(I64)
OUT_OF_MEMORY, NOT_ON_TAPE = 2, 5
FIRST, ROOM = (FIRST_CHUNK - HEADER) // 8, (SMALLEST_CHUNK - HEADER) // 8
"""How many words fill the first chunk, and the second."""


def script_program() -> Function:
    """Runs a script of words: n > 0 pushes a block of n words, -n pops one; the ends of a block hold its turn.

    Arguments: the script, its length, and an array in which each pop puts what it finds at both ends.
    """

    def build(kit: Kit) -> None:
        script, found = (kit.make("argument", slot=slot, types=[Buffer(I64)]) for slot in (0, 2))
        turns = kit.make("argument", slot=1, types=[INDEX])
        tape = kit.make("tape", dtype=I64)
        zero, eight, sixteen = (kit.constant(number) for number in (0, 8, 16))

        def ends(room: Value, size: Value) -> tuple[Value, Value]:
            return kit.make("offset", room, zero), kit.make("offset", room, kit.make("subtract", size, eight))

        def push(size: Value, position: Value) -> Region:
            def inside() -> list[Value]:
                turn = kit.make("cast", position, dtype=I64)
                for end in ends(kit.make("extend", tape, size), size):
                    kit.add("write", end, zero, turn)
                return []

            return kit.nested(inside)

        def pop(size: Value, position: Value) -> Region:
            def inside() -> list[Value]:
                size_there = kit.make("subtract", zero, size)
                for number, end in enumerate(ends(kit.make("retract", tape, size_there), size_there)):
                    place = kit.make("add", kit.make("multiply", position, sixteen), kit.constant(8 * number))
                    kit.add("write", found, place, kit.make("read", end, zero, lanes=0))
                return []

            return kit.nested(inside)

        def turn(position: Value) -> list[Value]:
            words = kit.make("read", script, kit.make("multiply", position, eight), lanes=0)
            size = kit.make("multiply", kit.make("to_index", words), eight)
            regions = push(size, position), pop(size, position)
            kit.add("if", kit.make("greater", size, zero), types=(), regions=regions)
            return []

        kit.loop(zero, turns, 1, turn)
        kit.add("clear", tape)

    program = host(build)
    verify(program)
    return program


def random_script(random: np.random.Generator, turns: int) -> tuple[list[int], np.ndarray]:
    """A script that never pops what is not there, and what it finds."""
    script, stack, found = [], [], np.full((turns, 2), -1)
    for turn in range(turns):
        if stack and random.random() < 0.48:
            words, pushed = stack.pop()
            script.append(-words)
            found[turn] = pushed
        else:
            words = int(random.choice([1, 3, FIRST, FIRST + 1, 100, ROOM, ROOM + 1, 5000, 40_000]))
            stack.append((words, turn))
            script.append(words)
    return script, found


EXECUTABLE = compile_program(script_program())


@pytest.mark.parametrize("seed", range(8))
def test_blocks_come_back_in_reverse(seed: int) -> None:
    script, expected = random_script(np.random.default_rng(seed), 600)
    found, allocator = np.full((600, 2), -1), Allocator()
    run(EXECUTABLE, [np.array(script), len(script), found], allocator=allocator)
    np.testing.assert_array_equal(found, expected)
    assert not allocator.live


def test_chunks_double_and_are_used_again() -> None:
    up, down = [64] * 2000, [-64] * 2000
    found, allocator = np.zeros((8000, 2), np.int64), Allocator()
    run(EXECUTABLE, [np.array((up + down) * 2), 8000, found], allocator=allocator)
    total = 2000 * 64 * 8
    assert allocator.count <= 1 + np.log2(total / SMALLEST_CHUNK)
    large = np.array([SMALLEST_CHUNK // 8, -SMALLEST_CHUNK // 8, 4, -4])
    allocator = Allocator()
    run(EXECUTABLE, [large, 4, found], allocator=allocator)
    assert allocator.count == 1, "a block that needs more than the smallest chunk gets one that holds it"
    allocator = Allocator()
    run(EXECUTABLE, [np.array([FIRST, -FIRST] * 50), 100, found], allocator=allocator)
    assert allocator.count == 0, "the first chunk is there already"


def test_whoever_pops_too_much_is_told() -> None:
    found = np.zeros((9, 2), np.int64)
    for script in ([-1], [4, -5], [4, -4, -1], [600, 600, -600, -601]):
        allocator = Allocator()
        with pytest.raises(Failed) as failure:
            run(EXECUTABLE, [np.array(script), len(script), found], allocator=allocator)
        assert failure.value.status == NOT_ON_TAPE
        assert not allocator.live


def test_a_failing_allocation_says_how_much_and_gives_all_back() -> None:
    found = np.zeros((900, 2), np.int64)
    for fail_at in range(4):
        allocator = Allocator(fail_at)
        with pytest.raises(Failed) as failure:
            run(EXECUTABLE, [np.array([100] * 900), 900, found], allocator=allocator)
        assert failure.value.error[[0, 2]].tolist() == [OUT_OF_MEMORY, SMALLEST_CHUNK << fail_at]
        assert EXECUTABLE.sites[failure.value.error[1]].name == "extend"
        assert not allocator.live
    with pytest.raises(Failed) as failure:
        run(EXECUTABLE, [np.array([1 << 40]), 1, found])
    assert failure.value.error[[0, 2]].tolist() == [OUT_OF_MEMORY, (8 << 40) + HEADER]


def kernel_program() -> Function:
    """Kernels that push the first numbers onto two tapes and pop them, one from the other."""
    tapes = [Tape(I64), Tape(I64)]

    def push(kit: Kit, first: Value, second: Value, turns: Value) -> None:
        def turn(position: Value) -> list[Value]:
            number = kit.make("cast", position, dtype=I64)
            kit.add("push", first, number)
            kit.add("push", second, kit.make("add", number, number))
            return []

        kit.loop(kit.constant(0), turns, 1, turn)

    def pop(kit: Kit, first: Value, second: Value, turns: Value, out: Value) -> None:
        def turn(position: Value) -> list[Value]:
            popped = [kit.make("pop", tape, types=[NUMBER]) for tape in (second, first)]
            place = kit.make("multiply", position, kit.constant(8))
            kit.add("write", out, place, kit.make("subtract", *popped))
            return []

        kit.loop(kit.constant(0), turns, 1, turn)
        kit.add("clear", second)

    kernels = (
        kernel([*tapes, INDEX], push, "push", scalar=True),
        kernel([*tapes, INDEX, Buffer(I64)], pop, "pop", scalar=True),
    )

    def build(kit: Kit) -> None:
        there, back = (kit.make("argument", slot=slot, types=[INDEX]) for slot in (0, 1))
        out = kit.make("argument", slot=2, types=[Buffer(I64)])
        ends = [kit.make("tape", dtype=I64) for _ in range(2)]
        kit.add("launch", *ends, there, types=(), kernel="push")
        kit.add("launch", *ends, back, out, types=(), kernel="pop")
        kit.add("launch", *ends, there, types=(), kernel="push")
        for tape in ends:
            kit.add("clear", tape)

    program = host(build, *kernels)
    verify(program)
    return program


def test_kernels_push_and_pop_numbers() -> None:
    executable = compile_program(kernel_program())
    for turns in (0, 1, FIRST, FIRST + 1, FIRST + ROOM, FIRST + ROOM + 1, 20_000):
        out, allocator = np.zeros(turns, np.int64), Allocator()
        run(executable, [turns, turns, out], allocator=allocator)
        np.testing.assert_array_equal(out, np.arange(turns)[::-1])
        assert not allocator.live
    count = allocator.count
    for fail_at in range(count):
        allocator = Allocator(fail_at)
        with pytest.raises(Failed) as failure:
            run(executable, [turns, turns, out], allocator=allocator)
        assert failure.value.status == OUT_OF_MEMORY
        assert executable.sites[failure.value.error[1]].name == "push"
        assert not allocator.live
    allocator = Allocator()
    with pytest.raises(Failed) as failure:
        run(executable, [3, 4, out], allocator=allocator)
    assert failure.value.status == NOT_ON_TAPE
    assert not allocator.live


def looking_program() -> Function:
    """Push numbers, double each where it lies, from the last to the first, and read them from the first to the last."""

    def body(kit: Kit, tape: Value, turns: Value, out: Value) -> None:
        def push(position: Value) -> list[Value]:
            kit.add("push", tape, kit.make("cast", position, dtype=I64))
            return []

        def double(position: Value) -> list[Value]:
            place = kit.make("cast", kit.make("add", position, kit.constant(1)), dtype=I64)
            found = kit.make("peek", tape, place, types=[NUMBER])
            kit.add("poke", tape, place, kit.make("add", found, found))
            return []

        def read(position: Value) -> list[Value]:
            place = kit.make("cast", kit.make("subtract", turns, position), dtype=I64)
            at = kit.make("multiply", position, kit.constant(8))
            kit.add("write", out, at, kit.make("peek", tape, place, types=[NUMBER]))
            return []

        for turn in (push, double, read):
            kit.loop(kit.constant(0), turns, 1, turn)

    def build(kit: Kit) -> None:
        turns = kit.make("argument", slot=0, types=[INDEX])
        out = kit.make("argument", slot=1, types=[Buffer(I64)])
        tape = kit.make("tape", dtype=I64)
        kit.add("launch", tape, turns, out, types=(), kernel="look")
        kit.add("clear", tape)

    program = host(build, kernel([Tape(I64), INDEX, Buffer(I64)], body, "look", scalar=True))
    verify(program)
    return program


def test_kernels_look_at_numbers() -> None:
    executable = compile_program(looking_program())
    for turns in (0, 1, FIRST, FIRST + 1, FIRST + ROOM, FIRST + ROOM + 1, 20_000):
        out = np.zeros(turns, np.int64)
        run(executable, [turns, out], allocator=Allocator())
        np.testing.assert_array_equal(out, 2 * np.arange(turns))
