"""``einsum``: subscripts to labelled axes, then contractions of two operands at a time.

Repeated labels of one operand are its diagonal. The order of the contractions is NumPy's greedy one for the sizes of
the first call; the answer does not depend on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from jitflow.errors import UserTypeError, UserValueError
from jitflow.frontend.arrays import broadcasting
from jitflow.frontend.arrays.operands import array_operand, dtype_argument, new, numpy_says, view
from jitflow.frontend.arrays.promotion import result_dtype
from jitflow.frontend.numpy.calling import NOT_REDUCED, require_shape, store_out
from jitflow.frontend.numpy.contraction import Labels, contract, sum_axes, transposed_to
from jitflow.frontend.numpy.matrices import diagonal_value
from jitflow.frontend.recording import values
from jitflow.frontend.tracers.array import ArrayTracer
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim

__all__ = ["FUNCTIONS", "einsum"]

Pair = tuple[int, ...]
"""The places of the operands that are contracted at once, mostly two."""

_GUESS = 16
"""A size that is not known at the first call, for choosing an order."""


def einsum(*operands: Any, out: Any = None, optimize: Any = False, dtype: Any = None, casting: str = "safe",
           order: str = "K") -> Any:  # fmt: skip
    subscripts, items = _arguments(operands)
    arrays = [array_operand(item) for item in items]
    inputs, output = _parse(subscripts, [values.rank(array) for array in arrays])
    written = [dtype_argument(out.dtype)] if isinstance(out, ArrayTracer) else []
    kind = result_dtype(*arrays, *written) if dtype is None else dtype_argument(dtype)
    for place, own in enumerate(map(values.dtype_of_value, arrays)):
        if not np.can_cast(own.numpy, kind.numpy, casting):  # type: ignore[arg-type]
            raise UserTypeError(f"Iterator operand {place} dtype could not be cast from {own.numpy!r} to "
                                f"{kind.numpy!r} according to the rule '{casting}'")  # fmt: skip
    for into in written:
        if not np.can_cast(kind.numpy, into.numpy, casting):  # type: ignore[arg-type]
            raise UserTypeError(f"Iterator requested dtype could not be cast from {kind.numpy!r} to {into.numpy!r}, "
                                f"the operand {len(arrays)} dtype, according to the rule '{casting}'")  # fmt: skip
    arrays = [values.as_array(values.cast(array, kind)) for array in arrays]
    labelled = [
        _diagonals(array, labels, f"operand {place}" if len(arrays) > 1 else "single operand")
        for place, (array, labels) in enumerate(zip(arrays, inputs, strict=True))
    ]
    matched = _matched(labelled)
    path = _path(matched, output, optimize)
    result, labels = _contract_all(matched, output, path)
    result = values.as_array(transposed_to(values.as_array(result), labels, output))
    if out is not None:
        found = "out parameter does not have the correct number of dimensions, has {} but should have {}"
        require_shape(result, out, found.format(np.ndim(out), values.rank(result)), NOT_REDUCED)
        return store_out(result, out, casting, "einsum")
    if len(inputs) == 1 and set(inputs[0]) == set(output) and kind == values.dtype_of_value(array_operand(items[0])):
        return view(result)  # nothing is summed: NumPy gives a view of the operand
    stays = output or (optimize is not False and _ends_with_product(labelled, output, path))
    return new(result if stays else values.as_scalar(result))


def _arguments(operands: tuple[Any, ...]) -> tuple[str, list[Any]]:
    """The subscripts as a string, whichever of the two forms was used."""
    if isinstance(operands[0], str):
        return operands[0].replace(" ", ""), list(operands[1:])
    names = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

    def text(labels: Any) -> str:
        return "".join("..." if label is Ellipsis else names[label] for label in labels)

    pairs = list(zip(operands[::2], operands[1::2], strict=False))
    subscripts = ",".join(text(labels) for _, labels in pairs)
    if len(operands) % 2:
        subscripts += "->" + text(operands[-1])
    return subscripts, [array for array, _ in pairs]


def _parse(subscripts: str, ranks: list[int]) -> tuple[list[Labels], Labels]:
    """The labels of every operand's axes and of the result's. Axes of an ellipsis have numbers, from the last."""
    left, arrow, right = subscripts.partition("->")
    terms = left.split(",")
    if len(terms) < len(ranks):
        raise UserValueError("more operands provided to einstein sum function than specified in the subscripts string")
    if len(terms) > len(ranks):
        raise UserValueError("fewer operands provided to einstein sum function than specified in the subscripts string")
    inputs = [_labels(term, rank, place) for place, (term, rank) in enumerate(zip(terms, ranks, strict=True))]
    dots = sorted({label for labels in inputs for label in labels if isinstance(label, int)})
    letters = [label for labels in inputs for label in labels if isinstance(label, str)]
    if not arrow:
        return inputs, (*dots, *sorted(label for label in set(letters) if letters.count(label) == 1))
    before, ellipsis, after = right.partition("...")
    output = (*before, *(dots if ellipsis else ()), *after)
    for label in output:
        if label not in letters and not isinstance(label, int):
            raise UserValueError(
                f"einstein sum subscripts string included output subscript '{label}' which never appeared in an input"
            )
        if output.count(label) > 1:
            raise UserValueError(f"einstein sum subscripts string includes output subscript '{label}' multiple times")
    return inputs, output


def _labels(term: str, rank: int, place: int) -> Labels:
    before, ellipsis, after = term.partition("...")
    for label in before + after:
        if not label.isalpha():
            raise UserValueError(
                f"invalid subscript '{label}' in einstein sum subscripts string, subscripts must be letters"
            )
    free = rank - len(before) - len(after)
    if free < 0:
        raise UserValueError(f"einstein sum subscripts string contains too many subscripts for operand {place}")
    if free and not ellipsis:
        raise UserValueError(
            "operand has more dimensions than subscripts given in einstein sum, but no '...' ellipsis provided to "
            "broadcast the extra dimensions."
        )
    return (*before, *range(-free, 0), *after)


def _diagonals(array: Value, labels: Labels, operand: str) -> tuple[Value, Labels]:
    """The operand with every repeated label's axes turned into their diagonal."""
    while len(set(labels)) < len(labels):
        label = next(label for label in labels if labels.count(label) > 1)
        first = labels.index(label)
        second = labels.index(label, first + 1)
        dims = values.dims(array)
        one, other = (broadcasting.message_shapes("{shapes}", [(dims[axis],)]) for axis in (first, second))
        message = (
            f"dimensions in {operand} for collapsing index '{label}' don't match ({one[0][1:-2]} != {other[0][1:-2]})"
        )
        broadcasting.require_equal_sizes(dims[first], dims[second], message, [*one[1], *other[1]])
        array = diagonal_value(array, 0, first, second)
        labels = (*(name for axis, name in enumerate(labels) if axis not in (first, second)), label)
    return array, labels


