"""Backends: each prints kernels in a language of its own."""
