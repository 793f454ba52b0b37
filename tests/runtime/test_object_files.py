"""Object files into memory without LLVM: what is linked so computes the same, and what is no such file goes to LLVM."""

from __future__ import annotations

import ctypes
import random
import subprocess
import sys

import pytest

from jitflow.runtime.native import object_files
from jitflow.runtime.native.linking import LINKER
from jitflow.runtime.native.native_code import _object_code

pytestmark = pytest.mark.skipif(not object_files.are_known(), reason="another kind of object files")

CALLS = """
@table = constant [3 x ptr] [ptr @one, ptr @two, ptr @memcmp]
@count = global i64 40
@room = global [4 x i64] zeroinitializer, align 64
@far = external global i8

declare i32 @memcmp(ptr, ptr, i64)
declare i64 @elsewhere(i64)
declare ptr @memcpy(ptr, ptr, i64)

define internal i64 @one() {
  ret i64 1
}
define i64 @two() {
  %before = load i64, ptr @count
  %after = add i64 %before, 1
  store i64 %after, ptr @count
  store i64 %after, ptr getelementptr (i64, ptr @room, i64 3)
  ret i64 %after
}
define double @constants(double %x) {
  %y = fmul double %x, 0x400921FB54442D18
  %z = fadd double %y, 0x3FF6A09E667F3BCD
  ret double %z
}
define i64 @run(i64 %which) {
  %own = call i64 @elsewhere(i64 %which)
  %near = icmp eq ptr @far, inttoptr (i64 4096 to ptr)
  br i1 %near, label %go, label %no
go:
  %at = getelementptr ptr, ptr @table, i64 %which
  %function = load ptr, ptr %at
  %found = call i64 %function()
  %sum = add i64 %found, %own
  ret i64 %sum
no:
  ret i64 -1
}
define i32 @compare(ptr %a, ptr %b) {
  %copy = alloca i64
  %ignored = call ptr @memcpy(ptr %copy, ptr %a, i64 8)
  %found = call i32 @memcmp(ptr %copy, ptr %b, i64 8)
  ret i32 %found
}
"""
ELSEWHERE = """
@count = external global i64

define i64 @elsewhere(i64 %number) {
  %count = load i64, ptr @count
  %scaled = mul i64 %number, 100
  %sum = add i64 %scaled, %count
  ret i64 %sum
}
"""
NAMES = ("run", "compare", "constants", "table", "room")


def codes(level: int = 0) -> list[bytes]:
    return [_object_code(text, level, False) for text in (CALLS, ELSEWHERE)]


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("way", ["here", "by LLVM"])
def test_files_that_call_each_other_and_the_process(way: str, level: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_files, "are_known", lambda: way == "here")
    linked = LINKER.link(codes(level), NAMES, {"far": 4096})
    at = linked.addresses
    run = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(at["run"])
    assert [run(0), run(1), run(1)] == [41, 181, 183]
    assert at["room"] % 64 == 0
    assert [*(ctypes.c_int64 * 4).from_address(at["room"])] == [0, 0, 0, 42]
    words = (ctypes.c_int64 * 2)(7, 8)
    compare = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(at["compare"])
    assert compare(ctypes.addressof(words), ctypes.addressof(words)) == 0
    assert compare(ctypes.addressof(words), ctypes.addressof(words) + 8) != 0
    constants = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(at["constants"])
    assert constants(2.0) == 2.0 * 3.141592653589793 + 1.4142135623730951
    assert (ctypes.c_void_p * 3).from_address(at["table"])[2] == object_files._of_the_process("memcmp")


def test_code_is_not_writeable_and_data_not_executable() -> None:
    owner, at = object_files.load(codes(), NAMES, {"far": 4096})
    rights = {}
    with open("/proc/self/maps") as maps:
        for line in maps:
            places, found, *_ = line.split()
            start, end = (int(place, 16) for place in places.split("-"))
            rights |= {name: found[:3] for name, address in at.items() if start <= address < end}
    assert owner is not None
    assert (rights["run"], rights["table"], rights["room"]) == ("r-x", "rw-", "rw-")  # the table has addresses in it


def test_what_there_is_not() -> None:
    with pytest.raises(object_files.Unknown, match="there is no elsewhere"):
        object_files.load(codes()[:1], ("run",), {"far": 4096})
    with pytest.raises(object_files.Unknown, match="defined twice"):
        object_files.load([*codes(), codes()[1]], ("run",), {"far": 4096})
    with pytest.raises(object_files.Unknown, match="nobody"):
        object_files.load(codes(), ("nobody",), {"far": 4096})
    with pytest.raises(RuntimeError):  # LLVM has the last word
        LINKER.link(codes()[:1], ("run",), {"far": 4096})


def test_variables_of_threads_are_left_to_llvm() -> None:
    text = "@own = thread_local global i64 3\ndefine ptr @run() {\n  ret ptr @own\n}\n"
    with pytest.raises(object_files.Unknown):
        object_files.load([_object_code(text, 0, False)], ("run",), {})


def test_damaged_files_are_unknown_or_say_something_else() -> None:
    """Whatever bytes there are: an exception, or a library; nothing is written outside of it."""
    whole, draw = codes(), random.Random(1)
    for content in (b"", b"\x7fELF", whole[0][:64], whole[0][:-200], b"\0" * 4096):
        with pytest.raises(object_files.Unknown):
            object_files.load([content], (), {})
    loaded = 0
    for _ in range(1500):
        damaged = bytearray(whole[0])
        for _ in range(draw.randrange(1, 4)):
            damaged[draw.randrange(len(damaged))] = draw.randrange(256)
        try:
            object_files.load([bytes(damaged), whole[1]], (), {"far": 4096})
        except object_files.Unknown:
            continue
        loaded += 1
    assert 0 < loaded < 1500


def test_a_thread_may_end_inside_of_compiled_code() -> None:
    """Python ends threads so that wait for it while it shuts down."""
    text = "define ptr @run(ptr %end) {\n  call void %end(ptr inttoptr (i64 77 to ptr))\n  ret ptr null\n}\n"
    program = f"""
import ctypes
from jitflow.runtime.native.native_code import NativeCode
code, system = NativeCode({text!r}), ctypes.CDLL(None)
thread, left = ctypes.c_ulong(), ctypes.c_void_p()
end = ctypes.cast(system.pthread_exit, ctypes.c_void_p)
system.pthread_create(ctypes.byref(thread), None, ctypes.c_void_p(code.address("run")), end)
system.pthread_join(thread, ctypes.byref(left))
print(left.value)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("77\n", "")
