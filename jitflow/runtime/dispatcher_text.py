"""The native dispatcher as LLVM text: the slots of the function type, and its chain of records.

An instance is a C struct (`INSTANCE_FIELDS`). A call binds keywords and defaults to a flat array of
arguments, walks the chain until an entry matches, and otherwise asks Python: `_bind` for calls
that need more than plain parameters, `_miss` when nothing matches.

**The chain can change under the walk**: entries read attributes, which may run any code, and
release the GIL. `version` counts changes; a walk that finds another number than it started with
begins anew. A record stays valid while its `active` count is not 0, so the walk counts itself in
before it calls an entry. All of it happens under the GIL, so plain loads and stores do.
"""

from __future__ import annotations

from jitflow.runtime.entry_frame import MISMATCH
from jitflow.runtime.llvm_text import FunctionText
from jitflow.runtime.object_layout import OBJECT_TYPE, TUPLE_ITEMS
from jitflow.runtime.python_api import PythonCalls
from jitflow.runtime.specialisation import record_offset

_OBJECT_HEAD = 16

INSTANCE_FIELDS = (
    "vectorcall",
    "dict",
    "weakrefs",
    "head",
    "version",
    "function",
    "names",
    "positional",
    "positional_only",
    "total",
    "plain",
)
"""The 64-bit words behind the object head; `dict`, `function` and `names` are references.

`names` are the parameters in the order of the flat arguments, interned; the first `positional` of
`total` can be given by position, the first `positional_only` only so. `plain` is the number of
arguments with which a call without keywords is flat already, or -1. Functions with star parameters
have a `total` of -1, and Python binds their calls.
"""

INSTANCE_SIZE = _OBJECT_HEAD + 8 * len(INSTANCE_FIELDS)

_OFFSET_ARGUMENT_FLAG = -(1 << 63)
"""The bit of a vectorcall's count that is no part of the count."""

_REFERENCES = ("dict", "function", "names")


def field_offset(name: str) -> int:
    """Where a field of an instance lies, in bytes."""
    return _OBJECT_HEAD + 8 * INSTANCE_FIELDS.index(name)


def dispatcher_text() -> str:
    """The whole module; `@api`, `@miss_name` and `@bind_name` are to be filled in before use."""
    globals_ = [f"@{name} = global ptr null" for name in ("api", "miss_name", "bind_name")]
    functions = (
        _new,
        _traverse,
        _clear,
        _deallocate,
        _get,
        _link,
        _unlink,
        _walk,
        _pack_tuple,
        _pack_keywords,
        _call_method,
        _bind_in_python,
        _fill_keywords,
        _fill_defaults,
        _bind,
        _vectorcall,
    )
    return "\n".join([*globals_, *(write() for write in functions)])


def _start(signature: str) -> tuple[FunctionText, PythonCalls]:
    function = FunctionText(signature)
    return function, PythonCalls(function, function.load("ptr", "@api"))


def _field(function: FunctionText, name: str, kind: str = "ptr") -> str:
    return function.load(kind, "%self", field_offset(name))


def _element(function: FunctionText, array: str, index: str) -> str:
    return function.let(f"getelementptr ptr, ptr {array}, i64 {index}")


# -- the slots of the type -------------------------------------------------------------------------


def _new() -> str:
    function, python = _start("ptr @dispatcher_new(ptr %type, ptr %args, ptr %keywords)")
    made = python.call("ptr", "PyType_GenericNew", "ptr %type", "ptr %args", "ptr %keywords")
    failed = function.label("failed")
    function.require_not(function.is_null(made), failed)
    function.store("ptr", "@dispatcher_vectorcall", made, field_offset("vectorcall"))
    function.give("ptr", made)
    function.begin(failed)
    function.give("ptr", "null")
    return function.text()


