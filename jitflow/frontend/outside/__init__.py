"""What lives outside of the program, and what stands for it while the program is traced."""
