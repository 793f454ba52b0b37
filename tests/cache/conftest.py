"""A cache of the test's own (`disk`)."""

from tests.cache.programs import disk

__all__ = ["disk"]
