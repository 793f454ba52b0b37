"""What each op of kernels and host programs becomes, as LLVM text."""
