"""Python's own lists, numbers, builtins and calls out, where the running program has them."""
