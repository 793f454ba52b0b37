"""Draws from NumPy's generators as LLVM text: for each row of the table one draw, and a function that fills memory.

There is no pass pipeline behind it (`native_code`), so what is to be fast is written out.
"""

from __future__ import annotations

from jitflow.ir.draws import Draw
from jitflow.ir.dtypes import BOOL, DType
from jitflow.records import dataclass
from jitflow.runtime.native.object_layout import OBJECT_TYPE

__all__ = ["bitgen_text", "bounded_text", "fill_text", "function_text", "legacy_text", "python_text", "quick_text",
           "type_of"]  # fmt: skip

FUNCTION, GENERATOR, NEXT_DOUBLE, QUICK_FILL = "c_function", "generator_class", "next_double", "quick_fill"
"""What the texts call, or compare with, by name: the linker is told the addresses."""

_STRAIGHT_ON = "\n  br label %begin"
_TYPES = {"f64": "double", "f32": "float", "bool": "i1"}


def bitgen_text(new_offset: int, old_offset: int) -> str:
    """Where the ``bitgen_t`` of a generator lies, which is of the class `GENERATOR` or a `RandomState`."""
    if new_offset == old_offset:
        return f"""
  %object = inttoptr i64 %generator to ptr
  %bitgen = getelementptr i8, ptr %object, i64 {new_offset}"""
    return f"""
  %object = inttoptr i64 %generator to ptr
  %type.at = getelementptr i8, ptr %object, i64 {OBJECT_TYPE}
  %type = load i64, ptr %type.at
  %new = icmp eq i64 %type, ptrtoint (ptr @{GENERATOR} to i64)
  %offset = select i1 %new, i64 {new_offset}, i64 {old_offset}
  %bitgen = getelementptr i8, ptr %object, i64 %offset"""


@dataclass(frozen=True, slots=True)
class Quick:
    """A function for one kind of bit generator, which is known by its C function for a double.

    ``fill`` fills memory. It is given the ``bitgen_t``, and numbers for the parameters.
    """

    next_double: int
    fill: int


def quick_text(row: Draw) -> str:
    """The way of `fill` for one kind of bit generator (`Quick`), if its parameters are numbers."""
    lines = [
        f"""
  %next.at = getelementptr i8, ptr %bitgen, i64 24
  %next.double = load i64, ptr %next.at, align 8
  %is.known = icmp eq i64 %next.double, ptrtoint (ptr @{NEXT_DOUBLE} to i64)"""
    ]
    names = [f"%p{number}" for number in range(len(row.parameters))]
    fits, loads, arguments = "%is.known", [], ["ptr %bitgen", "i64 %count", "ptr %target"]
    for name in names:
        lines.append(f"""  {name}.number = icmp eq i64 {name}.step, 0
  {name}.fits = and i1 {fits}, {name}.number""")
        fits = f"{name}.fits"
        loads.append(f"  {name}.same = load double, ptr {name}.at, align 8")
        arguments.append(f"double {name}.same")
    lines += [f"  br i1 {fits}, label %quick, label %begin", "quick:", *loads]
    lines += [f"  call void @{QUICK_FILL}({', '.join(arguments)})", "  ret void"]
    return "\n".join(lines)


def function_text(row: Draw, bitgen: str, quick: str, fills: bool) -> str:
    """One draw by a C function, or the loop over many, with the ``quick`` way that there may be."""
    kind = type_of(row.result)
    names = [f"%p{number}" for number in range(len(row.parameters))]
    parameters = [f"{type_of(dtype)} {name}" for dtype, name in zip(row.parameters, names, strict=True)]
    declared, before = "", bitgen
    arguments = ["ptr %bitgen", *parameters]
    if row.memory:
        declared = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"
        before = f"""
  %memory = alloca i8, i64 {row.memory}, align 16
  call void @llvm.memset.p0.i64(ptr %memory, i8 0, i64 {row.memory}, i1 false){bitgen}"""
        arguments.append("ptr %memory")
    call = f"@{FUNCTION}({', '.join(arguments)})"
    if fills:
        return declared + fill_text(row, before, call, quick)
    return f"""{declared}
define {kind} @draw({", ".join(["i64 %generator", *parameters])}) {{{before}
  %drawn = call {kind} {call}
  ret {kind} %drawn
}}"""


def fill_text(row: Draw, before: str, call: str, quick: str = "") -> str:
    """The loop that fills memory by a call, which is given the parameters of each element.

    ``quick`` ends the first block: it goes to ``begin``, or does all the work.
    """
    kind, names = type_of(row.result), [f"%p{number}" for number in range(len(row.parameters))]
    places = [f"ptr {name}.at, i64 {name}.step" for name in names]
    lines = [
        f"""
define void @fill({", ".join(["i64 %generator, i64 %count, ptr %target", *places])}) {{
start:{before}{quick or _STRAIGHT_ON}
begin:
  %some = icmp sgt i64 %count, 0
  br i1 %some, label %turn, label %end
turn:
  %i = phi i64 [ 0, %begin ], [ %next, %turn ]"""
    ]
    for dtype, name in zip(row.parameters, names, strict=True):
        lines += [
            f"  {name}.distance = mul i64 %i, {name}.step",
            f"  {name}.place = getelementptr i8, ptr {name}.at, i64 {name}.distance",
            f"  {name} = load {type_of(dtype)}, ptr {name}.place, align {dtype.itemsize}",
        ]
    lines.append(f"""  %drawn = call {kind} {call}
  %place = getelementptr {kind}, ptr %target, i64 %i
  store {kind} %drawn, ptr %place, align {row.result.itemsize}
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %turn, label %end
end:
  ret void
}}""")
    return "\n".join(lines)


