"""Solve ``W z = r`` where constraint rows may be redundant."""
