"""The memory pool's functions as LLVM text.

**Blocks.** Every block has a header of 64 bytes before its data: size class, capacity, the
address and length that the system gave, and the next free block. So freeing needs the data
pointer alone, whatever size the caller believes in (NumPy reports an array's bytes, not the
block's).

**Size classes.** Four per power of two: at most a quarter of a block is unused, and a block serves
every size of its class. A class is a last-in-first-out list, so the warmest block goes out first.

**Large blocks** (2 MiB and up) are mapped at 2 MiB boundaries and offered to the kernel as huge
pages; smaller ones, and all where there is no mmap, come from malloc. Data starts a little behind
the boundary, at an offset that varies from block to block: arrays that all begin at the same place
of a page compete for the same cache sets.

**The lock** is a spin lock that yields: it is held for a handful of instructions and never while
the system is called. Threads take it without the GIL, since `run` allocates while the GIL is
released.

**Over the cap**, cached blocks of other classes go back to the system first, so that a program
that moved on to other sizes does not keep the old ones for ever.
"""

from __future__ import annotations

from jitflow.runtime.llvm_text import FunctionText

STATE_FIELDS = ("lock", "in_use", "cached", "allocations", "reuses", "high_water", "cap", "turn")
"""The 64-bit words of `@pool_state`."""

SYSTEM_FUNCTIONS = ("malloc", "free", "mmap", "munmap", "madvise", "sched_yield")
"""The pointers of `@pool_system`; those from mmap on may be null."""

CLASSES = 256
HEADER = 64
SMALLEST = 256
LARGE = 1 << 21
LARGEST = 1 << 46
COLOURS = 16
COLOUR_STEP = 256

_CLASS, _CAPACITY, _RAW, _RAW_LENGTH, _NEXT = -64, -56, -48, -40, -32

_PROT_READ_WRITE = 3
_MADV_HUGEPAGE = 14
_NO_CLASS = CLASSES


def pool_text(*, map_flags: int) -> str:
    """All of the pool; `map_flags` are the platform's MAP_PRIVATE | MAP_ANONYMOUS."""
    return "\n".join(
        [
            f"@pool_state = global [{len(STATE_FIELDS)} x i64] zeroinitializer, align 64",
            f"@pool_system = global [{len(SYSTEM_FUNCTIONS)} x ptr] zeroinitializer",
            f"@pool_lists = global [{CLASSES} x ptr] zeroinitializer",
            "@pool_handler = global [168 x i8] zeroinitializer, align 64",
            "declare i64 @llvm.ctlz.i64(i64, i1)",
            "declare i64 @llvm.umax.i64(i64, i64)",
            "declare i64 @llvm.umin.i64(i64, i64)",
            "declare {i64, i1} @llvm.umul.with.overflow.i64(i64, i64)",
            "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
            "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
            _lock(),
            _unlock(),
            _fresh(map_flags),
            _give_back(),
            _take(),
            _allocate(),
            _trim(),
            _trim_all(),
            _free(),
            *_numpy_handler(),
        ]
    )


def _state(name: str) -> int:
    return 8 * STATE_FIELDS.index(name)


def _system(function: FunctionText, name: str) -> str:
    return function.load("ptr", "@pool_system", 8 * SYSTEM_FUNCTIONS.index(name))


def _list(function: FunctionText, number: str) -> str:
    return function.let(f"getelementptr ptr, ptr @pool_lists, i64 {number}")


def _bump(function: FunctionText, name: str, amount: str) -> str:
    return function.add_to("@pool_state", _state(name), amount)


def _lock() -> str:
    function = FunctionText("internal void @pool_lock()")
    spin, busy, wait, taken = (function.label(hint) for hint in ("spin", "busy", "wait", "taken"))
    function.jump(spin)
    function.begin(spin)
    before = function.let("atomicrmw xchg ptr @pool_state, i64 1 acquire")
    function.branch(function.equal("i64", before, "0"), taken, busy)
    function.begin(busy)
    yield_thread = _system(function, "sched_yield")
    function.branch(function.is_null(yield_thread), spin, wait)
    function.begin(wait)
    function.call("i32", yield_thread)
    function.jump(spin)
    function.begin(taken)
    function.do("ret void")
    return function.text()


def _unlock() -> str:
    function = FunctionText("internal void @pool_unlock()")
    function.do("store atomic i64 0, ptr @pool_state release, align 8")
    function.do("ret void")
    return function.text()


