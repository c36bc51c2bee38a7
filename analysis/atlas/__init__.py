"""The atlas: the equilibrium that a model predicts, over any two quantities of the bottleneck."""
