"""Whole programs on several devices give what they give on one, bit for bit, and what Python gives."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import jitflow
from jitflow import config
from jitflow.compilation import splitting
from jitflow.frontend.outside import scopes
from jitflow.machines import hardware
from tests.backends.cuda.kernels import needs_nvrtc
from tests.backends.cuda.native import GPUS, OnDevice
from tests.compare import EXACT, REDUCTION, Tolerance, assert_same
from tests.devices.programs import PROGRAMS


def assert_alike(function: Callable[..., Any], other: Callable[..., Any], program: Any, tolerance: Tolerance) -> None:
    """Both return or raise the same, and leave the same in their arguments."""
    ours, theirs = (copy.deepcopy(program.arguments) for _ in range(2))
    try:
        expected = other(*theirs)
    except Exception as error:
        with pytest.raises(Exception) as caught:
            function(*ours)
        assert str(caught.value) == str(error)
        assert isinstance(caught.value, next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins"))
    else:
        assert_same(function(*ours), expected, tolerance)
    assert_same(ours, theirs, tolerance)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_programs_on_three_devices(program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = jitflow.function(program)
    monkeypatch.setattr(hardware, "CONFIG", replace(config.CONFIG, cpu_devices=3))
    monkeypatch.setattr(splitting, "split", lambda compilation: setattr(compilation, "devices", ("cpu:0",)))
    assert_alike(whole, program, program, REDUCTION)
    monkeypatch.undo()
    monkeypatch.setattr(hardware, "CONFIG", replace(config.CONFIG, cpu_devices=3))
    split = jitflow.function(program)
    for _ in range(3):
        assert_alike(split, whole, program, EXACT)
    assert "; cpu:1 takes" in split.ir(*program.arguments, stage="partitioned")


@needs_nvrtc
@pytest.mark.parametrize("gpu", GPUS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_programs_on_two_devices_and_a_gpu(program: Any, gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What they have on ``cpu:2`` is on ``cuda:0``."""
    named, others = hardware.device_named, {"cpu:2": lambda: "cuda:0" if hardware.devices("cuda") else "cpu:1"}
    monkeypatch.setattr(hardware, "CONFIG", replace(config.CONFIG, cpu_devices=2))
    monkeypatch.setattr(scopes, "device_named", lambda name: named(others.get(name, lambda: name)()))
    code = OnDevice(program, *copy.deepcopy(program.arguments), device=None, gpu=gpu)
    for _ in range(2):
        assert_alike(code, program, program, REDUCTION)
    assert code.lost() == 0
