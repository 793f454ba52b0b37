"""The two kinds of error: one about the user's program, and a bug in jitflow.

A `UserError` is about a line that the user wrote. What jitflow refuses is raised as such: `str(error)` is the message
alone; the line, a caret, what was found, what was expected and how to mend it are a note (PEP 678), which Python prints
below the traceback. What Python or NumPy would have raised as well, a mistake, is a `UserError` only inside of the
compiler and in its reports: the caller of the program gets their very exception (`UserError.as_raised`). The traceback
of either goes through the user's lines, although no Python code was running there when the error was discovered.

A `CompilerBug` is about jitflow. It carries what a maintainer needs: the pass, the op, the IR around it and
the way to reproduce it.

Messages are in lower case without a full stop, as in `expected X, got Y`.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Self

from numpy.exceptions import AxisError
from numpy.linalg import LinAlgError

from jitflow.mends import mend_of
from jitflow.user_lines import AnyError, Location, described, excerpt

__all__ = [
    "USER_ERRORS",
    "CompilerBug",
    "ExceptionName",
    "JitflowError",
    "UserAttributeError",
    "UserAxisError",
    "UserError",
    "UserIndexError",
    "UserKeyError",
    "UserLinAlgError",
    "UserNameError",
    "UserNotImplementedError",
    "UserOverflowError",
    "UserRuntimeError",
    "UserTypeError",
    "UserUnboundLocalError",
    "UserValueError",
    "UserZeroDivisionError",
    "as_user_error",
    "exception_class",
]


class JitflowError(Exception):
    """The base of every exception class that jitflow defines."""


class CompilationWarning(UserWarning):
    """A function is compiled again and again: each compilation takes as long as many calls."""


class UserError(JitflowError):
    """A mistake in the user's program, shown at the user's line.

    `message` says what is wrong; `found`, `expected` and `mend` (how to repair it) are optional further
    lines. `original` is the exception that it stands for, if Python, NumPy or the program has made one. The subclasses
    are also the Python classes that NumPy or Python raise for the same mistake.
    """

    message: str
    found: str
    expected: str
    mend: str
    location: Location | None
    original: Exception | None
    needs_number: bool = False
    """Whether Python needed a number that only the running program knows: unrolling a loop may help."""
    has_no_type: bool = False
    """Whether what paths or turns leave has no common type: turns that are written out need none."""
    tells_least: bool = False
    """Whether it says less of the reason than what a trace was refused for that went about it otherwise."""
    pin: object = None
    """The place at which another trace can have the number, guarded."""

    def __init__(
        self,
        message: str,
        *,
        found: str = "",
        expected: str = "",
        mend: str = "",
        location: Location | None = None,
        original: Exception | None = None,
    ) -> None:
        # Exception.__init__ and not super(): AxisError's own constructor wants an axis.
        Exception.__init__(self, *([message] if message else []))
        self.message = message
        self.found = found
        self.expected = expected
        self.mend = mend or mend_of(message)
        # What was found is told of mistakes, too.
        is_of_jitflow = original is None and isinstance(self, NotImplementedError | FloatingPointError)
        self._is_ours = bool(expected or mend) or is_of_jitflow
        self.location, self.original = None, original
        self._refresh_note()
        self.at(location)

    def __str__(self) -> str:
        return self.message

    def at(self, location: Location | None) -> Self:
        """Fill in the location if it is still unknown: whoever knows it first knows it best."""
        if self.location is None and location is not None and location.line > 0:
            self.location = location
            self._refresh_note()
        return self

    def as_raised(self) -> Exception:
        """What the caller of the program gets: the very exception of Python's or NumPy's, if it is a mistake."""
        if not self.is_mistake:
            return self
        if self.original is not None:
            return self.original
        kinds = (base for base in type(self).__mro__ if issubclass(base, Exception))
        return next(kind for kind in kinds if not issubclass(kind, JitflowError))(*self.args)

    @property
    def is_refusal(self) -> bool:
        """Whether it is jitflow that says this: a mistake is told in the words of Python or NumPy alone."""
        return not self.is_mistake

    @property
    def is_mistake(self) -> bool:
        """Whether Python or NumPy would raise it as well, where the program comes there."""
        return not (self._is_ours or self.needs_number)

    def refused(self) -> Self:
        """The same as what jitflow alone says, although there is nothing more to say."""
        self._is_ours = True
        return self

    def render(self) -> str:
        """Return the whole report as text, as the command line prints it."""
        note = self._note()
        return f"error: {self.message}\n{note}" if note else f"error: {self.message}"

    def _refresh_note(self) -> None:
        note = self._note()
        self.__notes__ = [note] if note else []

    def _note(self) -> str:
        places = list(dict.fromkeys(self.location.chain())) if self.location else []  # each line of a recursion once
        parts = [excerpt(places[0])] if places else []
        parts += [f"  called from {described(caller)}" for caller in places[1:]]
        details = {"found": self.found, "expected": self.expected, "to mend it": self.mend}
        parts += [f"  {title}: {text}" for title, text in details.items() if text]
        return "\n".join(parts)


class UserTypeError(UserError, TypeError):
    """A value of a kind or dtype that does not fit."""


class UserValueError(UserError, ValueError):
    """A value or shape that does not fit."""


class UserIndexError(UserError, IndexError):
    """An index or number of indices that does not fit."""


class UserAxisError(UserError, AxisError):
    """An axis that the array does not have."""


class UserLinAlgError(UserError, LinAlgError):
    """A matrix that has no such decomposition or solution, or is none."""


class UserKeyError(UserError, KeyError):
    """A key that is not there."""


class UserAttributeError(UserError, AttributeError):
    """An attribute that is not there."""


class UserNameError(UserError, NameError):
    """A name that is not bound."""


class UserUnboundLocalError(UserNameError, UnboundLocalError):
    """A local variable that is not bound on the path that the program took."""


class UserZeroDivisionError(UserError, ZeroDivisionError):
    """A Python number divided by zero."""


class UserOverflowError(UserError, OverflowError):
    """A Python number that does not fit where it is used."""


class UserFloatingPointError(UserError, FloatingPointError):
    """A nan or an infinity that was made where the function asks for none."""


class UserRuntimeError(UserError, RuntimeError):
    """A program used in a state in which it cannot run."""


class UserImportError(UserError, ImportError):
    """A module or a name in one that cannot be imported, or an optional package that is not installed."""


class UserModuleNotFoundError(UserImportError, ModuleNotFoundError):
    """A module that there is not."""


class UserNotImplementedError(UserError, NotImplementedError):
    """A part of Python or NumPy that jitflow does not compile."""


USER_ERRORS: Mapping[type[BaseException], type[UserError]] = MappingProxyType(
    {
        Exception: UserError,
        TypeError: UserTypeError,
        ValueError: UserValueError,
        IndexError: UserIndexError,
        AxisError: UserAxisError,
        LinAlgError: UserLinAlgError,
        KeyError: UserKeyError,
        AttributeError: UserAttributeError,
        NameError: UserNameError,
        UnboundLocalError: UserUnboundLocalError,
        ZeroDivisionError: UserZeroDivisionError,
        OverflowError: UserOverflowError,
        FloatingPointError: UserFloatingPointError,
        RuntimeError: UserRuntimeError,
        ImportError: UserImportError,
        ModuleNotFoundError: UserModuleNotFoundError,
        NotImplementedError: UserNotImplementedError,
    }
)
"""The user error that stands for each Python exception class."""


_NAMED = {"LinAlgError": LinAlgError, **{kind.__name__: kind for kind in USER_ERRORS.values()}}


class ExceptionName(str):
    """The name of an exception class of the user's, with the class itself: nobody could find it by its name.

    It prints as its name.
    """

    kind: type[BaseException]

    @staticmethod
    def of(kind: type[BaseException]) -> str:
        """The name under which `exception_class` finds a class."""
        if getattr(builtins, kind.__name__, None) is kind or kind is LinAlgError:
            return kind.__name__
        name = ExceptionName(kind.__qualname__)
        name.kind = kind
        return name


def exception_class(name: str) -> type[BaseException]:
    """The exception class of a name: Python's, NumPy's ``LinAlgError``, a user error, or one of the user's.

    What only jitflow refuses is recorded by the name of the user error.
    """
    if isinstance(name, ExceptionName):
        return name.kind
    found = _NAMED.get(name) or getattr(builtins, name, None)
    # In a program that was read from text, the class of a user's exception is not to be had: one by its name is.
    return found if isinstance(found, type) and issubclass(found, BaseException) else type(name, (Exception,), {})


def another(error: AnyError, args: Sequence[Any] | None = None, values: Iterable[Any] | None = None) -> AnyError:
    """An exception like one that there is, which nobody has seen, without calling what made that.

    It may have other arguments, and other values of its attributes.
    """
    kind = type(error)
    made = kind.__new__(kind, *(error.args if args is None else args))
    made.args = error.args if args is None else tuple(args)
    slots = [name for base in kind.__mro__ for name in vars(base).get("__slots__", ())]
    for name in slots:
        setattr(made, name, getattr(error, name))
    vars(made).update(zip(vars(error), vars(error).values() if values is None else values, strict=True))
    made.__cause__, made.__suppress_context__ = error.__cause__, error.__suppress_context__
    return made


def as_user_error(error: Exception, *, location: Location | None = None) -> UserError:
    """Return the user error with the class and message of `error`, which NumPy or Python raised.

    The nearest class in the method resolution order of `error` that has a counterpart decides.
    """
    if isinstance(error, UserError):
        return error.at(location)
    user_class = next(USER_ERRORS[base] for base in type(error).__mro__ if base in USER_ERRORS)
    message = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    return user_class(message, location=location, original=error)


class CompilerBug(JitflowError):
    """A mistake in jitflow itself, with all that is needed to find it.

    `pass_name` is the pass that was running, `operation` the text of the op it looked at, `surrounding` the
    IR around that op, and `reproducer` a command or program that shows the bug again.
    """

    def __init__(
        self,
        message: str,
        *,
        pass_name: str = "",
        operation: str = "",
        surrounding: str = "",
        reproducer: str = "",
        location: Location | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.pass_name = pass_name
        self.operation = operation
        self.surrounding = surrounding
        self.reproducer = reproducer
        self.location = location

    def __str__(self) -> str:
        lines = [self.message]
        if self.pass_name:
            lines.append(f"  pass: {self.pass_name}")
        if self.operation:
            lines.append(f"  op: {self.operation}")
        if self.location and self.location.line > 0:
            lines.append(excerpt(self.location))
        if self.surrounding:
            lines += ["  the IR around it:", _indented(self.surrounding)]
        lines.append("  this is a bug in jitflow, not in your program")
        if self.reproducer:
            lines += ["  to reproduce it:", _indented(self.reproducer)]
        return "\n".join(lines)


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.rstrip().splitlines())
