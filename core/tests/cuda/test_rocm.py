"""The texts of kernels in the form for AMD's GPUs: what differs, and that the emulator, with HIP's
intrinsics in place of CUDA's, gives the same results."""

from __future__ import annotations

import types

import numpy as np
import pytest
from kernel_cases import emulator_only, on_device, on_host

from rushlight.kernels.attention import cuda as attention
from rushlight.kernels.normalization import cuda as normalization
from rushlight.kernels.pooling import cuda as pooling
from rushlight.kernels.reduction import cuda as reduction
from rushlight.kernels.reduction import cuda_softmax as softmax
from rushlight.kernels.scan_sort import cuda_scan as scan
from rushlight.kernels.scan_sort import cuda_sort as sorting
from rushlight.machine.cuda import runtime, sources
from rushlight.machine.cuda.runtime import presence, rocm
from rushlight.testing import cuda_listing

# HIP's intrinsics over the emulator's: lanes of a wave of 64, ballots of 64 bits.
INTRINSICS = """
static inline int __lane_id() { return (threadIdx.x + blockDim.x * threadIdx.y) & 63; }
#define __shfl(value, source, width) emu::shuffle_index(~0u, value, source, width, __LINE__)
#define __shfl_up(value, delta, width) emu::shuffle_up(~0u, value, delta, width, __LINE__)
#define __shfl_xor(value, bits, width) emu::shuffle_xor(~0u, value, bits, width, __LINE__)
#define __ballot(p) ((unsigned long long)emu::ballot(~0u, p, __LINE__) << (__lane_id() & 32))
#define __builtin_amdgcn_fence(order, scope)
#define __builtin_amdgcn_wave_barrier() emu::wait_warp(~0u, __LINE__)
"""
BACK = {"hip/hip_fp16.h": "cuda_fp16.h", "hip/hip_bf16.h": "cuda_bf16.h",
        "typedef __hip_bfloat16 __nv_bfloat16;\n": ""}  # fmt: skip


@pytest.fixture
def hip(monkeypatch):
    """The emulator loads every text in HIP's form."""
    current, texts = runtime.current(), []
    load = type(current).load

    def loaded(self, source, options=()):
        text = rocm.hip_text(source)
        texts.append(text)
        for there, here in BACK.items():
            text = text.replace(there, here)
        return load(self, INTRINSICS + text, options)

    monkeypatch.setattr(type(current), "load", loaded)
    monkeypatch.setattr(sources, "_modules", {})
    monkeypatch.setattr(type(current), "is_hip", True)
    return texts


def draw(*shape, dtype=np.float32):
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(dtype)


def found():
    """Results of kernels that shuffle, vote and match."""
    x, y = draw(5, 70), draw(3, 4000)
    image = draw(1, 2, 9, 9)
    q, k, v = (draw(1, 2, 9, 16) for _ in range(3))
    places = pooling.max_pool_forward(on_device(image), (3, 3), (2, 2), (1, 1), (1, 1), False)[1]
    grad = draw(*places.shape)
    return [
        softmax.softmax_forward(on_device(x), 1),
        normalization.layer_norm_forward(on_device(x), 70, on_device(draw(70)), None, 1e-5)[0],
        reduction.reduced(on_device(y), (1,), False, "sum"),
        scan.scanned(on_device(y), 1, False),
        *scan.cumulative_extremes(on_device(y), 1, True),
        *sorting.sorted_along(on_device(y), 1, False),
        pooling.max_pool_backward(on_device(grad), places, image.shape),
        *attention.attention_forward(*map(on_device, (q, k, v)), None, True, 0.3),
    ]


@emulator_only
def test_kernels_give_the_same_in_halves_of_waves(hip, monkeypatch):
    assert not attention.on_tensor_cores(on_device(draw(1, 1, 1, 8, dtype=np.float16)))
    there = [on_host(a) for a in found()]
    assert len(hip) > 6
    for text in hip:
        body = text.removeprefix(rocm.PRELUDE)
        assert body != text and "cuda_bf16" not in body and "mma.sync" not in body
    monkeypatch.undo()
    for a, b in zip(there, found(), strict=True):
        np.testing.assert_array_equal(a, on_host(b))


def test_generated_texts_hold_no_assembly_for_hip():
    _, text, options = next(iter(cuda_listing.sources()))
    made = rocm.hip_text(text)
    assert "#define RUSHLIGHT_HIP 1" in made and "defined(RUSHLIGHT_HIP)" in made
    assert made.index("#define NATIVE_HALF") < made.index("asm(")
    assert rocm.hip_options(options) == ["-ffp-contract=off"]
    assert rocm.hip_options(("-DA=1", "--use_fast_math")) == ["-DA=1"]


def test_texts_for_waves_shuffle_by_halves():
    text = rocm.hip_text(sources.text("softmax", (("T", np.dtype("float16")),)))
    assert "#include <hip/hip_fp16.h>" in text and "cuda_fp16" not in text
    assert "#define __shfl_xor_sync(mask, value, bits) __shfl_xor(value, bits, 32)" in text


def test_rocm_without_its_libraries_says_so(monkeypatch):
    monkeypatch.setattr(presence, "cupy_version", lambda: ("cupy-rocm-7-0", "14.2.0"))
    monkeypatch.setattr(presence, "_has_rocm", lambda: False)
    assert "ROCm 7" in presence.why_unavailable()
    monkeypatch.setattr(presence, "_has_rocm", lambda: True)
    assert presence.why_unavailable() is None


def test_hiprtc_is_asked_with_the_architecture(monkeypatch):
    asked = {}

    class Library:
        def hiprtcCreateProgram(self, program, text, name, *headers):  # noqa: N802
            asked["text"] = text

        def hiprtcCompileProgram(self, program, count, words):  # noqa: N802
            asked["options"] = [words[i].decode() for i in range(count)]
            return asked.get("fails", 0)

        def hiprtcDestroyProgram(self, program):  # noqa: N802
            asked["destroyed"] = True

        def hiprtcGetErrorString(self, code):  # noqa: N802
            return b"HIPRTC_ERROR_COMPILATION"

    for what, content in (("Code", b"object"), ("ProgramLog", b"line 1: no")):

        def size(self, program, place, content=content):
            place._obj.value = len(content)

        def fill(self, program, buffer, content=content):
            buffer.raw = content

        setattr(Library, f"hiprtcGet{what}Size", size)
        setattr(Library, f"hiprtcGet{what}", fill)
    monkeypatch.setattr(rocm, "library", Library)
    assert rocm.compile_text("text", "gfx90a", ("--fmad=false",)) == b"object"
    assert asked["options"] == ["-std=c++17", "--offload-arch=gfx90a", "-ffp-contract=off"]
    assert asked["text"].endswith(b"text") and asked["destroyed"]
    asked["fails"] = 6
    with pytest.raises(rocm.CompileError, match="gfx90a: HIPRTC_ERROR_COMPILATION\\nline 1: no"):
        rocm.compile_text("text", "gfx90a")


def test_cupys_build_chooses_the_runtime(monkeypatch):
    made = types.SimpleNamespace(runtime=types.SimpleNamespace(is_hip=True))
    monkeypatch.setitem(__import__("sys").modules, "cupy", types.SimpleNamespace(cuda=made))
    monkeypatch.setattr(rocm.RocmRuntime, "__init__", lambda self: None)
    assert type(runtime._real()) is rocm.RocmRuntime and runtime._real().is_hip
