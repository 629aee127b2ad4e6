"""Integrate equations of motion."""
