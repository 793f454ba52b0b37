"""The native dispatcher as LLVM text: the slots of the function type, and its chain of records.

An instance is a C struct (`INSTANCE_FIELDS`). A call with exactly the positional parameters walks
the chain at once; other calls are bound first (`binding_text`). When nothing matches, the call goes
to the Python method `_miss`.

**The chain can change under the walk**: entries read attributes, which may run any code, and
release the GIL. `version` counts changes; a walk that finds another number than it started with
begins anew. A record stays valid while its `active` count is not 0, so the walk counts itself in
before it calls an entry. All of it happens under the GIL, so plain loads and stores do.
"""

from __future__ import annotations

from jitflow.runtime.entry.binding_text import binding_functions, load_field, start
from jitflow.runtime.entry.dispatcher_layout import REFERENCES, field_offset
from jitflow.runtime.entry.specialisation import MISMATCH, record_offset
from jitflow.runtime.native.llvm_text import FunctionText
from jitflow.runtime.native.object_layout import OBJECT_TYPE

_OFFSET_ARGUMENT_FLAG = -(1 << 63)
"""The bit of a vectorcall's count that is no part of the count."""


def dispatcher_text() -> str:
    """The whole module; `@api`, `@miss_name` and `@bind_name` are to be filled in before use."""
    global_variables = [f"@{name} = global ptr null" for name in ("api", "miss_name", "bind_name")]
    slots = (_new, _traverse, _clear, _deallocate, _get, _link, _unlink, _walk, _vectorcall)
    return "\n".join([*global_variables, *binding_functions(), *(write() for write in slots)])


# -- the slots of the type -------------------------------------------------------------------------


def _new() -> str:
    function, python = start("ptr @dispatcher_new(ptr %type, ptr %args, ptr %keywords)")
    made = python.call("ptr", "PyType_GenericNew", "ptr %type", "ptr %args", "ptr %keywords")
    with function.when(function.compare("ne", made, "null", "ptr")):
        function.store("ptr", "@dispatcher_vectorcall", made, field_offset("vectorcall"))
    function.give("ptr", made)
    return function.text()


def _traverse() -> str:
    function = FunctionText("i32 @dispatcher_traverse(ptr %self, ptr %visit, ptr %argument)")
    references = [load_field(function, name) for name in REFERENCES]
    for thing in (function.load("ptr", "%self", OBJECT_TYPE), *references):
        with function.when(function.compare("ne", thing, "null", "ptr")):
            answer = function.call("i32", "%visit", f"ptr {thing}", "ptr %argument")
            with function.when(function.compare("ne", answer, "0", "i32")):
                function.give("i32", answer)
    function.give("i32", "0")
    return function.text()


def _clear() -> str:
    """Break cycles. The chain goes first: its records belong to objects in the dict."""
    function, python = start("i32 @dispatcher_clear(ptr %self)")
    function.store("ptr", "null", "%self", field_offset("head"))
    function.add_to("%self", field_offset("version"), "1")
    for name in REFERENCES:
        thing = load_field(function, name)
        function.store("ptr", "null", "%self", field_offset(name))
        python.release(thing)
    function.give("i32", "0")
    return function.text()


def _deallocate() -> str:
    function, python = start("void @dispatcher_deallocate(ptr %self)")
    python.run("PyObject_GC_UnTrack", "ptr %self")
    with function.when(function.compare("ne", load_field(function, "weakrefs"), "null", "ptr")):
        python.run("PyObject_ClearWeakRefs", "ptr %self")
    function.call("i32", "@dispatcher_clear", "ptr %self")
    kind = function.load("ptr", "%self", OBJECT_TYPE)
    python.run("PyObject_GC_Del", "ptr %self")
    python.release(kind)
    function.give("void")
    return function.text()


def _get() -> str:
    """`tp_descr_get`: a bound method when found through an instance."""
    function, python = start("ptr @dispatcher_get(ptr %self, ptr %instance, ptr %owner)")
    with function.when(function.is_null("%instance")):
        python.own("%self")
        function.give("ptr", "%self")
    function.give("ptr", python.call("ptr", "PyMethod_New", "ptr %self", "ptr %instance"))
    return function.text()


# -- the chain -------------------------------------------------------------------------------------


