"""Trials on other machines, carried there by Dask."""
