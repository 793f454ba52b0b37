"""A small valid function for every op, as text: what the tests of printer, parser, verifier and interpreter go over.

Elementwise ops get theirs from their typing rule; the others stand in the table below, the body of a function whose
parameters are in `_PARAMETERS`.
"""

from __future__ import annotations

import numpy as np

from jitflow.ir.core import Builder, Function, Op, TypeRuleError, Value
from jitflow.ir.dims import symbol
from jitflow.ir.dtypes import DTYPES, DType
from jitflow.ir.ops import OPS
from jitflow.ir.parser import parse
from jitflow.ir.types import Scalar, Tensor, Type, Vector

__all__ = ["elementwise_function", "folding_function", "sample", "sampled_ops"]

_PARAMETERS = {
    "tensor": "%x: f32[n, 3], %y: f32[3, n], %v: var f32[n], %i: i64[n], %b: bool[n, 3], %c: bool, %a: f32, %k: u64",
    "loop": "%m: buffer f32, %c: bool, %p: index, %u: u32",
    "host": "",
}
_LOOP_HEAD = """
  %zero: index = size {dim=0}
  %four: index = size {dim=4}
  %v: f32x4 = read %m, %zero {lanes=4}
  %mask: boolx4 = lanes_below %four {lanes=4}
"""

GENERATOR = np.random.default_rng(0)
"""What the samples draw from."""

NO_REFERENCE = frozenset(("vjp", "jvp"))
"""Ops that the interpreter does not run: `differentiate` writes them out."""

_RECURSION = """%state: var f32[n, 3] = variable %x
      %three: i64 = constant {value=3, type=<i64>}
      %0: i64, %1: f32[k] = recursion %three, %state {function="f", frames=1} (%count: i64, %place: place f32[n, 3]) {
        %zero: i64 = constant {value=0, type=<i64>}
        %one: i64 = constant {value=1, type=<i64>}
        %ends: bool = less_equal %count, %zero
        %2: i64, %3: f32[m] = if %ends () {
          %half: f32 = constant {value=0.5, type=<f32>}
          %4: f32[1] = broadcast %half {dims=[1], axes=[]}
          yield %count, %4
        } () {
          %5: i64 = subtract %count, %one
          %6: i64, %7: f32[l] = recur %5, %place {function="f", frames=1, storage=[1]}
          store %place, %x
          %8: i64 = add %6, %count
          yield %8, %7
        }
        yield %2, %3
      }
      yield %0"""
"""A function that calls itself, with a number and storage, and gives a number and an array."""

