"""What a signal's handler raises in the middle of a compilation: it is neither a bug nor anything of the program's.

It may come at any line of Python, of jitflow's own or of the program that is being traced, and may be of any class: a
time limit is a TimeoutError as a rule, which an ``except OSError`` would take for that of a file. A program whose
handlers saw it would be compiled as one that always fails there.
"""

from __future__ import annotations

from types import FrameType

__all__ = ["is_interruption", "pass_interruption"]

_TAKES_MORE = 0x04  # CO_VARARGS


def is_interruption(error: BaseException) -> bool:
    """Whether a signal's handler raised an exception.

    Python calls a handler with the frame that it interrupts, which is the one above it in the traceback.
    """
    above: FrameType | None = None
    entry = error.__traceback__
    while entry is not None:
        if above is not None and _is_given(entry.tb_frame, above):
            return True
        above, entry = entry.tb_frame, entry.tb_next
    return False


def pass_interruption(error: BaseException) -> None:
    """Raise an exception if a signal's handler did."""
    if is_interruption(error):
        raise error


def _is_given(frame: FrameType, thing: FrameType) -> bool:
    """Whether a frame has an object among its positional arguments."""
    code = frame.f_code
    if not code.co_argcount and not code.co_flags & _TAKES_MORE:
        return False
    rest = code.co_argcount + code.co_kwonlyargcount
    names = code.co_varnames
    values = [frame.f_locals.get(name) for name in names[: code.co_argcount]]
    if code.co_flags & _TAKES_MORE:
        values += frame.f_locals.get(names[rest]) or ()
    return any(value is thing for value in values)
