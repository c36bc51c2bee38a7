"""The machine: commands, processes, namespaces. The control plane's only user of subprocess."""
