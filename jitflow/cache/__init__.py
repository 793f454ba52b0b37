"""The cache on disk: what was compiled in one process, for the next ones, which trace nothing for it."""
