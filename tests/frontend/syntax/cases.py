"""Functions of every shape of control flow, each with arguments to call it with. All are pure Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from typing import Any

CASES: list[tuple[Callable[..., Any], tuple[tuple[Any, ...], ...]]] = []


def case(*arguments: Any) -> Callable[[Any], Any]:
    """Add a function with lists of arguments; what is no tuple is an only argument."""

    def add(function: Any) -> Any:
        given = tuple(item if isinstance(item, tuple) else (item,) for item in arguments)
        CASES.append((function, given or ((),)))
        return function

    return add


# -- branches --------------------------------------------------------------------------------------


@case(-1, 0, 1)
def branches(x):
    if x > 0:
        y = 1
    elif x == 0:
        y = 2
    else:
        y = 3
    return y


@case(-1, 0, 1)
def returns_early(x):
    if x < 0:
        return "negative"
    if x == 0:
        return "zero"
    return "positive"


@case(-1, 0, 5, 20)
def returns_in_some_paths(x):
    y = 0
    if x > 0:
        y = x
        if x > 10:
            return "large"
        y += 1
    y *= 2
    if y == 0:
        return
    return y


@case(0, 1, 2)
def falls_off(x):
    if x:
        if x == 2:
            return 7


@case(0, 1)
def only_returns_nothing(x, seen=None):
    seen = [] if seen is None else seen
    if x:
        return
    seen.append(x)


@case(0, 1, 2)
def raises_in_a_branch(x):
    if x == 1:
        raise ValueError(f"bad {x}")
    elif x == 2:
        raise KeyError from None
    return x


@case(0, 1)
def unbound_after_a_branch(x):
    if x:
        y = 1
    return y


@case(0, 1, 2)
def unbound_in_operators(x):
    if x == 1:
        y = 0
    return y or (x and y + 1)


@case(0, 1)
def deletes(x):
    y = 1
    if x:
        del y
    return y


@case(0, 1)
def deletes_unbound(x):
    if x:
        y = 1
    del y
    return x


@case(0, 1)
def augments_unbound(x):
    if x:
        y = 1
    y += 1
    return y


# -- loops -----------------------------------------------------------------------------------------


@case([], [1], [1, 2, 3], [3, -1, 4], [0, 5])
def breaks_and_continues(xs):
    total, last = 0, None
    for x in xs:
        if x == 0:
            continue
        if x < 0:
            break
        total += x
        last = x
    else:
        total = -total
    return total, last


@case([[1, 2], [3, 0, 4]], [[1]], [], [[0]], [[-1, 2], [5]])
def nested_loops(rows):
    found = []
    for i, row in enumerate(rows):
        for x in row:
            if x == 0:
                return "zero", i, found
            if x < 0:
                break
            found.append(x)
        else:
            found.append("end")
            continue
        found.append("broken")
    return found


@case(0, 1, 5, 10)
def counts(n):
    i = 0
    while i < n:
        i += 1
        if i % 2:
            continue
        if i > 6:
            break
    else:
        return "ran out", i
    return i


@case(3, 8)
def loops_forever(n):
    i = 0
    while True:
        i += 1
        if i >= n:
            break
    return i


@case(3, 8)
def leaves_an_endless_loop(n):
    while 1:
        n -= 1
        if n < 0:
            return "done"


@case([], [1, 2])
def reads_the_target_after_the_loop(xs):
    for x in xs:
        pass
    return x


@case(([1, 2, 3],))
def targets_of_all_kinds(xs):
    class Thing:
        pass

    thing, table, seen = Thing(), {}, []
    for thing.a in xs:
        for table[thing.a] in xs:
            if table[thing.a] > 1:
                break
    for a, *(b, c), [d] in [(1, 2, 3, (4,)), (5, 6, 7, [8])]:
        seen.append((a, b, c, d))
        if a > 3:
            d = 0
    return thing.a, table, seen, d


@case(([1, 2, 3], 2), ([1, 2, 3], 9))
def leaves_the_rest_of_an_iterator(xs, stop):
    items = iter(xs)
    for x in items:
        if x == stop:
            break
    return list(items)


@case(([1, 2, 3],))
def changes_what_it_runs_over(xs):
    for x in xs:
        if len(xs) < 9:
            xs.append(x + 1)
    return xs


@case(5)
def closures_over_loop_variables(n):
    made = []
    for i in range(n):
        if i % 2:
            made.append(lambda: i)
        else:
            made.append(lambda i=i: -i)
    return [f() for f in made]


@case(0, 1, 7)
def continues_in_a_while_with_else(n):
    seen = []
    while n:
        n -= 1
        if n % 3 == 0:
            seen.append(n)
            continue
        for k in range(n):
            if k == 2:
                break
            if k == 1 and n == 4:
                return seen, "inside"
        else:
            continue
        seen.append(-n)
    else:
        seen.append("else")
    return seen


# -- expressions -----------------------------------------------------------------------------------


@case((0, 1, 2), (1, 0, 2), (3, 0, 0), ([], {}, ()))
def operators(a, b, c):
    return (
        a and b,
        a or b,
        a and b and c,
        a or b or c,
        a or b and not c,
        not a,
        not (a and b),
        a if b else c,
        (a if b else b) if c else a,
    )


@case((1, 2, 3), (1, 1, 1), (3, 2, 1), (2, 3, 1))
def chains(a, b, c):
    seen = []

    def note(x):
        seen.append(x)
        return x

    results = [
        note(a) < note(b) < note(c),
        note(a) <= note(b) == note(c) != note(a),
        a < b in (c, b),
        a is b is c,
        a is not b not in (a, c),
    ]
    return results, seen


@case((1, [1, 2]), (3, [1, 2]), ("a", "abc"), ("x", {"x": 1}), (1, 1))
def membership(x, xs):
    return x in xs, x not in xs, (x in xs and xs) or None


def first_then_second(seen):
    return seen.append(1) or 0, seen.append(2) or (0,)


@case()
def computes_in_order():
    seen = []

    def note(x, result):
        seen.append(x)
        return result

    found = [
        note(1, 0) in note(2, (0,)),
        note(3, 0) not in note(4, (0,)),
        note(5, 0) or note(6, 1) and note(7, 2),
        note(8, 1) if note(9, 0) else note(10, 2),
    ]
    return found, seen


@case((0, 1), (1, 1), (2, 0))
def walrus(a, b):
    if (n := a + 1) > 1 and (m := b):
        return n, m
    if not (a and (k := b)):
        k = "none"
    z = (p := 1) if a else (q := 2)
    while (a := a - 1) > -2 and (last := a) < 5:
        k = last
    total = a or (w := 5)
    return n, k, z, total, [y := x for x in range(3)], y, 0 < (r := b) < 5, r


@case(0, 1)
def walrus_unbound(a):
    a and (b := 2)
    return b


@case(0, 1, 2)
def walrus_in_an_argument(a):
    return [a, (a or (b := 3)) and a, sum([a, a and (c := 4)])]


@case(3)
def comprehensions(n):
    limit = 2
    return (
        [x and limit for x in range(n)],
        {x: not x for x in range(n) if x < limit or x == n - 1},
        {x if x else -1 for x in range(n)},
        [[y for y in range(x) if y in (0, 1)] for x in range(n) if not x == 1],
        list(x or limit for x in range(n)),
        [f() for f in [lambda: x and limit for x in range(n)]],
        [(lambda x: x or n)(x) for x in range(n)],
    )


@case(3)
def comprehensions_in_lambdas(n):
    limit = 2
    kept = lambda xs, least=1: [x for x in xs if x >= least and x != limit]
    inner = lambda xs: (lambda least: {x for x in xs if x > least})(1)
    best = max(range(n), key=lambda k: sum(x for x in range(k) if x != n))
    doubled = (lambda xs: [y for x in xs if (y := x * 2) > n])(range(n))
    return kept(range(n + 2)), inner(range(n + 2)), kept.__name__, kept.__qualname__, best, doubled


@case(3)
def comprehensions_hide_names(x):
    before = [x for x in range(x)]
    if x > 2:
        inside = [x for x in before if x]
        later = (lambda: x)()
    else:
        inside = later = None
    return before, inside, later, x


@case(2)
def formats(n):
    return f"{n if n > 1 else 'one'} {n and not n!r} {n:{3 if n else 4}}"


# -- functions -------------------------------------------------------------------------------------


@case(0, 5)
def recurses(n):
    def factorial(k):
        return 1 if k < 1 else k * factorial(k - 1)

    return factorial(n)


@case(0, 3)
def writes_from_inside(n):
    count = 0

    def increment(by=1):
        nonlocal count
        if by > 0:
            count += by
        return count

    if n:
        for _ in range(n):
            increment()
    twice = lambda: increment() and increment(2)
    while count < 5:
        twice()
    return count


@case(1, -1)
def shares_between_functions(n):
    state = 0

    def raise_it():
        nonlocal state
        state += 10

    def maybe(flag):
        if flag > 0:
            raise_it()
        return state

    return maybe(n), state


@case((1,), (1, 2), (1, 2, 3, 4))
def parameters(a, b=2, *rest, key=None, **more):
    if rest:
        return a, b, rest
    if key is None and not more:
        b = b if b > 2 else -b
    return a, b, key, more


@case(3)
def defaults_that_decide(n):
    def inner(x=n or 1, *, y=n and 2):
        return x, y if y else 0

    return inner(), inner(0), (lambda z=not n: z or n)()


@case(0, 1)
def defines_in_a_branch(x):
    if x:

        def answer():
            """One."""
            return 1 if x else 0

        class Named:
            """A class."""

            value = answer() and 2

            def get(self):
                return self.value
    else:
        answer = lambda: 2
        Named = None
    return answer(), answer.__qualname__, answer.__name__, answer.__doc__, Named and (Named.__qualname__, Named().get())


def decorated_by(function):
    @wraps(function)
    def wrapper(*args):
        result = function(*args)
        return result if result else "nothing"

    return wrapper


@case(0, 2)
@decorated_by
def decorated(x):
    return x and x + 1


@case(0, 2)
def uses_generators(x):
    def numbers(n):
        for i in range(n):
            if i % 2:
                yield i
        return

    return list(numbers(x)) or [y for y in numbers(4) if y]


class Base:
    def __init__(self, value):
        self.value = value
        self.__secret = value + 1

    def get(self, scale):
        return self.value * scale if scale > 1 else self.value

    def secret(self, __flag=True):
        if __flag:
            __local = self.__secret
        else:
            __local = -self.__secret
        return __local

    @property
    def positive(self):
        return self.value > 0 and not self.value > 9

    @classmethod
    def make(cls, value):
        return cls(value) if value else None

    @staticmethod
    def check(value):
        assert value > 0, f"{value} is not positive"
        return True


class Derived(Base):
    def get(self, scale):
        if scale > 0:
            return super().get(scale) + 1

        def inner(that):
            return super(Derived, that).get(2) if scale else __class__.__name__

        return inner(self)


# -- errors ----------------------------------------------------------------------------------------


@case(0, 1, 2, 3)
def tries(x):
    seen = []
    for k in range(3):
        try:
            seen.append("try")
            if k == x:
                raise KeyError(k)
            if x == 3 and k == 1:
                continue
        except KeyError as error:
            seen.append(str(error))
            if k == 2:
                break
            continue
        else:
            seen.append("else")
        finally:
            seen.append("finally")
        seen.append("after")
    return seen


@case(0, 1, 2, 3)
def returns_from_try(x):
    try:
        if x == 1:
            return "body"
        if x == 2:
            raise ValueError
    except ValueError:
        return "handler"
    else:
        if x == 3:
            return "else"
    finally:
        x += 10
    return x


@case(0, 1)
def returns_from_finally(x):
    try:
        raise ValueError
    finally:
        return 1 and x


@case(0, 1)
def raises_again(x):
    try:
        raise KeyError("first")
    except KeyError as error:
        if x:
            raise
        raise RuntimeError("second") from error


@case(0, 1)
def handled_name_is_gone(x):
    try:
        1 // x
    except ZeroDivisionError as error:
        if not x:
            pass
    return error


@case(-1, 0, 1)
def asserts(x):
    assert x
    assert x > 0, ("not positive", x)
    return x


@contextmanager
def noting(seen: list[Any]) -> Iterator[str]:
    seen.append("enter")
    try:
        yield "entered"
    finally:
        seen.append("exit")


@case(0, 1, 2, 3)
def manages(x):
    seen = []
    for k in range(3):
        with noting(seen) as word, suppress(KeyError):
            if k == x:
                return seen, word
            if k == 1:
                raise KeyError
            if x == 3:
                break
            seen.append(k)
    return seen


class Refuses:
    def __init__(self, seen):
        self.seen = seen

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        self.seen.append("refused")
        raise KeyError


@case(0, 1, 2, 3)
def exceptions_overtake_jumps(x):
    seen = []
    for k in range(3):
        try:
            with Refuses(seen):
                if x == 0:
                    return "returned"
                if x == 1:
                    break
                if x == 2:
                    continue
            seen.append("never")
        except KeyError:
            seen.append(k)
        seen.append("after")
    else:
        seen.append("else")
    for k in range(3):
        with suppress(KeyError):
            try:
                if x == 0:
                    return "returned"
                if x == 1:
                    break
                if x == 2:
                    continue
            finally:
                seen.append("finally")
                {}[k]
            seen.append("never")
        seen.append("swallowed")
    else:
        seen.append("else")
    return seen


@case(0, 1)
def swallows(x):
    with suppress(ValueError):
        if x:
            raise ValueError
        return "returned"
    return "swallowed"


@case(0, 1, (1, 2), ([1, 2, 3],), {"k": 0}, "other")
def matches(*subject):
    for item in subject:
        match item:
            case 0:
                found = "zero"
            case int(n) if n > 0 and n < 9:
                found = n
            case [first, *rest] if rest or not first:
                found = first, rest
            case {"k": value, **others}:
                if not value:
                    return "empty", others
                found = value
            case _:
                found = None
        if found is None:
            break
    return found


@case(0, 1, 2, 3, 7, None, "two", True)
def matches_values(x):
    match x:
        case 0:
            return "zero"
        case 1 | 2 if x == 2:
            y = "two"
        case None | "two":
            y = "none"
        case y if y == 7:
            y = "seven"
        case z:
            y = z
    return y, x


@case(0, 5, 12, 1.5, 0.5, None, "a")
def matches_classes(x):
    match x:
        case int(n) if n > 9:
            return "many", n
        case int(n) if n:
            y = n
        case int(real=part):
            y = part, n
        case float(n) if n > 1:
            y = n
        case float() | None:
            y = "other"
        case _:
            return n
    return y, n


@case((0, 0), (0, 1), (2, 0), (3, 4))
def matches_pairs(x, y):
    found = []
    for step in range(2):
        match x, y + step:
            case 0, 0:
                continue
            case 0, _:
                found.append("left")
            case a, 0:
                found.append(a)
            case a, b:
                found.append((a, b))
                break
    return found


@case((1, 2), (2, 1), (True, False))
def compares_tuples(x, y):
    if (x, y) == (1, 2) or [x, y] != [2, 1]:
        return x is True, y is not False
    return (x, y) in [(2, 1), (3, 4)]


@case(1)
def uses_global_names(x):
    global NOT_THERE_YET
    if x:
        NOT_THERE_YET = x
    return NOT_THERE_YET if x else None


@case(0, 1)
def annotated(x):
    y: int
    z: list[int] = [x]
    if x:
        y: int = 3
    for i in z:
        w: int = i or 2
    return y if x else w


@case(0, 1)
def imports_in_a_branch(x):
    if x:
        import os.path as path
        from math import floor as down, pi
    else:
        import os

        path, down, pi = os.path, int, 3
    return path.join("a", "b"), down(2.5), pi > 3


@case(3)
def dead_code(x):
    if x:
        return x
        never = 1
    else:
        raise ValueError
    return never


@case(0, 1)
def docstring_stays(x):
    """A docstring."""
    return x or None


@case(*range(6))
def many_returns(x):
    for i in range(3):
        for j in range(3):
            while True:
                if i * 3 + j == x:
                    return i, j
                if j == 2 and i == 1:
                    return "middle"
                break
            if j == 1:
                break
        if x == 5 and i == 0:
            continue
    return "end"
