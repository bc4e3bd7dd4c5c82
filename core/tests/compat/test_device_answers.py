"""A machine without a GPU: the same answers and kinds of error as PyTorch gives there."""

import pytest

import rushlight
from rushlight.kernels.gemm.precision import float32_precision

ANSWERS = [
    "cuda.is_available()",
    "cuda.device_count()",
    "cuda.memory_reserved()",
    "cuda.max_memory_allocated()",
    "cuda.memory_stats()",
    "cuda.get_rng_state_all()",
    "cuda.get_arch_list()",
    "cuda.is_bf16_supported()",
    "xpu.is_available()",
    "xpu.device_count()",
    "xpu.memory_allocated()",
    "xpu.empty_cache()",
    "mps.device_count()",
    "accelerator.is_available()",
    "accelerator.current_accelerator()",
    "accelerator.device_count()",
    "backends.cudnn.version()",
    "backends.cudnn.is_available()",
    "backends.cudnn.enabled",
    "backends.cudnn.benchmark",
    "backends.cudnn.deterministic",
    "backends.cudnn.allow_tf32",
    "backends.cuda.matmul.allow_tf32",
    "backends.cuda.is_built()",
    "backends.cuda.flash_sdp_enabled()",
    "backends.mps.is_available()",
    "backends.mps.is_built()",
    "get_float32_matmul_precision()",
    "version.cuda",
    "version.hip",
    "distributed.is_initialized()",
    "distributed.group.WORLD",
    "onnx.is_in_onnx_export()",
    "jit.is_scripting()",
    "jit.is_tracing()",
    "compiler.is_compiling()",
    "is_autocast_enabled()",
    "is_autocast_enabled('cpu')",
]
ERRORS = [
    "cuda.get_device_capability()",
    "cuda.current_stream()",
    "cuda.Stream()",
    "cuda.Event()",
    "cuda.CUDAGraph()",
    "cuda.mem_get_info()",
    "cuda.get_rng_state()",
    "cuda.synchronize()",
    "cuda.device(0).__enter__()",
    "cuda.FloatTensor(2)",
    "cuda.nvtx.range_push('a')",
    "xpu.synchronize()",
    "xpu.get_device_properties()",
    "mps.empty_cache()",
    "mps.synchronize()",
    "accelerator.synchronize()",
    "distributed.get_rank()",
    "distributed.get_world_size()",
    "distributed.get_backend()",
]


@pytest.fixture
def real():
    """PyTorch, built for the CPU alone: one that knows GPUs answers otherwise without any."""
    found = pytest.importorskip("torch")
    if found.version.cuda or found.version.hip:
        pytest.skip("this PyTorch is built for GPUs")
    return found


@pytest.mark.parametrize("text", ANSWERS)
def test_answers_are_pytorchs(text, real):
    assert eval("module." + text, {"module": rushlight}) == eval("module." + text, {"module": real})


@pytest.mark.parametrize("text", ERRORS)
def test_errors_are_of_pytorchs_kinds(text, real):
    with pytest.raises(Exception) as expected:  # noqa: B017, PT011 - its type is what is compared
        eval("module." + text, {"module": real})
    with pytest.raises(expected.type, match="."):
        eval("module." + text, {"module": rushlight})


def test_switches_are_kept_and_given_back():
    cudnn = rushlight.backends.cudnn
    with cudnn.flags(enabled=False, benchmark=True):
        assert (cudnn.enabled, cudnn.benchmark) == (False, True)
    assert (cudnn.enabled, cudnn.benchmark) == (True, False)
    with rushlight.backends.cuda.sdp_kernel(enable_flash=False):
        assert not rushlight.backends.cuda.flash_sdp_enabled()
    assert rushlight.backends.cuda.flash_sdp_enabled()
    rushlight.set_float32_matmul_precision("high")
    assert rushlight.backends.cuda.matmul.allow_tf32
    rushlight.backends.cuda.matmul.allow_tf32 = False
    assert rushlight.get_float32_matmul_precision() == "highest"
    assert float32_precision() == "highest"  # that of the CPU's products too
    with pytest.raises(RuntimeError, match="'highest', 'high' or 'medium'"):
        rushlight.set_float32_matmul_precision("low")


def test_stream_contexts_without_a_stream_change_nothing():
    with rushlight.cuda.stream(None), rushlight.cuda.device(-1):
        assert rushlight.cuda.memory_summary().startswith("No GPU memory")


def test_fork_rng_keeps_the_generator_as_it_was():
    rushlight.manual_seed(3)
    with rushlight.random.fork_rng():
        rushlight.rand(5)
    after = rushlight.rand(2)
    rushlight.manual_seed(3)
    assert rushlight.equal(after, rushlight.rand(2))
    with pytest.raises(RuntimeError, match="there is no cuda device"):
        with rushlight.random.fork_rng(devices=[0]):
            raise AssertionError("not reached")


def test_jit_isinstance_looks_at_elements():
    from typing import Dict, List, Optional, Tuple  # noqa: UP035 - as scripts write it

    check = rushlight.jit.isinstance
    assert check([1, 2], List[int]) and not check([1, "a"], List[int])  # noqa: UP006
    assert check({"a": 1.0}, Dict[str, float]) and not check({"a": 1}, Dict[str, float])  # noqa: UP006
    assert check((1, "a"), Tuple[int, str]) and not check((1,), Tuple[int, str])  # noqa: UP006
    assert check(None, Optional[int]) and check(3, (str, int))  # noqa: UP045
    with pytest.raises(RuntimeError, match="without a contained type"):
        check([1], list)


def test_checks_raise_what_their_names_say():
    rushlight._check(True)
    for check, kind in (
        (rushlight._check, RuntimeError),
        (rushlight._check_value, ValueError),
        (rushlight._check_index, IndexError),
        (rushlight._check_type, TypeError),
    ):
        with pytest.raises(kind, match="why"):
            check(False, lambda: "why")
    with pytest.raises(AssertionError, match="why"):
        rushlight._assert(False, "why")
    with pytest.raises(TypeError, match="cond must be a bool"):
        rushlight._check(1)
