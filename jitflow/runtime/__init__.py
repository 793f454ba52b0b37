"""What exists at call time: plans, entry points, the dispatcher type and the memory pool."""
