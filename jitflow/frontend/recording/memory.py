"""Who shows what: the arrays of a program, what they are views of, and which of them are variables.

An array object of the program is a tracer; its value is an SSA value or a view of one, and the value at the end of that
chain, the *root*, stands for the memory. A root starts as a plain value. When the program first writes to memory that
others may see (`place`), the root becomes a *variable*: an op ``variable`` is put where the root was made, and from
then on each array that shows it is read by ``load`` and written by ``store`` at its *place*, the same chain of views on
the variable. A parameter that becomes a variable is an argument that the program mutates.

What was read before the first write stays an SSA value, which is right everywhere but in a loop, where the first write
comes before the second turn's reads: a loop whose body makes variables of what it found outside is traced anew.
Loops inside it are not, for what is outside of it too: they are traced once more with it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Protocol

from jitflow.errors import UserNotImplementedError, UserValueError
from jitflow.frontend.recording.choices import OBJECTS, Restart, Site
from jitflow.frontend.recording.complex_parts import Parts
from jitflow.frontend.recording.imitations import Imitations
from jitflow.frontend.recording.regions import Regions, Scope, refused_in_batch
from jitflow.frontend.recording.views import Views, read_only_on_a_path
from jitflow.ir.core import Value
from jitflow.ir.dtypes import I64
from jitflow.ir.types import Tensor, Variable
from jitflow.records import dataclass

__all__ = ["BeforeTurn", "Storage"]


@dataclass(frozen=True, slots=True)
class BeforeTurn:
    """What was known when a turn of a loop began to be traced."""

    variables: frozenset[Value]
    around: frozenset[Scope]
    """The scopes that the loop stands in."""
    watched: int


class Merged(Protocol):
    """What an array that came out of a merge knows of it."""

    @property
    def site(self) -> Site: ...
    @property
    def shared(self) -> bool: ...
    @property
    def is_branch(self) -> bool: ...


class Storage(Views):
    """The memory of one trace's arrays."""

    def __init__(self, trace: Regions) -> None:
        super().__init__(trace)
        self.merged: dict[Value, Merged] = {}
        """Arrays that came out of a branch or loop."""
        self.sites: dict[Value, Site] = {}
        """Where arrays were merged, as values or as places."""
        self.views_in: dict[Value, list[Any]] = {}
        """The views that an array which was merged may be."""
        self.mixed: set[Value] = set()
        """The places that show an array itself on some paths, and a view of all of it on others."""
        self._protected: dict[Value, Callable[[], None]] = {}
        self._adopted: set[Value] = set()
        self.put_elsewhere: set[Value] = set()
        """Arrays whose elements were put into the memory of a merged one, which is another object."""
        self._outliving: set[Value] = set()
        self._callers = Value(Tensor(I64, ()))
        """Stands for the memory of all arguments that overlap."""
        self.variables: dict[Value, Value] = {}
        """From roots to the variable or place that they became."""
        self.written: list[Value] = []
        """The roots that were written to, in the order of the program."""
        self.copied: dict[Value, Site] = {}
        """Roots of arrays that were merged as values although other names may show them, and where."""
        self._kept: dict[Value, Callable[[], None]] = {}
        """Arrays of which a list has a copy, and what to call where one is written to."""
        self._returned: dict[Value, tuple[Site, FrameType]] = {}
        """The arrays that a call returns as copies, which nothing may write to when that is over."""
        self.classes: dict[Value, tuple[int, str]] = {}
        """The position and the layout class of parameters that are arrays."""
        self._turns: list[BeforeTurn] = []
        """Of the loops that are being traced, outer ones first."""
        self.imitations = Imitations(self, trace.locate)
        self.parts = Parts(trace, self)

    def is_place(self, site: Site) -> bool:
        """Whether arrays are merged as places there."""
        return self._trace.choices.answer(site) not in (None, OBJECTS)

    def _merge_as_places(self, site: Site) -> None:
        """Merge arrays as places at a site, and where they come from, which the next trace would find out."""
        self._trace.begin_anew_at_last(Restart(site, others=self._trace.choices.sources(site)))

    def keeps_objects(self, key: tuple[str, int], name: str) -> bool:
        """Whether what the caller passed stays the very object, in a local of a branch."""
        return any(
            (site.file, site.line) == key and site.name.partition("[")[0] == name
            for site in self._trace.choices.answered(OBJECTS)
        )

    @property
    def is_in_a_loop(self) -> bool:
        """Whether a turn of a loop is being traced."""
        return bool(self._turns)

    def is_adopted(self, value: Value) -> bool:
        """Whether a value stands for one of several arrays, and for no view of it."""
        return value in self._adopted

    def is_view_of_argument(self, value: Value) -> bool:
        """Whether an array is a view of one that the caller passes, and not that itself."""
        return self.root(value) is not value and self.is_parameter(self.root(value))

    def is_there(self, value: Value, home: Scope) -> bool:
        """Whether the caller may get the memory behind a value that arrives in a region: no branch or loop made it."""
        if any(scope.is_differentiated for scope in home.around()):
            return False
        kept = self._protected.keys() | self._outliving | self.merged.keys()
        root = self._trace.root
        return not any(
            shown in kept or shown in self.parts.of or self.homes.get(shown, root) is not root
            for shown in self.behind(value) - self._adopted - self.put_elsewhere
        )

    def protect(self, value: Value, noticed: Callable[[], None] = lambda: None) -> None:
        """The array behind ``value`` cannot be written to; ``noticed`` is called when the program would."""
        self._protected[value] = noticed

    def keep(self, value: Value, noticed: Callable[[], None]) -> None:
        """A list has a copy of the array: ``noticed`` is called where the program would write to it from now on."""
        self._shared |= {value, self.root(value)}
        for shown in self.behind(value):
            self._kept.setdefault(shown, noticed)

    def outlive(self, value: Value) -> None:
        """The memory of parameter ``value`` is a variable's, which nobody outside gets hold of."""
        self._outliving.add(value)

    def is_outliving(self, value: Value) -> bool:
        """Whether ``value`` may show the memory of a variable that outlives the call."""
        return bool(self._outliving) and not self._outliving.isdisjoint(self.behind(value))

    def require_writeable(self, value: Value, what: str = "assignment destination") -> None:
        """Raise NumPy's error of ``what`` if the program may not write to what ``value`` shows, be it nothing."""
        root = self.root(value)
        if (noticed := self._protected.get(root)) is not None:
            noticed()
        if noticed is not None or self.is_read_only(value):
            raise UserValueError(f"{what} is read-only")
        if self.is_read_only(value, any):
            raise read_only_on_a_path()
        if root in self._arguments or self.came_shared(root):
            self.place(root)

    def overlaps(self, value: Value) -> None:
        """The array that the caller passes as ``value`` may show what other arguments show."""
        self.arrive(value, [self._callers])

    # -- whose memory it is ------------------------------------------------------------------------

    def hold(self, value: Value) -> None:
        """An array object of the program holds ``value`` alone."""
        self._held.add(self.root(value))

    def is_held(self, value: Value) -> bool:
        """Whether the elements of ``value`` are those of a parameter, or of an array that the program holds."""
        root = self.root(value)
        is_known = root in self._held or root in self.merged or root in self._adopted or root in self.parts.made
        return is_known or self.is_parameter(root)

    def came_shared(self, value: Value) -> bool:
        """Whether the memory came out of a branch or loop, where it may be that of an array with another name."""
        return (merged := self.merged.get(self.root(value))) is not None and merged.shared

    def is_seen_otherwise(self, value: Value) -> bool:
        """Whether a part of the array, or a copy that imitates a view, stands for what ``value`` shows."""
        seen = (*(array for array, _ in self.parts.of.values()), *(one.source for one in self.imitations.of.values()))
        return bool(seen) and self.root(value) in map(self.root, seen)

    # -- variables ---------------------------------------------------------------------------------

    @contextmanager
    def turn(self) -> Iterator[BeforeTurn]:
        """Within, a turn of a loop is traced; see `goes_again`."""
        before = BeforeTurn(frozenset(self.variables), frozenset(self._trace.scope.around()), self._trace.watched)
        self._turns.append(before)
        try:
            yield before
        finally:
            self._turns.pop()

    def goes_again(self, before: BeforeTurn) -> bool:
        """Whether the loop is to be traced anew, because memory from outside of it has become a variable since.

        Or something is watched since, which the ops in front ought to know. Not if that holds for a loop around it.
        """
        return self._made_outside(before) and not any(map(self._made_outside, self._turns))

    def _made_outside(self, before: BeforeTurn) -> bool:
        is_new = self._trace.watched != before.watched
        return is_new or any(self.has_become_variable(root, before) for root in self.variables)

    def has_become_variable(self, value: Value, before: BeforeTurn) -> bool:
        """Whether the memory that ``value`` shows is from outside of a turn, and has become a variable in it."""
        root = self.root(value)
        return root in self.variables and root not in before.variables and self.homes.get(root) in before.around

    def is_variable(self, value: Value) -> bool:
        """Whether the memory that ``value`` shows is written to."""
        return self.root(value) in self.variables

    def read(self, value: Value) -> Value:
        """What ``value`` shows now."""
        if self.imitations.of:
            self.imitations.read(value)
        if self.parts.of and (part := self.parts.read(value)) is not None:
            self._views[part] = value
            return part
        if not self.variables or self.root(value) not in self.variables:
            return value
        loaded = self._trace.make("load", self.place(value))
        self._views[loaded] = value
        return loaded

    def write(self, value: Value, stored: Value) -> None:
        """Make what ``value`` shows be ``stored``: an array of its dims, or a number for all elements."""
        self.require_writeable(value)
        if not (self.parts.of and self.parts.write(value, stored)):
            self._trace.add("store", self.target(value), stored)

    def target(self, value: Value) -> Value:
        """The place that ``value`` shows, for the program to write to."""
        root = self.root(value)
        self.require_writeable(value)
        self._require_of_example(root)
        self._require_no_copy(root)
        self._require_not_kept(root)
        if self.imitations.of:
            self.imitations.write(value)
        self.written.append(root)
        return self.place(value)

    def _require_of_example(self, root: Value) -> None:
        """An example of a batch writes to what it has made itself: there is no order among the examples."""
        batches = [scope for scope in self._trace.scope.around() if scope.is_batched]
        if not all(self.is_made_in(scope, root) for scope in batches):
            raise refused_in_batch("that writes to an array or a variable from outside")

    def _require_no_copy(self, *written: Value) -> None:
        for shown in self.behind(*written):
            if shown in self.copied:
                self._merge_as_places(self.copied[shown])
            if shown in self._returned and not _is_running(self._returned[shown][1]):
                self._merge_as_places(self._returned[shown][0])

    def _require_not_kept(self, *written: Value) -> None:
        for shown in self.behind(*written) & self._kept.keys():
            self._kept[shown]()

    def end_turn(self, turns: list[Scope], since: tuple[int, int]) -> None:
        """A turn, its body and condition, is over, and what its parameters may be has arrived: look at its writes."""
        written = self.written[since[0] :]
        made = {root for root in written if any(self.is_made_in(turn, root) for turn in turns)}
        self._require_no_copy(*(root for root in written if root not in self._returned or root not in made))
        self._require_not_kept(*(root for root in written if root in self._arrived or root not in made))
        if self.imitations.of:
            self.imitations.end_turn(turns[0], since[1], written)

    def place(self, value: Value) -> Value:
        """The place that ``value`` shows; its root becomes a variable if it is none."""
        if value in self.variables:
            return self.variables[value]
        source = self._views.get(value)
        if source is None:
            return self._make_variable(value)
        if isinstance(source, Value):
            return self.place(source)
        return self._trace.make(source.name, self.place(source.operands[0]), **source.attributes)

    def now(self) -> tuple[int, int]:
        """How many writes, and reads of imitated views, there were."""
        return len(self.written), self.imitations.now()

    def is_fresh(self, value: Value, scope: Scope) -> bool:
        """Whether the memory was made in a region, for one array object."""
        root = self.root(value)
        known = root in self.merged or root in self._adopted or root in self.parts.of
        return self.homes.get(root) is scope and not self.is_shared(root) and not known

    def memory(self, kind: Tensor) -> Value:
        """New memory, without contents that anybody may read."""
        return self._trace.make("variable", self._trace.make("empty", dtype=kind.dtype, dims=kind.dims))

    # -- merged arrays -----------------------------------------------------------------------------

    def copy_at(
        self, site: Site, value: Value, turn: Scope | None = None, since: tuple[int, int] = (0, 0),
        returning: FrameType | None = None,
    ) -> None:  # fmt: skip
        """``value``, which other names may show, is merged as a value at ``site``: nothing may write to it later.

        At the end of a loop's ``turn``, everything that was written ``since`` the loop began is written later as well,
        but for what each turn makes for itself.

        What a call is ``returning`` is written later by others alone. In what is differentiated it is taken as a value,
        since a place could not be handed on; everywhere else it need not be copied.
        """
        behind = self.behind(value)
        if returning is not None and any(scope.is_differentiated for scope in self._trace.scope.around()):
            self._returned.update(dict.fromkeys(behind, (site, returning)))
            return
        for shown in behind:
            self.copied.setdefault(shown, site)
        if turn is not None:
            later = self.behind(*self.written[since[0] :])
            if any(root in self._arrived or not self.is_made_in(turn, root) for root in later & behind):
                self._merge_as_places(site)

    def adopt(self, value: Value, place: Value) -> None:
        """``value`` stands for an array whose memory is ``place``, one of several variables."""
        self.variables[value] = place
        self.homes[value] = self._trace.scope
        self._adopted.add(value)
        self.arrive(value, [place])

    def may_move(self, value: Value) -> bool:
        """Whether an array has memory that the region has made, and that is as yet no matter to anybody else."""
        root, known = self.root(value), (self._adopted, self.parts.of, self.parts.made, self.imitations.of)
        asked = (self._kept, self._protected, self.copied, self._returned)
        if any(root in found for found in (*known, *asked)) or self.is_a_view(value) or self.is_seen_otherwise(value):
            return False
        return self.homes.get(root) is self._trace.scope and not self.is_parameter(root) and not self.came_shared(root)

    def move(self, root: Value, place: Value, everything: Value) -> None:
        """The memory of an array is a ``place`` from now on, as that of others that may be the same: ``everything``."""
        self.variables[root] = place
        self.arrive(root, [everything])

    def replace_parameter(self, old: Value, new: Value, name: str, **attributes: Any) -> None:
        """Make ``new`` the parameter; what the program knows as ``old`` is op ``name`` of it when the call begins."""
        parameters = self._trace.parameters
        parameters[next(index for index, value in enumerate(parameters) if value is old)] = new
        self._trace.root.insert(new, name, new, results=(old,), **attributes)

    def _make_variable(self, root: Value) -> Value:
        if root in self.parts.of and not self.parts.let_go(root):
            raise UserNotImplementedError(
                "a part or a view with another dtype that is written to by integer arrays, or after a branch or loop",
                mend="copy it before (z.real.copy()), or write to the array itself",
            )
        assert isinstance(root.type, Tensor)
        variable = Value(Variable(root.type.dtype, root.type.dims), root.name)
        if self.came_shared(root):
            self._merge_as_places(self.merged[root].site)
        if (noticed := self._protected.get(root)) is not None:
            noticed()
            raise read_only_on_a_path()
        if self.is_parameter(root):
            self.replace_parameter(root, variable, "load")
        else:
            self.homes[root].insert(root, "variable", root, results=(variable,))
        self.variables[root] = variable
        return variable


def _is_running(call: FrameType) -> bool:
    """Whether a call is not over."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame is not call:
        frame = frame.f_back
    return frame is call
