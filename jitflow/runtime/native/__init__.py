"""What native code rests on: its way into memory, Python's functions, memory, locks, and Ctrl-C."""
