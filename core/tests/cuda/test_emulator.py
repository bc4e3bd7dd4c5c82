"""What the emulator offers kernels, and what it refuses."""

import numpy as np
import pytest
from kernel_cases import BFLOAT16, emulator, emulator_only, on_device, on_host

from rushlight.compiler.cuda.device_array import empty
from rushlight.machine.cuda.runtime.emulated import LaunchFault
from rushlight.machine.cuda.runtime.emulated_memory import MemoryFault

pytestmark = emulator_only

# One text: compiled once.
TEXT = r"""
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#define FULL 0xffffffffu

extern "C" __global__ void grid_numbers(int* out) {
  int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  out[block * blockDim.x * blockDim.y * blockDim.z + thread] = block * 1000 + thread;
}
extern "C" __global__ void shuffles(int* out) {
  int lane = threadIdx.x;
  out[lane] = __shfl_sync(FULL, lane, 5);
  out[32 + lane] = __shfl_up_sync(FULL, lane, 3);
  out[64 + lane] = __shfl_down_sync(FULL, lane, 3);
  out[96 + lane] = __shfl_xor_sync(FULL, lane, 7);
  out[128 + lane] = __shfl_sync(FULL, lane, 1, 8);
  out[160 + lane] = __shfl_down_sync(FULL, lane, 3, 8);
}
extern "C" __global__ void votes(unsigned* out) {
  int lane = threadIdx.x & 31;
  unsigned ballot = __ballot_sync(FULL, lane % 3 == 0), same = __match_any_sync(FULL, lane % 5);
  int any = __any_sync(FULL, lane == 31), all = __all_sync(FULL, lane < 32);
  int none = __any_sync(FULL, lane > 40), count = __syncthreads_count(threadIdx.x < 40);
  int either = __syncthreads_or(threadIdx.x == 63), both = __syncthreads_and(threadIdx.x < 63);
  if (threadIdx.x == 1) {
    unsigned found[8] = {ballot, same, any, all, none, count, either, both};
    for (int i = 0; i < 8; i++) out[i] = found[i];
  }
}
extern "C" __global__ void half_warps(int* out) {
  int lane = threadIdx.x;
  unsigned mask = lane < 16 ? 0xffffu : 0xffff0000u;
  int sum = lane;
  for (int by = 8; by; by /= 2) sum += __shfl_xor_sync(mask, sum, by, 16);
  if (lane < 16) __syncwarp(mask);
  out[lane] = sum;
}
extern "C" __global__ void reversed_block(const int* x, int* y) {
  extern __shared__ int room[];
  __shared__ int total[2];
  room[threadIdx.x] = x[threadIdx.x];
  if (threadIdx.x < 2) total[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&total[threadIdx.x & 1], room[threadIdx.x]);
  __syncthreads();
  y[threadIdx.x] = room[blockDim.x - 1 - threadIdx.x] + total[0] - total[1];
}
extern "C" __global__ void racing(int* x) {
  __shared__ int room[64];
  room[threadIdx.x] = threadIdx.x;
  x[threadIdx.x] = room[(threadIdx.x + 1) % 64];
}
extern "C" __global__ void unset_shared(unsigned* out) {
  __shared__ unsigned a[2], b[2][2];
  out[blockIdx.x * 3] = a[1];
  out[blockIdx.x * 3 + 1] = b[1][1];
  __syncthreads();
  a[1] = b[1][1] = 5;
  out[blockIdx.x * 3 + 2] = a[1] + b[1][1];
}
extern "C" __global__ void last_writer(int* out) { *out = blockIdx.x * 100 + threadIdx.x; }
extern "C" __global__ void atomics(int* i, unsigned* u, long long* l, float* f, double* d) {
  atomicAdd(i, 2); atomicMax(i + 1, (int)threadIdx.x); atomicMin(i + 2, -(int)threadIdx.x);
  atomicExch(i + 3, 7); atomicOr(i + 4, 1 << (threadIdx.x & 7)); atomicSub(i + 5, 1);
  atomicInc(u, 9); atomicDec(u + 1, 9); atomicAnd(u + 2, ~1u); atomicXor(u + 3, 3u);
  atomicAdd((unsigned long long*)l, 1ull << 33); atomicAdd(f, 0.5f); atomicAdd(d, 0.25);
  unsigned old = u[4], seen;
  do { seen = old; old = atomicCAS(u + 4, seen, seen + 1); } while (old != seen);
}
extern "C" __global__ void conversions(const float* x, __half* h, __nv_bfloat16* b, float* back,
                                       long long n) {
  long long i = threadIdx.x;
  if (i >= n) return;
  h[i] = __float2half(x[i]);
  b[i] = (__nv_bfloat16)x[i];
  back[i] = __half2float(h[i]) + (float)b[i];
}
extern "C" __global__ void intrinsics(float* f, int* i, double x) {
  f[0] = rsqrtf(4.0f); f[1] = __saturatef(7.0f); f[2] = normcdff(0.0f); f[3] = erfinvf(0.5f);
  f[4] = __int_as_float(0x7f800000); f[5] = fmaf(2.0f, 3.0f, 1.0f); f[6] = sinpif(0.5f);
  f[7] = (float)min(2, 3.5); f[8] = copysignf(2.0f, -1.0f); f[9] = __fdividef(1.0f, 4.0f);
  i[0] = __popc(255u); i[1] = __clz(1); i[2] = __ffs(8); i[3] = __umulhi(1u << 31, 4u);
  i[4] = __float2int_rn(2.5f); i[5] = (int)__brev(1u) < 0; i[6] = __float_as_int(1.0f);
  i[7] = __float2int_rz(1e20f); i[8] = max(3, 9); i[9] = isnan(x - x + 0.0 / 1.0);
}
extern "C" __global__ void vectors(const float4* x, float4* y) {
  float4 v = __ldg(x + threadIdx.x);
  y[threadIdx.x] = make_float4(v.w, v.z, v.y, v.x);
}
struct Pair { long long a; int b[3]; };
extern "C" __global__ void by_value(long long* out, Pair p, double d, bool flag) {
  out[0] = p.a; out[1] = p.b[2]; out[2] = (long long)d; out[3] = flag;
}
extern "C" __global__ void bounded() __launch_bounds__(64);
extern "C" __global__ void __launch_bounds__(64) bounded() {}
extern "C" __global__ void returns_early(int* x) {
  if (threadIdx.x == 3) return;
  __syncthreads();
  x[threadIdx.x] = 1;
}
extern "C" __global__ void two_barriers(int* x) {
  if (threadIdx.x < 32) __syncthreads();
  else
    __syncthreads();
}
extern "C" __global__ void waits_for_ever() {
  if (threadIdx.x < 16) __shfl_sync(FULL, 1, 0);
  else __syncthreads();
}
extern "C" __global__ void wrong_mask() { __shfl_sync(0xffu, 1, 0); }
extern "C" __global__ void asserts(int n) { assert(n > 3); }
extern "C" __global__ void writes_at(int* x, long long at) { x[at] = 1; }
extern "C" __global__ void overflows_shared(int at) {
  extern __shared__ char bytes[];
  bytes[at] = 0;
}
extern "C" __global__ void divides(int* x, int by) { x[0] = 7 / by; }
"""


