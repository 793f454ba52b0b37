"""Statements with blocks, where paths meet: branches, loops, ``match``, ``try``, and helpers of several results."""

from __future__ import annotations

from tests.truth.several_kinds.statements import Statements
from tests.truth.several_kinds.writing import NothingFits

__all__ = ["Blocks"]

DEEPEST = 3

_UPDATES = (
    "if {v} > {m}: {m} = {v}", "if {v} < {m}: {m} = {v}", "{m} = max({m}, {v})", "{m} = min({v}, {m})",
    "{m} = {v} if {v} > {m} else {m}", "{m} = {v}", "{m} += {v}", "{m} = {m} + {v}", "if {v}: {m} = {v}",
    "if {v} != {m}: {k} += 1; {m} = {v}", "if {m} == {v}: {k} = {k} + 1", "{m} = {m} or {v}", "{m} = {v} / 2",
    "if {v} > {m} and {v} < 100: {m} = {v}; {k} = {i}", "{k} = {m}; {m} = {v}", "{m} -= {v} * 0.5",
    "{m} = {v} if {m} is None else max({m}, {v})", "if {m} is None: {m} = {v}",
    "if {v} > 1: break", "if {v} < 0: continue", "if {v} > 1: {k} = {v}; break",
)  # fmt: skip
"""What a loop does to a sentinel ``m`` and a count ``k`` at an element ``v``."""

_ERRORS = ("IndexError", "ValueError", "ZeroDivisionError", "(IndexError, ValueError)", "Exception", "OverflowError",
           "TypeError", "UnboundLocalError")  # fmt: skip


