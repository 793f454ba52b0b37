"""The tokens of IR text: what a parser looks at, one after the other, and where it says what is wrong."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NoReturn, TypeVar

from jitflow.errors import JitflowError
from jitflow.records import dataclass

__all__ = ["ParseError", "Token", "Tokens"]

_TOKEN = re.compile(
    r"""(?P<space>[ \t\r\n]+)
      | (?P<location>;[^\n]*)
      | (?P<string>"(?:[^"\\\n]|\\.)*")
      | (?P<value>%[A-Za-z0-9_.]+)
      | (?P<function>@(?:[A-Za-z_][A-Za-z0-9_.]*|"(?:[^"\\\n]|\\.)*"))
      | (?P<float>\d+\.\d+(?:e[+-]?\d+)?|\d+e[+-]?\d+)
      | (?P<hex>0x[0-9a-f]+)
      | (?P<integer>\d+)
      | (?P<word>[A-Za-z_$][A-Za-z0-9_.$]*)
      | (?P<mark>//|[!=<>]=|[-+*%(){}\[\],=:<>])""",
    re.VERBOSE,
)

Item = TypeVar("Item")


class ParseError(JitflowError, ValueError):
    """Text that is not IR. The message shows the line with a caret under what is wrong."""


@dataclass(frozen=True, slots=True)
class Token:
    """``kind`` is the name of the pattern's group, or ``end``."""

    kind: str
    text: str
    position: int


class Tokens:
    """The tokens of a text, and which is next."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.locations: dict[int, str] = {}
        """What stands behind ``;`` just before the token of that number; other comments are passed over."""
        self.tokens = self._tokenise()
        self.next = 0

    def _tokenise(self) -> list[Token]:
        tokens: list[Token] = []
        position = 0
        while position < len(self.text):
            match = _TOKEN.match(self.text, position)
            if match is None:
                self.fail(f"expected IR, got {self.text[position]!r}", position)
            if match.lastgroup == "location":
                self.locations.setdefault(len(tokens), match.group()[1:].strip())
            elif match.lastgroup is not None and match.lastgroup != "space":
                tokens.append(Token(match.lastgroup, match.group(), position))
            position = match.end()
        tokens.append(Token("end", "", position))
        return tokens

    def fail(self, message: str, position: int | None = None) -> NoReturn:
        """Raise `ParseError` with a caret at ``position``, or at the next token."""
        if position is None:
            position = self.tokens[self.next].position
        line_start = self.text.rfind("\n", 0, position) + 1
        line = self.text[line_start:].split("\n", 1)[0]
        number = self.text.count("\n", 0, position) + 1
        gutter = " " * len(str(number))
        raise ParseError(
            f"{message}\n  --> line {number}\n  {gutter} |\n  {number} | {line}\n"
            f"  {gutter} | {' ' * (position - line_start)}^"
        )

    def peek(self) -> Token:
        return self.tokens[self.next]

    def take(self, kind: str, what: str = "") -> Token:
        """The next token, which must be of a kind."""
        token = self.peek()
        if token.kind != kind:
            self.fail(f"expected {what or f'a {kind}'}, got {token.text or 'the end'!r}")
        self.next += 1
        return token

    def at(self, text: str) -> bool:
        return self.peek().text == text and self.peek().kind in ("mark", "word")

    def skip(self, text: str) -> bool:
        """Whether the next token is ``text``, which is then passed."""
        if self.at(text):
            self.next += 1
            return True
        return False

    def expect(self, text: str) -> None:
        if not self.skip(text):
            self.fail(f"expected {text!r}, got {self.peek().text or 'the end'!r}")

    def end(self) -> None:
        if self.peek().kind != "end":
            self.fail(f"expected the end, got {self.peek().text!r}")

    def listed(self, closing: str, item: Callable[[], Item]) -> tuple[Item, ...]:
        """Items between commas up to ``closing``, which is passed."""
        items: list[Item] = []
        while not self.skip(closing):
            if items:
                self.expect(",")
            items.append(item())
        return tuple(items)

    def separated(self, item: Callable[[], Item]) -> list[Item]:
        """One item or more between commas."""
        items = [item()]
        while self.skip(","):
            items.append(item())
        return items
