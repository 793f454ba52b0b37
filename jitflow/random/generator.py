"""`Generator`: random numbers in compiled programs.

A draw is a pure function of a key and a counter (`jitflow.ir.philox`). What changes is the counter alone, and it lies
in a small variable, `Generator.state`, which a draw reads and advances. Compiled functions write to it as to any other:
each call draws new numbers, loops and branches draw what Python would draw, a checkpoint holds it, and nothing here
knows about compiling but the words of `machine.py`.

Each number has a counter of its own, so that a draw is elementwise: it vectorises, and it fuses with what uses it.
Rejection, where a distribution needs it, draws all numbers of an array once more, and keeps those that were accepted.
"""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np

from jitflow.errors import UserNotImplementedError, UserTypeError, UserValueError
from jitflow.ir.philox import philox
from jitflow.random import continuous, counting, selection
from jitflow.random.machine import CHILDREN, COUNTER, KEY, SPAWNING, STREAM, Machine, machine

__all__ = ["Generator"]

_SEEDING = np.uint64(0x6A6974666C6F7721)
"""The key of the draws that make the key and the stream of a generator."""
_SEED_BITS = 128


class Generator:
    """Draws random numbers, with the methods of `numpy.random.Generator`.

    ``seed`` is an integer from 0 to ``2**128 - 1``; without it the operating system gives one. Equal seeds give equal
    numbers, on every machine, in plain Python and compiled: other numbers than NumPy's, of the same distributions. A
    generator may be a global, an argument, an attribute, or be made in the compiled function.

    ``state`` is its memory, a `jitflow.Variable` of four words of u64: key, stream, counter, and how many children it
    has. Store it to go on later, with ``Generator(state=stored)``. Threads may share a generator, but which of them
    draws which numbers is then a matter of chance: give each a generator of its own (`spawn`).

    Parameters of distributions are numbers or arrays, which broadcast; ``size`` is the shape of the result, None for
    that of the parameters. Parameters out of range raise ValueError.
    """

    __slots__ = ("state",)
    __jitflow_arrays__ = ("state",)

    def __init__(self, seed: Any = None, *, state: Any = None) -> None:
        m = machine()
        if state is None:
            state = m.state(_seeded(m, seed))
        elif getattr(state, "dtype", None) != np.uint64 or state.shape != (4,):
            raise UserValueError("expected the state of a generator, an array of four u64")
        self.state = m.memory(state)

    def __repr__(self) -> str:
        return f"<jitflow.random.Generator {self.state}>"

    # -- the state ----------------------------------------------------------------------------------------

    def words(self, shape: tuple[Any, ...]) -> tuple[Any, Any]:
        """128 new random bits for each element of ``shape``, as two arrays of u64."""
        m = machine()
        state = m.advance(self.state, COUNTER, m.count(shape))
        return m.words(state[KEY], state[STREAM], m.indices(shape) + state[COUNTER])

    def spawn(self, n_children: int) -> list[Generator]:
        """New generators, whose numbers are independent of each other's and of this one's."""
        m = machine()
        children = []
        for _ in range(n_children):
            state = m.advance(self.state, CHILDREN, np.uint64(1))
            key, stream = m.words(state[CHILDREN] ^ SPAWNING, state[STREAM], state[KEY])
            children.append(Generator(state=m.state((key, stream, 0, 0))))
        return children

    # -- uniform ------------------------------------------------------------------------------------------

    def random(self, size: Any = None, dtype: Any = np.float64) -> Any:
        """Uniform numbers from 0, and below 1: multiples of ``2**-53``, or of ``2**-24`` for float32."""
        return self._drawn(continuous.uniform_of(_float_type(dtype, "random")), size, dtype=dtype)

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        """Uniform numbers from ``low`` to ``high``."""
        return self._drawn(continuous.uniform, size, low, high)

    def integers(self, low: Any, high: Any = None, size: Any = None, dtype: Any = np.int64,
                 endpoint: bool = False) -> Any:  # fmt: skip
        """Integers from ``low``, and below ``high`` (up to it, with ``endpoint``); from 0 if there is one bound.

        Each number of a range of n has a probability of 1/n, up to ``2**-64``: they are the upper halves of products
        of n and 64 random bits.
        """
        if high is None:
            low, high = 0, low
        return counting.integers(self, low, high, size, np.dtype(dtype), bool(endpoint))

    def bytes(self, length: int) -> bytes:
        """Random bytes; not in compiled functions."""
        if type(machine()) is not Machine:
            raise UserNotImplementedError("bytes are not compiled", mend="draw integers(0, 256, n, dtype=np.uint8)")
        low, _ = self.words(((length + 7) // 8,))
        return bytes(low.astype("<u8").tobytes()[:length])

    # -- continuous ---------------------------------------------------------------------------------------

    def standard_normal(self, size: Any = None, dtype: Any = np.float64) -> Any:
        """Normal numbers of mean 0 and variance 1 (Box and Muller's transform, 1958)."""
        return self._drawn(continuous.normal, size, dtype=_float_type(dtype, "standard_normal"))

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Normal numbers of mean ``loc`` and standard deviation ``scale``."""
        return self._drawn(continuous.general_normal, size, loc, scale)

    def lognormal(self, mean: Any = 0.0, sigma: Any = 1.0, size: Any = None) -> Any:
        """The exponentials of normal numbers."""
        return self._drawn(continuous.lognormal, size, mean, sigma)

    def standard_exponential(self, size: Any = None, dtype: Any = np.float64, method: str = "inv") -> Any:
        """Exponential numbers of mean 1, by inversion, whatever the ``method``."""
        return self._drawn(continuous.exponential, size, dtype=_float_type(dtype, "standard_exponential"))

    def exponential(self, scale: Any = 1.0, size: Any = None) -> Any:
        """Exponential numbers of mean ``scale``."""
        return self._drawn(continuous.scaled_exponential, size, scale)

    def standard_gamma(self, shape: Any, size: Any = None, dtype: Any = np.float64) -> Any:
        """Gamma numbers of scale 1 (Marsaglia and Tsang, 2000)."""
        return self._drawn(continuous.gamma, size, shape, dtype=_float_type(dtype, "standard_gamma"))

    def gamma(self, shape: Any, scale: Any = 1.0, size: Any = None) -> Any:
        """Gamma numbers of mean ``shape * scale``."""
        return self._drawn(continuous.scaled_gamma, size, shape, scale)

    def beta(self, a: Any, b: Any, size: Any = None) -> Any:
        """Beta numbers."""
        return self._drawn(continuous.beta, size, a, b)

    def chisquare(self, df: Any, size: Any = None) -> Any:
        """Sums of the squares of ``df`` normal numbers."""
        return self._drawn(continuous.chisquare, size, df)

    def standard_t(self, df: Any, size: Any = None) -> Any:
        """Student's t."""
        return self._drawn(continuous.student, size, df)

    def f(self, dfnum: Any, dfden: Any, size: Any = None) -> Any:
        """Fisher's F."""
        return self._drawn(continuous.fisher, size, dfnum, dfden)

    def standard_cauchy(self, size: Any = None) -> Any:
        """Quotients of normal numbers."""
        return self._drawn(continuous.cauchy, size)

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Exponential numbers on both sides of ``loc``."""
        return self._drawn(continuous.laplace, size, loc, scale)

    def logistic(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Logistic numbers."""
        return self._drawn(continuous.logistic, size, loc, scale)

    def gumbel(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Gumbel's extreme values."""
        return self._drawn(continuous.gumbel, size, loc, scale)

    def rayleigh(self, scale: Any = 1.0, size: Any = None) -> Any:
        """Lengths of normal vectors in the plane."""
        return self._drawn(continuous.rayleigh, size, scale)

    def weibull(self, a: Any, size: Any = None) -> Any:
        """Exponential numbers to the power ``1 / a``."""
        return self._drawn(continuous.weibull, size, a)

    def pareto(self, a: Any, size: Any = None) -> Any:
        """Pareto's distribution of the second kind, from 0."""
        return self._drawn(continuous.pareto, size, a)

    def power(self, a: Any, size: Any = None) -> Any:
        """Uniform numbers to the power ``1 / a``."""
        return self._drawn(continuous.power, size, a)

    def triangular(self, left: Any, mode: Any, right: Any, size: Any = None) -> Any:
        """Numbers from ``left`` to ``right``, the most about ``mode``."""
        return self._drawn(continuous.triangular, size, left, mode, right)

    def dirichlet(self, alpha: Any, size: Any = None) -> Any:
        """Vectors of gamma numbers, divided by their sums."""
        return continuous.dirichlet(self, alpha, size)

    # -- counts -------------------------------------------------------------------------------------------

    def poisson(self, lam: Any = 1.0, size: Any = None) -> Any:
        """Counts of mean ``lam``: by inversion below 10, from there by rejection (Hörmann's PTRS, 1993)."""
        return self._drawn(counting.poisson, size, lam, kind=int)

    def binomial(self, n: Any, p: Any, size: Any = None) -> Any:
        """Successes among ``n`` trials of probability ``p``: by inversion, or by rejection (Hörmann's BTRS, 1993)."""
        return self._drawn(counting.binomial, size, n, p, kind=int)

    def negative_binomial(self, n: Any, p: Any, size: Any = None) -> Any:
        """Failures before the ``n``-th success, each of probability ``p``."""
        return self._drawn(counting.negative_binomial, size, n, p, kind=int)

    def geometric(self, p: Any, size: Any = None) -> Any:
        """Trials up to the first success of probability ``p``."""
        return self._drawn(counting.geometric, size, p, kind=int)

    def multinomial(self, n: Any, pvals: Any, size: Any = None) -> Any:
        """How many of ``n`` trials have each outcome; ``pvals`` is an array of the probabilities of the outcomes."""
        return counting.multinomial(self, n, pvals, size)

    # -- from what there is -------------------------------------------------------------------------------

    def choice(self, a: Any, size: Any = None, replace: bool = True, p: Any = None, axis: int = 0,
               shuffle: bool = True) -> Any:  # fmt: skip
        """Items of the array ``a`` along an axis, or of ``arange(a)``, with or without replacement.

        ``p`` are the probabilities of the items. ``shuffle`` changes nothing: the order is random in any case.
        """
        return selection.choice(self, a, size, replace, p, axis)

    def permutation(self, x: Any, axis: int = 0) -> Any:
        """The array ``x``, or ``arange(x)``, in random order along an axis."""
        return selection.permutation(self, x, axis)

    def shuffle(self, x: Any, axis: int = 0) -> None:
        """Bring an array, or a list, into random order along an axis, in place."""
        selection.shuffle(self, x, axis)

    def permuted(self, x: Any, *, axis: int | None = None) -> Any:
        """The array with the items of each slice along an axis in a random order of its own; None means all items."""
        return selection.permuted(self, x, axis)

    def _drawn(
        self, distribution: Any, size: Any, *parameters: Any, dtype: Any = np.float64, kind: type = float
    ) -> Any:
        """A draw from ``distribution(machine, generator, shape, *parameters)``, as NumPy returns it."""
        m = machine()
        numbers = [m.number(parameter) for parameter in parameters]
        shape = m.shape(size, *numbers)
        with np.errstate(all="ignore"):
            drawn = distribution(m, self, shape, *numbers)
        if shape or size is not None:
            wanted = np.int64 if kind is int else dtype
            return drawn if drawn.dtype == wanted else drawn.astype(wanted)
        return m.scalar(drawn, kind)


def _float_type(dtype: Any, method: str) -> np.dtype[Any]:
    found: np.dtype[Any] = np.dtype(dtype)
    if found not in (np.float32, np.float64):
        raise UserTypeError(f"Unsupported dtype {found!r} for {method}")
    return found


def _seeded(m: Machine, seed: Any) -> tuple[Any, ...]:
    """Key, stream, counter and children for a seed.

    Different seeds give different keys or streams, because Philox is one to one.
    """
    if seed is None:
        if type(m) is not Machine:
            raise UserNotImplementedError(
                "a generator without a seed, made in a compiled function, would be seeded once, while tracing",
                mend="pass a seed, or make the generator outside",
            )
        seed = secrets.randbits(_SEED_BITS)
    if isinstance(seed, int | np.integer) and not hasattr(seed, "_trace"):
        whole = int(seed)
        if not 0 <= whole < 1 << _SEED_BITS:
            raise UserValueError("expected a seed from 0 to 2**128 - 1", found=str(seed))
        low, high = np.uint64(whole & 0xFFFFFFFFFFFFFFFF), np.uint64(whole >> 64)
        key, stream = philox(_SEEDING, high, low)
    else:
        m.require(m.integer(seed) >= 0, "expected a seed that is not negative")
        key, stream = m.words(_SEEDING, np.uint64(0), m.cast(seed, np.uint64))
    return key, stream, np.uint64(0), np.uint64(0)
