"""The tables as a whole: every function is tested, and takes the arguments that NumPy's takes."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import numpy as np
from numpy.lib import stride_tricks

from jitflow.frontend.numpy.dispatch import FUNCTIONS, METHODS, REPLACEMENTS
from jitflow.frontend.numpy.ufuncs import LOOPS

HERE = Path(__file__).parent


def _function(name: str) -> object:
    owner, _, function = name.rpartition(".")
    return getattr(getattr(np, owner) if owner else np, function, None)


def test_every_function_is_tested():
    sources = "".join(path.read_text() for path in HERE.glob("test_*.py"))
    used = set(re.findall(r"np\.((?:linalg\.|fft\.)?\w+)", sources))
    tested = {id(_function(name)) for name in used}
    known = [function for function in FUNCTIONS if function not in LOOPS and not isinstance(function, type)]
    tested |= {id(np.amax), id(np.amin)}  # old names of max and min
    tested |= {id(getattr(stride_tricks, name)) for name in re.findall(r"stride_tricks import (\w+)", sources)}
    untested = sorted(function.__name__ for function in known if id(function) not in tested)
    assert not untested


def test_replacements_are_what_does_not_dispatch():
    assert set(REPLACEMENTS) <= set(FUNCTIONS)


def test_handlers_take_numpys_arguments():
    """The parameters that NumPy's signature names exist under those names, but for a few that mean nothing here."""
    for function, handler in FUNCTIONS.items():
        if isinstance(function, type | np.ufunc):
            continue
        try:
            wanted = inspect.signature(function).parameters
        except ValueError:
            continue
        parameters = inspect.signature(handler).parameters
        if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters.values()):
            continue
        names = {name for name, parameter in wanted.items() if parameter.kind is not parameter.VAR_KEYWORD}
        lacking = names - set(parameters)
        unknown = {name for name in lacking if wanted[name].kind is not inspect.Parameter.POSITIONAL_ONLY}
        assert not unknown - {"args", "kwargs"}, (function.__name__, unknown)


def test_methods_are_those_of_arrays():
    assert all(hasattr(np.ndarray, name) for name in METHODS)
