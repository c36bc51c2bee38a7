"""Kernels for virtual time: found in the cache, or built from source."""
