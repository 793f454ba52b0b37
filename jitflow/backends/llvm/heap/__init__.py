"""The memory of containers, as functions in LLVM text: headers, entries, keys, orders and texts."""
