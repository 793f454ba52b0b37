"""Writing one LLVM function as text.

A `FunctionText` hands out fresh temporaries and labels and keeps the lines in order. `when` and
`each_below` write the two shapes of control flow that nearly all of the runtime consists of; what
does not fit them is written with labels. Values are strings: what an instruction of LLVM's own
syntax would show as an operand, without its type. Pointers are moved by bytes, since what they
point to are C structs whose offsets are in `object_layout`.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator
from contextlib import contextmanager

_PAUSE: dict[str, tuple[str, tuple[str, ...]]] = {
    **dict.fromkeys(("x86_64", "amd64"), ("@llvm.x86.sse2.pause", ())),
    **dict.fromkeys(("aarch64", "arm64"), ("@llvm.aarch64.hint", ("i32 1",))),
}
"""The intrinsic of each kind of processor that says that this is a loop that waits."""


def _pauses() -> list[tuple[str, tuple[str, ...]]]:
    pause = _PAUSE.get(platform.machine().lower())
    return [] if pause is None else [pause]


def pause_declarations() -> list[str]:
    """What a module declares whose functions `pause`; nothing on processors that have no intrinsic for it."""
    return [f"declare void {name}({', '.join(a.split()[0] for a in arguments)})" for name, arguments in _pauses()]


class FunctionText:
    """One function under construction, from its signature to `text()`.

    `block` is the label of the block that is being written, as `phi` wants to know it.
    """

    def __init__(self, signature: str) -> None:
        self._signature = signature
        self._first: list[str] = []
        self._lines: list[str] = []
        self._numbers = 0
        self._ended = False
        self.block = "start"

    # -- instructions ------------------------------------------------------------------------------

    def let(self, instruction: str) -> str:
        """Add an instruction and return the name of its value."""
        name = f"%v{self._fresh()}"
        self.do(f"{name} = {instruction}")
        return name

    def do(self, instruction: str) -> None:
        """Add an instruction without a value."""
        self._lines.append(f"  {instruction}")

    def load_first(self, kind: str, pointer: str, offset: int) -> str:
        """Load ahead of everything else, from a pointer known there, what many places may use."""
        address, value = f"%v{self._fresh()}", f"%v{self._fresh()}"
        self._first.append(f"  {address} = getelementptr i8, ptr {pointer}, i64 {offset}")
        self._first.append(f"  {value} = load {kind}, ptr {address}")
        return value

    def at(self, pointer: str, offset: int) -> str:
        """The address `offset` bytes behind a pointer."""
        return pointer if offset == 0 else self.let(f"getelementptr i8, ptr {pointer}, i64 {offset}")

    def element(self, array: str, index: str) -> str:
        """The address of a 64-bit element of an array."""
        return self.let(f"getelementptr i64, ptr {array}, i64 {index}")

    def load(self, kind: str, pointer: str, offset: int = 0) -> str:
        """Load a value of an LLVM type."""
        return self.let(f"load {kind}, ptr {self.at(pointer, offset)}")

    def store(self, kind: str, value: str, pointer: str, offset: int = 0) -> None:
        """Store a value of an LLVM type."""
        self.do(f"store {kind} {value}, ptr {self.at(pointer, offset)}")

    def add_to(self, pointer: str, offset: int, amount: str) -> str:
        """Add to a 64-bit counter in memory, not atomically, and return the sum."""
        total = self.let(f"add i64 {self.load('i64', pointer, offset)}, {amount}")
        self.store("i64", total, pointer, offset)
        return total

    def stack(self, slots: int) -> str:
        """Room for 64-bit slots in the frame; call it in the first block only."""
        return self.let(f"alloca [{max(slots, 1)} x i64], align 16")

    def call(self, result: str, callee: str, *arguments: str) -> str:
        """Call a function; arguments come with their types, as in `"ptr %v1"`."""
        return self.let(f"call {result} {callee}({', '.join(arguments)})")

    def run(self, callee: str, *arguments: str) -> None:
        """Call a function that returns nothing."""
        self.do(f"call void {callee}({', '.join(arguments)})")

    def compare(self, relation: str, left: str, right: str, kind: str = "i64") -> str:
        """Compare two integers or pointers: `eq`, `ne`, `slt`, `ugt`, ..."""
        return self.let(f"icmp {relation} {kind} {left}, {right}")

    def is_null(self, pointer: str) -> str:
        """Whether a pointer is null."""
        return self.compare("eq", pointer, "null", "ptr")

    def phi(self, kind: str, *sources: tuple[str, str]) -> str:
        """The value that belongs to the block that was left: pairs of a value and a block."""
        return self.let(f"phi {kind} " + ", ".join(f"[{value}, %{block}]" for value, block in sources))

    # -- control flow ------------------------------------------------------------------------------

    def label(self, hint: str) -> str:
        """A fresh label, to be jumped to and placed once by `begin`."""
        return f"{hint}.{self._fresh()}"

    def begin(self, label: str) -> None:
        """Start the block of a label; the block before must have ended."""
        self._lines.append(f"{label}:")
        self.block = label
        self._ended = False

    def jump(self, label: str) -> None:
        """End the block: go to a label."""
        self._end(f"br label %{label}")

    def branch(self, condition: str, yes: str, no: str) -> None:
        """End the block: go to one of two labels."""
        self._end(f"br i1 {condition}, label %{yes}, label %{no}")

    def give(self, kind: str, value: str = "") -> None:
        """End the block: return a value of a type, or `void`."""
        self._end(f"ret {kind} {value}".rstrip())

    def require(self, condition: str, otherwise: str) -> None:
        """Go on where the condition holds, else to a label."""
        proceed = self.label("ok")
        self.branch(condition, proceed, otherwise)
        self.begin(proceed)

    def require_not(self, condition: str, otherwise: str) -> None:
        """Go on where the condition does not hold, else to a label."""
        proceed = self.label("ok")
        self.branch(condition, otherwise, proceed)
        self.begin(proceed)

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        """What is written inside runs only where the condition holds; it may return or jump away."""
        inside, after = self.label("when"), self.label("after")
        self.branch(condition, inside, after)
        self.begin(inside)
        yield
        if not self._ended:
            self.jump(after)
        self.begin(after)

    @contextmanager
    def each_below(self, count: str) -> Iterator[str]:
        """What is written inside runs for each index from 0 to a 64-bit count, which is left out."""
        head, body, following, done = (self.label(hint) for hint in ("head", "body", "following", "done"))
        before, increased = self.block, f"%next{self._fresh()}"
        self.jump(head)
        self.begin(head)
        index = self.phi("i64", ("0", before), (increased, following))
        self.branch(self.compare("slt", index, count), body, done)
        self.begin(body)
        yield index
        self.jump(following)
        self.begin(following)
        self.do(f"{increased} = add i64 {index}, 1")
        self.jump(head)
        self.begin(done)

    def pause(self) -> None:
        """Tell the processor that this is a loop that waits."""
        for name, arguments in _pauses():
            self.run(name, *arguments)

    def text(self) -> str:
        """The finished function."""
        return "\n".join([f"define {self._signature} {{", "start:", *self._first, *self._lines, "}", ""])

    def _end(self, instruction: str) -> None:
        self.do(instruction)
        self._ended = True

    def _fresh(self) -> int:
        self._numbers += 1
        return self._numbers
