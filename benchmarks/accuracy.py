"""Measure the elementary functions: worst error in ulp, and time beside NumPy.

    python -m benchmarks.accuracy                      # all functions, both formats
    python -m benchmarks.accuracy exp log --f32        # some of them
    python -m benchmarks.accuracy --dense              # eight times the samples
    python -m benchmarks.accuracy --source jitflow     # through jitflow.function
    python -m benchmarks.accuracy --source numpy       # NumPy's own error, for comparison
    python -m benchmarks.accuracy --page               # through jitflow.function, and into docs/performance.md

The samples are stratified: bit patterns spread evenly over the whole format,
so that every exponent and the denormals are met; numbers spread evenly over
the range in which the function changes; and the neighbours of the arguments
where implementations go wrong (powers of two, 1, multiples of pi/2, the edges
of overflow). An error is first estimated with NumPy in a wider format. The
worst ones are then computed again by mpmath, and it is those that are reported.

An ulp is the distance between the neighbouring numbers of the format at the
exact result. An infinite result counts as the power of two that it stands for.
"""

from __future__ import annotations

import argparse
import functools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt
import scipy.special

from benchmarks.accuracy_report import PAGE, RESULTS, Finding, as_record, rewrite_page, write_json

Array = npt.NDArray[Any]
Compute = Callable[..., Array]

SINGLE, DOUBLE, WIDE = np.float32, np.float64, np.longdouble
NAMES: dict[Any, str] = {SINGLE: "f32", DOUBLE: "f64"}
CONFIRMED = 40
"""So many of the worst samples are computed again by mpmath."""


@dataclass(frozen=True)
class Subject:
    """A function to measure."""

    name: str
    exact: Callable[..., Any]
    """In mpmath."""
    low: float
    high: float
    """The arguments between which most of the samples lie, and those timed."""
    poles: tuple[float, ...] = ()
    """Arguments whose neighbours are sampled."""
    function: Callable[..., Array] | None = None
    """NumPy's, or SciPy's if NumPy has none; by the subject's name if None."""
    widens: bool = True
    """Whether that function takes np.longdouble."""
    arity: int = 1

    @property
    def peer(self) -> Callable[..., Array]:
        return self.function or getattr(np, self.name)


def power_of_two(x: Any) -> Any:
    return mpmath.mpf(2) ** x


def signed_cube_root(x: Any) -> Any:
    return mpmath.sign(x) * mpmath.cbrt(abs(x))


def complement_of_erf(x: Any) -> Any:
    """erfc; mpmath's own one fails for numbers beyond this bound, where nothing is left of it."""
    return mpmath.erfc(max(min(x, mpmath.mpf(1000)), mpmath.mpf(-1000)))


def log_of_sum(a: Any, b: Any) -> Any:
    return mpmath.log(mpmath.exp(a) + mpmath.exp(b))


def log2_of_sum(a: Any, b: Any) -> Any:
    return mpmath.log(power_of_two(a) + power_of_two(b), 2)


EDGES = (88.72284, -87.33655, -103.97208, 709.782712893384, -708.3964185322641, -745.1332191019411)
HALF_PIS = tuple(k * float(np.pi) / 2 for k in (*range(-8, 9), 1000, 2**20, 2**33, 2**45))

SUBJECTS = (
    Subject("exp", mpmath.exp, -104, 89, EDGES),
    Subject("exp2", power_of_two, -150, 128, (127.0, 128.0, -126.0, -149.0, -150.0, 1024.0, -1022.0, -1074.0)),
    Subject("expm1", mpmath.expm1, -20, 89, EDGES),
    Subject("log", mpmath.log, 0, 8, (1.0, 0.0)),
    Subject("log2", lambda x: mpmath.log(x, 2), 0, 8, (1.0, 0.0)),
    Subject("log10", mpmath.log10, 0, 8, (1.0, 0.0, 10.0, 1000.0)),
    Subject("log1p", mpmath.log1p, -1, 8, (-1.0, 0.0)),
    Subject("sin", mpmath.sin, -100, 100, HALF_PIS),
    Subject("cos", mpmath.cos, -100, 100, HALF_PIS),
    Subject("tan", mpmath.tan, -100, 100, HALF_PIS),
    Subject("arcsin", mpmath.asin, -1, 1, (-1.0, -0.5, 0.5, 1.0)),
    Subject("arccos", mpmath.acos, -1, 1, (-1.0, -0.5, 0.5, 1.0)),
    Subject("arctan", mpmath.atan, -4, 4, (-1.0, 1.0)),
    Subject("arctan2", mpmath.atan2, -10, 10, arity=2),
    Subject("sinh", mpmath.sinh, -10, 10, (89.4159, 710.4758600739439)),
    Subject("cosh", mpmath.cosh, -10, 10, (89.4159, 710.4758600739439)),
    Subject("tanh", mpmath.tanh, -4, 4, (9.0, 0.6715, 1.3646, 19.0)),
    Subject("arcsinh", mpmath.asinh, -10, 10),
    Subject("arccosh", mpmath.acosh, 1, 10, (1.0,)),
    Subject("arctanh", mpmath.atanh, -1, 1, (-1.0, 1.0)),
    Subject("erf", mpmath.erf, -4, 4, (1.0, 3.9, 5.9), scipy.special.erf, widens=False),
    Subject(
        "erfc", complement_of_erf, -4, 10, (0.75, 1.0, 9.3, 10.05, 10.3, 26.5, 27.2), scipy.special.erfc, widens=False
    ),
    Subject("cbrt", signed_cube_root, -10, 10),
    Subject("power", mpmath.power, 0, 10, arity=2),
    Subject("hypot", mpmath.hypot, -10, 10, arity=2),
    Subject("logaddexp", log_of_sum, -10, 10, arity=2),
    Subject("logaddexp2", log2_of_sum, -10, 10, arity=2),
)

SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, np.inf, -np.inf, np.nan)


def spread_bits(dtype: Any, count: int) -> Array:
    """Bit patterns evenly over the whole format: all exponents, both signs."""
    integers = {SINGLE: np.uint32, DOUBLE: np.uint64}[dtype]
    steps = np.arange(count, dtype=np.uint64)
    step = (1 << np.dtype(dtype).itemsize * 8) // count | 1
    return (steps * np.uint64(step)).astype(integers).view(dtype)


def neighbours(points: tuple[float, ...], dtype: Any) -> Array:
    """The numbers of the format around these points and around powers of two."""
    tops = np.ldexp(1.0, np.arange(-149, 128) if dtype is SINGLE else np.arange(-1074, 1024))
    centres = np.concatenate([points, tops, -tops]).astype(dtype)
    bits = centres.view({SINGLE: np.int32, DOUBLE: np.int64}[dtype])
    around: Array = (bits[:, None] + np.arange(-16, 17, dtype=bits.dtype)).view(dtype)
    return around.ravel()


def sample_unary(subject: Subject, dtype: Any, count: int) -> list[Array]:
    generator = np.random.default_rng(2016)
    points = (*subject.poles, subject.low, subject.high)
    width = subject.high - subject.low
    inner = generator.uniform(subject.low, subject.high, count)
    outer = inner * (12 if dtype is DOUBLE else 1)
    near = generator.uniform(-1.5, 1.5, count) + (1.0 if subject.name.startswith("log") else 0.0)
    scaled = generator.standard_normal(count) * np.exp2(generator.uniform(-30, np.log2(width), count))
    groups = [spread_bits(dtype, count), neighbours(points, dtype)]
    return [np.concatenate([*groups, *(group.astype(dtype) for group in (inner, outer, near, scaled))])]


def sample_binary(subject: Subject, dtype: Any, count: int) -> list[Array]:
    """For power, results over the whole format; for sums, all distances."""
    generator = np.random.default_rng(2016)
    spread = np.exp2(generator.choice([-20.0, -4.0, 0.0, 3.0, 6.0], count))
    a = generator.standard_normal(count) * spread
    if subject.name == "power":
        top = 150 if dtype is SINGLE else 1080
        logarithm = np.clip(np.where(a == 0, 1, a), -0.99 * top, 0.99 * top)
        base = np.exp2(np.where(logarithm < -1022, logarithm / 4, np.minimum(logarithm, 1000))).astype(dtype)
        base = np.clip(base, np.finfo(dtype).smallest_subnormal, np.finfo(dtype).max)
        with np.errstate(divide="ignore"):
            exponent = generator.uniform(-top, top, count) / np.log2(base.astype(DOUBLE))
        limit = np.finfo(dtype).max
        return [base, np.clip(exponent, -limit, limit).astype(dtype)]
    if subject.name in ("arctan2", "hypot"):
        return sample_plane(dtype, count)
    b = a + generator.standard_normal(count) * np.exp2(generator.uniform(-20, 7, count))
    return [a.astype(dtype), b.astype(dtype)]


def sample_plane(dtype: Any, count: int) -> list[Array]:
    """Points in all directions: of any size, of similar coordinates, and such that a coordinate is denormal."""
    generator = np.random.default_rng(2016)
    bottom, top = (-149, 128) if dtype is SINGLE else (-1074, 1024)
    size = np.floor(generator.uniform(bottom, top, count))
    distance = np.floor(generator.standard_normal(count) * generator.choice([0.5, 4.0, 40.0], count))
    exponents = size, np.clip(size + distance, bottom, top)
    significands = generator.uniform(-1, 1, (2, count))
    return [np.ldexp(a, b.astype(int)).astype(dtype) for a, b in zip(significands, exponents, strict=True)]


