"""Which sizes are the same in all captures of a program: loops over these have a node for each
step, and numbers computed of them are numbers."""

from __future__ import annotations

from rushlight.tensor.dispatch import innermost_capture


class SizeVariesError(Exception):
    """A capture has another size than those before it."""


class FixedSizes:
    """The sizes that captures of a program ask for, by the node of the call."""

    def __init__(self):
        self._found, self._varying = {}, set()

    def has(self, node, size) -> bool:
        """Whether all captures have the same size there."""
        if node in self._varying:
            return False
        if self._found.setdefault(node, size) != size:
            self._varying.add(node)
            raise SizeVariesError(node.name)
        return True

    def settled(self, make):
        """What ``make()`` gives, once it is known which sizes vary."""
        while True:
            try:
                return make()
            except SizeVariesError:
                continue  # one more is known, of finitely many


def is_fixed(size) -> bool:
    """Whether the program that is being captured has this size, or tuple of sizes, in all captures;
    asked once for a call."""
    level = innermost_capture()
    sizes = None if level is None else level.recorder.fixed_sizes
    return sizes is None or sizes.has(level.recorder.origin, size)
