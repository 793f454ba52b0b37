"""``python -m tests.truth.views.reduce SEED...`` prints small programs that go wrong as the seeds' do."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import replace

from tests.truth.shorten import shortened
from tests.truth.views.check import Refused, Wrong, check
from tests.truth.views.programs import PRELUDE, Call, Program, program_of

__all__ = ["reduced", "way"]


def way(program: Program, calls: Sequence[Call]) -> str:
    """In which way a program goes wrong; an empty string if it does not."""
    try:
        check(program, calls)
    except Refused as problem:
        return f"refused {re.sub('[0-9]+', '0', str(problem))[:50]}".splitlines()[0]
    except Wrong as problem:
        raised = re.search(r"got (\w+)", str(problem)) if str(problem).startswith("raised") else None
        return "wrong " + str(problem).partition(":")[0].split()[0] + (raised[1] if raised else "")
    except (SyntaxError, NameError):
        return ""
    return ""


def reduced(program: Program, calls: Sequence[Call]) -> tuple[Program, Sequence[Call], str]:
    """The smallest program found that goes wrong in the same way, and the calls that it needs."""
    how = way(program, calls)
    for some in [*([one] for one in calls), calls[:2]]:
        if way(program, some) == how:
            calls = some
            break
    source = shortened(program.source, lambda source: way(replace(program, source=source), calls))
    return replace(program, source=source), calls, how


def main() -> None:
    """Reduce the programs of some seeds."""
    odd = "odd" in sys.argv
    for seed in (int(word) for word in sys.argv[1:] if word != "odd"):
        program, calls, how = reduced(*program_of(seed, odd=odd))
        print(f"# seed {seed}: {how or 'nothing is wrong'}\n{program.source.replace(PRELUDE, '')}")
        print(f"# {program.shapes} {program.dtypes} {calls}")
        try:
            check(program, calls)
        except (Wrong, Refused) as problem:
            print("# " + str(problem).replace("\n", "\n# "), flush=True)


if __name__ == "__main__":
    main()
