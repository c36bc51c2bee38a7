"""Trials on other machines: what goes to Dask's workers, and what comes back.

Only this room knows of Dask; `run` asks a place for a scheduler of trials and is given one.
`parcel` brings the folder of a finished trial from its worker to the client, which seals it.
"""