def _link() -> str:
    """Put a record in front of the chain."""
    function = FunctionText("void @dispatcher_link(ptr %self, ptr %record)")
    _put_in_front(function, "%record")
    function.give("void")
    return function.text()


def _put_in_front(function: FunctionText, record: str) -> None:
    function.store("ptr", load_field(function, "head"), record, record_offset("next"))
    function.store("ptr", record, "%self", field_offset("head"))
    function.add_to("%self", field_offset("version"), "1")


def _unlink() -> str:
    """Take a record out of the chain."""
    function = FunctionText("void @dispatcher_unlink(ptr %self, ptr %record)")
    search, done = function.label("search"), function.label("done")
    first, begin = function.at("%self", field_offset("head")), function.block
    following = "%following"
    function.jump(search)
    function.begin(search)
    link = function.phi("ptr", (first, begin), (following, after := function.label("after")))
    record = function.load("ptr", link)
    function.require_not(function.is_null(record), done)
    with function.when(function.compare("eq", record, "%record", "ptr")):
        function.store("ptr", function.load("ptr", record, record_offset("next")), link)
        function.add_to("%self", field_offset("version"), "1")
        function.jump(done)
    function.jump(after)
    function.begin(after)
    function.do(f"{following} = getelementptr i8, ptr {record}, i64 {record_offset('next')}")
    function.jump(search)
    function.begin(done)
    function.give("void")
    return function.text()


def _walk() -> str:
    """Call the first entry that matches; `MISMATCH` when none does.

    The record that matched moves to the front, if the chain is still the one that was walked.
    """
    function = FunctionText("ptr @dispatcher_walk(ptr %self, ptr %flat, i64 %count)")
    begin, each, missed = (function.label(hint) for hint in ("begin", "each", "missed"))
    function.jump(begin)
    function.begin(begin)
    version = load_field(function, "version", "i64")
    head = load_field(function, "head")
    function.jump(each)

    function.begin(each)
    record = function.phi("ptr", (head, begin), ("%following", missed))
    previous = function.phi("ptr", ("null", begin), (record, missed))
    with function.when(function.is_null(record)):
        function.give("ptr", MISMATCH)
    function.add_to(record, record_offset("active"), "1")
    entry = function.load("ptr", record, record_offset("entry"))
    result = function.call("ptr", entry, f"ptr {record}", "ptr %flat", "i64 %count")
    function.add_to(record, record_offset("active"), "-1")
    is_same = function.compare("eq", load_field(function, "version", "i64"), version)
    function.require(function.compare("ne", result, MISMATCH, "ptr"), missed)

    function.add_to(record, record_offset("hits"), "1")
    is_behind = function.compare("ne", previous, "null", "ptr")
    with function.when(function.let(f"and i1 {is_behind}, {is_same}")):
        function.store("ptr", function.load("ptr", record, record_offset("next")), previous, record_offset("next"))
        _put_in_front(function, record)
    function.give("ptr", result)

    function.begin(missed)
    function.do(f"%following = load ptr, ptr {function.at(record, record_offset('next'))}")
    function.branch(is_same, each, begin)
    return function.text()


def _vectorcall() -> str:
    function = FunctionText("ptr @dispatcher_vectorcall(ptr %self, ptr %args, i64 %flags, ptr %names)")
    called = function.label("called")
    count = function.let(f"and i64 %flags, {~_OFFSET_ARGUMENT_FLAG}")
    has_plain_count = function.compare("eq", count, load_field(function, "plain", "i64"))
    with function.when(function.let(f"and i1 {function.is_null('%names')}, {has_plain_count}")):
        direct = function.call("ptr", "@dispatcher_walk", "ptr %self", "ptr %args", f"i64 {count}")
        directly = function.block
        function.jump(called)
    call = ("ptr %args", f"i64 {count}", "ptr %names")
    bound = function.call("ptr", "@bind", "ptr %self", *call)
    after_binding = function.block
    function.jump(called)
    function.begin(called)
    result = function.phi("ptr", (direct, directly), (bound, after_binding))
    with function.when(function.compare("eq", result, MISMATCH, "ptr")):
        miss = function.load("ptr", "@miss_name")
        function.give("ptr", function.call("ptr", "@call_method", "ptr %self", f"ptr {miss}", *call))
    function.give("ptr", result)
    return function.text()