@pytest.fixture(scope="module")
def module():
    return emulator().load(TEXT)


def run(module, name, grid, block, *arguments, shared=0):
    shape = lambda n: n if isinstance(n, tuple) else (n, 1, 1)  # noqa: E731
    emulator().launch(module.kernel(name), shape(grid), shape(block), shared, 0, arguments)


def test_numbers_of_blocks_and_threads(module):
    out = empty((2 * 3 * 2 * 4 * 2 * 3,), np.int32)
    run(module, "grid_numbers", (2, 3, 2), (4, 2, 3), out.address)
    blocks, threads = np.arange(12), np.arange(24)
    np.testing.assert_array_equal(on_host(out), (blocks[:, None] * 1000 + threads).reshape(-1))


def test_shuffles(module):
    out = empty((6, 32), np.int32)
    run(module, "shuffles", 1, 32, out.address)
    lane = np.arange(32)
    expected = [
        np.full(32, 5),
        np.where(lane < 3, lane, lane - 3),
        np.where(lane > 28, lane, lane + 3),
        lane ^ 7,
        lane // 8 * 8 + 1,
        np.where(lane % 8 > 4, lane, lane + 3),
    ]
    np.testing.assert_array_equal(on_host(out), expected)


def test_votes(module):
    out = empty((8,), np.uint32)
    run(module, "votes", 1, 64, out.address)
    ballot = sum(1 << i for i in range(0, 32, 3))
    same = sum(1 << i for i in range(1, 32, 5))
    assert on_host(out).tolist() == [ballot, same, 1, 1, 0, 40, 1, 0]


