/* A stand-in for libnvidia-ml.so.1: a board at 1980 and 3201 MHz, 310 W and 45 degrees C, whose clock is held down by power (bit 2). Beside
 * the process that asks, process 1 computes on it. */
#include <stddef.h>
#include <unistd.h>

struct process {
    unsigned pid;
    unsigned long long used;
    unsigned gpu_instance, compute_instance;
};

int nvmlInit_v2(void)
{
    return 0;
}
int nvmlShutdown(void)
{
    return 0;
}
const char *nvmlErrorString(int error)
{
    return error ? "an error" : "no error";
}
int nvmlDeviceGetHandleByUUID(const char *uuid, void **device)
{
    *device = (void *)uuid;
    return 0;
}
int nvmlDeviceGetClockInfo(void *device, int which, unsigned *mhz)
{
    *mhz = which == 2 ? 3201 : 1980;
    return 0;
}
int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts)
{
    *milliwatts = 310000;
    return 0;
}
int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *degrees)
{
    *degrees = 45;
    return sensor;
}
int nvmlDeviceGetCurrentClocksEventReasons(void *device, unsigned long long *bits)
{
    *bits = 4;
    return 0;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, struct process *all)
{
    const struct process known[] = {{.pid = (unsigned)getpid()}, {.pid = 1}};
    if (*count < 2)
        return 7;
    all[0] = known[0];
    all[1] = known[1];
    *count = 2;
    return 0;
}
