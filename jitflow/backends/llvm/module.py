"""From a host program with its kernels to LLVM's language, as text.

The host program becomes `run`, the only function that is visible from outside; each kernel a hidden function that takes
its operands by value, an address for each number that it gives, and a pointer to the error slots, and returns a status,
0 for success.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Literal

from jitflow.backends.llvm.at_once import processors
from jitflow.backends.llvm.emission.emit_calls import (
    begin_procedure,
    calls_procedures,
    end_procedure,
    open_room,
    procedure_parameters,
    procedure_symbol,
    procedure_text,
)
from jitflow.backends.llvm.emission.emit_containers import release_heap
from jitflow.backends.llvm.emission.emit_messages import part_name, run_parts
from jitflow.backends.llvm.emission.emit_notes import note_end
from jitflow.backends.llvm.emission.emit_poll import open_polls, polls
from jitflow.backends.llvm.emission.emit_sharing import Sharing
from jitflow.backends.llvm.emission.emitter import Emitter, ModuleText
from jitflow.backends.llvm.emission.ledger import MAKERS, Ledger
from jitflow.backends.llvm.emission.signatures import returned_type, runs_elsewhere, takes_context
from jitflow.backends.llvm.emission.tapes import close_tapes, open_tapes, release_tapes
from jitflow.backends.llvm.emission.types import register_type
from jitflow.backends.llvm.table import EMISSION
from jitflow.errors import CompilerBug
from jitflow.ir.core import Function, Op, walk, walk_loops
from jitflow.ir.types import Buffer, Index, Tape
from jitflow.machines.hardware import is_gpu
from jitflow.machines.processor import CodeTarget
from jitflow.records import dataclass

__all__ = ["RUN", "ModuleCode", "ProgramText", "Work", "emit_program"]

RUN = "run"
_SIGNATURE = "i32 @{}(ptr %context, ptr %arguments, ptr %results, ptr %error) #0"


Work = Literal["calls", "turns", "vectors", "loops"]
"""What a module is, which decides what LLVM should do with it.

``calls`` are lines of calls and stores, in loops too, which run as fast without any optimisation; ``turns`` are loops
that compute between their calls, where registers pay and passes do not; ``vectors`` are explicit vector code, which
wants good code generation and no passes; ``loops`` are scalar loops, for which LLVM has its passes.
"""


@dataclass(frozen=True, slots=True)
class ModuleCode:
    """A module in LLVM's language."""

    work: Work
    text: str
    shared: bool = False
    """Whether other programs have the same module."""


@dataclass(frozen=True, slots=True)
class ProgramText:
    """A program in LLVM's language, in modules that are linked together, and what was collected with it.

    The last one holds the text that came with the program, and `run` with its ledger unless that has loops.
    """

    modules: tuple[ModuleCode, ...]
    collected: ModuleText

    @property
    def text(self) -> str:
        """All modules, one after the other."""
        return "\n".join(module.text for module in self.modules)


