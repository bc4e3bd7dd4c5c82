"""Loss functions.

They import the table and families below. Begin reading at :mod:`.pointwise_losses`.
"""

from rushlight.ops._former_paths import names_of

__getattr__ = names_of("pointwise_losses", __name__)
