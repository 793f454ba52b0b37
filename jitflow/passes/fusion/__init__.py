"""Passes that group a tensor function into kernels: which axes are one loop, and which ops one nest."""
