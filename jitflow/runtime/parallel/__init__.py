"""Threads: those that share loops, and those that work for devices."""
