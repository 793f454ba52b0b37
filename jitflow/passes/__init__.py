"""Passes: each a `Function -> Function` in a file of its own; `pipeline` names and runs them."""
