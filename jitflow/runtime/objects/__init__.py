"""Python objects that a call makes, or gives back what the program has done to them."""
