"""Statements without blocks: assignments, stores that narrow, ``out=``, lists and dicts that a condition chooses."""

from __future__ import annotations

from tests.truth.several_kinds.values import Values
from tests.truth.several_kinds.writing import NothingFits

__all__ = ["Statements"]

_NARROW = ("np.uint8", "np.int8", "np.int16", "np.int32", "np.int64", "np.uint64", "np.float16", "np.float32", "bool")


class Statements(Values):
    """Writes simple statements."""

    def _assign(self) -> None:
        text = self.number()
        name = self.target("number", "x")
        self.line(f"{name} = {text}")
        self.bind(name, "number")

    def _assign_constant(self) -> None:
        """A name of another kind, or of a kind of its own."""
        name = self.target("number", "x")
        self.line(f"{name} = {self.constant()}")
        self.bind(name, "number")

    def _augment(self) -> None:
        name = self.named("number")
        if name in self.kept:
            raise NothingFits
        self.line(f"{name} {self.pick(('+= 1', '+= 0.5', '/= 2', '//= 2', '%= 10', '-= ' + self.atom(), '*= 0.5'))}")

    def _swap(self) -> None:
        first, second = self.named("number"), self.named("number")
        if {first, second} & self.kept:
            raise NothingFits
        self.line(f"{first}, {second} = {second}, {self.pick((first, self.number(1)))}")

    def _maybe(self) -> None:
        """None, or a number; and what is made of it."""
        name = self.target("maybe", "y")
        way = self.choose(4)
        if way < 2:
            text = "None" if way else f"{self.number(1)} if {self.condition()} else None"
        else:
            text = self.call("maybe")
        self.line(f"{name} = {text}")
        self.bind(name, "maybe")

    def _unwrap(self) -> None:
        maybe, name = self.named("maybe"), self.target("number", "x")
        self.line(f"{name} = " + self.pick((f"{maybe} if {maybe} is not None else {self.number(1)}",
                                            f"{maybe} or {self.number(1)}",
                                            f"{self.number(1)} if {maybe} is None else {maybe} + 1")))  # fmt: skip
        self.bind(name, "number")

    def _indexed(self) -> None:
        """An index of more than one kind: a bool adds an axis where an int reads an element."""
        name = self.target("number", "x")
        index = self.pick((f"{self.condition()} if {self.condition()} else 0", "c if c else 0", "n or 0", "n and 1",
                           f"min(n, {self.atom()})", "c", f"int({self.condition()})"))  # fmt: skip
        self.line(f"{name} = {self.named('array')}[{index}]")
        self.bind(name, "number")

    # -- arrays ------------------------------------------------------------------------------------

    def _assign_array(self) -> None:
        text = self.array()
        name = self.target("array", "w")
        self.line(f"{name} = {text}")
        self.bind(name, "array")

    def _augment_array(self) -> None:
        name = self.named("array")
        changes = ["+= 1", "*= 2", "+= n"]
        if self.depth == 1:  # a cast that NumPy forbids is a mistake on any path: it stands where each call sees it
            changes += ["-= 0.5", f"*= {self.atom()}"]
        self.line(f"{name} {self.pick(changes)}")

    def _store(self) -> None:
        """A number into an element: it fits, or NumPy says that it does not."""
        place = self.pick(("0", "-1", "n", ":", "1:", "::2", "0"))
        self.line(f"{self.named('array')}[{place}] = {self.number(1)}")

    def _narrow(self) -> None:
        """A number into a narrow array of its own."""
        name = self.fresh("w")
        dtype = self.pick(_NARROW)
        value = self.pick((self.number(), self.number(), "300", "-1", "2.5", "np.nan", "1e10", "float('inf')"))
        self.line(f"{name} = np.zeros(2, {dtype})")
        self.bind(name, "array")
        self.line(self.pick((f"{name}[0] = {value}", f"{name}[:] = {value}", f"{name}.fill({value})",
                             f"{name}[1:] = {value}", f"{name} = np.array([{value}], {dtype})", f"{name} += {value}",
                             f"{name} = np.full(2, {value}, {dtype})", f"{name}[n] = {value}",
                             f"{name} = np.insert({name}, 1, {value})", f"np.copyto({name}, {value})")))  # fmt: skip

    def _out(self) -> None:
        """A result into an array of another dtype."""
        a, name, dtype = self.named("array"), self.fresh("w"), self.pick(_NARROW)
        casting = "" if self.depth == 1 else ", casting='unsafe'"
        self.line(f"{name} = np.zeros(len({a}), {dtype})")
        self.bind(name, "array")
        self.line(self.pick((f"np.add({a}, 1, out={name}{casting})", f"np.greater({a}, 1, out={name}{casting})",
                             f"np.multiply({a}, {self.atom()}, out={name}, casting='unsafe')",
                             f"np.cumsum({a}, out={name})", f"np.add({a}, 1, out={name}, casting='unsafe')",
                             f"np.maximum({a}, {self.atom()}, out={name}, where={a} > 0, casting='unsafe')",
                             f"np.clip({a}, 0, 2, out={name}{casting})", f"np.add.accumulate({a}, out={name})",
                             f"np.negative({a}, out={name}, casting='unsafe')")))  # fmt: skip

    def _out_of_no_axes(self) -> None:
        a, name = self.named("array"), self.fresh("z")
        self.line(f"{name} = np.zeros((), {self.pick(_NARROW)})")
        self.bind(name, "number")
        self.line(self.pick((f"{a}.sum(out={name})", f"np.max({a}, out={name})", f"np.add.reduce({a}, out={name})",
                             f"{name}[()] = {self.atom()}", f"{name} += {self.atom()}",
                             f"np.add({self.atom()}, 1, out={name}, casting='unsafe')")))  # fmt: skip

    # -- lists and dicts ---------------------------------------------------------------------------

    def _assign_list(self) -> None:
        text = self.some_list()
        name = self.target("list", "p")
        self.line(f"{name} = {text}")
        self.bind(name, "list")

    def _write_list(self) -> None:
        one = self.pick((self.named("list"), self.some_list()))
        value = self.pick((self.number(1), "7.0", "s"))
        self.line(self.pick((f"{one}.append({value})", f"{one}.append({value})", f"{one}[0] = {value}",
                             f"{one}[-1] = {value}", f"{one}.reverse()", f"{one}.extend([1.0, {value}])",
                             f"{one}.insert(0, {value})")))  # fmt: skip

    def _read_list(self) -> None:
        one, name = self.named("list"), self.target("number", "x")
        self.line(f"{name} = " + self.pick((f"{one}[0]", f"len({one})", f"sum({one})", f"{one}[-1]", f"max({one})",
                                            f"{one}.pop()", f"{one}[n]", f"np.array({one}).sum()")))  # fmt: skip
        self.bind(name, "number")

    def _assign_dict(self) -> None:
        name = self.target("dict", "t")
        dicts = [one for one, sort in self.names.items() if sort == "dict"]
        texts = [f"{{'n': {self.constant()}, 'k': {self.number(1)}}}", "{'n': 1.0, 'k': n}"]
        if dicts:
            first, second = self.pick(dicts), self.pick(dicts)
            texts += [first, f"{first} if {self.condition()} else {second}", f"dict({first})",
                      f"either({self.condition()}, {first}, {second})"]  # fmt: skip
        self.line(f"{name} = {self.pick(texts)}")
        self.bind(name, "dict")

    def _write_dict(self) -> None:
        one, key = self.named("dict"), self.pick(("'n'", "'k'", "'n'", "'new'"))
        self.line(f"{one}[{key}] = {self.pick((self.number(1), '9.0'))}")

    def _read_dict(self) -> None:
        one, name = self.named("dict"), self.target("number", "x")
        self.line(f"{name} = " + self.pick((f"{one}['n']", f"{one}['k']", f"{one}.get('new', 0)", f"len({one})")))
        self.bind(name, "number")