def test_parts_of_a_warp_work_apart(module):
    out = empty((32,), np.int32)
    run(module, "half_warps", 1, 32, out.address)
    assert on_host(out).tolist() == [120] * 16 + [sum(range(16, 32))] * 16


def test_shared_memory(module):
    x, out = np.arange(64, dtype=np.int32), empty((64,), np.int32)
    device = on_device(x)
    run(module, "reversed_block", 1, 64, device.address, out.address, shared=256)
    np.testing.assert_array_equal(on_host(out), x[::-1] - 32)


def test_a_missing_barrier_shows_in_reverse_order(module):
    out = empty((64,), np.int32)
    run(module, "racing", 1, 64, out.address)
    first = on_host(out)
    with emulator().reversed_order():
        run(module, "racing", 1, 64, out.address)
    assert not np.array_equal(first, on_host(out))


def test_shared_memory_is_garbage_when_a_block_starts(module):
    out = empty((6,), np.uint32)
    run(module, "unset_shared", 2, 1, out.address)
    assert on_host(out).tolist() == [0xCBCBCBCB, 0xCBCBCBCB, 10] * 2


@pytest.mark.parametrize(("order", "last"), [("forward", 306), ("reverse", 0), ("scattered", None)])
def test_orders(module, order, last):
    out = empty((1,), np.int32)
    with emulator().ordered(order):
        run(module, "last_writer", 4, 7, out.address)
    found = on_host(out)[0]
    assert found == last if last is not None else found not in (0, 306)


def test_atomics(module):
    i, u = on_device(np.zeros(6, np.int32)), on_device(np.array([0, 5, 7, 0, 0], np.uint32))
    ll, f, d = (on_device(np.zeros(1, t)) for t in (np.int64, np.float32, np.float64))
    run(module, "atomics", 2, 64, *[a.address for a in (i, u, ll, f, d)])
    assert on_host(i).tolist() == [256, 63, -63, 7, 255, -128]
    assert on_host(u).tolist() == [128 % 10, (5 - 128) % 10, 6, 0, 128]
    assert (on_host(ll)[0], on_host(f)[0], on_host(d)[0]) == (128 << 33, 64, 32)


def test_low_precision_rounds_as_numpy():
    """Every float16 and bfloat16 pattern's neighbourhood: ties, subnormals, overflow, NaN."""
    generator = np.random.default_rng(0)
    x = generator.integers(0, 1 << 32, 4000, np.uint32).view(np.float32)
    small = generator.standard_normal(4000).astype(np.float32)
    edges = np.array([0.0, -0.0, 65504, 65519.9, 65520, 2**-24, 2**-25, 1.5 * 2**-24, np.inf,
                      -np.inf, np.nan, 3.39e38, 1 + 2**-8, 1 + 2**-11], np.float32)  # fmt: skip
    x = np.concatenate([x, small, small * np.float32(2**-14), edges])
    text = emulator().load(TEXT)
    h, b, back = (empty(x.shape, t) for t in (np.float16, BFLOAT16, np.float32))
    device = on_device(x)
    for start in range(0, x.size, 1024):
        count = min(1024, x.size - start)
        places = [a.address + start * a.itemsize for a in (device, h, b, back)]
        run(text, "conversions", 1, 1024, *places, count)
    with np.errstate(over="ignore", invalid="ignore"):
        np.testing.assert_array_equal(on_host(h), x.astype(np.float16))
        np.testing.assert_array_equal(
            on_host(b).astype(np.float32), x.astype(BFLOAT16).astype(np.float32)
        )
        np.testing.assert_array_equal(
            on_host(back), x.astype(np.float16).astype(np.float32)
            + x.astype(BFLOAT16).astype(np.float32)
        )  # fmt: skip


def test_intrinsics(module):
    f, i = empty((10,), np.float32), empty((10,), np.int32)
    run(module, "intrinsics", 1, 1, f.address, i.address, np.float64(np.nan))
    np.testing.assert_allclose(
        on_host(f), [0.5, 1, 0.5, 0.47693628, np.inf, 7, 1, 2, -2, 0.25], rtol=1e-6
    )
    assert on_host(i).tolist() == [8, 31, 4, 2, 2, 1, 0x3F800000, 2**31 - 1, 9, 1]


