"""The frontend: from a Python function to the IR, by running it on tracers."""
