"""``torch.backends.mkl``: Intel's MKL is not used here."""


def is_available() -> bool:
    """False: kernels are Rushlight's own."""
    return False
