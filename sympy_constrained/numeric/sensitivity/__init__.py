"""Derivatives of motions, and what is fitted with them."""
