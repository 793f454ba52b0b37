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

from jitflow.runtime.native.llvm_text import FunctionText
from jitflow.runtime.native.pool import CLASSES, NO_CLASS, STATE_FIELDS, SYSTEM_FUNCTIONS

HEADER = 64
SMALLEST = 256
LARGE = 1 << 21
LARGEST = 1 << 46
COLOURS = 16
COLOUR_STEP = 256

_CLASS, _CAPACITY, _RAW, _RAW_LENGTH, _NEXT = -64, -56, -48, -40, -32

_PROT_READ_WRITE = 3
_MADV_HUGEPAGE = 14


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
            _map_block(map_flags),
            _fresh(),
            _give_back(),
            _pop(),
            _count(),
            _take(),
            _trim(),
            _allocate(),
            _keep(),
            _free(),
            *_numpy_handler(),
        ]
    )


def _state(name: str) -> int:
    return 8 * STATE_FIELDS.index(name)


def _system(function: FunctionText, name: str) -> str:
    return function.load("ptr", "@pool_system", 8 * SYSTEM_FUNCTIONS.index(name))


def _bump(function: FunctionText, name: str, amount: str) -> str:
    return function.add_to("@pool_state", _state(name), amount)


def _negative(function: FunctionText, number: str) -> str:
    return function.let(f"sub i64 0, {number}")


def _lock() -> str:
    function = FunctionText("internal void @pool_lock()")
    spin = function.label("spin")
    function.jump(spin)
    function.begin(spin)
    before = function.let("atomicrmw xchg ptr @pool_state, i64 1 acquire")
    with function.when(function.compare("eq", before, "0")):
        function.give("void")
    yield_thread = _system(function, "sched_yield")
    with function.when(function.compare("ne", yield_thread, "null", "ptr")):
        function.call("i32", yield_thread)
    function.jump(spin)
    return function.text()


def _unlock() -> str:
    function = FunctionText("internal void @pool_unlock()")
    function.do("store atomic i64 0, ptr @pool_state release, align 8")
    function.give("void")
    return function.text()


def _map_block(map_flags: int) -> str:
    """A large block from mmap, or null."""
    function = FunctionText("internal ptr @pool_map_block(i64 %capacity)")
    length = function.let(f"add i64 %capacity, {LARGE + COLOURS * COLOUR_STEP}")
    access = (f"i32 {_PROT_READ_WRITE}", f"i32 {map_flags}", "i32 -1", "i64 0")
    region = function.call("ptr", _system(function, "mmap"), "ptr null", f"i64 {length}", *access)
    with function.when(function.compare("eq", region, "inttoptr (i64 -1 to ptr)", "ptr")):
        function.give("ptr", "null")
    boundary = _round_up(function, region, LARGE)
    madvise = _system(function, "madvise")
    with function.when(function.compare("ne", madvise, "null", "ptr")):
        whole = function.let(f"and i64 %capacity, {-LARGE}")
        function.call("i32", madvise, f"ptr {boundary}", f"i64 {whole}", f"i32 {_MADV_HUGEPAGE}")
    turn = function.let(f"atomicrmw add ptr {function.at('@pool_state', _state('turn'))}, i64 1 monotonic")
    colour = function.let(f"mul i64 {function.let(f'and i64 {turn}, {COLOURS - 1}')}, {COLOUR_STEP}")
    data = function.at(function.let(f"getelementptr i8, ptr {boundary}, i64 {colour}"), HEADER)
    function.store("ptr", region, data, _RAW)
    function.store("i64", length, data, _RAW_LENGTH)
    function.give("ptr", data)
    return function.text()


def _round_up(function: FunctionText, pointer: str, alignment: int) -> str:
    number = function.let(f"ptrtoint ptr {pointer} to i64")
    above = function.let(f"add i64 {number}, {alignment - 1}")
    return function.let(f"inttoptr i64 {function.let(f'and i64 {above}, {-alignment}')} to ptr")