def _traverse() -> str:
    function = FunctionText("i32 @dispatcher_traverse(ptr %self, ptr %visit, ptr %argument)")
    stop = function.label("stop")
    answers: list[tuple[str, str]] = []
    kind = function.load("ptr", "%self", OBJECT_TYPE)
    for name in ("type", *_REFERENCES):
        thing = kind if name == "type" else _field(function, name)
        visit, proceed = function.label("visit"), function.label("proceed")
        function.branch(function.is_null(thing), proceed, visit)
        function.begin(visit)
        answer = function.call("i32", "%visit", f"ptr {thing}", "ptr %argument")
        answers.append((answer, visit))
        function.branch(function.equal("i32", answer, "0"), proceed, stop)
        function.begin(proceed)
    function.give("i32", "0")
    function.begin(stop)
    sources = ", ".join(f"[{answer}, %{label}]" for answer, label in answers)
    function.give("i32", function.let(f"phi i32 {sources}"))
    return function.text()


def _clear() -> str:
    """Break cycles. The chain goes first: its records belong to objects in the dict."""
    function, python = _start("i32 @dispatcher_clear(ptr %self)")
    function.store("ptr", "null", "%self", field_offset("head"))
    function.add_to("%self", field_offset("version"), "1")
    for name in _REFERENCES:
        thing = _field(function, name)
        function.store("ptr", "null", "%self", field_offset(name))
        python.release(thing)
    function.give("i32", "0")
    return function.text()


def _deallocate() -> str:
    function, python = _start("void @dispatcher_deallocate(ptr %self)")
    python.run("PyObject_GC_UnTrack", "ptr %self")
    forget, forgotten = function.label("forget"), function.label("forgotten")
    function.branch(function.is_null(_field(function, "weakrefs")), forgotten, forget)
    function.begin(forget)
    python.run("PyObject_ClearWeakRefs", "ptr %self")
    function.jump(forgotten)
    function.begin(forgotten)
    function.call("i32", "@dispatcher_clear", "ptr %self")
    kind = function.load("ptr", "%self", OBJECT_TYPE)
    python.run("PyObject_GC_Del", "ptr %self")
    python.release(kind)
    function.do("ret void")
    return function.text()


def _get() -> str:
    """`tp_descr_get`: a bound method when found through an instance."""
    function, python = _start("ptr @dispatcher_get(ptr %self, ptr %instance, ptr %owner)")
    bound, plain = function.label("bound"), function.label("plain")
    function.branch(function.is_null("%instance"), plain, bound)
    function.begin(bound)
    function.give("ptr", python.call("ptr", "PyMethod_New", "ptr %self", "ptr %instance"))
    function.begin(plain)
    python.own("%self")
    function.give("ptr", "%self")
    return function.text()


# -- the chain -------------------------------------------------------------------------------------


def _link() -> str:
    """Put a record in front of the chain."""
    function = FunctionText("void @dispatcher_link(ptr %self, ptr %record)")
    function.store("ptr", _field(function, "head"), "%record", record_offset("next"))
    function.store("ptr", "%record", "%self", field_offset("head"))
    function.add_to("%self", field_offset("version"), "1")
    function.do("ret void")
    return function.text()


def _unlink() -> str:
    """Take a record out of the chain."""
    function = FunctionText("void @dispatcher_unlink(ptr %self, ptr %record)")
    search, following, found, done = (function.label(hint) for hint in ("search", "following", "found", "done"))
    first_link = function.at("%self", field_offset("head"))
    link_place = function.stack(1)
    function.store("ptr", first_link, link_place)
    function.jump(search)
    function.begin(search)
    link = function.load("ptr", link_place)
    record = function.load("ptr", link)
    function.require_not(function.is_null(record), done)
    function.branch(function.equal("ptr", record, "%record"), found, following)
    function.begin(following)
    function.store("ptr", function.at(record, record_offset("next")), link_place)
    function.jump(search)
    function.begin(found)
    function.store("ptr", function.load("ptr", record, record_offset("next")), link)
    function.add_to("%self", field_offset("version"), "1")
    function.jump(done)
    function.begin(done)
    function.do("ret void")
    return function.text()


