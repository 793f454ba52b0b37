"""Random programs with lists that grow and shrink where the running program decides, as the text of a function.

Each has a list of floats with two names, one of ints and one of NumPy's scalars. What a list holds is of one kind, and
no list grows beyond some dozens of items, so that every program ends.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

__all__ = ["list_program"]

_FLOATS, _INTS, _SCALARS = ("ours", "theirs"), ("places",), ("scalars",)


def list_program(seed: int, length: int = 7) -> str:
    """The text of a function ``program(u, k)`` of an array of floats and an int."""
    return _Maker(Random(seed)).program(length)


class _Maker:
    def __init__(self, random: Random) -> None:
        self.random = random
        self.lines: list[str] = []
        self.depth = 1
        self.loops: list[str] = []
        """The kinds of the loops around, inner ones last."""
        self.fresh = 0

    def program(self, length: int) -> str:
        self.lines = ["def program(u, k):", "    a = 0.5", "    x = 1.0"]
        self.line(f"ours = {self.random.choice(['[]', '[1.5]', '[float(k), 0.25]'])}")
        self.line("theirs = ours")
        self.line(f"places = {self.random.choice(['[]', '[k]', '[3, 1, 2]'])}")
        self.line(f"scalars = {self.random.choice(['[]', '[u[0]]'])}")
        for name in ("ours", "places", "scalars"):
            self.inside("if u[0] > 2.5:", lambda name=name: self.line(f"{name}.append({self.item(name)})"))  # type: ignore[misc]
        self.block(length)
        result = ["ours", "places", "scalars", "len(theirs)", "a", "x", "k", "np.array(ours)", "sum(places)"]
        self.line(f"return {', '.join(result)}")
        return "\n".join(self.lines) + "\n"

    # -- text

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def inside(self, head: str, body: Callable[[], None]) -> None:
        self.line(head)
        self.depth += 1
        body()
        self.depth -= 1

    def name(self) -> str:
        return self.random.choice([*_FLOATS, *_INTS, *_SCALARS])

    def item(self, name: str) -> str:
        if name in _INTS:
            return self.random.choice(["k", "len(places)", "k % 7 + 2", "len(ours) - k"])
        if name in _SCALARS:
            return self.random.choice(["u[0]", "u[k % len(u)] * 2", "u[-1] - 1", "u[1] + a"])
        return self.random.choice(["a", "x * 0.5", "float(u[k % len(u)])", "a - x", "float(k)", "1.25"])

    def condition(self) -> str:
        name = self.name()
        return self.random.choice(
            ["u[k % len(u)] > 0", "k % 3 == 1", "a > x", name, f"not {name}",
             f"len({name}) > {self.random.randrange(5)}", f"k > 2 or not {name}",
             f"k > 1 and {name}", f"{name} and {name}[-1] > 1", f"len({name}) > 1 and {name}[0] < {name}[1]"]
        )  # fmt: skip

    # -- statements

    def block(self, length: int) -> None:
        for _ in range(length):
            self.random.choice(self.kinds())()

    def few(self) -> None:
        self.block(self.random.choice([1, 2, 3]))

    def kinds(self) -> list[Callable[[], None]]:
        simple = [
            self.append,
            self.append,
            self.append,
            self.pop,
            self.read,
            self.write,
            self.change,
            self.count,
            self.fold,
        ]
        nested = [self.branch, self.branch, self.loop, self.loop_over_a_list, self.fresh_list, self.attempt]
        jump = [self.jump] if self.loops else []
        return simple + jump + (nested if self.depth < 4 else [])

    def append(self) -> None:
        name = self.name()
        self.inside(f"if len({name}) < 24:", lambda: self.line(f"{name}.append({self.item(name)})"))

    def pop(self) -> None:
        name = self.name()
        taken = self.random.choice([f"{name}.pop()"] * 3 + [f"{name}.pop(0)", f"{name}.pop(k % len({name}))"])
        self.guarded(name, self.bound(name, taken))

    def read(self) -> None:
        name = self.name()
        place = self.random.choice(["-1", "0", f"k % len({name})", "-k % 3 - 3", "2"])
        self.guarded(name, self.bound(name, f"{name}[{place}]"), 3)

    def bound(self, name: str, item: str) -> str:
        return f"k = (k + {item}) % 11" if name in _INTS else f"x = float({item}) * 0.75"

    def write(self) -> None:
        name = self.name()
        self.guarded(name, f"{name}[{self.random.choice(['-1', '0', f'k % len({name})'])}] = {self.item(name)}")

    def guarded(self, name: str, text: str, least: int = 1) -> None:
        if self.random.random() < 0.06:
            self.line(text)
        else:
            self.inside(f"if len({name}) >= {least}:", lambda: self.line(text))

    def change(self) -> None:
        name = self.name()
        change = self.random.choice(
            [f"{name}.insert({self.random.choice(['0', 'k % 4', '-1', '100', '-100'])}, {self.item(name)})",
             f"{name}.extend([{self.item(name)}, {self.item(name)}])", f"{name} += [{self.item(name)}]",
             f"{name}.reverse()", f"{name}.sort()", f"{name}.clear()"]
        )  # fmt: skip
        self.inside(f"if len({name}) < 24:", lambda: self.line(change))

    def count(self) -> None:
        self.line(self.random.choice(["k = (k * 3 + 1) % 97", "a = a * 0.5 + 1", f"k = (k + len({self.name()})) % 13"]))

    def fold(self) -> None:
        name = self.random.choice(_FLOATS)
        self.line(self.random.choice([f"a += sum({name}) * 0.125", f"a += sum({name}) - len(places)",
                                      "k = (k + sum(places)) % 17"]))  # fmt: skip

    def branch(self) -> None:
        self.inside(f"if {self.condition()}:", self.few)
        if self.random.random() < 0.5:
            self.inside("else:", self.few)

    def loop(self) -> None:
        name = self.name()
        head = self.random.choice(
            ["for i in range(k % 9):", "for v in u:", f"while len({name}) > {self.random.randrange(3)}:"]
        )
        self.loops.append(head)

        def body() -> None:
            if head.startswith("while"):
                self.line(f"{name}.pop()")
                self.line(self.bound(name, f"{self.item(name)}"))
            else:
                self.few()

        self.inside(head, body)
        self.loops.pop()

    def loop_over_a_list(self) -> None:
        name = self.name()
        self.fresh += 1
        item = f"item{self.fresh}"
        head = self.random.choice([f"for {item} in {name}:"] * 2 + [f"for i, {item} in enumerate({name}):"])
        changes = "enumerate" not in head
        self.loops.append(head)

        def body() -> None:
            self.line(self.bound(name, item))
            if changes:
                self.few()

        self.inside(head, body)
        self.loops.pop()

    def fresh_list(self) -> None:
        self.fresh += 1
        name = f"fresh{self.fresh}"
        self.line(f"{name} = []")
        self.inside("for v in u:", lambda: self.inside("if v > x:", lambda: self.line(f"{name}.append(float(v))")))
        self.line(f"k = (k + len({name})) % 7")
        self.inside(f"if {name}:", lambda: self.line(f"a += {name}[-1]"))

    def attempt(self) -> None:
        name = self.name()
        text = self.bound(name, self.random.choice([f"{name}.pop()", f"{name}[k % 5]", f"{name}.pop(2)"]))
        self.inside("try:", lambda: self.line(text))
        self.inside("except IndexError:", lambda: self.line("a -= 0.5"))

    def jump(self) -> None:
        self.inside(f"if {self.condition()}:", lambda: self.line(self.random.choice(["break", "continue"])))
