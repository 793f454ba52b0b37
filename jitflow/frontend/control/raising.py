"""``raise`` and ``assert`` where only the running program knows whether it comes there.

An exception whose message is known, or has a few numbers in it, is a ``check`` op, which may stand in any loop and
costs next to nothing there. Everything else (arrays in the message, several arguments) is the call of a routine that
raises.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, NoReturn

import numpy as np
from numpy.linalg import LinAlgError

from jitflow.errors import ExceptionName, UserError, UserNotImplementedError, another
from jitflow.frontend.control.calls_out import PLAIN, record_call
from jitflow.frontend.control.chained import Later, chain_of, linked, maker_of, parts_of, remade
from jitflow.frontend.control.merge import MaybeUnbound
from jitflow.frontend.control.telling import Makers, can_be_told, relocate
from jitflow.frontend.control.trying import VISIBLE, Statements
from jitflow.frontend.outside.proxies import ClassProxy
from jitflow.frontend.outside.stores import Stores
from jitflow.frontend.recording import values
from jitflow.frontend.recording.choices import Signal
from jitflow.frontend.recording.locate import in_pythons_words, raising_for_the_program
from jitflow.frontend.recording.trace import Trace, active_trace, current_trace
from jitflow.frontend.texts import TracedText, is_known
from jitflow.frontend.texts.building import passed
from jitflow.frontend.texts.traced import is_text_value
from jitflow.frontend.tracers import SizeTracer, Tracer, distributed, holds_alternatives, lift, located
from jitflow.ir.core import Value, walk
from jitflow.ir.dims import symbol
from jitflow.ir.dtypes import BOOL
from jitflow.ir.location import Loc
from jitflow.ir.types import Scalar
from jitflow.runtime.entry.plan import ERROR_SLOTS
from jitflow.runtime.objects.texts import RAISE

__all__ = ["EndOfPath", "check_that", "exception", "fail", "fail_with", "free", "has_shown_something", "message_of",
           "raise_", "raise_when_run"]  # fmt: skip

_SHOWN_BY_CHECKS = frozenset({"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64"})

_ROOM = ERROR_SLOTS - 2
_CONSTANTS = (bool, int, float, complex, str, type(None))


class EndOfPath(Signal):
    """The program raises here, on a path that only the running program decides to take: there is no more of it."""


def fail(kind: type[BaseException], message: str, *operands: Tracer) -> NoReturn:
    """The running program raises ``kind`` if it comes here. With ``operands`` the message is formatted with them."""
    check_that(values.constant(False, BOOL), kind, message if operands else _escaped(message), operands)
    raise EndOfPath


def fail_with(error: Exception, place: Loc | None = None) -> NoReturn:
    """The running program raises what was raised while tracing, if it comes here: at ``place``, if that is known."""
    raised = error.as_raised() if isinstance(error, UserError) else error
    if type(raised) is TypeError:
        number = current_trace().refused_operand
        raised = TypeError(*(in_pythons_words(part, number) if isinstance(part, str) else part for part in raised.args))
    kind = type(raised)
    if _is_handled(kind):  # and asks for nothing but the class
        kind = next(base for base in kind.__mro__ if _is_plain(base))
    message = message_of(raised.args)
    if not _is_plain(kind):
        _call_again(raised)
    elif message is not None:
        check_that(values.constant(False, BOOL), kind, *message)
    elif all(type(argument) in _CONSTANTS for argument in raised.args):
        _call(kind, raised.args)
    else:
        _call_again(raised)
    if place is not None:
        relocate(place)
    raise EndOfPath


def _is_plain(kind: type) -> bool:
    return kind.__module__ == "builtins" or kind is LinAlgError or issubclass(kind, UserError)


def check_that(condition: Value, kind: type[BaseException], message: str, operands: Sequence[Tracer]) -> None:
    """Record that the running program raises unless a condition holds."""
    current_trace().add(
        "check", condition, *map(lift, operands), error=ExceptionName.of(kind), message=message
    )  # fmt: skip


@raising_for_the_program
def raise_(error: Any, *cause: Any, context: Any = None) -> NoReturn:
    """``raise error from cause``, in a handler of ``context``: at once, or when the running program comes here."""
    trace = active_trace()
    if holds_alternatives([error, *cause, context]):
        distributed(lambda one, other, *causes: raise_(one, *causes, context=other), (error, context, *cause), {})
        raise EndOfPath
    if trace is None or trace.scope is trace.root:
        known = isinstance(error, Later) and all(map(is_known, error.args))
        error = error.made() if known else _with_numbers(error)
        parts = [part for one in (error, *cause, context) for part in _arguments_of(one)]
        if all(map(is_known, parts)) and (trace is None or _is_the_first(trace, error)):
            if not cause:
                raise error
            raise error from cause[0]
    raised = error() if isinstance(error, type) else error
    if isinstance(raised, StopIteration) and trace is not None and trace.scope is trace.stepped_in:
        raise raised
    if not isinstance(raised, BaseException | Later):
        fail(TypeError, "exceptions must derive from BaseException")
    if not all(one is None or isinstance(one, BaseException) or _is_class_of_exceptions(one) for one in cause):
        fail(TypeError, "exception causes must derive from BaseException")
    _raise_here(linked(raised, cause, context))


@raising_for_the_program
def _raise_here(raised: Any) -> NoReturn:
    """The running program raises an exception, with all that it comes from."""
    chain = chain_of(raised)
    parts = [part for one in chain for part in parts_of(one)]
    if holds_alternatives(parts):
        distributed(lambda *parts: _raise_here(remade(chain, parts, later=True)), parts, {})
        raise EndOfPath
    trace = current_trace()
    kind = raised.kind if isinstance(raised, Later) else type(raised)
    is_alone = not isinstance(raised, Later) and len(chain) == 1 and not raised.__suppress_context__
    is_plain = is_alone and not _makes_itself(kind) and not vars(raised)
    if _is_handled(kind) and not is_plain:
        _check_for(kind, raised)
    elif is_plain:
        message = message_of(raised.args)
        if message is not None:
            check_that(values.constant(False, BOOL), kind, *message)
        else:
            _call(kind, raised.args)
    else:
        if is_alone and trace.scope is trace.root and all(map(is_known, raised.args)):
            raise raised  # as it is; the running program raises it behind what it has done before
        _call_with_parts(chain)
    raise EndOfPath


def _check_for(kind: type[BaseException], raised: Any) -> None:
    """Record a check that stands for raising an exception, where a handler is for it, which may ask for it.

    What was handled as it was raised is told as well if there is room for it.
    """
    trace = current_trace()
    for is_whole in (True, False):
        operands, make = maker_of(chain_of(raised, is_whole=is_whole))
        if can_be_told([lift(operand).type for operand in operands]):
            break
    else:
        operands, make = [], None
    check_that(values.constant(False, BOOL), kind, "", operands)
    trace.state(Makers)[trace.builder.ops[-1]] = make


def _is_handled(kind: type[BaseException]) -> bool:
    return any(handles(kind) for handles in current_trace().state(Statements).handled)


@raising_for_the_program
def free(read: Callable[[], Any], name: str | None = None) -> Any:
    """A local of a function around this one, which may be unbound (`control.bound` is for one of its own)."""
    try:
        thing = read()
    except NameError as error:
        if current_trace().scope is not current_trace().root:
            fail(NameError, str(error))  # on a path that may not be taken
        raise
    if type(thing) is not MaybeUnbound:
        return thing
    if name is not None:
        message = f"cannot access free variable '{name}' where it is not associated with a value in enclosing scope"
        current_trace().add("check", thing.condition, error="NameError", message=message)
    return thing.thing


def exception(kind: Any) -> Any:
    """What ``raise kind(...)`` calls: a class whose constructor is Python code is called by the running program."""
    if isinstance(kind, ClassProxy):
        kind = kind._jitflow_object
    if not _is_class_of_exceptions(kind) or not _makes_itself(kind):
        return kind
    return lambda *args, **keywords: Later(kind, args, keywords)


def _is_class_of_exceptions(thing: Any) -> bool:
    return isinstance(thing, type) and issubclass(thing, BaseException)


def _makes_itself(kind: type[BaseException]) -> bool:
    return isinstance(kind.__init__, FunctionType) or isinstance(kind.__new__, FunctionType)


def _arguments_of(error: Any) -> tuple[Any, ...]:
    """What an exception was made with: a class has nothing yet, and Python refuses what is no exception."""
    return () if isinstance(error, type) else getattr(error, "args", ())


def _with_numbers(error: Any) -> Any:
    """An exception whose message has sizes in it that this call determines, with their numbers."""
    if not isinstance(error, BaseException) or not any(type(argument) is TracedText for argument in error.args):
        return error

    def number(operand: Any) -> int:
        return current_trace().number_of(operand.dim, "the message of an exception")

    def plain(argument: Any) -> Any:
        return argument.with_numbers(number) if type(argument) is TracedText else argument

    open_ = current_trace().is_open
    operands = [operand for argument in error.args if type(argument) is TracedText for operand in argument.operands]
    if all(isinstance(operand, SizeTracer) and not open_(operand.dim) for operand in operands):
        error.args = tuple(map(plain, error.args))
    return error


def _is_the_first(trace: Trace, error: Any) -> bool:
    """Whether the program catches the exception here, or does nothing before it that could be seen."""
    kind = error if isinstance(error, type) else type(error)
    if any(handles(kind) for handles in trace.state(Statements).handled):
        return True
    return not has_shown_something(trace)


def has_shown_something(trace: Trace) -> bool:
    """Whether the program has done something so far that can be seen from outside."""
    begun = [op for scope in trace.scope.around() for op in scope.builder.ops]
    ops = [*begun, *(op for outer in begun for region in outer.regions for op in walk(region))]
    return trace.state(Stores).are_made or any(effect.kind in VISIBLE for op in ops for effect in op.own_effects)


def raise_when_run(error: UserError) -> None:
    """Record that the running program raises what was found while tracing, behind all that it has done before."""
    trace = current_trace()
    for name, number in trace.hints.items():  # which its message may tell
        trace.decide(symbol(name), "==", number, "an exception that is raised for these sizes")
    _call_again(error.as_raised())
    assert isinstance(error.location, Loc)
    trace.builder.relocate_last(error.location)


def _call_again(error: BaseException) -> None:
    """Record the call of a routine that raises an exception like one that tracing has met."""
    kept = another(error)  # without what its traceback holds

    def raising() -> NoReturn:
        raise another(kept)

    record_call(current_trace(), raising, None, (), {})


def _call_with_parts(chain: Sequence[Any]) -> None:
    """Record the call of a routine that raises the first of some exceptions, whose parts the running program knows."""
    parts = tuple(part for one in chain for part in parts_of(one))
    if not all(map(_can_be_passed, parts)):
        first = chain[0]
        raise _unknown(first.kind if isinstance(first, Later) else type(first))

    def raising(*parts: Any) -> NoReturn:
        raise remade(chain, parts)

    record_call(current_trace(), raising, None, parts, {})


def _can_be_passed(part: Any) -> bool:
    """Whether a routine can be given what is in an exception."""
    if type(part) in (tuple, list):
        return all(map(_can_be_passed, part))
    return isinstance(part, (*PLAIN, np.ndarray, Tracer, TracedText))


# -- how an exception is told to the running program --------------------------------------------------------


def message_of(arguments: Sequence[Any]) -> tuple[str, Sequence[Tracer]] | None:
    """The message of an exception and the numbers in it, as a check has them; None if no check could show it."""
    if not arguments:
        return "", ()
    if len(arguments) > 1 or not isinstance(arguments[0], str):
        return None
    text: Any = arguments[0]
    if is_text_value(text):
        return None
    if type(text) is not TracedText:
        return (_escaped(text), ()) if text else None  # a check without a message raises without arguments
    words: list[str] = []
    for part in text.template:
        if isinstance(part, str):
            words.append(_escaped(part))
            continue
        what, conversion, specification = part
        known = isinstance(what, int) and isinstance(specification, str) and conversion in ("", "s")
        if not known or not _is_shown_by_checks(text.operands[what]):
            return None
        words.append(f"{{:{specification}}}" if specification else "{}")
    return ("".join(words), text.operands) if len(text.operands) <= _ROOM else None


def _is_shown_by_checks(operand: Tracer) -> bool:
    if isinstance(operand, SizeTracer):
        return True
    if is_text_value(operand):
        return False
    kind = operand.value.type
    return isinstance(kind, Scalar) and kind.dtype.name in _SHOWN_BY_CHECKS


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _call(kind: type[BaseException], arguments: Sequence[Any]) -> None:
    """Call what raises."""
    operands: list[Any] = []
    described: list[tuple[str, Any]] = []
    for argument in map(passed, arguments):
        if type(argument) is TracedText:
            described.append(("text", argument.from_number(len(operands))))
            operands += argument.operands
        elif isinstance(argument, Tracer):
            described.append(("value", len(operands)))
            operands.append(argument)
        elif type(argument) in _CONSTANTS:
            described.append(("known", argument))
        else:
            _call_with_parts([kind(*arguments)])
            return
    options = (("error", ExceptionName.of(kind)), ("arguments", tuple(described)))
    current_trace().add(
        "host_call", *map(lift, operands), types=(), routine=RAISE, keywords=(), options=options, effect="check"
    )


def _unknown(kind: type[BaseException]) -> UserError:
    return located(
        UserNotImplementedError(
            f"raising {kind.__name__} with these arguments on a decision that only the running program makes",
            expected="arguments that are texts, numbers and arrays, and a class without a constructor of its own",
            mend=f'raise {kind.__name__}("a message")',
        )
    )
