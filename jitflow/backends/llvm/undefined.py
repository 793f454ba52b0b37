"""Where LLVM's language leaves something undefined, and what rules it out here.

Each row has a test in `tests/backends/test_undefined.py`. Values that a mask will drop are computed all the same, so
the rows hold for every lane.

==============================================  =====================================================================
undefined in LLVM                               ruled out by
==============================================  =====================================================================
integer division by 0                           the divisor is replaced by 1, the result by 0 (`emit_integers`)
the smallest integer divided by -1              the dividend is negated and divided by 1 (`emit_integers`)
a shift by the width or more                    the result is selected away, or the amount clamped (`emit_integers`)
overflow under ``nsw`` or ``nuw``               neither is written, but for the next position of a ``for``, which is
                                                used only if the range goes on (`emit_control`)
``abs`` of the smallest integer                 its flag says that this is no poison (`emit_integers`)
a float beyond the range of an integer, NaN     the conversion is selected only where it is in range (`convert`)
a lane beyond the last one                      its number is clamped (`emit_lanes`)
counting the zeros of 0                         a bit is set behind the lanes (`emit_lanes`)
a byte count that overflows                     sums and products of sizes saturate in host programs
                                                (`emit_elementwise`), and an allocation of so much fails
a bool in memory that is neither 0 nor 1        bytes are compared with 0, never truncated (`emit_memory`, `slots`)
an address that is less aligned than it says    the alignment is that of an element unless the producer vouches for
                                                more (`emit_memory`)
an assumption that does not hold                entries of containers are words, whose addresses are aligned
                                                (`emit_containers`)
a loop that never ends                          functions do not have the attribute ``mustprogress``
==============================================  =====================================================================

`divide_truncated` and `remainder_truncated` are bare instructions, whose guards the expansion that makes them has put
before them. Intrinsics outside of `INTRINSICS` are never written; the tests look for them in every module.
"""

from __future__ import annotations

import re

__all__ = ["INTRINSICS", "unknown_intrinsics"]

INTRINSICS = frozenset({
    "abs", "smax", "smin", "umax", "umin", "ctpop", "cttz", "sadd.sat", "ssub.sat", "sadd.with.overflow",
    "ssub.with.overflow", "smul.with.overflow",
    "fabs", "copysign", "fma", "sqrt", "floor", "ceil", "trunc", "rint",
    "masked.load", "masked.store", "masked.gather", "masked.scatter", "memcpy", "memset",
})  # fmt: skip
"""Intrinsics by name, without the types that follow. All are defined for all operands, as they are called."""

_INTRINSIC = re.compile(r"@llvm\.([a-z.]+?)(?=\.(?:v?\d|[ifp]\d|v\d+p))")


def unknown_intrinsics(text: str) -> set[str]:
    """The intrinsics in a module's text that are not in `INTRINSICS`."""
    return set(_INTRINSIC.findall(text)) - INTRINSICS
