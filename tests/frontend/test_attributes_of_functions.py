"""What a program reads of functions, classes and objects is theirs, and not that of what stands for them: a table.

Each row is an expression, which plain Python computes as well.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jitflow

X = np.arange(3.0)
_NUMBERS = itertools.count()

PROGRAM = """
def g(x, a=3, *, b=4):
    "the text of g"
    return x * a + b
g.k, g.arr, g.name = 7.0, np.array([1.0, 2.0]), "fancy"
def h(x: int = 2) -> float:
    return x + 1
alias = g
def decorated(f):
    @functools.wraps(f)
    def inner(*args):
        return f(*args)
    inner.extra = 11.0
    return inner
@decorated
def d(x):
    "the text of d"
    return x + 1
d.k = 3
part = functools.partial(g, a=2)
part.k = 9
@functools.lru_cache
def cached(n):
    return n + 1
cached.k = 4
vectorized = np.vectorize(h)
vectorized.k = 4
@jitflow.function
def compiled(x):
    return x + 1
compiled.k = 2.0
table, functions = {g: 10, h: 20}, [g, h]
class A:
    "the text of A"
    attr = 3.0
    def __init__(self):
        self.v = 2.0
    def m(self, x):
        return x + self.v
    m.k = 6
    @staticmethod
    def s(x):
        return x
class B(A):
    def __len__(self):
        return 3
class C:
    def __call__(self, x):
        return x
class D:
    def __radd__(self, other):
        return 5
    def __getitem__(self, place):
        return [4, 5][place]
@dataclasses.dataclass
class Record:
    x: float = 1.0
@typing.runtime_checkable
class HasLength(typing.Protocol):
    def __len__(self): ...
class Meta(type):
    pass
class M(metaclass=Meta):
    pass