def _walk() -> str:
    """Call the first entry that matches; `MISMATCH` when none does.

    The record that matched moves to the front, if the chain is still the one that was walked.
    """
    function = FunctionText("ptr @dispatcher_walk(ptr %self, ptr %flat, i64 %count)")
    names = ("begin", "each", "try", "missed", "matched", "reorder", "move", "done", "nothing")
    begin, each, attempt, missed, matched, reorder, move, done, nothing = map(function.label, names)
    function.jump(begin)
    function.begin(begin)
    version = _field(function, "version", "i64")
    head = _field(function, "head")
    function.jump(each)

    function.begin(each)
    record = function.let(f"phi ptr [{head}, %{begin}], [%following, %{missed}]")
    previous = function.let(f"phi ptr [null, %{begin}], [{record}, %{missed}]")
    function.branch(function.is_null(record), nothing, attempt)
    function.begin(attempt)
    function.add_to(record, record_offset("active"), "1")
    entry = function.load("ptr", record, record_offset("entry"))
    result = function.call("ptr", entry, f"ptr {record}", "ptr %flat", "i64 %count")
    function.add_to(record, record_offset("active"), "-1")
    is_same = function.equal("i64", _field(function, "version", "i64"), version)
    function.branch(function.equal("ptr", result, MISMATCH), missed, matched)

    function.begin(missed)
    function.do(f"%following = load ptr, ptr {record}")
    function.branch(is_same, each, begin)

    function.begin(matched)
    function.add_to(record, record_offset("hits"), "1")
    function.branch(function.is_null(previous), done, reorder)
    function.begin(reorder)
    function.branch(is_same, move, done)
    function.begin(move)
    function.store("ptr", function.load("ptr", record), previous)
    function.store("ptr", head, record)
    function.store("ptr", record, "%self", field_offset("head"))
    function.add_to("%self", field_offset("version"), "1")
    function.jump(done)
    function.begin(done)
    function.give("ptr", result)
    function.begin(nothing)
    function.give("ptr", MISMATCH)
    return function.text()


# -- calls into Python -----------------------------------------------------------------------------


def _pack_tuple() -> str:
    """The positional arguments as a tuple."""
    function, python = _start("internal ptr @pack_tuple(ptr %args, i64 %count)")
    each, store, done = (function.label(hint) for hint in ("each", "store", "done"))
    index_place = function.stack(1)
    function.store("i64", "0", index_place)
    packed = python.call("ptr", "PyTuple_New", "i64 %count")
    function.require_not(function.is_null(packed), done)
    function.jump(each)
    function.begin(each)
    index = function.load("i64", index_place)
    function.branch(function.let(f"icmp slt i64 {index}, %count"), store, done)
    function.begin(store)
    thing = function.load("ptr", _element(function, "%args", index))
    python.own(thing)
    python.call("i32", "PyTuple_SetItem", f"ptr {packed}", f"i64 {index}", f"ptr {thing}")
    function.store("i64", function.let(f"add i64 {index}, 1"), index_place)
    function.jump(each)
    function.begin(done)
    function.give("ptr", packed)
    return function.text()


def _pack_keywords() -> str:
    """The keyword arguments as a dict; null on failure."""
    function, python = _start("internal ptr @pack_keywords(ptr %values, ptr %names)")
    names, each, store, done, failed = (function.label(hint) for hint in ("names", "each", "store", "done", "failed"))
    index_place, count_place = function.stack(1), function.stack(1)
    function.store("i64", "0", index_place)
    function.store("i64", "0", count_place)
    packed = python.call("ptr", "PyDict_New")
    function.require_not(function.is_null(packed), done)
    function.branch(function.is_null("%names"), each, names)
    function.begin(names)
    function.store("i64", python.call("i64", "PyTuple_Size", "ptr %names"), count_place)
    function.jump(each)
    function.begin(each)
    index = function.load("i64", index_place)
    function.branch(function.let(f"icmp slt i64 {index}, {function.load('i64', count_place)}"), store, done)
    function.begin(store)
    name = python.call("ptr", "PyTuple_GetItem", "ptr %names", f"i64 {index}")
    value = function.load("ptr", _element(function, "%values", index))
    status = python.call("i32", "PyDict_SetItem", f"ptr {packed}", f"ptr {name}", f"ptr {value}")
    function.require(function.equal("i32", status, "0"), failed)
    function.store("i64", function.let(f"add i64 {index}, 1"), index_place)
    function.jump(each)
    function.begin(done)
    function.give("ptr", packed)
    function.begin(failed)
    python.release(packed)
    function.give("ptr", "null")
    return function.text()


