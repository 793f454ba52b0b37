"""Real and imaginary parts of complex arrays, and views with a dtype of the same size: they have no op of their own.

A part is read by reading the array anew and taking its part, and written by writing the array with its other part as it
is; what shows the same bits as another dtype has no other part. A view of a part is the part of the same view of the
array.

A part of an array that the program has let go of, as in ``np.fft.ifft(z).real``, is an array like others.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol
from weakref import ref

from jitflow.frontend.recording.regions import Regions
from jitflow.ir.core import Op, Value
from jitflow.ir.dtypes import DTYPES
from jitflow.ir.types import Tensor

__all__ = ["Parts"]


class Memory(Protocol):
    """What parts ask of the memory that they are in (`jitflow.frontend.recording.memory`)."""

    def root(self, value: Value) -> Value: ...
    def source(self, value: Value) -> Op | Value | None: ...
    def arrive(self, merged: Value, arrays: Iterable[Value]) -> None: ...
    def is_shared(self, value: Value) -> bool: ...
    def is_variable(self, value: Value) -> bool: ...
    def is_new_array(self, value: Value) -> bool: ...
    def read(self, value: Value) -> Value: ...
    def write(self, value: Value, stored: Value) -> None: ...


class Parts:
    """The parts that a trace has asked for."""

    def __init__(self, trace: Regions, storage: Memory) -> None:
        self._trace, self._storage = trace, storage
        self.of: dict[Value, tuple[Value, str]] = {}
        """From a part to the array, and which part of it: ``real``, ``imag``, or the name of a dtype."""
        self.made: dict[Value, tuple[Value, str]] = {}
        """The same, of those that stand for themselves as well: they lie as the array does."""
        self._holders: dict[Value, ref[Any]] = {}

    def taken(self, array: Value, name: str, holder: Any) -> Value:
        """The part of ``array`` that has this name; the program has the array as the object ``holder``."""
        part = self._part(array, name)
        self.of[part] = self.made[part] = array, name
        self._holders[part] = ref(holder)
        self._storage.arrive(part, [array])
        return part

    def let_go(self, part: Value) -> bool:
        """Whether no other array object shows the array any more; then ``part`` stands for itself from now on."""
        storage, (array, _) = self._storage, self.of[part]
        held = self._holders[part]() is not None or storage.is_shared(array) or storage.is_variable(array)
        if held or not storage.is_new_array(array):  # what a view shows, others may have
            return False
        if array in self.of and not self.let_go(array):
            return False
        del self.of[part], self._holders[part]
        return True

    def shown_by(self, value: Value) -> tuple[Value, Any, str] | None:
        """Of what view of an array ``value`` is a part, the program's array if it is all of one, and which part it is.

        None of what is no part, or of an array that nobody else shows.
        """
        root = self._storage.root(value)
        if root not in self.of or self.let_go(root):
            return None
        array, name = self.of[root]
        holder = self._holders[root]() if value is root else None
        return self._mirrored(value, root, array), holder, name

    def read(self, value: Value) -> Value | None:
        """What a view of a part shows now; None of anything else, and if nothing has been written to the array."""
        root = self._storage.root(value)
        if root not in self.of:
            return None
        array, name = self.of[root]
        if not self._storage.is_variable(array):
            return None
        return self._part(self._storage.read(self._mirrored(value, root, array)), name)

    def write(self, value: Value, stored: Value) -> bool:
        """Write to what a view of a part shows; False if it is no such view."""
        root = self._storage.root(value)
        if root not in self.of or self.let_go(root):
            return False
        array, name = self.of[root]
        shown = self._mirrored(value, root, array)
        assert isinstance(value.type, Tensor)
        if name in DTYPES:
            assert isinstance(shown.type, Tensor)
            self._storage.write(shown, self._trace.make("bitcast", stored, dtype=shown.type.dtype))
            return True
        if not isinstance(stored.type, Tensor):
            stored = self._trace.make("broadcast", stored, dims=value.type.dims, axes=())
        other = self._trace.make("imag" if name == "real" else "real", self._storage.read(shown))
        both = (stored, other) if name == "real" else (other, stored)
        self._storage.write(shown, self._trace.make("complex", *both))
        return True

    def _part(self, shown: Value, name: str) -> Value:
        op, more = ("bitcast", {"dtype": DTYPES[name]}) if name in DTYPES else (name, {})
        part = self._trace.make(op, shown, **more)
        return part if isinstance(part.type, Tensor) else self._trace.make("reshape", part, dims=())

    def _mirrored(self, value: Value, root: Value, array: Value) -> Value:
        """The same view of the array."""
        if value is root:
            return array
        source = self._storage.source(value)
        if isinstance(source, Op):
            inner = self._mirrored(source.operands[0], root, array)
            return self._trace.make(source.name, inner, **source.attributes)
        assert source is not None
        return self._mirrored(source, root, array)