a, a2, b, c, dd, record, same = A(), A(), B(), C(), D(), Record(), Record()
objects, classes = {a: 1}, {A: 1, B: 2}
"""

EXPRESSIONS = """
g.k; getattr(g, "k", 5); getattr(g, "zz", 5); hasattr(g, "k"); hasattr(g, "zz"); g.zz; g.arr.sum(); g.name; g.__name__
g.__module__; g.__doc__; h.__annotations__; g.__dict__["k"]; g.__defaults__; g.__kwdefaults__; g.__code__.co_argcount
hasattr(g, "__wrapped__"); d.__wrapped__(x); d.__wrapped__ is d; d.__doc__; d.k; d.extra; d(x); part.k; part.func is g
part.keywords; part(x); hasattr(part, "__name__"); compiled.k; compiled.__wrapped__.__name__; compiled(x); cached.k
cached.__wrapped__(2); hasattr(cached, "cache_info"); vectorized.k; vectorized.pyfunc is h; vectorized(x)
g is alias; g == alias; g is not alias; g != h; g in (h, alias); functions[0] is g; functions.index(h); table[h]
table[functions[1]]; g in table; {g: 1, h: 2}[alias]; len({g, alias, h}); isinstance(g, types.FunctionType)
type(g) is types.FunctionType; type(cached) is type(g); callable(g); callable(a); callable(c); callable(A)
hasattr(a, "__len__"); hasattr(b, "__len__"); hasattr(a, "__call__"); hasattr(a, "__array__"); hasattr(c, "__call__")
isinstance(a, collections.abc.Sized); isinstance(b, collections.abc.Sized); isinstance(a, collections.abc.Callable)
isinstance(record, collections.abc.Hashable); isinstance(a, HasLength); isinstance(b, HasLength); issubclass(B, A)
issubclass(B, collections.abc.Sized); issubclass(A, collections.abc.Sized); f"{A}"; repr(A); a.m.k; a.m.__func__.k
a.m.__self__ is a; a.m is a.m; a.m == a.m; a.m.__func__ is A.m; A.m.k; A.m(a, x); a.s is A.s; A.__module__; A.__name__
A.__doc__; a.__module__; a.__class__ is A; a.__class__.attr; type(a) is A; type(M) is Meta; a is a2; a == a2
a in (a2, a); objects[a]; a2 in objects; classes[type(b)]; record == same; dataclasses.is_dataclass(record)
dataclasses.is_dataclass(a); math.sqrt.__name__; len.__name__; max.__name__; functools.wraps(g)(lambda y: y).k
operator.attrgetter("k")(g); copy.copy(g) is g; [f.k if hasattr(f, "k") else 0.0 for f in functions]; a + dd; [*dd]
5 in dd; a + a2; len(a); a[0]; a(); a < a2; hash(record); (lambda y: y).__name__
list(inspect.signature(g).parameters); list(inspect.signature(d).parameters); list(inspect.signature(a.m).parameters)
list(inspect.signature(part).parameters); list(inspect.signature(A).parameters)
list(inspect.signature(Record).parameters); list(inspect.signature(c).parameters)
list(inspect.signature(lambda p, *q: p).parameters)
len(inspect.signature(M).parameters); inspect.signature(g).parameters["a"].default * x
inspect.signature(h).parameters["x"].name
inspect.signature(dd); any(p.kind is p.KEYWORD_ONLY for p in inspect.signature(g).parameters.values())
"axis" in inspect.signature(np.sum).parameters
inspect.signature(g).parameters["x"].default is inspect.Parameter.empty; inspect.getfullargspec(g).args
inspect.signature(g).bind(x, 5).args[1]; inspect.signature(g).bind(); inspect.isfunction(g)
inspect.isfunction(math.sin); inspect.isfunction(np.mean); inspect.isclass(A); inspect.isclass(int)
inspect.ismethod(a.m); inspect.isfunction(a.s)
"""


def _shown(thing: Any) -> Any:
    return (thing.dtype, thing.tolist()) if isinstance(thing, np.ndarray) else (type(thing), repr(thing))


def _found(function: Any) -> Any:
    try:
        return _shown(function(X.copy()))
    except Exception as error:
        return next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins")


def _program(folder: Path, text: str) -> dict[str, Any]:
    file = folder / f"program_{next(_NUMBERS)}.py"
    file.write_text(text)
    names: dict[str, Any] = {"np": np, "jitflow": jitflow, "__name__": f"{__name__}.program"}
    modules = "collections.abc, copy, dataclasses, functools, inspect, math, operator, types, typing"
    exec(compile(f"import {modules}", "-", "exec"), names)
    exec(compile(text, str(file), "exec", dont_inherit=True), names)
    return names


def test_reads(tmp_path: Path) -> None:
    expressions = [each.strip() for each in EXPRESSIONS.replace("\n", ";").split(";") if each.strip()]
    functions = "".join(f"def f{number}(x):\n    return {each}\n" for number, each in enumerate(expressions))
    names = _program(tmp_path, PROGRAM + functions)
    wrong = {}
    for number, expression in enumerate(expressions):
        plain, compiled = _found(names[f"f{number}"]), _found(jitflow.function(names[f"f{number}"]))
        if plain != compiled:
            wrong[expression] = plain, compiled
    assert wrong == {}


HELPERS = "def g(x): return x\ndef h(x): return 2 * x\n"
CHANGES = {
    "a number": ("g.k = 1.0\ndef f(x): return x * g.k", ["g.k = 2.0", "g.k = 3", "del g.k", "g.k = np.ones(3)"]),
    "whether": ("def f(x): return x * g.k if hasattr(g, 'k') else x", ["g.k = 2.0", "del g.k", "g.k = 4"]),
    "a default": ("def f(x): return x * getattr(g, 'k', 5)", ["g.k = 2.0", "del g.k"]),
    "a counter": ("g.n = 0\ndef c(x):\n    g.n += 1\n    return x\ndef f(x): return c(x) + c(x) * g.n", ["g.n = 9"]),
    "a counter in a loop": (
        "g.n = 0\ndef f(x):\n    for i in range(len(x)):\n        if x[i] > 0.5: g.n += 1\n    return g.n",
        ["g.n = 0.5"],
    ),
    "by two names": ("g.n = 0\na = g\ndef f(x):\n    g.n += 1\n    return x * a.n", ["a = h\nh.n = 7"]),
    "what is": ("a = b = g\ndef f(x): return x if a is b else -x", ["b = h", "a = h"]),
    "what is equal": ("a = b = g\ndef f(x): return x if a == b else -x", ["b = h", "a = h"]),
    "an array": ("a = b = np.zeros(3)\ndef f(x): return x if a is b else -x", ["b = np.zeros(3)", "a = b"]),
    "a list": ("a = b = [1.0]\ndef f(x): return x if a is b else -x", ["b = [1.0]", "a = b"]),
    "an object": ("class A: pass\na = b = A()\ndef f(x): return x if a == b else -x", ["b = A()", "a = b"]),
    "a table": ("t = {g: 1.0, h: 2.0}\na = g\ndef f(x): return x * t[a]", ["a = h", "t[h] = 5.0", "del t[h]"]),
    "a class": ("class A: k = 1.0\na = A()\ndef f(x): return x * a.__class__.k", ["A.k = 2.0", "a = h", "h.k = 3"]),
    "on a decision": ("g.k, h.k = 1.0, 2.0\ndef f(x):\n    c = g if x[1] > 0.5 else h\n    return c(x) * c.k",
                      ["g.k = 4.0"]),
    "an inner function": (
        "def f(x):\n    def i(y):\n        i.n += 1\n    i.n = 0\n    for j in range(5): i(x)\n    return i.n",
        [],
    ),
    "a default that leads to the function": (
        "t = {}\ndef r(x, n=2, g=t): return x if n == 0 else g['r'](x * 2, n - 1)\nt['r'] = r\ndef f(x): return r(x)",
        ["t['r'] = lambda x, n: h(x)", "t['r'] = r"],
    ),
    "parameters": (
        "def f(x):\n    p = inspect.signature(g).parameters\n    return p['y'].default * x if 'y' in p else x",
        ["def g(x, y=3): return x", "g.__defaults__ = (7, 4.0)", "g.__code__ = h.__code__"],
    ),
    "a method": ("class A:\n    def m(self, x): return x\nA.m.k = 1.0\na = A()\ndef f(x): return a.m(x) * a.m.k",
                 ["A.m.k = 2.0", "a.m = g\ng.k = 5"]),
    "a wrapper": (
        "def deco(f):\n    @functools.wraps(f)\n    def w(x): return f(x) * w.k\n    return w\nw = f = deco(g)",
        ["w.k = 2", "w.k = 3.0", "del w.k"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_changes_between_calls(tmp_path: Path, name: str) -> None:
    text, steps = CHANGES[name]
    plain, compiled = _program(tmp_path, HELPERS + text), _program(tmp_path, HELPERS + text)
    compiled["f"] = jitflow.function(compiled["f"])
    for step in ("", *steps, ""):
        for names in (plain, compiled):
            exec(step, names)
        assert _found(plain["f"]) == _found(compiled["f"]), step
        assert getattr(plain["g"], "n", None) == getattr(compiled["g"], "n", None)


class Thing:
    pass


THING = Thing()


def test_exceptions_hold_what_the_program_gave_them() -> None:
    with pytest.raises(KeyError) as raised:
        jitflow.function(lambda x: x * {str: 1}[THING])(X)
    assert raised.value.args == (THING,)


def test_a_number_compiles_nothing_anew(tmp_path: Path) -> None:
    names = _program(tmp_path, HELPERS + "g.k = 1.0\ndef f(x): return x * g.k")
    function = jitflow.function(names["f"])
    for number in (1.0, 2.0, 3.0):
        names["g"].k = number
        np.testing.assert_array_equal(function(X), X * number)
    assert function.cache_info().misses == 1
