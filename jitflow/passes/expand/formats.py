"""The two floating-point formats, as far as the expansions take them apart."""

from __future__ import annotations

import struct

from jitflow.records import dataclass

INFINITY = float("inf")
NAN = float("nan")


@dataclass(frozen=True)
class Format:
    """A binary floating-point format and the integers of its width."""

    dtype: str
    signed: str
    unsigned: str
    width: int
    fraction_bits: int

    @property
    def bias(self) -> int:
        """What is added to an exponent to store it."""
        return (1 << (self.width - self.fraction_bits - 2)) - 1

    @property
    def smallest_normal(self) -> float:
        return 2.0 ** (1 - self.bias)

    @property
    def smallest(self) -> float:
        """The smallest positive number, a denormal one."""
        return self.smallest_normal * 2.0**-self.fraction_bits

    @property
    def largest(self) -> float:
        """The largest finite number."""
        return 2.0**self.bias * (2.0 - 2.0**-self.fraction_bits)

    def bits(self, number: float) -> int:
        """The stored form of a number of this format, as a signed integer."""
        layout = {32: "<fi", 64: "<dq"}[self.width]
        pattern: int = struct.unpack("<" + layout[2], struct.pack(layout[:2], number))[0]
        return pattern

    @property
    def rounder(self) -> float:
        """Adding it to a float rounds that float to an integer.

        The sum lies where the format's spacing is 1, and so the integer can be
        read from its lowest bits without a conversion. The half keeps the sum
        there for negative integers too.
        """
        return 1.5 * 2.0**self.fraction_bits


FORMATS = {
    "f32": Format("f32", "i32", "u32", 32, 23),
    "f64": Format("f64", "i64", "u64", 64, 52),
}
