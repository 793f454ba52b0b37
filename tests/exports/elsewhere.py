"""Exported programs run outside of Python: in C (here, or as AArch64 code under qemu) and in WebAssembly under node."""

from __future__ import annotations

import importlib.util
import inspect
import json
import shutil
import struct
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from jitflow.exports.export import Exported
from jitflow.exports.header import _input, _output
from jitflow.ir.dims import evaluate
from jitflow.runtime.native.dtypes import numpy_dtype

__all__ = ["Ran", "compiler", "has_node", "has_qemu", "named", "named_arguments", "run_in_c", "run_in_node"]


@dataclass
class Ran:
    """What a call gave: results by name, and the arrays that were passed, as they are afterwards."""

    status: int
    message: str
    results: dict[str, Any]
    arguments: dict[str, np.ndarray]


@cache
def compiler(target: str) -> list[str] | None:
    """A C compiler for a target."""
    if target == "host":
        found = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
        if found:
            return [found]
    if importlib.util.find_spec("ziglang") is None:
        return None
    return [sys.executable, "-m", "ziglang", "cc", *_OPTIONS.get(target, ())]


_OPTIONS = {
    "aarch64-linux": "-target aarch64-linux-none -nostdlib -static -fno-builtin -fno-stack-protector "
    "-fno-sanitize=undefined".split(),
    "aarch64-linux-musl": "-target aarch64-linux-musl -static -lm".split(),
}
"""Without a C library, which takes minutes to compile when it is first used; and with one, for sines."""

_WITHOUT_LIBRARY = """
#include <stdint.h>
#define SIZE unsigned long
static long call(long number, long a, long b, long c) {
  register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
  __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
  return x0;
}
static char heap[1 << 27];
static SIZE used;
void *malloc(SIZE size) { char *found = heap + used; used += size + 31 & ~15UL; return used > sizeof heap ? 0 : found; }
void free(void *memory) {}
void *memcpy(void *to, const void *from, SIZE size) {
  for (SIZE i = 0; i < size; i++) ((volatile char *)to)[i] = ((char *)from)[i];
  return to;
}
void *memset(void *to, int value, SIZE size) {
  for (SIZE i = 0; i < size; i++) ((volatile char *)to)[i] = value;
  return to;
}
static void fread(void *to, SIZE item, SIZE size, int file) {
  for (long n; size && (n = call(63, 0, (long)to, size)) > 0; to = (char *)to + n) size -= n;
}
static void fwrite(void *from, SIZE item, SIZE count, int file) {
  SIZE size = item * count;
  for (long n; size && (n = call(64, 1, (long)from, size)) > 0; from = (char *)from + n) size -= n;
}
enum { stdin, stdout };
int main(void);
void _start(void) { call(93, main(), 0, 0); }
"""


has_qemu = shutil.which("qemu-aarch64") is not None and compiler("aarch64-linux") is not None
has_node = shutil.which("node") is not None and (
    shutil.which("wasm-ld") is not None or importlib.util.find_spec("ziglang") is not None
)


def _sizes(exported: Exported, arguments: Mapping[str, Any]) -> dict[str, int]:
    sizes = dict(exported.interface.known)
    for one in exported.interface.parameters:
        for dim, size in zip(one.dims or (), getattr(arguments[one.name], "shape", ()), strict=False):
            sizes.setdefault(str(dim), size)
    return sizes