_TENSOR_BODIES = {
    "reshape": "%0: f32[3*n] = reshape %x {dims=[3*n]}\n yield %0",
    "transpose": "%0: f32[3, n] = transpose %x {axes=[1, 0]}\n yield %0",
    "slice": "%0: f32[n - 1, 2] = slice %x {starts=[n - 1, 1], sizes=[n - 1, 2], steps=[-1, 1]}\n yield %0",
    "broadcast": "%0: f32[2, n, 3] = broadcast %x {dims=[2, n, 3], axes=[1, 2]}\n yield %0",
    "diagonal": "%0: f32[min(n, 3)] = diagonal %x {axes=[0, 1], offset=0, size=min(n, 3)}\n yield %0",
    "window": "%0: f32[n - 1, 3, 2] = window %x {axes=[0], counts=[n - 1], sizes=[2], steps=[1], dilations=[1]}\n "
    "yield %0",
    "concatenate": "%0: f32[2*n, 3] = concatenate %x, %x {axis=0}\n yield %0",
    "constant": "%0: f32[2, 2] = constant {value=[[1.0, -0.0], [nan, inf]], type=<f32[2, 2]>}\n yield %0",
    "iota": "%0: i32[n, 3] = iota {dtype=i32, dims=[n, 3], axis=0}\n yield %0",
    "size": "%0: index[3*n + 1] = size {dim=3*n + 1}\n yield %0",
    "gather": "%z: i64[n] = bitwise_xor %i, %i\n %0: f32[n, 3] = gather %x, %z {axis=0}\n yield %0",
    "broadcast_dims": """%n: index[n] = size {dim=n}
      %one: index[1] = size {dim=1}
      %0: index[k] = broadcast_dims %n, %one {binds="k"}
      %1: f32[k] = broadcast %a {dims=[k], axes=[]}
      yield %1""",
    "check": """%t: bool = constant {value=true, type=<bool>}
      check %t, %a {error="ValueError", message="not {}"}
      yield""",
    "contract": "%0: f32[n] = contract %x, %y {left=[0, 1], right=[1, 0], kept=[0]}\n yield %0",
    "matmul": "%0: f32[n, n] = matmul %x, %y\n yield %0",
    "host_call": """%0: f32[k] = host_call %x {routine="numpy.unique", keywords=["ar"], options=[["axis", none]],
        effect="check"}
      %1: f32[k] = negative %0
      yield %1""",
    "yield": "yield %x, %a",
    "if": """%0: f32 = if %c () {
        yield %a
      } () {
        %1: f32 = negative %a
        yield %1
      }
      yield %0""",
    "for": """%start: index[0] = size {dim=0}
      %stop: index[n] = size {dim=n}
      %step: index[1] = size {dim=1}
      %0: f32 = for %start, %stop, %step, %a (%p: index[p], %s: f32) {
        %1: f32 = add %s, %s
        yield %1
      }
      yield %0""",
    "while": """%limit: f32 = constant {value=100.0, type=<f32>}
      %one: f32 = constant {value=1.0, type=<f32>}
      %0: f32 = while %one (%s: f32) {
        %1: bool = less %s, %limit
        yield %1
      } (%t: f32) {
        %2: f32 = add %t, %t
        yield %2
      }
      yield %0""",
    "fusion": """%0: f32[n, 3] = fusion %x {kernel="k", reason="elementwise"} (%p: f32[n, 3]) {
        %1: f32[n, 3] = add %p, %p
        yield %1
      }
      yield %0""",
    "variable": "%0: var f32[n, 3] = variable %x\n %1: f32[n, 3] = load %0\n yield %1",
    "load": "%0: f32[n] = load %v\n yield %0",
    "store": "store %v, %a\n %0: f32[n] = load %v\n yield %0",
    "scatter": """%z: i64[n] = bitwise_xor %i, %i
      scatter %v, %z, %a {axis=0, combine="add"}
      %0: f32[n] = load %v
      yield %0""",
    "tape": "%0: tape f32 = tape {dtype=f32}\n yield",
    "push": "%0: tape f32 = tape {dtype=f32}\n push %0, %x\n yield",
    "pop": """%0: tape f32 = tape {dtype=f32}
      push %0, %x
      %1: f32[n, 3] = pop %0
      %2: f32[n, 3] = negative %1
      yield %2""",
    "peek": """%0: tape f32 = tape {dtype=f32}
      %one: i64 = constant {value=1, type=<i64>}
      %half: f32 = constant {value=0.5, type=<f32>}
      push %0, %half
      %1: f32 = peek %0, %one
      %2: f32 = negative %1
      yield %2""",
    "poke": """%0: tape f32 = tape {dtype=f32}
      %one: i64 = constant {value=1, type=<i64>}
      %half: f32 = constant {value=0.5, type=<f32>}
      push %0, %half
      poke %0, %one, %half
      %1: f32 = pop %0
      yield %1""",
    "empty": """%0: f32[n, 3] = empty {dtype=f32, dims=[n, 3]}
      %1: var f32[n, 3] = variable %0
      store %1, %x
      yield %x""",
    "vjp": """%one: f32 = constant {value=1.0, type=<f32>}
      %0: f32, %1: f32[n, 3] = vjp %x, %one {inputs=1, outputs=1} (%q: f32[n, 3]) {
        %2: f32 = reduce_add %q {axes=[0, 1]}
        yield %2
      }
      yield %0, %1""",
    "jvp": """%0: f32[n, 3], %1: f32[n, 3] = jvp %x, %x {inputs=1, outputs=1} (%q: f32[n, 3]) {
        %2: f32[n, 3] = multiply %q, %q
        yield %2
      }
      yield %0, %1""",
    "custom_vjp": """%0: f32[n, 3] = custom_vjp %x (%q: f32[n, 3]) {
        %1: f32[n, 3] = negative %q
        yield %1
      } (%u: f32[n, 3], %ct: f32[n, 3]) {
        yield %ct
      }
      yield %0""",
    "recompute": """%0: f32[n, 3] = recompute %x (%q: f32[n, 3]) {
        %1: f32[n, 3] = negative %q
        yield %1
      }
      yield %0""",
    "vmap": """%0: f32[n], %1: f32[n, 3], %2: f32 = vmap %x {shared=1} (%q: f32[3]) {
        %3: f32 = reduce_add %q {axes=[0]}
        yield %3, %q, %a
      }
      yield %0, %2""",
    "mark": 'mark %x {label="inputs"}\n yield %x',
    "stop_gradient": "%0: f32[n, 3] = stop_gradient %x\n yield %0",
    "draw": f"""%g: i64 = constant {{value={id(GENERATOR)}, type=<i64>}}
      %one: f64 = constant {{value=1.0, type=<f64>}}
      %0: f64 = draw %g, %one, %one {{method="normal"}}
      %1: f64[n] = draw %g {{method="standard_normal", dims=[n]}}
      yield %0, %1""",
    "print": 'print %c {message="it is {}"}\n yield',
    "send": 'send %x {channel=0, to="cpu:1"}\n send {channel=1, to="cpu:1"}\n yield',
    "recv": """send %x {channel=0, to="cpu:0"}
      %0: f32[q, 3] = recv {channel=0, source="cpu:0"}
      yield %0""",
    "meet": "meet\n yield",
    "progress": "progress {level=0, order=3}\n progress {level=1}\n yield",
    "to_index": """%three: int = constant {value=3, type=<int>}
      %0: index[k] = to_index %three {binds="k"}
      %1: f32[k] = broadcast %a {dims=[k], axes=[]}
      yield %1""",
    "recursion": _RECURSION,
    "recur": _RECURSION,
    "call": '%0: f32 = call %a {function="callee"}\n yield %0\n }\nfunc @callee(%z: f32) {\n yield %z',
}

