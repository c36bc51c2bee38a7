"""What a trial proves, and whether its numbers count."""
