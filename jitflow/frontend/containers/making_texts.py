"""Where texts of the running program come from: known ones, templates, and those that are appended to."""

from __future__ import annotations

from typing import Any

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserTypeError
from jitflow.frontend.containers.containers import made
from jitflow.frontend.containers.held_items import class_of
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.texts.building import MadeText, built, can_be_built, is_text
from jitflow.frontend.texts.traced import is_text_value
from jitflow.frontend.tracers.base import located
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.core import Value
from jitflow.ir.dtypes import BOOL
from jitflow.ir.types import TEXT, Container

__all__ = ["bool_value", "empty_text", "program_text", "text_argument", "text_list"]


def program_text(text: Any) -> Any:
    """A text as a sequence of characters of the running program."""
    if is_text_value(text):
        return class_of(TEXT)(tracers.ScalarTracer(text.value)) if type(text.reference) is MadeText else text
    if not can_be_built(text):
        text = str(text)  # which Python knows, or which is refused
    return class_of(TEXT)(tracers.ScalarTracer(built(text)))


def _where_paths_meet(text: Any) -> Any:
    """The same, made on each path where that ends."""
    return text if is_text_value(text) else class_of(TEXT)(MadeText(text))


def empty_text() -> Any:
    """A text that is to be made."""
    return class_of(TEXT)(tracers.ScalarTracer(current_trace().make("make_container", type=TEXT)))


def text_list() -> Any:
    """An empty list of texts."""
    return made("list", None, Container(item=TEXT))


def text_argument(method: str, thing: Any) -> Any:
    """What a method of texts is given, which has to be one."""
    if not is_text(thing):
        name = "NoneType" if thing is None else thing.__class__.__name__
        raise located(UserTypeError(f"{method}() argument must be str, not {name}"))
    return program_text(thing)


def bool_value(answer: Any) -> Value:
    """An answer as a bool of the IR."""
    return values.emit("cast", tracers.lift(answer), dtype=BOOL)


surface.install(program_text=program_text, merged_text=_where_paths_meet)
