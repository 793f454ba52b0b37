"""Containers: what is done to an entry whose place is known stands in the code, all else is called.

A reference is a number with the address of a header (`heap`). An entry has a word of 64 bits for each number; access
to headers and to entries are told apart for LLVM, so that storing an item lets the address of the items stay in a
register.
"""

from __future__ import annotations

from collections.abc import Sequence

from jitflow.backends.llvm.emission.emitter import UNLIKELY, Emission, Emitter
from jitflow.backends.llvm.emission.heap_access import (
    OF_ENTRY,
    as_pointer,
    call_heap,
    entry_at,
    entry_bytes,
    fill_entry,
    header_field,
    kind_of,
    number_of_word,
    own_functions,
    require_memory,
    set_header_field,
    words_of,
)
from jitflow.backends.llvm.heap.headers import BLOCK, CHANGES, DATA, EMPTY, HEAP_BYTES, LIMIT, LIVE, NOBODYS, ROWS
from jitflow.backends.llvm.heap.heap import RUNTIME, SHARED_NAME
from jitflow.backends.llvm.heap.keys import FIRST_WORD, key_functions, name_of_keys
from jitflow.backends.llvm.heap.orders import name_of_order, order_functions
from jitflow.backends.llvm.heap.passed import PASSED, PASSED_NAME, index_function, type_name
from jitflow.backends.llvm.heap.set_tables import MERGING, merging, popping, swapping, tidying
from jitflow.ir.core import Op
from jitflow.ir.types import TEXT, Container, containers_in

__all__ = ["CONTAINER_EMISSION", "release_heap"]

_KINDS = ("list", "deque", "dict", "set", "str")


def _passed(out: Emitter, name: str, result: str, *arguments: str) -> str:
    """Call a function for what the caller passes."""
    out.module.shared[SHARED_NAME], out.module.shared[PASSED_NAME] = RUNTIME, PASSED
    out.module.declare(f"jitflow.passed.{name}", result, [argument.split()[0] for argument in arguments])
    call = f"call {result} @jitflow.passed.{name}({', '.join(arguments)})"
    if result != "void":
        return out.let(call)
    out.do(call)
    return ""


def _heap(out: Emitter, op: Op) -> Sequence[str]:
    """The record of the heap, in the frame of the host program, whose versions share it."""
    if out.heap:
        return [out.let(f"ptrtoint ptr {out.heap} to i64")]
    record = out.heap = out.stack("i8", HEAP_BYTES)
    out.module.shared[SHARED_NAME] = RUNTIME
    out.module.declare("jitflow.heap.open", "void", ["ptr"] * 3)
    out.module.declare("llvm.frameaddress.p0", "ptr", ["i32"])
    out.entry += [
        f"  {record}.base = call ptr @llvm.frameaddress.p0(i32 0)",
        f"  call void @jitflow.heap.open(ptr {record}, ptr %context, ptr {record}.base)",
    ]
    return [out.let(f"ptrtoint ptr {record} to i64")]


def release_heap(out: Emitter) -> None:
    """At the end of the host program, however it ends: give back all that containers hold."""
    if out.heap and PASSED_NAME in out.module.shared:
        _passed(out, "tell", "void", f"ptr {out.heap}")
    if out.heap:
        call_heap(out, "close", "void", f"ptr {out.heap}")


# -- rows -----------------------------------------------------------------------------------------------------


def _make(out: Emitter, op: Op) -> Sequence[str]:
    kind = kind_of(op.result)
    first = FIRST_WORD[kind.family]
    references = sum(1 << (first + n) for n, word in enumerate(kind.words) if isinstance(word, Container))
    numbers = (entry_bytes(kind), references, _KINDS.index("str" if kind == TEXT else kind.family))
    heap = as_pointer(out, op.operands[0])
    made = call_heap(out, "make", "ptr", f"ptr {heap}", *(f"i64 {number}" for number in numbers))
    require_memory(out, op, out.let(f"icmp ne ptr {made}, null"))
    return [out.let(f"ptrtoint ptr {made} to i64")]


def _length(out: Emitter, op: Op) -> Sequence[str]:
    """Of a list, where its items lie is read in front of the check that asks for the length, in every turn of a loop.

    So LLVM may read both before a loop in which the list does not grow.
    """
    (held,) = op.operands
    header = as_pointer(out, held)
    if kind_of(held).key is not None:
        return [header_field(out, header, LIVE)]
    out.module.declare("llvm.assume", "void", ["i1"])
    out.do(f'call void @llvm.assume(i1 true) ["align"(ptr {header_field(out, header, DATA, "ptr")}, i64 8)]')
    return [header_field(out, header, ROWS)]


