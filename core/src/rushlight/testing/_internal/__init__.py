"""PyTorch's path of what its own test suites, and those of libraries, are written with."""