def emit_program(
    programs: Sequence[Function],
    header: str,
    target: CodeTarget,
    *,
    fast_math: bool,
    extra_text: str,
    extra_symbols: Sequence[str],
    sites: Sequence[Op] = (),
    devices: Sequence[str] = (),
) -> ProgramText:
    """The text of a program, or of the parts of one that is split over devices, and what was collected with it.

    Parts, and their kernels, have the attribute ``device``, and kernels names that no others have; the part of the
    caller's thread is the first one. The results of a part begin in slot ``first_result``.

    ``header`` names the ``target`` as LLVM reads it. `extra_symbols` get the first symbol slots, so that ``extra_text``
    can count on them. ``sites`` are those of kernels for a GPU, which are compiled elsewhere. Parts on a device of
    another process are not written, but called by what stands for them here. There, the part is all of the program, and
    ``devices`` are those of all parts.
    """
    for program in programs:
        if program.layer != "host":
            raise CompilerBug(f"expected a host program, got a function of layer {program.layer!r}")
    module = ModuleText(programs, extra_symbols, target, fast_math=fast_math, sites=sites, devices=devices)
    frame = (header, f"attributes #0 = {{ {target.attributes} }}", _METADATA)
    parts: list[ModuleCode] = []

    def add(work: Work, functions: Iterable[str], *, shared: bool = False) -> None:
        texts = list(functions)
        declared = module.take_declarations()
        if texts or declared:
            parts.append(ModuleCode(work, _assemble(declared, texts, *frame), shared))

    kernels = [kernel for kernel in dict.fromkeys(module.kernels.values()) if not _is_of_gpu(kernel)]
    scalar = [kernel for kernel in kernels if kernel.attributes.get("scalar")]
    everyone_s = [kernel for kernel in kernels if kernel.attributes.get("shared")]
    vectors = [kernel for kernel in kernels if not (kernel.attributes.get("scalar") or kernel in everyone_s)]
    sharing = {kernel: Sharing(kernel, module.kernels) for kernel in kernels}
    here = [number for number, one in enumerate(programs) if len(programs) == 1 or not runs_elsewhere(one)]
    launched = Counter(module.kernels.get(name) for number in here for name in _launched(programs[number]))
    sharers = dict.fromkeys(kernel for kernel in vectors if sharing[kernel].is_all)
    module.written_out = {one.name: sharing[one] for one in sharers if launched[one] <= _MOST_WRITTEN_OUT}

    def texts(these: Iterable[Function]) -> Iterator[str]:
        for kernel in these:
            sharing[kernel].define(module, EMISSION)
            if kernel not in sharers:
                yield _kernel(module, kernel, sharing[kernel])

    for kernel in everyone_s:
        add("vectors", texts([kernel]), shared=True)
    for share in _shares(vectors):
        add("vectors", texts(share))
    for share in _shares(scalar):
        add("loops", texts(share))
    procedures = [function for function in module.called.values() if function.attributes.get("recursive")]
    shared_by = {procedure: _shared_loops(module, procedure) for procedure in procedures}
    factored = {one: loops for one, loops in shared_by.items() if one.attributes.get("factored")}
    add("loops", _procedures(module, {one: loops for one, loops in shared_by.items() if one not in factored}))
    is_long = bool(factored) and any(map(_is_long, programs))
    for one, loops in factored.items():
        add(_work_of(one, loops, is_long=is_long)[1], _procedures(module, {one: loops}))
    in_threads = {number: _shared_loops(module, programs[number]) for number in here}
    work: dict[int, Work] = {}
    for number, loops in in_threads.items():
        in_parts, work[number] = _work_of(programs[number], loops, is_long=_is_long(programs[number]))
        if loops is not None:
            _know_callees(module, programs[number], loops.inside)
            loops.define(module, EMISSION)
            add(in_parts, [])
    for number in (number for number in here if work[number] == "turns"):
        add("turns", [_host(module, programs, number, in_threads[number])])
    calls = [_host(module, programs, number, in_threads[number]) for number in here if work[number] == "calls"]
    if len(programs) > 1:
        for number in (number for number in here if work[number] == "turns"):
            module.declare(part_name(number), "i32", ["ptr"] * 4)
        calls.append(run_parts(module, programs, _SIGNATURE.format(RUN)))
    for kernel in (one for one in sharers if one.name not in module.written_out):
        module.define(f'"{kernel.name}"', _kernel(module, kernel, sharing[kernel]))
    add("calls", [*calls, extra_text])
    shared = [ModuleCode("vectors", _assemble([], [text], *frame), shared=True) for text in module.shared.values()]
    return ProgramText((*shared, *parts), module)


def _is_of_gpu(kernel: Function) -> bool:
    """Whether a kernel is compiled elsewhere, for a GPU."""
    return is_gpu(str(kernel.attributes.get("device", "")))


_WORTH_A_MODULE = 30
"""Ops for which a module of their own costs little beside what compiling them at the same time saves."""


