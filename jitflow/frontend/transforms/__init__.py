"""Transformations: derivatives, rules of the user's own, and what is computed again."""
