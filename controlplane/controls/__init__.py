"""What a congestion control in one C file does: compiled, loaded, simulated."""
