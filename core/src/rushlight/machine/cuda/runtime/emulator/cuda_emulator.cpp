// The scheduler of the emulator: fibers, barriers, faults. Built once, shared by all kernels.
#include "cuda_emulator.h"
#undef threadIdx
#undef blockIdx
#undef blockDim
#undef gridDim
#include <csetjmp>
#include <csignal>
#include <sys/mman.h>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace emu {

uint3 thread_index, block_index;
dim3 block_size, grid_size;
int current;
unsigned char* shared_bytes;
uint64_t exchange[1024][2];
bool participates[1024];
int votes[1024];

static constexpr size_t STACK = 256 << 10;
static constexpr int PADDING = 64;
static char message[512];
static Wait status[1024];
static unsigned waiting_mask[1024];
static int waiting_line[1024];
static int fiber_of[1024];
static int running_fiber;
static void (*thread_body)(void*);
static void* thread_closure;
static sigjmp_buf fault;
static volatile bool inside;

struct Fiber {
#if defined(__x86_64__)
  void* stack_pointer;
#else
  ucontext_t context;
#endif
};
static Fiber fibers[1024];
static Fiber scheduler;
static int fiber_count;
static int idle[1024];
static int idle_count;
static char* stacks;

static constexpr int VARIABLES = 64;
static void* started[VARIABLES];
static int started_count;

static void fiber_main();

#if defined(__x86_64__)
// Saves what the ABI says a function keeps, changes stacks. swapcontext would cost a system call.
extern "C" void emu_switch(void** save, void* to);
asm(R"(
.text
.type emu_switch,@function
emu_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size emu_switch,.-emu_switch
)");
static void change(Fiber& from, Fiber& to) { emu_switch(&from.stack_pointer, to.stack_pointer); }
static void prepare(Fiber& fiber, char* stack) {
  void** top = reinterpret_cast<void**>(stack + STACK) - 3;  // aligned as after a call
  *top = nullptr;                                        // a return address nobody uses
  *--top = reinterpret_cast<void*>(&fiber_main);
  for (int i = 0; i < 6; i++) *--top = nullptr;
  fiber.stack_pointer = top;
}
#else
static void change(Fiber& from, Fiber& to) { swapcontext(&from.context, &to.context); }
static void prepare(Fiber& fiber, char* stack) {
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = stack;
  fiber.context.uc_stack.ss_size = STACK;
  fiber.context.uc_link = nullptr;
  makecontext(&fiber.context, fiber_main, 0);
}
#endif

// A fiber runs one thread after another as long as none of them has to wait.
static void fiber_main() {
  for (;;) {
    thread_body(thread_closure);
    status[current] = DONE;
    change(fibers[running_fiber], scheduler);
  }
}

static void position(int thread) {
  unsigned t = thread;
  thread_index = {t % block_size.x, t / block_size.x % block_size.y,
                  t / (block_size.x * block_size.y)};
}

static void park(Wait how, unsigned mask, int line) {
  int me = current;
  status[me] = how;
  waiting_mask[me] = mask;
  waiting_line[me] = line;
  change(fibers[running_fiber], scheduler);
}

void wait_warp(unsigned mask, int line) { park(AT_WARP, mask, line); }
void wait_block(int line) { park(AT_BLOCK, 0, line); }

void start_shared(void* variable, size_t size) {
  for (int i = 0; i < started_count; i++)
    if (started[i] == variable) return;
  if (started_count == VARIABLES) fail("more than 64 shared variables", 0);
  started[started_count++] = variable;
  memset(variable, 0xCB, size);
}

int vote_block(int predicate, int line) {
  votes[current] = predicate;
  wait_block(line);
  int sum = 0, n = block_size.x * block_size.y * block_size.z;
  for (int i = 0; i < n; i++) sum += votes[i];
  wait_block(line);
  return sum;
}

unsigned live_lanes() {
  unsigned live = 0;
  int n = block_size.x * block_size.y * block_size.z, first = current & ~31;
  for (int i = 0; i < 32 && first + i < n; i++) live |= unsigned(status[first + i] != DONE) << i;
  return live;
}

void fail(const char* reason, int line) {
  snprintf(message, sizeof message, "%s (line %d, block %u %u %u, thread %u %u %u)", reason, line,
           block_index.x, block_index.y, block_index.z, thread_index.x, thread_index.y,
           thread_index.z);
  siglongjmp(fault, 1);
}

static void on_signal(int signal, siginfo_t*, void*) {
  if (!inside) {
    std::signal(signal, SIG_DFL);
    raise(signal);
    return;
  }
  snprintf(message, sizeof message,
           "%s (block %u %u %u, thread %u %u %u)",
           signal == SIGFPE ? "division of integers by zero" : "illegal or misaligned address",
           block_index.x, block_index.y, block_index.z, thread_index.x, thread_index.y,
           thread_index.z);
  siglongjmp(fault, 1);
}

static void resume(int thread) {
  if (status[thread] == NEW) {
    if (!idle_count) {
      prepare(fibers[fiber_count], stacks + fiber_count * STACK);
      idle[idle_count++] = fiber_count++;
    }
    fiber_of[thread] = idle[--idle_count];
    participates[thread] = false;
  }
  current = thread;
  running_fiber = fiber_of[thread];
  status[thread] = READY;
  position(thread);
  change(scheduler, fibers[running_fiber]);
  if (status[thread] == DONE) idle[idle_count++] = running_fiber;
}

