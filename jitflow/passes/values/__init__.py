"""Passes over what is computed: simpler, once, in front of the loop, or not at all."""
