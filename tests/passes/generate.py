"""Functions made from the algebra of rewrite rules: the left side of a rule as IR, for any dtype and shape."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from jitflow.ir.core import Builder, Function, TypeRuleError, Value
from jitflow.ir.dtypes import BOOL, DType
from jitflow.ir.types import Scalar, Tensor, Type, Vector
from jitflow.passes.rules.rewrite import Rule, python_number

__all__ = ["left_side"]


def left_side(rule: Rule, dtype: DType, kind: Type, spread: bool = False) -> Function | None:
    """The left side of ``rule`` on values of a type, None if its ops do not take that dtype.

    The letter ``c`` is a condition. ``spread``: constants are arrays of one number, else numbers beside arrays.
    """
    tree = ast.parse(rule.algebra.partition("->")[0].strip(), mode="eval").body
    builder = Builder()
    letters: dict[str, Value] = {}

    def shaped(element: DType) -> Type:
        if isinstance(kind, Tensor):
            return Tensor(element, kind.dims)
        return Vector(element, kind.lanes) if isinstance(kind, Vector) else Scalar(element)

    def constant(number: Any) -> Value:
        element = BOOL if isinstance(number, bool) else dtype
        if element.kind == "u" and number < 0:
            raise TypeRuleError("unsigned integers have no negative constants")
        exact = python_number(np.asarray(number).astype(element.numpy)[()], element)
        value = builder.make("constant", value=exact, type=Scalar(element))
        if isinstance(kind, Tensor) and spread:
            return builder.make("broadcast", value, dims=kind.dims, axes=())
        return builder.make("splat", value, lanes=kind.lanes) if isinstance(kind, Vector) else value

    def build(node: ast.expr) -> Value:
        if isinstance(node, ast.Name):
            element = BOOL if node.id == "c" else dtype
            return letters.setdefault(node.id, Value(shaped(element), node.id))
        if isinstance(node, ast.Call):
            assert isinstance(node.func, ast.Name)
            return builder.make(node.func.id, *map(build, node.args))
        return constant(ast.literal_eval(node))

    try:
        result = build(tree)
    except TypeRuleError:
        return None
    return Function(rule.name, builder.region(sorted(letters.values(), key=lambda value: value.name), [result]))
