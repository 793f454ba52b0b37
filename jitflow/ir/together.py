"""What native programs that are split over devices and the runtime agree on: the names of functions."""

from __future__ import annotations

__all__ = [
    "DEVICE_FUNCTIONS",
    "FRAME",
    "MEET",
    "PARTITION_PREFIX",
    "PART_WORDS",
    "RECEIVE",
    "SEND",
    "SHAPE_FIELDS",
    "STOPS",
    "TOGETHER",
]

TOGETHER = "jitflow.devices.together"
"""Runs the parts of a program side by side."""

SHAPE_FIELDS = (
    "parties", "channels", "message_words", "levels", "context_words", "frame_slot", "poll_slot", "site",
)  # fmt: skip
"""What it is told of a program, in 64-bit words. ``message_words``: how many come with any message at most. ``levels``:
the length of the records of progress. ``context_words``: that of the context, of which a call gets a copy with its
frame in slot ``frame_slot``. ``site``: that of failures that are no op's."""

PART_WORDS = 3
"""What it is told of each part: its code, where its results begin, in bytes, and whether it calls routines."""

SEND, RECEIVE, MEET = "jitflow.devices.send", "jitflow.devices.receive", "jitflow.devices.meet"
"""What the host ops call."""

STOPS = "jitflow.devices.stops"
"""What a part asks when it polls and another one has failed."""

DEVICE_FUNCTIONS = (TOGETHER, SEND, RECEIVE, MEET, STOPS)

PARTITION_PREFIX = "jitflow.partition "
"""What the names of parts begin with that another process runs: what stands for one here is called as a part is."""

FRAME = "jitflow.frame"
"""The context slot that holds the frame of the call. Its first word is null as long as no part has failed."""
