"""CCAs that the kernel does not have: compiled, registered, simulated."""