def _changes(out: Emitter, op: Op) -> Sequence[str]:
    return [header_field(out, as_pointer(out, op.operands[0]), CHANGES)]


def _get(out: Emitter, op: Op) -> Sequence[str]:
    held, position = op.operands
    kind = kind_of(held)
    entry = entry_at(out, kind, as_pointer(out, held), out.operand(position))
    found = []
    for number, word in enumerate(kind.words, FIRST_WORD[kind.family]):
        loaded = out.let(f"load i64, ptr {out.at(entry, str(8 * number))}{OF_ENTRY}")
        found.append(number_of_word(out, word, loaded))
    return found


def _set(out: Emitter, op: Op) -> Sequence[str]:
    held, position, *items = op.operands
    kind = kind_of(held)
    entry = entry_at(out, kind, as_pointer(out, held), out.operand(position))
    fill_entry(out, kind, entry, words_of(out, items), len(kind.keys))
    return ()


def _append(out: Emitter, op: Op) -> Sequence[str]:
    held, *items = op.operands
    kind, header, words = kind_of(held), as_pointer(out, held), words_of(out, items)
    width, front = entry_bytes(kind), bool(op.attributes.get("front"))
    rows = header_field(out, header, ROWS)

    def place() -> tuple[str, str]:
        """Where the entry goes, and whether there is room."""
        data = header_field(out, header, DATA, "ptr")
        if front:
            entry = out.let(f"getelementptr i8, ptr {data}, i64 -{width}")
            begin, end = header_field(out, header, BLOCK, "ptr"), data
        else:
            entry = out.let(f"getelementptr i8, ptr {data}, i64 {out.let(f'mul i64 {rows}, {width}')}")
            begin, end = entry, header_field(out, header, LIMIT, "ptr")
        first, last = (out.let(f"ptrtoint ptr {place} to i64") for place in (begin, end))
        return entry, out.let(f"icmp sge i64 {out.let(f'sub i64 {last}, {first}')}, {width}")

    entry, fits = place()
    room, grow, before = out.label("room"), out.label("grow"), out.block
    out.branch(fits, room, grow, UNLIKELY)
    with out.cold(grow):
        require_memory(out, op, call_heap(out, "grow", "i1", f"ptr {header}", f"i1 {'true' if front else 'false'}"))
        other, _ = place()
        behind = out.block
        out.jump(room)
    out.begin(room)
    target = out.let(f"phi ptr [ {entry}, %{before} ], [ {other}, %{behind} ]")
    fill_entry(out, kind, target, words)
    set_header_field(out, header, ROWS, out.let(f"add i64 {rows}, 1"))
    if front:
        set_header_field(out, header, DATA, target, "ptr")
    return ()


def _drop(out: Emitter, op: Op) -> Sequence[str]:
    (held,) = op.operands
    header = as_pointer(out, held)
    set_header_field(out, header, ROWS, out.let(f"sub i64 {header_field(out, header, ROWS)}, 1"))
    if op.attributes.get("front"):
        set_header_field(
            out, header, DATA, out.at(header_field(out, header, DATA, "ptr"), str(entry_bytes(kind_of(held)))), "ptr"
        )
    return ()


def _insert(out: Emitter, op: Op) -> Sequence[str]:
    """Append it, then move what stands behind its place."""
    held, position, *items = op.operands
    kind, header, words = kind_of(held), as_pointer(out, held), words_of(out, items)
    _append(out, Op(op.definition, (held, *items), (), {}, (), op.loc))
    entry = entry_at(out, kind, header, out.operand(position))
    last = out.let(f"sub i64 {header_field(out, header, ROWS)}, 1")
    _move(out, kind, entry, out.at(entry, str(entry_bytes(kind))), out.let(f"sub i64 {last}, {out.operand(position)}"))
    fill_entry(out, kind, entry, words)
    return ()


def _remove(out: Emitter, op: Op) -> Sequence[str]:
    held, position = op.operands
    kind, header = kind_of(held), as_pointer(out, held)
    entry = entry_at(out, kind, header, out.operand(position))
    if kind.key is not None:
        out.do(f"store i64 {2 if kind.family == 'set' else 0}, ptr {entry}{OF_ENTRY}")
        set_header_field(out, header, LIVE, out.let(f"sub i64 {header_field(out, header, LIVE)}, 1"))
        set_header_field(out, header, CHANGES, out.let(f"add i64 {header_field(out, header, CHANGES)}, 1"))
        return ()
    last = out.let(f"sub i64 {header_field(out, header, ROWS)}, 1")
    _move(out, kind, out.at(entry, str(entry_bytes(kind))), entry, out.let(f"sub i64 {last}, {out.operand(position)}"))
    set_header_field(out, header, ROWS, last)
    return ()