// Threads that wait with one mask go on when all living threads of that mask wait with it.
static bool release_warps(int n) {
  bool any = false;
  for (int first = 0; first < n; first += 32) {
    int end = first + 32 < n ? first + 32 : n;
    unsigned live = 0, waiting = 0;
    for (int i = first; i < end; i++) {
      live |= unsigned(status[i] != DONE) << (i - first);
      waiting |= unsigned(status[i] == AT_WARP) << (i - first);
    }
    for (int i = first; i < end; i++) {
      if (!(waiting >> (i - first) & 1)) continue;
      unsigned mask = waiting_mask[i], arrived = 0;
      for (int j = first; j < end; j++)
        if (status[j] == AT_WARP && waiting_mask[j] == mask && waiting_line[j] == waiting_line[i])
          arrived |= 1u << (j - first);
      if ((mask & live) & ~arrived) continue;
      for (int j = first; j < end; j++)
        if (arrived >> (j - first) & 1) { status[j] = READY; waiting &= ~(1u << (j - first)); }
      any = true;
    }
  }
  return any;
}

static const char* describe(int n, const char* what) {
  int at = -1;
  for (int i = 0; i < n && at < 0; i++) if (status[i] == AT_WARP || status[i] == AT_BLOCK) at = i;
  snprintf(message, sizeof message, "%s (line %d, block %u %u %u, thread %d waits)", what,
           at < 0 ? 0 : waiting_line[at], block_index.x, block_index.y, block_index.z, at);
  return message;
}

// The q-th thread (or block) of n in an order; scattered: strides that meet every one once.
static unsigned long long placed(unsigned long long q, unsigned long long n, int order) {
  if (order == 0) return q;
  if (order == 1) return n - 1 - q;
  unsigned long long stride = 37 % n ? 37 : 41;
  for (unsigned long long a = stride, b = n; ; stride += 2, a = stride, b = n) {
    while (b) { unsigned long long rest = a % b; a = b; b = rest; }
    if (a == 1) break;
  }
  return (q * stride + n / 2) % n;
}

static int run_block(int n, int order) {
  static int sequence[1024];
  for (int i = 0; i < n; i++) { status[i] = NEW; sequence[i] = placed(i, n, order); }
  started_count = 0;
  for (;;) {
    for (int q = 0; q < n; q++) {
      int i = sequence[q];
      if (status[i] == NEW || status[i] == READY) resume(i);
    }
    bool progress = release_warps(n);
    int done = 0, at_block = 0, line = -1;
    bool same = true;
    for (int i = 0; i < n; i++) {
      done += status[i] == DONE;
      if (status[i] != AT_BLOCK) continue;
      at_block++;
      if (line < 0) line = waiting_line[i];
      same = same && line == waiting_line[i];
    }
    if (done == n) return 0;
    if (at_block && at_block + done == n) {
      if (done) { describe(n, "divergent __syncthreads: some threads have returned"); return 1; }
      if (!same) { describe(n, "divergent __syncthreads: threads wait at different ones"); return 1; }
      for (int i = 0; i < n; i++) status[i] = READY;
      progress = true;
    }
    if (!progress) { describe(n, "deadlock: threads wait for others that never come"); return 1; }
  }
}

static int run_blocks(const Launch* launch, unsigned char* room) {
  int n = launch->block[0] * launch->block[1] * launch->block[2];
  unsigned long long x = launch->grid[0], y = launch->grid[1], total = x * y * launch->grid[2];
  for (unsigned long long q = 0; q < total; q++) {
    unsigned long long b = placed(q, total, launch->order);
    block_index = {unsigned(b % x), unsigned(b / x % y), unsigned(b / (x * y))};
    memset(room, 0xCB, launch->shared + 2 * PADDING);
    if (run_block(n, launch->order)) return 1;
    for (int i = 0; i < PADDING; i++)
      if (room[i] != 0xCB || room[PADDING + launch->shared + i] != 0xCB) {
        snprintf(message, sizeof message, "write outside dynamic shared memory of %u bytes (block %u %u %u)",
                 launch->shared, block_index.x, block_index.y, block_index.z);
        return 1;
      }
  }
  return 0;
}

int run_grid(void (*body)(void*), void* closure, const Launch* launch) {
  if (!stacks)
    stacks = static_cast<char*>(mmap(nullptr, 1024 * STACK, PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  thread_body = body;
  thread_closure = closure;
  block_size = dim3(launch->block[0], launch->block[1], launch->block[2]);
  grid_size = dim3(launch->grid[0], launch->grid[1], launch->grid[2]);
  unsigned char* room = static_cast<unsigned char*>(aligned_alloc(64, (launch->shared + 2 * PADDING + 63) & ~63u));
  shared_bytes = room + PADDING;
  struct sigaction action = {}, before[3];
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  int signals[3] = {SIGSEGV, SIGBUS, SIGFPE};
  for (int i = 0; i < 3; i++) sigaction(signals[i], &action, &before[i]);
  int failed;
  message[0] = 0;
  if (sigsetjmp(fault, 1)) failed = 1;
  else { inside = true; failed = run_blocks(launch, room); }
  inside = false;
  if (failed) { fiber_count = 0; idle_count = 0; }  // parked fibers are forgotten, stacks reused
  for (int i = 0; i < 3; i++) sigaction(signals[i], &before[i], nullptr);
  free(room);
  return failed;
}

}  // namespace emu

extern "C" const char* emu_message() { return emu::message; }
