"""PyTorch's path to the backends of `compile`: begin with :mod:`registry`."""
