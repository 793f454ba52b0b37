"""What a trace has come to know too late, so that another one does it differently from the start.

A trace does the simplest thing at each place of the program. Where that turns out not to do, it is given up
(`Restart`), and the next one finds the answer in the record of `Choices`. So nothing has to be undone, and each
question is asked once: the record only grows, which is why tracing ends.

A program may have as many such places as it has lines. So where a kind of choice comes up a second time, the trace
goes on to find all others of its kind: with what it has done wrong, if that does not matter to them
(`begin_anew_at_last`), else without the path, the loop or the change that it cannot do (`leaves_out`). What it finds
then is a guess, for what follows may be otherwise in the program; where the program cannot be compiled with guesses,
they are taken back, and no more are made.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from enum import Enum
from typing import Any

from jitflow.errors import CompilerBug, UserError
from jitflow.records import dataclass

__all__ = ["AT_LAST", "GONE_THROUGH", "OBJECTS", "SHOWN", "WRITTEN_OUT", "Choice", "Choices", "Restart", "Restarts",
           "Signal", "Site", "StartAnew"]  # fmt: skip

_MOST_LEFT_OUT = 8
"""How often a trace leaves out a part of the program at one place, since others are found by going on."""


class Choice(Enum):
    """What a trace may do in another way, where it has come to know that it has to."""

    MERGED_AS_MEMORY = "arrays of several paths or turns merge as one memory, which takes writes, and not as values"
    CHOSEN_BY_IDENTITY = "a name stands for one of several objects behind a branch, and not for a merged one"
    CAUGHT_WHEN_RUN = "a try statement catches what the running program raises"
    GROWING = "a list is one of the running program; the answer is the form of its items, if that is known"
    ITEM_CHOSEN = "an item of a list is chosen by an index that the turns of a native loop make"
    ROLLED = "a loop of few turns is a native loop"
    SHARED_CALLS = "helpers that are called on both paths of branches are called once"
    PASSED_AS_MEMORY = "the calls of one branch are not shared, because their arguments are written to"
    CARRIED_CONTENTS = "a native loop carries what its turns change in objects; so the first trace does it already"
    NUMBERED = "a local is merged and carried with a number that says which object it is"
    LEFT_OUT = "a comprehension leaves items out by a test that only the run knows, so it is a loop"
    REWRITTEN = "a function without control flow is rewritten as others are, for a number that only the run knows"
    LOOKED_INTO = "ufuncs look for numbers of the running program in the lists that they are given"
    PASSED_AS_ARRAY = "a list of numbers that the caller passes is one array"
    PASSED = (
        "a container that the caller passes is one of the running program; the answer is its type, if that is known"
    )
    PASSED_TOGETHER = "lists of numbers are containers as well, for one is found in a container that the caller passes"
    APPENDED = "a list that the caller passes is appended to, and not looked at"
    SLOTTED = "a dict has slots for its keys, of which the run decides which are there"
    UNNOTED = "no call notes what it stores in objects from outside, since none fails behind a store"
    PINNED = "a number that Python asks for is guarded by its value"
    ONE_OBJECT = "objects that are found by several paths are one, because the program stores to objects"
    RECURSIVE = "a function that calls itself is one of the running program; `WRITTEN_OUT`: its first call is not"
    POOLED = "objects of a class lie in a pool of the running program; the answer is what they hold (`Layout`)"
    OVERLAPPING = "arguments overlap; the answer is the parameters that the program writes to"


SHOWN = "shown"
"""For `Choice.MERGED_AS_MEMORY`: the array is returned, and others that it may be; as memory, if that can be."""
OBJECTS = "objects"
"""Where it cannot: an array that the caller passed is a kind of its own."""


WRITTEN_OUT = "written out"
"""For `Choice.RECURSIVE`: the first call of the function that is compiled, whose arrays the caller may tell apart."""
AT_LAST = "at last"
"""For `Choice.SLOTTED`: slots are in the place of a container of the running program that cannot hold its items."""
GONE_THROUGH = "gone through"
"""The same: Python goes through all calls, and the numbers that they are given are guarded by their values."""


@dataclass(frozen=True, slots=True)
class Site:
    """A choice at a place of the program: the file, the line and the name that it is about.

    ``calls`` are where the functions are called that lead there, for what each call may do in its own way. ``function``
    is the one that alone has to do with it.
    """

    choice: Choice
    file: str = ""
    line: int = 0
    name: str = ""
    calls: tuple[tuple[int, int], ...] = ()
    function: str = ""


class Signal(BaseException):
    """What the compiler raises for itself alone: no handler of the program's sees it."""


