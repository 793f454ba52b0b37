"""What makes another function of one: derivatives, batches, scaled losses, bytes for floats."""
