"""What torchtext called prototypes: generation, vectors and vocabularies from files."""

from rushlight_text.prototype import transforms

__all__ = ["transforms"]
