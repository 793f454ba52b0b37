"""How native code binds the arguments of a call, as LLVM text.

Keywords and defaults are put in their places natively. What needs more (star parameters, a keyword
that is no parameter, a missing argument) is left to the Python method `_bind`, which returns the
flat arguments as a tuple or raises the TypeError that Python would.
"""

from __future__ import annotations

from jitflow.runtime.entry.dispatcher_layout import field_offset
from jitflow.runtime.native.llvm_text import FunctionText
from jitflow.runtime.native.object_layout import TUPLE_ITEMS
from jitflow.runtime.native.python_api import PythonCalls

_CALL = "ptr %self, ptr %args, i64 %count, ptr %names"
"""The parameters of a function that gets a vectorcall's arguments."""


def binding_functions() -> list[str]:
    """All functions of this file, `@bind` and `@call_method` for the dispatcher."""
    functions = (
        _pack_tuple,
        _pack_keywords,
        _call_method,
        _bind_in_python,
        _fill_keywords,
        _positional_default,
        _keyword_default,
        _fill_defaults,
        _bind,
    )
    return [write() for write in functions]


def load_field(function: FunctionText, name: str, kind: str = "ptr") -> str:
    """Load a field of `%self`."""
    return function.load(kind, "%self", field_offset(name))


def start(signature: str) -> tuple[FunctionText, PythonCalls]:
    """Begin a function of the dispatcher's module, which finds the API table in a global variable."""
    function = FunctionText(signature)
    return function, PythonCalls(function, function.load("ptr", "@api"))


# -- calls into Python -----------------------------------------------------------------------------


def _pack_tuple() -> str:
    """The positional arguments as a tuple."""
    function, python = start("internal ptr @pack_tuple(ptr %args, i64 %count)")
    packed = python.call("ptr", "PyTuple_New", "i64 %count")
    with function.when(function.is_null(packed)):
        function.give("ptr", "null")
    with function.each_below("%count") as index:
        thing = function.load("ptr", function.element("%args", index))
        python.own(thing)
        python.call("i32", "PyTuple_SetItem", f"ptr {packed}", f"i64 {index}", f"ptr {thing}")
    function.give("ptr", packed)
    return function.text()


def _pack_keywords() -> str:
    """The keyword arguments as a dict."""
    function, python = start("internal ptr @pack_keywords(ptr %values, ptr %names)")
    packed = python.call("ptr", "PyDict_New")
    has_nothing = function.let(f"or i1 {function.is_null(packed)}, {function.is_null('%names')}")
    with function.when(has_nothing):
        function.give("ptr", packed)
    with function.each_below(python.call("i64", "PyTuple_Size", "ptr %names")) as index:
        name = function.load("ptr", function.element("%names", index), TUPLE_ITEMS)
        value = function.load("ptr", function.element("%values", index))
        status = python.call("i32", "PyDict_SetItem", f"ptr {packed}", f"ptr {name}", f"ptr {value}")
        with function.when(function.compare("ne", status, "0", "i32")):
            python.release(packed)
            function.give("ptr", "null")
    function.give("ptr", packed)
    return function.text()


def _call_method() -> str:
    """`self.method(args, kwargs)` with the arguments of a vectorcall; what that raises comes from here."""
    function, python = start("internal ptr @call_method(ptr %self, ptr %method, ptr %args, i64 %count, ptr %names)")
    stack = function.stack(3)
    positional = function.call("ptr", "@pack_tuple", "ptr %args", "i64 %count")
    with function.when(function.is_null(positional)):
        function.give("ptr", "null")
    values = function.element("%args", "%count")
    keywords = function.call("ptr", "@pack_keywords", f"ptr {values}", "ptr %names")
    with function.when(function.is_null(keywords)):
        python.release(positional)
        function.give("ptr", "null")
    for place, thing in enumerate(("%self", positional, keywords)):
        function.store("ptr", thing, stack, 8 * place)
    result = python.call("ptr", "PyObject_VectorcallMethod", "ptr %method", f"ptr {stack}", "i64 3", "ptr null")
    python.release(positional)
    python.release(keywords)
    with function.when(function.is_null(result)):
        python.run("hide_frame", f"ptr {function.load('ptr', '@api')}")
    function.give("ptr", result)
    return function.text()


def _bind_in_python() -> str:
    """Let `self._bind(args, kwargs)` make the flat tuple, or raise Python's TypeError; then walk."""
    function, python = start(f"internal ptr @bind_in_python({_CALL})")
    method = function.load("ptr", "@bind_name")
    call = ("ptr %args", "i64 %count", "ptr %names")
    flat = function.call("ptr", "@call_method", "ptr %self", f"ptr {method}", *call)
    with function.when(function.is_null(flat)):
        function.give("ptr", "null")
    count = python.call("i64", "PyTuple_Size", f"ptr {flat}")
    items = function.at(flat, TUPLE_ITEMS)
    result = function.call("ptr", "@dispatcher_walk", "ptr %self", f"ptr {items}", f"i64 {count}")
    python.release(flat)
    function.give("ptr", result)
    return function.text()


# -- binding ---------------------------------------------------------------------------------------


