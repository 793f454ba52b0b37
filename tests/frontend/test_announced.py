"""Warnings and records of a compiled program are those of plain Python, with the user's lines, in its order."""

from __future__ import annotations

import logging
import warnings
from warnings import filterwarnings

import numpy as np
import pytest

import jitflow

LOGGER = logging.getLogger("tests.announced")


class Narrow(UserWarning):
    pass


def warned_about(x, name):
    warnings.warn(f"{name} has {x:.1f}", Narrow, stacklevel=3)
    return x


def warns(x):
    for i in range(x.shape[0]):
        if x[i] > 1:
            warnings.warn(f"large {i}", RuntimeWarning, stacklevel=1)
    warnings.warn("outside", stacklevel=2)
    return warned_about(x[0], "x")


def filters(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        filterwarnings("ignore", message="hid")
        for message in ("hidden", "seen"):
            warnings.warn(message, stacklevel=1)
        if x[0] > 0:
            warnings.warn("old", DeprecationWarning, stacklevel=1)
    warnings.warn("hidden no more", DeprecationWarning, stacklevel=1)
    with warnings.catch_warnings(action="ignore"):
        for value in x:
            if value > 1:
                return value
            warnings.warn("turn", stacklevel=1)
    return 0.0


def logs(x, n):
    total = 0.0
    for i in range(n):
        total += float(x[i])
        LOGGER.info("turn %d: %s", i, total)
        LOGGER.debug("never")
    if total > 1:
        LOGGER.log(logging.ERROR, f"{total:.2f}")
        logging.warning("of the root")
    logging.getLogger("tests.announced").warning("%(key)s", {"key": n})
    return total


def heard(function, *arguments):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = function(*arguments)
    return found, [(one.category, str(one.message), one.filename, one.lineno) for one in caught]


def test_warnings():
    compiled = jitflow.function(warns)
    for x in (np.arange(4.0), np.zeros(2)):
        assert heard(compiled, x) == heard(warns, x)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        with pytest.raises(RuntimeWarning, match="large 2"):
            compiled(np.arange(4.0))


def test_filters():
    compiled = jitflow.function(filters)
    for x in (np.arange(4.0), np.ones(2)):
        assert heard(compiled, x) == heard(filters, x)


def makes_errors(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return np.log(x)


def records(x):
    with warnings.catch_warnings(record=True):
        return np.log(x)


def sets_a_filter(x):
    if x[0] > 0:
        warnings.simplefilter("ignore")
    return x


@pytest.mark.parametrize("program", [makes_errors, records, sets_a_filter])
def test_filters_that_are_refused(program):
    with pytest.raises(NotImplementedError, match=r"not compiled|in a compiled function"):
        jitflow.function(program)(np.ones(2))


def test_records(caplog):
    compiled = jitflow.function(logs)

    def records(function, *arguments):
        caplog.clear()
        with caplog.at_level(logging.INFO):
            function(*arguments)
        return [(r.name, r.levelno, r.getMessage(), r.pathname, r.lineno, r.funcName) for r in caplog.records]

    for arguments in ((np.arange(4.0), 3), (np.zeros(1), 1)):
        assert records(compiled, *arguments) == records(logs, *arguments)
    LOGGER.setLevel(logging.WARNING)
    try:
        assert records(compiled, np.arange(4.0), 3) == records(logs, np.arange(4.0), 3)
    finally:
        LOGGER.setLevel(logging.NOTSET)


def test_what_is_no_text_is_refused():
    @jitflow.function
    def warns_of_a_class(x):
        warnings.warn(str, Narrow, stacklevel=1)
        return x

    with pytest.raises(NotImplementedError, match="give the text and the class"):
        warns_of_a_class(1.0)


def test_progress_bars(capsys):
    tqdm = pytest.importorskip("tqdm")

    def shown(x, n):
        total = 0.0
        for i in tqdm.trange(n, desc="turns"):
            total += i
        for k, v in enumerate(tqdm.tqdm(x, leave=True)):
            total += k * v
        return total

    def left(n):
        for i in tqdm.tqdm(range(n)):
            if i > 3:
                break
        return n

    compiled = jitflow.function(shown)
    for n in (100, 3, 0):
        assert compiled(np.arange(7.0), n) == shown(np.arange(7.0), n)
        bars = [line for line in capsys.readouterr().err.replace("\r", "\n").splitlines() if "100%" in line]
        assert len(bars) == (4 if n else 2)
        assert ("100/100" in "".join(bars)) == (n == 100)
    with pytest.raises(NotImplementedError, match="end early"):
        jitflow.function(left)(9)
