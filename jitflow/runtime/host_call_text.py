"""The trampoline behind ``invoke``, as LLVM text: the way that most calls of a routine take.

``i32 invoke(ptr record, ptr operands, ptr results)`` takes the GIL and calls the routine with the arrays of the last
call. Mostly the operand words are those of the last call, which the pool sees to; where they are not, in a loop over
rows, the arrays are *aimed* at other memory, other dims and strides, unless somebody else holds them. Then it looks at
what came back: arrays or NumPy scalars of the expected dtypes and dims, without gaps. Their bytes are copied into the
program's memory. In every other case (no arrays yet, a result of another kind, ...) it calls the function of Python's
behind `slow`, `host_calls.CallSite.run`, which knows all cases and notes the arrays for the next call.

That repeats the call of a routine that returned something unexpected. Routines of libraries are pure, so it gives the
same again; callbacks of the user's always go the slow way. An exception, which may be a signal handler's, is put away,
and the answer is 1.
"""

from __future__ import annotations

from jitflow.runtime import object_layout as layout
from jitflow.runtime.llvm_text import FunctionText
from jitflow.runtime.python_api import PythonCalls

__all__ = ["ARRAY_FIELDS", "RESULT_FIELDS", "SITE_FIELDS", "invoke_text", "site_offset", "slow_invoke_text"]

SITE_FIELDS = (
    "api", "slow", "callable", "arguments", "keywords", "operand_words", "results", "result_type", "fresh", "variable",
    "value", "allocate", "described", "words", "operands", "arrays", "update_flags",
)  # fmt: skip
"""The 64-bit words of a record. ``arguments`` is null unless the fast way may be taken. ``variable`` and ``value``: the
context variable that is set during the call, null for none. ``described`` points to `RESULT_FIELDS` for each of
``results`` results, ``words`` to the operand words of the last call, ``arrays`` to `ARRAY_FIELDS` for each of
``operands`` operands. ``fresh``: the only result binds its sizes."""

ARRAY_FIELDS = ("array", "words")
"""The array of an operand, and how many words its dims and strides are."""

RESULT_FIELDS = ("type", "dtype", "number", "rank", "itemsize")
"""What a result must be: an array or NumPy scalar of this type, dtype (or its number) and rank."""


def site_offset(field: str) -> int:
    """Where a field of a record lies, in bytes."""
    return 8 * SITE_FIELDS.index(field)


def invoke_text() -> str:
    """The whole module."""
    return "\n".join(["declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)", _take_result(), _invoke()])


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
    given, cursor, state = function.stack(3), function.stack(1), python.call("i32", "PyGILState_Ensure")
    arguments = site.load("ptr", "arguments")
    function.require_not(function.is_null(arguments), slow)
    words, other, aimed = site.load("ptr", "words"), function.label("other"), function.label("aimed")
    with function.each_below(site.load("i64", "operand_words")) as place:
        pair = (function.load("i64", function.element(area, place)) for area in ("%operands", words))
        function.require(function.compare("eq", *pair), other)
    function.jump(aimed)
    function.begin(other)
    _aim(function, site, arguments, cursor, slow)
    function.jump(aimed)
    function.begin(aimed)
    callee, keywords = site.load("ptr", "callable"), site.load("ptr", "keywords")
    variable, token = site.load("ptr", "variable"), function.stack(1)
    python.own(arguments)
    with function.when(function.compare("ne", keywords, "null", "ptr")):
        python.own(keywords)
    function.store("ptr", "null", token)
    with function.when(function.compare("ne", variable, "null", "ptr")):
        made = python.call("ptr", "PyContextVar_Set", f"ptr {variable}", f"ptr {site.load('ptr', 'value')}")
        function.store("ptr", made, token)
    found = python.call("ptr", "PyObject_Call", f"ptr {callee}", f"ptr {arguments}", f"ptr {keywords}")
    _keep_exception(function, python, api, found)
    _restore(function, python, variable, token)
    python.release(arguments)
    python.release(keywords)
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


