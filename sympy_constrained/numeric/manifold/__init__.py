"""States on the constraints: consistent starts, projection, stabilization."""
