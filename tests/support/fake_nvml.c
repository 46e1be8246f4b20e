// A library that answers for one device as NVML would, for tests/unit/inference/device/device_monitor_test.cpp. This
// device does not report its memory clock. Each question for the SM clock, the power and the energy is answered with a
// larger number.
#include <string.h>

static int device;

int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }

int nvmlDeviceGetHandleByUUID(const char* uuid, void** handle) {
  if (strcmp(uuid, "GPU-00112233-4455-6677-8899-aabbccddeeff") != 0 &&
      strcmp(uuid, "MIG-ffeeddcc-bbaa-9988-7766-554433221100") != 0)
    return 6;
  *handle = &device;
  return 0;
}

int nvmlDeviceGetClockInfo(void* handle, int type, unsigned* mhz) {
  static unsigned clock = 1000;
  if (handle != &device || type != 1) return 3;
  *mhz = clock;
  clock += 100;
  return 0;
}

int nvmlDeviceGetTemperature(void* handle, int sensor, unsigned* celsius) {
  if (handle != &device || sensor != 0) return 3;
  *celsius = 41;
  return 0;
}

int nvmlDeviceGetPowerUsage(void* handle, unsigned* milliwatts) {
  static unsigned power = 100000;
  if (handle != &device) return 3;
  *milliwatts = power;
  power += 50500;
  return 0;
}

int nvmlDeviceGetTotalEnergyConsumption(void* handle, unsigned long long* millijoules) {
  static unsigned long long energy = 7000000000000;
  if (handle != &device) return 3;
  *millijoules = energy;
  energy += 6000;
  return 0;
}
