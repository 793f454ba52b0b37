"""Random programs over several devices, with variables, arguments that they write to, callbacks, and checks.

Each is a text, which is compiled as a whole and also run by Python, and both agree bit for bit: arithmetic is what
rounds in one way only, and reductions are those whose order does not matter. A check fails where ``codes`` has the
number of the turn, 1 outside of loops. ``slow`` is how long a program stays at some places, without any other effect.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from random import Random
from typing import Any

import numpy as np

import jitflow

__all__ = ["CHECKS", "RandomProgram"]

CHECKS = 8
"""How many checks a program may have."""
_SIZE = 12


class RandomProgram:
    """``source`` is its text; ``checks`` the numbers of its checks, each with the turns in which it may fail.

    A ``slow`` one has a loop that stays at some place for as long as it is told.
    """

    def __init__(self, seed: int, devices: Sequence[str], *, slow: bool = False) -> None:
        self.random = Random(seed)
        self.name = f"<program {seed}{' slow' * slow}>"
        self.devices = devices
        self.variables = {f"w{number}": self.random.choice(devices) for number in range(self.random.randint(1, 3))}
        self.arguments = ["x", "y"][: self.random.randint(0, 2)]
        self.values = ["a", "b"]
        self.checks: dict[int, int] = {}
        self.turns = 40 if slow else self.random.choice([3, 3, 8])
        self.slow = slow
        self.calls = self.names = 0
        self.lines: list[str] = []
        self.loops: list[str] = []
        self.indent = 1
        self._start()
        for _ in range(self.random.randint(4, 8)):
            self._statement()
        if slow:
            self._for(self._linger)
        self._say(f"return {', '.join(self.random.sample(self.values, 2))}, {self.random.choice([*self.variables])}[0]")
        self.parameters = [*self.variables, *self.arguments, "a", "b", "codes", "k", "turns", "slow"]
        self.source = "\n".join([f"def program({', '.join(self.parameters)}):", *self.lines, ""])

    def function(self, tell: Callable[..., Any], note: Callable[[], None] | None = None) -> Any:
        """The program as a function of Python's; ``tell`` is the callback, ``note`` is called behind each statement."""
        source = self.source if note is None else self.source.replace("# note", "note()")
        linecache.cache[self.name] = (len(source), None, source.splitlines(keepends=True), self.name)
        names: dict[str, Any] = {"np": np, "jitflow": jitflow, "tell": tell, "note": note}
        exec(compile(source, self.name, "exec"), names)
        return names["program"]

    def inputs(self, codes: dict[int, int], k: int, slow: int) -> dict[str, Any]:
        """Arguments by their names; those that are variables as arrays."""
        chance = np.random.default_rng(self.turns)
        arrays = [*self.variables, *self.arguments, "a", "b"]
        failing = np.zeros(CHECKS, np.int64)
        for check, turn in codes.items():
            failing[check] = turn
        given = {name: chance.integers(-64, 64, _SIZE) / 32.0 for name in arrays}
        return {**given, "codes": failing, "k": k, "turns": self.turns, "slow": slow}

    # Text

    def _say(self, line: str) -> None:
        self.lines.append("    " * self.indent + line)

    @contextmanager
    def _below(self, line: str) -> Iterator[None]:
        self._say(line)
        self.indent += 1
        yield
        self.indent -= 1

    @contextmanager
    def _somewhere(self) -> Iterator[None]:
        if self.random.random() < 0.15:
            yield
        else:
            with self._below(f"with jitflow.device({self.random.choice(self.devices)!r}):"):
                yield

    def _new(self) -> str:
        self.names += 1
        return f"v{self.names}"

    def _array(self) -> str:
        """Something with a value for each element, none of which grows without bounds."""
        one, other = (self.random.choice([*self.values, *self.variables, *self.arguments]) for _ in range(2))
        return self.random.choice([
            f"0.5 * {one} - 0.25 * {other}", f"np.maximum(0.5 * {one}, {other} - 1.0)", f"np.abs({one}) * 0.5",
            f"{one}[::-1] * 0.5", f"np.minimum({one}, 2.0)", f"0.5 * np.sort({one})",
            f"{one}.max() * 0.25 + 0.0 * {other}", f"np.where({one} > {other}, 0.5 * {one}, -0.25)",
        ])  # fmt: skip

    def _turn(self) -> str:
        return self.loops[-1] if self.loops else "0"

    # Statements

    def _start(self) -> None:
        """All devices have something to do, and a value is theirs that the program carries round."""
        for device in self.devices:
            with self._below(f"with jitflow.device({device!r}):"):
                name = self._new()
                self._say(f"{name} = {self._array()}")
                self.values.append(name)

    def _statement(self) -> None:
        self.random.choice([
            self._compute, self._compute, self._replace, self._update, self._update, self._store, self._store,
            self._check, self._check, self._call, self._branch, self._loop, self._loop,
        ])()  # fmt: skip
        self._say("# note")

    def _compute(self) -> None:
        if self.loops or self.indent > 1:
            self._replace()  # a name may be unbound behind a loop
            return
        name = self._new()
        with self._somewhere():
            self._say(f"{name} = {self._array()}")
        self.values.append(name)

    def _replace(self) -> None:
        with self._somewhere():
            self._say(f"{self.random.choice(self.values[2:])} = {self._array()}")

    def _written(self, name: str) -> None:
        place = self.random.choice(["[...] =", "[1:] =", "[::2] +=", " +=", "[2] =", "[t] ="])
        value = {"[1:] =": f"({self._array()})[:-1]", "[::2] +=": f"({self._array()})[::2]"}.get(place, self._array())
        if place in ("[2] =", "[t] ="):
            value = f"({value})[3] + 1.0"
        self._say(f"{name}{place.replace('t', f'{self._turn()} % {_SIZE}')} {value}")

    def _update(self) -> None:
        with self._somewhere():
            self._written(self.random.choice([*self.variables]))

    def _store(self) -> None:
        with self._somewhere():
            self._written(self.random.choice(self.arguments or [*self.variables]))

    def _check(self) -> None:
        number = len(self.checks)
        if number == CHECKS:
            return
        self.checks[number] = self.turns if self.loops else 1
        fails, value = f"codes[{number}] == {self._turn()} + 1", self.random.choice(self.values)
        with self._somewhere():
            kind = self.random.randrange(5)
            if kind == 0:
                self._say(f"assert codes[{number}] != {self._turn()} + 1, 'check {number}'")
            elif kind == 1:
                with self._below(f"if {fails}:"):
                    self._say(f"raise ValueError('check {number}')")
            elif kind == 2:
                self._say(f"{self.random.choice(self.values[2:])} = 0.5 * {value} + {value}[({fails}) * 1000]")
            elif kind == 3:
                with self._below(f"if (0.0 * {value} + codes[{number}]).max() == {self._turn()} + 1:"):
                    self._say(f"raise ArithmeticError('check {number}')")
            else:
                self._say(f"assert k != {number}, 'number {number}'")

    def _call(self) -> None:
        self.calls += 1
        value = self.random.choice([*self.values, *self.variables])
        self._say(f"tell({self.calls}, {self._turn()}, {value}[{self.random.randrange(_SIZE)}])")

    def _branch(self) -> None:
        if self.indent > 3:
            return
        value = self.random.choice([*self.values, *self.variables])
        condition = self.random.choice(["k % 2 == 0", f"{value}.max() > 0.5", f"{value}[1] > {value}[2]"])
        with self._below(f"if {condition}:"):
            self._body()
        if self.random.random() < 0.5:
            with self._below("else:"):
                self._body()

    def _loop(self) -> None:
        """A loop; none inside of one that takes a while."""
        if self.indent <= 3 and not (self.slow and self.loops):
            self.random.choice([self._for, self._while])(self._body)

    def _body(self) -> None:
        self._replace()
        for _ in range(self.random.randint(0, 3)):
            self._statement()

    def _for(self, body: Callable[[], None]) -> None:
        self.names += 1
        turn = f"t{self.names}"
        with self._below(f"for {turn} in range(turns):"):
            self.loops.append(turn)
            body()
            self.loops.pop()

    def _while(self, body: Callable[[], None]) -> None:
        self.names += 1
        turn = f"t{self.names}"
        self._say(f"{turn} = 0")
        value = self.random.choice(self.values)
        with self._below(f"while {turn} < turns and {value}.max() < 1000.0:"):
            self.loops.append(turn)
            body()
            self.loops.pop()
            self._say(f"{turn} += 1")

    def _linger(self) -> None:
        """Take a while, now and then, and change nothing by that."""
        target = self.random.choice([*self.variables, *self.arguments])
        with self._below(f"with jitflow.device({self.random.choice(self.devices)!r}):"):
            self._say("s = 0.0")
            with self._below("for i in range(slow):"):
                self._say("s = 0.5 * s + 1.0")
            self._say(f"{target}[1] = 0.5 * {target}[1] + (s > 5.0)")
        self._say("# note")
        self._body()