def measure_ulp(result: Array, reference: Array, dtype: Any, floor: Array) -> Array:
    """|result - reference| in units of the format's spacing at the reference, or at `floor` if that is larger."""
    information = np.finfo(dtype)
    wide = reference.dtype.type
    _, exponent = np.frexp(np.maximum(np.abs(reference), floor))
    spacing = np.ldexp(wide(1), np.maximum(exponent - 1, information.minexp) - information.nmant)
    unbounded = np.ldexp(wide(1), information.maxexp)
    finite = np.where(np.isinf(result), np.copysign(unbounded, result), result.astype(wide))
    bounded = np.clip(reference, -unbounded, unbounded)
    error: Array = np.abs(finite - bounded) / spacing
    error[np.isnan(result) & np.isnan(reference)] = 0
    return np.where(np.isnan(error), np.inf, error)


def exact_value(subject: Subject, operands: tuple[Any, ...]) -> Any:
    with mpmath.workprec(1200 if max(abs(float(x)) for x in operands) > 2.0**100 else 300):
        try:
            value = subject.exact(*(mpmath.mpf(float(x)) for x in operands))
        except (ValueError, ZeroDivisionError):
            return WIDE(np.nan)
        return to_wide(value)


def to_wide(value: Any) -> Any:
    """Round an mpmath number to np.longdouble, by way of two doubles and a power of two."""
    if isinstance(value, mpmath.mpc) or mpmath.isnan(value):
        return WIDE(np.nan)
    if mpmath.isinf(value) or value == 0:
        return WIDE(float(value))
    mantissa, exponent = mpmath.frexp(value)
    high = float(mantissa)
    total = WIDE(high) + WIDE(float(mantissa - high))
    return np.ldexp(total, int(max(min(exponent, 16000), -16000)))


def cancellation_floor(subject: Subject, operands: list[Array]) -> Array:
    """The sums in the logarithmic domain are relative to the larger operand.

    NumPy computes them so too: where the result is near 0 and the operands are
    not, their own rounding has decided it already.
    """
    if subject.name.startswith("logadd"):
        return np.maximum(np.abs(operands[0]), np.abs(operands[1]))
    return np.zeros(operands[0].shape, operands[0].dtype)


def measure_subject(subject: Subject, compute: Compute, dtype: Any, count: int) -> tuple[float, str, int]:
    """Return the worst error in ulp, the arguments where it occurs, and the number of samples."""
    needs_mpmath = not subject.widens and dtype is DOUBLE
    sample = sample_unary if subject.arity == 1 else sample_binary
    operands = sample(subject, dtype, count)
    usable = np.logical_and.reduce([np.isfinite(operand) for operand in operands])
    operands = [operand[usable] for operand in operands]
    if needs_mpmath:
        chosen = np.random.default_rng(2016).permutation(operands[0].size)[: min(count, 1 << 15)]
        operands = [operand[chosen] for operand in operands]
    result = compute(*operands)
    floor = cancellation_floor(subject, operands)
    if not needs_mpmath:
        wide = WIDE if dtype is DOUBLE else DOUBLE
        estimate = subject.peer(*(operand.astype(wide) for operand in operands))
    else:
        estimate = np.array([exact_value(subject, tuple(each)) for each in zip(*operands, strict=True)])
    errors = measure_ulp(result, estimate, dtype, floor)
    worst = np.argpartition(errors, -CONFIRMED)[-CONFIRMED:]
    exact = np.array([exact_value(subject, tuple(operand[i] for operand in operands)) for i in worst])
    confirmed = measure_ulp(result[worst], exact, dtype, floor[worst])
    place = worst[int(np.argmax(confirmed))]
    where = ", ".join(repr(float(operand[place])) for operand in operands)
    return float(np.max(confirmed)), where, operands[0].size


def find_special_differences(subject: Subject, compute: Compute, dtype: Any) -> list[str]:
    """Compare with NumPy where results are exact: zeros with their sign, infinities, NaN, ones."""
    grid = np.meshgrid(*[np.array(SPECIAL, dtype)] * subject.arity)
    operands = [operand.ravel() for operand in grid]
    found, wanted = compute(*operands), subject.peer(*operands)
    exact = ~np.isfinite(wanted) | np.isin(wanted, [0.0, 1.0, -1.0])
    same = (found == wanted) & (np.signbit(found) == np.signbit(wanted)) | np.isnan(found) & np.isnan(wanted)
    return [
        f"{subject.name}({', '.join(str(operand[i]) for operand in operands)}) is {found[i]}, expected {wanted[i]}"
        for i in np.flatnonzero(exact & ~same)
    ]


