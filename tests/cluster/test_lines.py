"""Calls between processes of one machine without Ray: what comes back, what a death is, and who asks whom."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest

from jitflow.cluster.lines import Answering, line_to
from jitflow.cluster.memory import can_share

pytestmark = pytest.mark.skipif(not can_share(), reason="needs sockets without names")


class Unpicklable(Exception):
    def __init__(self, one: int, other: int) -> None:
        super().__init__(f"{one} and {other}")


def answer(what: str, *given: Any) -> Any:
    match what:
        case "same":
            return given
        case "written to":
            given[0][...] = 7
            return given[0]
        case "sleep":
            return time.sleep(given[0])
        case "lambda":
            return lambda: None
        case "two numbers":
            raise Unpicklable(1, 2)
        case _:
            raise KeyError(what)


@pytest.mark.parametrize("size", [0, 3, 100_000, 5_000_000])
def test_arrays_come_as_they_are(size: int) -> None:
    line = line_to(Answering(answer).address)
    given = np.arange(size, dtype=np.float32), np.ones((2, 3))[::-1], "text", {"a": [np.int16(3)]}
    found = line.ask("same", *given).answer()
    np.testing.assert_array_equal(found[0], given[0])
    np.testing.assert_array_equal(found[1], given[1])
    assert found[2:] == given[2:]
    written = line.ask("written to", given[0]).answer()
    assert written.flags.writeable
    assert (written == 7).all()
    assert not size or given[0][0] == 0


def test_a_call_goes_after_the_one_before_and_answers_wait_to_be_asked_for() -> None:
    line = line_to(Answering(answer).address)
    asked = [line.ask("same", number) for number in range(5)]
    assert [one.answer() for one in asked[::-1]] == [(number,) for number in range(4, -1, -1)]
    assert asked[0].answer() == (0,)


def test_what_is_raised_comes_with_its_lines() -> None:
    line = line_to(Answering(answer).address)
    with pytest.raises(KeyError, match="other") as caught:
        line.ask("other").answer()
    assert "test_lines.py" in "".join(caught.value.__notes__)
    with pytest.raises(RuntimeError, match="Unpicklable: 1 and 2"):
        line.ask("two numbers").answer()
    with pytest.raises((AttributeError, TypeError), match="pickle"):
        line.ask("lambda").answer()
    assert line.ask("same", 1).answer() == (1,)


def test_threads_have_lines_of_their_own() -> None:
    address = Answering(answer).address
    line = line_to(address)
    waiting, found = line.ask("sleep", 0.5), []
    thread = threading.Thread(target=lambda: found.append(line_to(address).ask("same", 1).answer()))
    thread.start()
    thread.join(0.4)
    assert found == [(1,)]
    assert line_to(address) is line
    assert waiting.answer() is None


ELSEWHERE = """
import time
from jitflow.cluster.lines import Answering
print(Answering(time.sleep).address, flush=True)
time.sleep(60)
"""


def test_a_death_is_heard_of_at_once() -> None:
    with subprocess.Popen([sys.executable, "-c", ELSEWHERE], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        line = line_to(address)
        assert line.ask(0.001).answer() is None
        waiting = line.ask(60)
        process.kill()
        with pytest.raises((EOFError, OSError)):
            waiting.answer()
        assert not line.is_open
    with pytest.raises(OSError, match="refused"):
        line_to(address)
