"""What several parts agree on. Imports nothing of ours."""