def test_vectors(module):
    x, out = np.arange(32, dtype=np.float32), empty((8, 4), np.float32)
    device = on_device(x)
    run(module, "vectors", 1, 8, device.address, out.address)
    np.testing.assert_array_equal(on_host(out), x.reshape(8, 4)[:, ::-1])


def test_structs_are_passed_by_value(module):
    pair = np.zeros(1, np.dtype([("a", "i8"), ("b", "3i4")], align=True))
    pair["a"], pair["b"] = 1 << 40, [1, 2, 3]
    out = empty((4,), np.int64)
    run(module, "by_value", 1, 1, out.address, pair, np.float64(5.0), np.bool_(True))
    assert on_host(out).tolist() == [1 << 40, 3, 5, 1]


@pytest.mark.parametrize(
    ("name", "block", "arguments", "message"),
    [
        ("returns_early", 64, (0,), "divergent __syncthreads: some threads have returned"),
        ("two_barriers", 64, (0,), "divergent __syncthreads: threads wait at different ones"),
        ("waits_for_ever", 32, (), "deadlock"),
        ("wrong_mask", 32, (), "whose mask leaves it out"),
        ("asserts", 1, (np.int32(3),), "assertion n > 3"),
        ("writes_at", 1, (0, 0), "illegal or misaligned address"),
        ("divides", 1, (0, np.int32(0)), "division of integers by zero|illegal"),
        ("vectors", 1, (8, 8), "illegal or misaligned address"),
        ("overflows_shared", 1, (np.int32(16),), "write outside dynamic shared memory of 16"),
    ],
)
def test_faults(module, name, block, arguments, message):
    with pytest.raises(LaunchFault, match=message):
        run(module, name, 1, block, *arguments, shared=16 if "shared" in name else 0)
    ones, out = on_device(np.ones(4, np.float32)), empty((4,), np.float32)
    run(module, "vectors", 1, 1, ones.address, out.address)  # the emulator goes on
    assert on_host(out).tolist() == [1] * 4


@pytest.mark.parametrize("at", [5, -1])
def test_writes_outside_a_block_are_found(module, at):
    out = empty((5,), np.int32)
    run(module, "writes_at", 1, 1, out.address, at)
    with pytest.raises(
        MemoryFault, match=f"wrote {'before' if at < 0 else 'behind'} a block of 20"
    ):
        emulator().synchronize(0)


def test_writes_into_freed_memory_are_found(module):
    out = empty((4567,), np.int32)
    address = out.address
    del out
    run(module, "writes_at", 1, 1, address, 3)
    kept = [empty((4567,), np.int32) for _ in range(4)]
    with pytest.raises(MemoryFault, match="after it was freed"):
        emulator().synchronize(0)
    assert len(kept) == 4


def test_arguments_are_checked(module):
    out = empty((4,), np.int64)
    with pytest.raises(TypeError, match="has 2 parameters; 1 arguments"):
        run(module, "writes_at", 1, 1, out.address)
    with pytest.raises(TypeError, match="4 bytes of kind 'i'; its parameter has 8"):
        run(module, "writes_at", 1, 1, out.address, np.int32(1))
    with pytest.raises(TypeError, match="bytes of kind 'f'; its parameter has 8 of kind 'i'"):
        run(module, "writes_at", 1, 1, out.address, np.float64(1))
    with pytest.raises(TypeError, match="argument 1 is a float"):
        run(module, "writes_at", 1, 1, out.address, 1.0)


def test_launches_beyond_a_device_are_refused(module):
    with pytest.raises(ValueError, match="allows 64"):
        run(module, "bounded", 1, 96)
    with pytest.raises(ValueError, match="grid"):
        run(module, "bounded", (1, 70000, 1), 32)
    with pytest.raises(ValueError, match="block"):
        run(module, "bounded", 1, (1, 1, 65))
    with pytest.raises(ValueError, match="grid"):
        run(module, "bounded", 0, 32)
    with pytest.raises(ValueError, match="shared memory"):
        run(module, "bounded", 1, 32, shared=1 << 20)
    with pytest.raises(KeyError, match="there are"):
        module.kernel("absent")


def test_refused_text_is_shown():
    with pytest.raises(RuntimeError, match="kernel.cu:1.*INFINITY"):
        emulator().load('extern "C" __global__ void f(float* x) { *x = INFINITY; }')
