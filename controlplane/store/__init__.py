"""A run directory: schemas, writers and readers of its tables and documents."""
