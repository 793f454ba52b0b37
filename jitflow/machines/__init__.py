"""Which processors and GPUs there are, what they can, and how fast they are."""