def _call_method() -> str:
    """`self.name(args, kwargs)` with the arguments of a vectorcall."""
    function, python = _start("internal ptr @call_method(ptr %self, ptr %name, ptr %args, i64 %count, ptr %names)")
    failed = function.label("failed")
    stack = function.stack(3)
    positional = function.call("ptr", "@pack_tuple", "ptr %args", "i64 %count")
    function.require_not(function.is_null(positional), failed)
    values = _element(function, "%args", "%count")
    keywords = function.call("ptr", "@pack_keywords", f"ptr {values}", "ptr %names")
    unpacked = function.label("unpacked")
    function.require_not(function.is_null(keywords), unpacked)
    for place, thing in enumerate(("%self", positional, keywords)):
        function.store("ptr", thing, stack, 8 * place)
    result = python.call("ptr", "PyObject_VectorcallMethod", "ptr %name", f"ptr {stack}", "i64 3", "ptr null")
    python.release(positional)
    python.release(keywords)
    function.give("ptr", result)
    function.begin(unpacked)
    python.release(positional)
    function.jump(failed)
    function.begin(failed)
    function.give("ptr", "null")
    return function.text()


def _bind_in_python() -> str:
    """Let `self._bind(args, kwargs)` make the flat tuple, or raise Python's TypeError; then walk."""
    function, python = _start("internal ptr @bind_in_python(ptr %self, ptr %args, i64 %count, ptr %names)")
    failed = function.label("failed")
    name = function.load("ptr", "@bind_name")
    flat = function.call("ptr", "@call_method", "ptr %self", f"ptr {name}", "ptr %args", "i64 %count", "ptr %names")
    function.require_not(function.is_null(flat), failed)
    count = python.call("i64", "PyTuple_Size", f"ptr {flat}")
    items = function.at(flat, TUPLE_ITEMS)
    result = function.call("ptr", "@dispatcher_walk", "ptr %self", f"ptr {items}", f"i64 {count}")
    python.release(flat)
    function.give("ptr", result)
    function.begin(failed)
    function.give("ptr", "null")
    return function.text()


# -- binding ---------------------------------------------------------------------------------------


def _fill_keywords() -> str:
    """Put keyword arguments in their places; false when Python must look at them.

    Names in calls are interned, and so are the parameters': equal names are the same object.
    """
    function, python = _start("internal i1 @fill_keywords(ptr %self, ptr %values, ptr %names, ptr %flat)")
    each, search, compare, following, found, done, unsure = (
        function.label(hint) for hint in ("each", "search", "compare", "following", "found", "done", "unsure")
    )
    index_place, place_place = function.stack(1), function.stack(1)
    function.store("i64", "0", index_place)
    parameters = function.at(_field(function, "names"), TUPLE_ITEMS)
    first = _field(function, "positional_only", "i64")
    total = _field(function, "total", "i64")
    count = python.call("i64", "PyTuple_Size", "ptr %names")
    function.jump(each)

    function.begin(each)
    index = function.load("i64", index_place)
    function.require(function.let(f"icmp slt i64 {index}, {count}"), done)
    name = function.load("ptr", _element(function, function.at("%names", TUPLE_ITEMS), index))
    function.store("i64", first, place_place)
    function.jump(search)
    function.begin(search)
    place = function.load("i64", place_place)
    function.branch(function.let(f"icmp slt i64 {place}, {total}"), compare, unsure)
    function.begin(compare)
    parameter = function.load("ptr", _element(function, parameters, place))
    function.branch(function.equal("ptr", parameter, name), found, following)
    function.begin(following)
    function.store("i64", function.let(f"add i64 {place}, 1"), place_place)
    function.jump(search)

    function.begin(found)
    target = _element(function, "%flat", place)
    function.require(function.is_null(function.load("ptr", target)), unsure)
    function.store("ptr", function.load("ptr", _element(function, "%values", index)), target)
    function.store("i64", function.let(f"add i64 {index}, 1"), index_place)
    function.jump(each)
    function.begin(done)
    function.give("i1", "true")
    function.begin(unsure)
    function.give("i1", "false")
    return function.text()


