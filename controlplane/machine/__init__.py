"""The machine: commands, processes, namespaces. The only user of subprocess."""
