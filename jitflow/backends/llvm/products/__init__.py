"""Matrix products and contractions as LLVM text: panels, and blocks in vector instructions."""
