"""`inspect.signature` of functions that the program knows, and whether something is a function, a class or a method.

The guard of a function holds its code and defaults, so its parameters are known while tracing. Defaults are those that
a call would get. Python's own `inspect` reads them off a function in whose place one stands.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from types import FunctionType, MethodType
from typing import Any

from jitflow.errors import UserError, UserNotImplementedError
from jitflow.frontend.outside.proxies import OBJECT_PROXIES, ClassProxy, FunctionProxy, ObjectProxy, counterpart
from jitflow.frontend.outside.purity import Unusable
from jitflow.frontend.recording.locate import raising_for_the_program
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers import located
from jitflow.frontend.tracers.surface import surface

__all__ = ["OF_FUNCTIONS"]


@raising_for_the_program
def _signature(thing: Any) -> inspect.Signature:
    """`inspect.signature`."""
    if isinstance(thing, ClassProxy):
        return _of_class(thing)
    if type(thing) in OBJECT_PROXIES:
        return _signature(thing._jitflow_special("__call__"))
    if type(thing) is not FunctionProxy:
        return inspect.signature(_stand_in(surface.original(thing)))
    if hasattr(thing, "__signature__"):
        raise _refused(thing)
    if hasattr(thing, "__wrapped__"):
        return _signature(thing.__wrapped__)
    found = inspect.signature(_stand_in(counterpart(thing)))
    notes = getattr(thing._jitflow_object, "__annotations__", {})
    current_trace().forget(error := _refused(thing, "an annotation of"))
    unread = Unusable(error)
    parameters = [each.replace(annotation=unread) if name in notes else each for name, each in found.parameters.items()]
    return inspect.Signature(parameters, return_annotation=unread if "return" in notes else inspect.Signature.empty)


def _stand_in(thing: Any) -> Any:
    """What has the signature of a function, for Python to look at."""
    if isinstance(thing, partial):
        return partial(_stand_in(thing.func), *thing.args, **thing.keywords)
    if isinstance(thing, MethodType):
        return MethodType(_stand_in(thing.__func__), thing.__self__)
    if not isinstance(thing, ObjectProxy):
        return thing

    def function() -> None:
        pass

    function.__signature__ = _signature(thing)  # type: ignore[attr-defined]
    return function


_SELF = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)


def _of_class(proxy: Any) -> inspect.Signature:
    kind = proxy._jitflow_object
    made_by = [next((vars(base)[name] for base in one.__mro__ if name in vars(base)), None)
               for one, name in ((type(kind), "__call__"), (kind, "__new__"), (kind, "__init__"))]  # fmt: skip
    usual = made_by[0] is vars(type)["__call__"] and made_by[1] is vars(object)["__new__"]
    is_made = made_by[2] is not vars(object)["__init__"]
    if not usual or (is_made and type(made_by[2]) is not FunctionType) or hasattr(proxy, "__signature__"):
        raise _refused(proxy)
    found = _signature(proxy.__init__) if is_made else inspect.Signature([_SELF])
    return found.replace(parameters=[*found.parameters.values()][1:], return_annotation=inspect.Signature.empty)


def _refused(proxy: Any, what: str = "the signature of") -> UserError:
    return located(UserNotImplementedError(
        f"{what} {proxy._jitflow_path}, which is not read off its code",
        mend="ask for it outside the compiled function, and pass what is known then",
    ))  # fmt: skip


def _argument_names(thing: Any) -> Any:
    """`inspect.getfullargspec`."""
    return inspect.getfullargspec(_stand_in(thing))


def _itself(question: Callable[[Any], bool], thing: Any) -> bool:
    """A question about what an object is."""
    return question(thing._jitflow_object if isinstance(thing, ObjectProxy) else surface.original(thing))


OF_FUNCTIONS: Mapping[Any, Any] = {
    inspect.signature: _signature,
    inspect.getfullargspec: _argument_names,
    **{question: partial(_itself, question) for question in (inspect.isfunction, inspect.isclass, inspect.ismethod)},
    **{kind: kind for kind in (inspect.Parameter, inspect.Signature, inspect.Parameter.empty)},
}
"""What runs in the place of functions of `inspect`, and its classes."""
