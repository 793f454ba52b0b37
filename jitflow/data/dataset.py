"""`Dataset`: what is done to elements on their way into a training step, as a value.

A dataset is a chain of stages (`stages.py`) and does nothing until somebody iterates. Iterating twice gives the same
elements in the same order; passes of `repeat` have orders of their own. An iterator knows its position in a variable:
a checkpoint that holds the iterator holds the position, and restoring moves it there.
"""

from __future__ import annotations

import math
import operator
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from jitflow.data.stages import (
    Batches,
    Filtered,
    Mapped,
    Part,
    Prefetched,
    Repeated,
    Shuffled,
    Source,
    Stage,
)
from jitflow.errors import UserTypeError, UserValueError
from jitflow.runtime.variable import Variable

__all__ = ["DataIterator", "Dataset", "arrays", "from_ray", "whole_number"]


class Dataset:
    """The elements of ``source``: of an iterable, of a sequence, or of what a function without arguments makes anew.

    Elements are anything; where arrays are asked for, they are structures (dicts, tuples, lists) of arrays and numbers.
    Each method gives another dataset and leaves this one as it is. Functions that are handed over run when an element
    is made, on the threads of `prefetch` if there are some.

    Raises TypeError for sources that nobody can iterate over.
    """

    __module__ = "jitflow.data"

    def __init__(self, source: Any) -> None:
        self._stage: Stage = source if isinstance(source, Stage) else Source(source)

    def map(self, function: Callable[[Any], Any]) -> Dataset:
        """``function(element)`` for each element; tuples are handed over whole."""
        return Dataset(Mapped(self._stage, _callable(function, "function")))

    def filter(self, predicate: Callable[[Any], Any]) -> Dataset:
        """The elements for which ``predicate(element)`` is true."""
        return Dataset(Filtered(self._stage, _callable(predicate, "predicate")))

    def shuffle(self, seed: int = 0, buffer: int = 10_000) -> Dataset:
        """Another order in every pass, the same for the same ``seed``.

        Where elements have positions (sequences and what is made of them by `map`, `batch`, `take`...), the order is
        any of all elements. Else each is drawn out of a ``buffer`` of so many elements.
        """
        return Dataset(Shuffled(self._stage, whole_number(seed, "seed", 0), whole_number(buffer, "buffer", 1)))

    def batch(self, size: int, partial: bool = True) -> Dataset:
        """Batches of ``size`` elements, their arrays stacked along a new first axis.

        With ``partial`` the last batch of a pass may be smaller; without, it is left out then. Texts and other objects
        become lists. Raises ValueError, when a batch is made, if its elements have several shapes.
        """
        return Dataset(Batches(self._stage, whole_number(size, "size", 1), partial))

    def repeat(self, times: int | None = None) -> Dataset:
        """Pass after pass, ``times`` of them, or without end."""
        return Dataset(Repeated(self._stage, None if times is None else whole_number(times, "times", 0)))

    def take(self, count: int) -> Dataset:
        """The first ``count`` elements of a pass."""
        return Dataset(Part(self._stage, 0, whole_number(count, "count", 0), 1))

    def skip(self, count: int) -> Dataset:
        """All but the first ``count`` elements of a pass."""
        return Dataset(Part(self._stage, whole_number(count, "count", 0), None, 1))

    def shard(self, index: int, count: int) -> Dataset:
        """Worker ``index``'s part where ``count`` workers share the elements: every ``count``-th, from ``index`` on.

        In front of `shuffle`, each worker shuffles its own part; behind it, the workers share one order.
        """
        if not 0 <= operator.index(index) < whole_number(count, "count", 1):
            raise UserValueError(f"there is no part {index} of {count}", expected="0 <= index < count")
        return Dataset(Part(self._stage, operator.index(index), None, count))

    def prefetch(self, ahead: int = 2, threads: int = 1) -> Dataset:
        """The same elements, up to ``ahead`` of which are made before they are asked for, by threads.

        More ``threads`` than one make several elements at the same time, and still give them in their order. What a
        function raises is raised where its element is asked for.
        """
        return Dataset(Prefetched(self._stage, whole_number(ahead, "ahead", 1), whole_number(threads, "threads", 1)))

    def __len__(self) -> int:
        """Elements of an iteration. Raises TypeError where nobody knows, or where there is no end."""
        length = self._stage.length()
        if length is None or length == math.inf:
            raise UserTypeError("a dataset without an end has no length" if length else "its length is not known")
        return int(length)

    def __iter__(self) -> DataIterator:
        return DataIterator(self)

    def __repr__(self) -> str:
        length = self._stage.length()
        size = "of unknown length" if length is None else "without end" if length == math.inf else f"of {int(length)}"
        return f"<jitflow.data.Dataset {size}>"