def _fresh() -> str:
    """A block from the system, or null."""
    function = FunctionText("internal ptr @pool_fresh(i64 %capacity)")
    has_mmap = function.compare("ne", _system(function, "mmap"), "null", "ptr")
    is_large = function.compare("uge", "%capacity", str(LARGE))
    with function.when(function.let(f"and i1 {is_large}, {has_mmap}")):
        function.give("ptr", function.call("ptr", "@pool_map_block", "i64 %capacity"))
    room = function.let(f"add i64 %capacity, {HEADER}")
    raw = function.call("ptr", _system(function, "malloc"), f"i64 {room}")
    with function.when(function.is_null(raw)):
        function.give("ptr", "null")
    data = _round_up(function, function.at(raw, HEADER), HEADER)
    function.store("ptr", raw, data, _RAW)
    function.store("i64", "0", data, _RAW_LENGTH)
    function.give("ptr", data)
    return function.text()


def _give_back() -> str:
    """Return a block to the system."""
    function = FunctionText("internal void @pool_give_back(ptr %data)")
    raw = function.load("ptr", "%data", _RAW)
    length = function.load("i64", "%data", _RAW_LENGTH)
    with function.when(function.compare("eq", length, "0")):
        function.run(_system(function, "free"), f"ptr {raw}")
        function.give("void")
    function.call("i32", _system(function, "munmap"), f"ptr {raw}", f"i64 {length}")
    function.give("void")
    return function.text()


def _pop() -> str:
    """Take a cached block of a class, or null; the caller holds the lock."""
    function = FunctionText("internal ptr @pool_pop(i64 %class)")
    head = function.element("@pool_lists", "%class")
    block = function.load("ptr", head)
    with function.when(function.compare("ne", block, "null", "ptr")):
        function.store("ptr", function.load("ptr", block, _NEXT), head)
        _bump(function, "cached", _negative(function, function.load("i64", block, _CAPACITY)))
    function.give("ptr", block)
    return function.text()


def _take() -> str:
    """A block of a class, from its list or fresh; null when the system has none."""
    function = FunctionText("internal ptr @pool_take(i64 %class, i64 %capacity)")
    function.run("@pool_lock")
    cached = function.call("ptr", "@pool_pop", "i64 %class")
    with function.when(function.compare("ne", cached, "null", "ptr")):
        function.run("@pool_count", "i64 %capacity", "i64 1")
        function.run("@pool_unlock")
        function.give("ptr", cached)
    function.run("@pool_unlock")
    fresh = function.call("ptr", "@pool_fresh", "i64 %capacity")
    with function.when(function.compare("ne", fresh, "null", "ptr")):
        function.store("i64", "%class", fresh, _CLASS)
        function.store("i64", "%capacity", fresh, _CAPACITY)
        function.run("@pool_lock")
        function.run("@pool_count", "i64 %capacity", "i64 0")
        function.run("@pool_unlock")
    function.give("ptr", fresh)
    return function.text()


def _count() -> str:
    """Note an allocation; the caller holds the lock."""
    function = FunctionText("internal void @pool_count(i64 %capacity, i64 %reused)")
    _bump(function, "allocations", "1")
    _bump(function, "reuses", "%reused")
    in_use = _bump(function, "in_use", "%capacity")
    highest = function.load("i64", "@pool_state", _state("high_water"))
    highest = function.call("i64", "@llvm.umax.i64", f"i64 {highest}", f"i64 {in_use}")
    function.store("i64", highest, "@pool_state", _state("high_water"))
    function.give("void")
    return function.text()


def _allocate() -> str:
    """`ptr (i64 nbytes)`: the size class of a request, a block of it, and one more try after a trim."""
    function = FunctionText("ptr @pool_allocate(i64 %nbytes)")
    with function.when(function.compare("ugt", "%nbytes", str(LARGEST))):
        function.give("ptr", "null")
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
    with function.when(function.compare("ne", data, "null", "ptr")):
        function.give("ptr", data)
    function.run("@pool_trim", f"i64 {NO_CLASS}")
    function.give("ptr", function.call("ptr", "@pool_take", f"i64 {size_class}", f"i64 {capacity}"))
    return function.text()


def _trim() -> str:
    """Give the cached blocks of all classes but one back to the system."""
    function = FunctionText("void @pool_trim(i64 %except)")
    with function.each_below(str(CLASSES)) as number, function.when(function.compare("ne", number, "%except")):
        pop, emptied = function.label("pop"), function.label("emptied")
        function.jump(pop)
        function.begin(pop)
        function.run("@pool_lock")
        block = function.call("ptr", "@pool_pop", f"i64 {number}")
        function.run("@pool_unlock")
        function.require_not(function.is_null(block), emptied)
        function.run("@pool_give_back", f"ptr {block}")
        function.jump(pop)
        function.begin(emptied)
    function.give("void")
    return function.text()


