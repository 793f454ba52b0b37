"""What stands, while tracing, for a module of the pure set."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, NoReturn

from jitflow.errors import UserAttributeError
from jitflow.frontend.outside.purity import Impure, is_impure_member
from jitflow.frontend.outside.stores import refusal as _store
from jitflow.frontend.tracers import located

__all__ = ["NO_MEMBER", "ModuleView"]

NO_MEMBER = object()
"""What is found of a module where it has no such member."""


class ModuleView:
    """A module of the pure set, some of whose functions are replaced by ones that know tracers.

    ``read`` gives what stands for a member, and notices when another call finds another one: somebody may have put a
    function of their own in its place, or where there was `NO_MEMBER`.
    """

    __slots__ = ("_jitflow_module", "_jitflow_read")

    def __init__(self, module: ModuleType, read: Callable[[ModuleType, str, Any], Any]) -> None:
        object.__setattr__(self, "_jitflow_module", module)
        object.__setattr__(self, "_jitflow_read", read)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return ModuleType

    def __getattr__(self, name: str) -> Any:
        try:
            member = getattr(self._jitflow_module, name)
        except AttributeError as error:
            self._jitflow_read(self._jitflow_module, name, NO_MEMBER)
            raise located(UserAttributeError(str(error))) from None
        if is_impure_member(self._jitflow_module, name):
            return Impure(f"{self._jitflow_module.__name__}.{name}", member)
        return self._jitflow_read(self._jitflow_module, name, member)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise _store(f"assigning to {name!r} in the module", self._jitflow_module.__name__)

    def __repr__(self) -> str:
        return repr(self._jitflow_module)
