"""Passes: each a `Function -> Function` in a file of its own; `pipeline` names and runs them.

`values`, `scalar_loops` and `fusion` hold the passes over tensor functions, `rules` and `analyses` what these stand on.
"""
