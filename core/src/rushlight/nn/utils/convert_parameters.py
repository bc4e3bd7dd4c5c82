"""PyTorch's path to :mod:`rushlight.nn.utils.vectorize`."""

from rushlight.nn.utils.vectorize import parameters_to_vector, vector_to_parameters

__all__ = ["parameters_to_vector", "vector_to_parameters"]
