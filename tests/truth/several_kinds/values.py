"""Expressions whose kind the run decides.

Their arithmetic gives the same bits in whatever order it is done: arrays hold small multiples of a quarter, and there
are no elementary functions. So what is compiled is compared to the last bit.
"""

from __future__ import annotations

from tests.truth.several_kinds.writing import NothingFits, Writing

__all__ = ["DTYPES", "Values"]

DTYPES = ("uint8", "int8", "int16", "uint16", "int32", "int64", "uint64", "float16", "float32", "float64", "bool")

_PYTHON = ("0", "1", "-1", "2", "3", "10", "0.5", "1.5", "-2.0", "0.0", "1e10", "True", "False", "np.inf", "-np.inf")
_SENTINELS = ("-1", "0", "0.0", "1e10", "-np.inf", "np.inf", "float('inf')", "-1.0", "255", "300", "-1e300", "False")
_SCALARS = ("np.int8(3)", "np.uint8(200)", "np.int16(-7)", "np.float16(0.5)", "np.float32(2.5)", "np.float64(1.5)",
            "np.int64(4)", "np.uint64(5)", "np.bool_(True)", "np.float32(1e30)")  # fmt: skip
_OF_NO_AXES = ("np.array(2.5)", "np.array(3)", "np.zeros(())", "np.array(1, np.uint8)", "np.array(0.5, np.float32)",
               "np.asarray({x})", "np.array({x})")  # fmt: skip
_REDUCTIONS = ("{a}.sum()", "{a}.max()", "{a}.min()", "np.sum({a})", "{a}.argmax()", "sum({a})", "max({a})",
               "{a}.any()", "(a > 0).sum()", "{a}[:2].sum()", "np.max({a}, initial=2)", "len({a})", "{a}.size",
               "np.count_nonzero({a})", "{a}[0]", "{a}[-1]", "{a}[0]", "{a}[n]", "{a}[0].item()")  # fmt: skip
_OPERATORS = ("{x} + {y}", "{x} - {y}", "{x} / 2", "{x} * 0.5", "{x} // 2", "{x} % 10", "{x} % 3", "-{x}", "{x} + 1",
              "{x} - 1", "{x} + 0.5", "{x} == {y}", "{x} < {y}", "not {x}", "{x} / {y}", "1 - {x}")  # fmt: skip
_PRODUCTS = ("{x} * {y}", "{x} * 2", "{x} ** 2", "{x} * {x}", "3 * {x}")
_CONVERSIONS = ("int({x})", "float({x})", "abs({x})", "bool({x})", "round({x})", "np.float32({x})", "np.sqrt({x})",
                "np.abs({x})", "np.floor({x})", "np.sign({x})", "np.float64({x})", "np.maximum({x}, {y})",
                "np.where({c}, {x}, {y})", "np.isnan({x})", "np.add({x}, {y})")  # fmt: skip


