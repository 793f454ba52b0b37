"""Statements about names and calls: functions inside that assign names around them, any number of arguments, chains of
views, numbers that swap, messages with values, and what a program returns early.
"""

from __future__ import annotations

import ast

from tests.truth.whole.expressions import NothingFits
from tests.truth.whole.kinds import CUTS, Array, Inner, Kind, Number, python_kind
from tests.truth.whole.statements import Statements

__all__ = ["Richer"]


class Richer(Statements):
    """Statements that `Statements` does not write. A writer adds how blocks are written."""

    def block(self, most: int = 3) -> None:
        """Some statements, indented."""
        raise NotImplementedError

    # -- functions inside --------------------------------------------------------------------------

    def _inner_function(self) -> None:
        """A function that reads the names around it, and assigns some of them."""
        if self.depth > 2 or self.inside_inner:
            raise NothingFits
        name, parameter = self._fresh("inner"), self._fresh("x")
        arrays = self._some(self.arrays())
        taken: Kind = self.pick((self.names[self.pick(arrays)], Number("int"), Number("float")))
        result: Kind = self.pick((taken, Number("int"), self.names[self.pick(arrays)]))
        before = self.names, self.positions, self.results, self.inside_helper, self.loops, self.seen, len(self.lines)
        self.seen = dict(self.seen)
        self.names, self.positions = {**self.names, parameter: taken}, dict(self.positions)
        self.results, self.inside_helper, self.inside_inner, self.loops = (result,), True, True, 0
        try:
            self.block(2)
            self.lines.append("    " * (self.depth + 1) + f"return {self._value_or(result, [])}")
        finally:
            self.names, self.positions, self.results, self.inside_helper, self.loops, self.seen, start = before
            self.inside_inner = False
        body = self.lines[start:]
        del self.lines[start:]
        self.line(f"def {name}({parameter}):")
        shared = sorted(_assigned(body) & self.names.keys() - {parameter})
        if shared:
            self.lines.append("    " * (self.depth + 1) + f"nonlocal {', '.join(shared)}")
        self.lines += body
        self.names[name] = Inner(taken, result)

    def _call_inner(self) -> None:
        name = self.pick(self._some(self.having(lambda kind: isinstance(kind, Inner))))
        if self.inside_inner:
            raise NothingFits
        kind = self.names[name]
        assert isinstance(kind, Inner)
        given = self._value(kind.parameter)
        same = [one for one, other in self.names.items() if other == kind.result and one not in self.kept]
        target = self.pick(same) if same and self.choose(2) else self._fresh("h")
        self.line(f"{target} = {name}({given})")
        self.names[target] = kind.result

    def _star_function(self) -> None:
        """A function of any number of arrays or numbers, called at once."""
        if self.inside_inner or self.depth > 3:
            raise NothingFits
        name, parts, one, keyword = (self._fresh(start) for start in ("sum", "parts", "part", "scale"))
        like: Kind = self.pick((self.names[self.pick(self._some(self.arrays()))], Number("int")))
        if isinstance(like, Array) and like.dtype == "?":
            raise NothingFits
        given = [self._value(like) for _ in range(1 + self.choose(3))]
        step = self.pick((f"sum_ = sum_ + {one} * {keyword}", f"sum_ = {one} - sum_", f"sum_ += {one}"))
        self.line(f"def {name}(*{parts}, {keyword}=1):")
        self.line(f"    sum_ = {parts}[0]{'.copy()' if isinstance(like, Array) else ''}")
        self.line(f"    for {one} in {parts}[1:]:")
        self.line(f"        {step}")
        self.line("    return sum_")
        call = self.pick((", ".join(given), f"*[{', '.join(given)}]", f"*({given[0]},), {keyword}=2"))
        target = self._fresh("h")
        self.line(f"{target} = {name}({call})")
        self.names[target] = like

    # -- names -------------------------------------------------------------------------------------

    def _swap_numbers(self) -> None:
        names = [name for name in self._assignable() if self.names[name] == Number("int")]
        first = self.pick(self._some(names))
        second = self.pick(self._some([name for name in names if name != first]))
        value = self.pick((first, f"{first} + 1", f"({first} + {second}) % 13", f"{second} - {first} % 5"))
        self.line(f"{first}, {second} = {second}, {value}")

    def _store_chain(self) -> None:
        """A view of a view of a view is written."""
        name = self.pick(self._some(self.having(lambda kind: isinstance(kind, Array) and kind.dtype != "?")))
        kind = self.array_kind(name)
        text, length = name, kind.lengths[0]
        if kind.rank == 2:
            text = f"{name}[{self.index(length)}]" if self.choose(2) else f"{name}.T[{self.index(kind.lengths[1])}]"
        for _ in range(1 + self.choose(3)):
            cuts = [cut for group in CUTS.values() for cut in group]
            low, high = self._bounds()
            text += f"[{self.pick((*cuts, '::-1', f'{low}:', f':{high}'))}]"
        operator = self.pick(("", "+", "-", "*"))
        self.line(f"{text} {operator}= {self.number(Number(self.pick((python_kind(kind.dtype), kind.dtype))))}")

    # -- errors that are caught --------------------------------------------------------------------

    def _try(self) -> None:
        if self.inside_inner or self.choose(2):
            raise NothingFits
        kinds = (
            "IndexError",
            "ValueError",
            "ZeroDivisionError",
            "(IndexError, ValueError)",
            "Exception",
            "LookupError",
        )
        self.line("try:")
        self.block(2)
        self.line(f"except {self.pick(kinds)}:")
        self.block(2)
        if self.chance(4):
            self.line(f"except {self.pick(kinds)}:")
            self.block(1)
        if self.chance(3):
            self.line("else:")
            self.block(1)
        if self.chance(8):
            self.line("finally:")
            self.line("    pass")

    # -- leaving -----------------------------------------------------------------------------------

    def _raise_text(self) -> None:
        if self.depth < 2:
            raise NothingFits
        number, other = self.number(Number("int"), 2), self.number(Number("float"), 2)
        text = self.pick(
            (f"f'raised at {{{number}}}: {{{other}:.3f}}'", f"'raised %d' % ({number},)", f"f'raised {{{number}:>4}}'")
        )
        self.line(f"if {self.condition()}:")
        self.line(f"    raise {self.pick(('ValueError', 'RuntimeError', 'ArithmeticError'))}({text})")

    def _return_another_kind(self) -> None:
        """What is returned here is none of what is returned elsewhere."""
        if self.depth < 2 or self.inside_helper:
            raise NothingFits
        values = ("None", f"({self.number(Number('int'))},)", self.leaf(self.array_kind(self.pick(self.arrays()))),
                  self.number(Number("float")), "'nothing'")  # fmt: skip
        self.line(f"if {self.condition()}:")
        self.line(f"    return {self.pick(values)}")


def _assigned(lines: list[str]) -> set[str]:
    """The names that the body of a function assigns, other than as parameters or in functions inside."""
    start = len(lines[0]) - len(lines[0].lstrip())
    tree = ast.parse("def body():\n" + "\n".join(f"    {line[start:]}" for line in lines))
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
