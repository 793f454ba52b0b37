"""The function object that the decorator makes: what users call, and what makes it an object like a function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, Generic, Literal, NamedTuple, ParamSpec, TypeVar, overload

from jitflow.compilation.specialised import Specialised
from jitflow.config import CONFIG
from jitflow.errors import UserValueError

if TYPE_CHECKING:
    from jitflow.compilation.explanation import Explanation
    from jitflow.exports.export import Exported
    from jitflow.passes.place import Placement

__all__ = ["CacheInfo", "CompiledFunction"]

_Parameters = ParamSpec("_Parameters")
_Others = ParamSpec("_Others")
_Result = TypeVar("_Result", covariant=True)
_Owner = TypeVar("_Owner")


class CacheInfo(NamedTuple):
    """How often calls found compiled code. ``misses`` counts compilations; ``maxsize`` bounds ``currsize``."""

    hits: int
    misses: int
    maxsize: int
    currsize: int


class CompiledFunction(Specialised, Generic[_Parameters, _Result]):
    """The methods of a compiled function, which is called as the function that it was made of.

    Calling, binding and linking are the dispatcher's.
    """

    __jitflow_compiled__ = True

    if TYPE_CHECKING:  # a function with the types of what it was made of
        __wrapped__: Callable[_Parameters, _Result]

        def __call__(self, *args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result: ...
        @overload
        def __get__(self, instance: None, owner: type | None = None) -> CompiledFunction[_Parameters, _Result]: ...
        @overload
        def __get__(
            self: CompiledFunction[Concatenate[_Owner, _Others], _Result], instance: _Owner, owner: type | None = None
        ) -> Callable[_Others, _Result]: ...
        def __get__(self, instance: Any, owner: type | None = None) -> Any: ...

    # -- what users call ---------------------------------------------------------------------------

    def partial(
        self, fetch: str | Sequence[str], feed: Mapping[str, Any] | Iterable[str] = (), *, effects: bool = False
    ) -> Any:
        """A compiled function of the part of this one that the values called ``fetch`` need (`jitflow.name`).

        It returns these values: one for a string, a list or a tuple for a list or a tuple of names. ``feed`` names
        values that are given in place of what computes them, of the same dtype and shape: they are keyword arguments,
        called like the names (with ``_`` for what no identifier has), and a dict gives the values to take where a call
        gives none. All arguments of this function may be given, and those that the part needs must be.

        The part changes nothing outside, and prints nothing; with ``effects`` it does all that this function does but
        compute its result. Names in loops and branches, or of several values, cannot be fetched or fed.

        Raises ValueError for names that there are not, and TypeError where an argument is missing, both at its first
        call.
        """
        from jitflow.compilation.naming import part_of

        if self._options.part is not None:
            raise UserValueError("a part of a part", mend="ask the function itself for the smaller part")
        fn, part = part_of(self._wrapped, fetch, feed, effects)
        from jitflow.api import compiled

        return compiled(fn, self._options._replace(part=part))

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile for these arguments (arrays, numbers or `Spec`), without running."""
        with self._lock:
            self._compile(self._given(args, kwargs))

    def ir(self, *args: Any, stage: str = "traced", **kwargs: Any) -> str:
        """The program for these arguments (arrays, numbers or `Spec`) as text, at a stage of its compilation.

        Without arguments, the one that was compiled last; so do `graph` and `explain`.

        Stages: ``traced gradient optimized partitioned fused planned kernels llvm asm cuda``. Raises ValueError for any
        other.
        """
        from jitflow.compilation.stages import check_stage, stage_text

        check_stage(stage)
        return stage_text(self._asked(args, kwargs, "ir"), stage)

    @overload
    def graph(
        self, *args: Any, stage: str = "optimized", format: Literal["png"], placement: bool = False, **kwargs: Any
    ) -> bytes: ...
    @overload
    def graph(
        self, *args: Any, stage: str = "optimized", format: str = "text", placement: bool = False, **kwargs: Any
    ) -> str: ...
    def graph(
        self, *args: Any, stage: str = "optimized", format: str = "text", placement: bool = False, **kwargs: Any
    ) -> str | bytes:
        """The dataflow graph of the program for these arguments, with data and control edges.

        Stages: ``traced gradient optimized fused``. Formats: ``text``, ``dot``, ``svg``, which needs networkx, and
        ``png``, which needs matplotlib as well and gives bytes.
        ``placement`` shows on which device each op is computed and what is sent, at the stage ``optimized``.
        Raises ValueError for any other, and ImportError where one of these is missing.
        """
        from jitflow.compilation.stages import GRAPH_STAGES, check_stage, stage_graph

        check_stage(stage, GRAPH_STAGES)
        return stage_graph(self._asked(args, kwargs, "graph"), stage, format, placement=placement)

    def export(
        self, path: str | Path, *args: Any, target: str = "host", name: str | None = None, **kwargs: Any
    ) -> Exported:
        """Write the program for these arguments (arrays, numbers or `Spec`) as code that needs no Python.

        Files get the name ``path`` with ``.o`` (object code), ``.h`` (a C header) and, where a linker is at hand,
        ``.so``, ``.dylib`` or ``.wasm``, which `jitflow.load` calls from Python. What the function reads elsewhere than
        in its arguments (variables, arrays and numbers of globals, closures and objects) is written along with the
        values that it has now. Targets: ``host`` (this machine's processor), ``x86-64``, ``x86-64-v2``, ``x86-64-v3``,
        ``x86-64-v4``, ``aarch64-linux`` and ``wasm32``. ``name`` is what C calls it, by default the function's name.

        Raises ValueError for a target or a name that is none, and NotImplementedError, at the user's line, for what
        needs Python: callbacks, routines of LAPACK, generators of random numbers, printing, devices.
        """
        from jitflow.exports.export import export

        return export(self, path, args, kwargs, target, name)

    def placement(self, *args: Any, **kwargs: Any) -> Placement:
        """Where each op of the program for these arguments is computed on this machine, why, and what that takes.

        What is returned prints as a table; it can be saved, edited, and followed by `jitflow.simulate`, which also
        tells of other machines. Raises ValueError, at the user's lines, where constraints contradict each other.
        """
        from jitflow.simulation import placement_of

        return placement_of(self, args, kwargs)

    def explain(self, *args: Any, **kwargs: Any) -> Explanation:
        """What the code for these arguments depends on, what was fused, and where compiling spent its time.

        Print it, or ask it: it is an `Explanation`.
        """
        from jitflow.compilation.compiler import generate
        from jitflow.compilation.explanation import Explanation

        compilation = self._asked(args, kwargs, "explain")
        compilation.steps = []
        generate(compilation)
        on_disk = "" if args or kwargs else self._on_disk()
        return Explanation(self.__name__, compilation, on_disk)

    def cache_info(self) -> CacheInfo:
        """Statistics of the calls so far."""
        with self._lock:
            linked = self._specialisations
            hits = self._evicted_hits + sum(one.hits for one in (*linked, *self._aside)) - self._missed_calls
            return CacheInfo(hits, self._misses, CONFIG.cache_size, len(linked))

    def cache_clear(self) -> None:
        """Forget all compiled code and the statistics; not what is on disk, where the next call may find it again."""
        with self._lock:
            for specialisation in self._specialisations:
                self._forget(specialisation)
            self._drop_aside()
            self._misses = self._missed_calls = self._evicted_hits = 0
            self._hits_seen.clear()

    # -- an object like a function -----------------------------------------------------------------

    def __repr__(self) -> str:
        return f"<jitflow.function {self.__module__}.{self.__qualname__}>"

    def __reduce__(self) -> str | tuple[Any, ...]:
        """Pickled by reference where it is found by its name, else by value; what is compiled stays here."""
        from jitflow.pickling import reduced

        return reduced(self, (self._wrapped, self._options))

    def __setstate__(self, state: Any) -> None:
        """Make what `blank` made a function, and know the texts of the files that it was written in."""
        from jitflow.frontend.syntax.source import bring
        from jitflow.pickling import unpacked

        fn, options, texts = unpacked(state)
        bring(texts)
        CompiledFunction.__init__(self, fn, options)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        from jitflow.api import compiled
        from jitflow.signatures import method_of

        method = method_of(self._wrapped)  # which is copied with its object, as methods are
        return self if method is None else compiled(deepcopy(method, memo), self._options)