def _shares(kernels: Sequence[Function]) -> list[list[Function]]:
    """The kernels in as many parts as are worth compiling at the same time, each about as much work as the others."""
    ops = {kernel.name: sum(1 for _ in walk(kernel.region)) for kernel in kernels}
    count = max(min(processors(), len(kernels), sum(ops.values()) // _WORTH_A_MODULE), 1)
    shares: list[list[Function]] = [[] for _ in range(count)]
    work = [0] * count
    for kernel in sorted(kernels, key=lambda kernel: -ops[kernel.name]):
        least = work.index(min(work))
        shares[least].append(kernel)
        work[least] += ops[kernel.name]
    return shares


_MOST_WRITTEN_OUT = 2
"""How often a kernel that only shares loops is launched at most where it is written out."""


def _launched(program: Function) -> Iterator[str]:
    """The kernels that a host program, and what it calls, launch, by name."""
    for function in (program, *program.functions):
        yield from (op.attributes["kernel"] for op in walk(function.region) if op.name == "launch")


_LAUNCHES = ("launch", "library", "invoke")
_MOST_BESIDE = 7
"""Other ops for each launch up to which a loop mostly launches. Registers would save a few percent of its time, and
take five times as long to compile."""
_SIZES_FOR_ONE, _LONG = 8, 1000
"""Ops on sizes that count as one other in programs of more ops than that, of which registers would take a second. Each
is one instruction, and a loop over parts of a batch has a dozen or two for every kernel, beside which they take no
time: steps of a transformer on the smallest batches are as fast without registers. In short programs kernels may be as
short."""


def _is_long(program: Function) -> bool:
    """Whether a host program has many ops, with those of the host programs that it calls."""
    parts = (program, *(one for one in program.functions if one.layer == "host"))
    return sum(1 for part in parts for _ in walk(part.region)) > _LONG


def _work_of(program: Function, loops: Sharing | None, *, is_long: bool) -> tuple[Work, Work]:
    """What the functions of a host program's loops are that threads share, and what is left of it."""
    inside = set() if loops is None else set(loops.inside)
    turns = list(walk_loops(program.region))
    parts, left = [op for op in turns if op in inside], [op for op in turns if op not in inside]
    return _work(parts, is_long=is_long), _work(left, is_long=is_long)


def _work(in_loops: Iterable[Op], *, is_long: bool) -> Work:
    """What functions are, by the ops of their loops: whether these do much beside launching."""
    launches = beside = sizes = 0
    for op in in_loops:
        if op.name in _LAUNCHES:
            launches += 1
        elif _is_of_sizes(op):
            sizes += op.name != "size"
        elif op.name not in ("alloc", "free", "constant", "yield"):
            beside += 1
    return "turns" if beside + sizes // (_SIZES_FOR_ONE if is_long else 1) > _MOST_BESIDE * launches else "calls"


def _is_of_sizes(op: Op) -> bool:
    """Whether an op is arithmetic on sizes, or compares them."""
    if op.regions or op.name == "read":
        return False
    return any(
        values and all(isinstance(value.type, Index) for value in values) for values in (op.operands, op.results)
    )


def _assemble(
    declarations: Sequence[str], functions: Sequence[str], header: str, attributes: str, metadata: str
) -> str:
    parts = [header, *declarations, *functions, attributes, metadata]
    return "\n\n".join(part for part in parts if part) + "\n"


_METADATA = (
    '!0 = !{i32 1}\n!1 = !{!"branch_weights", i32 1048575, i32 1}\n!2 = !{}\n'
    '!4 = !{!"jitflow"}\n!7 = !{!"header", !4}\n!8 = !{!"entry", !4}\n!5 = !{!7, !7, i64 0}\n!6 = !{!8, !8, i64 0}'
)
"""What a streaming store, a branch that is hardly ever taken, a load of what never changes, and headers and entries of
containers refer to."""


def _kernel(module: ModuleText, kernel: Function, sharing: Sharing) -> str:
    out = Emitter(module, kernel, EMISSION)
    out.sharing = sharing
    unaliased = kernel.attributes.get("unaliased", ())
    parameters = []
    for position, parameter in enumerate(kernel.parameters):
        out.operands[parameter] = name = f"%a{position}"
        alone = isinstance(parameter.type, Tape) or (position in unaliased and isinstance(parameter.type, Buffer))
        promise = " noalias" if alone else ""
        parameters.append(f"{register_type(parameter.type)}{promise} {name}")
    open_tapes(out)
    if polls(kernel):
        open_polls(out)
    out.lines.append("  br label %enter")
    out.begin("enter")
    results = out.emit_region(kernel.region)
    for number, (value, operand) in enumerate(zip(kernel.results, results, strict=True)):
        out.do(f"store {register_type(value.type)} {operand}, ptr %r{number}")
        parameters.append(f"ptr noalias %r{number}")
    if any(op.attributes.get("streaming") for op in sharing.own):
        # Streaming stores are ordered with nothing; whoever reads the results next may be another thread.
        out.do("fence seq_cst")
    close_tapes(out)
    out.do("ret i32 0")
    parameters += ["ptr %error", *(["ptr %context"] if takes_context(kernel) else [])]
    return out.text(f'hidden i32 @"{kernel.name}"({", ".join(parameters)}) #0')


def _called(module: ModuleText, function: Function) -> str:
    """A function of numbers, which the host program calls."""
    out = Emitter(module, function, EMISSION)
    out.operands.update((parameter, f"%a{position}") for position, parameter in enumerate(function.parameters))
    out.lines.append("  br label %enter")
    out.begin("enter")
    results = out.emit_region(function.region)
    for number, (value, operand) in enumerate(zip(function.results, results, strict=True)):
        out.do(f"store {register_type(value.type)} {operand}, ptr {out.at('%numbers', str(8 * number))}, align 8")
    out.do("ret void")
    parameters = ", ".join(["ptr noalias %numbers", *map(out.typed, function.parameters)])
    return out.text(f'internal void @"{function.name}"({parameters}) #0')


def _procedures(module: ModuleText, together: Mapping[Function, Sharing | None]) -> Iterator[str]:
    """Functions that host programs call, or that call themselves and each other, with the loops that threads share."""
    for function, loops in together.items():
        if loops is not None:
            _know_callees(module, function, loops.inside, together)
            loops.define(module, EMISSION)
        _know_callees(module, function, list(walk(function.region)) if loops is None else loops.own, together)
        out = Emitter(module, function, EMISSION)
        out.sharing = loops
        parameters = begin_procedure(out)
        end_procedure(out, out.emit_region(function.region))
        if out.failures:
            _fail(out, out.give)
        symbol = procedure_symbol(function.name)
        yield procedure_text(out, f"hidden {returned_type(function)} @{symbol}({parameters}) #0")


def _declare_kernel(module: ModuleText, kernel: Function) -> None:
    """Declare a kernel, unless it is written out where it is launched."""
    if kernel.name not in module.written_out:
        module.declare(f'"{kernel.name}"', "i32", _parameter_types(kernel))


def _know_callees(module: ModuleText, caller: Function, ops: Sequence[Op], here: Collection[Function] = ()) -> None:
    """Declare what some ops of a function launch, and call, unless it is in the module ``here``."""
    for name in dict.fromkeys(op.attributes["kernel"] for op in ops if op.name == "launch" and caller.layer == "host"):
        if name in module.kernels:
            _declare_kernel(module, module.kernels[name])
    names = {op.attributes["function"] for op in ops if op.name == "call"}
    for function in (module.called[name] for name in sorted(names)):
        if not function.attributes.get("recursive"):
            module.define(f'"{function.name}"', _called(module, function))
        elif function not in here:
            module.declare(procedure_symbol(function.name), returned_type(function), procedure_parameters(function))


def _fail(out: Emitter, end: Callable[[str], None]) -> None:
    """The block in which a host program ends that has failed."""
    assert out.ledger is not None
    out.begin("failure")
    incoming = ", ".join(f"[ {status}, %{block} ]" for status, block in out.failures)
    status = out.let(f"phi i32 {incoming}")
    out.ledger.release(out)
    if out.device_ledger is not None:
        out.device_ledger.release(out)
    release_tapes(out)
    release_heap(out)
    end(status)


def _parameter_types(kernel: Function) -> list[str]:
    types = [register_type(parameter.type) for parameter in kernel.parameters]
    return [*types, *("ptr" for _ in kernel.results), "ptr", *(["ptr"] if takes_context(kernel) else [])]


def _shared_loops(module: ModuleText, program: Function) -> Sharing | None:
    """The loops of a host program that threads share, if there are some."""
    has_some = any(op.name == "share" for op in walk(program.region))
    return Sharing(program, module.kernels) if has_some else None


def _host(module: ModuleText, programs: Sequence[Function], number: int, loops: Sharing | None) -> str:
    program = programs[number]
    _know_callees(module, program, list(walk(program.region)) if loops is None else loops.own)
    out = Emitter(module, program, EMISSION)
    out.sharing = loops
    out.ledger = Ledger(program)
    out.ledger.open(out)
    for device in {
        op.attributes["device"] for op in walk(program.region) if op.name in MAKERS and "device" in op.attributes
    }:
        out.device_ledger = Ledger(program, device)
        out.device_ledger.open(out)
    if polls(program):
        open_polls(out)
    if calls_procedures(program):
        open_room(out)
    out.lines.append("  br label %enter")
    out.begin("enter")
    out.emit_region(program.region)
    out.ledger.close(out)
    release_heap(out)
    if out.device_ledger is not None:
        out.device_ledger.close(out)
    out.do("ret i32 0")
    if out.failures:

        def end(status: str) -> None:
            note_end(out, program)
            out.do(f"ret i32 {status}")

        _fail(out, end)
    if len(programs) == 1:
        return out.text(_SIGNATURE.format(RUN))
    return out.text(f"hidden {_SIGNATURE.format(part_name(number))}")