def _fill_defaults() -> str:
    """Fill empty places from the function's current defaults; false when one stays empty.

    What is filled in is owned, and noted in `owned`: the defaults may be replaced during the call.
    """
    function, python = _start("internal i1 @fill_defaults(ptr %self, ptr %flat, ptr %owned)")
    each, empty, by_position, with_defaults, by_name, lookup, take, following, done, unsure = (
        function.label(hint)
        for hint in (
            "each", "empty", "by_position", "with_defaults", "by_name", "lookup", "take", "following", "done", "unsure"
        )
    )  # fmt: skip
    index_place = function.stack(1)
    function.store("i64", "0", index_place)
    total = _field(function, "total", "i64")
    positional = _field(function, "positional", "i64")
    wrapped = _field(function, "function")
    function.jump(each)

    function.begin(each)
    index = function.load("i64", index_place)
    function.require(function.let(f"icmp slt i64 {index}, {total}"), done)
    target = _element(function, "%flat", index)
    function.branch(function.is_null(function.load("ptr", target)), empty, following)
    function.begin(empty)
    function.branch(function.let(f"icmp slt i64 {index}, {positional}"), by_position, by_name)

    function.begin(by_position)
    defaults = python.call("ptr", "PyFunction_GetDefaults", f"ptr {wrapped}")
    function.branch(function.is_null(defaults), unsure, with_defaults)
    function.begin(with_defaults)
    count = python.call("i64", "PyTuple_Size", f"ptr {defaults}")
    first = function.let(f"sub i64 {positional}, {count}")
    from_first = function.let(f"sub i64 {index}, {first}")
    function.require_not(function.let(f"icmp slt i64 {from_first}, 0"), unsure)
    by_position_value = function.load("ptr", _element(function, function.at(defaults, TUPLE_ITEMS), from_first))
    position_end = function.label("position_end")
    function.jump(position_end)
    function.begin(position_end)
    function.jump(take)

    function.begin(by_name)
    keyword_defaults = python.call("ptr", "PyFunction_GetKwDefaults", f"ptr {wrapped}")
    function.branch(function.is_null(keyword_defaults), unsure, lookup)
    function.begin(lookup)
    name = function.load("ptr", _element(function, function.at(_field(function, "names"), TUPLE_ITEMS), index))
    by_name_value = python.call("ptr", "PyDict_GetItemWithError", f"ptr {keyword_defaults}", f"ptr {name}")
    function.require_not(function.is_null(by_name_value), unsure)
    name_end = function.label("name_end")
    function.jump(name_end)
    function.begin(name_end)
    function.jump(take)

    function.begin(take)
    value = function.let(f"phi ptr [{by_position_value}, %{position_end}], [{by_name_value}, %{name_end}]")
    python.own(value)
    function.store("ptr", value, target)
    function.store("ptr", value, _element(function, "%owned", index))
    function.jump(following)
    function.begin(following)
    function.store("i64", function.let(f"add i64 {index}, 1"), index_place)
    function.jump(each)
    function.begin(done)
    function.give("i1", "true")
    function.begin(unsure)
    function.give("i1", "false")
    return function.text()