class Restart(Signal):
    """The trace has to start anew, with an answer for ``site``.

    ``is_wish``: what is there now would do as well, though not as fast. ``others``: sites with the same answer.
    """

    def __init__(self, site: Site, answer: Any = True, *, is_wish: bool = False, others: Iterable[Site] = ()) -> None:
        super().__init__(site)
        self.sites = (site, *others)
        self.answer, self.is_wish = answer, is_wish


class StartAnew(Signal):
    """The trace has to start anew, with what it has learnt already."""


class Choices:
    """The record of what earlier traces of a function have found out, for one call."""

    def __init__(self) -> None:
        self._answers: dict[Site, Any] = {}
        self._asked: set[Choice] = set()
        self._wishes: dict[Site, None] = {}
        self._most_given_up = 1
        """How many wishes are given up at once, of which the last one is the most likely not to do."""
        self._refused: set[Site] = set()
        self.refused_for: dict[Site, Exception] = {}
        """Why functions that call themselves are no functions of the running program."""
        self.mistake: UserError | None = None
        """What Python says of the program, while wishes are given up."""
        self.reason: UserError | None = None
        """Why the first of them was given up, of what says so."""
        self._goes_through = False
        self._has_pools = False
        self.is_guessing = True
        """Whether traces may leave out a part of the program, to see what else there is."""
        self._before_guesses: dict[str, Any] | None = None
        self._sources: dict[Site, dict[Site, None]] = {}
        """The sites at which arrays were merged that are merged at a site once more."""
        self.moment = 0
        """How many calls of helpers the trace has begun."""
        self._first_asked: dict[Site, int] = {}
        """The moment at which a trace has asked for a site first."""

    def begin(self) -> None:
        """A trace begins."""
        self.moment = 0
        self._first_asked.clear()

    def forget_asked(self, moment: int) -> None:
        """What the trace has asked for since a moment is taken back."""
        self._first_asked = {site: first for site, first in self._first_asked.items() if first < moment}

    def is_asked_since(self, moment: int, *sites: Site) -> bool:
        """Whether the trace has asked for none of some sites before a moment."""
        return all(self._first_asked.get(site, moment) >= moment for site in sites)

    def answer(self, site: Site) -> Any:
        """What is to be done at a site; None for what every trace does first."""
        self._first_asked.setdefault(site, self.moment)
        return None if site in self._refused else self._answers.get(site)

    def answered(self, answer: Any) -> list[Site]:
        """The sites with an answer."""
        return [site for site, known in self._answers.items() if known == answer and site not in self._refused]

    def sites(self, choice: Choice) -> dict[Site, Any]:
        """The sites of a choice that have been asked, with what is to be done at them."""
        return {site: self.answer(site) for site in self._answers if site.choice is choice}

    def with_pools(self, found: Mapping[Site, Any]) -> Choices | None:
        """A record that knows nothing but which classes have pools; None if these have been found before."""
        if self._has_pools or not found:
            return None
        made = Choices()
        made._answers |= found
        made._has_pools = True
        return made

    def was_asked(self, choice: Choice) -> bool:
        """Whether an earlier trace has started anew for such a choice: where there are two, there may be many."""
        return choice in self._asked

    def is_settled(self, site: Site) -> bool:
        """Whether the question has been asked, with whatever answer."""
        self._first_asked.setdefault(site, self.moment)
        return site in self._answers

    def note_sources(self, site: Site, *sources: Site) -> None:
        """What is merged at ``sources`` is merged at ``site`` once more."""
        self._sources.setdefault(site, {}).update(dict.fromkeys(sources))

    def sources(self, site: Site) -> list[Site]:
        """Where the arrays that are merged at a site have been merged before."""
        return _reached(site, self._sources)

    def connected(self, *sites: Site) -> list[Site]:
        """All sites between which merged arrays flow, those of parts of the same thing included."""
        neighbours: dict[Any, dict[Any, None]] = {}
        for site, sources in self._sources.items():
            for source in sources:
                neighbours.setdefault(site, {})[source] = None
                neighbours.setdefault(source, {})[site] = None
        for site in [*neighbours, *sites]:
            whole = (site.file, site.line, site.name.partition("[")[0])
            neighbours.setdefault(site, {})[whole] = None
            neighbours.setdefault(whole, {})[site] = None
        found = dict.fromkeys(other for site in sites for other in _reached(site, neighbours))
        return [site for site in found if isinstance(site, Site) and site not in sites]

    def is_new(self, restart: Restart) -> bool:
        """Whether what a trace was given up for is not known yet."""
        first = restart.sites[0]
        return first in self._refused or self._answers.get(first) != restart.answer

    def learn(self, reason: Restart, found: Iterable[Restart], *, is_doubtful: bool = False) -> None:
        """Record why a trace was given up, and what else it had ``found`` that the next one does differently.

        ``is_doubtful``: it had left out some of the program, so all but the first is a guess, if it is of that kind.
        Raises `CompilerBug` for a reason that it should have known.
        """
        restarts = [*found]
        if is_doubtful:
            self._before_guesses = self._before_guesses or self.copy()
            reason = restarts[0]
            restarts = [one for one in reversed(restarts) if one.sites[0].choice == reason.sites[0].choice]
        first = reason.sites[0]
        if not self.is_new(reason):
            raise CompilerBug(f"{first.choice.name} of {first.name} does not do", pass_name="trace")
        if any(restart.sites[0].choice is Choice.POOLED for restart in (*restarts, reason)):
            for site in self.answered(AT_LAST):  # a container holds objects that lie in a pool
                del self._answers[site]
                self._wishes.pop(site, None)
        for restart in (*restarts, reason):
            self._answers |= dict.fromkeys(restart.sites, restart.answer)
            self._asked.add(restart.sites[0].choice)
            self._refused.difference_update(restart.sites)
            for site in restart.sites:
                self._wishes.pop(site, None)
                if restart.is_wish:
                    self._wishes[site] = None
        self._most_given_up = 1

    def take_back_guesses(self) -> bool:
        """Forget what was found since a part of the program was left out for the first time. False if nothing was."""
        if self._before_guesses is None:
            return False
        self.take_back(self._before_guesses)
        return True

    def copy(self) -> dict[str, Any]:
        """What is known now."""
        return {name: copy(known) for name, known in vars(self).items()}

    def take_back(self, known: dict[str, Any]) -> None:
        """Know no more than when it was copied, and make no guesses."""
        self.__dict__.update(known)
        self.is_guessing = False

    def wishes(self, site: Site) -> bool:
        """Do at a site at once what need not be done: whether that has not been refused."""
        self._first_asked.setdefault(site, self.moment)
        if site in self._refused:
            return False
        self._wishes[site] = None
        return True

    def give_up_wishes(self, why: UserError, since: int = 0) -> bool:
        """Refuse wishes, because with them the program cannot be compiled. False if there were none.

        First those that may have to do with the function that is refused, the last ones before the others. All of them
        are among those that the trace has asked for ``since`` a moment.
        """
        functions = {""} | {place.function for place in why.location.chain()} if why.location is not None else {""}
        wishes = [site for site in self._wishes if self.is_asked_since(since, site)]
        near = [site for site in wishes if site.function in functions]
        given_up = (near or wishes)[-self._most_given_up :]
        if not given_up:
            return False
        self.mistake = self.mistake or (why if why.is_mistake else None)
        self.reason = self.reason or (None if why.tells_least else why)
        self._most_given_up *= 2
        self.refused_for |= {site: why for site in given_up if site.choice is Choice.RECURSIVE}
        if any(site.choice is Choice.CARRIED_CONTENTS for site in given_up):
            for site in [site for site in self._answers if self.is_asked_since(since, site)]:
                del self._answers[site]  # which was found in other loops than there are now
        elif any(site.choice is Choice.POOLED for site in given_up):  # and other containers held their objects
            self._answers = {site: answer for site, answer in self._answers.items() if self._is_kept(site, given_up)}
        self._refused.update(given_up)
        for site in given_up:
            del self._wishes[site]
        return True

    def _is_kept(self, site: Site, given_up: Sequence[Site]) -> bool:
        return site.choice is Choice.POOLED or site in self._refused or site in given_up

    def go_through_calls(self) -> bool:
        """Let Python go through the calls of functions that call themselves. False if there are none, or it has."""
        sites = [site for site in self._answers if site.choice is Choice.RECURSIVE]
        if self._goes_through or not sites:
            return False
        self._goes_through = True
        self._answers |= dict.fromkeys(sites, GONE_THROUGH)
        self._refused.difference_update(sites)
        self._wishes = {site: None for site in self._wishes if site not in sites}
        return True