def _fresh(map_flags: int) -> str:
    """A block from the system, or null."""
    function = FunctionText("internal ptr @pool_fresh(i64 %class, i64 %capacity)")
    mapped, small, placed, failed = (function.label(hint) for hint in ("mapped", "small", "placed", "failed"))
    mmap = _system(function, "mmap")
    is_large = function.let(f"icmp uge i64 %capacity, {LARGE}")
    has_mmap = function.let(f"icmp ne ptr {mmap}, null")
    function.branch(function.let(f"and i1 {is_large}, {has_mmap}"), mapped, small)

    function.begin(mapped)
    length = function.let(f"add i64 %capacity, {LARGE + COLOURS * COLOUR_STEP}")
    region = function.call(
        "ptr", mmap, "ptr null", f"i64 {length}", f"i32 {_PROT_READ_WRITE}", f"i32 {map_flags}", "i32 -1", "i64 0"
    )
    function.require_not(function.equal("ptr", region, "inttoptr (i64 -1 to ptr)"), failed)
    above = function.let(f"add i64 {function.let(f'ptrtoint ptr {region} to i64')}, {LARGE - 1}")
    boundary = function.let(f"inttoptr i64 {function.let(f'and i64 {above}, {-LARGE}')} to ptr")
    _advise_huge_pages(function, boundary)
    turn = function.let(f"atomicrmw add ptr {function.at('@pool_state', _state('turn'))}, i64 1 monotonic")
    colour = function.let(f"mul i64 {function.let(f'and i64 {turn}, {COLOURS - 1}')}, {COLOUR_STEP}")
    mapped_data = function.at(function.let(f"getelementptr i8, ptr {boundary}, i64 {colour}"), HEADER)
    mapped_end = function.label("mapped_end")
    function.jump(mapped_end)
    function.begin(mapped_end)
    function.jump(placed)

    function.begin(small)
    room = function.let(f"add i64 %capacity, {HEADER}")
    raw = function.call("ptr", _system(function, "malloc"), f"i64 {room}")
    function.require_not(function.is_null(raw), failed)
    after = function.let(f"add i64 {function.let(f'ptrtoint ptr {raw} to i64')}, {2 * HEADER - 1}")
    small_data = function.let(f"inttoptr i64 {function.let(f'and i64 {after}, {-HEADER}')} to ptr")
    small_end = function.label("small_end")
    function.jump(small_end)
    function.begin(small_end)
    function.jump(placed)

    function.begin(placed)
    sources = (mapped_end, small_end)
    data = function.let(f"phi ptr [{mapped_data}, %{sources[0]}], [{small_data}, %{sources[1]}]")
    origin = function.let(f"phi ptr [{region}, %{sources[0]}], [{raw}, %{sources[1]}]")
    origin_length = function.let(f"phi i64 [{length}, %{sources[0]}], [0, %{sources[1]}]")
    function.store("i64", "%class", data, _CLASS)
    function.store("i64", "%capacity", data, _CAPACITY)
    function.store("ptr", origin, data, _RAW)
    function.store("i64", origin_length, data, _RAW_LENGTH)
    function.give("ptr", data)
    function.begin(failed)
    function.give("ptr", "null")
    return function.text()


def _advise_huge_pages(function: FunctionText, boundary: str) -> None:
    advise, proceed = function.label("advise"), function.label("advised")
    madvise = _system(function, "madvise")
    function.branch(function.is_null(madvise), proceed, advise)
    function.begin(advise)
    whole = function.let(f"and i64 %capacity, {-LARGE}")
    function.call("i32", madvise, f"ptr {boundary}", f"i64 {whole}", f"i32 {_MADV_HUGEPAGE}")
    function.jump(proceed)
    function.begin(proceed)


def _give_back() -> str:
    """Return a block to the system."""
    function = FunctionText("internal void @pool_give_back(ptr %data)")
    mapped, small = function.label("mapped"), function.label("small")
    raw = function.load("ptr", "%data", _RAW)
    length = function.load("i64", "%data", _RAW_LENGTH)
    function.branch(function.equal("i64", length, "0"), small, mapped)
    function.begin(mapped)
    function.call("i32", _system(function, "munmap"), f"ptr {raw}", f"i64 {length}")
    function.do("ret void")
    function.begin(small)
    function.run(_system(function, "free"), f"ptr {raw}")
    function.do("ret void")
    return function.text()


