"""What a run says: rows, verdicts on its bounds, comparisons, flat tables, lines of settings."""
