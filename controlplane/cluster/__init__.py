"""The trials of a run on the workers of a Dask cluster."""
