"""What tests are written with: `TestCase`, parametrized tests, flags of the machine."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import os
import platform
import sys
import tempfile
import time
import unittest
from collections.abc import Callable

import rushlight
from rushlight.autograd import gradcheck, gradgradcheck
from rushlight.machine import np
from rushlight.testing._internal.parametrized import (
    decorateIf,
    dtype_name,
    instantiate_parametrized_tests,
    parametrize,
    subtest,
)
from rushlight.testing._internal.test_case import SEED, TestCase, set_rng_seed
from rushlight.testing.creation import make_tensor

IS_LINUX = sys.platform == "linux"
IS_MACOS = sys.platform == "darwin"
IS_WINDOWS = sys.platform == "win32"
IS_X86 = platform.machine() in ("x86_64", "AMD64")
IS_ARM64 = platform.machine() in ("arm64", "aarch64")
IS_CI = bool(os.getenv("CI"))
TEST_NUMPY = True
TEST_SCIPY = importlib.util.find_spec("scipy") is not None
TEST_CUDA = rushlight.cuda.is_available()
TEST_MULTIGPU = TEST_CUDA and rushlight.cuda.device_count() > 1
TEST_WITH_SLOW = os.getenv("PYTORCH_TEST_WITH_SLOW") == "1"
TEST_SKIP_FAST = os.getenv("PYTORCH_TEST_SKIP_FAST") == "1"

numpy_to_torch_dtype_dict = {
    np.bool_: rushlight.bool, np.uint8: rushlight.uint8, np.uint16: rushlight.uint16,
    np.uint32: rushlight.uint32, np.uint64: rushlight.uint64, np.int8: rushlight.int8,
    np.int16: rushlight.int16, np.int32: rushlight.int32, np.int64: rushlight.int64,
    np.float16: rushlight.float16, np.float32: rushlight.float32, np.float64: rushlight.float64,
    np.complex64: rushlight.complex64, np.complex128: rushlight.complex128,
}  # fmt: skip
torch_to_numpy_dtype_dict = dict(
    zip(numpy_to_torch_dtype_dict.values(), numpy_to_torch_dtype_dict, strict=True)
) | {rushlight.bfloat16: np.float32, rushlight.complex32: np.complex64}


def run_tests(argv: list[str] | None = None) -> None:
    """Run the tests of the program, as ``unittest.main()`` does."""
    unittest.main(argv=sys.argv if argv is None else argv)


@contextlib.contextmanager
def freeze_rng_state():
    """Leave the generators of the CPU and the GPU as they were before the block."""
    kept = rushlight.get_rng_state()
    there = rushlight.cuda.get_rng_state() if TEST_CUDA else None
    try:
        yield
    finally:
        rushlight.set_rng_state(kept)
        if there is not None:
            rushlight.cuda.set_rng_state(there)


@contextlib.contextmanager
def set_default_dtype(dtype):
    """Another default dtype for a block."""
    kept = rushlight.get_default_dtype()
    rushlight.set_default_dtype(dtype)
    try:
        yield
    finally:
        rushlight.set_default_dtype(kept)


@contextlib.contextmanager
def TemporaryFileName(*args, **kwargs):  # noqa: N802 - PyTorch's name
    """The name of a new file, removed after the block; arguments are `NamedTemporaryFile`'s."""
    file = tempfile.NamedTemporaryFile(*args, delete=False, **kwargs)  # noqa: SIM115 - closed here
    file.close()
    try:
        yield file.name
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(file.name)


@contextlib.contextmanager
def TemporaryDirectoryName(suffix: str | None = None):  # noqa: N802 - PyTorch's name
    """The name of a new folder, removed with what it holds after the block."""
    with tempfile.TemporaryDirectory(suffix=suffix) as folder:
        yield folder


def slowTest(fn: Callable) -> Callable:  # noqa: N802 - PyTorch's name
    """A test that runs only where the environment says ``PYTORCH_TEST_WITH_SLOW=1``."""

    @functools.wraps(fn)
    def run(*args, **kwargs):
        if not TEST_WITH_SLOW:
            raise unittest.SkipTest("test is slow; run with PYTORCH_TEST_WITH_SLOW to enable test")
        return fn(*args, **kwargs)

    return run


def retry(
    ExceptionToCheck,  # noqa: N803 - PyTorch's name
    tries: int = 3,
    delay: float = 3,
    skip_after_retries: bool = False,
) -> Callable:
    """A decorator: call again after `delay` seconds where an error of these types is raised, at
    most `tries` times in all; then raise it, or skip the test."""

    def decorate(function):
        @functools.wraps(function)
        def run(*args, **kwargs):
            for left in range(tries - 1, -1, -1):
                try:
                    return function(*args, **kwargs)
                except ExceptionToCheck as error:
                    if left:
                        time.sleep(delay)
                    elif skip_after_retries:
                        raise unittest.SkipTest(
                            f"Skipping after {tries} consecutive {error}"
                        ) from error
                    else:
                        raise

        return run

    return decorate


def noncontiguous_like(t):
    """A copy of a tensor that is not contiguous; a tensor that is not already is returned."""
    if not t.is_contiguous() or t.numel() < 2:
        return t
    wide = t.new_empty((*t.shape, 2))
    wide[..., 0] = t.detach()
    wide[..., 1] = 0 if t.dtype is rushlight.bool else 3
    return wide[..., 0].requires_grad_(t.requires_grad)


__all__ = [
    "IS_ARM64", "IS_CI", "IS_LINUX", "IS_MACOS", "IS_WINDOWS", "IS_X86", "SEED", "TEST_CUDA",
    "TEST_MULTIGPU", "TEST_NUMPY", "TEST_SCIPY", "TEST_SKIP_FAST", "TEST_WITH_SLOW",
    "TemporaryDirectoryName", "TemporaryFileName", "TestCase", "decorateIf", "dtype_name",
    "freeze_rng_state", "gradcheck", "gradgradcheck", "instantiate_parametrized_tests",
    "make_tensor", "noncontiguous_like", "numpy_to_torch_dtype_dict", "parametrize", "retry",
    "run_tests", "set_default_dtype", "set_rng_seed", "slowTest", "subtest",
    "torch_to_numpy_dtype_dict",
]  # fmt: skip
