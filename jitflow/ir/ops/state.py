"""Mutable state: variables, places, tapes, draws from NumPy's generators, and what is ordered with them.

Only ``load`` and the storing ops touch what a place shows; ``load`` is a snapshot. View ops on a variable or a place
(`shape.py`) give places.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jitflow.ir.draws import DRAWS, draw
from jitflow.ir.dtypes import I64
from jitflow.ir.records import Attributes, Effect, OpDef, TypeRuleError
from jitflow.ir.types import Place, Scalar, Tape, Tensor, Type, Variable, dims_of

__all__ = ["STATE_OPS"]

_READS, _WRITES = Effect("reads", 0), Effect("writes", 0)
_EXTERNAL = (Effect("external"),)


def _storage(name: str, type: Type) -> Variable | Place:
    if not isinstance(type, Variable | Place):
        raise TypeRuleError(f"{name}: expected a variable or a place, got {type}")
    return type


def _infer_variable(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    (value,) = operands
    if not isinstance(value, Tensor | Scalar):
        raise TypeRuleError(f"variable: expected a tensor to start from, got {value}")
    return (Variable(value.dtype, dims_of(value)),)


def _infer_empty(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    return (Tensor(attributes["dtype"], attributes["dims"]),)


def _infer_load(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    place = _storage("load", operands[0])
    return (Tensor(place.dtype, place.dims),)


def _infer_store(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    place, value = _storage("store", operands[0]), operands[1]
    if not isinstance(value, Tensor | Scalar) or value.dtype != place.dtype or dims_of(value) not in ((), place.dims):
        raise TypeRuleError(f"store: expected a value for {place}, got {value}")
    return ()


def _infer_scatter(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    place = _storage("scatter", operands[0])
    value = operands[-1]
    if not isinstance(value, Tensor | Scalar) or value.dtype != place.dtype:
        raise TypeRuleError(f"scatter: expected values of dtype {place.dtype.name}, got {value}")
    if attributes.get("mode") == "clip" and not any(map(dims_of, operands[1:-1])):
        raise TypeRuleError("scatter: expected an array of positions to clip, got numbers")
    return ()


def _infer_tape(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    return (Tape(attributes["dtype"]),)


def _infer_push(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    tape, value = operands
    if not isinstance(tape, Tape) or not isinstance(value, Tensor | Scalar) or value.dtype != tape.dtype:
        raise TypeRuleError(f"push: expected a tape and a value of its dtype, got {tape} and {value}")
    return ()


def _infer_poke(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    tape, number, value = operands
    if not isinstance(tape, Tape) or not isinstance(value, Scalar) or value.dtype != tape.dtype:
        raise TypeRuleError(f"poke: expected a tape and a number of its dtype, got {tape} and {value}")
    _require_count("poke", number)
    return ()


def _require_count(name: str, number: Type) -> None:
    if not isinstance(number, Scalar) or number.dtype != I64:
        raise TypeRuleError(f"{name}: expected a count from the end of a tape, got {number}")


def _infer_draw(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    row, (generator, *parameters) = DRAWS[attributes["method"]], operands
    if not isinstance(generator, Scalar) or generator.dtype != I64:
        raise TypeRuleError(f"draw: expected the address of a generator, got {generator}")
    found = [getattr(parameter, "dtype", None) for parameter in parameters]
    if found != [*row.parameters]:
        wanted = ", ".join(dtype.name for dtype in row.parameters) or "none"
        raise TypeRuleError(f"draw: expected parameters of dtypes {wanted}, got {', '.join(map(str, parameters))}")
    dims = attributes.get("dims")
    if any(dims_of(parameter) not in ((), dims) for parameter in parameters):
        raise TypeRuleError(f"draw: expected numbers, or arrays of dims {dims}, got {', '.join(map(str, parameters))}")
    return (Scalar(row.result) if dims is None else Tensor(row.result, dims),)


def _nothing(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    return ()


def _store(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    operands[0][...] = operands[1]
    return ()


def _scatter(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    place, *indices, values = operands
    axis = attributes["axis"]
    if attributes.get("mode") == "clip":
        sizes = place.shape[axis : axis + len(indices)]
        if 0 in sizes:  # no position can be brought into range: there is nothing to write
            return ()
        indices = [np.clip(index, 0, size - 1) for index, size in zip(indices, sizes, strict=True)]
    index = (slice(None),) * axis + tuple(indices)
    if attributes.get("combine") == "add":
        with np.errstate(all="ignore"):
            np.add.at(place, index, values)
    else:
        place[index] = values
    return ()


def _push(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    operands[0].append(np.array(operands[1]))
    return ()


def _poke(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    tape, count, value = operands
    tape[-int(count)] = np.array(value)
    return ()


def _draw(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    made = draw(attributes["method"], operands[0], operands[1:], attributes.get("dims", ()))
    return made if "dims" in attributes else made[()]


def _print(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    print(attributes["message"].format(*operands))
    return ()


STATE_OPS = [
    OpDef(
        "variable", "new storage that starts as the operand", "tensor", 1, _infer_variable,
        lambda operands, attributes, types: np.array(operands[0]), (Effect("allocates"),),
    ),
    OpDef(
        "empty", "an array whose elements nobody may read before something is stored there", "tensor", 0, _infer_empty,
        lambda operands, attributes, types: np.zeros(attributes["dims"], attributes["dtype"].numpy),
        (Effect("allocates"),), frozenset(), ("dtype", "dims"),
    ),
    OpDef(
        "load", "what a place shows now", "tensor", 1, _infer_load,
        lambda operands, attributes, types: np.array(operands[0]), (_READS,),
    ),
    OpDef("store", "makes a place show a value; a rank-0 value fills it", "tensor", 2, _infer_store, _store,
          (_WRITES,)),
    OpDef(
        "scatter", "stores values at integer positions on the axes from ``axis`` on; ``combine``: ``set`` (the last of "
        "equal positions wins) or ``add``; ``mode``: ``raise`` (IndexError out of range) or ``clip``. ``gradient``: it "
        "adds to a gradient, which is nothing where nothing is added. ``said``: as of `gather`", "tensor", None,
        _infer_scatter, _scatter,
        lambda attributes: (_READS, _WRITES, *([] if attributes.get("mode") == "clip" else [Effect("check")])),
        frozenset(), ("axis", "combine", "mode", "gradient", "said"),
    ),
    OpDef("tape", "an empty tape", "any", 0, _infer_tape, lambda *_: [], (Effect("allocates"),), frozenset(),
          ("dtype",)),
    OpDef("push", "puts a value on a tape", "any", 2, _infer_push, _push, (_WRITES,)),
    OpDef("pop", "takes the last value from a tape, which has the type of the result", "any", 1, None,
          lambda operands, attributes, types: operands[0].pop(), (_READS, _WRITES), frozenset({"sized"})),
    OpDef("peek", "tape, count: the number that is so many from the end of a tape, 1 for the last, where it stays",
          "any", 2, None, lambda operands, attributes, types: operands[0][-int(operands[1])], (_READS,),
          frozenset({"sized"})),
    OpDef("poke", "tape, count, number: puts another number where `peek` finds one", "any", 3, _infer_poke, _poke,
          (_READS, _WRITES)),
    OpDef("draw", "generator, parameters: the next number that a generator of NumPy's draws, with ``dims`` an array of "
          "them, by the C function ``method`` (`jitflow.ir.draws`). The generator is an address; ordered with "
          "everything, since nobody knows what else draws from it", "any", None, _infer_draw, _draw, _EXTERNAL,
          frozenset(), ("method", "dims")),
    OpDef("print", "prints the operands formatted with ``message``", "any", None, _nothing,
          _print, _EXTERNAL, frozenset(), ("message",)),
]  # fmt: skip
