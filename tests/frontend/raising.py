"""Programs that raise. No test module, for in those pytest rewrites what `assert` means."""

from __future__ import annotations

from typing import Any

import numpy as np


class OddError(ValueError):
    pass


class StrangeError(Exception):
    def __str__(self) -> str:
        return f"strange: {self.args[0]}"


class MadeError(Exception):
    def __init__(self, value: Any, *, where: int = 0) -> None:
        super().__init__(f"made of {value} at {where}")
        self.value = value


def singular(x: Any) -> Any:
    if x.sum() > 3:
        raise np.linalg.LinAlgError("the matrix is singular")
    return x * 2


def odd(x: Any) -> Any:
    for i in range(x.shape[0]):
        if x[i] > 1:
            raise OddError(f"more than {1}")
    return x


def strange(x: Any) -> Any:
    if x.sum() > 3:
        raise StrangeError(7)
    return x


def bare(x: Any) -> Any:
    if x.sum() > 3:
        raise StopIteration
    return x


def empty(x: Any) -> Any:
    if x.sum() > 3:
        raise ValueError("")
    return x


def shows_numbers(x: Any) -> Any:
    for i in range(x.shape[0]):
        if x[i] > 1:
            raise ValueError(f"bad value {x[i]} at {i} of {len(x)}: {x[i]:.3e} {{}} {x[i] * 2!s:}")
    return x


def shows_small_numbers(x: Any) -> Any:
    y = x.astype(np.float32) / 3
    if y[0] > 1:
        raise RuntimeError(f"{y[0]} {y[0]:.3f} {y[0]!r} {x[0]!r} {x.astype(np.int8)[0]} {x[0] > 1} {x[0] * 1j}")
    return x


def shows_arrays(x: Any) -> Any:
    y = x * 2
    if x.sum() > 3:
        x[0] = 7
        raise OddError(f"the array {x} of {y.max()}", f"{y}")
    return y


def shows_many(x: Any) -> Any:
    s = x.max()
    if s > 1:
        raise ValueError(f"{s} {s} {s} {s} {s} {s} {s} {s} {s} {s} {s} {s} {s} {s} {s} {s} {s} {s}")
    return x


def shows_a_choice(x: Any) -> Any:
    text = f"large {x[0]}" if x[0] > 1 else f"large {x[1]}"
    if x.max() > 1:
        raise ValueError("It is " + text)
    return x


def has_arguments(x: Any) -> Any:
    if x.max() > 1:
        raise KeyError("more", x, 3, x[0], None)
    return x


def makes_itself(x: Any) -> Any:
    for i in range(3):
        if x[i] > 1:
            raise MadeError(x[i], where=i)
    return x


def asserts(x: Any) -> Any:
    assert x.max() < 4, f"too large: {x.max():.2f}"
    return x


def asserts_elements(x: Any) -> Any:
    i = x.argmax()
    assert x[i] < 4, f"too large: {x[i * 2 % 3]} in {x}"
    return x


def asserts_what_is_no_text(x: Any) -> Any:
    assert x.max() < 4, x
    return x


def raises_always(x: Any) -> Any:
    if x.max() < 4:
        raise IndexError(f"small {x[0]}")
    raise TypeError("large")


def raises_after_all(x: Any) -> Any:
    raise ValueError(f"whatever: {x[0]}, {x.shape}")


def judges_sizes(x: Any) -> Any:
    if x.shape[0] > 2:
        raise ValueError(f"shape {x.shape}, {len(x)} rows")
    return x


def shows_what_may_fail(x: Any, i: Any) -> Any:
    assert i < 3, f"beyond {x[i - 3]}"
    return x[i]


def asks_what_is_wrong(x: Any) -> Any:
    try:
        y = np.linalg.inv(x * np.eye(3))
    except np.linalg.LinAlgError as error:
        x = x * len(str(error))
        y = x
    return y


def catches_what_may_be_singular(x: Any) -> Any:
    try:
        return np.linalg.inv(x * np.eye(3))
    except np.linalg.LinAlgError:
        return x


def decides_on_a_shape(x: Any) -> Any:
    try:
        columns = x.shape[1]
    except IndexError:
        columns = 7
    return x * columns


def catches_other_things(x: Any) -> Any:
    total = 0
    for i in range(len(x)):
        try:
            total += i
            y = x[i]
        except KeyError:
            y = 0.0
        else:
            y = y + 1
        finally:
            total += 1
    return total, y


def catches_what_tracing_raises(x: Any) -> Any:
    try:
        {"a": 1}["b"]
    except LookupError as error:
        print(error)
    return x
