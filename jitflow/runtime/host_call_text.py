"""The trampoline behind ``invoke``, as LLVM text: the way that most calls of a routine take.

``i32 invoke(ptr record, ptr operands, ptr results)`` takes the GIL and calls the routine with the arrays of the last
call. Mostly the operand words are those of the last call, which the pool sees to; where they are not, in a loop over
rows, the arrays are *aimed* at other memory, other dims and strides, unless somebody else holds them. Numbers among
the arguments are made anew. Then it looks at what came back: arrays or NumPy scalars of the expected dtypes and dims.
They are copied into the program's memory. In every other case (no arrays yet, a result of another kind, ...) it calls
the function of Python's behind `slow`, `host_calls.CallSite.run`, which knows all cases and notes the arrays for the
next call.

That repeats the call of a routine that returned something unexpected. Routines of libraries are pure, so it gives the
same again; callbacks of the user's always go the slow way. An exception, which may be a signal handler's, is put away,
and the answer is 1.
"""

from __future__ import annotations

from jitflow.runtime import object_layout as layout
from jitflow.runtime.llvm_text import FunctionText
from jitflow.runtime.python_api import PythonCalls

__all__ = ["ARRAY_FIELDS", "NUMBER_FIELDS", "NUMBER_KINDS", "RESULT_FIELDS", "SITE_FIELDS", "invoke_text",
           "slow_invoke_text"]  # fmt: skip

SITE_FIELDS = (
    "api", "slow", "callable", "arguments", "positional", "keywords", "operand_words", "results", "result_type",
    "firsts", "variable", "value", "allocate", "described", "words", "array_count", "arrays", "number_count", "numbers",
    "update_flags",
)  # fmt: skip
"""The 64-bit words of a record. ``arguments`` is null unless the fast way may be taken: a tuple of those by position,
of which there are ``positional``, and of those by keyword, whose names are the tuple ``keywords``. ``variable`` and
``value``: the context variable that is set during the call, null for none. ``described`` points to `RESULT_FIELDS` for
each of ``results`` results, ``words`` to the operand words of the last call, ``arrays`` to `ARRAY_FIELDS` for each
operand that is an array, ``numbers`` to `NUMBER_FIELDS` for each other one. ``firsts``: for each word of the results
that is a size which the call binds, the place of the first word of this size, and -1 for all others."""

ARRAY_FIELDS = ("array", "start", "words")
"""The array of an operand, where its words begin, and how many its dims and strides are."""

NUMBER_FIELDS = ("kind", "dtype", "start", "place")
"""A number: one of `NUMBER_KINDS`, its dtype, where its word is, and its place among the arguments."""

NUMBER_KINDS = ("numpy", "bool", "i64", "f64", "c128")
"""NumPy's scalar of the dtype, or Python's number."""

RESULT_FIELDS = ("type", "dtype", "number", "rank", "itemsize")
"""What a result must be: an array or NumPy scalar of this type, dtype (or its number) and rank."""


def site_offset(field: str) -> int:
    """Where a field of a record lies, in bytes."""
    return 8 * SITE_FIELDS.index(field)


def invoke_text() -> str:
    """The whole module."""
    declared = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"
    return "\n".join([declared, _make_number(), _take_result(), _invoke()])


class _Site:
    """The fields of the record, loaded where they are needed."""

    def __init__(self, function: FunctionText) -> None:
        self._function = function

    def load(self, kind: str, field: str) -> str:
        return self._function.load(kind, "%record", site_offset(field))


def _invoke() -> str:
    function = FunctionText("i32 @invoke(ptr %record, ptr %operands, ptr %results)")
    site = _Site(function)
    api = function.load_first("ptr", "%record", site_offset("api"))
    python = PythonCalls(function, api)
    slow, unexpected, raised = (function.label(hint) for hint in ("slow", "unexpected", "raised"))
    given, state = function.stack(3), python.call("i32", "PyGILState_Ensure")
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
    python.release(arguments)
    function.require_not(function.is_null(found), raised)
    _take_results(function, site, api, found, unexpected)
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


