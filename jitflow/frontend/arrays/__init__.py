"""What all functions of arrays share: operands, promotion, broadcasting, casts, layouts, and sizes of the run."""
