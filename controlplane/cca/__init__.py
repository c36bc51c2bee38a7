"""What a CCA in one C file does: compiled, loaded, simulated."""