def _aim(function: FunctionText, site: _Site, arguments: str, slow: str) -> None:
    """Make the arrays of the last call show what the operand words say, if nobody else can see them."""
    arrays, count = site.load("ptr", "arrays"), site.load("i64", "array_count")
    _require_sole_owner(function, arguments, slow)
    with function.each_below(count) as number:
        _require_sole_owner(function, function.load("ptr", _row(function, arrays, number, ARRAY_FIELDS)), slow)
    with function.each_below(count) as number:
        fields = _row(function, arrays, number, ARRAY_FIELDS)
        array, start, words = (function.load(kind, fields, 8 * k) for k, kind in enumerate(("ptr", "i64", "i64")))
        given = function.element("%operands", start)
        function.store("ptr", function.load("ptr", given), array, layout.ARRAY_DATA)
        _copy_words(function, function.load("ptr", array, layout.ARRAY_DIMS), function.at(given, 8), words)
        function.run(
            site.load("ptr", "update_flags"), f"ptr {array}", f"i32 {layout.C_CONTIGUOUS | layout.F_CONTIGUOUS}"
        )
    _copy_words(function, site.load("ptr", "words"), "%operands", site.load("i64", "operand_words"))


def _renew_numbers(
    function: FunctionText, site: _Site, python: PythonCalls, api: str, arguments: str, slow: str
) -> None:
    """Put the numbers of this call among the arguments of the last one, if nobody else can see them."""
    numbers, count = site.load("ptr", "numbers"), site.load("i64", "number_count")
    with function.when(function.compare("ne", count, "0")):
        _require_sole_owner(function, arguments, slow)
        with function.each_below(count) as number:
            fields = _row(function, numbers, number, NUMBER_FIELDS)
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


def _row(function: FunctionText, table: str, number: str, fields: tuple[str, ...]) -> str:
    return function.element(table, function.let(f"mul i64 {number}, {len(fields)}"))


def _require_sole_owner(function: FunctionText, thing: str, otherwise: str) -> None:
    """Another thread that is inside of a call owns what it uses, and so does a result that is a view of an operand."""
    function.require(function.compare("eq", function.load("i32", thing, layout.REFERENCES), "1", "i32"), otherwise)


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
    slow = _Site(function).load("ptr", "slow")
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


def _take_results(function: FunctionText, site: _Site, api: str, found: str, failed: str) -> None:
    """Copy one result, or each item of a tuple."""
    described, tuple_type = site.load("ptr", "described"), site.load("ptr", "result_type")
    single, several, done = (function.label(hint) for hint in ("single", "several", "done"))
    firsts, allocate = site.load("ptr", "firsts"), site.load("ptr", "allocate")
    function.branch(function.is_null(tuple_type), single, several)

    def take(thing: str, description: str, start: str) -> str:
        return function.call(
            "i64", "@take_result", f"ptr {api}", f"ptr {thing}", f"ptr {description}", "ptr %results", f"i64 {start}",
            f"ptr {firsts}", f"ptr {allocate}",
        )  # fmt: skip

    function.begin(single)
    taken = take(found, described, "0")
    function.require(function.compare("ne", taken, "0"), failed)
    function.jump(done)
    function.begin(several)
    kind = function.load("ptr", found, layout.OBJECT_TYPE)
    function.require(function.compare("eq", kind, tuple_type, "ptr"), failed)
    cursor = function.stack(1)
    function.store("i64", "0", cursor)
    with function.each_below(site.load("i64", "results")) as number:
        thing = function.load("ptr", function.element(function.at(found, layout.TUPLE_ITEMS), number))
        used = take(thing, _row(function, described, number, RESULT_FIELDS), function.load("i64", cursor))
        function.require(function.compare("ne", used, "0"), failed)
        function.add_to(cursor, 0, used)
    function.jump(done)
    function.begin(done)


