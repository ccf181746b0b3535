/* NVML by dlopen. Its header is in no package that bench installs; what is used here is its stable C interface: unsigned out-parameters, 0
 * = success. */
#include "device/cuda/nvml.h"
#include "base/library.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { CLOCK_SM = 1, CLOCK_MEMORY = 2, ECC_UNCORRECTED = 1, SINCE_BOOT = 0, SENSOR_GPU = 0, SUCCESS = 0 };
struct nvml_handle;   /* opaque */
struct nvml_process { /* nvmlProcessInfo_v2_t */
    unsigned pid;
    unsigned long long used;
    unsigned gpu_instance, compute_instance;
};
#define PROCESSES 64

static struct nvml {
    struct library library;
    int users;
    char uuid[64]; /* whose handle `device` is */
    struct nvml_handle *device;
    int (*init)(void);
    int (*shutdown)(void);
    const char *(*error_string)(int);
    int (*by_uuid)(const char *, struct nvml_handle **);
    /* each may be missing in some driver: then its field is absent */
    int (*clock)(struct nvml_handle *, int, unsigned *);
    int (*power)(struct nvml_handle *, unsigned *);
    int (*power_limit)(struct nvml_handle *, unsigned *);
    int (*temperature)(struct nvml_handle *, int, unsigned *);
    int (*reasons)(struct nvml_handle *, unsigned long long *);
    int (*processes)(struct nvml_handle *, unsigned *, struct nvml_process *);
    int (*ecc)(struct nvml_handle *, int, int, unsigned long long *);
    int (*driver)(char *, unsigned);
} nvml;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *optional(const char *name, const char *older)
{
    void *p = library_symbol(&nvml.library, name, NULL);
    return p || !older ? p : library_symbol(&nvml.library, older, NULL);
}

static bool nvml_load(struct error *err)
{
    static const char *const sonames[] = {"libnvidia-ml.so.1", NULL};
    struct library *l = &nvml.library;
    if (!library_open(l, sonames, NULL))
        return error_set(err, ERROR_ENVIRONMENT, "NVML (libnvidia-ml.so.1) was not found: no clocks, power or throttle reasons");
    nvml.init = (int (*)(void))library_symbol(l, "nvmlInit_v2", err);
    nvml.shutdown = (int (*)(void))library_symbol(l, "nvmlShutdown", err);
    nvml.error_string = (const char *(*)(int))library_symbol(l, "nvmlErrorString", err);
    nvml.by_uuid = (int (*)(const char *, struct nvml_handle **))library_symbol(l, "nvmlDeviceGetHandleByUUID", err);
    nvml.clock = (int (*)(struct nvml_handle *, int, unsigned *))optional("nvmlDeviceGetClockInfo", NULL);
    nvml.power = (int (*)(struct nvml_handle *, unsigned *))optional("nvmlDeviceGetPowerUsage", NULL);
    nvml.power_limit = (int (*)(struct nvml_handle *, unsigned *))optional("nvmlDeviceGetEnforcedPowerLimit", NULL);
    nvml.temperature = (int (*)(struct nvml_handle *, int, unsigned *))optional("nvmlDeviceGetTemperature", NULL);
    nvml.reasons = (int (*)(struct nvml_handle *, unsigned long long *))optional("nvmlDeviceGetCurrentClocksEventReasons",
                                                                                 "nvmlDeviceGetCurrentClocksThrottleReasons");
    nvml.processes = (int (*)(struct nvml_handle *, unsigned *, struct nvml_process *))optional("nvmlDeviceGetComputeRunningProcesses_v3",
                                                                                                "nvmlDeviceGetComputeRunningProcesses_v2");
    nvml.ecc = (int (*)(struct nvml_handle *, int, int, unsigned long long *))optional("nvmlDeviceGetTotalEccErrors", NULL);
    nvml.driver = (int (*)(char *, unsigned))optional("nvmlSystemGetDriverVersion", NULL);
    if (!nvml.init || !nvml.shutdown || !nvml.error_string || !nvml.by_uuid)
        return false;
    int r = nvml.init();
    return r == SUCCESS || error_set(err, ERROR_ENVIRONMENT, "NVML does not start: %s", nvml.error_string(r));
}

bool nvml_open(struct error *err)
{
    pthread_mutex_lock(&lock);
    bool ok = nvml.users > 0 || nvml_load(err);
    if (ok) {
        nvml.users++;
    } else {
        library_close(&nvml.library);
        memset(&nvml, 0, sizeof nvml);
    }
    pthread_mutex_unlock(&lock);
    return ok;
}

void nvml_close(void)
{
    pthread_mutex_lock(&lock);
    if (nvml.users > 0 && --nvml.users == 0) {
        nvml.shutdown();
        library_close(&nvml.library);
        memset(&nvml, 0, sizeof nvml);
    }
    pthread_mutex_unlock(&lock);
}

static bool nvml_find(const char *uuid)
{
    if (!nvml.users || !uuid || !uuid[0])
        return false;
    if (nvml.device && strcmp(nvml.uuid, uuid) == 0)
        return true;
    nvml.device = NULL;
    if (nvml.by_uuid(uuid, &nvml.device) != SUCCESS) {
        nvml.device = NULL;
        return false;
    }
    snprintf(nvml.uuid, sizeof nvml.uuid, "%s", uuid);
    return true;
}

bool nvml_read(const char *uuid, struct nvml_sample *out)
{
    unsigned v;
    unsigned long long bits;
    *out = (struct nvml_sample){-1, -1, -1, -1, -1, -1, -1};
    pthread_mutex_lock(&lock);
    bool found = nvml_find(uuid);
    if (found) {
        if (nvml.clock && nvml.clock(nvml.device, CLOCK_SM, &v) == SUCCESS)
            out->sm_clock_hz = v * 1e6;
        if (nvml.clock && nvml.clock(nvml.device, CLOCK_MEMORY, &v) == SUCCESS)
            out->memory_clock_hz = v * 1e6;
        if (nvml.power && nvml.power(nvml.device, &v) == SUCCESS)
            out->power_w = v * 1e-3;
        if (nvml.power_limit && nvml.power_limit(nvml.device, &v) == SUCCESS)
            out->power_limit_w = v * 1e-3;
        if (nvml.temperature && nvml.temperature(nvml.device, SENSOR_GPU, &v) == SUCCESS)
            out->temperature_c = v;
        if (nvml.reasons && nvml.reasons(nvml.device, &bits) == SUCCESS)
            out->throttle = (int64_t)bits;
        if (nvml.ecc && nvml.ecc(nvml.device, ECC_UNCORRECTED, SINCE_BOOT, &bits) == SUCCESS)
            out->ecc_errors = (int64_t)bits;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

int nvml_processes(const char *uuid, long *pids, int room)
{
    struct nvml_process found[PROCESSES];
    unsigned count = PROCESSES;
    int taken = -1;
    pthread_mutex_lock(&lock);
    if (nvml_find(uuid) && nvml.processes && nvml.processes(nvml.device, &count, found) == SUCCESS)
        for (taken = 0; taken < room && taken < (int)count; taken++)
            pids[taken] = (long)found[taken].pid;
    pthread_mutex_unlock(&lock);
    return taken;
}

bool nvml_driver(char *out, int bytes)
{
    if (!nvml_open(NULL))
        return false;
    bool ok = nvml.driver && nvml.driver(out, (unsigned)bytes) == SUCCESS;
    nvml_close();
    return ok;
}
