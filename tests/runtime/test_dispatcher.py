"""The function type: binding, misses, the chain, methods, garbage collection, threads."""

from __future__ import annotations

import functools
import gc
import inspect
import pickle
import sys
import threading
import weakref
from typing import Any

import numpy as np
import pytest

from jitflow.runtime.entry import dispatcher
from jitflow.runtime.entry import plan as p
from jitflow.runtime.entry.dispatcher import make_function_type
from jitflow.runtime.entry.specialisation import NOT_MATCHED
from tests.runtime.conftest import Make
from tests.runtime.fakes import MULTIPLY_ADD, Methods, Missed, multiply_add, plan_of, specialise, vector_leaf


def linked(function_type: type[Any], function: Any, **options: Any) -> Any:
    """A compiled function that returns its flat arguments as a tuple."""
    names = function.__code__.co_varnames
    code = function.__code__
    stars = bool(code.co_flags & 4) + bool(code.co_flags & 8)
    names = names[: code.co_argcount + code.co_kwonlyargcount + stars]
    results = p.TupleOf(tuple(p.SameObject(index) for index in range(len(names))))
    compiled = function_type(function)
    compiled._link(specialise(plan_of(" ".join(names), (), results)))
    return compiled


# -- binding ---------------------------------------------------------------------------------------


def test_keywords_and_defaults_are_bound_as_python_does(function_type: type[Any]) -> None:
    def original(a: Any, b: Any = 2, /, c: Any = 3, *, d: Any, e: Any = 5) -> None: ...

    def expected(*arguments: Any, **keywords: Any) -> Any:
        bound = inspect.signature(original).bind(*arguments, **keywords)
        bound.apply_defaults()
        return tuple(bound.arguments.values())

    function = linked(function_type, original)
    cases: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((1,), {"d": 4}),
        ((1, 7), {"d": 4, "e": 6}),
        ((1, 7, 8), {"e": 6, "d": 4}),
        ((1,), {"c": 9, "d": 4}),
    ]
    for arguments, keywords in cases:
        assert function(*arguments, **keywords) == expected(*arguments, **keywords)


