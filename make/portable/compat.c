// Functions of newer glibc versions that the program, the C++ runtime and linked libraries use and glibc 2.28 lacks. Only
// portable programs and plug-ins link this file (make/portable.mk). In brackets: the version that introduced the symbol, and
// its users. None is exported.
#define _GNU_SOURCE
#include <link.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

// The stat family (2.33; the program, libstdc++, libmd): before, these were inline functions that called __xstat and so on with
// the version of the struct's layout.
enum { kLayout = 1 };
extern int __xstat(int, const char*, struct stat*);
extern int __lxstat(int, const char*, struct stat*);
extern int __fxstat(int, int, struct stat*);
int stat(const char* path, struct stat* file) { return __xstat(kLayout, path, file); }
int lstat(const char* path, struct stat* file) { return __lxstat(kLayout, path, file); }
int fstat(int descriptor, struct stat* file) { return __fxstat(kLayout, descriptor, file); }
int fstat64(int descriptor, struct stat64* file) { return __fxstat(kLayout, descriptor, (struct stat*)file); }

// __libc_single_threaded (2.32, std::shared_ptr): whether reference counts may skip atomic instructions. Always 0 is safe.
char __libc_single_threaded = 0;

// arc4random (2.36, std::random_device).
uint32_t arc4random(void) {
  uint32_t number;
  if (getrandom(&number, sizeof number, 0) != sizeof number) abort();
  return number;
}

// pthread_cond_clockwait, pthread_mutex_clocklock (2.30; libstdc++'s waits on the steady clock): the older functions know the
// system clock alone, so deadlines are converted to it. If that clock is set during a wait, the wait is shorter, which callers
// detect by the steady clock, or longer, as with every libstdc++ before glibc 2.30.
static struct timespec in_system_time(clockid_t clock, const struct timespec* deadline) {
  enum { kSecond = 1000000000 };
  struct timespec here, system;
  clock_gettime(clock, &here);
  clock_gettime(CLOCK_REALTIME, &system);
  system.tv_sec += deadline->tv_sec - here.tv_sec;
  system.tv_nsec += deadline->tv_nsec - here.tv_nsec;
  if (system.tv_nsec < 0) system.tv_sec -= 1, system.tv_nsec += kSecond;
  if (system.tv_nsec >= kSecond) system.tv_sec += 1, system.tv_nsec -= kSecond;
  return system;
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const struct timespec* deadline) {
  const struct timespec system = in_system_time(clock, deadline);
  return pthread_cond_timedwait(condition, mutex, &system);
}

int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock, const struct timespec* deadline) {
  const struct timespec system = in_system_time(clock, deadline);
  return pthread_mutex_timedlock(mutex, &system);
}

// _dl_find_object (2.35, libgcc's unwinder): finds the object that contains an address, and its table of frames. Earlier
// versions of libgcc used dl_iterate_phdr, which takes some microseconds per exception.
struct Search {
  uintptr_t address;
  struct dl_find_object* result;
};

static int look_at(struct dl_phdr_info* object, size_t size, void* data) {
  struct Search* const search = data;
  (void)size;
  const ElfW(Phdr)* frames = NULL;
  const ElfW(Phdr)* holds = NULL;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)* const part = &object->dlpi_phdr[i];
    if (part->p_type == PT_GNU_EH_FRAME) frames = part;
    if (part->p_type == PT_LOAD && search->address - (object->dlpi_addr + part->p_vaddr) < part->p_memsz) holds = part;
  }
  if (frames == NULL || holds == NULL) return 0;
  *search->result = (struct dl_find_object){
      .dlfo_map_start = (void*)(object->dlpi_addr + holds->p_vaddr),
      .dlfo_map_end = (void*)(object->dlpi_addr + holds->p_vaddr + holds->p_memsz),
      .dlfo_eh_frame = (void*)(object->dlpi_addr + frames->p_vaddr),
  };
  return 1;
}

int _dl_find_object(void* address, struct dl_find_object* result) {
  struct Search search = {(uintptr_t)address, result};
  return dl_iterate_phdr(look_at, &search) == 1 ? 0 : -1;
}
