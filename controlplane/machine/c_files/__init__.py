"""A CCA, a queue discipline or a policy of shared memory in one C file: from there to its use."""
