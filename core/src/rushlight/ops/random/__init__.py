"""Random tensors with PyTorch's numbers for the same seed.

They import the table. Begin reading at :mod:`.sampling` and :mod:`.generators`.
"""

from rushlight.ops._former_paths import names_of

__getattr__ = names_of("sampling", __name__)
