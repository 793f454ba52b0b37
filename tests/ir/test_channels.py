"""Partitions that run together: messages, meetings, closed channels, and which error is first."""

from __future__ import annotations

from functools import partial

import pytest

from jitflow.errors import CompilerBug
from jitflow.ir.channels import Channels, run_together
from jitflow.ir.core import walk
from jitflow.ir.interpreter import interpret
from jitflow.ir.parser import parse

FAILS = """%no: bool = constant {value=false, type=<bool>}
  check %no {error="ValueError", message="MESSAGE"}"""


def run(*bodies: str, patience: float = 5.0) -> list[tuple[object, ...]]:
    functions = [parse(f"func @f() {{\n{body}\n}}") for body in bodies]
    channels = Channels(len(functions), patience)
    return run_together(
        [
            (
                lambda channels, record, function=function: partial(interpret, function)(  # type: ignore[misc]
                    channels=channels, record=record
                ),
                [op.attributes["channel"] for op in walk(function.region) if op.name == "send"],
            )
            for function in functions
        ],
        channels,
    )


SEND = '%x: f32 = constant {value=2.0, type=<f32>}\n send %x {channel=0, to="cpu:1"}\n'
RECEIVE = '%y: f32 = recv {channel=0, source="cpu:0"}\n'


def test_a_value_crosses() -> None:
    assert run(SEND + "meet\n yield", RECEIVE + "meet\n yield %y")[1] == (2.0,)


def test_what_was_sent_before_a_failure_arrives() -> None:
    fails = FAILS.replace("MESSAGE", "first")
    with pytest.raises(ValueError, match="first"):
        run(SEND + fails + "\n meet\n yield", RECEIVE + "meet\n yield %y")


@pytest.mark.parametrize("waiting", [RECEIVE + "yield %y", "meet\n yield"])
def test_who_waits_for_a_failed_partition_ends(waiting: str) -> None:
    with pytest.raises(ValueError, match="first"):
        run(FAILS.replace("MESSAGE", "first") + "\n" + SEND + "yield", waiting)


@pytest.mark.parametrize("swapped", [False, True])
def test_the_first_error_in_the_program_is_raised(swapped: bool) -> None:
    early = "progress {level=0, order=3}\n progress {level=1}\n progress {level=2, order=9}\n"
    late = "progress {level=0, order=3}\n progress {level=1}\n progress {level=1}\n progress {level=2, order=4}\n"
    bodies = [
        early + FAILS.replace("MESSAGE", "early") + "\nyield",
        late + FAILS.replace("MESSAGE", "late") + "\nyield",
    ]
    with pytest.raises(ValueError, match="early"):
        run(*(reversed(bodies) if swapped else bodies))


def test_a_lost_message_is_found() -> None:
    with pytest.raises(CompilerBug, match="expected a message on channel 0, which never came"):
        run("yield", RECEIVE + "yield %y", patience=0.1)


def test_a_message_too_many_is_found() -> None:
    with pytest.raises(CompilerBug, match=r"expected every message to be taken, got some on the channels \[0\]"):
        run(SEND + "yield", "yield")
