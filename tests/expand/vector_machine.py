"""A `Machine` that emits LLVM IR for vectors and runs it over NumPy arrays.

It is the smallest backend that can test and time the expansions on their own:
text in, one loop over contiguous arrays out.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import numpy.typing as npt

NUMPY_DTYPES = {
    "f32": np.float32,
    "f64": np.float64,
    "i32": np.int32,
    "i64": np.int64,
    "u32": np.uint32,
    "u64": np.uint64,
}
LLVM_DTYPES = {"f32": "float", "f64": "double", "i32": "i32", "i64": "i64", "u32": "i32", "u64": "i64", "bool": "i1"}
COMPARISONS = {
    "less": ("olt", "lt"),
    "less_equal": ("ole", "le"),
    "greater": ("ogt", "gt"),
    "greater_equal": ("oge", "ge"),
    "equal": ("oeq", "eq"),
    "not_equal": ("une", "ne"),
}
ARITHMETIC = {"add": "add", "subtract": "sub", "multiply": "mul", "divide": "div"}
INTRINSICS = {
    "sqrt": "sqrt",
    "floor": "floor",
    "ceil": "ceil",
    "trunc": "trunc",
    "rint": "rint",
    "absolute": "fabs",
    "copysign": "copysign",
    "fma": "fma",
}

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Lanes:
    """A vector value: its name or literal in LLVM IR, and its dtype."""

    name: str
    dtype: str


@dataclass
class VectorMachine:
    """Writes one instruction per operation."""

    width: int
    lines: list[str] = field(default_factory=list)
    declarations: set[str] = field(default_factory=set)
    count: int = 0
    block: str = "loop"

    def type(self, dtype: str) -> str:
        return f"<{self.width} x {LLVM_DTYPES[dtype]}>"

    def emit(self, instruction: str, dtype: str) -> Lanes:
        self.count += 1
        self.lines.append(f"  %{self.count} = {instruction}")
        return Lanes(f"%{self.count}", dtype)

    def dtype(self, x: Lanes) -> str:
        return x.dtype

    def constant(self, value: float, dtype: str) -> Lanes:
        if dtype.startswith("f"):
            as_double = np.float64(NUMPY_DTYPES[dtype](value))
            literal = f"0x{as_double.view(np.uint64):016X}"
        else:
            literal = str(int(value))
        element = f"{LLVM_DTYPES[dtype]} {literal}"
        return Lanes(f"splat ({element})", dtype)

    def __getattr__(self, name: str) -> Callable[..., Lanes]:
        if name in COMPARISONS:
            return lambda a, b: self.compare(name, a, b)
        if name in ARITHMETIC:
            return lambda a, b: self.arithmetic(ARITHMETIC[name], a, b)
        if name in INTRINSICS:
            return lambda *operands: self.intrinsic(INTRINSICS[name], operands)
        raise AttributeError(name)

    def binary(self, operation: str, a: Lanes, b: Lanes) -> Lanes:
        assert a.dtype == b.dtype, (operation, a.dtype, b.dtype)
        return self.emit(f"{operation} {self.type(a.dtype)} {a.name}, {b.name}", a.dtype)

    def arithmetic(self, operation: str, a: Lanes, b: Lanes) -> Lanes:
        return self.binary("f" * a.dtype.startswith("f") + operation, a, b)

    def compare(self, name: str, a: Lanes, b: Lanes) -> Lanes:
        on_floats, on_integers = COMPARISONS[name]
        if a.dtype.startswith("f"):
            operation = f"fcmp {on_floats}"
        else:
            sign = "" if name in {"equal", "not_equal"} else {"i": "s", "u": "u"}[a.dtype[0]]
            operation = f"icmp {sign}{on_integers}"
        return Lanes(self.binary(operation, a, b).name, "bool")

    def intrinsic(self, name: str, operands: Sequence[Lanes]) -> Lanes:
        dtype = operands[0].dtype
        assert all(operand.dtype == dtype for operand in operands), name
        vector = self.type(dtype)
        function = f"@llvm.{name}.v{self.width}{dtype}"
        self.declarations.add(f"declare {vector} {function}({', '.join([vector] * len(operands))})")
        return self.emit(f"call {vector} {function}({', '.join(f'{vector} {o.name}' for o in operands)})", dtype)

    def negative(self, x: Lanes) -> Lanes:
        if x.dtype.startswith("f"):
            return self.emit(f"fneg {self.type(x.dtype)} {x.name}", x.dtype)
        return self.arithmetic("sub", self.constant(0, x.dtype), x)

    def select(self, mask: Lanes, a: Lanes, b: Lanes) -> Lanes:
        assert a.dtype == b.dtype
        assert mask.dtype == "bool"
        vector = self.type(a.dtype)
        return self.emit(f"select {self.type('bool')} {mask.name}, {vector} {a.name}, {vector} {b.name}", a.dtype)

    def bitwise_and(self, a: Lanes, b: Lanes) -> Lanes:
        return self.binary("and", a, b)

    def bitwise_or(self, a: Lanes, b: Lanes) -> Lanes:
        return self.binary("or", a, b)

    def bitwise_xor(self, a: Lanes, b: Lanes) -> Lanes:
        return self.binary("xor", a, b)

    def bitwise_not(self, x: Lanes) -> Lanes:
        return self.binary("xor", x, self.constant(-1, x.dtype))

    logical_and, logical_or, logical_not = bitwise_and, bitwise_or, bitwise_not

    def left_shift(self, x: Lanes, amount: Lanes) -> Lanes:
        return self.binary("shl", x, amount)

    def right_shift(self, x: Lanes, amount: Lanes) -> Lanes:
        return self.binary("ashr" if x.dtype.startswith("i") else "lshr", x, amount)

    def multiply_high(self, a: Lanes, b: Lanes) -> Lanes:
        narrow = self.type(a.dtype)
        bits = int(a.dtype[1:])
        wide = f"<{self.width} x i{2 * bits}>"
        first, second = (self.emit(f"zext {narrow} {operand.name} to {wide}", a.dtype) for operand in (a, b))
        product = self.emit(f"mul {wide} {first.name}, {second.name}", a.dtype)
        upper = self.emit(f"lshr {wide} {product.name}, splat (i{2 * bits} {bits})", a.dtype)
        return self.emit(f"trunc {wide} {upper.name} to {narrow}", a.dtype)

    def cast(self, x: Lanes, dtype: str) -> Lanes:
        source, target = x.dtype[0], dtype[0]
        narrower = int(dtype[1:]) < int(x.dtype[1:])
        if LLVM_DTYPES[dtype] == LLVM_DTYPES[x.dtype]:
            return Lanes(x.name, dtype)
        if source == target == "f":
            operation = "fptrunc" if narrower else "fpext"
        elif source == "f":
            operation = {"i": "fptosi", "u": "fptoui"}[target]
        elif target == "f":
            operation = {"i": "sitofp", "u": "uitofp"}[source]
        else:
            operation = "trunc" if narrower else {"i": "sext", "u": "zext"}[source]
        return self.emit(f"{operation} {self.type(x.dtype)} {x.name} to {self.type(dtype)}", dtype)

    def bitcast(self, x: Lanes, dtype: str) -> Lanes:
        if LLVM_DTYPES[dtype] == LLVM_DTYPES[x.dtype]:
            return Lanes(x.name, dtype)
        return self.emit(f"bitcast {self.type(x.dtype)} {x.name} to {self.type(dtype)}", dtype)

    def if_any(
        self, mask: Lanes, then: Callable[[], tuple[Lanes, ...]], otherwise: tuple[Lanes, ...]
    ) -> tuple[Lanes, ...]:
        reduce = f"@llvm.vector.reduce.or.v{self.width}i1"
        self.declarations.add(f"declare i1 {reduce}({self.type('bool')})")
        taken = self.emit(f"call i1 {reduce}({self.type('bool')} {mask.name})", "bool")
        before, inside, after = self.block, f"rare{self.count}", f"join{self.count}"
        self.lines.append(f"  br i1 {taken.name}, label %{inside}, label %{after}, !prof !0")
        self.lines.append(f"{inside}:")
        self.block = inside
        results = then()
        self.lines.append(f"  br label %{after}")
        self.lines.append(f"{after}:")
        source, self.block = self.block, after
        return tuple(
            self.emit(f"phi {self.type(a.dtype)} [ {a.name}, %{source} ], [ {b.name}, %{before} ]", a.dtype)
            for a, b in zip(results, otherwise, strict=True)
        )

    def in_rare_lanes(self, mask: Lanes, compute: Callable[[Lanes], Lanes], x: Lanes, otherwise: Lanes) -> Lanes:
        return self.if_any(mask, lambda: (self.select(mask, compute(x), otherwise),), (otherwise,))[0]


@dataclass(frozen=True)
class Compiled:
    """A native loop over contiguous arrays of one dtype."""

    engine: llvm.ExecutionEngine
    call: Callable[..., None]
    dtype: str
    width: int
    assembly: str

    def __call__(self, *operands: npt.ArrayLike, out: Array | None = None) -> Array:
        dtype = NUMPY_DTYPES[self.dtype]
        arrays = [np.ascontiguousarray(operand, dtype) for operand in operands]
        size = arrays[0].size
        padded = -(-size // self.width) * self.width
        if padded != size:
            arrays = [np.pad(array, (0, padded - size)) for array in arrays]
            return self(*arrays)[:size]
        result = np.empty(size, dtype) if out is None else out
        self.bind(*arrays, out=result)()
        return result

    def bind(self, *operands: Array, out: Array) -> Callable[[], None]:
        """A call whose own cost is small, for timing: whole vectors, of the right dtype."""
        assert out.size % self.width == 0
        addresses = [array.ctypes.data for array in (*operands, out)]
        return lambda: self.call(out.size, *addresses)


def emit_loop(expansion: Callable[..., Any], arity: int, dtype: str, width: int) -> str:
    """The IR of a function that applies the expansion to whole vectors."""
    machine = VectorMachine(width)
    vector, element = machine.type(dtype), LLVM_DTYPES[dtype]
    operands = []
    for i in range(arity):
        pointer = machine.emit(f"getelementptr {element}, ptr %in{i}, i64 %index", dtype)
        operands.append(machine.emit(f"load {vector}, ptr {pointer.name}, align {4 if dtype == 'f32' else 8}", dtype))
    result = expansion(machine, *operands)
    target = machine.emit(f"getelementptr {element}, ptr %out, i64 %index", dtype)
    parameters = "".join(f", ptr noalias %in{i}" for i in range(arity))
    return "\n".join(
        [
            *sorted(machine.declarations),
            f"define void @run(i64 %size{parameters}, ptr noalias %out) #0 {{",
            "entry:",
            "  br label %loop",
            "loop:",
            f"  %index = phi i64 [ 0, %entry ], [ %next, %{machine.block} ]",
            *machine.lines,
            f"  store {vector} {result.name}, ptr {target.name}, align {4 if dtype == 'f32' else 8}",
            f"  %next = add i64 %index, {width}",
            "  %more = icmp ult i64 %next, %size",
            "  br i1 %more, label %loop, label %exit",
            "exit:",
            "  ret void",
            "}",
            'attributes #0 = { nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512" }',
            '!0 = !{!"branch_weights", i32 1, i32 2000}',
        ]
    )


def compile_expansion(expansion: Callable[..., Any], arity: int, dtype: str, width: int | None = None) -> Compiled:
    """Compile for the host; the width is in lanes, 64 bytes by default."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    width = width or {"f32": 16, "f64": 8}[dtype]
    module = llvm.parse_assembly(emit_loop(expansion, arity, dtype, width))
    module.verify()
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=2, jit=True
    )
    options = llvm.create_pipeline_tuning_options(speed_level=1)
    passes = llvm.create_pass_builder(machine, options)
    manager = passes.getModulePassManager()
    manager.run(module, passes)
    assembly = machine.emit_assembly(module)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    signature = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * (arity + 1))
    return Compiled(engine, signature(engine.get_function_address("run")), dtype, width, assembly)
