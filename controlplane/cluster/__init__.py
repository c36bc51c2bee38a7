"""Trials on other machines: what goes to Dask's workers, and what comes back.

Only this room knows of Dask; `run` hands trials to workers, whatever these are.
`parcel` brings the folder of a finished trial from its worker to the client, which seals it.
"""