def _bind() -> str:
    """Make the flat arguments of a call with keywords or defaults, and walk."""
    function, python = _start("internal ptr @bind(ptr %self, ptr %args, i64 %count, ptr %names)")
    copy, each, copied, keywords, defaults, ready, give_back, each_owned, done, unsure, in_python = (
        function.label(hint)
        for hint in (
            "copy", "each", "copied", "keywords", "defaults", "ready", "give_back", "each_owned", "done", "unsure",
            "in_python",
        )
    )  # fmt: skip
    total = _field(function, "total", "i64")
    index_place, result_place = function.stack(1), function.stack(1)
    function.store("i64", "0", index_place)
    function.require_not(function.let(f"icmp slt i64 {total}, 0"), in_python)
    flat = function.let(f"alloca ptr, i64 {total}")
    owned = function.let(f"alloca ptr, i64 {total}")
    too_many = function.let(f"icmp sgt i64 %count, {_field(function, 'positional', 'i64')}")
    function.branch(too_many, in_python, copy)

    function.begin(copy)
    index = function.load("i64", index_place)
    function.require(function.let(f"icmp slt i64 {index}, {total}"), copied)
    function.store("ptr", "null", _element(function, owned, index))
    function.store("ptr", "null", _element(function, flat, index))
    is_given = function.let(f"icmp slt i64 {index}, %count")
    proceed = function.label("proceed")
    function.store("i64", function.let(f"add i64 {index}, 1"), index_place)
    function.branch(is_given, each, proceed)
    function.begin(each)
    function.store("ptr", function.load("ptr", _element(function, "%args", index)), _element(function, flat, index))
    function.jump(proceed)
    function.begin(proceed)
    function.jump(copy)

    function.begin(copied)
    function.branch(function.is_null("%names"), defaults, keywords)
    function.begin(keywords)
    values = _element(function, "%args", "%count")
    placed = function.call("i1", "@fill_keywords", "ptr %self", f"ptr {values}", "ptr %names", f"ptr {flat}")
    function.branch(placed, defaults, in_python)
    function.begin(defaults)
    filled = function.call("i1", "@fill_defaults", "ptr %self", f"ptr {flat}", f"ptr {owned}")
    function.branch(filled, ready, unsure)
    function.begin(ready)
    result = function.call("ptr", "@dispatcher_walk", "ptr %self", f"ptr {flat}", f"i64 {total}")
    function.store("ptr", result, result_place)
    function.jump(give_back)
    function.begin(unsure)
    function.store("ptr", "null", result_place)
    function.jump(give_back)

    function.begin(give_back)
    is_ready = function.let(f"phi i1 [true, %{ready}], [false, %{unsure}]")
    function.store("i64", "0", index_place)
    function.jump(each_owned)
    function.begin(each_owned)
    index = function.load("i64", index_place)
    function.require(function.let(f"icmp slt i64 {index}, {total}"), done)
    python.release(function.load("ptr", _element(function, owned, index)))
    function.store("i64", function.let(f"add i64 {index}, 1"), index_place)
    function.jump(each_owned)
    function.begin(done)
    function.require(is_ready, in_python)
    function.give("ptr", function.load("ptr", result_place))
    function.begin(in_python)
    function.give("ptr", function.call("ptr", "@bind_in_python", "ptr %self", "ptr %args", "i64 %count", "ptr %names"))
    return function.text()


def _vectorcall() -> str:
    function = FunctionText("ptr @dispatcher_vectorcall(ptr %self, ptr %args, i64 %flags, ptr %names)")
    no_names, plain, other, done, missed = (
        function.label(hint) for hint in ("no_names", "plain", "other", "done", "missed")
    )
    result_place = function.stack(1)
    count = function.let(f"and i64 %flags, {~_OFFSET_ARGUMENT_FLAG}")
    function.branch(function.is_null("%names"), no_names, other)
    function.begin(no_names)
    function.branch(function.equal("i64", count, _field(function, "plain", "i64")), plain, other)
    function.begin(plain)
    direct = function.call("ptr", "@dispatcher_walk", "ptr %self", "ptr %args", f"i64 {count}")
    function.store("ptr", direct, result_place)
    function.jump(done)
    function.begin(other)
    bound = function.call("ptr", "@bind", "ptr %self", "ptr %args", f"i64 {count}", "ptr %names")
    function.store("ptr", bound, result_place)
    function.jump(done)
    function.begin(done)
    result = function.load("ptr", result_place)
    returned = function.label("returned")
    function.branch(function.equal("ptr", result, MISMATCH), missed, returned)
    function.begin(returned)
    function.give("ptr", result)
    function.begin(missed)
    miss = function.load("ptr", "@miss_name")
    function.give(
        "ptr",
        function.call("ptr", "@call_method", "ptr %self", f"ptr {miss}", "ptr %args", f"i64 {count}", "ptr %names"),
    )
    return function.text()