def _take() -> str:
    """A block of a class, from its list or fresh; null when the system has none."""
    function = FunctionText("internal ptr @pool_take(i64 %class, i64 %capacity)")
    reuse, fresh, count, done, failed = (function.label(hint) for hint in ("reuse", "fresh", "count", "done", "failed"))
    head = _list(function, "%class")
    function.run("@pool_lock")
    cached = function.load("ptr", head)
    function.branch(function.is_null(cached), fresh, reuse)
    function.begin(reuse)
    function.store("ptr", function.load("ptr", cached, _NEXT), head)
    _bump(function, "cached", function.let("sub i64 0, %capacity"))
    _bump(function, "reuses", "1")
    function.jump(count)
    function.begin(fresh)
    function.run("@pool_unlock")
    made = function.call("ptr", "@pool_fresh", "i64 %class", "i64 %capacity")
    function.require_not(function.is_null(made), failed)
    function.run("@pool_lock")
    fresh_end = function.label("fresh_end")
    function.jump(fresh_end)
    function.begin(fresh_end)
    function.jump(count)
    function.begin(count)
    data = function.let(f"phi ptr [{cached}, %{reuse}], [{made}, %{fresh_end}]")
    _bump(function, "allocations", "1")
    in_use = _bump(function, "in_use", "%capacity")
    highest = function.load("i64", "@pool_state", _state("high_water"))
    highest = function.call("i64", "@llvm.umax.i64", f"i64 {highest}", f"i64 {in_use}")
    function.store("i64", highest, "@pool_state", _state("high_water"))
    function.run("@pool_unlock")
    function.jump(done)
    function.begin(done)
    function.give("ptr", data)
    function.begin(failed)
    function.give("ptr", "null")
    return function.text()


def _allocate() -> str:
    """`ptr (i64 nbytes)`: the size class of a request, a block of it, and one more try after a trim."""
    function = FunctionText("ptr @pool_allocate(i64 %nbytes)")
    retry, done, refused = (function.label(hint) for hint in ("retry", "done", "refused"))
    function.require_not(function.let(f"icmp ugt i64 %nbytes, {LARGEST}"), refused)
    whole = function.let(f"add i64 %nbytes, {HEADER}")
    whole = function.call("i64", "@llvm.umax.i64", f"i64 {whole}", f"i64 {SMALLEST}")
    last = function.let(f"sub i64 {whole}, 1")
    zeros = function.call("i64", "@llvm.ctlz.i64", f"i64 {last}", "i1 true")
    power = function.let(f"sub i64 63, {zeros}")
    shift = function.let(f"sub i64 {power}, 2")
    quarters = function.let(f"lshr i64 {last}, {shift}")
    capacity = function.let(f"shl i64 {function.let(f'add i64 {quarters}, 1')}, {shift}")
    quarter = function.let(f"and i64 {quarters}, 3")
    size_class = function.let(f"add i64 {function.let(f'mul i64 {power}, 4')}, {quarter}")
    data = function.call("ptr", "@pool_take", f"i64 {size_class}", f"i64 {capacity}")
    function.branch(function.is_null(data), retry, done)
    function.begin(done)
    function.give("ptr", data)
    function.begin(retry)
    function.run("@pool_trim", f"i64 {_NO_CLASS}")
    function.give("ptr", function.call("ptr", "@pool_take", f"i64 {size_class}", f"i64 {capacity}"))
    function.begin(refused)
    function.give("ptr", "null")
    return function.text()


def _trim() -> str:
    """Give the cached blocks of all classes but one back to the system."""
    function = FunctionText("internal void @pool_trim(i64 %except)")
    classes, pop, give_back, following, done = (
        function.label(hint) for hint in ("classes", "pop", "give_back", "following", "done")
    )
    number_place = function.stack(1)
    function.store("i64", "0", number_place)
    function.jump(classes)
    function.begin(classes)
    number = function.load("i64", number_place)
    function.require(function.let(f"icmp ult i64 {number}, {CLASSES}"), done)
    function.branch(function.equal("i64", number, "%except"), following, pop)

    function.begin(pop)
    function.run("@pool_lock")
    head = _list(function, number)
    block = function.load("ptr", head)
    nothing = function.label("nothing")
    function.require_not(function.is_null(block), nothing)
    function.store("ptr", function.load("ptr", block, _NEXT), head)
    capacity = function.load("i64", block, _CAPACITY)
    _bump(function, "cached", function.let(f"sub i64 0, {capacity}"))
    function.run("@pool_unlock")
    function.jump(give_back)
    function.begin(give_back)
    function.run("@pool_give_back", f"ptr {block}")
    function.jump(pop)

    function.begin(nothing)
    function.run("@pool_unlock")
    function.jump(following)
    function.begin(following)
    function.store("i64", function.let(f"add i64 {number}, 1"), number_place)
    function.jump(classes)
    function.begin(done)
    function.do("ret void")
    return function.text()


