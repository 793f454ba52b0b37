"""Every test of calls runs on both entry paths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from jitflow.runtime.entry.dispatcher import make_function_type
from jitflow.runtime.entry.plan import Plan
from jitflow.runtime.native.object_layout import layout_is_known
from tests.runtime.fakes import Body, Methods, specialise

Make = Callable[..., Any]


@pytest.fixture(scope="session", params=["native", "python"])
def function_type(request: pytest.FixtureRequest) -> type[Any]:
    if request.param == "native" and not layout_is_known():
        pytest.skip("this interpreter takes the Python entry path")
    return make_function_type(Methods, native=request.param == "native")


@pytest.fixture
def is_native(function_type: type[Any]) -> bool:
    return hasattr(function_type, "_plain")


@pytest.fixture
def make(function_type: type[Any]) -> Make:
    """Make a function with one specialisation from a plan; its parameters are the plan's."""

    def build(plan: Plan, body: Body | None = None, **options: Any) -> Any:
        namespace: dict[str, Any] = {}
        exec(f"def fake({', '.join(plan.parameter_names)}): ...", namespace)
        function = function_type(namespace["fake"])
        function._link(specialise(plan, body, **options))
        return function

    return build
