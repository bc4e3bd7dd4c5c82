// Words from arguments into memory: nothing on the host need outlive the launch, and it can be
// captured.
// instances: ALWAYS=1
#include "common.cuh"

struct Words {
  i64 v[480];
};
extern "C" __global__ void __launch_bounds__(256, 1)
write_words(i64* to, i64 count, Words words) {
  for (i64 i = threadIdx.x; i < count; i += blockDim.x) to[i] = words.v[i];
}
