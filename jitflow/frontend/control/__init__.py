"""Control flow that the running program decides: branches, loops, exceptions, and what they merge and carry."""
