"""What compiled code finds in its context beside the memory pool, by its names; any other name is a library function.

They are what the emitters and the runtime agree on. A process that finds its code on disk needs no more of the IR.
"""

from __future__ import annotations

__all__ = ["CLOCK", "DEVICE_PREFIX", "NOTE", "NOTES", "NOTE_ROW", "POLL", "ROOM", "SHARE", "SITE_PREFIX", "TRAMPOLINE"]

TRAMPOLINE, SITE_PREFIX = "jitflow.invoke", "jitflow.call_site."
"""What compiled code calls in its context: the function that runs routines, and the call at that site number."""

POLL = "jitflow.poll"
"""What it asks there in long loops: whether to go on."""

ROOM = "jitflow.recursion_room"
"""What it asks there before a function that calls itself is called: how deep that may go, and where the stack ends."""

SHARE = "jitflow.share"
"""What it calls there to let threads share a loop."""

CLOCK, NOTE, NOTES = "jitflow.clock", "jitflow.note", "jitflow.notes"
"""What a program that is profiled calls there, and the rows in which its notes are summed up, one for each site."""

NOTE_ROW = 32
"""The bytes of a row: how often, nanoseconds, bytes, operations."""

DEVICE_PREFIX = "cuda:"
"""What the names of all begin with that belongs to a GPU, such as ``cuda:0 stream`` or ``cuda:0 cuLaunchKernel``."""