def _fill_keywords() -> str:
    """Put keyword arguments in their places; false when Python must look at them.

    Names in calls are interned, and so are the parameters: equal names are the same object. A name
    that is a parameter but not found this way leaves the call to Python, which finds it.
    """
    function, python = start("internal i1 @fill_keywords(ptr %self, ptr %values, ptr %names, ptr %flat)")
    parameters = load_field(function, "names")
    by_position_only = load_field(function, "positional_only", "i64")
    candidates = function.let(f"sub i64 {load_field(function, 'total', 'i64')}, {by_position_only}")
    with function.each_below(python.call("i64", "PyTuple_Size", "ptr %names")) as index:
        name = function.load("ptr", function.element("%names", index), TUPLE_ITEMS)
        found = function.label("found")
        with function.each_below(candidates) as candidate:
            place = function.let(f"add i64 {by_position_only}, {candidate}")
            parameter = function.load("ptr", function.element(parameters, place), TUPLE_ITEMS)
            function.require(function.compare("ne", parameter, name, "ptr"), found)
        function.give("i1", "false")
        function.begin(found)
        target = function.element("%flat", place)
        with function.when(function.compare("ne", function.load("ptr", target), "null", "ptr")):
            function.give("i1", "false")
        function.store("ptr", function.load("ptr", function.element("%values", index)), target)
    function.give("i1", "true")
    return function.text()


def _positional_default() -> str:
    """The default of a positional parameter, borrowed; null when there is none."""
    function, python = start("internal ptr @positional_default(ptr %self, i64 %index)")
    defaults = python.call("ptr", "PyFunction_GetDefaults", f"ptr {load_field(function, 'function')}")
    with function.when(function.is_null(defaults)):
        function.give("ptr", "null")
    count = python.call("i64", "PyTuple_Size", f"ptr {defaults}")
    first = function.let(f"sub i64 {load_field(function, 'positional', 'i64')}, {count}")
    place = function.let(f"sub i64 %index, {first}")
    with function.when(function.compare("slt", place, "0")):
        function.give("ptr", "null")
    function.give("ptr", function.load("ptr", function.element(defaults, place), TUPLE_ITEMS))
    return function.text()


def _keyword_default() -> str:
    """The default of a keyword-only parameter, borrowed; null when there is none."""
    function, python = start("internal ptr @keyword_default(ptr %self, i64 %index)")
    defaults = python.call("ptr", "PyFunction_GetKwDefaults", f"ptr {load_field(function, 'function')}")
    with function.when(function.is_null(defaults)):
        function.give("ptr", "null")
    name = function.load("ptr", function.element(load_field(function, "names"), "%index"), TUPLE_ITEMS)
    function.give("ptr", python.call("ptr", "PyDict_GetItemWithError", f"ptr {defaults}", f"ptr {name}"))
    return function.text()


def _fill_defaults() -> str:
    """Fill empty places from the function's current defaults; false when one stays empty.

    What is filled in is owned, and noted in `owned`: the defaults may be replaced during the call.
    """
    function, python = start("internal i1 @fill_defaults(ptr %self, ptr %flat, ptr %owned)")
    positional = load_field(function, "positional", "i64")
    with function.each_below(load_field(function, "total", "i64")) as index:
        target = function.element("%flat", index)
        with function.when(function.is_null(function.load("ptr", target))):
            by_position = function.compare("slt", index, positional)
            finder = function.let(f"select i1 {by_position}, ptr @positional_default, ptr @keyword_default")
            value = function.call("ptr", finder, "ptr %self", f"i64 {index}")
            with function.when(function.is_null(value)):
                function.give("i1", "false")
            python.own(value)
            function.store("ptr", value, target)
            function.store("ptr", value, function.element("%owned", index))
    function.give("i1", "true")
    return function.text()


def _bind() -> str:
    """Make the flat arguments of a call with keywords or defaults, and walk."""
    function, python = start(f"internal ptr @bind({_CALL})")
    call = ("ptr %self", "ptr %args", "i64 %count", "ptr %names")
    in_python = function.label("in_python")
    total = load_field(function, "total", "i64")
    function.require(function.compare("sge", total, "0"), in_python)
    function.require(function.compare("sle", "%count", load_field(function, "positional", "i64")), in_python)
    flat, owned = (function.let(f"alloca ptr, i64 {total}") for _ in range(2))
    with function.each_below(total) as index:
        for array in (flat, owned):
            function.store("ptr", "null", function.element(array, index))
    with function.each_below("%count") as index:
        function.store("ptr", function.load("ptr", function.element("%args", index)), function.element(flat, index))
    with function.when(function.compare("ne", "%names", "null", "ptr")):
        values = function.element("%args", "%count")
        placed = function.call("i1", "@fill_keywords", "ptr %self", f"ptr {values}", "ptr %names", f"ptr {flat}")
        function.require(placed, in_python)

    filled = function.call("i1", "@fill_defaults", "ptr %self", f"ptr {flat}", f"ptr {owned}")
    complete, finished, before = function.label("complete"), function.label("finished"), function.block
    function.branch(filled, complete, finished)
    function.begin(complete)
    walked = function.call("ptr", "@dispatcher_walk", "ptr %self", f"ptr {flat}", f"i64 {total}")
    function.jump(finished)
    function.begin(finished)
    result = function.phi("ptr", ("null", before), (walked, complete))
    with function.each_below(total) as index:
        python.release(function.load("ptr", function.element(owned, index)))
    function.require(filled, in_python)
    function.give("ptr", result)
    function.begin(in_python)
    function.give("ptr", function.call("ptr", "@bind_in_python", *call))
    return function.text()
