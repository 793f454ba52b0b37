"""Schedules: how a nest runs, as a tree of loops with what is done at each place.

    softmax of rows                               a vector times a large matrix, down its rows

    for i by 1 in threads of 40*m {               for j by 4096 {
      reduce %1 {                                   reduce %2 in memory {
        for j by 32 in lanes, apart {                 for i by 1024 {
          fold %1                                       for i by 4 written out {
        }                                                 for j by 16 in lanes, masked {
      }                                                     fold %2
      reduce %4 {                                         }
        for j by 1024 {                                 }
          for j by 32 in lanes, masked {              }
            keep %3 in %6                           }
            fold %4                                 for j by 16 in lanes, masked {
          }                                           store %2
        }                                           }
      }                                           }
      for j by 32 in lanes, apart {
        store %6
      }
    }

A loop takes ``step`` positions of an axis a turn; inside of another one of the same axis it runs over those that this
one has taken. Positions that no loop is open for have to be 0, or not to matter. What is computed at a place is what is
stored, kept or folded there and nothing else: everything that this needs is computed with it, where the loops that it
varies along are open.

What a tree may not say is in `legal.py`, who builds trees in `choose.py`, their text in `text.py`. Reductions have the
tree of additions that `jitflow.passes.lower.kernels.reductions` gives them, whatever runs them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from jitflow.ir.core import Op, Value
from jitflow.ir.dims import Dim
from jitflow.passes.fusion.nest import Loop
from jitflow.records import dataclass

__all__ = ["Deviate", "Fold", "For", "How", "Keep", "Locate", "Match", "Node", "Reduce", "Schedule", "Stage", "Store",
           "Tail", "When", "walk_nodes"]  # fmt: skip

How = Literal["serial", "lanes", "written out", "chunks"]
"""How a loop runs: turn by turn, a turn being one vector, with all of its turns in the code, or with a turn for a chunk
of so many elements, which has results of its own that are joined with those of the chunks before."""

Tail = Literal["apart", "masked", "narrow"]
"""What becomes of positions that do not fill a vector: a turn under a mask behind the loop, masks in all turns (the
body is compiled once), or turns of narrower vectors, which have masks."""


@dataclass(frozen=True, slots=True, eq=False)
class For:
    """A loop over an axis of the nest, ``step`` positions a turn."""

    loop: Loop
    step: int
    body: tuple[Node, ...]
    how: How = "serial"
    tail: Tail = "apart"
    narrow: int = 0
    """How many lanes the turns of a narrow tail have."""
    threads: Dim = 0
    """Threads share the loop, which is an outermost one, with so much work in a turn; 0 if they do not. On a GPU so
    many warps of a team share chunks."""
    parallel: bool = False
    """The turns may run at the same time, each by itself: on a GPU, where they are spread over the grid. What chunks
    that are spread come to is joined by the kernel that is launched next."""
    while_undecided: bool = False
    """Turns are left out once nothing can change what is folded."""
    ahead: int = 0
    """How many elements in advance memory is asked for, 0 for not at all."""


@dataclass(frozen=True, slots=True, eq=False)
class Reduce:
    """Reductions whose results are known behind this, with partial results in registers, or in memory along a strip."""

    ops: tuple[Op, ...]
    body: tuple[Node, ...]
    in_memory: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """Takes the elements at this position into the partial results."""

    ops: tuple[Op, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Deviate:
    """Takes the elements of a block, whose mean is known now, into the sums of their deviations."""

    ops: tuple[Op, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Locate:
    """Where a block has a better extreme than all before it, looks for its place."""

    op: Op
    body: tuple[Node, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Match:
    """Looks whether the elements at this position are the extreme of the block, and notes the first place."""

    op: Op


@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """Brings operands nearer, where the loops behind it find them.

    On a GPU that is the row that several sweeps read, onto the chip; else what does not go on evenly along what is
    reduced, into scratch memory, a block at a time.
    """

    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Keep:
    """Puts a value where a later sweep finds it: into a result that is not yet written, else into scratch memory.

    Scratch memory for a row lies on the chip, if ``on_chip``, which GPUs have.
    """

    value: Value
    into: Value | None
    on_chip: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Store:
    """Writes results, which are all computed before the first is written.

    Vectors of each go past the caches where a size is 1 and not 0; of none if there are no such sizes. That is right
    where memory of the program's own lies on whole cache lines, and nothing in the kernel reads it again.
    """

    values: tuple[Value, ...]
    past_caches: tuple[Dim, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class When:
    """One schedule where a size, 0 or 1, is 1, and another where it is 0."""

    size: Dim
    then: tuple[Node, ...]
    otherwise: tuple[Node, ...]


Node = For | Reduce | Fold | Deviate | Locate | Match | Stage | Keep | Store | When


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """How a nest runs; the turns of no loop but ``vector`` are lanes."""

    body: tuple[Node, ...]
    vector: Loop | None


def walk_nodes(nodes: tuple[Node, ...]) -> Iterator[Node]:
    """All nodes of a tree, those outside before those inside."""
    for node in nodes:
        yield node
        if isinstance(node, For | Reduce | Locate):
            yield from walk_nodes(node.body)
        elif isinstance(node, When):
            yield from walk_nodes(node.then)
            yield from walk_nodes(node.otherwise)
