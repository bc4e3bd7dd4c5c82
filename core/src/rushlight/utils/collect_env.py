"""What a report of a problem needs: versions of everything, the processor, the settings.

``python -m rushlight.utils.collect_env`` prints it.
"""

from __future__ import annotations

import collections
import importlib.metadata
import os
import platform
import sys

_PACKAGES = (
    "rushlight rushlight-vision rushlight-text rushlight-audio rushlight-lightning-lite numpy "
    "llvmlite numba ml-dtypes scipy-openblas64 safetensors pillow tokenizers soundfile torch"
).split()

SystemEnv = collections.namedtuple(
    "SystemEnv",
    "rushlight_version python_version python_platform os libc_version cpu_model cpu_count "
    "cpu_features memory threads is_cuda_available packages environment",
)


def _cpu():
    """The processor's name and those of its instruction sets that matter here."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            lines = [line.partition(":") for line in file]
    except OSError:
        return platform.processor() or "unknown", ()
    facts: dict = {}
    for key, _, value in lines:
        facts.setdefault(key.strip(), value.strip())
    flags = set(facts.get("flags", facts.get("Features", "")).split())
    wanted = ("avx2", "fma", "f16c", "avx512f", "avx512_bf16", "avx512_fp16", "amx_bf16", "asimd",
              "bf16")  # fmt: skip
    return facts.get("model name", platform.machine()), tuple(f for f in wanted if f in flags)


def _memory():
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return 0


def _system():
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return platform.platform()


def get_env_info() -> SystemEnv:
    """The facts, as a named tuple."""
    import rushlight

    packages = {}
    for name in _PACKAGES:
        try:
            packages[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    settings = {
        key: value
        for key, value in sorted(os.environ.items())
        if key.startswith(("RUSHLIGHT_", "OMP_", "OPENBLAS_", "NUMBA_", "TORCH_", "PYTORCH_"))
    }
    model, features = _cpu()
    return SystemEnv(
        rushlight_version=rushlight.__version__,
        python_version=f"{sys.version} ({8 * (1 + (sys.maxsize > 1 << 32)) * 4}-bit runtime)",
        python_platform=platform.platform(),
        os=_system(),
        libc_version="-".join(platform.libc_ver()),
        cpu_model=model,
        cpu_count=os.cpu_count(),
        cpu_features=features,
        memory=_memory(),
        threads=rushlight.get_num_threads(),
        is_cuda_available=rushlight.cuda.is_available(),
        packages=packages,
        environment=settings,
    )


def pretty_str(found: SystemEnv) -> str:
    """The facts as text, one a line."""
    packages = "\n".join(f"  {name}=={version}" for name, version in found.packages.items())
    settings = "\n".join(f"  {name}={value}" for name, value in found.environment.items())
    return "\n".join([
        f"Rushlight version: {found.rushlight_version}",
        f"Is CUDA available: {found.is_cuda_available}",
        "",
        f"OS: {found.os}",
        f"Libc version: {found.libc_version}",
        f"Python version: {found.python_version}",
        f"Python platform: {found.python_platform}",
        "",
        f"CPU: {found.cpu_model}, {found.cpu_count} logical cores",
        f"CPU features: {', '.join(found.cpu_features) or 'none that matter'}",
        f"Memory: {found.memory / 2**30:.1f} GiB",
        f"Threads: {found.threads}",
        "",
        "Versions of relevant libraries:",
        packages or "  none",
        "Settings in the environment:",
        settings or "  none",
    ])  # fmt: skip


def get_pretty_env_info() -> str:
    """The facts as text."""
    return pretty_str(get_env_info())


def main() -> None:
    """Print the facts."""
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