def _aim(function: FunctionText, site: _Site, arguments: str, cursor: str, slow: str) -> None:
    """Make the arrays of the last call show what the operand words say, if nobody else can see them."""
    arrays, operands = site.load("ptr", "arrays"), site.load("i64", "operands")
    _require_sole_owner(function, arguments, slow)
    with function.each_below(operands) as number:
        array, _ = _array_fields(function, arrays, number)
        _require_sole_owner(function, array, slow)
    function.store("i64", "0", cursor)
    with function.each_below(operands) as number:
        array, count = _array_fields(function, arrays, number)
        given = function.element("%operands", function.load("i64", cursor))
        function.store("ptr", function.load("ptr", given), array, layout.ARRAY_DATA)
        _copy_words(function, function.load("ptr", array, layout.ARRAY_DIMS), function.at(given, 8), count)
        function.run(
            site.load("ptr", "update_flags"), f"ptr {array}", f"i32 {layout.C_CONTIGUOUS | layout.F_CONTIGUOUS}"
        )
        function.add_to(cursor, 0, function.let(f"add i64 {count}, 1"))
    _copy_words(function, site.load("ptr", "words"), "%operands", site.load("i64", "operand_words"))


def _array_fields(function: FunctionText, arrays: str, number: str) -> tuple[str, str]:
    fields = function.element(arrays, function.let(f"mul i64 {number}, {len(ARRAY_FIELDS)}"))
    return function.load("ptr", fields), function.load("i64", fields, 8)


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
    fresh, allocate = site.load("i64", "fresh"), site.load("ptr", "allocate")
    function.branch(function.is_null(tuple_type), single, several)

    def take(thing: str, description: str, words: str) -> str:
        return function.call(
            "i64", "@take_result", f"ptr {api}", f"ptr {thing}", f"ptr {description}", f"ptr {words}", f"i64 {fresh}",
            f"ptr {allocate}",
        )  # fmt: skip

    function.begin(single)
    taken = take(found, described, "%results")
    function.require(function.compare("ne", taken, "0"), failed)
    function.jump(done)
    function.begin(several)
    kind = function.load("ptr", found, layout.OBJECT_TYPE)
    function.require(function.compare("eq", kind, tuple_type, "ptr"), failed)
    cursor = function.stack(1)
    function.store("i64", "0", cursor)
    with function.each_below(site.load("i64", "results")) as number:
        thing = function.load("ptr", function.element(function.at(found, layout.TUPLE_ITEMS), number))
        fields = function.let(f"mul i64 {number}, {len(RESULT_FIELDS)}")
        used = take(thing, function.element(described, fields),
                    function.element("%results", function.load("i64", cursor)))  # fmt: skip
        function.require(function.compare("ne", used, "0"), failed)
        function.add_to(cursor, 0, used)
    function.jump(done)
    function.begin(done)


def _take_result() -> str:
    """Copy a result into the memory that its words name, and say how many words these are; 0 if it does not fit."""
    function = FunctionText(
        "internal i64 @take_result(ptr %api, ptr %thing, ptr %described, ptr %words, i64 %fresh, ptr %allocate)"
    )
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
    flags = function.let(f"and i32 {function.load('i32', '%thing', layout.ARRAY_FLAGS)}, {layout.C_CONTIGUOUS}")
    function.require(function.compare("ne", flags, "0", "i32"), unfit)
    dims, total = function.load("ptr", "%thing", layout.ARRAY_DIMS), function.stack(1)
    function.store("i64", itemsize, total)
    wanted = function.at("%words", 8)
    with function.each_below(rank) as axis:
        dim, word = function.load("i64", function.element(dims, axis)), function.element(wanted, axis)
        expected = function.load("i64", word)
        fits = function.compare("eq", dim, expected)
        binds = function.let(
            f"and i1 {function.compare('eq', expected, '-1')}, {function.compare('ne', '%fresh', '0')}"
        )
        function.require(function.let(f"or i1 {fits}, {binds}"), unfit)
        function.store("i64", function.let(f"mul i64 {function.load('i64', total)}, {dim}"), total)
    nbytes = function.load("i64", total)
    with function.when(function.is_null(function.load("ptr", "%words"))):
        block = function.call("ptr", "%allocate", f"i64 {nbytes}")
        function.require_not(function.is_null(block), unfit)
        function.store("ptr", block, "%words")
        with function.each_below(rank) as axis:
            dim = function.load("i64", function.element(dims, axis))
            function.store("i64", dim, function.element(wanted, axis))
    source = function.load("ptr", "%thing", layout.ARRAY_DATA)
    _copy(function, source, nbytes)
    function.give("i64", function.let(f"add i64 {rank}, 1"))
    function.begin(scalar)
    _copy(function, function.at("%thing", layout.VALUE), itemsize)
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


def _copy(function: FunctionText, source: str, nbytes: str) -> None:
    target = function.load("ptr", "%words")
    function.run("@llvm.memcpy.p0.p0.i64", f"ptr {target}", f"ptr {source}", f"i64 {nbytes}", "i1 false")