class Blocks(Statements):
    """Writes programs' statements of every sort."""

    def block(self, most: int = 2) -> dict[str, str]:
        """Some statements, indented; gives the names that are bound at their end."""
        with self.indented():
            for _ in range(1 + self.choose(most)):
                self.statement()
            return self.names

    def statement(self) -> None:
        """One statement; another, where what was chosen does not fit."""
        simple = [self._assign, self._assign, self._assign, self._assign_constant, self._assign_constant,
                  self._augment, self._augment, self._swap, self._maybe, self._unwrap, self._indexed,
                  self._assign_array, self._assign_array, self._augment_array, self._store, self._narrow, self._out,
                  self._out_of_no_axes]  # fmt: skip
        holders = [self._assign_list, self._write_list, self._write_list, self._read_list, self._assign_dict,
                   self._write_dict, self._read_dict]  # fmt: skip
        nested = [self._branch, self._branch, self._branch, self._scan, self._scan, self._for, self._while,
                  self._match, self._try, self._nest, self._leave]  # fmt: skip
        while True:
            choices = (simple, simple, nested if self.depth <= DEEPEST else simple, holders)
            before = len(self.lines), self.depth, dict(self.names), dict(self.perhaps), set(self.kept), self.loops
            try:
                self.pick(self.pick(choices))()
                return
            except NothingFits:
                del self.lines[before[0] :]
                self.depth, self.names, self.perhaps, self.kept, self.loops = before[1:]

    # -- branches ----------------------------------------------------------------------------------

    def _branch(self) -> None:
        before = dict(self.names)
        self.line(f"if {self.condition()}:")
        paths = [self.block()]
        if self.chance(5):
            self.line(f"elif {self.condition()}:")
            paths.append(self.block(1))
        if self.choose(2):
            self.line("else:")
            paths.append(self.block())
        else:
            paths.append(before)
        for name, sort in paths[0].items():
            if all(path.get(name) == sort for path in paths):
                self.bind(name, sort)

    def _match(self) -> None:
        name = self.target("number", "x")
        self.line(f"match {self.pick(('n', 'n', 'c', self.named('number')))}:")
        patterns = self.pick((("0", "1", "_"), ("0", "_"), ("1 | 2", "_"), ("True", "False", "_"), ("1", "2")))
        for pattern in patterns:
            self.line(f"    case {pattern}:")
            self.depth += 1
            with self.indented():
                self.line(f"{name} = {self.number()}")
                if self.chance(3):
                    self.statement()
            self.depth -= 1
        if patterns[-1] == "_":
            self.bind(name, "number")

    def _try(self) -> None:
        """An attempt that assigns one kind, a handler that assigns another; perhaps one inside the other."""
        name = self.target("number", "x")
        array = self.named("array")
        risky = (f"{name} = {array}[n]", f"{name} = 10 // n", f"{name} = {array}[{self.number(1)}]", f"{name} = 5 % n",
                 f"{name} = {array}.max()", f"{array}[n] = 1", f"{name} = int({self.number(1)})",
                 f"{array}[0] = {self.number(1)}", f"{name} = {self.number()}")  # fmt: skip
        self.line("try:")
        with self.indented():
            if self.chance(3):
                self.line(f"{name} = {self.number(1)}")
                self.bind(name, "number")
            if self.chance(4) and self.depth <= DEEPEST:
                self._try()
            self.line(self.pick(risky))
            if self.chance(3):
                self.statement()
        self.line(f"except {self.pick(_ERRORS)}:")
        with self.indented():
            self.line(f"{name} = {self.number()}")
            if self.chance(3):
                self.statement()
        if self.chance(5):
            self.line("else:")
            self.block(1)
        if self.chance(8):
            self.line("finally:")
            self.block(1)
        self.bind(name, "number")

    # -- loops -------------------------------------------------------------------------------------

    def _scan(self) -> None:
        """A sentinel, and a loop over an array that puts real values in its place."""
        m, k = self.target("number", "m"), self.fresh("k")
        absent = self.chance(9)
        if absent or self.choose(5) or m not in self.names:
            self.line(f"{m} = {'None' if absent else self.sentinel()}")
        self.line(f"{k} = {self.pick(('0', '0', '0', '0', '0.0', '-1'))}")
        self.bind(m, "number")
        self.bind(k, "number")
        v, i = self.fresh("v"), self.fresh("i")
        array = self.named("array")
        labels = self.fresh("w") if self.chance(4) else ""
        if labels:
            self.line(f"{labels} = np.zeros(len({array}), {self.dtype()})")
            self.bind(labels, "array")
        self.line(self.pick((f"for {i}, {v} in enumerate({array}):", f"for {i} in range(len({array})):")))
        by_index = "range" in self.lines[-1]
        self.loops += 1
        with self.indented():
            self.bind(i, "number")
            self.kept.add(i)
            if by_index:
                self.line(f"{v} = {array}[{i}]")
            self.bind(v, "number")
            if absent:
                self.line(f"if {m} is None or {v} > {m}: {m} = {v}")
            for _ in range(1 + self.choose(2)):
                self.line(self.pick(_UPDATES).format(m=m, k=k, v=v, i=i))
            if labels:
                self.line(f"{labels}[{i}] = {self.pick((m, k, v, k))}")
            if self.chance(4):
                self.statement()
        self.loops -= 1
        if self.chance(8):
            self.line("else:")
            self.block(1)

    def _for(self) -> None:
        v = self.fresh("v")
        source = self.pick((self.named("array"), self.named("array"), "range(n)", "range(3)", "range(len(a))",
                            f"range({self.number(1)})", "(1, 0.5)", "[n, s, c]", "(a, b)"))  # fmt: skip
        if self.chance(4) and "list" in self.names.values():
            source = self.named("list") + "[:]"
        self._loop(f"for {v} in {source}:", v)

    def _loop(self, head: str, v: str) -> None:
        self.line(head)
        self.loops += 1
        with self.indented():
            self.bind(v, "number")
            for _ in range(1 + self.choose(2)):
                self.statement()
            if self.chance(4):
                self.line(f"if {self.condition()}:")
                self.line("    " + self.pick(("break", "continue")))
        self.loops -= 1
        if self.choose(2):
            self.bind(v, "number")  # of a loop of no turn, it has no value

    def _while(self) -> None:
        counter = self.fresh("i")
        self.line(f"{counter} = 0")
        self.kept.add(counter)
        self.bind(counter, "number")
        self.line(f"while {counter} < {self.pick(('n', '3', 'len(a)'))}{self.pick(('', f' and {self.condition(1)}'))}:")
        self.loops += 1
        with self.indented():
            self.line(f"{counter} += 1")
            for _ in range(1 + self.choose(2)):
                self.statement()
        self.loops -= 1

    def _nest(self) -> None:
        """Small constant loops in each other."""
        start, levels = self.depth, self.pick((2, 3, 4, 5, 7))
        names, loops = dict(self.names), self.loops
        if self.loops:
            raise NothingFits
        for _ in range(levels):
            v = self.fresh("j")
            self.line(f"for {v} in {self.pick(('range(2)', 'range(2)', '(1, 0.5)', 'range(1)'))}:")
            self.depth += 1
            self.bind(v, "number")
        self.loops += levels
        for _ in range(1 + self.choose(2)):
            self.pick((self._assign, self._augment, self._swap, self._store))()
        if self.choose(2):
            self.line(f"if {self.condition()}:")
            self.line(f"    {self.target('number', 'x')} = {self.number(1)}")
        self.perhaps |= self.names
        self.depth, self.names, self.loops = start, names, loops

    # -- leaving -----------------------------------------------------------------------------------

    def _leave(self) -> None:
        if self.depth < 2 or self.choose(2):
            raise NothingFits
        self.line(f"if {self.condition()}:")
        self.line("    " + self.pick((f"return {self.number()}", f"return {self.named('array')}", "return None",
                                      "raise ValueError('no')", f"return {self.number()}, {self.atom()}")))  # fmt: skip
