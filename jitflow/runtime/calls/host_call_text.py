"""The trampoline behind ``invoke``, as LLVM text: the way that most calls of a routine take.

``i32 invoke(ptr record, ptr operands, ptr results)`` takes the GIL and calls the routine with the arrays of the last
call. Mostly the operand words are those of the last call, which the pool sees to; where they are not, in a loop over
rows, the arrays are *aimed* at other memory, other dims and strides, unless somebody else holds them. Numbers among
the arguments are made anew. Then it looks at what came back: arrays or NumPy scalars of the expected dtypes and dims.
They become the program's (`host_call_results_text`). In every other case (no arrays yet, a result of another kind, ...)
it calls the function of Python's behind `slow`, `host_calls.CallSite.run`, which knows all cases and notes the arrays
for the next call.

That repeats the call of a routine that returned something unexpected. Routines of libraries are pure, so it gives the
same again; callbacks of the user's always go the slow way. An exception, which may be a signal handler's, is put away,
and the answer is 1.

While a routine works on large operands NumPy takes its memory from the pool, which has it at hand where the system
would make new pages at each call. So arrays that come back may be handed on as they are.
"""

from __future__ import annotations

from jitflow.runtime.calls.host_call_fields import (
    ARRAY_FIELDS,
    NUMBER_FIELDS,
    NUMBER_KINDS,
    Site,
    fields_of,
    require_sole_owner,
    site_offset,
)
from jitflow.runtime.calls.host_call_results_text import take_result_text, take_results
from jitflow.runtime.native import object_layout as layout
from jitflow.runtime.native.llvm_text import FunctionText
from jitflow.runtime.native.python_api import PythonCalls

__all__ = ["invoke_text", "slow_invoke_text"]

LARGE_OPERAND = 4096
"""Elements of an operand from which on results are taken over: to tell NumPy where memory is from costs 0.1 us."""


def invoke_text() -> str:
    """The whole module."""
    declared = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"
    return "\n".join([declared, _make_number(), take_result_text(), _invoke()])


def _invoke() -> str:
    function = FunctionText("i32 @invoke(ptr %record, ptr %operands, ptr %results)")
    site = Site(function)
    api = function.load_first("ptr", "%record", site_offset("api"))
    python = PythonCalls(function, api)
    slow, unexpected, raised = (function.label(hint) for hint in ("slow", "unexpected", "raised"))
    given, handler_before = function.stack(3), function.stack(1)
    state = python.call("i32", "PyGILState_Ensure")
    arguments = site.load("ptr", "arguments")
    function.require_not(function.is_null(arguments), slow)
    words, other, aimed = site.load("ptr", "words"), function.label("other"), function.label("aimed")
    with function.each_below(site.load("i64", "operand_words")) as place:
        pair = (function.load("i64", function.element(area, place)) for area in ("%operands", words))
        function.require(function.compare("eq", *pair), other)
    function.jump(aimed)
    function.begin(other)
    _aim(function, site, arguments, slow)
    function.jump(aimed)
    function.begin(aimed)
    callee, keywords = site.load("ptr", "callable"), site.load("ptr", "keywords")
    _renew_numbers(function, site, python, api, arguments, slow)
    _take_memory_from_pool(function, site, python, handler_before)
    variable, token = site.load("ptr", "variable"), function.stack(1)
    python.own(arguments)
    function.store("ptr", "null", token)
    with function.when(function.compare("ne", variable, "null", "ptr")):
        made = python.call("ptr", "PyContextVar_Set", f"ptr {variable}", f"ptr {site.load('ptr', 'value')}")
        function.store("ptr", made, token)
    found = python.call(
        "ptr", "PyObject_Vectorcall", f"ptr {callee}", f"ptr {function.at(arguments, layout.TUPLE_ITEMS)}",
        f"i64 {site.load('i64', 'positional')}", f"ptr {keywords}",
    )  # fmt: skip
    _keep_exception(function, python, api, found)
    _restore(function, python, variable, token)
    _take_memory_as_before(function, python, handler_before)
    python.release(arguments)
    function.require_not(function.is_null(found), raised)
    take_results(function, site, api, found, unexpected)
    python.release(found)
    _finish(function, python, state, "0")
    function.begin(unexpected)
    python.release(found)
    function.jump(slow)
    function.begin(raised)
    _finish(function, python, state, "1")
    function.begin(slow)
    _finish(function, python, state, _slow_way(function, python, api, given))
    return function.text()