def run_in_c(exported: Exported, arguments: Mapping[str, Any], folder: Path, target: str = "host") -> Ran:
    """Compile a program in C around the function, and run it."""
    interface, name = exported.interface, exported.name
    if target != "host" and "mathematical functions" in exported.header.read_text():
        target = f"{target}-musl"
    sizes = _sizes(exported, arguments)
    arrays = {
        one.name: np.array(arguments[one.name], order=one.layout or "C")
        for one in interface.parameters
        if one.dims is not None
    }
    lines, call = [], [str(sizes[size]) for size in interface.sizes]
    for one in interface.parameters:
        if one.dims is not None:
            kind = _input(one)[0].removeprefix("const ").split(" ")[0]
            lines.append(f"{kind} *{one.name} = malloc({arrays[one.name].nbytes + 1});")
            lines.append(f"fread({one.name}, 1, {arrays[one.name].nbytes}, stdin);")
            call.append(one.name)
        else:
            for part, text in zip(_input(one), _literals(arguments[one.name], one.dtype), strict=True):
                lines.append(f"{part} = {text};")
                call.append(part.split(" ")[-1])
    writes = [f"fwrite({one}, 1, {array.nbytes}, stdout);" for one, array in arrays.items()]
    for one in interface.outputs:
        declared, item = _output(one), numpy_dtype(one.dtype).itemsize
        if len(declared) == 2:
            lines.append(f"{declared[0].replace('**', '*')} = 0; int64_t {one.name}_sizes[{max(one.rank, 1)}] = {{0}};")
            call += [f"&{one.name}", f"{one.name}_sizes"]
            count = "*".join(["1", *(f"{one.name}_sizes[{axis}]" for axis in range(one.rank))])
            writes.append(f"fwrite({one.name}_sizes, 8, {one.rank}, stdout);")
            writes.append(f"fwrite({one.name}, {item}, {count}, stdout); free({one.name});")
        else:
            count = int(np.prod([evaluate(dim, sizes) for dim in one.dims or ()], dtype=int))
            lines.append(f"{declared[0]} = malloc({item * count + 1});")
            call.append(one.name)
            writes.append(f"fwrite({one.name}, {item}, {count}, stdout);")
    body = "\n  ".join([*lines, f"int32_t status = {name}({', '.join([*call, 'message'])});",
                        "fwrite(&status, 4, 1, stdout); fwrite(message, 1, 512, stdout);",
                        f"if (!status) {{ {' '.join(writes)} }}"])  # fmt: skip
    source = folder / f"{name}_{target}.c"
    library = _WITHOUT_LIBRARY if target == "aarch64-linux" else "#include <stdio.h>\n#include <stdlib.h>"
    source.write_text(f'{library}\n#include "{exported.header.resolve()}"\n'
                      f"int main(void) {{\n  static char message[512];\n  {body}\n  return 0;\n}}\n")  # fmt: skip
    program = source.with_suffix("")
    command = compiler(target)
    assert command is not None
    libm = ["-lm"] if target == "host" else []
    subprocess.run([*command, "-w", str(source), str(exported.object), *libm, "-o", str(program)], check=True)
    sent = b"".join(array.tobytes("A") for array in arrays.values())
    runner = [] if target == "host" else ["qemu-aarch64"]
    ran = subprocess.run([*runner, str(program)], input=sent, capture_output=True, check=True)
    return _read(exported, arrays, sizes, ran.stdout)


def _literals(value: Any, dtype: str) -> list[str]:
    if dtype in ("c64", "c128"):
        return [float(value.real).hex(), float(value.imag).hex()]
    if dtype in ("f32", "f64"):
        return [float(value).hex()]
    if dtype == "f16":
        return [str(np.float16(value).view(np.uint16))]
    return [f"{int(value)}LL" if dtype != "u64" else f"{int(value)}ULL"]


def _read(exported: Exported, arrays: Mapping[str, np.ndarray], sizes: Mapping[str, int], content: bytes) -> Ran:
    (status,) = struct.unpack("<i", content[:4])
    message = content[4:516].split(b"\0")[0].decode()
    place, after, results = 516, {}, {}
    if status:
        return Ran(status, message, {}, {})

    def take(dtype: np.dtype, shape: Sequence[int], order: str = "C") -> np.ndarray:
        nonlocal place
        count = int(np.prod(shape, dtype=int))
        found = np.frombuffer(content, dtype, count, place).reshape(shape, order=order)
        place += found.nbytes
        return found

    orders = {one.name: one.layout for one in exported.interface.parameters}
    for name, array in arrays.items():
        after[name] = take(array.dtype, array.shape, orders[name] or "C")
    for one in exported.interface.outputs:
        if one.rank is None:
            results[one.name] = take(numpy_dtype(one.dtype), ())[()]
            continue
        known = one.dims is not None
        shape = [evaluate(dim, sizes) for dim in one.dims] if known else take(np.dtype("int64"), (one.rank,)).tolist()
        results[one.name] = take(numpy_dtype(one.dtype), shape)
    assert place == len(content)
    return Ran(status, message, results, after)