def _take_result() -> str:
    """Copy a result into the memory that its words name, and say how many words these are; 0 if it does not fit."""
    function = FunctionText(
        "internal i64 @take_result(ptr %api, ptr %thing, ptr %described, ptr %results, i64 %place, ptr %firsts, "
        "ptr %allocate)"
    )
    words = function.element("%results", "%place")
    unfit, scalar = function.label("unfit"), function.label("scalar")
    kind, dtype, number, rank, itemsize = (
        function.load("ptr" if place < 2 else "i64", "%described", 8 * place) for place in range(len(RESULT_FIELDS))
    )
    found_kind = function.load("ptr", "%thing", layout.OBJECT_TYPE)
    function.require(function.compare("eq", found_kind, kind, "ptr"), unfit)
    function.require(function.compare("ne", dtype, "null", "ptr"), scalar)
    _require_dtype(function, dtype, number, unfit)
    found_rank = function.let(f"sext i32 {function.load('i32', '%thing', layout.ARRAY_RANK)} to i64")
    function.require(function.compare("eq", found_rank, rank), unfit)
    dims, total = function.load("ptr", "%thing", layout.ARRAY_DIMS), function.stack(1)
    function.store("i64", itemsize, total)
    wanted, known = function.at(words, 8), function.at(function.element("%firsts", "%place"), 8)
    with function.each_below(rank) as axis:
        dim, word = function.load("i64", function.element(dims, axis)), function.element(wanted, axis)
        first = function.load("i64", function.element(known, axis))
        bound = function.let(f"select i1 {function.compare('sge', first, '0')}, ptr "
                             f"{function.element('%results', first)}, ptr {word}")  # fmt: skip
        expected = function.load("i64", bound)
        unbound = function.let(
            f"and i1 {function.compare('sge', first, '0')}, {function.compare('eq', expected, '-1')}"
        )
        fits = function.compare("eq", dim, expected)
        function.require(function.let(f"or i1 {fits}, {unbound}"), unfit)
        function.store("i64", dim, bound)
        function.store("i64", dim, word)
        function.store("i64", function.let(f"mul i64 {function.load('i64', total)}, {dim}"), total)
    nbytes = function.load("i64", total)
    with function.when(function.is_null(function.load("ptr", words))):
        block = function.call("ptr", "%allocate", f"i64 {nbytes}")
        function.require_not(function.is_null(block), unfit)
        function.store("ptr", block, words)
    flags = function.let(f"and i32 {function.load('i32', '%thing', layout.ARRAY_FLAGS)}, {layout.C_CONTIGUOUS}")
    with function.when(function.compare("eq", flags, "0", "i32")):
        _copy_with_gaps(function, words, rank, unfit)
        function.give("i64", function.let(f"add i64 {rank}, 1"))
    _copy(function, words, function.load("ptr", "%thing", layout.ARRAY_DATA), nbytes)
    function.give("i64", function.let(f"add i64 {rank}, 1"))
    function.begin(scalar)
    _copy(function, words, function.at("%thing", layout.VALUE), itemsize)
    function.give("i64", "1")
    function.begin(unfit)
    function.give("i64", "0")
    return function.text()


def _require_dtype(function: FunctionText, dtype: str, number: str, unfit: str) -> None:
    """The very dtype object, or another of the same number and native byte order."""
    found = function.load("ptr", "%thing", layout.ARRAY_DTYPE)
    with function.when(function.compare("ne", found, dtype, "ptr")):
        found_number = function.let(f"sext i32 {function.load('i32', found, layout.DTYPE_NUMBER)} to i64")
        order = function.load("i8", found, layout.DTYPE_BYTE_ORDER)
        same = function.compare("eq", found_number, number)
        native = function.compare("ne", order, str(ord(">")), "i8")
        function.require(function.let(f"and i1 {same}, {native}"), unfit)


def _copy_with_gaps(function: FunctionText, words: str, rank: str, unfit: str) -> None:
    """Let NumPy copy an array whose elements do not lie one after the other."""
    python = PythonCalls(function, "%api")
    kind, dtype = (function.load("ptr", "%thing", place) for place in (layout.OBJECT_TYPE, layout.ARRAY_DTYPE))
    target, dims = function.load("ptr", words), function.at(words, 8)
    python.own(dtype)  # the call takes a reference over
    flags = layout.ALIGNED | layout.WRITEABLE
    around = python.call(
        "ptr", "PyArray_NewFromDescr", f"ptr {kind}", f"ptr {dtype}", f"i32 {function.let(f'trunc i64 {rank} to i32')}",
        f"ptr {dims}", "ptr null", f"ptr {target}", f"i32 {flags}", "ptr null",
    )  # fmt: skip
    with function.when(function.is_null(around)):
        python.run("PyErr_Clear")
        function.jump(unfit)
    failed = python.call("i32", "PyArray_CopyInto", f"ptr {around}", "ptr %thing")
    python.release(around)
    with function.when(function.compare("ne", failed, "0", "i32")):
        python.run("PyErr_Clear")
        function.jump(unfit)


def _copy(function: FunctionText, words: str, source: str, nbytes: str) -> None:
    target = function.load("ptr", words)
    function.run("@llvm.memcpy.p0.p0.i64", f"ptr {target}", f"ptr {source}", f"i64 {nbytes}", "i1 false")
