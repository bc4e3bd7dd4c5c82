/* Memory whose blocks end at pages that nobody may touch.

   A read or write behind a block faults at once. What lies before a block, and between its end and
   that of its last page where it is aligned, holds 0xff and is looked at when the block is given
   back; so does new memory (NaN, -1). Large blocks that were given back fault, too; small ones hold
   0xff until they are taken again, which is looked at then. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, POISON = 0xff, BEFORE = 64, SMALL = 8, MOST = 10000 };
#define RESERVED ((size_t)1 << 44)

typedef struct Head {
  size_t size, pages;
  struct Head *next; /* of the small blocks that wait to be taken again */
} Head;              /* on the page before the block's first one */

static char *first_address, *next_address;
static size_t taken, mapped;
static Head *waiting[SMALL + 1];
static int locked;

static void lock(void) {
  while (__atomic_exchange_n(&locked, 1, __ATOMIC_ACQUIRE)) {
  }
}

static void unlock(void) { __atomic_store_n(&locked, 0, __ATOMIC_RELEASE); }

int fences_begin(void) {
  void *found = mmap(0, RESERVED, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (found == MAP_FAILED) return 0;
  first_address = next_address = found;
  return 1;
}

size_t fences_taken(void) { return taken; }

static int fenced(const void *p) {
  return (char *)p >= first_address && (char *)p < first_address + RESERVED;
}

static Head *head_of(const void *p) {
  return (Head *)(((uintptr_t)p & ~(uintptr_t)(PAGE - 1)) - PAGE);
}

static char *begin_of(Head *head) { return (char *)head + PAGE; }

static char *end_of(Head *head) { return begin_of(head) + head->pages * PAGE; }

static void look(const char *from, const char *to, const char *data, size_t size, const char *when) {
  static const unsigned char untouched[PAGE] = {[0 ... PAGE - 1] = POISON};
  for (; from < to; from += PAGE) {
    size_t count = to - from < PAGE ? (size_t)(to - from) : PAGE;
    if (!memcmp(from, untouched, count)) continue;
    while ((unsigned char)*from == POISON) from++;
    fprintf(stderr, "fences: byte %td of a block of %zu bytes was written%s\n", from - data, size, when);
    abort();
  }
}

/* A block of so many pages that holds POISON; 0 where there are no addresses left or about as many
   mappings as the system allows. */
static Head *block(size_t pages) {
  Head *found = 0;
  if (pages <= SMALL) {
    lock();
    if ((found = waiting[pages])) waiting[pages] = found->next;
    unlock();
    if (found) {
      look(begin_of(found), end_of(found), begin_of(found), found->size, " after its end");
      return found;
    }
  }
  size_t total = (pages + 2) * PAGE;
  if (__atomic_load_n(&mapped, __ATOMIC_RELAXED) >= MOST) return 0;
  found = (Head *)__atomic_fetch_add(&next_address, total, __ATOMIC_RELAXED);
  if ((char *)found + total > first_address + RESERVED) return 0;
  if (mprotect(found, total - PAGE, PROT_READ | PROT_WRITE)) return 0;
  __atomic_fetch_add(&mapped, 1, __ATOMIC_RELAXED);
  found->pages = pages;
  memset(begin_of(found) - BEFORE, POISON, BEFORE + pages * PAGE);
  return found;
}

static void *take(size_t size, size_t alignment, int zero) {
  size_t asked = size ? size : 1;
  Head *head = block((asked + PAGE - 1) / PAGE);
  if (!head) {
    void *plain = 0;
    if (posix_memalign(&plain, 64, asked)) return 0;
    return memset(plain, zero ? 0 : POISON, asked);
  }
  char *data = end_of(head) - asked;
  data -= (uintptr_t)data % alignment;
  head->size = asked;
  if (zero) memset(data, 0, asked);
  __atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED);
  return data;
}

