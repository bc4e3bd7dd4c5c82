"""Views, joins, and elements in other arrangements.

They import the table. Begin reading at :mod:`.views`.
"""

from rushlight.ops._former_paths import names_of

__getattr__ = names_of("views", __name__)
