"""``python -m tests.truth.whole.reduce SEED [LENGTH]`` prints a small program that goes wrong as the seed's does."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tests.truth.shorten import shortened
from tests.truth.whole.arguments import Call
from tests.truth.whole.check import Refused, Wrong, check
from tests.truth.whole.programs import program_of
from tests.truth.whole.writer import Text

__all__ = ["reduced", "way"]


def way(source: str, text: Text, calls: Sequence[Call]) -> str:
    """In which way a program goes wrong; an empty string if it does not."""
    try:
        check(source, text.parameters, calls)
    except Refused as problem:
        return f"refused {problem}".splitlines()[0]
    except Wrong as problem:
        for start in ("expected <class", "CompilerBug", "compiled again", "expected None, got"):
            if start in str(problem):
                return start + str(problem).partition(start)[2][:35]
        return "wrong"
    except SyntaxError:
        return ""
    return ""


def reduced(text: Text, calls: Sequence[Call]) -> tuple[str, Sequence[Call], str]:
    """The smallest program found that goes wrong in the same way, and the calls that it needs."""
    how = way(text.source, text, calls)
    for some in [*([one] for one in calls), calls[:2]]:
        if len(some) < len(calls) and way(text.source, text, some) == how:
            calls = some
            break
    return shortened(text.source, lambda source: way(source, text, calls)), calls, how


def main() -> None:
    """Reduce the program of a seed."""
    text, calls = program_of(*map(int, sys.argv[1:]))
    source, calls, how = reduced(text, calls)
    print(f"{source}\n{calls}\n{how or 'nothing is wrong'}")
    try:
        check(source, text.parameters, calls)
    except (Wrong, Refused) as problem:
        print(f"{type(problem).__name__}: {problem}")


if __name__ == "__main__":
    main()
