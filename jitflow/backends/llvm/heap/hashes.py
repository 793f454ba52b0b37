"""Hashes of keys: of dicts whatever is quick, of sets Python's, which say in what order their items come."""

from __future__ import annotations

from collections.abc import Sequence

from jitflow.ir.types import TEXT, Container, Item, Scalar, Several, Tag

__all__ = ["HASHES", "key_parameters", "python_hash", "quick_hash"]

_MODULUS = (1 << 61) - 1
_PRIMES = (11400714785074694791, 14029467366897019727, 2870177450012600261)
_MIXED = 0x9E3779B97F4A7C15


def key_parameters(words: Sequence[Scalar], first: int = 0) -> str:
    """A parameter for each word of a key."""
    return ", ".join(f"i64 %k{number}" for number in range(first, first + len(words)))


def quick_hash(kind: Container, name: str) -> str:
    """Any hash does, since it never shows; it is never 0."""
    lines = [f"define internal i64 @{name}.hash({key_parameters(kind.keys)}) alwaysinline #0 {{", "start:"]
    found = "0"
    for number, word in enumerate(kind.keys):
        if isinstance(word, Tag):
            continue
        bits = f"%k{number}"
        if word.dtype.kind == "f":  # 0.0 and -0.0 are one key
            lines += [f"  %x{number}.float = bitcast i64 %k{number} to double",
                      f"  %x{number}.sum = fadd double %x{number}.float, 0.0",
                      f"  %x{number} = bitcast double %x{number}.sum to i64"]  # fmt: skip
            bits = f"%x{number}"
        if word == TEXT:
            lines.append(f"  %x{number} = call i64 @jitflow.text.hash(i64 %k{number})")
            bits = f"%x{number}"
        lines += [f"  %h{number}.in = xor i64 {found}, {bits}",
                  f"  %h{number}.up = mul i64 %h{number}.in, {_signed(_MIXED)}",
                  f"  %h{number}.low = lshr i64 %h{number}.up, 29",
                  f"  %h{number} = xor i64 %h{number}.up, %h{number}.low"]  # fmt: skip
        found = f"%h{number}"
    return "\n".join([*lines, f"  %hash = or i64 {found}, 1", "  ret i64 %hash", "}"])


def python_hash(kind: Container, name: str) -> str:
    """That of CPython, in the version's words for tuples, floats and integers."""
    lines = [f"define internal i64 @{name}.hash({key_parameters(kind.keys)}) #0 {{", "start:"]
    counted = iter(range(1000))
    words = iter(range(len(kind.keys)))

    def let(instruction: str) -> str:
        lines.append(f"  %h{(number := next(counted))} = {instruction}")
        return f"%h{number}"

    def hashed(item: Item) -> str:
        if isinstance(item, Several):
            next(words)
            return hashed(item.carriers[0])
        if not isinstance(item, tuple):
            assert isinstance(item, Scalar)
            if item == TEXT:  # whose hash is another one in each process: nobody may see the order
                return let(f"call i64 @jitflow.text.hash(i64 %k{next(words)})")
            function = {"f": "float", "u": "unsigned"}.get(item.dtype.kind, "integer")
            return let(f"call i64 @jitflow.hash.{function}(i64 %k{next(words)})")
        one, two, five = map(_signed, _PRIMES)
        found = str(five)
        for part in item:
            lane = let(f"mul i64 {hashed(part)}, {two}")
            total = let(f"add i64 {found}, {lane}")
            turned = let(f"call i64 @llvm.fshl.i64(i64 {total}, i64 {total}, i64 31)")
            found = let(f"mul i64 {turned}, {one}")
        found = let(f"add i64 {found}, {len(item) ^ (_PRIMES[2] ^ 3527539)}")
        return let(f"select i1 {let(f'icmp eq i64 {found}, -1')}, i64 1546275796, i64 {found}")

    assert kind.key is not None
    result = hashed(kind.key)
    return "\n".join([*lines, f"  ret i64 {result}", "}"])


HASHES = f"""define internal i64 @jitflow.hash.unsigned(i64 %x) #0 {{
start:
  %low = and i64 %x, {_MODULUS}
  %high = lshr i64 %x, 61
  %sum = add i64 %low, %high
  %over = icmp uge i64 %sum, {_MODULUS}
  %less = sub i64 %sum, {_MODULUS}
  %hash = select i1 %over, i64 %less, i64 %sum
  ret i64 %hash
}}

define internal i64 @jitflow.hash.integer(i64 %x) #0 {{
start:
  %is.negative = icmp slt i64 %x, 0
  %minus = sub i64 0, %x
  %size = select i1 %is.negative, i64 %minus, i64 %x
  %hash = call i64 @jitflow.hash.unsigned(i64 %size)
  %hash.minus = sub i64 0, %hash
  %signed = select i1 %is.negative, i64 %hash.minus, i64 %hash
  %taken = icmp eq i64 %signed, -1
  %result = select i1 %taken, i64 -2, i64 %signed
  ret i64 %result
}}

define internal i64 @jitflow.hash.float(i64 %x) #0 {{
start:
  %is.negative = icmp slt i64 %x, 0
  %size = and i64 %x, 9223372036854775807
  %exponent = lshr i64 %size, 52
  %fraction = and i64 %size, 4503599627370495
  %is.infinite = icmp eq i64 %exponent, 2047
  %is.small = icmp eq i64 %exponent, 0
  %one = or i64 %fraction, 4503599627370496
  %mantissa = select i1 %is.small, i64 %fraction, i64 %one
  %power.large = add i64 %exponent, 145
  %power = select i1 %is.small, i64 146, i64 %power.large
  %turns = urem i64 %power, 61
  %up = shl i64 %mantissa, %turns
  %up.low = and i64 %up, {_MODULUS}
  %back = sub i64 61, %turns
  %down = lshr i64 %mantissa, %back
  %turned = or i64 %up.low, %down
  %hash = select i1 %is.infinite, i64 314159, i64 %turned
  %minus = sub i64 0, %hash
  %signed = select i1 %is.negative, i64 %minus, i64 %hash
  %taken = icmp eq i64 %signed, -1
  %result = select i1 %taken, i64 -2, i64 %signed
  ret i64 %result
}}"""


def _signed(number: int) -> int:
    """The number with the bits of an unsigned one."""
    return number - (1 << 64) if number >> 63 else number
