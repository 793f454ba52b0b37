"""Warnings and their filters, `logging` and `tqdm`: calls out, in order with everything else that can be seen.

The user's line is known when the program is traced, and there is no frame of it when the program runs. So a warning or
a record is made by hand, with that place in it, and Python decides what becomes of it: filters, levels and handlers.
"""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from itertools import pairwise
from threading import local
from types import FrameType, FunctionType, MethodType
from typing import Any, NamedTuple

from jitflow.errors import UserError, UserNotImplementedError, UserTypeError
from jitflow.frontend.control.calls_out import record_call
from jitflow.frontend.control.ranges import traced_range
from jitflow.frontend.control.sources import Sequenced, as_source
from jitflow.frontend.control.steps import Source
from jitflow.frontend.outside.arguments import Spec
from jitflow.frontend.outside.proxies import ClassProxy
from jitflow.frontend.outside.purity import Impure
from jitflow.frontend.recording.locate import is_internal
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.syntax import is_block
from jitflow.frontend.tracers import located, size_of
from jitflow.frontend.tracers.surface import surface

__all__ = ["called_out", "errstate"]

_LEVELS = {name: getattr(logging, name.upper()) for name in ("debug", "info", "warning", "error", "critical")}
_LEVELS |= {"warn": logging.WARNING, "fatal": logging.CRITICAL}


def called_out(thing: Any) -> Callable[..., Any] | None:
    """What records the call of ``thing``, a function or method of Python's own library; None of what is refused."""
    if thing is warnings.warn:
        return _warn
    if thing is warnings.catch_warnings:
        return _catch_warnings
    if thing in (warnings.simplefilter, warnings.filterwarnings):
        return partial(_filter, thing)
    if thing is logging.getLogger:
        return lambda *name: Impure("a logger", logging.getLogger(*name))
    if isinstance(thing, MethodType) and isinstance(thing.__self__, logging.Logger):
        return _of_logger(thing.__self__, thing.__name__, is_root_function=False)
    if (getattr(thing, "__module__", None) or "").startswith("tqdm."):
        return _bar_of(thing)
    if isinstance(thing, FunctionType) and thing.__module__ == "logging":
        return _of_logger(logging.getLogger(), thing.__name__, is_root_function=True)
    return None


# -- logging ---------------------------------------------------------------------------------------


def _of_logger(logger: logging.Logger, name: str, *, is_root_function: bool) -> Callable[..., Any] | None:
    if name == "isEnabledFor":
        return lambda level: record_call(current_trace(), logger.isEnabledFor, Spec("bool"), (_known(level),), {})
    if name == "log":
        return lambda level, *args, **keywords: _log(logger, _known(level), is_root_function, *args, **keywords)
    if name in _LEVELS:
        return lambda *args, **keywords: _log(logger, _LEVELS[name], is_root_function, *args, **keywords)
    return None


def _known(level: Any) -> Any:
    return level._thing if type(level) is Impure else level


def _log(
    logger: logging.Logger,
    level: Any,
    is_root_function: bool,
    message: Any,
    *args: Any,
    exc_info: Any = None,
    stack_info: bool = False,
    stacklevel: int = 1,
    extra: Any = None,
) -> None:
    if exc_info or stack_info:
        raise located(
            UserNotImplementedError("logging an exception or a stack from a compiled function", mend="log its text")
        )
    places = _places()
    place = places[min(stacklevel, len(places)) - 1]

    def log(message: Any, *args: Any) -> None:
        if is_root_function and not logger.handlers:
            logging.basicConfig()
        if logger.isEnabledFor(level):
            record = logger.makeRecord(
                logger.name, level, place.file, place.line, message, args, None, place.function, extra
            )
            logger.handle(record)

    record_call(current_trace(), log, None, (message, *args), {})


# -- warnings --------------------------------------------------------------------------------------


def _warn(message: Any, category: Any = None, stacklevel: int = 1, source: Any = None) -> None:
    if not isinstance(message, str):
        raise located(
            UserNotImplementedError(
                f"warnings.warn of an object of type {message.__class__.__name__}",
                mend='give the text and the class: warnings.warn("...", RuntimeWarning)',
            )
        )
    kind = _class_of_warning(category) or UserWarning
    if not (isinstance(kind, type) and issubclass(kind, Warning)):
        raise located(UserTypeError(f"category must be a Warning subclass, not '{type(kind).__name__}'"))
    places, filters = _places(), [one for caught in current_trace().state(_Caught) for one in caught.filters]

    def warn(text: str) -> None:
        outside = stacklevel - len(places)
        place = _place(_frame_outside(outside)) if outside > 0 else places[max(stacklevel, 1) - 1]
        registry = place.namespace.setdefault("__warningregistry__", {})
        with warnings.catch_warnings() if filters else nullcontext():
            for set_filter in filters:
                set_filter()
            warnings.warn_explicit(text, kind, place.file, place.line, place.namespace.get("__name__"), registry)

    record_call(current_trace(), warn, None, (message,), {})


def _class_of_warning(category: Any) -> Any:
    return category._jitflow_object if isinstance(category, ClassProxy) else category


class _Caught(list["_CatchWarnings"]):
    """The blocks whose filters hold, outermost first."""


class _CatchWarnings:
    """`warnings.catch_warnings`: the filters that its block sets hold for the warnings that the block makes.

    These are known when the program is traced; NumPy's own warnings are not made.
    """

    def __init__(self) -> None:
        self.filters: list[Callable[[], None]] = []
        self.scope = current_trace().scope

    def __enter__(self) -> None:
        current_trace().state(_Caught).append(self)

    def __exit__(self, *raised: object) -> None:
        current_trace().state(_Caught).pop()