def time_per_element(bind: Callable[..., Callable[[], object]], operands: list[Array]) -> float:
    """Nanoseconds per element, without the cost of a call: from a long array and a fourth of it."""
    size = operands[0].size
    best: dict[int, float] = {}
    calls = {
        length: bind(*(x[:length] for x in operands), out=np.empty(length, operands[0].dtype))
        for length in (size // 4, size)
    }
    for _ in range(40):
        for length, call in calls.items():
            start = time.perf_counter()
            for _ in range(10):
                call()
            best[length] = min(best.get(length, np.inf), (time.perf_counter() - start) / 10)
    return (best[size] - best[size // 4]) / (size - size // 4) * 1e9


def time_subject(subject: Subject, compute: Compute, dtype: Any) -> tuple[float, float]:
    """Time ours and NumPy's on arrays that stay in the first-level cache."""
    size = 12288 // np.dtype(dtype).itemsize
    generator = np.random.default_rng(2016)
    operands = [generator.uniform(subject.low / 2, subject.high / 2, size).astype(dtype) for _ in range(subject.arity)]
    bind: Callable[..., Callable[[], object]] = getattr(compute, "bind", functools.partial(functools.partial, compute))
    return time_per_element(bind, operands), time_per_element(
        functools.partial(functools.partial, subject.peer), operands
    )


def compute_with_expansions(subject: Subject, dtype: Any) -> Compute:
    """The expansions alone, compiled as in their tests."""
    from tests.expand.vector_machine import compile_expansion

    return compile_expansion(find_expansion(subject.name), subject.arity, NAMES[dtype])


def find_expansion(name: str) -> Callable[..., Any]:
    """The expansion of an elementary function, or of what counts as arithmetic."""
    from jitflow.passes.expand import EXPANSIONS
    from jitflow.passes.expand.arithmetic import ARITHMETIC
    from jitflow.passes.expand.term import expansion

    return EXPANSIONS[name] if name in EXPANSIONS else expansion(ARITHMETIC["float"][name])


def compute_with_jitflow(subject: Subject, dtype: Any) -> Compute:
    """Through the whole compiler."""
    import jitflow

    function = subject.peer

    if subject.arity == 1:

        def apply(x: Array) -> Array:
            return function(x)
    else:

        def apply(x: Array, y: Array) -> Array:
            return function(x, y)

    compiled = jitflow.function(apply)

    def compute(*operands: Array, out: Array | None = None) -> Array:
        return compiled(*operands)

    return compute


def compute_with_numpy(subject: Subject, dtype: Any) -> Compute:
    return subject.peer


SOURCES: dict[str, Callable[[Subject, Any], Compute]] = {
    "expansions": compute_with_expansions,
    "jitflow": compute_with_jitflow,
    "numpy": compute_with_numpy,
}


def find(subject: Subject, dtype: Any, source: str, count: int) -> Finding:
    """Measure one function in one format."""
    compute = SOURCES[source](subject, dtype)
    worst, where, size = measure_subject(subject, compute, dtype, count)
    ours, peers = time_subject(subject, compute, dtype)
    differences = tuple(find_special_differences(subject, compute, dtype))
    return Finding(subject.name, NAMES[dtype], worst, where, ours, peers, size, differences)


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="functions, all by default")
    parser.add_argument("--f32", action="store_true", help="only f32")
    parser.add_argument("--f64", action="store_true", help="only f64")
    parser.add_argument("--source", choices=SOURCES, default="expansions")
    parser.add_argument("--dense", action="store_true", help="eight times the samples")
    parser.add_argument("--fast", action="store_true", help="a sixty-fourth of the samples")
    parser.add_argument("--page", action="store_true", help="through jitflow; store the JSON and the page's table")
    arguments = parser.parse_args(words)
    dtypes = [dtype for dtype, only in ((SINGLE, arguments.f64), (DOUBLE, arguments.f32)) if not only]
    subjects = [subject for subject in SUBJECTS if not arguments.names or subject.name in arguments.names]
    source = "jitflow" if arguments.page else arguments.source
    count = 1 << (21 if arguments.dense else 12 if arguments.fast else 18)
    write = functools.partial(print, flush=True)
    write(f"{'function':<11}{'dtype':<7}{'worst ulp':>9}  {'ns':>6} {'numpy':>6}  {'samples':>10}  at")
    findings = []
    with np.errstate(all="ignore"):
        for subject in subjects:
            for dtype in dtypes:
                findings.append(find(subject, dtype, source, count))
                write(findings[-1])
    differences = [f"{finding.dtype} {line}" for finding in findings for line in finding.differences]
    write("\n".join(differences) or "all special values as in NumPy")
    if arguments.page:
        record = as_record(findings, source)
        write_json(record, RESULTS)
        PAGE.write_text(rewrite_page(record, PAGE.read_text()))


if __name__ == "__main__":
    main()
