"""Lists, dicts, sets, deques, tuples and texts that the running program has: what stands for each while tracing."""
