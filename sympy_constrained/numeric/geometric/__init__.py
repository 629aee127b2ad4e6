"""Fixed steps that keep constraints, energy or the symplectic form."""
