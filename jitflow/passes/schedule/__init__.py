"""Schedules: how nests run on a processor, as values that are chosen, printed and read."""
