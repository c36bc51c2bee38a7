"""Where runs and analysis meet."""