def _trim_all() -> str:
    function = FunctionText("void @pool_trim_all()")
    function.run("@pool_trim", f"i64 {_NO_CLASS}")
    function.do("ret void")
    return function.text()


def _free() -> str:
    """`void (ptr, i64 nbytes)`: back to the list of its class, or to the system when the cache is full."""
    function = FunctionText("void @pool_free(ptr %data, i64 %nbytes)")
    full, again, keep, drop, done = (function.label(hint) for hint in ("full", "again", "keep", "drop", "done"))
    function.require_not(function.is_null("%data"), done)
    size_class = function.load("i64", "%data", _CLASS)
    capacity = function.load("i64", "%data", _CAPACITY)
    head = _list(function, size_class)

    def fits() -> str:
        cached = function.load("i64", "@pool_state", _state("cached"))
        cap = function.load("i64", "@pool_state", _state("cap"))
        return function.let(f"icmp ule i64 {function.let(f'add i64 {cached}, {capacity}')}, {cap}")

    function.run("@pool_lock")
    _bump(function, "in_use", function.let(f"sub i64 0, {capacity}"))
    function.branch(fits(), keep, full)
    function.begin(full)
    function.run("@pool_unlock")
    function.run("@pool_trim", f"i64 {size_class}")
    function.jump(again)
    function.begin(again)
    function.run("@pool_lock")
    function.branch(fits(), keep, drop)
    function.begin(drop)
    function.run("@pool_unlock")
    function.run("@pool_give_back", "ptr %data")
    function.jump(done)
    function.begin(keep)
    function.store("ptr", function.load("ptr", head), "%data", _NEXT)
    function.store("ptr", "%data", head)
    _bump(function, "cached", capacity)
    function.run("@pool_unlock")
    function.jump(done)
    function.begin(done)
    function.do("ret void")
    return function.text()


def _numpy_handler() -> list[str]:
    """The four functions of NEP 49's handler, in the order of its struct."""
    allocate = FunctionText("ptr @handler_malloc(ptr %context, i64 %nbytes)")
    allocate.give("ptr", allocate.call("ptr", "@pool_allocate", "i64 %nbytes"))

    zeroed = FunctionText("ptr @handler_calloc(ptr %context, i64 %count, i64 %size)")
    failed = zeroed.label("failed")
    product = zeroed.call("{i64, i1}", "@llvm.umul.with.overflow.i64", "i64 %count", "i64 %size")
    zeroed.require_not(zeroed.let(f"extractvalue {{i64, i1}} {product}, 1"), failed)
    nbytes = zeroed.let(f"extractvalue {{i64, i1}} {product}, 0")
    data = zeroed.call("ptr", "@pool_allocate", f"i64 {nbytes}")
    zeroed.require_not(zeroed.is_null(data), failed)
    zeroed.run("@llvm.memset.p0.i64", f"ptr {data}", "i8 0", f"i64 {nbytes}", "i1 false")
    zeroed.give("ptr", data)
    zeroed.begin(failed)
    zeroed.give("ptr", "null")

    resized = FunctionText("ptr @handler_realloc(ptr %context, ptr %old, i64 %nbytes)")
    failed = resized.label("failed")
    data = resized.call("ptr", "@pool_allocate", "i64 %nbytes")
    resized.require_not(resized.is_null(data), failed)
    is_new = resized.is_null("%old")
    copy, whole = resized.label("copy"), resized.label("whole")
    resized.branch(is_new, whole, copy)
    resized.begin(copy)
    room = resized.let(f"sub i64 {resized.load('i64', '%old', _CAPACITY)}, {HEADER}")
    length = resized.call("i64", "@llvm.umin.i64", f"i64 {room}", "i64 %nbytes")
    resized.run("@llvm.memcpy.p0.p0.i64", f"ptr {data}", "ptr %old", f"i64 {length}", "i1 false")
    resized.run("@pool_free", "ptr %old", "i64 0")
    resized.jump(whole)
    resized.begin(whole)
    resized.give("ptr", data)
    resized.begin(failed)
    resized.give("ptr", "null")

    release = FunctionText("void @handler_free(ptr %context, ptr %data, i64 %nbytes)")
    release.run("@pool_free", "ptr %data", "i64 %nbytes")
    release.do("ret void")
    return [function.text() for function in (allocate, zeroed, resized, release)]
