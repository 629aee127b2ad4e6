"""From expression graphs to functions: Python, LLVM, C, or interpreted."""
