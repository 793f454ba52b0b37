"""Everyday Python around NumPy: what a program says in Python says the same compiled.

The idioms are those of ``docs/idioms.md``, which ``tests/idioms.py`` reads. Each is compared with plain Python by
value, type and dtype, by what it does to its arguments, and by what it raises; or it is refused, with the message that
the page shows. ``pytest -n0 --bless tests/frontend/test_idioms.py`` renews these messages, and takes those of idioms
away that are compiled by now.
"""

from __future__ import annotations

import copy
import textwrap

import pytest

import jitflow
from tests.compare import ELEMENTARY, EXACT
from tests.documents import blocks, rewrite
from tests.idioms import PAGE, idioms
from tests.truth.whole.same import assert_does_what_python_does

IDIOMS = idioms()
ROUNDED = {"special_functions", "a_softmax", "gammas"}
"""What is made of elementary functions, which may differ by some units of the last place."""


@pytest.mark.parametrize("name", IDIOMS)
def test_an_idiom_does_what_the_page_says(name, request):
    idiom = IDIOMS[name]
    assert len(idiom.calls) > 1, "one call shows too little: the second runs what the first has compiled"
    bless = request.config.getoption("--bless")
    message = _refusal(idiom) if idiom.refusal is not None or bless else ""
    if bless:
        _bless(idiom, message)
    elif idiom.refusal is not None:
        assert message == idiom.refusal.text, f"if this is right: pytest -n0 --bless ({PAGE.name})"
    if not message:
        assert_does_what_python_does(idiom.program, idiom.calls, ELEMENTARY if name in ROUNDED else EXACT)


def test_the_page_has_many_idioms():
    assert len(IDIOMS) >= 80


def _refusal(idiom):
    """The message of the first call that is refused although Python has an answer; nothing if there is none."""
    compiled = jitflow.function(idiom.program)
    for arguments in idiom.calls:
        try:
            compiled(*copy.deepcopy(arguments))
        except jitflow.UserError as error:
            try:
                idiom.program(*copy.deepcopy(arguments))
            except Exception:
                continue
            said = [f"refused: {error}", f"to mend it: {error.mend}"]
            return "".join(textwrap.fill(line, 116, subsequent_indent="  ") + "\n" for line in said)
        except Exception:
            continue
    return ""


def _bless(idiom, message):
    page = list(blocks(PAGE))
    place = next(index for index, block in enumerate(page) if block.text == idiom.code.text)
    code, behind = page[place], page[place + 1 : place + 2]
    start = code.end + len("```\n")
    end = start if idiom.refusal is None else behind[0].end + len("```\n")
    rewrite(PAGE, [(start, end, f"\n```text\n{message}```\n" if message else "")])


def test_what_a_class_holds_is_never_stale():
    class Scaled:
        factor = 3

        def __init__(self, x):
            self.x = x

        def get(self):
            return self.x * self.factor

    def program(x):
        return Scaled(x).get()

    def made(x):
        return Scaled(x)

    compiled = jitflow.function(program)
    assert compiled(2.0) == 6.0
    Scaled.factor = 10
    assert compiled(2.0) == 20.0
    Scaled.get = lambda self: self.x - 1
    assert compiled(2.0) == 1.0
    found = jitflow.function(made)(2.0)
    assert type(found) is Scaled
    assert vars(found) == {"x": 2.0}