class DataIterator:
    """An iteration over a dataset. ``position`` is a variable: the number of elements that it has given.

    Saved with a model, it is part of the checkpoint; after `jitflow.restore`, or after an assignment to it, the next
    element is the one at that position. Sequences are asked for that element; what is streamed (files, filters,
    buffers) is gone through again up to there, without what `map` and `batch` would make of it. An element whose making
    raises counts as given: the next call goes on behind it. Threads may share one: each element goes to one of them.
    """

    __module__ = "jitflow.data"

    def __init__(self, dataset: Dataset) -> None:
        self.position = Variable(np.int64(0), "position", trainable=False)
        # In functions, where a checkpoint that looks for variables does not go through all of the data.
        self._stream: Callable[[int], Iterator[Callable[[], Any]]] = lambda start: dataset._stage.stream(0, start)
        self._open: Iterator[Callable[[], Any]] | None = None
        self._given = -1
        self._turn = threading.RLock()

    def __iter__(self) -> DataIterator:
        return self

    def __next__(self) -> Any:
        with self._turn:
            promise = self._promise()
        try:
            return promise()
        except StopIteration as error:
            raise RuntimeError("what makes the elements of a dataset raised StopIteration") from error

    def _promise(self) -> Callable[[], Any]:
        """What makes the next element, which counts as given from now on."""
        position = int(self.position)
        if self._open is None or position != self._given:
            if position < 0:
                raise UserValueError(f"an iterator cannot stand at the position {position}")
            self._open, self._given = self._stream(position), position
        try:
            promise = next(self._open)
        except StopIteration:
            raise
        except BaseException:
            self._open = None  # a generator that has raised is at its end
            raise
        self._given = position + 1
        self.position.assign(self._given)
        return promise


def arrays(*given: Any) -> Dataset:
    """The rows of arrays, as tuples: ``arrays(x, labels)`` has the elements ``(x[0], labels[0]), ...``.

    Of one array, rows as they are; of a dict of arrays, dicts of rows. Raises ValueError for arrays of several lengths.
    """
    if not given:
        raise UserTypeError("there are no arrays")
    return Dataset(_Rows(given[0] if len(given) == 1 else given))


def from_ray(given: Any) -> Dataset:
    """The rows of a Ray Dataset, as dicts of arrays and numbers: what Ray has read and transformed, element by element.

    Each pass asks it for its rows anew, in blocks that Ray prepares ahead. Rows come in one order, so what resumes or
    is sharded goes through those in front. Raises TypeError for what is no Ray Dataset.
    """
    if not callable(getattr(given, "iter_rows", None)):
        raise UserTypeError(f"a {type(given).__name__} has no rows to go through", expected="a ray.data.Dataset")
    return Dataset(given.iter_rows)


class _Rows:
    """A sequence of the rows of arrays, numbered like the first of their axes."""

    def __init__(self, given: Any) -> None:
        if isinstance(given, dict):
            self.names: tuple[Any, ...] | None = tuple(given)
            parts = tuple(given.values())
        else:
            self.names, parts = None, given if isinstance(given, tuple) else (given,)
        self.single = not isinstance(given, dict | tuple)
        self.parts = tuple(np.asarray(part) for part in parts)
        lengths = {part.shape[:1]: None for part in self.parts}
        if len(lengths) != 1 or () in lengths:
            raise UserValueError(
                f"the arrays have shapes {', '.join(str(part.shape) for part in self.parts)}",
                expected="arrays whose first axes have one length",
            )

    def __len__(self) -> int:
        return len(self.parts[0])

    def __getitem__(self, index: int) -> Any:
        if self.single:
            return self.parts[0][index]
        row = tuple(part[index] for part in self.parts)
        return row if self.names is None else dict(zip(self.names, row, strict=True))


def _callable(given: Any, name: str) -> Any:
    if not callable(given):
        raise UserTypeError(f"{name} is a {type(given).__name__}", expected="a function of an element")
    return given


def whole_number(given: Any, name: str, least: int) -> int:
    """An argument that is to be an integer, of at least so much. Raises TypeError and ValueError, which name it."""
    try:
        number = operator.index(given)
    except TypeError:
        raise UserTypeError(f"{name} is a {type(given).__name__}", expected="an integer") from None
    if number < least:
        raise UserValueError(f"{name} is {number}", expected=f"at least {least}")
    return number
