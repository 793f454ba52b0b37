"""What is known of a function without changing it: bounds of integers, lengths, extents, order."""
