"""Questions about constraints, answered where the constraints hold."""
