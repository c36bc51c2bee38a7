"""This machine in real time: hosts as network namespaces, what a run changes and gives back."""
