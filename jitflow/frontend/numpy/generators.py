"""NumPy's random generators while a program is traced.

A generator is an object outside, or one that the program makes: to the program it is an address, which loops and
branches carry as they carry numbers. What it draws is an op on that address, in order with everything else that can be
seen, and its state is that of the object itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, wraps
from types import MethodType
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserAttributeError, UserError, UserTypeError, UserValueError
from jitflow.frontend.arrays.operands import array_operand, as_value, normalized_axis, refuse
from jitflow.frontend.control.calls_out import call_out
from jitflow.frontend.numpy.distributions import (
    LEGACY,
    METHODS,
    REQUIRED,
    Dims,
    bound,
    call_method,
    common_shape,
    integers,
    size_argument,
    sizes,
)
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers import holds_alternatives, located
from jitflow.frontend.tracers.alternatives import distributed
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.core import Value
from jitflow.ir.draws import object_at
from jitflow.ir.dtypes import F64, I64
from jitflow.ir.types import Scalar, Tensor
from jitflow.runtime.drawing import make

__all__ = ["Made", "RandomModule", "TracedGenerator", "TracedRandomState", "is_of_numpy_random", "traced_generator"]


class Made:
    """Whether a trace makes generators, which a call then keeps until it ends."""

    any = False


class _Traced:
    """A generator, by the tracer of its address."""

    __slots__ = ("handle",)
    is_new = True

    def __init__(self, handle: Any) -> None:
        self.handle = handle

    @property
    def kind(self) -> type:
        """NumPy's class."""
        return np.random.Generator if self.is_new else np.random.RandomState

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return self.kind

    @property
    def address(self) -> Value:
        """The address as a value."""
        return values.as_strong(tracers.lift(self.handle))

    def __getattr__(self, name: str) -> Any:
        handler = _handlers(self.is_new).get(name)
        if handler is not None:
            return MethodType(handler, self)
        if name.startswith("__"):
            raise AttributeError(name)
        path = f"{self.kind.__module__}.{self.kind.__name__}"
        if not hasattr(self.kind, name):
            raise located(UserAttributeError(f"'{path}' object has no attribute '{name}'"))
        raise located(refuse(f"{path}.{name} in a compiled function", "use it outside the compiled function"))


class TracedGenerator(_Traced):
    """A `numpy.random.Generator`."""

    __slots__ = ()
    __jitflow_arrays__ = ("handle",)
    returned_as = staticmethod(lambda handle: object_at(handle))


class TracedRandomState(_Traced):
    """A `numpy.random.RandomState`."""

    __slots__ = ()
    __jitflow_arrays__ = ("handle",)
    is_new = False
    returned_as = TracedGenerator.returned_as


def traced_generator(thing: Any) -> type[_Traced] | None:
    """The class of what stands for an object from outside, if that is a generator of NumPy's."""
    if type(thing) is np.random.Generator:
        return TracedGenerator
    return TracedRandomState if type(thing) is np.random.RandomState else None


def is_of_numpy_random(thing: Any) -> bool:
    """Whether an object is NumPy's module of generators, something in it, or made by it."""
    owner = thing.__self__ if isinstance(thing, MethodType) else thing
    home = getattr(owner, "__module__", None) or type(owner).__module__
    return str(home).startswith("numpy.random") or type(owner).__module__.startswith("numpy.random")


