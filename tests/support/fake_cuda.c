// A driver that has the CUDA version of the environment's FAKE_CUDA (12040: 12.4) and no device, for
// tests/cli/devices.bats.
#include <stdlib.h>
#include <string.h>

enum { no_device = 100, unknown = 999 };

int cuDriverGetVersion(int* version) {
  *version = atoi(getenv("FAKE_CUDA"));
  return 0;
}

static int init(unsigned flags) {
  (void)flags;
  return no_device;
}

static int other(void) { return unknown; }

int cuGetProcAddress_v2(const char* name, void** function, int version, unsigned long long flags, int* status) {
  (void)version;
  (void)flags;
  *function = (void*)other;
  if (strcmp(name, "cuDriverGetVersion") == 0) *function = (void*)cuDriverGetVersion;
  if (strcmp(name, "cuInit") == 0) *function = (void*)init;
  if (strcmp(name, "cuGetProcAddress") == 0) *function = (void*)cuGetProcAddress_v2;
  if (status != NULL) *status = 0;
  return 0;
}
