"""A run directory: schemas, writers and readers of its tables and documents.

Each table has a module of its own with all that is known about it: its schema, how its raw file is
read (times after t0, the lane's own flow numbers) and how its Parquet file is written. `parquet`
writes and reads any of them, `tables` lists them. `run_directory` is a run while it is written,
`finished_run` and `sealed_trial` are what analysis reads.
"""
