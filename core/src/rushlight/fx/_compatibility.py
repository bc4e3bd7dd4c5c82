"""What programs write above functions of their own to say how long these stay as they are."""

from __future__ import annotations

import textwrap

_NOTES = {
    True: (".. note::", "Backwards-compatibility for this API is guaranteed."),
    False: (".. warning::", "This API is experimental and is *NOT* backward-compatible."),
}


def compatibility(is_backward_compatible: bool):
    """A decorator that says in the docstring whether a function stays as it is.

    >>> from rushlight.fx._compatibility import compatibility
    >>> @compatibility(is_backward_compatible=True)
    ... def double(x):
    ...     '''Twice.'''
    >>> print(double.__doc__.splitlines()[2])
    .. note::
    """
    head, text = _NOTES[bool(is_backward_compatible)]

    def marked(function):
        described = textwrap.dedent(function.__doc__ or "")
        function.__doc__ = f"{described}\n\n{head}\n    {text}\n"
        return function

    return marked