_LOOP_BODIES = {
    "read": "%0: f32x4 = read %m, %zero, %mask {lanes=4}\n yield %0",
    "read_strided": "%0: f32x4 = read_strided %m, %zero, %four {lanes=4}\n yield %0",
    "read_at": "%o: i64x4 = lane_index {dtype=i64, lanes=4}\n %0: f32x4 = read_at %m, %o, %mask {lanes=4}\n yield %0",
    "read_pair": "%0: f32x2, %1: f32x2 = read_pair %m, %zero {lanes=2}\n yield %0, %1",
    "write": "write %m, %four, %v, %mask {streaming=true}\n yield",
    "write_strided": "write_strided %m, %zero, %four, %v\n yield",
    "write_pair": "write_pair %m, %zero, %v, %v\n yield",
    "splat": "%s: f32 = read %m, %zero\n %0: f32x8 = splat %s {lanes=8}\n yield %0",
    "lane_index": "%0: i64x4 = lane_index {dtype=i64, lanes=4}\n yield %0",
    "lanes_below": "%0: boolx8 = lanes_below %four {lanes=8}\n yield %0",
    "fold_lanes": '%0: f32 = fold_lanes %v {combine="add"}\n yield %0',
    "any_lane": "%0: bool = any_lane %mask\n yield %0",
    "first_lane": "%0: index = first_lane %mask\n yield %0",
    "shift_lanes": "%0: f32x4 = shift_lanes %v {count=3}\n yield",
    "extract_lane": "%0: f32 = extract_lane %v, %zero\n yield %0",
    "divide_truncated": "%0: u32 = divide_truncated %u, %u\n yield %0",
    "remainder_truncated": "%0: u32 = remainder_truncated %u, %u\n yield %0",
    "gather_panel": "gather_panel %m, %zero, %m, %zero, %m, %zero, %m, %zero, %zero, %four {dtype=f32,"
    " vectors=4, vector_bytes=64}\n yield",
    "is_finite_panel": "%0: bool = is_finite_panel %m, %zero, %zero, %four {dtype=f32, vector_bytes=64}\n yield",
    "multiply_gathered": "multiply_gathered %m, %zero, %m, %zero, %m, %zero, %m, %zero, %m, %zero, %m, %zero, %zero,"
    " %four, %four, %zero, %four {dtype=f32, rows=6, vectors=4, vector_bytes=64, ahead=3}\n yield",
    "scatter_sums": "scatter_sums %m, %zero, %m, %zero, %m, %zero, %m, %zero, %zero, %zero {dtype=f32,"
    " vector_bytes=64}\n yield",
    "multiply_block": "multiply_block %m, %zero, %four, %m, %zero, %four, %four, %m, %zero, %four, %four, %four, %zero,"
    " %zero, %four, %four {rows=2, columns=4, lanes=4, few=[[1, 2]], dtype=f32}\n yield",
    "multiply_along": "multiply_along %m, %zero, %four, %four, %m, %zero, %four, %m, %zero, %four, %four, %four, %zero,"
    " %zero, %four {rows=2, columns=4, lanes=4, short=0, dtype=f32}\n yield",
    "pack_panels": "pack_panels %m, %zero, %m, %zero, %four, %four, %four, %four, %zero {ahead=4, columns=4, lanes=4,"
    " dtype=f32}\n yield",
    "bring_near": "bring_near %m, %zero, %four {rows=2, bytes=64}\n yield",
    "overlap_block": "overlap_block %m, %zero, %four, %m, %zero, %four, %four, %m, %zero, %four, %four, %zero, %four"
    " {ahead=8, rows=2, columns=4, dtype=f32, lanes=4} (%i: index, %j: index) {\n yield\n }\n yield",
    "local": "%0: buffer f32 = local {dtype=f32, count=4}\n yield",
    "attend": "attend %m, %zero, %four, %m, %zero, %four, %m, %zero, %four, %m, %zero, %four, %four, %four, "
    '%four, %four, %zero {dtype=f32, out=f32, form="f16", tile=128, width=64, threads=8, room=18432} '
    "(%i: index, %j: index, %t: f32) {\n yield %t\n } (%r: f32) {\n yield %r\n }\n yield",
    "multiply_tile": "multiply_tile %m, %zero, %four, %four, %m, %zero, %four, %four, %four, %four, %zero, %zero, "
    '%zero {dtype=f32, form="fma", tile=128, steps=16, along=[true, false], threads=8, room=40000, pitch=132} '
    "(%i: index, %j: index, %t: f32) {\n yield\n }\n yield",
    "on_chip": "%0: buffer f32 = on_chip %four {dtype=f32}\n yield",
    "stage": "%0: buffer f32 = on_chip %four {dtype=f32}\n stage %0, %m, %four, %four\n yield",
    "share": "share %four, %zero {step=1, threads=2, worth=9} (%i: index, %j: index, %k: index) {\n yield\n }\n yield",
    "add_overflows": "%s: i32 = bitcast %u {dtype=i32}\n %0: bool = add_overflows %s, %s\n yield %0",
    "subtract_overflows": "%s: i32 = bitcast %u {dtype=i32}\n %0: bool = subtract_overflows %s, %s\n yield %0",
    "multiply_overflows": "%s: i32 = bitcast %u {dtype=i32}\n %0: bool = multiply_overflows %s, %s\n yield %0",
    "multiply_high": "%0: u32 = multiply_high %u, %u\n yield %0",
}

