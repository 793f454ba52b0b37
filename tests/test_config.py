"""The switches: what the environment may say, and what it may not."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from jitflow.config import Config, read_config


def test_an_empty_environment_gives_the_defaults() -> None:
    assert read_config({}) == Config()


def test_every_switch_is_read() -> None:
    environment = {
        "JITFLOW_DISABLE": "1",
        "JITFLOW_ENTRY": "python",
        "JITFLOW_VERIFY": "yes",
        "JITFLOW_DUMP": "2",
        "JITFLOW_CACHE_SIZE": "8",
        "JITFLOW_THREADS": "4",
        "JITFLOW_CPU": "x86-64-v3",
    }
    expected = Config(disable=True, entry="python", verify=True, dump=2, cache_size=8, threads=4, cpu="x86-64-v3")
    assert read_config(environment) == expected


@pytest.mark.parametrize("text", ["0", "", "no", "OFF", " false "])
def test_a_flag_can_be_off(text: str) -> None:
    assert not read_config({"JITFLOW_DISABLE": text}).disable


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("JITFLOW_DISABLE", "maybe", "JITFLOW_DISABLE: expected 0 or 1, got 'maybe'"),
        ("JITFLOW_ENTRY", "rust", "JITFLOW_ENTRY: expected native or python, got 'rust'"),
        (
            "JITFLOW_CPU",
            "avx2",
            "JITFLOW_CPU: expected host, x86-64, x86-64-v2, x86-64-v3 or x86-64-v4, got 'avx2'",
        ),
        ("JITFLOW_DUMP", "4", "JITFLOW_DUMP: expected an integer from 0 to 3, got '4'"),
        ("JITFLOW_DUMP", "all", "JITFLOW_DUMP: expected an integer from 0 to 3, got 'all'"),
        ("JITFLOW_CACHE_SIZE", "0", "JITFLOW_CACHE_SIZE: expected an integer from 1 to 1048576, got '0'"),
    ],
)
def test_an_unknown_value_is_an_error(name: str, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        read_config({name: text})


def test_the_documentation_has_every_switch() -> None:
    page = (Path(__file__).parents[1] / "docs" / "calls.md").read_text()
    documented = set(re.findall(r"^\| `JITFLOW_(\w+)`", page, re.MULTILINE))
    assert documented == {field.name.upper() for field in dataclasses.fields(Config)}