def _aim(function: FunctionText, site: Site, arguments: str, slow: str) -> None:
    """Make the arrays of the last call show what the operand words say, if nobody else can see them."""
    arrays, count = site.load("ptr", "arrays"), site.load("i64", "array_count")
    require_sole_owner(function, arguments, slow)
    with function.each_below(count) as number:
        require_sole_owner(function, function.load("ptr", fields_of(function, arrays, number, ARRAY_FIELDS)), slow)
    with function.each_below(count) as number:
        fields = fields_of(function, arrays, number, ARRAY_FIELDS)
        array, start, words = (function.load(kind, fields, 8 * k) for k, kind in enumerate(("ptr", "i64", "i64")))
        given = function.element("%operands", start)
        function.store("ptr", function.load("ptr", given), array, layout.ARRAY_DATA)
        _copy_words(function, function.load("ptr", array, layout.ARRAY_DIMS), function.at(given, 8), words)
        function.run(
            site.load("ptr", "update_flags"), f"ptr {array}", f"i32 {layout.C_CONTIGUOUS | layout.F_CONTIGUOUS}"
        )
    _copy_words(function, site.load("ptr", "words"), "%operands", site.load("i64", "operand_words"))


def _take_memory_from_pool(function: FunctionText, site: Site, python: PythonCalls, before: str) -> None:
    """Where an operand is large, have NumPy take memory from the pool, and note by which handler it did before."""
    function.store("ptr", "null", before)
    product = function.stack(1)
    arrays = site.load("ptr", "arrays")
    with function.each_below(site.load("i64", "array_count")) as number:
        fields = fields_of(function, arrays, number, ARRAY_FIELDS)
        start, words = (function.load("i64", fields, 8 * place) for place in (1, 2))
        dims = function.at(function.element("%operands", start), 8)
        function.store("i64", "1", product)
        with function.each_below(function.let(f"lshr i64 {words}, 1")) as axis:
            dim = function.load("i64", function.element(dims, axis))
            function.store("i64", function.let(f"mul i64 {function.load('i64', product)}, {dim}"), product)
        is_large = function.compare("sge", function.load("i64", product), str(LARGE_OPERAND))
        is_first = function.is_null(function.load("ptr", before))
        with function.when(function.let(f"and i1 {is_large}, {is_first}")):
            function.store("ptr", _set_handler(function, python, site.load("ptr", "handler")), before)


def _take_memory_as_before(function: FunctionText, python: PythonCalls, before: str) -> None:
    kept = function.load("ptr", before)
    with function.when(function.compare("ne", kept, "null", "ptr")):
        python.release(_set_handler(function, python, kept))
        python.release(kept)


def _set_handler(function: FunctionText, python: PythonCalls, handler: str) -> str:
    """Make NumPy take memory by a handler. Gives the one before, or null where there was no memory to do so."""
    before = python.call("ptr", "PyDataMem_SetHandler", f"ptr {handler}")
    with function.when(function.is_null(before)):
        python.run("PyErr_Clear")
    return before


def _renew_numbers(
    function: FunctionText, site: Site, python: PythonCalls, api: str, arguments: str, slow: str
) -> None:
    """Put the numbers of this call among the arguments of the last one, if nobody else can see them."""
    numbers, count = site.load("ptr", "numbers"), site.load("i64", "number_count")
    with function.when(function.compare("ne", count, "0")):
        require_sole_owner(function, arguments, slow)
        with function.each_below(count) as number:
            fields = fields_of(function, numbers, number, NUMBER_FIELDS)
            kind, dtype, start, place = (
                function.load("ptr" if name == "dtype" else "i64", fields, 8 * k)
                for k, name in enumerate(NUMBER_FIELDS)
            )
            source = function.load("ptr", function.element("%operands", start))
            made = function.call("ptr", "@make_number", f"ptr {api}", f"i64 {kind}", f"ptr {dtype}", f"ptr {source}")
            with function.when(function.is_null(made)):
                python.run("PyErr_Clear")
                function.jump(slow)
            python.call("i32", "PyTuple_SetItem", f"ptr {arguments}", f"i64 {place}", f"ptr {made}")


