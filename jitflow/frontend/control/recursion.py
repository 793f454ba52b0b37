"""Functions that call themselves on a decision of the running program.

Such a function is traced once, into the region of a `recursion`; where its body calls it again, directly or by way of
others, stands a `recur` (which functions these are, `recursive.py` finds).

What the calls are given in the same place is a parameter if it differs between them: numbers of the running program
from the start, others once a call has brought another one. What is the same object in all calls stays that object, as
what a loop does not carry. So do locals of functions around it, and items of objects, which a call changes: these go
into each call and come out of it. What the function gives is not known when it calls itself for the first time; that
path then counts as one that raises, until the others have told. The body is traced until nothing new is learnt.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from types import CellType, FunctionType
from typing import Any

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserError, UserNotImplementedError
from jitflow.frontend.control.alike import is_like
from jitflow.frontend.control.alternatives import aligned, described, with_made_texts
from jitflow.frontend.control.cells import UNBOUND, content_of, put
from jitflow.frontend.control.changing_lists import begin_anew_with, is_reference
from jitflow.frontend.control.contents import ChangesInLoop, Item, changed_items
from jitflow.frontend.control.function_cells import cells_of
from jitflow.frontend.control.leaves import Leaves, can_change, flatten
from jitflow.frontend.control.local_types import kind_of
from jitflow.frontend.control.merge import Slot, Way, agreeing, common_kind, is_there_before, result_of, word
from jitflow.frontend.control.mutables import Mutables
from jitflow.frontend.control.paths import Path, trace_path
from jitflow.frontend.control.raising import EndOfPath, fail
from jitflow.frontend.control.running import Running
from jitflow.frontend.control.trying import Statements, raised_by
from jitflow.frontend.outside.pooled_objects import Reads, begin_anew_pooled
from jitflow.frontend.outside.proxies import as_one_object
from jitflow.frontend.recording.choices import WRITTEN_OUT, Choice, Restart, Site
from jitflow.frontend.recording.lifting import lifted
from jitflow.frontend.recording.regions import recursion_site
from jitflow.frontend.recording.trace import Trace, current_trace
from jitflow.frontend.tracers.base import located
from jitflow.ir.core import Value, walk_ops
from jitflow.ir.dims import Dim
from jitflow.ir.types import Scalar, Tensor

__all__ = ["Recursion"]

_ATTEMPTS, _MOST_PARTS = 16, 64


class Recursion:
    """One function that calls itself, from its first call on."""

    def __init__(self, function: FunctionType, bound: inspect.BoundArguments, running: Running) -> None:
        self.function, self.bound, self.running = function, bound, running
        self.name = running.new_name(word(function.__name__) or "function")
        self.key = (function.__code__.co_filename, function.__code__.co_firstlineno)
        self.first: list[Any] = [*bound.arguments.values()]
        """What the first call is given, and finds in the cells, beside the other kinds that these are of in others."""
        self.cells: dict[str, CellType | Item] = {}
        """What calls change besides what they give, by name."""
        self.slots: dict[int, Slot] = {}
        """The parameters, by their number among the parts of what a call is given."""
        self.open_axes: dict[int, set[int]] = {}
        self.known: Leaves | None = None
        """What a call gives, as far as is known: types for numbers and arrays of its own, else the very objects."""
        self.sizes: dict[int, tuple[Dim | None, ...]] = {}
        """Those of each array that a call gives; None where it is another one in each call."""
        self.shows_others = False
        """Whether what it gives may show arrays that were there before."""
        self.never_ends = False
        """Whether no path of the body leads to an end."""
        self.arriving: list[tuple[int, Slot, Value]] = []
        """The arrays that further calls are given."""
        self.inside = running.learn(self)

    def call(self) -> Any:
        """The first call."""
        trace = current_trace()
        if trace.storage.is_place(self._result_site()):
            self._refuse_write()
        self.home, frames = trace.scope, trace.depth_of_calls()
        self.objects = Mutables([self.function, *self.bound.arguments.values()], with_stores=True)
        cells = [(cell, content_of(cell)) for cell in cells_of(self.function)]
        take_back = trace.trial()
        for _ in range(_ATTEMPTS):
            take_back()
            self.entry = self._taken_apart(tuple(self.first))
            self._find_parameters()
            self.has_grown = self.has_recurred = self.is_another = False
            self.arriving.clear()
            self.inside.begin()
            self.began = trace.storage.now()
            self.running.bodies.append(self)
            try:
                with trace.storage.turn() as before:
                    path, parameters = self._traced(trace)
                self._find_changes(cells)
            finally:
                self.running.bodies.pop()
                self.objects.restore()
                for cell, content in cells:
                    put(cell, content)
            self.first += map(content_of, [*self.cells.values()][len(self.first) - len(self.bound.arguments) :])
            if self._has_learnt_all(trace, path) and not trace.storage.goes_again(before):
                return self._finish(trace, path, parameters, frames)
        raise located(self._refused("what its calls are given, or give, is of another type each time"))

    def recur(self, arguments: dict[str, Any]) -> Any:
        """A further call, in the body."""
        trace = current_trace()
        self.has_recurred = True
        things = self._aligned((*arguments.values(), *map(content_of, self.cells.values())))
        if self.is_another:
            raise EndOfPath
        given = self._taken_apart(things)
        if repr(given.shape) != repr(self.entry.shape):
            self._write_out_the_first()
            raise located(self._refused("its calls are given structures of different shapes"))
        for number, item in enumerate(given.items):
            self._meet(trace, number, item)
        if self.has_grown or (self.known is None and not self.never_ends):
            raise EndOfPath
        way = Way(self.home, turn=self.scope, since=self.began)
        operands = []
        for number, slot in self.slots.items():
            item = given.items[number]
            operands.append(slot.incoming(item, trace.scope, way))
            if isinstance(item, tracers.ArrayTracer):
                self.arriving.append((number, slot, item._value))
        types = self._types(trace)
        storage = tuple(number for number, slot in enumerate(self.slots.values()) if slot.as_place)
        frames = trace.depth_of_calls() - self.frames
        trace.state(Reads).forget()
        found = trace.add("recur", *operands, types=types, function=self.name, frames=frames, storage=storage)
        if self.known is None:
            fail(RecursionError, "maximum recursion depth exceeded")
        return self._result(trace, found)

    def _write_out_the_first(self) -> None:
        """Start the trace anew with a first call that is written out, unless it was."""
        trace, site = current_trace(), recursion_site(self.function.__code__)
        if trace.choices.answer(site) is True:
            raise trace.begin_anew(Restart(site, WRITTEN_OUT))

    # What goes in

    def _aligned(self, given: Sequence[Any]) -> tuple[Any, ...]:
        """What a further call is given, of several kinds where the first call is given another one."""
        found = []
        for number, (name, thing) in enumerate(zip((*self.bound.arguments, *self.cells), given, strict=True)):
            if thing is not self.first[number]:
                begin_anew_with(thing, is_wish=True)
            if is_reference(thing) and not is_reference(self.first[number]):
                self._write_out_the_first()
                begin_anew_with(self.first[number], is_wish=True)
            thing = as_one_object(self.first[number], thing)
            first, thing = aligned([self.first[number], thing], name, can_change, grows=True)
            found.append(thing)
            if first is not self.first[number]:
                self.first[number], self.has_grown, self.is_another = first, True, True
                self.slots.clear()
                self.open_axes.clear()
        return tuple(found)

    def _taken_apart(self, given: Any) -> Leaves:
        """What is given in parts; what shows by all its names what is stored in it is one."""
        return flatten(given, is_itself=can_change)

    def _stays_itself(self, thing: Any) -> bool:
        """Whether a part of what is given back is an object that was there before, and no reference that flows."""
        return not is_reference(thing) and self.objects.holds(thing)

    def _find_parameters(self) -> None:
        """Let the numbers of the running program be parameters, and what calls change."""
        count = len(self._taken_apart(tuple(self.first[: len(self.bound.arguments)])).items)
        for number, item in enumerate(self.entry.items):
            is_number = isinstance(item, tracers.ScalarTracer | tracers.SizeTracer)
            kind = kind_of(item)
            if number not in self.slots and kind is not None and (is_number or number >= count):
                self.slots[number] = self._slot(number, kind)
        self.slots = dict(sorted(self.slots.items()))

    def _slot(self, number: int, kind: Scalar | Tensor) -> Slot:
        name = self._word_of(number)
        site = Site(Choice.MERGED_AS_MEMORY, *self.key, f"{name} of {self.name}")
        as_place = isinstance(kind, Tensor) and current_trace().storage.is_place(site)
        return Slot(name, kind, site, as_place, shared=isinstance(kind, Tensor))

    def _word_of(self, number: int) -> str:
        """What messages call a part of what is given."""
        counts = [len(self._taken_apart(thing).items) for thing in self.first]
        names = [*self.bound.arguments, *self.cells]
        for name, count in zip(names, counts, strict=True):
            if number < count:
                return name if count == 1 else f"{name}[{number}]"
            number -= count
        return "an argument"

    def _meet(self, trace: Trace, number: int, item: Any) -> None:
        """Compare what a further call is given with what is known of the parameter."""
        slot, entry = self.slots.get(number), self.entry.items[number]
        is_it = entry is item if can_change(item) else agreeing([entry, item])
        if item is UNBOUND or (slot is None and is_it):
            return
        before = slot.kind if slot is not None else item if entry is UNBOUND else entry
        if kind_of(before) is None or kind_of(item) is None:
            begin_anew_pooled([entry, item])
            found = f"{described(entry)} in one call and {described(item)} in another"
            raise located(self._refused(f"{self._word_of(number)} is {found}"))
        fresh: list[Any] = []

        def new_size() -> Any:
            fresh.append(trace.size("size"))
            return fresh[-1]

        kind = common_kind(self._word_of(number), [before, item], new_size)
        opened = self.open_axes.setdefault(number, set())
        if isinstance(kind, Tensor):
            visible = trace.is_visible_in(self.home)
            changed = {axis for axis, dim in enumerate(kind.dims) if dim in fresh or not visible(dim)} - opened
            opened |= changed
            if slot is not None and not changed:
                return
        elif slot is not None and kind == slot.kind:
            return
        known = kind_of(before)
        self.slots[number] = self._slot(number, known if isinstance(known, Tensor) else kind)
        self.has_grown = True

    def _traced(self, trace: Trace) -> tuple[Path, list[Value]]:
        """The body with its parameters."""
        self.frames = trace.depth_of_calls()
        with trace.region() as scope:
            self.scope, parameters, items = scope, [], list(self.entry.items)
            for number, slot in self.slots.items():
                inside = self._opened(trace, number, slot)
                parameters.append(Value(inside.type, word(slot.name)))
                items[number] = result_of(inside, parameters[-1])
                if isinstance(self.entry.items[number], tracers.ArrayTracer):
                    trace.storage.arrive(parameters[-1], [self.entry.items[number]._value])
        given = self.entry.rebuild(items)
        for cell, content in zip(self.cells.values(), given[len(self.bound.arguments) :], strict=True):
            put(cell, content)
        bound = inspect.BoundArguments(self.bound.signature, dict(zip(self.bound.arguments, given, strict=False)))

        def run() -> Any:
            result = with_made_texts(self.function(*bound.args, **bound.kwargs))
            return (result, *map(content_of, self.cells.values()))

        return trace_path(run, dict, scope, is_whole=True), parameters

    def _opened(self, trace: Trace, number: int, slot: Slot) -> Slot:
        """The slot with names of the region's own for sizes that differ between calls."""
        axes = self.open_axes.get(number)
        if not axes or not isinstance(slot.kind, Tensor):
            return slot
        dims = tuple(trace.size("size") if axis in axes else dim for axis, dim in enumerate(slot.kind.dims))
        return Slot(slot.name, Tensor(slot.kind.dtype, dims), slot.site, slot.as_place, slot.shared)

    # What comes out

    def _find_changes(self, cells: Sequence[tuple[CellType, Any]]) -> None:
        """Let what the body changes in cells and objects go into each call, and come out of it."""
        known = set(map(id, self.cells.values()))
        for cell, content in cells:
            if content_of(cell) is not content and id(cell) not in known:
                self._add_cell(f"a local of the function around {self.name} {len(self.cells) + 1}", cell)
        try:
            for item, _ in changed_items(self.objects, Mutables(())):
                if item.name not in self.cells:
                    self._add_cell(item.name, item)
        except ChangesInLoop as reason:
            if reason.changed is not None:
                begin_anew_with(reason.changed)
            begin_anew_pooled([reason.thing])
            raise located(self._refused(str(reason).replace("in the loop", "in its calls"))) from None

    def _add_cell(self, name: str, cell: CellType | Item) -> None:
        self.cells[name], self.has_grown = cell, True
        self.known, self.never_ends = None, False

    def _has_learnt_all(self, trace: Trace, path: Path) -> bool:
        """Compare what the body gives with what is known; whether nothing new was learnt."""
        if self.has_grown:
            return False
        is_new = self._raises_more(trace, path)
        if path.ended:
            was_known, self.never_ends, self.known = self.never_ends, True, None
            return (was_known and not is_new) or not self.has_recurred
        found = flatten(path.result, is_itself=self._stays_itself)
        given = Leaves(tuple(map(self._known_of, found.items)), found.shape, found.rebuild)
        if self.known is not None and len(given.items) > max(_MOST_PARTS, len(self.known.items)):
            raise located(self._refused("what it gives holds what its calls give, which is more each time"))
        is_another = self.known is None or not is_like(given, self.known)
        is_new |= self._finds_sizes(trace, given, anew=is_another) or is_another
        arrays = [item._value for item in found.items if isinstance(item, tracers.ArrayTracer)]
        behind = trace.storage.behind(*arrays)
        shows_others = not all(trace.storage.is_made_in(path.scope, root) and trace.storage.is_new_array(root)
                               and root not in trace.storage.merged for root in behind)  # fmt: skip
        is_new |= shows_others and not self.shows_others
        self.known, self.never_ends, self.shows_others = given, False, self.shows_others or shows_others
        return not (is_new and self.has_recurred)

    def _raises_more(self, trace: Trace, path: Path) -> bool:
        """Whether a call raises something that a `try` in the body does not know yet."""
        statements = trace.state(Statements)
        known, is_asked = statements.raised_by_calls, self.name in statements.asked_of
        found = {kind for op in walk_ops(path.scope.builder.ops) for kind in raised_by(op)}
        is_new = not found <= {RecursionError, *known.get(self.name, ())}
        known[self.name] = tuple(sorted(found, key=lambda kind: kind.__name__))
        return is_new and is_asked

    def _known_of(self, item: Any) -> Any:
        """What is known of a part of a result before the running program makes it."""
        kind = kind_of(item)
        if kind is None or (isinstance(item, tracers.ArrayTracer) and is_there_before(item)):
            return item
        return kind

    def _types(self, trace: Trace) -> list[Scalar | Tensor]:
        """The types of what a call gives, with names of its own for the sizes that only it knows."""
        types: list[Scalar | Tensor] = []
        for number, kind in enumerate(() if self.known is None else self.known.items):
            if isinstance(kind, Tensor):
                dims = tuple(trace.size("size") if dim is None else dim for dim in self.sizes[number])
                types.append(Tensor(kind.dtype, dims))
            elif isinstance(kind, Scalar):
                types.append(kind)
        return types

    def _finds_sizes(self, trace: Trace, given: Leaves, *, anew: bool) -> bool:
        """Whether sizes that seemed to be the same in all calls differ."""
        visible, before = trace.is_visible_in(self.home), {} if anew else self.sizes
        self.sizes = {}
        for number, kind in enumerate(given.items):
            if isinstance(kind, Tensor):
                now = tuple(dim if visible(dim) else None for dim in kind.dims)
                old = before.get(number, now)
                self.sizes[number] = tuple(dim if dim == other else None for dim, other in zip(now, old, strict=True))
        return self.sizes != before

    def _result(self, trace: Trace, found: Sequence[Value]) -> Any:
        """What the program gets of a call, whose cells hold what it has left in them."""
        assert self.known is not None
        values = iter(found)
        items = [self._result_slot(trace, item, next(values)) if isinstance(item, Scalar | Tensor) else item
                 for item in self.known.items]  # fmt: skip
        result, *left = self.known.rebuild(items)
        for cell, content in zip(self.cells.values(), left, strict=True):
            put(cell, content)
        return result

    def _result_slot(self, trace: Trace, kind: Scalar | Tensor, value: Value) -> Any:
        if isinstance(kind, Scalar):
            return result_of(Slot("the result", kind, self._result_site()), value)
        assert isinstance(value.type, Tensor)
        tracer = result_of(Slot("the result", value.type, self._result_site(), shared=True), value)
        if self.shows_others:  # it is a copy, and would have to be one of them
            trace.storage.keep(value, self._refuse_write)
        return tracer

    def _refuse_write(self) -> None:
        raise located(self._refused("what it gives may be an array that it was given, and is written to",
                                    mend="return a copy of it: return x.copy()"))  # fmt: skip

    def _result_site(self) -> Site:
        return Site(Choice.MERGED_AS_MEMORY, *self.key, f"the result of {self.name}")

    def _finish(self, trace: Trace, path: Path, parameters: list[Value], frames: int) -> Any:
        """Append the op."""
        way = Way(self.home, turn=path.scope, since=self.began)
        numbers = [*self.slots]
        for number, slot, value in self.arriving:
            trace.storage.arrive(parameters[numbers.index(number)], [value])
            if not slot.as_place:
                trace.storage.copy_at(slot.site, value, path.scope, self.began)
        operands = [slot.incoming(self.entry.items[number], self.home, way) for number, slot in self.slots.items()]
        yielded: list[Value] = []
        types = self._types(trace)
        arrays: list[Value | None] = []
        if self.known is not None:
            items = flatten(path.result, is_itself=self._stays_itself).items
            for item, kind in zip(items, self.known.items, strict=True):
                if isinstance(kind, Scalar | Tensor):
                    slot = Slot("the result", kind, self._result_site(), shared=isinstance(kind, Tensor))
                    yielded.append(slot.incoming(item, path.scope, way))
                    arrays.append(item._value if isinstance(item, tracers.ArrayTracer) else None)
        region, operands = lifted(path.scope.close(parameters, yielded), self.name, operands)
        found = trace.add("recursion", *operands, types=types, regions=(region,), function=self.name, frames=frames)
        if self.known is None:
            fail(RecursionError, "maximum recursion depth exceeded")
        for value, array in ((value, one) for value, one in zip(found, arrays, strict=True) if one is not None):
            trace.storage.arrive(value, [array])
        return self._result(trace, found)

    def _refused(self, what: str, mend: str = "") -> UserError:
        usual = "give each call numbers and arrays of the same types, and return such on every path; or write a loop"
        return UserNotImplementedError(f"{self.function.__name__}, which calls itself: {what}", mend=mend or usual)