def _move(out: Emitter, kind: Container, source: str, target: str, rows: str) -> None:
    out.module.declare("llvm.memmove.p0.p0.i64", "void", ["ptr", "ptr", "i64", "i1"])
    nbytes = out.let(f"mul i64 {rows}, {entry_bytes(kind)}")
    out.do(f"call void @llvm.memmove.p0.p0.i64(ptr {target}, ptr {source}, i64 {nbytes}, i1 false)")


def _keyed(out: Emitter, op: Op, function: str, result: str) -> str:
    """Call one of the functions for keys of a form."""
    held, *words = op.operands
    kind = kind_of(held)
    own_functions(out, kind.keys, key_functions(kind), _CALLED_FOR_KEYS)
    arguments = ", ".join([f"ptr {as_pointer(out, held)}", *(f"i64 {word}" for word in words_of(out, words))])
    return out.let(f"call {result} @{name_of_keys(kind)}.{function}({arguments})")


_CALLED_FOR_KEYS = (
    ("jitflow.heap.grow", "i1", ("ptr", "i1")),
    ("jitflow.heap.settle", "i1", ("ptr",)),
    ("jitflow.heap.resize", "i1", ("ptr", "i64")),
    ("llvm.smax.i64", "i64", ("i64", "i64")),
    ("llvm.fshl.i64", "i64", ("i64", "i64", "i64")),
)


def _find(out: Emitter, op: Op) -> Sequence[str]:
    return [_keyed(out, op, "find", "i64")]


def _enter(out: Emitter, op: Op) -> Sequence[str]:
    require_memory(out, op, _keyed(out, op, "enter", "i1"))
    return ()


def _merge(out: Emitter, op: Op) -> Sequence[str]:
    held, other = op.operands
    name, text = merging(kind_of(held), kind_of(other))
    functions = {**key_functions(kind_of(held)), name: text}
    own_functions(out, kind_of(held).keys, functions, (*_CALLED_FOR_KEYS, *MERGING))
    require_memory(out, op, out.let(f"call i1 @{name}(ptr {as_pointer(out, held)}, ptr {as_pointer(out, other)})"))
    return ()


def _next_key(out: Emitter, op: Op) -> Sequence[str]:
    (held,) = op.operands
    name, text = popping(kind_of(held))
    out.module.define(name, text)
    return [out.let(f"call i64 @{name}(ptr {as_pointer(out, held)})")]


def _swap_keys(out: Emitter, op: Op) -> Sequence[str]:
    name, text = swapping()
    out.module.define(name, text)
    one, other = (as_pointer(out, operand) for operand in op.operands)
    out.do(f"call void @{name}(ptr {one}, ptr {other})")
    return ()


def _ordered(out: Emitter, op: Op, function: str, result: str, *arguments: str) -> str:
    """Call one of the functions for the order of items of a type."""
    held = op.operands[0]
    kind = kind_of(held)
    own_functions(out, kind.items, order_functions(kind), _CALLED_FOR_ORDERS)
    arguments = (f"ptr {as_pointer(out, held)}", *arguments)
    return f"call {result} @{name_of_order(kind)}.{function}({', '.join(arguments)})"


_CALLED_FOR_ORDERS = (
    ("jitflow.heap.take", "ptr", ("ptr", "i64")),
    ("jitflow.heap.give", "void", ("ptr", "ptr", "i64")),
    ("llvm.memcpy.p0.p0.i64", "void", ("ptr", "ptr", "i64", "i1")),
    ("llvm.ctlz.i64", "i64", ("i64", "i1")),
    ("llvm.umax.i64", "i64", ("i64", "i64")),
    ("llvm.umin.i64", "i64", ("i64", "i64")),
    ("llvm.fptosi.sat.i64.f64", "i64", ("double",)),
)


def _sift(out: Emitter, op: Op) -> Sequence[str]:
    place = f"i64 {out.operand(op.operands[1])}"
    if op.attributes.get("down"):
        out.do(_ordered(out, op, "down", "void", "i64 0", place))
    else:
        out.do(_ordered(out, op, "up", "void", place))
    return ()


def _sort(out: Emitter, op: Op) -> Sequence[str]:
    reverse = "true" if op.attributes.get("reverse") else "false"
    require_memory(out, op, out.let(_ordered(out, op, "sort", "i1", f"i64 {op.attributes['words']}", f"i1 {reverse}")))
    return ()


