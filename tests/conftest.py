"""What all tests share: the flag that re-blesses golden files, seeds, and the tests that need a GPU.

``pytest -n0 --bless`` rewrites golden files (IR, messages, CUDA text, the outputs in the README); read the diff before
you commit it. Hypothesis draws the same examples in every run; ``--hypothesis-profile=wild`` draws new ones.
"""

from __future__ import annotations

import difflib
import gc
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

from tests.golden import Section, read_sections, write_sections

settings.register_profile("seeded", derandomize=True, deadline=None, database=None, print_blob=True)
settings.register_profile("wild", deadline=None, print_blob=True)
settings.load_profile("seeded")


os.environ.setdefault("JITFLOW_CACHE", "0")
"""The tests are of the compiler: those that want code which was compiled before say so (`tests/cache`)."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--bless", action="store_true", help="rewrite golden files with what the code gives now")


def pytest_configure(config: pytest.Config) -> None:
    """Keep the user's own settings out of the tests, and what tests keep out of these.

    And let the processes that tests run in, and those that they start, share what they compile of Python's modules:
    where the environment forbids to write it beside the modules, each would compile all of jitflow anew.
    """
    if hasattr(config, "workerinput"):
        return
    folder = tempfile.mkdtemp(prefix="jitflow-tests-")
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    os.environ["XDG_CONFIG_HOME"] = os.environ["XDG_CACHE_HOME"] = folder
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
        os.environ["PYTHONPYCACHEPREFIX"] = folder


def pytest_collection_finish() -> None:
    """Spare the garbage collector the thousands of tests, which it would look at whenever one of them asks for it."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Spare it also what a file leaves behind: what is compiled stays in caches, and thousands of tests collect."""
    if nextitem is not None and nextitem.path != item.path:
        gc.collect()
        gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs a CUDA device where there is none."""
    needy = [item for item in items if item.get_closest_marker("cuda")]
    if not needy:
        return
    from jitflow.doctor import facts

    found = dict(facts())["gpu"]
    if "not found" in found or "failed" in found:
        for item in needy:
            item.add_marker(pytest.mark.skip(reason=f"needs a CUDA device: {found}"))


@pytest.fixture
def check_golden(request: pytest.FixtureRequest) -> Callable[[Path, str, str], None]:
    """``check(path, section, text)``: the text must be what the section of the golden file says comes out.

    With ``--bless`` the file is rewritten instead; look at the diff before you commit it.
    """

    def check(path: Path, name: str, after: str) -> None:
        sections = read_sections(path)
        before = sections[name]
        if before.after == after:
            return
        if request.config.getoption("--bless"):
            sections[name] = Section(before.title, before.before, after)
            write_sections(path, sections)
            return
        diff = difflib.unified_diff(before.after.splitlines(), after.splitlines(), "golden", "now", lineterm="")
        mend = "if this is right: pytest -n0 --bless tests/passes"
        pytest.fail("\n".join([f"{path.name}, section {name}:", *diff, mend]), pytrace=False)

    return check