class Restarts:
    """What a trace has to start anew for."""

    def __init__(self, choices: Choices) -> None:
        choices.begin()
        self.choices = choices
        """What earlier traces have found out."""
        self.restarts: list[Restart] = []
        """For what the trace has to start anew: it is raised at once, unless more may be found by going on, and at the
        end in case that the program has caught it."""
        self.left_out = 0
        """How often something was left out because the trace starts anew."""
        self.is_provisional = False
        """Whether something was taken back that may have left traces, so that the trace starts anew at last."""

    def begin_anew(self, restart: Restart) -> Restart:
        """What to raise so that the trace starts anew at once; at its end it does so anyway."""
        self.restarts.append(restart)
        return restart

    def begin_anew_at_last(self, restart: Restart) -> None:
        """Start the trace anew; at its end, if there may be more such sites: what it does wrong until then finds them.

        Sites with another answer may only seem to be such, because of what it does wrong.
        """
        choice, answer = restart.sites[0].choice, restart.answer
        others = [known for known in self.restarts if known.sites[0].choice == choice and known.answer != answer]
        if not others and not all(map(self.is_noted, restart.sites)):
            self.begin_anew(restart)
            if not self.choices.was_asked(choice):
                raise restart

    def begin_anew_now(self) -> None:
        """Raise the first of what the trace has to start anew for, if there is anything."""
        if self.restarts:
            raise self.restarts[0]
        if self.is_provisional:
            raise StartAnew

    def leaves_out(self, restart: Restart) -> bool:
        """Whether the trace goes on behind what it cannot do as it is, only to see what else there is of that kind.

        From here on it may find what is not so in the program that it leaves a part out of.
        """
        site = restart.sites[0]
        if not self.choices.is_guessing or not self.choices.was_asked(site.choice):
            return False
        if sum(site in known.sites for known in self.restarts) >= _MOST_LEFT_OUT:
            return False
        if restart not in self.restarts:
            self.restarts.append(restart)
        self.left_out += 1
        return True

    def is_noted(self, site: Site) -> bool:
        """Whether the trace starts anew for a site at last."""
        return any(site in known.sites for known in self.restarts)


def _reached(start: Any, ways: Mapping[Any, Iterable[Any]]) -> list[Any]:
    """What can be reached on some ways from a start, which is left out."""
    found = {start: None}
    for place in (waiting := [start]):
        new = [other for other in ways.get(place, ()) if other not in found]
        found.update(dict.fromkeys(new))
        waiting += new
    return [*found][1:]