def _catch_warnings(*, record: Any = False, module: Any = None, **options: Any) -> Any:
    """`warnings.catch_warnings`, but for one that records them."""
    if record or module is not None:
        raise located(
            UserNotImplementedError(
                "warnings.catch_warnings(record=True) is not compiled", mend="catch them where the function is called"
            )
        )
    caught = _CatchWarnings()
    if options.get("action") is not None:
        caught.filters.append(_filter_of(warnings.simplefilter, **options))
    return caught


def _filter(set_filter: Callable[..., None], *args: Any, **keywords: Any) -> None:
    """A filter for what stands behind it in the block that is being traced."""
    caught = current_trace().state(_Caught)
    if not caught or caught[-1].scope is not current_trace().scope:
        raise located(
            UserNotImplementedError(
                f"warnings.{set_filter.__name__} in a compiled function, but for the first level of a block",
                mend="call it before, or write it at the beginning of `with warnings.catch_warnings():`",
            )
        )
    caught[-1].filters.append(_filter_of(set_filter, *args, **keywords))


def _filter_of(set_filter: Callable[..., None], action: Any, *args: Any, **keywords: Any) -> Callable[[], None]:
    if action == "error":
        raise _no_errors("a filter that makes errors of warnings is not compiled", "another action")
    given = [_class_of_warning(one) for one in args], {name: _class_of_warning(one) for name, one in keywords.items()}
    with warnings.catch_warnings():
        set_filter(action, *given[0], **given[1])  # which raises for what is no filter
    return partial(set_filter, action, *given[0], **given[1])


# -- progress bars ---------------------------------------------------------------------------------


def _bar_of(thing: Any) -> Callable[..., Any] | None:
    """What shows a loop as ``tqdm`` does. The bar moves at the end: a call would cost more than most turns do."""
    if isinstance(thing, type):
        return lambda iterable=None, desc=None, **options: Shown(thing, iterable, {"desc": desc, **options})
    if thing.__name__ == "trange":
        kind = sys.modules[thing.__module__].tqdm
        return lambda *bounds, **options: Shown(kind, traced_range(*bounds), options)
    return None


class Shown(Source):
    """The items of another source, with a progress bar of the class ``kind`` from the first to the last."""

    once = False

    def __init__(self, kind: Any, iterable: Any, options: dict[str, Any]) -> None:
        source = as_source(iterable)
        if source is None and isinstance(iterable, list | tuple):
            source = Sequenced(iterable)
        if source is None:
            raise located(
                UserNotImplementedError(
                    "a progress bar over something else than a range, an array or a list",
                    mend="write tqdm(range(n)) in the head of the loop",
                )
            )
        self._source, self._kind = source, kind
        total = source.count if isinstance(source.count, int) else size_of(source.count)
        self._options = {"total": total, **options}
        self._bars = local()
        self.count, self.span = source.count, source.span

    def item(self, position: Any) -> Any:
        return self._source.item(position)

    def begin(self) -> None:
        super().begin()
        self._source.begin()
        record_call(current_trace(), self._open, None, (), self._options)

    def require_end(self) -> None:
        raise located(
            UserNotImplementedError(
                "a progress bar over a loop that may end early", mend="take the bar away, or the break or return"
            )
        )

    def end(self) -> None:
        self._source.end()
        record_call(current_trace(), self._close, None, (), {})

    def _open(self, **options: Any) -> None:
        bars = self._bars.__dict__.setdefault("open", [])
        bars.append(self._kind(**options))

    def _close(self) -> None:
        bar = self._bars.open.pop()
        if bar.total is not None:
            bar.update(bar.total - bar.n)
        bar.close()


# -- places ----------------------------------------------------------------------------------------


class _Place(NamedTuple):
    """A line of the user's, the function that it is in, and the globals of that."""

    file: str
    line: int
    function: str
    namespace: dict[str, Any]


def _place(frame: FrameType) -> _Place:
    code = frame.f_code
    namespace = getattr(frame.f_globals, "_namespace", frame.f_globals)  # not those that record what is read
    return _Place(code.co_filename, frame.f_lineno, code.co_name, namespace)


def _places() -> list[_Place]:
    """The lines that are running, innermost first. A part of a function is running where the function is."""
    frames = list(current_trace().user_frames())
    callers = [frame for inner, frame in pairwise(frames) if not is_block(inner.f_code)]
    return list(map(_place, [*frames[:1], *callers]))


def _frame_outside(number: int) -> FrameType:
    """The frame that called the compiled function, or a caller of it; the outermost where there are not so many."""
    frame: FrameType = sys._getframe(1)
    while number and frame.f_back is not None:
        frame = frame.f_back
        number -= not is_internal(frame.f_code.co_filename)
    return frame


def errstate(**kinds: Any) -> Any:
    """`numpy.errstate`: jitflow emits no warnings, and cannot raise at the elements that NumPy would raise at."""
    for name, kind in kinds.items():
        if kind not in (None, "ignore", "warn"):
            raise _no_errors(f"np.errstate({name}={kind!r}) is not compiled", "ignore or warn")
    return nullcontext()


def _no_errors(message: str, others: str) -> UserError:
    """The refusal of what would raise for single elements."""
    expected = f"{others}; compiled code gives the values that NumPy gives, without warnings"
    return located(UserNotImplementedError(message, expected=expected, mend="test the values: np.isfinite(x).all()"))


surface.install(called_out=called_out)