def bounded_text(row: Draw, bitgen: str) -> str:
    """Integers: the C function fills an array, of one number for a single draw."""
    kind, masked = type_of(row.result), str(row.masked).lower()
    stored = "i8" if row.result == BOOL else kind
    returned = "%drawn"
    narrow = ""
    if row.result == BOOL:
        narrow, returned = "\n  %bit = trunc i8 %drawn to i1", "%bit"
    extension = " zeroext" if row.result.itemsize < 4 else ""

    def call(low: str, span: str, count: str, target: str) -> str:
        return (f"call void @{FUNCTION}(ptr %bitgen, {kind}{extension} {low}, {kind}{extension} {span}, i64 {count}, "
                f"i1 zeroext {masked}, ptr {target})")  # fmt: skip

    return f"""
define {kind} @draw(i64 %generator, {kind} %low, {kind} %span) {{
  %room = alloca i64, align 8{bitgen}
  {call("%low", "%span", "1", "%room")}
  %drawn = load {stored}, ptr %room, align {row.result.itemsize}{narrow}
  ret {kind} {returned}
}}
define void @fill(i64 %generator, i64 %count, ptr %target, ptr %low.at, i64 %step, ptr %span.at, i64 %other) {{
  %low = load {kind}, ptr %low.at, align {row.result.itemsize}
  %span = load {kind}, ptr %span.at, align {row.result.itemsize}{bitgen}
  {call("%low", "%span", "%count", "%target")}
  ret void
}}"""


def legacy_text(row: Draw, kept: int, bitgen: str, quick: str, fills: bool) -> str:
    """Draws of a `RandomState`, whose formulas are frozen: pairs of normal numbers by Marsaglia's polar method.

    ``kept`` is where it keeps the second of a pair: a flag, and 8 bytes behind it the number.
    """
    names = [f"double %p{number}" for number in range(len(row.parameters))]
    call = f"@{row.method}({', '.join(['i64 %generator', *names])})"
    last = f"""
define double @draw({", ".join(["i64 %generator", *names])}) {{
  %drawn = call double {call}
  ret double %drawn
}}"""
    return f"""
declare double @log(double)
declare double @llvm.sqrt.f64(double)

define internal double @uniform(i64 %generator) {{{bitgen}
  %state = load ptr, ptr %bitgen
  %function.at = getelementptr i8, ptr %bitgen, i64 24
  %function = load ptr, ptr %function.at
  %drawn = call double %function(ptr %state)
  ret double %drawn
}}
define internal double @exponential(i64 %generator, double %scale) {{
  %drawn = call double @uniform(i64 %generator)
  %rest = fsub double 1.0, %drawn
  %log = call double @log(double %rest)
  %made = fneg double %log
  %scaled = fmul double %scale, %made
  ret double %scaled
}}
define internal double @standard_normal(i64 %generator) {{
start:
  %object = inttoptr i64 %generator to ptr
  %flag.at = getelementptr i8, ptr %object, i64 {kept}
  %kept.at = getelementptr i8, ptr %flag.at, i64 8
  %flag = load i32, ptr %flag.at
  %is.kept = icmp ne i32 %flag, 0
  br i1 %is.kept, label %kept, label %pair
kept:
  %before = load double, ptr %kept.at
  store i32 0, ptr %flag.at
  store double 0.0, ptr %kept.at
  ret double %before
pair:
  %u = call double @uniform(i64 %generator)
  %u.twice = fmul double 2.0, %u
  %x = fsub double %u.twice, 1.0
  %v = call double @uniform(i64 %generator)
  %v.twice = fmul double 2.0, %v
  %y = fsub double %v.twice, 1.0
  %x.square = fmul double %x, %x
  %y.square = fmul double %y, %y
  %square = fadd double %x.square, %y.square
  %outside = fcmp oge double %square, 1.0
  %nothing = fcmp oeq double %square, 0.0
  %again = or i1 %outside, %nothing
  br i1 %again, label %pair, label %made
made:
  %log = call double @log(double %square)
  %twice = fmul double -2.0, %log
  %quotient = fdiv double %twice, %square
  %factor = call double @llvm.sqrt.f64(double %quotient)
  %next = fmul double %factor, %x
  store double %next, ptr %kept.at
  store i32 1, ptr %flag.at
  %drawn = fmul double %factor, %y
  ret double %drawn
}}
define internal double @normal(i64 %generator, double %loc, double %scale) {{
  %drawn = call double @standard_normal(i64 %generator)
  %scaled = fmul double %scale, %drawn
  %made = fadd double %loc, %scaled
  ret double %made
}}{fill_text(row, bitgen, call, quick) if fills else last}"""


