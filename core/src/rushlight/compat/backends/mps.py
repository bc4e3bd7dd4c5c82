"""``torch.backends.mps``: the device of Apple's GPUs, which is not there."""


def is_available() -> bool:
    """False: the device does not exist here."""
    return False


def is_built() -> bool:
    """False: this is not a build with MPS."""
    return False