def _located(handler: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(handler if hasattr(handler, "__name__") else handler.func)  # type: ignore[attr-defined]
    def run(*args: Any, **kwargs: Any) -> Any:
        if holds_alternatives(args) or (kwargs and holds_alternatives([*kwargs.values()])):
            return distributed(run, args, kwargs)
        try:
            return handler(*args, **kwargs)
        except UserError as error:
            raise located(error) from None

    return run


@cache
def _handlers(is_new: bool) -> Mapping[str, Callable[..., Any]]:
    table = {**_SHARED, **METHODS, **_NEW} if is_new else {**_SHARED, **LEGACY, **_OLD}
    return {name: _located(handler) for name, handler in table.items()}


# -- draws from what the program has: choices, permutations, and distributions of several numbers


def _choice(generator: Any, *args: Any, **kwargs: Any) -> Any:
    signature = {"a": REQUIRED, "size": None, "replace": True, "p": None}
    if generator.is_new:
        signature |= {"axis": 0, "shuffle": True}
    given = bound("choice", signature, args, kwargs)
    pool, size, axis = given["a"], given["size"], given.get("axis", 0)
    is_pool = isinstance(pool, np.ndarray | list | tuple | range) or getattr(pool, "ndim", 0) > 0
    if is_pool:
        array = tracers.wrap(array_operand(pool), owned=True) if not isinstance(pool, tracers.ArrayTracer) else pool
        if not generator.is_new and array.ndim != 1:
            raise UserValueError("a must be 1-dimensional")
        place = normalized_axis(axis, array.ndim)
        count = array.shape[place]
    else:
        count = pool
    dims = size_argument(size)
    if given["replace"] is True and given["p"] is None:
        positions = _positions(generator, count, size, is_pool)
    else:
        kind = Scalar(I64, weak=True) if dims is None else Tensor(I64, dims)
        options = {"shuffle": given["shuffle"]} if generator.is_new else {}
        size = None if dims is None else sizes(dims)
        replace = given["replace"]
        (value,) = call_method(generator, "choice", [kind], count, size, replace, given["p"], **options)
        positions = tracers.wrap(value, owned=True)
    return np.take(array, positions, axis=place) if is_pool else positions


def _positions(generator: Any, count: Any, size: Any, is_pool: bool) -> Any:
    """Positions in what there is to choose from, each as likely as any other."""
    number = values.cast(as_value(count), I64)
    if generator.is_new:
        message = "a cannot be empty" if is_pool else "a must be a positive integer"
    else:
        message = "'a' cannot be empty" if is_pool else "a must be greater than 0"
    enough = values.emit("greater", number, values.constant(0, I64))
    values.check(enough, ValueError, f"{message} unless no samples are taken")
    if generator.is_new:
        return integers(generator, 0, tracers.wrap(number), size, np.int64 if size is not None else int)
    return integers(generator, 0, tracers.wrap(number), size, int, method="randint")


def _permutation(generator: Any, *args: Any, **kwargs: Any) -> Any:
    given = bound("permutation", {"x": REQUIRED, **({"axis": 0} if generator.is_new else {})}, args, kwargs)
    x = given.pop("x")
    if isinstance(x, list | tuple | range) or getattr(x, "ndim", 0) > 0:
        value = array_operand(x)
        (found,) = call_method(generator, "permutation", [value.type], tracers.wrap(value), **given)
    else:
        count = values.cast(as_value(x), I64)
        (dim,) = sizes(size_argument(tracers.wrap(count)) or ()) if not isinstance(x, int) else (x,)
        (found,) = call_method(generator, "permutation", [Tensor(I64, size_argument(dim))], x)  # type: ignore[arg-type]
    return tracers.wrap(found, owned=True)


def _shuffle(generator: Any, *args: Any, **kwargs: Any) -> None:
    given = bound("shuffle", {"x": REQUIRED, **({"axis": 0} if generator.is_new else {})}, args, kwargs)
    x = given.pop("x")
    if not isinstance(x, tracers.ArrayTracer):
        raise refuse(f"a shuffle of a {type(x).__name__}", "shuffle an array: np.array(x)")
    axis = tuple(given.values())

    def shuffled(address: Any, array: Any) -> Any:
        object_at(address).shuffle(array, *axis)
        return array

    (found,) = call_out(current_trace(), shuffled, "shuffle", (generator.handle, x), {}, [Tensor(*_of(x))])
    surface.set_item(x, ..., tracers.wrap(found, owned=True))


def _permuted(generator: Any, *args: Any, **kwargs: Any) -> Any:
    given = bound("permuted", {"x": REQUIRED, "axis": None, "out": None}, args, kwargs)
    value = array_operand(given["x"])
    (found,) = call_method(generator, "permuted", [value.type], tracers.wrap(value), axis=given["axis"])
    made = tracers.wrap(found, owned=True)
    if given["out"] is None:
        return made
    surface.set_item(given["out"], ..., made)
    return given["out"]


def _of(array: Any) -> tuple[Any, Dims]:
    value = array.value
    return values.dtype_of_value(value), values.dims(value)


def _several(generator: Any, name: str, dtype: Any, outer: Dims | None, inner: Dims, *args: Any, **kwargs: Any) -> Any:
    """A call of a method that draws several numbers at a time."""
    (found,) = call_method(generator, name, [Tensor(dtype, (*(outer or ()), *inner))], *args, **kwargs)
    return tracers.wrap(found, owned=True)


def _given_size(size: Any) -> tuple[Dims | None, Any]:
    dims = size_argument(size)
    return dims, None if dims is None else sizes(dims)


def _multinomial(generator: Any, *args: Any, **kwargs: Any) -> Any:
    given = bound("multinomial", {"n": REQUIRED, "pvals": REQUIRED, "size": None}, args, kwargs)
    count, chances = as_value(given["n"]), array_operand(given["pvals"])
    *outer, last = values.dims(chances)
    if values.rank(count) or outer:
        rows = values.slice_axes(chances, (0,) * (len(outer) + 1), (*outer, 1), (1,) * (len(outer) + 1))
        dims = common_shape([values.as_array(count), values.reshape(rows, tuple(outer))], given["size"])
        size = None if given["size"] is None else sizes(dims or ())
    else:
        dims, size = _given_size(given["size"])
    return _several(generator, "multinomial", I64, dims, (last,), tracers.wrap(count), tracers.wrap(chances), size)


def _dirichlet(generator: Any, *args: Any, **kwargs: Any) -> Any:
    given = bound("dirichlet", {"alpha": REQUIRED, "size": None}, args, kwargs)
    alpha, (dims, size) = array_operand(given["alpha"]), _given_size(given["size"])
    return _several(generator, "dirichlet", F64, dims, values.dims(alpha), tracers.wrap(alpha), size)


def _multivariate_normal(generator: Any, *args: Any, **kwargs: Any) -> Any:
    signature = {"mean": REQUIRED, "cov": REQUIRED, "size": None, "check_valid": "warn", "tol": 1e-8}
    if generator.is_new:
        signature |= {"method": "svd"}
    given = bound("multivariate_normal", signature, args, kwargs)
    mean, cov = array_operand(given.pop("mean")), array_operand(given.pop("cov"))
    dims, size = _given_size(given.pop("size"))
    return _several(generator, "multivariate_normal", F64, dims, values.dims(mean), tracers.wrap(mean),
                    tracers.wrap(cov), size, **given)  # fmt: skip


def _multivariate_hypergeometric(generator: Any, *args: Any, **kwargs: Any) -> Any:
    signature = {"colors": REQUIRED, "nsample": REQUIRED, "size": None, "method": "marginals"}
    given = bound("multivariate_hypergeometric", signature, args, kwargs)
    colors, (dims, size) = array_operand(given["colors"]), _given_size(given["size"])
    return _several(generator, "multivariate_hypergeometric", I64, dims, values.dims(colors), tracers.wrap(colors),
                    given["nsample"], size, method=given["method"])  # fmt: skip


def _seed(generator: Any, *args: Any, **kwargs: Any) -> None:
    given = bound("seed", {"seed": None}, args, kwargs)
    call_method(generator, "seed", (), given["seed"])


_SHARED: Mapping[str, Callable[..., Any]] = {
    "choice": _choice,
    "permutation": _permutation,
    "shuffle": _shuffle,
    "multinomial": _multinomial,
    "dirichlet": _dirichlet,
    "multivariate_normal": _multivariate_normal,
}
_NEW = {"permuted": _permuted, "multivariate_hypergeometric": _multivariate_hypergeometric}
_OLD = {"seed": _seed}


# -- generators that the program makes


def _made(kind: type[_Traced], what: str, *args: Any) -> Any:
    """A generator that NumPy makes each time that the program comes here, and the call keeps."""
    current_trace().state(Made).any = True

    def run(*given: Any) -> Any:
        return make(what, *given)

    (address,) = call_out(current_trace(), run, f"numpy.random.{what}", args, {}, [Scalar(I64)])
    return kind(tracers.wrap(address))


@_located
def _default_rng(*args: Any, **kwargs: Any) -> Any:
    seed = bound("default_rng", {"seed": None}, args, kwargs)["seed"]
    if isinstance(seed, _Traced):
        return seed
    if isinstance(seed, _BitGenerator):
        return seed.generator(TracedGenerator, "Generator")
    return _made(TracedGenerator, "default_rng", seed)


class _BitGenerator:
    """A bit generator that the program makes, for the generator around it."""

    def __init__(self, name: str, seed: Any) -> None:
        self.name, self.seed = name, seed
        self._generators: dict[type, Any] = {}

    def generator(self, kind: type[_Traced], what: str) -> Any:
        """The one generator around it."""
        if not self._generators:
            self._generators[kind] = _made(kind, f"{what}({self.name})", self.seed)
        if kind not in self._generators:
            raise located(refuse("a bit generator in two generators", "make a bit generator for each"))
        return self._generators[kind]


BIT_GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")


class _Class:
    """A class of NumPy's generators: what the program makes of it is made when it runs."""

    def __init__(self, kind: type) -> None:
        self.kind = kind

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = self.kind.__name__
        if name in BIT_GENERATORS:
            return _BitGenerator(name, _located(bound)(name, {"seed": None}, args, kwargs)["seed"])
        key = "bit_generator" if name == "Generator" else "seed"
        source = _located(bound)(name, {key: None}, args, kwargs)[key]
        kind = TracedGenerator if name == "Generator" else TracedRandomState
        if isinstance(source, _BitGenerator):
            return source.generator(kind, name)
        if name == "RandomState":
            return _made(kind, name, source)
        raise located(UserTypeError("expected a bit generator that the compiled function makes, as np.random.PCG64(0)"))

    def __instancecheck__(self, instance: Any) -> bool:
        return isinstance(instance, self.kind)


class RandomModule:
    """``numpy.random``. ``read`` gives the generator behind its functions, and lets every call check a member."""

    __slots__ = ("_module", "_read")

    def __init__(self, module: Any, read: Callable[[str, Any], Any]) -> None:
        self._module, self._read = module, read

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            member = getattr(self._module, name)
        except AttributeError as error:
            raise located(UserAttributeError(str(error))) from None
        return self._read(name, member)


def member_of_numpy_random(thing: Any, state: Callable[[], Any]) -> Any:
    """What stands for a function or class of ``numpy.random``; ``state`` gives the generator behind its functions."""
    if isinstance(thing, type):
        return _Class(thing) if thing.__name__ in (*BIT_GENERATORS, "Generator", "RandomState") else None
    name = getattr(thing, "__name__", "")
    if name == "default_rng":
        return _default_rng
    if name in _handlers(False):
        return getattr(state(), name)
    return None
