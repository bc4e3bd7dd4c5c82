"""What Pillow raises over files that are damaged or made to do harm, and what we say of it."""

from __future__ import annotations

import struct

from PIL import Image

# Its readers take headers apart in plain Python: besides their own errors come those of whatever a
# wrong number meets.
DAMAGE = (
    OSError,
    SyntaxError,
    EOFError,
    ValueError,
    IndexError,
    KeyError,
    TypeError,
    RuntimeError,
    ArithmeticError,
    MemoryError,
    struct.error,
    Image.DecompressionBombError,
)


def said_of(name: str, error: Exception) -> str:
    """What is wrong with the image `name`.

    >>> said_of("a.png", EOFError("no more data"))
    'a.png is a damaged image: no more data'
    """
    if isinstance(error, Image.DecompressionBombError):
        return f"{name} is too large an image: {error} (PIL.Image.MAX_IMAGE_PIXELS sets the limit)"
    return f"{name} is a damaged image: {str(error) or type(error).__name__}"
