"""``torch.backends.cpu``: what the processor can do."""


def get_cpu_capability() -> str:
    """The widest vectors of this processor, in PyTorch's words: ``AVX512``, ``AVX2``, ..."""
    from rushlight.backends import machine_code

    features = machine_code.engine().features
    if features.get("avx512f"):
        return "AVX512"
    return "AVX2" if features.get("avx2") else "DEFAULT"
