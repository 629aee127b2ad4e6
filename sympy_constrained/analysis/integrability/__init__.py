"""Are velocity constraints integrable? Pfaffian forms and first integrals."""
