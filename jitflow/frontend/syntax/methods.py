"""The names of methods and attributes that the rewriting looks at."""

from __future__ import annotations

__all__ = ["HIDDEN", "HOOKED_METHODS"]

HOOKED_METHODS = frozenset("""
    __array__ add add_note center copy count discard endswith find format get index insert intersection
    intersection_update join ljust lstrip pop remove removeprefix removesuffix replace rfind rindex rjust rotate
    rstrip setdefault sort split startswith strip symmetric_difference symmetric_difference_update union update zfill
    """.split())  # fmt: skip
"""Methods of texts that put values in, and of containers that are asked for items or compare them."""
HIDDEN = frozenset("""
    __class__ allow_pinning allow_size as_dim assign chosen dim each finish home is_more is_pending is_python_number
    lazily mask name needed of_few_kinds options owned pinned refusal type value weak whole words
    """.split())  # fmt: skip
"""Attributes that what stands for values has for the compiler alone, which the program's objects may have as well."""
