"""A call's way to its code and back: the compiled function, its specialisations, and their entries."""
