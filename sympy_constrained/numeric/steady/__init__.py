"""Steady motions: find them, follow their families, decide stability."""
