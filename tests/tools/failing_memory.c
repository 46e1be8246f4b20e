// To be preloaded (LD_PRELOAD). Counts requests for memory from the start of main on: the allocations of the C library,
// and the mappings that the program makes itself. Request number $FAIL_FROM fails, and so do all that follow it; with
// $FAIL_ONLY, only that one fails. With $COUNT_REQUESTS, none fails, and their number is written into the file of that name.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static atomic_long requests;
static long fail_from = -1;
static int fail_only;

static int fails(void) {
  if (fail_from < 0) return 0;
  const long number = atomic_fetch_add(&requests, 1) + 1;
  if (number < fail_from || (fail_only && number > fail_from)) return 0;
  errno = ENOMEM;
  return 1;
}

void *malloc(size_t size) { return fails() ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return fails() ? NULL : __libc_calloc(count, size); }
void *realloc(void *old, size_t size) { return fails() ? NULL : __libc_realloc(old, size); }
void *memalign(size_t alignment, size_t size) { return fails() ? NULL : __libc_memalign(alignment, size); }
void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void **memory, size_t alignment, size_t size) {
  *memory = memalign(alignment, size);
  return *memory == NULL ? ENOMEM : 0;
}

void *mmap(void *address, size_t size, int protection, int flags, int file, off_t offset) {
  static void *(*real)(void *, size_t, int, int, int, off_t);
  if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "mmap");
  return fails() ? MAP_FAILED : real(address, size, protection, flags, file, offset);
}
void *mmap64(void *address, size_t size, int protection, int flags, int file, off_t offset) {
  return mmap(address, size, protection, flags, file, offset);
}

static void write_count(void) {
  const long count = atomic_load(&requests);
  FILE *file = fopen(getenv("COUNT_REQUESTS"), "w");
  if (file == NULL) abort();
  fprintf(file, "%ld\n", count);
  fclose(file);
}

static int (*real_main)(int, char **, char **);
static int armed_main(int argc, char **argv, char **environment) {
  const char *number = getenv("FAIL_FROM");
  const char *only = getenv("FAIL_ONLY");
  fail_only = only != NULL;
  fail_from = only != NULL ? atol(only) : number != NULL ? atol(number) : -1;
  if (getenv("COUNT_REQUESTS") != NULL) {
    fail_from = LONG_MAX;
    atexit(write_count);
  }
  return real_main(argc, argv, environment);
}

int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void), void (*fini)(void),
                      void (*rtld_fini)(void), void *stack_end) {
  int (*start)(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void), void (*)(void), void *);
  *(void **)&start = dlsym(RTLD_NEXT, "__libc_start_main");
  real_main = main;
  return start(armed_main, argc, argv, init, fini, rtld_fini, stack_end);
}
