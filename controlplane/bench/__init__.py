"""How fast this installation is: measured, with every repetition told."""
