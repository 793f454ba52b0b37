"""The door: what a function reads, what of it becomes inputs, and what it returns."""