def _matched(labelled: list[tuple[Value, Labels]]) -> list[tuple[Value, Labels]]:
    """Operands whose axes of one label have one size: 1 broadcasts."""
    sizes: dict[object, list[Dim]] = {}
    for array, labels in labelled:
        for label, dim in zip(labels, values.dims(array), strict=True):
            sizes.setdefault(label, []).append(dim)
    message = "operands could not be broadcast together with remapped shapes [original->remapped]: {shapes}"
    common = {label: broadcasting.common_dims([(dim,) for dim in dims], message)[0] for label, dims in sizes.items()}
    return [(broadcasting.broadcast_to(array, tuple(common[label] for label in labels)), labels)
            for array, labels in labelled]  # fmt: skip


def _ends_with_product(labelled: list[tuple[Value, Labels]], output: Labels, path: Sequence[Pair]) -> bool:
    """Whether NumPy's last contraction is ``matmul``: it gives a 0-d array where ``c_einsum`` gives a scalar.

    It is if there are two operands that share a label that is summed, and whose size is not 1.
    """
    terms = [dict(zip(labels, values.dims(array), strict=True)) for array, labels in labelled]
    chosen: list[dict[object, Dim]] = []
    for pair in path:
        chosen = [terms.pop(place) for place in sorted(pair, reverse=True)]
        later = {label for term in terms for label in term}.union(output)
        joined: dict[object, Dim] = {}
        for label, dim in (item for term in chosen for item in term.items() if item[0] in later):
            joined[label] = dim if joined.get(label, 1) == 1 else joined[label]
        terms.append(joined)
    if len(chosen) != 2:
        return False
    shared = set(chosen[0]).intersection(chosen[1]).difference(output)
    return any(not any(broadcasting.is_one(term[label]) for term in chosen) for label in shared)


def _contract_all(
    labelled: list[tuple[Value, Labels]], output: Labels, path: Sequence[Pair]
) -> tuple[Value, Labels]:  # fmt: skip
    terms = list(labelled)
    for pair in path:
        chosen = [terms.pop(place) for place in sorted(pair, reverse=True)][::-1]
        if len(chosen) == 1:
            terms.append(_summed(*chosen[0], output))
            continue
        result, labels = chosen[0]
        for place, (array, other) in enumerate(chosen[1:], start=2):
            later = [labels for _, labels in terms] + [labels for _, labels in chosen[place:]]
            kept = tuple(dict.fromkeys(
                label for label in output + labels + other
                if label in labels + other and (label in output or any(label in term for term in later))
            ))  # fmt: skip
            result, labels = contract(values.as_array(result), labels, array, other, kept)
        terms.append((values.as_array(result), labels))
    ((result, labels),) = terms
    return _summed(result, labels, output)


def _summed(array: Value, labels: Labels, output: Labels) -> tuple[Value, Labels]:
    axes = [axis for axis, label in enumerate(labels) if label not in output]
    return sum_axes(array, axes), tuple(label for label in labels if label in output)


def _path(terms: list[tuple[Value, Labels]], output: Labels, optimize: Any) -> list[Pair]:
    """Which operands to contract one after the other."""
    if len(terms) <= 2:
        return [tuple(range(len(terms)))]
    names: dict[object, int] = {}
    arguments: list[Any] = []
    for array, labels in terms:
        sizes = [broadcasting.hint(dim) for dim in values.dims(array)]
        shape = [_GUESS if size is None else size for size in sizes]
        arguments += [np.broadcast_to(0.0, shape), [names.setdefault(label, len(names)) for label in labels]]
    found = [names[label] for label in output]
    path, _ = numpy_says(np.einsum_path, *arguments, found, optimize=optimize or "greedy")
    return [tuple(pair) for pair in path[1:]]


FUNCTIONS: Mapping[Any, Any] = MappingProxyType({np.einsum: einsum})
