"""The control plane: scenario -> plan -> trials -> sealed run directory."""
