"""The same model with many constants and from many starts."""
