"""``torch.version``: the version of PyTorch whose API this is, and what it was built with."""

from __future__ import annotations

import re

from rushlight.version import cuda, debug, git_version, hip, xpu

PYTORCH = "2.13.0"


class TorchVersion(str):
    """A version string that compares by number: with strings, and with tuples of numbers.

    >>> TorchVersion("2.13.0+rushlight") >= "2.9"
    True
    >>> TorchVersion("2.13.0+rushlight") >= (2, 14)
    False
    """

    __slots__ = ()

    @staticmethod
    def _key(value):
        if isinstance(value, (tuple, list)):
            value = ".".join(map(str, value))
        found = re.match(r"v?(\d+(?:\.\d+)*)(.*)", str(value).strip())
        if found is None:
            raise ValueError(f"expected a version such as '2.1' or (2, 1), got {value!r}")
        numbers = [int(n) for n in found[1].split(".")]
        while numbers and numbers[-1] == 0:
            numbers.pop()
        rest = found[2]
        # Pre-releases come before the release, local labels after it.
        rank = 0 if not rest else 1 if rest.startswith(("+", ".post", "-")) else -1
        return numbers, rank, rest

    def _compare(self, other):
        if not isinstance(other, (str, tuple, list)):
            return None
        mine, theirs = self._key(self), self._key(other)
        return (mine > theirs) - (mine < theirs)

    def __eq__(self, other):
        found = self._compare(other) if not _is_plain(other) else None
        return str.__eq__(self, other) if found is None else found == 0

    def __ne__(self, other):
        return not self == other

    def __lt__(self, other):
        found = self._compare(other)
        return NotImplemented if found is None else found < 0

    def __le__(self, other):
        found = self._compare(other)
        return NotImplemented if found is None else found <= 0

    def __gt__(self, other):
        found = self._compare(other)
        return NotImplemented if found is None else found > 0

    def __ge__(self, other):
        found = self._compare(other)
        return NotImplemented if found is None else found >= 0

    __hash__ = str.__hash__


def _is_plain(value):
    """A string that is no version at all; it is compared as a string."""
    return isinstance(value, str) and not re.match(r"v?\d", value)


__version__ = TorchVersion(PYTORCH + "+rushlight")
# What `importlib.metadata.version` answers for each package.
VERSIONS = {
    "torch": str(__version__),
    "torchvision": "0.28.0+rushlight",
    "torchaudio": "2.13.0+rushlight",
    "torchtext": "0.18.0+rushlight",
    "lightning": "2.6.0+rushlight",
    "pytorch_lightning": "2.6.0+rushlight",
    "lightning_fabric": "2.6.0+rushlight",
}
__all__ = ["TorchVersion", "__version__", "cuda", "debug", "git_version", "hip", "xpu"]
