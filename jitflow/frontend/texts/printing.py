"""`print`: a call of a routine, in order with everything else that can be seen."""

from __future__ import annotations

from typing import Any

from jitflow.errors import UserNotImplementedError, UserTypeError
from jitflow.frontend.outside.purity import Impure
from jitflow.frontend.recording.trace import active_trace, current_trace
from jitflow.frontend.texts.building import passed
from jitflow.frontend.texts.traced import TracedText, in_words, together
from jitflow.frontend.tracers import kind_by_kind, lift, located
from jitflow.runtime.objects.texts import PRINT

__all__ = ["print_"]

_FILES = {f"sys.{name}": name for name in ("stdout", "stderr", "__stdout__", "__stderr__")}


def print_(*things: Any, sep: Any = None, end: Any = None, file: Any = None, flush: Any = False) -> None:
    """`print`, each time that the running program comes here."""
    if active_trace() is None:
        print(*things, sep=sep, end=end, file=file, flush=flush)
    else:
        _print(*map(in_words, things), sep=sep, end=end, file=file, flush=flush)


@kind_by_kind
def _print(*things: Any, sep: Any, end: Any, file: Any, flush: Any) -> None:
    separator, last = _words("sep", sep, " "), _words("end", end, "\n")
    parts: list[Any] = []
    for number, thing in enumerate(things):
        parts += [separator if number else "", (thing, "s", "")]
    shown = passed(together([*parts, last]))
    template, operands = (shown.template, shown.operands) if type(shown) is TracedText else (shown, ())
    options = (("template", template), ("file", _name_of(file)), ("flush", bool(flush)))
    current_trace().add(
        "host_call", *map(lift, operands), types=(), routine=PRINT, keywords=(), options=options, effect="external"
    )


def _words(name: str, words: Any, usual: str) -> str:
    if words is None:
        return usual
    if not isinstance(words, str):
        raise located(UserTypeError(f"{name} must be None or a string, not {words.__class__.__name__}"))
    return str(words)


def _name_of(file: Any) -> str:
    """The name under which ``sys`` holds a file when the program runs."""
    if file is None:
        return "stdout"
    if type(file) is Impure and file._name in _FILES:
        return _FILES[file._name]
    raise located(
        UserNotImplementedError(
            "print to a file from a compiled function",
            expected="file=sys.stdout or file=sys.stderr",
            mend="write to it in a function, and call that by jitflow.callback(function)(values)",
        )
    )
