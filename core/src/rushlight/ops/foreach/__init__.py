"""Steps over lists of tensors, one kernel launch for all of them.

They import the table. Begin reading at :mod:`.steps`.
"""

from rushlight.ops._former_paths import names_of

__getattr__ = names_of("steps", __name__)
