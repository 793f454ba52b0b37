"""The second half of the trampoline behind ``invoke``: what a routine returned becomes the program's, as LLVM text.

Where the program has named memory, arrays are copied to it. Where memory is left to the caller, an array that is the
pool's and that nobody else holds is not copied: it is left without its memory, which is the result.
"""

from __future__ import annotations

from jitflow.runtime.calls.host_call_fields import RESULT_FIELDS, Site, fields_of, require_sole_owner
from jitflow.runtime.native import object_layout as layout
from jitflow.runtime.native.llvm_text import FunctionText
from jitflow.runtime.native.python_api import PythonCalls

__all__ = ["take_result_text", "take_results"]


def take_results(function: FunctionText, site: Site, api: str, found: str, failed: str) -> None:
    """Copy or take over one result, or each item of a tuple, unless somebody else holds that."""
    described, tuple_type = site.load("ptr", "described"), site.load("ptr", "result_type")
    single, several, done = (function.label(hint) for hint in ("single", "several", "done"))
    firsts, allocate, handler = (site.load("ptr", field) for field in ("firsts", "allocate", "handler"))
    sole = function.compare("eq", function.load("i32", found, layout.REFERENCES), "1", "i32")
    handler = function.let(f"select i1 {sole}, ptr {handler}, ptr null")
    function.branch(function.is_null(tuple_type), single, several)

    def take(thing: str, description: str, start: str) -> str:
        return function.call(
            "i64", "@take_result", f"ptr {api}", f"ptr {thing}", f"ptr {description}", "ptr %results", f"i64 {start}",
            f"ptr {firsts}", f"ptr {allocate}", f"ptr {handler}",
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
        used = take(thing, fields_of(function, described, number, RESULT_FIELDS), function.load("i64", cursor))
        function.require(function.compare("ne", used, "0"), failed)
        function.add_to(cursor, 0, used)
    function.jump(done)
    function.begin(done)


def take_result_text() -> str:
    """Copy a result into the memory that its words name, and say how many words these are; 0 if it does not fit.

    Where they name none, it is the result's own, if that is of the handler.
    """
    function = FunctionText(
        "internal i64 @take_result(ptr %api, ptr %thing, ptr %described, ptr %results, i64 %place, ptr %firsts, "
        "ptr %allocate, ptr %handler)"
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
        copied = function.label("copied")
        _take_over(function, words, copied)
        function.give("i64", function.let(f"add i64 {rank}, 1"))
        function.begin(copied)
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


def _take_over(function: FunctionText, words: str, otherwise: str) -> None:
    """Make the memory of an array the result, and leave the array without it."""
    flags = function.load("i32", "%thing", layout.ARRAY_FLAGS)
    whole = layout.C_CONTIGUOUS | layout.OWNS_DATA
    function.require(function.compare("eq", function.let(f"and i32 {flags}, {whole}"), str(whole), "i32"), otherwise)
    require_sole_owner(function, "%thing", otherwise)
    handler = function.load("ptr", "%thing", layout.ARRAY_MEMORY_HANDLER)
    function.require_not(function.is_null(handler), otherwise)
    function.require(function.compare("eq", handler, "%handler", "ptr"), otherwise)
    function.store("ptr", function.load("ptr", "%thing", layout.ARRAY_DATA), words)
    function.store("i32", function.let(f"and i32 {flags}, {~layout.OWNS_DATA}"), "%thing", layout.ARRAY_FLAGS)
    function.store("ptr", "null", "%thing", layout.ARRAY_MEMORY_HANDLER)
    PythonCalls(function, "%api").release(handler)


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
