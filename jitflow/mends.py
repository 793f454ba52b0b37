"""How to mend what NumPy and Python say in their own words.

A user error of jitflow says how to mend it where it is raised. Where the message is NumPy's or Python's, the advice is
found here, by what the message says. The first row that fits counts; ``{1}`` is its first group.
"""

from __future__ import annotations

import re

__all__ = ["ROWS", "mend_of"]

_ROWS = (
    # indices
    (r"index -?\d+ is out of bounds for axis \d+ with size 0$", "test the size before: the array is empty"),
    (r"index -?\d+ is out of bounds for axis \d+ with size (\d+)$",
     "stay from 0 to size - 1, or from -{1} on to count from the end; a loop may take one turn too many"),
    (r"only integers, slices .* are valid indices$", "divide by // where a whole number is meant, or write int(...)"),
    (r"arrays used as indices must be of integer", "divide by //, or convert them: x.astype(int)"),
    (r"too many indices for array", "give one index for each axis; x[:, None] adds an axis"),
    (r"slice step cannot be zero$|range\(\) arg 3 must not be zero$", "give a step that is not 0"),
    (r"boolean index did not match", "make the mask from the array that it selects from: x[x > 0]"),
    # shapes and sizes
    (r"operands could not be broadcast together|shape mismatch: objects cannot be broadcast",
     "slice the operands to the same size, or add an axis of size 1: x[:, None]"),
    (r"could not broadcast input array|non-broadcastable output operand",
     "assign an array of the size of what is written to, or a number"),
    (r"cannot reshape array",
     "give sizes whose product is the array's size; one of them may be -1, for what is left"),
    (r"negative dimensions are not allowed$", "test the size before, or write max(size, 0)"),
    (r"zero-size array to reduction operation", "test the size before, or give initial="),
    (r"attempt to get arg(max|min) of an empty sequence$", "test the size before"),
    (r"matmul: .* mismatch in its core dimension",
     "the second needs as many rows as the first has columns: a @ b.T transposes it"),
    (r"all the input array dimensions except for the concatenation axis must match",
     "slice them to the same sizes, or join them along another axis"),
    (r"(not enough|too many) values to unpack",
     "write as many names as there are items, or one with a star: first, *rest"),
    # types
    (r"Cannot cast ufunc '\w+' output",
     "write x = x + y, which makes a new array, or make x an array of floats before"),
    (r"The truth value of an array with more than one element is ambiguous",
     "x.any() or x.all() for one decision, np.where(condition, a, b) for one at each element"),
    (r"The truth value of an empty array is ambiguous", "x.size > 0, x.any() or x.all()"),
    (r"ndarray' object has no attribute 'append'$",
     "np.append(x, value) makes a longer array; better make it long enough before"),
    # numbers
    (r"integer (division or )?modulo by zero$|division by zero$|modulo by zero$", "test the divisor before"),
    (r"math domain error$", "test the argument before, or use NumPy's function, which gives nan"),
    (r"math range error$", "test the argument before, or use NumPy's function, which gives inf"),
    (r"the result does not fit into a 64-bit int$",
     "compute with floats: Python ints are 64 bits wide in compiled code"),
    (r"the type of this power depends on its value$", "write float(x) ** n"),
    (r"a loop takes no turn, and so (\w+) stays a number", "make {1} an array before the loop: np.zeros(shape)"),
    (r"^an operand is None here", "test it before: if x is not None"),
    # linear algebra
    (r"Singular matrix$", "np.linalg.lstsq and np.linalg.pinv take singular matrices too"),
    (r"Matrix is not positive definite$", "add a little to the diagonal, or use np.linalg.eigh"),
    # names and arrays that are not to be written to
    (r"cannot access local variable '(\w+)'", "give {1} a value before, for the path on which nothing does"),
    (r" is read-only$", "write to a copy: x = x.copy()"),
)  # fmt: skip

ROWS = tuple((re.compile(pattern), mend) for pattern, mend in _ROWS)
"""Patterns of messages, and what to do."""


def mend_of(message: str) -> str:
    """How to mend what a message says; empty if nobody knows."""
    for pattern, mend in ROWS:
        found = pattern.search(message)
        if found is not None:
            return mend.format(message, *found.groups())
    return ""
