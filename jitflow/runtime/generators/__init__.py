"""Draws from NumPy's and Python's generators of random numbers."""
