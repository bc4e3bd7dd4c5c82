"""``torch.backends.mkldnn``: oneDNN is not used here."""


def is_available() -> bool:
    """False: kernels are Rushlight's own."""
    return False


enabled = True
deterministic = False
allow_tf32 = True
