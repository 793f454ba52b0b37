"""Gradients of random straight-line programs over the whole surface of NumPy, in both modes.

The loss is a weighted sum of all floats and complex numbers that a program computes. Reverse mode is compared with
differences along a random direction, where these tell what the derivative is, and forward mode with reverse mode, where
both are finite.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

import jitflow
from jitflow.errors import UserError, UserNotImplementedError
from tests.gradients.random_programs import PassedOver, Wrong
from tests.truth.data import LAYOUTS
from tests.truth.programs import Generator, Program, evaluate
from tests.truth.quiet import quiet
from tests.truth.run import define

__all__ = ["check_both_modes", "program_of"]


class SmoothGenerator(Generator):
    """Programs of ordinary numbers: floats mostly, in small arrays."""

    def _kind(self, place: int, outside: bool) -> tuple[str, ...]:
        if self.chance(6):
            return ("number", self.pick(("float", "f8", "int", "c16")))
        layout = "C" if self.choose(2) == 0 else self.pick([one for one in LAYOUTS if one != "unaligned"])
        dtype, shape = (
            self.pick(("f8", "f8", "f8", "f8", "c16", "i8", "?")),
            self.pick(("n", "nm", "mn", "m", "nn", "1m")),
        )
        return ("array", dtype, shape, layout)

    def _call(self, kinds: list[tuple[str, ...]]) -> dict[str, str]:
        sizes = {"n": self.pick((2, 3, 5)), "m": self.pick((4, 1, 3)), "1": 1}
        call = {}
        for place, kind in enumerate(kinds):
            if kind[0] == "number":
                call[f"a{place}"] = f"number({kind[1]!r}, {2 * self.choose(1) + 1})"
            else:
                shape = tuple(sizes[letter] for letter in kind[2])
                call[f"a{place}"] = f"array({kind[1]!r}, {shape}, {kind[3]!r}, {2 * self.choose(8) + 1})"
        return call


def program_of(seed: int, statements: int = 4) -> Program:
    """The program of a seed."""
    return SmoothGenerator(random.Random(seed).randrange, statements, 1).program()


def _source(program: Program, arguments: dict[str, Any]) -> str:
    """The text of the loss."""
    lines = [f"def loss({', '.join(arguments)}):"]
    with quiet():
        known = dict(arguments)
        terms = []
        for statement in program.statements:
            if statement.closeness == "error":
                continue
            known[statement.name] = value = eval(statement.text, {"np": np}, known)
            lines.append(f"    {statement.name} = {statement.text}")
            if np.asarray(value).dtype.kind in "fc" and np.size(value):
                scale = 1 / (1 + float(np.nanmax(np.abs(np.asarray(value)))))
                name = f"np.ravel(np.real({statement.name}) + 0.5 * np.imag({statement.name}))"
                terms.append(f"{scale!r} * np.sum(np.cos(np.arange({np.size(value)}) + 1) * {name})")
    if not terms or "nan" in "".join(terms) or "inf" in "".join(terms):
        raise PassedOver("nothing finite")
    return "\n".join([*lines, f"    return {' + '.join(terms)}"])


def _direction(drawn: np.random.Generator, value: Any) -> Any:
    direction = drawn.normal(size=np.shape(value))
    if np.iscomplexobj(value):
        direction = direction + 1j * drawn.normal(size=np.shape(value))
    return direction if isinstance(value, np.ndarray) else np.asarray(value).dtype.type(direction)


def check_both_modes(seed: int, statements: int = 4) -> None:
    """Check the program of a seed. Raises `Wrong`, or `PassedOver`."""
    program = program_of(seed, statements)
    arguments = evaluate(program.calls[0])
    by = [n for n, value in enumerate(arguments.values()) if np.asarray(value).dtype.name in ("float64", "complex128")]
    if not by or program.outside:
        raise PassedOver("no floats")
    source = _source(program, arguments)
    calls = "\n".join(f"{name} = {text}" for name, text in program.calls[0].items())
    shown = f"{source}\n{calls}\nby {by}"
    loss, values = define(source, "loss"), list(arguments.values())
    drawn = np.random.default_rng(seed)
    directions = [_direction(drawn, values[n]) for n in by]

    def at(inputs: Any) -> list[Any]:
        given = [np.copy(value) if isinstance(value, np.ndarray) else value for value in values]
        for n, value in zip(by, inputs, strict=True):
            given[n] = value if isinstance(values[n], np.ndarray) else type(values[n])(value)
        return given

    def along(step: float) -> float:
        with quiet():
            moved = [values[n] + step * d for n, d in zip(by, directions, strict=True)]
            return float(loss(*at(moved)))

    def slope(given: Any) -> Any:
        return jitflow.grad(loss, argnums=tuple(by))(*given)

    try:
        with quiet():
            gradients = slope(at([values[n] for n in by]))
            changes = [np.zeros(np.shape(value)) for value in values]
            rest = {n: value for n, value in enumerate(values) if n not in by}

            def of_floats(*floats: Any) -> Any:
                inputs = iter(floats)
                return loss(*(rest[n] if n in rest else next(inputs) for n in range(len(changes))))

            _, change = jitflow.jvp(of_floats, tuple(values[n] for n in by), tuple(directions))
    except UserNotImplementedError as error:
        raise PassedOver(f"not compiled: {error}") from None
    except UserError as error:
        raise PassedOver(f"refused: {error}") from None
    parts = [np.real(np.conj(g) * d) for g, d in zip(gradients, directions, strict=True)]
    found, size = sum(float(np.sum(part)) for part in parts), sum(float(np.sum(np.abs(part))) for part in parts)
    accuracy = 1e-2 if "float16" in source else 1e-4 if "float32" in source else 1e-7
    if np.isfinite(found) and np.isfinite(change) and abs(found - change) > accuracy * (1 + size):
        raise Wrong(f"expected forward mode to agree with {found}, got {change}\n{shown}")
    if np.isfinite(found) != np.isfinite(change):
        raise Wrong(f"expected both modes to be finite or not, got {found} and {change}\n{shown}")
    slopes = [(along(step) - along(-step)) / (2 * step) for step in (1e-5, 4e-6)]
    smooth = abs(along(1e-5) + along(-1e-5) - 2 * along(0.0)) < 1e-4 * (1 + abs(slopes[0]))
    if not np.isfinite(slopes).all() or not smooth or not np.isclose(*slopes, rtol=1e-4, atol=1e-6):
        raise PassedOver("no derivative")
    if not np.isclose(found, slopes[1], rtol=1e-4, atol=1e-5):
        raise Wrong(f"expected the slope {slopes[1]}, got {found}\n{shown}")
