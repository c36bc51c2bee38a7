"""This machine, in rooms of which each imports only those before it.

`process`, `kernels`, `cca`, `host` (real time), `guest` (virtual time). `log` and `paths` are
below all of them; `sessions`, which chooses between host and guest, is above.
"""
