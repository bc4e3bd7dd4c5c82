"""AMD's GPUs through CuPy's ROCm build: the same kernel texts in the form that hiprtc takes.

AMD's waves have 64 lanes on most devices. The texts' warps of 32 become halves of waves there:
shuffles stay within 32 lanes, votes look at a thread's own half. Products of matrices are CuPy's;
there is no cuDNN, no tensor cores' attention, and CuPy captures no graphs on ROCm. **None of it has
run on a device**; the emulator runs the texts in this form.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib

from rushlight.machine import code_cache
from rushlight.machine.cuda.runtime import streams
from rushlight.machine.cuda.runtime.nvrtc import CompileError
from rushlight.machine.cuda.runtime.products import compute
from rushlight.machine.cuda.runtime.real import RealRuntime

PRELUDE = """\
#define RUSHLIGHT_HIP 1
#undef __shfl_sync
#undef __shfl_up_sync
#undef __shfl_down_sync
#undef __shfl_xor_sync
#undef __ballot_sync
#undef __any_sync
#undef __all_sync
#undef __match_any_sync
#undef __syncwarp
#undef __trap
// A warp of 32 is the half of a wave of 64 that a lane is in.
#define __shfl_sync(mask, value, source) __shfl(value, source, 32)
#define __shfl_up_sync(mask, value, delta) __shfl_up(value, delta, 32)
#define __shfl_down_sync(mask, value, delta) __shfl_down(value, delta, 32)
#define __shfl_xor_sync(mask, value, bits) __shfl_xor(value, bits, 32)
#define __ballot_sync(mask, predicate) half_ballot(predicate)
#define __any_sync(mask, predicate) (half_ballot(predicate) != 0)
#define __all_sync(mask, predicate) (half_ballot(!(predicate)) == 0)
#define __match_any_sync(mask, value) half_match(value)
#define __syncwarp() half_barrier()
#define __trap() __builtin_trap()
static __device__ inline unsigned half_ballot(int predicate) {
  return (unsigned)(__ballot(predicate) >> (__lane_id() & 32));
}
template <class V>
static __device__ inline unsigned half_match(V value) {
  unsigned same = 0;
  for (int i = 0; i < 32; i++) same |= (unsigned)(__shfl(value, i, 32) == value) << i;
  return same;
}
static __device__ inline void half_barrier() {
  __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront");
  __builtin_amdgcn_wave_barrier();
}
"""
_HEADERS = {
    "#include <cuda_fp16.h>\n": "#include <hip/hip_fp16.h>\n",
    "#include <cuda_bf16.h>\n": "#include <hip/hip_bf16.h>\n"
    "typedef __hip_bfloat16 __nv_bfloat16;\n",
}
_OPTIONS = {"--fmad=false": "-ffp-contract=off"}


def hip_text(source: str) -> str:
    """A kernel text in the form that hiprtc takes."""
    for cuda, hip in _HEADERS.items():
        source = source.replace(cuda, hip)
    return PRELUDE + source


def hip_options(options) -> list[str]:
    """NVRTC's options in hiprtc's words; what stands for nothing there is left out."""
    return [
        _OPTIONS.get(option, option)
        for option in options
        if option in _OPTIONS or option.startswith("-D")
    ]


@functools.cache
def library() -> ctypes.CDLL:
    """hiprtc; OSError where ROCm is not installed."""
    for name in ("libhiprtc.so", "libhiprtc.so.7", "libhiprtc.so.6", "libamdhip64.so"):
        try:
            found = ctypes.CDLL(name)
        except OSError:
            continue
        if hasattr(found, "hiprtcCompileProgram"):
            found.hiprtcGetErrorString.restype = ctypes.c_char_p
            return found
    raise OSError("hiprtc was not found: install ROCm 7 (libhiprtc.so)")


def _part(hiprtc, program, what):
    size = ctypes.c_size_t()
    getattr(hiprtc, f"hiprtcGet{what}Size")(program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    getattr(hiprtc, f"hiprtcGet{what}")(program, buffer)
    return buffer.raw


def compile_text(source: str, architecture: str, options=()) -> bytes:
    """The code object for an architecture (``gfx90a``); CompileError if refused."""
    hiprtc, program = library(), ctypes.c_void_p()
    text = hip_text(source).encode()
    hiprtc.hiprtcCreateProgram(ctypes.byref(program), text, b"kernel.hip", 0, None, None)
    words = ["-std=c++17", f"--offload-arch={architecture}", *hip_options(options)]
    array = (ctypes.c_char_p * len(words))(*[word.encode() for word in words])
    try:
        code = hiprtc.hiprtcCompileProgram(program, len(words), array)
        if code:
            log = _part(hiprtc, program, "ProgramLog").rstrip(b"\0").decode(errors="replace")
            reason = hiprtc.hiprtcGetErrorString(code).decode()
            raise CompileError(f"hiprtc for {architecture}: {reason}\n{log}")
        return _part(hiprtc, program, "Code")
    finally:
        hiprtc.hiprtcDestroyProgram(ctypes.byref(program))


class RocmRuntime(RealRuntime):
    """The real runtime on AMD's GPUs."""

    is_hip = True

    def cubin(self, source, options, device) -> bytes:
        """The code object of a text for a device, from disk where it was compiled before."""
        name = self._driver.getDeviceProperties(device)["gcnArchName"]
        architecture = name.decode() if isinstance(name, bytes) else name
        key = hashlib.sha256("\0".join((hip_text(source), architecture, *options)).encode())
        make = functools.partial(compile_text, source, architecture, options)
        return code_cache.made("hip", key.hexdigest()[:32], make)

    def gemm(self, product, a: int, b: int, out: int, bias: int = 0, stream: int = 0) -> None:
        """The product of matrices at three addresses, by CuPy; low precision in float32."""
        product.checked()
        if not (product.m and product.n and product.batch):
            return
        self.counters.products += 1
        self.counters.launches += 1

        def matrix(address, dtype, rows, columns, strides, step):
            steps = [n * dtype.itemsize for n in (step, *strides)]
            return self.view(address, (product.batch, rows, columns), steps, dtype)

        p, (step_a, step_b, step_out) = product, product.batch_strides
        self._use(streams.device_of(stream))
        with self.stream_object(stream):
            compute(
                p,
                matrix(a, p.dtype, p.m, p.k, p.a_strides, step_a),
                matrix(b, p.dtype, p.k, p.n, p.b_strides, step_b),
                matrix(out, p.result_dtype, p.m, p.n, p.out_strides, step_out),
                self.view(bias, (p.n,), None, p.result_dtype) if bias else None,
            )

    def has_cudnn(self) -> bool:
        """There is no cuDNN: convolution is by columns and products."""
        return False

    def run_cudnn(self, asked, places, stream: int = 0) -> bool:
        """A convolution by a library: there is none."""
        return False
