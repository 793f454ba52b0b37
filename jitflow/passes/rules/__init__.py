"""Rewrite rules as named data, and the driver that applies them."""
