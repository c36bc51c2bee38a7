"""What a trial proves, and whether it may be believed."""