def python_text(row: Draw, state: int) -> str:
    """Draws of a `random.Random`, which has its Mersenne Twister at ``state``: a position, and 624 words."""
    result, parameters = type_of(row.result), ", ".join(["i64 %generator", *("i64 %bound" for _ in row.parameters)])
    return (
        _TWISTER.replace("STATE", str(state))
        + f"""
define internal double @random(i64 %generator) {{
  %a.word = call i32 @word(i64 %generator)
  %b.word = call i32 @word(i64 %generator)
  %a.bits = lshr i32 %a.word, 5
  %b.bits = lshr i32 %b.word, 6
  %a = uitofp i32 %a.bits to double
  %b = uitofp i32 %b.bits to double
  %high = fmul double %a, 6.7108864e+07
  %sum = fadd double %high, %b
  %drawn = fmul double %sum, 0x3CA0000000000000
  ret double %drawn
}}
define internal i64 @_randbelow(i64 %generator, i64 %bound) {{
start:
  %zeros = call i64 @llvm.ctlz.i64(i64 %bound, i1 false)
  %is.narrow = icmp uge i64 %zeros, 32
  %narrow = sub i64 %zeros, 32
  br label %again
again:
  %first = call i32 @word(i64 %generator)
  %low = zext i32 %first to i64
  br i1 %is.narrow, label %short, label %long
short:
  %few = lshr i64 %low, %narrow
  br label %made
long:
  %second = call i32 @word(i64 %generator)
  %rest = zext i32 %second to i64
  %cut = lshr i64 %rest, %zeros
  %high = shl i64 %cut, 32
  %many = or i64 %high, %low
  br label %made
made:
  %drawn = phi i64 [ %few, %short ], [ %many, %long ]
  %fits = icmp ult i64 %drawn, %bound
  br i1 %fits, label %end, label %again
end:
  ret i64 %drawn
}}
define {result} @draw({parameters}) {{
  %drawn = call {result} @{row.method}({parameters})
  ret {result} %drawn
}}
"""
    )


_TWISTER = """
declare i64 @llvm.ctlz.i64(i64, i1)

define internal i32 @word(i64 %generator) {
start:
  %object = inttoptr i64 %generator to ptr
  %position.at = getelementptr i8, ptr %object, i64 STATE
  %words = getelementptr i8, ptr %position.at, i64 4
  %position = load i32, ptr %position.at, align 4
  %is.used = icmp sge i32 %position, 624
  br i1 %is.used, label %turn, label %give
turn:
  %k = phi i64 [ 0, %start ], [ %next, %turn ]
  %next = add i64 %k, 1
  %wraps = icmp eq i64 %next, 624
  %after = select i1 %wraps, i64 0, i64 %next
  %far = add i64 %k, 397
  %is.far = icmp uge i64 %far, 624
  %near = sub i64 %far, 624
  %other = select i1 %is.far, i64 %near, i64 %far
  %this.at = getelementptr i32, ptr %words, i64 %k
  %after.at = getelementptr i32, ptr %words, i64 %after
  %other.at = getelementptr i32, ptr %words, i64 %other
  %this.word = load i32, ptr %this.at, align 4
  %after.word = load i32, ptr %after.at, align 4
  %other.word = load i32, ptr %other.at, align 4
  %upper = and i32 %this.word, -2147483648
  %lower = and i32 %after.word, 2147483647
  %joined = or i32 %upper, %lower
  %half = lshr i32 %joined, 1
  %odd = and i32 %joined, 1
  %mask = sub i32 0, %odd
  %matrix = and i32 %mask, -1727483681
  %mixed = xor i32 %other.word, %half
  %renewed = xor i32 %mixed, %matrix
  store i32 %renewed, ptr %this.at, align 4
  br i1 %wraps, label %give, label %turn
give:
  %at = phi i32 [ %position, %start ], [ 0, %turn ]
  %at.next = add i32 %at, 1
  store i32 %at.next, ptr %position.at, align 4
  %place = sext i32 %at to i64
  %word.at = getelementptr i32, ptr %words, i64 %place
  %y0 = load i32, ptr %word.at, align 4
  %s1 = lshr i32 %y0, 11
  %y1 = xor i32 %y0, %s1
  %s2 = shl i32 %y1, 7
  %m2 = and i32 %s2, -1658038656
  %y2 = xor i32 %y1, %m2
  %s3 = shl i32 %y2, 15
  %m3 = and i32 %s3, -272236544
  %y3 = xor i32 %y2, %m3
  %s4 = lshr i32 %y3, 18
  %y4 = xor i32 %y3, %s4
  ret i32 %y4
}"""


def type_of(dtype: DType) -> str:
    """LLVM's name of a dtype, a bool being one bit."""
    return _TYPES.get(dtype.name, f"i{dtype.bits}")
