"""Names in CUDA C++: those that the IR hints at, made unique and free of the language's own words."""

from __future__ import annotations

import re

__all__ = ["Names", "identifier"]

_TAKEN = frozenset(
    "alignas alignof and asm auto bitand bitor bool break case catch char class compl concept const consteval "
    "constexpr constinit continue decltype default delete do double else enum explicit export extern false float "
    "for friend goto if inline int long mutable namespace new noexcept not nullptr operator or private protected "
    "public register requires return short signed sizeof static struct switch template this throw true try "
    "typedef typeid typename union unsigned using virtual void volatile wchar_t while xor "
    "threadIdx blockIdx blockDim gridDim warpSize dim3 clock min max abs "
    "i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 at lane warp worker workers error fail index chip stage Form "
    "attend multiply_tile put_rows Piece is_whole read_piece write_piece".split()
)
"""Keywords, CUDA's own names, and those that every kernel has for itself."""


class Names:
    """The names of one kernel."""

    def __init__(self) -> None:
        self._used: set[str] = set()
        self._number = 0

    def fresh(self, hint: str = "") -> str:
        """The hint itself if that is a name that is still free, else one like it; ``v1, v2...`` without a hint."""
        if not hint:
            self._number += 1
            return self._take(f"v{self._number}")
        return self._take(identifier(hint))

    def _take(self, name: str) -> str:
        unique, number = name, 1
        while unique in self._used:
            number += 1
            unique = f"{name}_{number}"
        self._used.add(unique)
        return unique


def identifier(hint: str) -> str:
    """A hint as an identifier: ASCII, no word of the language, and no name that statements use for something else."""
    name = re.sub(r"[\W_]+", "_", hint, flags=re.ASCII)
    if not name or name[0].isdigit() or name.startswith("_"):
        name = f"v{name}"
    return f"{name}_" if name in _TAKEN or name in _FUNCTIONS or name.startswith(_HELPERS) else name


_FUNCTIONS = frozenset(
    base + suffix
    for base in (
        "fmod cbrt pow exp exp2 expm1 log log1p log2 log10 sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh "
        "atanh erf erfc sqrt floor ceil trunc rint copysign fabs"
    ).split()
    for suffix in ("", "f")
)
"""Functions of CUDA's library that statements call."""

_HELPERS = ("fold_", "maximum_", "minimum_", "fmax_", "fmin_", "half_to_", "float_to_")
"""How the names of this backend's own functions begin."""
