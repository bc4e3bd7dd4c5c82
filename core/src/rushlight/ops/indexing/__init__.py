"""Parts of tensors read and written by index, mask or index tensors.

They import the table. Begin reading at :mod:`.items` and :mod:`.gathering`.
"""

from rushlight.ops._former_paths import names_of

__getattr__ = names_of("items", __name__)