static void give(void *p) {
  if (!p) return;
  if (!fenced(p)) {
    free(p);
    return;
  }
  Head *head = head_of(p);
  char *data = p;
  look(begin_of(head) - BEFORE, data, data, head->size, "");
  look(data + head->size, end_of(head), data, head->size, "");
  if (head->pages <= SMALL) {
    memset(data, POISON, head->size);
    lock();
    head->next = waiting[head->pages];
    waiting[head->pages] = head;
    unlock();
    return;
  }
  __atomic_fetch_sub(&mapped, 1, __ATOMIC_RELAXED);
  /* addresses without memory, which stay reserved */
  mmap(head, (head->pages + 1) * PAGE, PROT_NONE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

/* ---- NumPy's allocator (PyDataMem_Handler) ---- */

/* Arrays end at the fence; an odd number of bytes starts as aligned as malloc's memory, which programs
   shift by a byte to have numbers that are not. */
static size_t alignment_for(size_t size) { return size % 2 ? 16 : 1; }

static void *array_malloc(void *context, size_t size) {
  (void)context;
  return take(size, alignment_for(size), 0);
}

static void *array_calloc(void *context, size_t count, size_t size) {
  (void)context;
  return take(count * size, alignment_for(count * size), 1);
}

static void array_free(void *context, void *p, size_t size) {
  (void)context, (void)size;
  give(p);
}

static void *array_realloc(void *context, void *p, size_t size) {
  if (p && !fenced(p)) return realloc(p, size);
  void *made = array_malloc(context, size);
  if (made && p) {
    size_t old = head_of(p)->size;
    memcpy(made, p, old < size ? old : size);
    give(p);
  }
  return made;
}

struct {
  char name[127];
  uint8_t version;
  void *context, *malloc, *calloc, *realloc, *free;
} fences_handler = {"rushlight_fences", 1, 0, array_malloc, array_calloc, array_realloc, array_free};

/* ---- large arrays of machine code, which keep their memory in bytearrays ---- */

typedef struct {
  intptr_t references;
  void *type;
  intptr_t size, room;
  char *bytes, *start;
  intptr_t exports;
} ByteArray; /* of CPython 3.11 to 3.13 */

ByteArray *PyByteArray_FromStringAndSize(const char *, intptr_t);
void *PyErr_NoMemory(void);

void *fences_large(const char *nothing, intptr_t size) { /* 64 bytes more than the array has */
  char *data = take(size - 64, 64, 0);
  if (!data) return PyErr_NoMemory();
  ByteArray *made = PyByteArray_FromStringAndSize(nothing, 0);
  if (!made) {
    give(data);
    return 0;
  }
  made->bytes = made->start = data;
  made->size = size - 64;
  made->room = size - 63;
  return made;
}

char *fences_large_start(ByteArray *array) { return array->start; }

typedef struct {
  void *context;
  void *(*malloc)(void *, size_t);
  void *(*calloc)(void *, size_t, size_t);
  void *(*realloc)(void *, void *, size_t);
  void (*free)(void *, void *);
} Allocator; /* PyMemAllocatorEx */

void PyMem_GetAllocator(int, Allocator *);
void PyMem_SetAllocator(int, Allocator *);

enum { MEMORY = 1, OBJECTS = 2 }; /* a bytearray's memory is of one of these kinds */
static Allocator before[OBJECTS + 1];

static void free_memory(void *context, void *p) {
  if (fenced(p)) give(p);
  else before[MEMORY].free(context, p);
}

static void free_object(void *context, void *p) {
  if (fenced(p)) give(p);
  else before[OBJECTS].free(context, p);
}

void fences_bytearrays(void) {
  for (int kind = MEMORY; kind <= OBJECTS; kind++) {
    PyMem_GetAllocator(kind, &before[kind]);
    Allocator own = before[kind];
    own.free = kind == MEMORY ? free_memory : free_object;
    PyMem_SetAllocator(kind, &own);
  }
}

void *fences_exact(size_t size, int zero) { return take(size, 64, zero); }

void fences_give(void *p) { give(p); }

/* ---- scratch of the worker pool's threads: new memory at every call ---- */

int64_t fences_scratch(int64_t slot, int64_t size) {
  void **last = (void **)(slot + 56);
  give(*last);
  *last = take(size, 64, 0);
  return (int64_t)*last;
}
