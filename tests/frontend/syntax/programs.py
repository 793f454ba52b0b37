"""Random programs over Python's statements, as text.

`program` writes a function ``f(log, a, b)``. ``log`` notes its arguments and returns the last of them, so that the
order in which things are computed can be compared; it raises after a while, which ends every loop.
"""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["program"]

NAMES = ["a", "b", "c", "d", "e"]
OPERATORS = ["+", "-", "&"]
COMPARISONS = ["<", "<=", ">", ">=", "==", "!="]


def program(below: Callable[[int], int], *, shows_locals: bool) -> str:
    """A program. ``below(n)`` chooses a number below ``n``, and 0 the simplest."""
    writer = _Writer(below)
    writer.function(shows_locals)
    return "\n".join(writer.lines) + "\n"


class _Writer:
    def __init__(self, below: Callable[[int], int]) -> None:
        self.below = below
        self.lines: list[str] = []
        self.depth = 0
        self.loops = 0
        self.level = 0
        self.handlers = 0
        self.finals = 0
        self.functions = 0
        self.marks = 0
        self.comprehensions = 0

    def choose(self, *items: str) -> str:
        return items[self.below(len(items))]

    def name(self) -> str:
        return NAMES[self.below(len(NAMES))]

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def mark(self) -> int:
        self.marks += 1
        return self.marks

    # -- statements ---------------------------------------------------------------------------

    def function(self, shows_locals: bool) -> None:
        self.line("def f(log, a, b):")
        self.depth += 1
        if shows_locals:
            self.line("try:")
            self._start()
            self.block(5)
            self.line("finally:")
            self.depth += 1
            for name in NAMES:
                self.line("try:")
                self.line(f"    log('{name}', {name})")
                self.line("except UnboundLocalError as error:")
                self.line("    log(str(error))")
            self.depth -= 1
        else:
            self.depth -= 1
            self._start()
            self.block(6)

    def _start(self) -> None:
        """Most names are bound from the start: a program that ends at once tells nothing."""
        for name in NAMES[2:]:
            if self.below(4) != 3:
                self.line(f"    {name} = {self.below(4)}")

    def block(self, most: int = 3) -> None:
        self.depth += 1
        self.level += 1
        for _ in range(1 + self.below(most)):
            self.statement()
        self.level -= 1
        self.depth -= 1

    def statement(self) -> None:
        simple = [self.assign, self.assign, self.augment, self.show, self.unpack, self.jump, self.jump, self.delete,
                  self.fail, self.insist, self.keep, self.call]  # fmt: skip
        compound = [self.branch, self.branch, self.branch, self.for_loop, self.for_loop, self.while_loop, self.attempt,
                    self.manage, self.define, self.select]  # fmt: skip
        choices = simple if self.level > 4 else [*simple, *compound, *compound]
        choices[self.below(len(choices))]()

    def assign(self) -> None:
        self.line(f"{self.name()} = {self.expression()}")

    def augment(self) -> None:
        self.line(f"{self.name()} {self.choose(*OPERATORS)}= {self.expression()}")

    def unpack(self) -> None:
        self.line(f"{self.name()}, {self.name()} = {self.expression()}, {self.expression()}")

    def show(self) -> None:
        self.line(f"log({self.mark()}, {self.expression()})")

    def keep(self) -> None:
        self.line(f"{self.name()}: int = {self.expression()}" if self.below(2) else "pass")

    def delete(self) -> None:
        self.line(f"del {self.name()}" if self.below(6) == 5 else f"{self.name()} = {self.below(4)}")

    def fail(self) -> None:
        texts = [f"raise KeyError({self.expression()})", f"raise ValueError({self.mark()}) from None"]
        if self.handlers:
            texts += ["raise", f"raise IndexError({self.mark()}) from KeyError()"]
        self.line(texts[self.below(len(texts))] if self.below(4) == 3 and self.level > 1 else f"log({self.mark()})")

    def insist(self) -> None:
        self.line(f"assert {self.expression()} or a" + self.choose("", f", log({self.mark()}, 'no')"))

    def jump(self) -> None:
        texts = ["return", f"return {self.expression()}"] if self.level > 1 else []
        if self.loops:
            texts += ["break", "continue", "break", "continue"]
        if self.finals or not texts:
            self.show()
        else:
            self.line(texts[self.below(len(texts))])

    def branch(self) -> None:
        self.line(f"if {self.expression()}:")
        self.block()
        for _ in range(self.below(2)):
            self.line(f"elif {self.expression()}:")
            self.block(2)
        if self.below(2):
            self.line("else:")
            self.block()

    def _loop(self) -> None:
        self.loops += 1
        self.block()
        self.loops -= 1
        if self.below(4) == 3:
            self.line("else:")
            self.block(2)

    def for_loop(self) -> None:
        source = self.choose("range(3)", f"log({self.mark()}, (1, 0, 2))", f"range({self.expression()} % 4)")
        if self.below(4) == 3:
            self.line(f"for {self.name()}, {self.name()} in enumerate({source}):")
        else:
            self.line(f"for {self.name()} in {source}:")
        self._loop()

    def while_loop(self) -> None:
        test = self.choose("log() < 40", "True")
        self.line(f"while {test}:" if self.below(2) else f"while {test} and {self.expression()}:")
        self.depth += 1
        self.line(f"log({self.mark()})")
        self.depth -= 1
        self._loop()

    def attempt(self) -> None:
        self.line("try:")
        self.block()
        kind = self.below(4)
        if kind < 3:
            self.handlers += 1
            self.line("except (KeyError, AssertionError, ZeroDivisionError, NameError)"
                      + self.choose("", f" as {self.name()}") + ":")  # fmt: skip
            self.block(2)
            self.handlers -= 1
            if self.below(3) == 2:
                self.line("else:")
                self.block(2)
        if kind > 1:
            self.line("finally:")
            self.finals += 1
            loops, self.loops = self.loops, 0
            self.block(2)
            self.loops = loops
            self.finals -= 1

    def manage(self) -> None:
        self.line(self.choose("with log(manager=False):", "with log(manager=True):") if self.below(3)
                  else f"with log(manager=False) as {self.name()}:")  # fmt: skip
        self.block()

    def define(self) -> None:
        """A function inside, which reads or writes the names of this one."""
        self.functions += 1
        saved = self.loops, self.handlers, self.finals
        self.loops = self.handlers = self.finals = 0
        self.line(f"def g{self.functions}(c={self.below(3)}):")
        name = self.choose("a", "b")
        if self.below(2):
            self.line(f"    nonlocal {name}")
            self.line(f"    {name} = {self.below(9)}")
        self.block(3)
        self.loops, self.handlers, self.finals = saved

    def call(self) -> None:
        if self.functions and self.level == 1:
            self.line(f"{self.name()} = g{1 + self.below(self.functions)}() or 0")
        else:
            self.show()

    def select(self) -> None:
        self.line(f"match {self.expression()}:")
        self.depth += 1
        self.line(f"case {self.below(3)}:")
        self.block(2)
        self.line(f"case int({self.name()})" + self.choose("", f" if {self.expression()}") + ":")
        self.block(2)
        self.depth -= 1

    # -- expressions --------------------------------------------------------------------------

    def expression(self, depth: int = 0) -> str:
        simple = [lambda: str(self.below(4)), self.name, self.name, lambda: f"log({self.mark()}, {self.name()})"]
        if depth > 2:
            return simple[self.below(len(simple))]()
        inner = [
            lambda: f"({self.expression(depth + 1)} {self.choose('and', 'or')} {self.expression(depth + 1)})",
            lambda: f"(not {self.expression(depth + 1)})",
            lambda: f"({self._operand(depth)} {self.choose(*COMPARISONS)} {self._operand(depth)})",
            lambda: f"({self._operand(depth)} {self.choose(*OPERATORS)} {self._operand(depth)})",
            lambda: f"({self._operand(depth)} {self.choose(*COMPARISONS)} {self._operand(depth)} "
                    f"{self.choose(*COMPARISONS, 'is')} {self._operand(depth)})",
            lambda: f"({self.expression(depth + 1)} if {self.expression(depth + 1)} else {self.expression(depth + 1)})",
            lambda: f"({self.expression(depth + 1)} {self.choose('in', 'not in')} ({self.expression(depth + 1)}, 1))",
            lambda: f"({self.name()} := {self.expression(depth + 1)})" if not self.comprehensions else "3",
            lambda: f"sum([c {self.choose('and', '*')} {self._comprehended(depth)} for c in range(2)])",
            lambda: f"(lambda c: c or {self.expression(depth + 1)})({self.expression(depth + 1)})",
            lambda: f"any(e < 2 and {self.choose('a', 'e')} for e in (0, {self._comprehended(depth)}))",
        ]  # fmt: skip
        choices = [*simple, *simple, *inner]
        return choices[self.below(len(choices))]()

    def _comprehended(self, depth: int) -> str:
        """An expression in a comprehension, which may assign nothing."""
        self.comprehensions += 1
        text = self.expression(depth + 1)
        self.comprehensions -= 1
        return text

    def _operand(self, depth: int) -> str:
        return self.expression(depth + 1)