def _make_number() -> str:
    """The object of a number that lies somewhere; null with an exception if there is no memory for it."""
    function = FunctionText("internal ptr @make_number(ptr %api, i64 %kind, ptr %dtype, ptr %source)")
    python = PythonCalls(function, "%api")

    def load(kind: str, offset: int = 0) -> str:
        return function.load(kind, "%source", offset)

    def from_float() -> str:
        return python.call("ptr", "PyFloat_FromDouble", f"double {load('double')}")

    def from_parts() -> str:
        return python.call("ptr", "PyComplex_FromDoubles", f"double {load('double')}", f"double {load('double', 8)}")

    def from_bool() -> str:
        truth = load("i8")
        return python.call("ptr", "PyBool_FromLong", f"i64 {function.let(f'zext i8 {truth} to i64')}")

    def from_integer() -> str:
        return python.call("ptr", "PyLong_FromLongLong", f"i64 {load('i64')}")

    made = {"bool": from_bool, "i64": from_integer, "f64": from_float, "c128": from_parts}
    for name, make in made.items():
        with function.when(function.compare("eq", "%kind", str(NUMBER_KINDS.index(name)))):
            function.give("ptr", make())
    function.give("ptr", python.call("ptr", "PyArray_Scalar", "ptr %source", "ptr %dtype", "ptr null"))
    return function.text()


def _copy_words(function: FunctionText, target: str, source: str, count: str) -> None:
    size = function.let(f"mul i64 {count}, 8")
    function.run("@llvm.memcpy.p0.p0.i64", f"ptr {target}", f"ptr {source}", f"i64 {size}", "i1 false")


def slow_invoke_text() -> str:
    """The module with the slow way alone, which knows nothing of where objects keep what."""
    function = FunctionText("i32 @invoke(ptr %record, ptr %operands, ptr %results)")
    api = function.load_first("ptr", "%record", site_offset("api"))
    python = PythonCalls(function, api)
    given, state = function.stack(3), python.call("i32", "PyGILState_Ensure")
    _finish(function, python, state, _slow_way(function, python, api, given))
    return function.text()


def _finish(function: FunctionText, python: PythonCalls, state: str, answer: str) -> None:
    python.run("PyGILState_Release", f"i32 {state}")
    function.give("i32", answer)


def _slow_way(function: FunctionText, python: PythonCalls, api: str, given: str) -> str:
    """Call the Python function with the three addresses, through an area for them; gives 1 if it raised."""
    slow = Site(function).load("ptr", "slow")
    addresses = [
        python.call("ptr", "PyLong_FromVoidPtr", f"ptr {name}") for name in ("%record", "%operands", "%results")
    ]
    for place, address in enumerate(addresses):
        function.store("ptr", address, given, 8 * place)
    result = python.call("ptr", "PyObject_Vectorcall", f"ptr {slow}", f"ptr {given}", "i64 3", "ptr null")
    _keep_exception(function, python, api, result)
    for reference in (*addresses, result):
        python.release(reference)
    return function.let(f"zext i1 {function.is_null(result)} to i32")


def _keep_exception(function: FunctionText, python: PythonCalls, api: str, found: str) -> None:
    """Put away what a call raised that gave null."""
    with function.when(function.is_null(found)):
        python.run("keep_raised", f"ptr {api}")


def _restore(function: FunctionText, python: PythonCalls, variable: str, token: str) -> None:
    kept = function.load("ptr", token)
    with function.when(function.compare("ne", kept, "null", "ptr")):
        python.call("i32", "PyContextVar_Reset", f"ptr {variable}", f"ptr {kept}")
        python.release(kept)
