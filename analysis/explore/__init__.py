"""The explorer: a page on loopback that looks into a run, from its mixes to single packets."""
