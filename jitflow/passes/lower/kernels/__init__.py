"""Kernels: what a fusion, product or contraction becomes, as loops over vectors."""
