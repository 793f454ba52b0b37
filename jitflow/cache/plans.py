"""Plans in files: written with the content of what their guards compare by identity, bound anew to what there is now.

A plan is walked as an entry walks it (`plan.py`): check by check, each register read when a check first names it. While
it is written, the objects of the call that it was compiled for are at hand; while it is bound, those of the call that
looks for code. Both walks go the same way, so both know the same objects at each step:

    reads    the namespace of a `Global` is that of the root function, of a function that was guarded before, or of a
             module; a `Cell` is one of the root function's, or of a function that was guarded before
    guards   what is found must have the content (`content.py`) that was written; then the guard is for this very object

So a plan that was bound compares with the identities of this process, as one that was traced here does. Whatever is not
found, or is of other content, is a `Mismatch`: the code is no candidate for this call.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import CellType, CodeType, FunctionType
from typing import TYPE_CHECKING, Any

from jitflow.cache.codec import Unstorable, pack
from jitflow.cache.content import Incomparable, content_of
from jitflow.cache.hash_order import SETS, require_no_order
from jitflow.cache.walk import ROOT, Mismatch, Walk, contents_of_defaults
from jitflow.runtime.entry import plan as p

if TYPE_CHECKING:
    from jitflow.frontend.entry.function import TracedFunction

__all__ = ["PlanWriter"]


class PlanWriter(Walk):
    """Writes a plan of ``function`` as JSON, at the call that it was compiled for, made of what was ``traced``."""

    def __init__(
        self, plan: p.Plan, function: FunctionType, arguments: Sequence[Any], traced: TracedFunction
    ) -> None:  # fmt: skip
        super().__init__(function, arguments, len(plan.reads))
        self._plan, self._traced, self._paths = plan, traced, traced.paths
        self._namespaces: dict[int, Any] = {}
        self._cells: dict[int, Any] = {}
        self._guarded: dict[int, Any] = {}
        """From the ids of objects that guards compare by identity to where they are found."""
        self._read_data: dict[int, Any] = {}
        self._shared: dict[int, Any] = {}
        """What stands in several places of the results, by its number."""
        self._meet(ROOT, function)

    def plan(self) -> dict[str, Any]:
        """The plan. Raises `Unstorable` with what is in the way, and `Mismatch` if what it reads has changed."""
        plan = self._plan
        if plan.gpus or plan.wanted or plan.made:
            raise Unstorable("a program for GPUs")
        checks = [self._check(check) for check in plan.checks]
        for number in range(len(plan.reads)):
            self.register(number)
        results = pack(plan.results, self.outside)
        return {
            "parameter_names": list(plan.parameter_names),
            "reads": [self._read_data[number] for number in range(len(plan.reads))],
            "checks": checks,
            "argument_slots": plan.argument_slots,
            "result_slots": plan.result_slots,
            "results": results,
            "shared": [[number, data] for number, data in self._shared.items()],
            "bases": pack(plan.bases),
            "uses": pack(plan.uses),
            "releases_gil_bytes": plan.releases_gil_bytes,
            "draws": plan.draws,
            "prepared": [
                [made.owner, made.method, list(made.variables), pack(made.answer)] for made in self._traced.preparations
            ],
        }

    def read(self, number: int) -> p.Read:
        read = self._plan.reads[number]
        try:
            self._read_data[number] = self._as_data(read, number)
        except (Unstorable, Incomparable) as error:
            raise Unstorable(f"{self._paths[number]}: {error}") from error
        return read

    def _as_data(self, read: p.Read, number: int) -> Any:
        match read:
            case p.Global(namespace, name):
                return ["Global", self._namespace(namespace), name]
            case p.Cell(cell):
                return ["Cell", *self._cell(cell, number)]
            case p.Made(function, parents):
                return ["Made", pack(function), list(parents)]
        return pack(read)

    def _meet(self, register: int, function: FunctionType) -> None:
        """Know a namespace and cells by the function that has them."""
        self._namespaces.setdefault(id(function.__globals__), ["of", register])
        for place, cell in enumerate(function.__closure__ or ()):
            self._cells.setdefault(id(cell), ["of", register, place])

    def _namespace(self, namespace: dict[str, Any]) -> Any:
        if id(namespace) in self._namespaces:
            return self._namespaces[id(namespace)]
        if namespace is sys.modules:
            return ["modules"]
        name = namespace.get("__name__")
        if type(name) is str and vars(sys.modules.get(name, sys)) is namespace:
            return ["module", name]
        raise Unstorable(f"a namespace called {name!r}, which is no module's")

    def _cell(self, cell: CellType, number: int) -> Any:
        if id(cell) in self._cells:
            return self._cells[id(cell)]
        contents = cell.cell_contents
        if number in self._traced.computed:
            return ["array", pack(contents)]
        if contents is self.function:
            return ["function"]
        if type(contents) is dict:
            return ["namespace", self._namespace(contents)]
        if type(contents) is CellType and id(contents) in self._cells:
            return ["cell", self._cells[id(contents)]]
        if contents is None:
            return ["nothing"]
        if number in self._traced.slots:
            slot = self._traced.slots[number]
            return ["slot", slot.owner, slot.attribute, pack(slot.keys)]
        raise Unstorable("it is found in no function")

    def outside(self, thing: Any) -> Any:
        """Where an object is found that a guard compares by identity, or what is shared; None for any other."""
        if type(thing) is p.Shared:
            if thing.number not in self._shared:
                self._shared[thing.number] = pack(thing.result, self.outside)
            return ["shared", thing.number]
        return self._guarded.get(id(thing))

    def _check(self, check: p.Check) -> Any:
        thing = self.register(check.register)
        try:
            return self._check_data(check, thing)
        except (Unstorable, Incomparable) as error:
            raise Unstorable(f"{self._paths[check.register]}: {error}") from error

    def _check_data(self, check: p.Check, thing: Any) -> Any:
        register = check.register
        match check:
            case p.IsObject(_, expected):
                if any(expected is kind for kind in SETS) and self._paths[register] != expected.__name__:
                    raise Unstorable(
                        f"another name of {expected.__name__}: sets may have another order in each process"
                    )
                self._guarded.setdefault(id(expected), ["object", register])
                return ["IsObject", register, content_of(expected)]
            case p.IsType(_, expected):
                self._guarded.setdefault(id(expected), ["type", register])
                return ["IsType", register, content_of(expected)]
            case p.EqualsConstant(_, value, _):
                return ["EqualsConstant", register, content_of(value)]
            case p.KeysAre(_, keys):
                return ["KeysAre", register, content_of(keys)]
            case p.Satisfies(_, test, text):
                return ["Satisfies", register, pack(test), text]
            case p.FunctionIs():
                return self._function(check, thing)
        return pack(check)

    def _require_no_order(self, code: CodeType, is_told: bool) -> None:
        require_no_order(code, is_told=is_told)
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                self._require_no_order(constant, is_told)

    def _function(self, guard: p.FunctionIs, function: Any) -> Any:
        from jitflow.frontend.outside.objects import is_frozen

        if type(function) is not FunctionType or function.__code__ is not guard.code:
            raise Mismatch("the function is another one by now")
        self._meet(guard.register, function)
        self._require_no_order(guard.code, guard.code in self._traced.rewritten)
        for value in (*(guard.defaults or ()), *dict(guard.keyword_defaults or ()).values()):
            if is_frozen(value):  # which a trace takes as it is
                content_of(value)
        cells = None if guard.any_closure else [self._cells[id(cell)] for cell in guard.closure or ()]
        return [
            "FunctionIs", guard.register, content_of(guard.code), self._namespace(function.__globals__),
            *map(list, contents_of_defaults(guard.defaults, guard.keyword_defaults)), cells,
        ]  # fmt: skip
