"""Placement: on which device each op of a program is computed.

sizes        what sizes are taken to be
work         what ops cost, from their types
gpus         what a program has to do with GPUs
recency      how long ago memory was used, which tells in which cache it is
colocation   what has to be together, and where
tasks        groups of ops, which are placed together, and what flows between them
graph        makes them of a function
simulator    what a plan takes, in time and memory
schedule     drafts of plans, the best of them, improved; simulated annealing
placement    the plan as a record that is printed, saved, edited and followed again
decision     the pass
"""

from jitflow.passes.place.decision import Decision, decide, place, placed
from jitflow.passes.place.gpus import named_devices, sole_gpu
from jitflow.passes.place.placement import PlacedOp, Placement, check_placement, read_placement

__all__ = ["Decision", "PlacedOp", "Placement", "check_placement", "decide", "named_devices", "place", "placed",
           "read_placement", "sole_gpu"]  # fmt: skip
