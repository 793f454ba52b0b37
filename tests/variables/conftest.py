"""What the tests of variables share: each runs on the native entry and on the Python entry."""

from __future__ import annotations

import pytest

from jitflow import api
from jitflow.runtime.entry.dispatcher import make_function_type


@pytest.fixture(params=["native", "python"], autouse=True)
def entry(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Make compiled functions of a test take this entry."""
    native = request.param == "native"
    monkeypatch.setattr(
        api, "_function_type", lambda kind=api.CompiledFunction: make_function_type(kind, native=native)
    )
    return request.param