_HOST_BODIES = {
    "argument": "%0: index = argument {slot=0}\n yield %0",
    "result": "%0: index = size {dim=7}\n result %0 {slot=0}\n yield",
    "alloc": "%0: index = size {dim=64}\n %1: buffer f32 = alloc %0 {dtype=f32}\n yield",
    "free": "%0: index = size {dim=64}\n %1: buffer f32 = alloc %0 {dtype=f32}\n free %1, %0\n yield",
    "launch": '%0: index = size {dim=64}\n launch %0 {kernel="k"}\n yield\n }\nkernel @k(%n: index) {\n yield',
    "library": '%0: index = size {dim=64}\n library %0 {symbol="dgemm"}\n yield',
    "invoke": """%0: index = size {dim=8}
      %1: buffer f64 = alloc %0 {dtype=f64}
      %2: buffer f64, %3: index = invoke %1 {takes=[[f64, 0]], gives=[[f64, [0]]], routine="numpy.unique",
        keywords=[], options=[]}
      %4: buffer f64 = alloc %0 {dtype=f64}
      invoke %2, %3, %0, %4 {takes=[[f64, 1]], gives=[[f64, []]], routine="numpy.sum", keywords=[], options=[]}
      yield %3""",
    "offset": "%0: index = size {dim=64}\n %1: buffer f32 = alloc %0 {dtype=f32}\n"
    "%2: buffer f32 = offset %1, %0\n yield",
    "extend": "%0: index = size {dim=64}\n %1: tape f32 = tape {dtype=f32}\n %2: buffer f32 = extend %1, %0\n yield",
    "retract": """%0: index = size {dim=64}
      %1: tape f32 = tape {dtype=f32}
      %2: buffer f32 = extend %1, %0
      %3: buffer f32 = retract %1, %0
      yield""",
    "transfer": "%0: index = size {dim=64}\n %1: buffer f32 = alloc %0 {dtype=f32}\n"
    ' %2: buffer f32 on cuda:0 = alloc %0 {dtype=f32, device="cuda:0"}\n transfer %2, %1, %0\n yield',
    "wait": "wait\n yield",
    "attach": 'attach {device="cuda:0"}\n yield',
    "inspect": "%0: index = size {dim=128}\n %1: buffer i64 = alloc %0 {dtype=i64}\n inspect %1\n yield",
    "heap": "%0: index = heap\n yield",
    "item_memory": """%0: index = heap
      %1: array<f64> = make_container %0 {type=<array<f64>>}
      %2: i64 = constant {value=3, type=<i64>}
      add_items %1, %2
      %3: buffer f64 = item_memory %1 {kept=true}
      yield""",
    "hold": "%0: index = heap\n %1: array<f64> = make_container %0 {type=<array<f64>>}\n hold %1\n yield",
    "clock": "%0: index = clock\n yield",
    "note": "%0: index = clock\n %1: index = size {dim=64}\n"
    ' note %0, %1, %1 {kind="kernel", work="kernel_0", lines=["a.py:1"]}\n yield',
    "fill_draws": f"""%g: i64 = constant {{value={id(GENERATOR)}, type=<i64>}}
      %0: index = size {{dim=8}}
      %1: buffer f64 = alloc %0 {{dtype=f64}}
      %count: index = size {{dim=1}}
      %one: f64 = constant {{value=1.0, type=<f64>}}
      fill_draws %g, %count, %1, %one, %1 {{method="normal", arrays=[1]}}
      yield""",
    "clear": "%0: tape f32 = tape {dtype=f32}\n clear %0\n yield",
}