def _keep() -> str:
    """Cache a block if it fits under the cap; says whether it did."""
    function = FunctionText("internal i1 @pool_keep(ptr %data)")
    capacity = function.load("i64", "%data", _CAPACITY)
    head = function.element("@pool_lists", function.load("i64", "%data", _CLASS))
    function.run("@pool_lock")
    with_it = function.let(f"add i64 {function.load('i64', '@pool_state', _state('cached'))}, {capacity}")
    fits = function.compare("ule", with_it, function.load("i64", "@pool_state", _state("cap")))
    with function.when(fits):
        function.store("ptr", function.load("ptr", head), "%data", _NEXT)
        function.store("ptr", "%data", head)
        function.store("i64", with_it, "@pool_state", _state("cached"))
        _bump(function, "in_use", _negative(function, capacity))
    function.run("@pool_unlock")
    function.give("i1", fits)
    return function.text()


def _free() -> str:
    """`void (ptr, i64 nbytes)`: back to the list of its class, or to the system when the cache is full."""
    function = FunctionText("void @pool_free(ptr %data, i64 %nbytes)")
    with function.when(function.is_null("%data")):
        function.give("void")
    with function.when(function.call("i1", "@pool_keep", "ptr %data")):
        function.give("void")
    function.run("@pool_trim", f"i64 {function.load('i64', '%data', _CLASS)}")
    with function.when(function.call("i1", "@pool_keep", "ptr %data")):
        function.give("void")
    function.run("@pool_lock")
    _bump(function, "in_use", _negative(function, function.load("i64", "%data", _CAPACITY)))
    function.run("@pool_unlock")
    function.run("@pool_give_back", "ptr %data")
    function.give("void")
    return function.text()


def _numpy_handler() -> list[str]:
    """The four functions of NEP 49's handler, in the order of its struct."""
    allocate = FunctionText("ptr @handler_malloc(ptr %context, i64 %nbytes)")
    allocate.give("ptr", allocate.call("ptr", "@pool_allocate", "i64 %nbytes"))

    zeroed = FunctionText("ptr @handler_calloc(ptr %context, i64 %count, i64 %size)")
    product = zeroed.call("{i64, i1}", "@llvm.umul.with.overflow.i64", "i64 %count", "i64 %size")
    with zeroed.when(zeroed.let(f"extractvalue {{i64, i1}} {product}, 1")):
        zeroed.give("ptr", "null")
    nbytes = zeroed.let(f"extractvalue {{i64, i1}} {product}, 0")
    data = zeroed.call("ptr", "@pool_allocate", f"i64 {nbytes}")
    with zeroed.when(zeroed.compare("ne", data, "null", "ptr")):
        zeroed.run("@llvm.memset.p0.i64", f"ptr {data}", "i8 0", f"i64 {nbytes}", "i1 false")
    zeroed.give("ptr", data)

    resized = FunctionText("ptr @handler_realloc(ptr %context, ptr %old, i64 %nbytes)")
    data = resized.call("ptr", "@pool_allocate", "i64 %nbytes")
    with resized.when(resized.is_null(data)):
        resized.give("ptr", "null")
    with resized.when(resized.compare("ne", "%old", "null", "ptr")):
        room = resized.let(f"sub i64 {resized.load('i64', '%old', _CAPACITY)}, {HEADER}")
        length = resized.call("i64", "@llvm.umin.i64", f"i64 {room}", "i64 %nbytes")
        resized.run("@llvm.memcpy.p0.p0.i64", f"ptr {data}", "ptr %old", f"i64 {length}", "i1 false")
        resized.run("@pool_free", "ptr %old", "i64 0")
    resized.give("ptr", data)

    release = FunctionText("void @handler_free(ptr %context, ptr %data, i64 %nbytes)")
    release.run("@pool_free", "ptr %data", "i64 %nbytes")
    release.give("void")
    return [function.text() for function in (allocate, zeroed, resized, release)]