def _settle(out: Emitter, op: Op) -> Sequence[str]:
    """Most often there is no gap."""
    header = as_pointer(out, op.operands[0])
    if kind_of(op.operands[0]).family == "set":
        name, text = tidying()
        own_functions(out, (), {name: text}, _CALLED_FOR_KEYS)
        require_memory(out, op, out.let(f"call i1 @{name}(ptr {header})"))
        return ()
    dense = out.let(f"icmp eq i64 {header_field(out, header, ROWS)}, {header_field(out, header, LIVE)}")
    proceed, close = out.label("dense"), out.label("gaps")
    out.branch(dense, proceed, close)
    with out.cold(close):
        require_memory(out, op, call_heap(out, "settle", "i1", f"ptr {header}"))
        out.jump(proceed)
    out.begin(proceed)
    return ()


def _keys_of(out: Emitter, op: Op) -> Sequence[str]:
    made = call_heap(out, "keys", "ptr", f"ptr {as_pointer(out, op.operands[0])}")
    require_memory(out, op, out.let(f"icmp ne ptr {made}, null"))
    return [out.let(f"ptrtoint ptr {made} to i64")]


def _pack(out: Emitter, op: Op) -> Sequence[str]:
    """The list is made first: nothing is collected from there on, so the words for marks are free to count with."""
    heap, *held = op.operands
    made = call_heap(out, "make", "ptr", f"ptr {as_pointer(out, heap)}", "i64 8", "i64 0", "i64 0")
    require_memory(out, op, out.let(f"icmp ne ptr {made}, null"))
    roots = out.stack("i64", len(held))
    for number, root in enumerate(held):
        out.do(f"store i64 {out.operand(root)}, ptr {out.at(roots, str(8 * number))}, align 8")
    require_memory(out, op, call_heap(out, "pack", "i1", f"ptr {made}", f"ptr {roots}", f"i64 {len(held)}"))
    return [out.let(f"ptrtoint ptr {made} to i64")]


def _open_passed(out: Emitter, op: Op) -> str:
    """Make what the caller passes, if that has not been done; the heap."""
    heap = f"ptr {as_pointer(out, op.operands[0])}"
    words = out.let(f"inttoptr i64 {out.operand(op.operands[1])} to ptr")
    require_memory(out, op, _passed(out, "open", "i1", heap, f"ptr {words}"))
    return heap


def _pass_container(out: Emitter, op: Op) -> Sequence[str]:
    heap = _open_passed(out, op)
    for kind in dict.fromkeys(containers_in(op.result.type)):
        if kind.family != "dict":
            continue
        for called, gives, parameters in _CALLED_FOR_KEYS:
            out.module.declare(called, gives, parameters)
        function, texts = index_function(kind)
        for name, text in texts.items():
            out.module.define(name, text)
        require_memory(out, op, _passed(out, "index", "i1", heap, f"i64 {type_name(kind)}", f"ptr @{function}"))
    return [_passed(out, "root", "i64", heap, f"i64 {op.attributes['number']}")]


def _tell_containers(out: Emitter, op: Op) -> Sequence[str]:
    _passed(out, "tell", "void", _open_passed(out, op))
    return ()


def _give_containers(out: Emitter, op: Op) -> Sequence[str]:
    heap = _open_passed(out, op)
    for held in op.operands[2:]:
        require_memory(out, op, _passed(out, "give", "i1", heap, f"i64 {out.operand(held)}"))
    return ()


def _clear(out: Emitter, op: Op) -> Sequence[str]:
    call_heap(out, "clear", "void", f"ptr {as_pointer(out, op.operands[0])}")
    return ()


def _none(out: Emitter, op: Op) -> Sequence[str]:
    out.module.define(NOBODYS, f"@{NOBODYS} = {EMPTY}")
    return [out.let(f"ptrtoint ptr @{NOBODYS} to i64")]


CONTAINER_EMISSION: dict[str, Emission] = {
    "heap": _heap,
    "make_container": _make,
    "no_container": _none,
    "container_length": _length,
    "container_changes": _changes,
    "get_item": _get,
    "set_item": _set,
    "append_item": _append,
    "drop_item": _drop,
    "insert_item": _insert,
    "remove_item": _remove,
    "find_key": _find,
    "enter_key": _enter,
    "merge_keys": _merge,
    "next_key": _next_key,
    "swap_keys": _swap_keys,
    "settle_keys": _settle,
    "sift_item": _sift,
    "sort_items": _sort,
    "keys_of": _keys_of,
    "clear_container": _clear,
    "pack_containers": _pack,
    "pass_container": _pass_container,
    "give_containers": _give_containers,
    "tell_containers": _tell_containers,
}