_CONTAINERS = """%t: i64 = constant {value=0, type=<i64>}
  %j: i64 = constant {value=7, type=<i64>}
  %list: list<i64> = make_container {type=<list<i64>>}
  append_item %list, %j
  %dict: dict<(i64, i64), i64> = make_container {type=<dict<(i64, i64), i64>>}
  enter_key %dict, %j, %t, %j
  %set: set<i64> = make_container {type=<set<i64>>}
  enter_key %set, %j
"""
"""Containers with an entry each, for the ops on containers."""

_OF_CONTAINERS = {
    "make_container": "%0: list<list<int>> = make_container {type=<list<list<int>>>}\n yield",
    "no_container": "%0: deque<either<None, int, (f64, object<Node>), identity<Edge>>, 3> = no_container "
    "{type=<deque<either<None, int, (f64, object<Node>), identity<Edge>>, 3>>}\n yield",
    "container_length": "%0: i64 = container_length %dict\n yield %0",
    "container_changes": "%0: i64 = container_changes %set\n yield %0",
    "get_item": "%0: i64, %1: i64, %2: i64 = get_item %dict, %t\n yield %2",
    "set_item": "set_item %list, %t, %t\n yield",
    "append_item": "append_item %list, %t {front=true}\n yield",
    "drop_item": "drop_item %list\n yield",
    "insert_item": "insert_item %list, %t, %j\n yield",
    "remove_item": "remove_item %dict, %t\n yield",
    "find_key": "%0: i64 = find_key %dict, %j, %j\n yield %0",
    "enter_key": "enter_key %set, %t\n yield",
    "merge_keys": "merge_keys %set, %set\n yield",
    "next_key": "%0: i64 = next_key %set\n yield %0",
    "swap_keys": "swap_keys %set, %set\n yield",
    "settle_keys": "settle_keys %dict\n yield",
    "sift_item": "sift_item %list, %t {down=true}\n yield",
    "sort_items": "sort_items %list {words=1, reverse=true}\n yield",
    "keys_of": "%0: list<i64> = keys_of %set\n yield",
    "clear_container": "clear_container %dict\n yield",
    "text_constant": "%0: str<i64> = text_constant {characters=[97, 55357]}\n yield",
    "concatenate_texts": """%0: str<i64> = text_constant {characters=[97]}
      %1: str<i64> = concatenate_texts %0, %0
      yield""",
    "compare_texts": """%0: str<i64> = text_constant {characters=[97]}
      %1: i64 = compare_texts %0, %0
      yield %1""",
    "extend_text": """%0: str<i64> = text_constant {characters=[97, 98]}
      %1: str<i64> = make_container {type=<str<i64>>}
      extend_text %1, %0, %t, %t
      yield""",
    "insert_characters": """%0: str<i64> = text_constant {characters=[97, 98]}
      insert_characters %0, %t, %j, %j
      yield""",
    "append_packed": """%0: str<i64> = make_container {type=<str<i64>>}
      append_packed %0, %t, %j
      yield""",
    "append_number": """%0: str<i64> = make_container {type=<str<i64>>}
      append_number %0, %j {base=16, capitals=true}
      yield""",
    "pack_containers": "%0: list<i64> = pack_containers %dict, %set\n yield",
    "pass_container": "%0: list<list<int>> = pass_container %t {number=0, type=<list<list<int>>>}\n yield",
    "give_containers": "give_containers %t, %list\n yield",
    "tell_containers": "tell_containers %t\n yield",
    "add_items": """%0: array<f64> = make_container {type=<array<f64>>}
      add_items %0, %j
      %1: list<i64> = pack_containers %0
      yield""",
    "show_items": """%0: array<f32> = make_container {type=<array<f32>>}
      add_items %0, %j
      %1: place f32[7] = show_items %0 {dims=[7]}
      %2: f32[7] = load %1
      yield %2""",
}
_TENSOR_BODIES |= {name: _CONTAINERS + body for name, body in _OF_CONTAINERS.items()}

