// Philox 4x32-10 (Salmon et al., 2011), with cuRAND's way to divide its counter: a thread's number
// in the upper half, and the offset, in units of four outputs, in the lower.
struct Philox {
  unsigned key[2], counter[4];

  __device__ __forceinline__ Philox(u64 seed, u64 subsequence, u64 offset) {
    key[0] = (unsigned)seed;
    key[1] = (unsigned)(seed >> 32);
    u64 first = offset / 4;
    counter[0] = (unsigned)first;
    counter[1] = (unsigned)(first >> 32);
    counter[2] = (unsigned)subsequence;
    counter[3] = (unsigned)(subsequence >> 32);
  }

  __device__ __forceinline__ uint4 next() {
    unsigned a = counter[0], b = counter[1], c = counter[2], d = counter[3];
    unsigned k0 = key[0], k1 = key[1];
#pragma unroll
    for (int round = 0; round < 10; round++) {
      unsigned high0 = __umulhi(0xD2511F53u, a), low0 = 0xD2511F53u * a;
      unsigned high1 = __umulhi(0xCD9E8D57u, c), low1 = 0xCD9E8D57u * c;
      a = high1 ^ b ^ k0;
      b = low1;
      c = high0 ^ d ^ k1;
      d = low0;
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    if (++counter[0] == 0 && ++counter[1] == 0 && ++counter[2] == 0) ++counter[3];
    return make_uint4(a, b, c, d);
  }
};

// Where numbers begin: seed and offset in device memory.
struct Beginning {
  const u64* state;
  __device__ __forceinline__ Philox thread(u64 subsequence) const {
    return Philox(state[0], subsequence, state[1]);
  }
};

// (0, 1], as cuRAND makes them of integers.
__device__ __forceinline__ float unit(unsigned x) {
  return x * 2.3283064e-10f + 2.3283064e-10f / 2.0f;
}
__device__ __forceinline__ double unit(unsigned x, unsigned y) {
  u64 z = (u64)x ^ ((u64)y << 21);
  return z * 1.1102230246251565e-16 + 1.1102230246251565e-16 / 2.0;
}
