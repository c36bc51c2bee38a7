"""How fast this installation is: benchmarks, with every repetition listed."""
