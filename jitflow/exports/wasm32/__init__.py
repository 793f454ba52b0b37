"""What WebAssembly lacks, in C and as LLVM text."""