_DTYPES = [DTYPES[name] for name in ("f32", "i32", "bool", "c64", "u64")]
_ATTRIBUTES = {"cast": {"dtype": DTYPES["f64"]}, "bitcast": {"dtype": DTYPES["u32"]}}
ROWS = symbol("n")


def sampled_ops() -> list[str]:
    """Every op of the table."""
    return list(OPS)


def sample(name: str) -> Function:
    """A valid function with the op ``name``."""
    definition = OPS[name]
    if "elementwise" in definition.traits:
        return next(
            function
            for dtype in _DTYPES
            if (function := elementwise_function(name, dtype, Tensor(dtype, (ROWS, 3)))) is not None
        )
    if "reduction" in definition.traits:
        for kind in ("f32", "i32", "bool"):
            function = folding_function(name, Tensor(DTYPES[kind], (ROWS, 3)), axes=(1,))
            if function is not None:
                return function
    if "accumulation" in definition.traits:
        function = folding_function(name, Tensor(DTYPES["f32"], (ROWS, 3)), axis=0)
        assert function is not None
        return function
    for layer, bodies in (("tensor", _TENSOR_BODIES), ("loop", _LOOP_BODIES), ("host", _HOST_BODIES)):
        if name in bodies:
            word = {"tensor": "func", "loop": "kernel", "host": "host"}[layer]
            head = _LOOP_HEAD if layer == "loop" else ""
            facts = " where n >= 2" if layer == "tensor" else ""
            return parse(f"{word} @sample({_PARAMETERS[layer]}){facts} {{{head}\n{bodies[name]}\n}}")
    raise AssertionError(f"tests/ir/samples.py has no sample of the op {name}")


def elementwise_function(name: str, dtype: DType, kind: Type) -> Function | None:
    """``name`` applied to operands of one type, None if its rule does not take that dtype."""
    arity = OPS[name].arity
    assert arity is not None
    kinds = [kind] * arity
    if name == "select":
        assert isinstance(kind, Tensor | Scalar | Vector)
        condition = DTYPES["bool"]
        kinds[0] = Tensor(condition, kind.dims) if isinstance(kind, Tensor) else Scalar(condition)
    return _try_build(name, kinds, **_ATTRIBUTES.get(name, {}))


def folding_function(name: str, kind: Type, **attributes: object) -> Function | None:
    """A reduction or accumulation along axes, None if its rule does not take the operand."""
    return _try_build(name, [kind], **attributes)


def _try_build(name: str, kinds: list[Type], **attributes: object) -> Function | None:
    builder = Builder()
    parameters = [Value(kind) for kind in kinds]
    try:
        results = builder.add(name, *parameters, **attributes)
    except TypeRuleError:
        return None
    return Function("sample", builder.region(parameters, results))


def ops_of(function: Function) -> list[Op]:
    """The ops of the outermost region."""
    return list(function.region.ops)
