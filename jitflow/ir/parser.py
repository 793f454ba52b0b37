"""Reads the text form of the IR back (`jitflow.ir.printer` says what it looks like).

A recursive descent over one list of tokens. It knows the grammar and the table of operations, nothing of typing: result
types are written in the text, and `jitflow.ir.verifier` says whether they hold.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from jitflow.ir.core import NO_ATTRIBUTES, Attributes, Fact, Function, Op, OpDef, Region, Value
from jitflow.ir.dims import Dim, maximum, minimum, symbol
from jitflow.ir.dtypes import BOOL, C128, DTYPES, F64, I64, DType
from jitflow.ir.location import NOWHERE, Loc
from jitflow.ir.named_types import Named
from jitflow.ir.printer import LAYER_WORDS
from jitflow.ir.tokens import ParseError, Token, Tokens
from jitflow.ir.types import (
    MADE_BY,
    NONE,
    Buffer,
    Container,
    Index,
    Member,
    Place,
    Reference,
    Scalar,
    Several,
    Tag,
    Tape,
    Tensor,
    Type,
    Variable,
    Vector,
)
from jitflow.ir.types import Item as ContainerItem

__all__ = ["ParseError", "parse", "parse_type"]

_LAYERS = {word: layer for layer, word in LAYER_WORDS.items()}
_PYTHON_TYPES = {"float": F64, "int": I64, "complex": C128, "pybool": BOOL}
_LOCATION = re.compile(
    r"(?:(?P<file>(?!on [a-z]+:\d+\S*\Z).+?):(?P<line>\d+))?(?:(?:^| )on (?P<device>(?:node:\d+/)?[a-z]+:\d+))?\Z"
)
_VECTOR = re.compile(r"([a-z]+\d*)x(\d+)\Z")
_CONTAINERS = ("list", "tuple", "str", "deque", "set", "dict", "defaultdict", "Counter",
               "OrderedDict", "array")  # fmt: skip
_CONSTANTS: Mapping[str, Any] = {"true": True, "false": False, "none": None}


def parse(text: str, table: Mapping[str, OpDef] | None = None) -> Function:
    """The function that ``text`` describes; functions after the first are those that it calls.

    Raises `ParseError` with a caret under the first thing that is not IR.
    """
    if table is None:
        from jitflow.ir.ops import OPS

        table = OPS
    parser = _Parser(text, table)
    first, *rest = parser.functions()
    if not rest:
        return first
    return Function(first.name, first.region, first.facts, first.layer, first.attributes, tuple(rest))


def parse_type(text: str) -> Type:
    """The type that ``text`` describes, as in ``f32[n, 784]``. Raises `ParseError`."""
    parser = _Parser(text, {})
    result = parser.type()
    parser.end()
    return result


def parse_dim(text: str) -> Dim:
    """The size that ``text`` describes, as in ``2*n + 1``. Raises `ParseError`."""
    parser = _Parser(text, {})
    result = parser.dim()
    parser.end()
    return result


class _Parser(Tokens):
    def __init__(self, text: str, table: Mapping[str, OpDef]) -> None:
        super().__init__(text)
        self.table = table
        self.values: dict[str, Value] = {}

    # Functions and ops

    def functions(self) -> list[Function]:
        functions = [self.function()]
        while self.peek().kind != "end":
            functions.append(self.function())
        return functions

    def function(self) -> Function:
        self.values = {}
        word = self.peek().text
        if word not in _LAYERS:
            self.fail(f"expected {', '.join(_LAYERS)}, got {word or 'the end'!r}")
        self.next += 1
        name = self.take("function", "a function's name").text[1:]
        if name.startswith('"'):
            name = json.loads(name)
        parameters = self.parameters()
        facts = self.separated(self.fact) if self.skip("where") else []
        attributes = self.attributes() if self.skip("with") else NO_ATTRIBUTES
        self.expect("{")
        return Function(name, Region(parameters, self.ops()), tuple(facts), _LAYERS[word], attributes)

    def fact(self) -> Fact:
        left = self.dim()
        relation = self.take("mark", "a relation").text
        if relation not in ("==", "!=", ">=", "<"):
            self.next -= 1
            self.fail(f"expected ==, !=, >= or <, got {relation!r}")
        return Fact(left, relation, self.dim())

    def parameters(self) -> tuple[Value, ...]:
        self.expect("(")
        return self.define(self.listed(")", self.definition))

    def definition(self) -> tuple[Token, Value]:
        """``%name: type``, still unknown to the operands that follow."""
        token = self.take("value")
        self.expect(":")
        name = token.text[1:]
        return token, Value(self.type(), "" if name.isdigit() else name)

    def define(self, definitions: Iterable[tuple[Token, Value]]) -> tuple[Value, ...]:
        """From here on the names mean these values."""
        values: list[Value] = []
        for token, value in definitions:
            if self.values.setdefault(token.text, value) is not value:
                self.fail(f"expected a new name, got {token.text} again", token.position)
            values.append(value)
        return tuple(values)

    def operand(self) -> Value:
        token = self.take("value")
        if token.text not in self.values:
            self.fail(f"expected a value defined before, got {token.text}", token.position)
        return self.values[token.text]

    def operand_follows(self) -> bool:
        """Whether the next token is an operand and not the result of the next op."""
        return self.peek().kind == "value" and self.tokens[self.next + 1].text != ":"

    def ops(self) -> tuple[Op, ...]:
        """Ops up to the closing brace."""
        ops: list[Op] = []
        while not self.skip("}"):
            ops.append(self.op())
        return tuple(ops)

    def op(self) -> Op:
        definitions: list[tuple[Token, Value]] = []
        if self.peek().kind == "value":
            definitions = self.separated(self.definition)
            self.expect("=")
        token = self.take("word", "an op's name")
        if token.text not in self.table:
            self.fail(f"expected an op's name, got {token.text!r}", token.position)
        operands = self.separated(self.operand) if self.operand_follows() else []
        attributes = self.attributes() if self.at("{") else NO_ATTRIBUTES
        loc = self.location()
        regions: list[Region] = []
        while self.at("("):
            parameters = self.parameters()
            self.expect("{")
            # The location of an op with regions stands behind its first opening brace.
            opening = self.location()
            loc = loc if regions else opening
            regions.append(Region(parameters, self.ops()))
        results = self.define(definitions)
        return Op(self.table[token.text], tuple(operands), results, attributes, tuple(regions), loc)

    def location(self) -> Loc:
        """The location that follows here, if any."""
        match = _LOCATION.match(self.locations.get(self.next, ""))
        if match is None:
            return NOWHERE
        return Loc(match["file"] or "", int(match["line"] or 0), device=match["device"] or "")

    # Attributes

    def attributes(self) -> Attributes:
        self.expect("{")
        return MappingProxyType(dict(self.listed("}", self.attribute)))

    def attribute(self) -> tuple[str, Any]:
        key = self.take("word", "an attribute's name").text
        self.expect("=")
        return key, self.attribute_value()

    def attribute_value(self) -> Any:
        token = self.peek()
        if self.skip("["):
            return self.listed("]", self.attribute_value)
        if self.skip("<"):
            inner = self.type()
            self.expect(">")
            return inner
        if token.kind == "string":
            self.next += 1
            return json.loads(token.text)
        if self.skip("complex"):
            self.expect("(")
            parts = self.listed(")", self.float)
            return complex(*parts)
        if token.text in DTYPES:
            self.next += 1
            return DTYPES[token.text]
        if token.text in _CONSTANTS:
            self.next += 1
            return _CONSTANTS[token.text]
        if self.float_follows():
            return self.float()
        return self.dim()

    def float_follows(self) -> bool:
        token = self.peek()
        if token.text == "-":
            token = self.tokens[self.next + 1]
        return token.kind == "float" or token.text in ("inf", "nan")

    def float(self) -> float:
        sign = -1.0 if self.skip("-") else 1.0
        if self.skip("inf"):
            return sign * float("inf")
        if self.skip("nan"):
            if not self.skip("("):
                return float("nan")
            bits = int(self.take("hex", "the bits of a nan").text, 16)
            self.expect(")")
            number: float = struct.unpack("<d", struct.pack("<Q", bits))[0]
            return number
        return sign * float(self.take("float", "a float").text)

    # Types and dims

    def dtype(self) -> DType:
        token = self.take("word", "an element type")
        if token.text not in DTYPES:
            self.fail(f"expected an element type, got {token.text!r}", token.position)
        return DTYPES[token.text]

    def type(self) -> Type:
        token = self.peek()
        word = token.text
        if self.skip("var"):
            return Variable(self.dtype(), self.dims())
        if self.skip("place"):
            return Place(self.dtype(), self.dims())
        if self.skip("tape"):
            return Tape(self.dtype())
        if self.skip("buffer"):
            dtype = self.dtype()
            return Buffer(dtype, self.device() if self.skip("on") else "cpu")
        if self.skip("index"):
            dims = self.dims() if self.at("[") else (None,)
            return Index(*dims)
        if word in _CONTAINERS:
            return self.container()
        if word in _PYTHON_TYPES:
            self.next += 1
            return Scalar(_PYTHON_TYPES[word], weak=True)
        if word == "tag":
            self.next += 1
            return Tag()
        if word in ("object", "identity"):
            self.next += 1
            self.expect("<")
            name = self.take("word", "the name of a class").text
            self.expect(">")
            return Reference(name=name, is_key=word == "identity")
        vector = _VECTOR.match(word)
        if vector and vector.group(1) in DTYPES:
            self.next += 1
            return Vector(DTYPES[vector.group(1)], int(vector.group(2)))
        if word not in DTYPES:
            self.fail(f"expected a type, got {word or 'the end'!r}")
        self.next += 1
        return Tensor(DTYPES[word], self.dims()) if self.at("[") else Scalar(DTYPES[word])

    def container(self) -> Container:
        kind = self.take("word").text
        self.expect("<")
        held = [*self.listed(">", self.container_part)]
        most = held.pop() if held and isinstance(held[-1], int) else None
        if not held:
            return Container(kind=kind, most=most)
        if kind == "defaultdict" and len(held) == 3:
            factory = str(held.pop()).removeprefix("py")
            return Container(kind=kind, key=held[0], item=held[1], factory=factory)
        key, item = held if len(held) == 2 else (held[0], None) if kind == "set" else (None, held[0])
        return Container(kind=kind, key=key, item=item, most=most)

    def container_part(self) -> Any:
        """What it holds, what makes that, or the largest length that it may have."""
        if self.peek().kind == "word" and self.peek().text.startswith(MADE_BY):
            return self.take("word").text
        if self.peek().kind != "integer":
            return self.container_item()
        return int(self.take("integer").text)

    def container_item(self) -> ContainerItem:
        if self.skip("("):
            return self.listed(")", self.container_item)
        if self.at("None"):
            self.next += 1
            return NONE
        if self.skip("member"):
            self.expect("<")
            owner, name = (token.text for token in self.listed(">", lambda: self.take("word")))
            return Member(owner, name)
        if self.at("either"):
            self.next += 1
            self.expect("<")
            return Several(tuple(self.listed(">", self.container_item)))
        if self.peek().kind == "word" and self.tokens[self.next + 1].text == "(":
            name = self.take("word").text
            self.expect("(")
            return Named(name, self.listed(")", self.container_item))
        kind = self.type()
        if not isinstance(kind, Scalar):
            self.fail(f"expected a number or a container to hold, got {kind}")
        return kind

    def device(self) -> str:
        name = self.take("word", "a device").text
        if self.skip(":"):
            name += ":" + self.take("integer", "a device's number").text
        return name

    def dims(self) -> tuple[Dim, ...]:
        self.expect("[")
        return self.listed("]", self.dim)

    def dim(self) -> Dim:
        total: Dim = -self.product() if self.skip("-") else self.product()
        while self.at("+") or self.at("-"):
            if self.skip("+"):
                total = total + self.product()
            else:
                self.expect("-")
                total = total - self.product()
        return total

    def product(self) -> Dim:
        result = self.factor()
        while True:
            if self.skip("*"):
                result = result * self.factor()
            elif self.skip("//"):
                result = result // self.factor()
            elif self.skip("%"):
                result = result % self.factor()
            else:
                return result

    def factor(self) -> Dim:
        if self.skip("("):
            inner = self.dim()
            self.expect(")")
            return inner
        if self.skip("-"):
            return -self.factor()
        token = self.peek()
        if token.kind == "integer":
            self.next += 1
            return int(token.text)
        word = self.take("word", "a size").text
        if word in ("min", "max") and self.skip("("):
            operands = self.listed(")", self.dim)
            return minimum(*operands) if word == "min" else maximum(*operands)
        return symbol(word)
