"""Random programs, as a whole and as parts on several devices, that fail where their arguments say.

``%p`` and ``%q`` name checks: that with the number of one of them fails, in a loop in a certain turn. ``%out`` is an
argument that is written to, and may be written only when nothing before it can fail any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from tests.runtime.parts import Part, part

__all__ = ["NO_CHECK", "SplitProgram"]

NO_CHECK = 10**6
_TURNS = 3


class SplitProgram:
    """``whole`` and ``parts``; ``codes`` are what makes a check fail."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.devices = self.random.choice([2, 2, 3, 4])
        self.lines: list[str] = []
        self.own: list[list[str]] = [[] for _ in range(self.devices)]
        self.known: list[set[str]] = [set() for _ in range(self.devices)]
        self.failing: set[int] = set()
        """The devices on which something may have failed since the last store waited for them."""
        self.channels = self.names = self.checks = self.order = 0
        self.codes: list[int] = []
        self.values: list[tuple[str, int]] = []
        self.source, self.target = self.random.randrange(self.devices), self.random.randrange(self.devices)
        self.known[self.source].add("x")
        self._say(self.source, f"%{self._new(self.source)}: f64[n] = sin %x")
        for _ in range(self.random.randint(4, 9)):
            self.random.choice([self._compute, self._compute, self._check, self._check, self._store, self._loop])()
        results = self.random.sample(self.values, min(len(self.values), 3))
        places = range(len(results))
        self.whole = self._function("f64[n]", [name for name, _ in results], self.lines, range(4))
        self.parts: list[Part] = []
        for device in range(self.devices):
            mine = [place for place in places if results[place][1] == device]
            parameters = [0] * (device == self.source) + [1] * (device == self.target) + [2, 3]
            text = self._function("f64[n]", [results[place][0] for place in mine], self.own[device], parameters)
            self.parts.append(part(f"cpu:{device}", text, parameters, mine))

    # Text

    def _function(self, kind: str, results: Sequence[str], lines: Sequence[str], parameters: Sequence[int]) -> str:
        names = ["%x: f64[n]", "%out: var f64[n]", "%p: int", "%q: int"]
        text = "\n".join(f"  {line}" for line in [*_CONSTANTS, *lines])
        given = ", ".join(f"%{name}" for name in results)
        return f"func @f({', '.join(names[place] for place in parameters)}) {{\n{text}\n  yield {given}\n}}"

    def _say(self, device: int, line: str) -> None:
        """A line of the program that runs on a device."""
        self.lines.append(line)
        self.own[device].append(line)

    def _new(self, device: int) -> str:
        self.names += 1
        name = f"v{self.names}"
        self.values.append((name, device))
        self.known[device].add(name)
        return name

    def _channel(self) -> int:
        self.channels += 1
        return self.channels - 1

    def _move(self, name: str, source: int, target: int) -> None:
        if name in self.known[target]:
            return
        channel = self._channel()
        self.own[source].append(f'send %{name} {{channel={channel}, to="cpu:{target}"}}')
        self.own[target].append(f'%{name}: f64[n] = recv {{channel={channel}, source="cpu:{source}"}}')
        self.known[target].add(name)

    # Statements

    def _compute(self) -> None:
        device = self.random.randrange(self.devices)
        operands = [self.random.choice(self.values) for _ in range(self.random.randint(1, 2))]
        for name, source in operands:
            self._move(name, source, device)
        names = ", ".join(f"%{name}" for name, _ in operands)
        operation = self.random.choice(["sin", "negative"] if len(operands) == 1 else ["add", "multiply", "subtract"])
        self._say(device, f"%{self._new(device)}: f64[n] = {operation} {names}")

    def _check(self, turn: str = "") -> None:
        """A check; in a loop it fails where the code is that of this turn."""
        device, number = self.random.randrange(self.devices), self.checks
        self.checks += 1
        self.order += 1
        base, level = 100 * (number + 1), 2 if turn else 0
        self.codes.append(base + (self.random.randrange(_TURNS) if turn else 0))
        self.own[device].append(f"progress {{level={level}, order={self.order}}}")
        self._say(device, f"%code{number}: int = constant {{value={base}, type=<int>}}")
        if turn:
            self._say(device, f"%base{number}: int = add %code{number}, {turn}")
        code = f"%{'base' if turn else 'code'}{number}"
        self._say(device, f"%p{number}: pybool = not_equal %p, {code}")
        self._say(device, f"%q{number}: pybool = not_equal %q, {code}")
        self._say(device, f"%fine{number}: pybool = logical_and %p{number}, %q{number}")
        self._say(device, f'check %fine{number} {{error="ValueError", message="check {number}"}}')
        self.failing.add(device)

    def _store(self) -> None:
        name, source = self.random.choice(self.values)
        self._move(name, source, self.target)
        self._wait_for_all()
        self._say(self.target, f"store %out, %{name}")

    def _wait_for_all(self) -> None:
        """Tokens from all devices on which a check stands before."""
        for device in sorted(self.failing - {self.target}):
            channel = self._channel()
            self.own[device].append(f'send {{channel={channel}, to="cpu:{self.target}"}}')
            self.own[self.target].append(f'recv {{channel={channel}, source="cpu:{device}"}}')
        self.failing.clear()

    def _loop(self) -> None:
        """Each device carries an array, which it combines with another's in each turn."""
        carried: list[tuple[str, int]] = []
        for device in range(self.devices):
            name, source = self.random.choice(self.values)
            self._move(name, source, device)
            carried.append((name, device))
        self.order += 1
        outer_lines, outer_own = self.lines, self.own
        outer_known, outer_values, before = self.known, self.values, set(self.failing)
        self.lines, self.own = [], [[] for _ in range(self.devices)]
        inner = [f"c{self.names}_{device}" for device in range(self.devices)]
        self.known = [{*known, inner[device]} for device, known in enumerate(outer_known)]
        self.values = [(name, device) for device, name in enumerate(inner)]
        turn, level_order = f"%t{self.names}", self.order
        for own in self.own:
            own.append("progress {level=1}")
        self.failing = set(range(self.devices))  # in the turn before
        for _ in range(self.random.randint(1, 3)):
            self.random.choice([self._compute, self._store, lambda: self._check(turn)])()
        yielded: list[str] = []
        for device in range(self.devices):
            other, source = self.random.choice(self.values)
            self._move(other, source, device)
            self._say(device, f"%{self._new(device)}: f64[n] = add %{inner[device]}, %{other}")
            yielded.append(self.values[-1][0])
        lines, own = self.lines, self.own
        self.lines, self.own, self.known, self.values = outer_lines, outer_own, outer_known, outer_values
        self.failing = before | set(range(self.devices))
        results = [self._new(device) for device in range(self.devices)]
        for device in range(self.devices):
            self.own[device].append(f"progress {{level=0, order={level_order}}}")
            self._for(self.own[device], turn, own[device], [device], results, carried, inner, yielded)
        self._for(self.lines, turn, lines, range(self.devices), results, carried, inner, yielded)
        self.order += 1

    def _for(
        self, into: list[str], turn: str, body: Sequence[str], devices: Sequence[int], results: Sequence[str],
        carried: Sequence[tuple[str, int]], inner: Sequence[str], yielded: Sequence[str],
    ) -> None:  # fmt: skip
        def typed(names: Sequence[str]) -> str:
            return ", ".join(f"%{names[device]}: f64[n]" for device in devices)

        initial = ", ".join(f"%{carried[device][0]}" for device in devices)
        into.append(f"{turn}_end: int, {typed(results)} = for %zero, %turns, %one, %start, {initial} "
                    f"({turn}_i: index, {turn}: int, {typed(inner)}) {{")  # fmt: skip
        into += [f"  {line}" for line in body]
        into.append(f"  {turn}_next: int = add {turn}, %unit")
        into.append(f"  yield {turn}_next, {', '.join(f'%{yielded[device]}' for device in devices)}")
        into.append("}")


_CONSTANTS = (
    "%zero: index = constant {value=0, type=<index>}",
    "%one: index = constant {value=1, type=<index>}",
    f"%turns: index = constant {{value={_TURNS}, type=<index>}}",
    "%start: int = constant {value=0, type=<int>}",
    "%unit: int = constant {value=1, type=<int>}",
)