@pytest.mark.parametrize(
    ("arguments", "keywords"),
    [
        ((), {}),
        ((1,), {}),
        ((1, 2, 3), {}),
        ((1, 2, 3, 4), {"d": 1}),
        ((1, 2), {"a": 1, "d": 1}),
        ((1,), {"d": 1, "b": 1}),
        ((1,), {"d": 1, "unknown": 1}),
        ((1, 2, 3), {"d": 1, "c": 1}),
    ],
)
def test_wrong_calls_raise_pythons_own_type_error(
    function_type: type[Any], arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> None:
    def original(a: Any, b: Any, /, c: Any, *, d: Any) -> None: ...

    with pytest.raises(TypeError) as from_python:
        original(*arguments, **keywords)
    with pytest.raises(TypeError) as from_jitflow:
        linked(function_type, original)(*arguments, **keywords)
    assert str(from_jitflow.value) == str(from_python.value)


def test_defaults_are_those_of_the_moment(function_type: type[Any]) -> None:
    def original(a: Any = 1, *, b: Any = 2) -> None: ...

    function = linked(function_type, original)
    assert function() == (1, 2)
    original.__defaults__ = (10,)
    original.__kwdefaults__ = {"b": 20}
    assert function() == (10, 20)
    original.__defaults__ = None
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'a'"):
        function()


def test_star_parameters_become_a_tuple_and_a_dict(function_type: type[Any]) -> None:
    def original(a: Any, *rest: Any, b: Any = 2, **others: Any) -> None: ...

    function = linked(function_type, original)
    assert function(1) == (1, 2, (), {})
    assert function(1, 5, 6, b=3, c=4) == (1, 3, (5, 6), {"c": 4})


def test_a_keyword_name_need_not_be_interned(function_type: type[Any]) -> None:
    def original(alpha: Any, beta: Any) -> None: ...

    function = linked(function_type, original)
    name = "".join(["be", "ta"])
    assert function(1, **{name: 2}) == (1, 2)


def test_defaults_are_not_leaked(function_type: type[Any]) -> None:
    value = object()

    def original(a: Any, b: Any = value, *, c: Any = value) -> None: ...

    function = linked(function_type, original)
    before = sys.getrefcount(value)
    for _ in range(1000):
        function(1)
        function(a=1, c=2)
    assert sys.getrefcount(value) == before


# -- misses ----------------------------------------------------------------------------------------


def test_a_miss_gets_the_arguments_as_they_were(function_type: type[Any]) -> None:
    def original(a: Any, b: Any = 2, *rest: Any, c: Any = 3) -> None: ...

    function = function_type(original)
    assert function(1, b=5) == Missed((1,), {"b": 5})
    assert function(1, 2, 3, c=4) == Missed((1, 2, 3), {"c": 4})
    assert function(0) == Missed((0,), {})


def test_a_miss_may_raise(make: Make) -> None:
    class Strict(Methods):
        def _miss(self, arguments: Any, keywords: Any) -> Any:
            raise LookupError("nothing matches")

    for native in (True, False):
        function = make_function_type(Strict, native=native)(lambda x: x)
        with pytest.raises(LookupError, match="nothing matches"):
            function(1)


def test_call_linked_says_when_nothing_matches(make: Make) -> None:
    function = make(plan_of("x", (p.IsType(0, int),), p.SameObject(0)))
    assert function._call_linked((3,)) == 3
    assert function._call_linked(("3",)) is NOT_MATCHED


# -- the chain -------------------------------------------------------------------------------------


def test_the_specialisation_that_matches_is_called_and_counted(function_type: type[Any]) -> None:
    function = function_type(lambda x: x)
    types = (int, str, float, list)
    chain = [specialise(plan_of("x", (p.IsType(0, kind),), p.ConstantObject(kind))) for kind in types]
    for specialisation in chain:
        function._link(specialisation)
    for value in (1, "a", 1.0, [], 2, "b", 3):
        assert function(value) is type(value)
    assert [specialisation.hits for specialisation in chain] == [3, 2, 1, 1]
    assert function._specialisations == tuple(chain)
    assert isinstance(function({}), Missed)
    function._unlink(chain[1])
    assert isinstance(function("a"), Missed)
    assert function([]) is list
    function._unlink_all()
    assert function._specialisations == ()
    assert isinstance(function(1), Missed)
    assert all(specialisation.active_calls == 0 for specialisation in chain)


def test_unlinked_code_is_freed(function_type: type[Any]) -> None:
    function = function_type(lambda x: x)
    specialisation = specialise(plan_of("x"))
    reference = weakref.ref(specialisation)
    function._link(specialisation)
    function(1)
    function._unlink(specialisation)
    del specialisation
    gc.collect()
    assert reference() is None


def test_unlinking_from_inside_a_guard_is_safe(function_type: type[Any], is_native: bool) -> None:
    """An attribute that is read by a guard removes the very specialisation that is being checked."""

    class Trap:
        armed = False

        @property
        def mode(self) -> str:
            if self.armed:
                function._unlink_all()
                gc.collect()
            return "mode"

    function = function_type(lambda x: x)
    plan = plan_of("x", (p.IsObject(1, "mode"), p.IsType(0, str)), reads=(p.Attribute(0, "mode"),))
    other = plan_of("x", (p.IsType(0, int),))
    for each in (other, plan, plan):
        function._link(specialise(each))
    trap = Trap()
    assert isinstance(function(trap), Missed)
    trap.armed = True
    assert isinstance(function(trap), Missed)
    assert function._specialisations == ()
    if is_native:
        assert dispatcher._retired
    function._link(kept := specialise(other))
    function._unlink(kept)
    assert dispatcher._retired == {}


def test_linking_and_unlinking_while_eight_threads_call(function_type: type[Any]) -> None:
    function = function_type(lambda a, b: None)
    arrays = np.arange(30_000, dtype="f4"), np.ones(30_000, "f4")  # large enough to release the GIL
    expected = arrays[0] * 2
    function._link(specialise(MULTIPLY_ADD, multiply_add))
    stop = threading.Event()
    wrong: list[Any] = []

    def call() -> None:
        while not stop.is_set():
            result = function(*arrays)
            if not isinstance(result, Missed) and not np.array_equal(result, expected):
                wrong.append(result)
            function(1, 2)

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(40):
            function._link(specialise(MULTIPLY_ADD, multiply_add))
            function._unlink(function._specialisations[0])
            if len(function._specialisations) > 3:
                function._unlink_all()
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert wrong == []
    function._unlink_all()
    assert all(specialisation.active_calls == 0 for specialisation in dispatcher._retired.values())


# -- the type --------------------------------------------------------------------------------------


def test_methods_attributes_and_properties(is_native: bool) -> None:
    class Function(Methods):
        """A compiled function."""

        def __init__(self, function: Any, tag: str) -> None:
            Methods.__init__(self, function)
            self.tag = tag
            functools.update_wrapper(self, function)

        def ir(self) -> str:
            return f"ir of {self.tag}"

        @property
        def size(self) -> int:
            return len(self.tag)

        @classmethod
        def make(cls, tag: str) -> Any:
            return cls(lambda: None, tag)

        def __repr__(self) -> str:
            return f"<function {self.tag}>"

    compiled_type = make_function_type(Function, native=is_native)

    def original(a: int, b: str = "x") -> None:
        """What it does."""

    function = compiled_type(original, "tagged")
    assert function.ir() == "ir of tagged"
    assert function.size == 6
    assert repr(function) == "<function tagged>"
    assert compiled_type.make("other").tag == "other"
    assert function.__doc__ == "What it does."
    assert function.__name__ == "original"
    assert inspect.signature(function) == inspect.signature(original)
    assert compiled_type.__name__ == "Function"
    assert compiled_type.__doc__ == "A compiled function."
    compiled_type.added_later = lambda self: self.tag * 2
    assert function.added_later() == "taggedtagged"
    with pytest.raises((TypeError, pickle.PicklingError, AttributeError)):
        pickle.dumps(function)


def test_functions_are_descriptors(function_type: type[Any]) -> None:
    def original(self: Any, x: Any) -> None: ...

    function = linked(function_type, original)
    owner = type("Owner", (), {"method": function})
    instance = owner()
    assert instance.method(3) == (instance, 3)
    assert owner.method is function
    bound = instance.method
    assert bound(4) == (instance, 4)
    assert bound.__self__ is instance
    assert functools.partial(function, 1)(2) == (1, 2)
    assert list(map(function, [1], [2])) == [(1, 2)]
    assert bool(inspect.ismethod(bound))


def test_functions_are_garbage_collected(function_type: type[Any]) -> None:
    references = []
    for _ in range(20):
        namespace: dict[str, Any] = {}
        exec("def f(x): ...", namespace)
        function = function_type(namespace["f"])
        namespace["f"] = function  # a cycle through the globals that a plan refers to
        function._link(specialise(plan_of("x", (), p.SameObject(1), reads=(p.Global(namespace, "f"),))))
        assert function(1) is function
        references.append(weakref.ref(function))
        del function, namespace
    gc.collect()
    assert [reference() for reference in references] == [None] * 20


def test_types_are_garbage_collected(is_native: bool) -> None:
    local = type("Local", (Methods,), {})
    made = make_function_type(local, native=is_native)
    made.itself = made(lambda: None)
    reference = weakref.ref(made)
    del made
    gc.collect()
    assert reference() is None


def test_plain_calls_leak_nothing(make: Make) -> None:
    function = make(plan_of("x", (vector_leaf(0, 0),), p.SameObject(0)))
    array = np.zeros(4, "f4")
    references = sys.getrefcount(function), sys.getrefcount(array)
    for _ in range(1000):
        function(array)
        function(x=array)
        function(None)
    assert (sys.getrefcount(function), sys.getrefcount(array)) == references