class Values(Writing):
    """Writes expressions."""

    helpers: dict[str, str]
    """The sort of what each helper gives."""

    # -- numbers -----------------------------------------------------------------------------------

    def number(self, depth: int = 0) -> str:
        """A number of any kind."""
        if depth > 1 or self.choose(3):
            return self.atom()
        ways = (self._operation, self._operation, self._operation, self._chosen, self._chosen, self._extreme,
                self._logical, self._reduction, self._converted, self._called)  # fmt: skip
        return str(self.pick(ways)(depth + 1))

    def atom(self) -> str:
        """A number without operators."""
        way = self.choose(16)
        names = [name for name, sort in self.names.items() if sort == "number"]
        if names and way < 9:
            return self.pick(names)
        if way == 9:
            return self.pick(_SCALARS)
        if way == 10:
            return self.pick(_OF_NO_AXES).format(x=self.pick(names) if names else "0.5")
        if way < 13:
            return self._reduction(2)
        if way == 13 and self.chance(6):
            return self.named("array")
        return self.pick(_PYTHON)

    def sentinel(self) -> str:
        """What a name has before it has a real value."""
        return self.pick(_SENTINELS)

    def constant(self) -> str:
        """A number that is written in the program."""
        return self.pick(_SCALARS) if self.chance(4) else self.pick(_PYTHON)

    def _operation(self, depth: int) -> str:
        pattern = self.pick(_OPERATORS + (() if self.loops else _PRODUCTS))
        return "(" + pattern.format(x=self.number(depth), y=self.number(depth)) + ")"

    def _chosen(self, depth: int) -> str:
        return f"({self.number(depth)} if {self.condition(depth)} else {self.number(depth)})"

    def _extreme(self, depth: int) -> str:
        items = [self.number(depth) for _ in range(2 + self.choose(2))]
        return f"{self.pick(('max', 'min'))}({', '.join(items)})"

    def _logical(self, depth: int) -> str:
        return f"({self.number(depth)} {self.pick(('and', 'or'))} {self.number(depth)})"

    def _reduction(self, depth: int) -> str:
        return self.pick(_REDUCTIONS).replace("{a}", self.named("array"))

    def _converted(self, depth: int) -> str:
        return self.pick(_CONVERSIONS).format(x=self.number(depth), y=self.number(depth), c=self.condition(depth))

    def _called(self, depth: int) -> str:
        return self.call("number", depth)

    def call(self, sort: str, depth: int = 0) -> str:
        """A call of a helper that gives a value of a sort."""
        found = [name for name, gives in self.helpers.items() if gives == sort]
        if not found:
            raise NothingFits
        return f"{self.pick(found)}({self.condition(depth + 1)}, {self.number(depth + 1)})"

    # -- conditions --------------------------------------------------------------------------------

    def condition(self, depth: int = 0) -> str:
        """What decides: mostly something that the run knows only."""
        way = self.choose(14)
        if way < 5:
            return self.pick(("c", "c", "not c", "n > 1", "n > 2", "n == 0", "n"))
        if way == 5 and depth < 2:
            return f"({self.condition(depth + 1)} {self.pick(('and', 'or'))} {self.condition(depth + 1)})"
        if way == 6:
            return self.pick(("len({a}) > 2", "{a}.any()", "{a}.sum() > 1", "len({a})")).format(a=self.named("array"))
        if way == 7:
            return f"isinstance({self.atom()}, {self.pick(('int', 'float', 'np.ndarray', 'np.generic', 'bool'))})"
        if way == 8:
            maybes = [name for name, sort in self.names.items() if sort == "maybe"]
            return f"{self.pick(maybes)} is {self.pick(('', 'not '))}None" if maybes else "c"
        if way == 9 and "list" in self.names.values():
            name = self.named("list")
            return self.pick((f"len({name}) > 2", name, f"{name}[0] > 1", f"{name} is {self.named('list')}"))
        if way == 10:
            return self.atom()
        return f"{self.number(depth + 1)} {self.pick(('>', '<', '==', '!=', '>='))} {self.number(2)}"

    # -- arrays ------------------------------------------------------------------------------------

    def array(self, depth: int = 0) -> str:
        """An array of one axis, of any dtype."""
        a = self.named("array")
        way = self.choose(14)
        if way < 4:
            return a
        if way == 4 and depth < 2:
            return f"({self.array(depth + 1)} if {self.condition(1)} else {self.array(depth + 1)})"
        if way == 5:
            return self.pick((f"{a}[::-1]", f"{a}[:]", f"{a}.copy()", f"{a}.ravel()", f"{a}.reshape(-1)"))
        if way == 6:
            return f"{a}.astype({self.dtype()})"
        if way == 7:
            return f"np.{self.pick(('zeros', 'ones'))}(len({a}), {self.dtype()})"
        if way == 8:
            return f"np.{self.pick(('minimum', 'maximum', 'add'))}({a}, {self.number(2)})"
        if way == 9:
            return f"np.where({a} > 1, {a}, {self.number(2)})"
        if way == 10:
            return f"np.array([{self.number(1)}, {self.number(1)}])"
        return self.pick(("{a} + {x}", "{a} * 0.5", "{a} * {x}", "{a} / 2", "{a} % 2", "{a} - {b}", "{a} > {x}",
                          "{a} // 2", "-{a}")).format(a=a, b=self.named("array"), x=self.number(2))  # fmt: skip

    def dtype(self) -> str:
        """A dtype."""
        return f"np.{self.pick(DTYPES)}".replace("np.bool", "bool")

    # -- lists -------------------------------------------------------------------------------------

    def some_list(self) -> str:
        """A list: one that has a name, one of two, or a new one."""
        way = self.choose(8)
        if way < 3:
            return self.named("list")
        if way == 3:
            return f"({self.named('list')} if {self.condition(1)} else {self.named('list')})"
        if way == 4:
            name = self.named("list")
            return self.pick((f"({name} + [{self.constant()}])", f"list({name})", f"{name}[:]", f"sorted({name})"))
        if way == 5:
            return f"either({self.condition(1)}, {self.named('list')}, {self.named('list')})"
        return self.pick(("[9.0, 9.0]", "[1.0]", "[]", "[2, 3]", "[0.5, 1.5, 2.5]"))
