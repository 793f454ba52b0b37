"""Writing one LLVM function as text.

A `FunctionText` hands out fresh temporaries and labels and keeps the lines in order; that is all
the structure that straight guard-and-pack code needs. Values are strings: what an instruction of
LLVM's own syntax would show as an operand, without its type. Pointers are moved by bytes, since
what they point to are C structs whose offsets are in `object_layout`.
"""

from __future__ import annotations


class FunctionText:
    """One function under construction, from its signature to `text()`."""

    def __init__(self, signature: str) -> None:
        self._lines = [f"define {signature} {{", "start:"]
        self._numbers = 0

    def let(self, instruction: str) -> str:
        """Add an instruction and return the name of its value."""
        name = f"%v{self._fresh()}"
        self._lines.append(f"  {name} = {instruction}")
        return name

    def do(self, instruction: str) -> None:
        """Add an instruction without a value."""
        self._lines.append(f"  {instruction}")

    def label(self, hint: str) -> str:
        """A fresh label, to be jumped to and placed once by `begin`."""
        return f"{hint}.{self._fresh()}"

    def begin(self, label: str) -> None:
        """Start the block of a label; the block before must have ended."""
        self._lines.append(f"{label}:")

    def jump(self, label: str) -> None:
        """End the block: go to a label."""
        self.do(f"br label %{label}")

    def branch(self, condition: str, yes: str, no: str) -> None:
        """End the block: go to one of two labels."""
        self.do(f"br i1 {condition}, label %{yes}, label %{no}")

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

    def at(self, pointer: str, offset: int) -> str:
        """The address `offset` bytes behind a pointer."""
        if offset == 0:
            return pointer
        return self.let(f"getelementptr i8, ptr {pointer}, i64 {offset}")

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

    def equal(self, kind: str, left: str, right: str) -> str:
        """Whether two integers or pointers are equal."""
        return self.let(f"icmp eq {kind} {left}, {right}")

    def is_null(self, pointer: str) -> str:
        """Whether a pointer is null."""
        return self.equal("ptr", pointer, "null")

    def give(self, kind: str, value: str) -> None:
        """End the block: return a value."""
        self.do(f"ret {kind} {value}")

    def text(self) -> str:
        """The finished function."""
        return "\n".join([*self._lines, "}", ""])

    def _fresh(self) -> int:
        self._numbers += 1
        return self._numbers