def run_in_node(exported: Exported, arguments: Mapping[str, Any], folder: Path) -> Ran:
    """Call the function of a WebAssembly module."""
    sizes, calls, outputs, arrays = _sizes(exported, arguments), [], [], {}
    calls += [["size", str(sizes[size])] for size in exported.interface.sizes]
    for one in exported.interface.parameters:
        value = arguments[one.name]
        if one.dims is not None:
            arrays[one.name] = np.array(value, order=one.layout or "C")
            calls.append(["array", arrays[one.name].nbytes])
        elif one.dtype in ("i64", "u64"):
            calls.append(["size", str(int(value))])
        else:
            parts = [value.real, value.imag] if one.dtype in ("c64", "c128") else [value]
            calls += [["number", float(part).hex()] for part in parts]
    for one in exported.interface.outputs:
        item = numpy_dtype(one.dtype).itemsize
        if one.rank is not None and one.dims is None:
            outputs.append(["found", one.rank, item])
        else:
            outputs.append(["given", item * int(np.prod([evaluate(dim, sizes) for dim in one.dims or ()], dtype=int))])
    script = folder / f"{exported.name}.mjs"
    script.write_text(_SCRIPT)
    about = json.dumps({"module": str(exported.library), "name": exported.name, "calls": calls, "outputs": outputs})
    sent = b"".join(array.tobytes("A") for array in arrays.values())
    ran = subprocess.run(["node", str(script), about], input=sent, capture_output=True)
    assert ran.returncode == 0, ran.stderr.decode()[-2000:]
    return _read(exported, arrays, sizes, ran.stdout)


_SCRIPT = """
import fs from "node:fs";
const about = JSON.parse(process.argv[2]), sent = fs.readFileSync(0);
const module = new WebAssembly.Module(fs.readFileSync(about.module));
const env = Object.fromEntries(WebAssembly.Module.imports(module).map(one => [one.name,
  one.name === "fmod" || one.name === "fmodf" ? (a, b) => a % b : Math[one.name.replace(/f$/, "")] ?? Math[one.name]]));
const {exports} = new WebAssembly.Instance(module, {env});
const bytes = (at, count) => new Uint8Array(exports.memory.buffer, at, count);
const hex = text => {
  if (!text.includes("x")) return Number(text.replace("inf", "Infinity").replace("nan", "NaN"));
  const [, sign, whole, part, exponent] = text.match(/(-?)0x(\\d)\\.([0-9a-f]*)p([+-]\\d+)/);
  const value = (Number(whole) + parseInt(part || "0", 16) / 16 ** part.length) * 2 ** Number(exponent);
  return sign ? -value : value;
};
let place = 0;
const given = [], arrays = [];
for (const [kind, what] of about.calls) {
  if (kind === "size") given.push(BigInt(what));
  else if (kind === "number") given.push(hex(what));
  else {
    const at = exports.malloc(what + 1);
    bytes(at, what).set(sent.subarray(place, place += what));
    arrays.push([at, what]);
    given.push(at);
  }
}
const outputs = about.outputs.map(([kind, count, item]) => {
  const at = exports.malloc((kind === "found" ? 8 * count : count) + 1);
  const address = kind === "found" ? exports.malloc(8) : 0;
  if (kind === "found") given.push(address);
  given.push(at);
  return [kind, count, item, at, address];
});
const message = exports.malloc(512);
bytes(message, 512).fill(0);
const status = exports[about.name](...given, message);
const written = [Buffer.from(new Int32Array([status]).buffer), Buffer.from(bytes(message, 512))];
if (!status) {
  for (const [at, count] of arrays) written.push(Buffer.from(bytes(at, count)));
  for (const [kind, count, item, at, address] of outputs) {
    written.push(Buffer.from(bytes(at, kind === "found" ? 8 * count : count)));
    if (kind === "found") {
      const sizes = new BigInt64Array(exports.memory.buffer.slice(at, at + 8 * count));
      const data = new Uint32Array(exports.memory.buffer.slice(address, address + 4))[0];
      written.push(Buffer.from(bytes(data, item * Number(sizes.reduce((a, b) => a * b, 1n)))));
    }
  }
}
fs.writeSync(1, Buffer.concat(written));
"""


def named(thing: Any, name: str) -> dict[str, Any]:
    """The arrays and numbers in nested containers, by the names that they have in C."""
    if isinstance(thing, dict):
        items = thing.items()
    elif isinstance(thing, tuple) and hasattr(thing, "_fields"):
        items = zip(thing._fields, thing, strict=True)
    elif isinstance(thing, tuple | list):
        items = enumerate(thing)
    else:
        return {} if thing is None or isinstance(thing, str) else {name: thing}
    return {key: value for part, inner in items for key, value in named(inner, f"{name}_{part}").items()}


def named_arguments(function: Any, arguments: Sequence[Any]) -> dict[str, Any]:
    """What C is given for the arguments of a function."""
    bound = inspect.signature(function.__wrapped__).bind(*arguments)
    bound.apply_defaults()
    return {key: one for name, value in bound.arguments.items() for key, one in named(value, name).items()}
