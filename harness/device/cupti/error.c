#include "device/cupti/error.h"
#include <stddef.h>

#define ASKED(code, name, what) \
    { \
        code, name, false, what, "" \
    }
#define REFUSED(code, name, what, cure) \
    { \
        code, name, true, what, cure \
    }

const struct cupti_cause cupti_causes[] = {
    ASKED(1, "INVALID_PARAMETER", "CUPTI rejects an argument; one unknown metric makes the whole request invalid"),
    REFUSED(2, "INVALID_DEVICE", "CUPTI does not know this device",
            "counters need a GPU of compute capability 7.5 or newer and a driver that fits libcupti: bench doctor"),
    ASKED(3, "INVALID_CONTEXT", "the CUDA context does not exist or is not the counted one"),
    ASKED(4, "INVALID_EVENT_DOMAIN_ID", "a call of the old event interface, which CUDA 13 removed"),
    ASKED(5, "INVALID_EVENT_ID", "a call of the old event interface, which CUDA 13 removed"),
    ASKED(6, "INVALID_EVENT_NAME", "a call of the old event interface, which CUDA 13 removed"),
    ASKED(7, "INVALID_OPERATION", "the call came in the wrong order: counting was not enabled, or a range is still open"),
    REFUSED(8, "OUT_OF_MEMORY", "no memory for the counters' buffers",
            "close other programs on this GPU, or count fewer groups at once (--group)"),
    REFUSED(9, "HARDWARE", "the counters of this GPU report a fault",
            "reboot the machine; when it stays, nvidia-bug-report.sh gathers what NVIDIA asks for"),
    ASKED(10, "PARAMETER_SIZE_NOT_SUFFICIENT", "a buffer handed to CUPTI is too small"),
    REFUSED(11, "API_NOT_IMPLEMENTED", "this libcupti lacks a function that bench calls",
            "sh ci/setup fetches the pinned libcupti; BENCH_LIBRARY_PATH names the folder of another"),
    REFUSED(12, "MAX_LIMIT_REACHED", "the request exceeds what CUPTI can count at once", "count fewer groups at once (--group)"),
    ASKED(13, "NOT_READY", "CUPTI has not finished the work that was asked about"),
    REFUSED(14, "NOT_COMPATIBLE", "CUPTI is in a mode that excludes counting, such as another profiling mode",
            "run without nsys, ncu, cuda-gdb and compute-sanitizer"),
    REFUSED(15, "NOT_INITIALIZED", "CUPTI reaches no CUDA driver",
            "bench doctor shows what is missing; SASS metrics cannot be planned without a driver"),
    ASKED(16, "INVALID_METRIC_ID", "a metric id that this GPU does not have"),
    ASKED(17, "INVALID_METRIC_NAME", "a metric that this GPU does not have"),
    ASKED(18, "QUEUE_EMPTY", "there are no more records"),
    ASKED(19, "INVALID_HANDLE", "a handle that CUPTI does not know"),
    ASKED(20, "INVALID_STREAM", "a stream that CUPTI does not know"),
    ASKED(21, "INVALID_KIND", "a kind of record that CUPTI does not know"),
    ASKED(22, "INVALID_EVENT_VALUE", "a call of the old event interface, which CUDA 13 removed"),
    REFUSED(23, "DISABLED", "CUPTI is switched off because another profiler is active in this process",
            "run without nsys, ncu, cuda-gdb and compute-sanitizer, and unset CUDA_INJECTION64_PATH"),
    ASKED(24, "INVALID_MODULE", "a CUDA module that CUPTI does not know"),
    ASKED(25, "INVALID_METRIC_VALUE", "the value of a metric could not be computed"),
    REFUSED(26, "HARDWARE_BUSY", "another program uses the counters of this GPU (DCGM does while its service runs)",
            "dcgmi profile --pause before the run and --resume after it; or end the other profiler"),
    REFUSED(27, "NOT_SUPPORTED", "this GPU, driver or mode has no such counters",
            "bench counters --chip CHIP lists the chip's counters; update the driver to one that fits libcupti"),
    REFUSED(28, "UM_PROFILING_NOT_SUPPORTED", "unified memory cannot be profiled on this system",
            "bench does not need it: leave its metrics out"),
    REFUSED(29, "UM_PROFILING_NOT_SUPPORTED_ON_DEVICE", "unified memory cannot be profiled on this GPU",
            "bench does not need it: leave its metrics out"),
    REFUSED(30, "UM_PROFILING_NOT_SUPPORTED_ON_NON_P2P_DEVICES", "unified memory cannot be profiled on GPUs that cannot reach each other",
            "make one GPU visible: CUDA_VISIBLE_DEVICES=0"),
    REFUSED(31, "UM_PROFILING_NOT_SUPPORTED_WITH_MPS", "unified memory cannot be profiled under MPS",
            "stop MPS: echo quit | nvidia-cuda-mps-control"),
    REFUSED(32, "CDP_TRACING_NOT_SUPPORTED", "kernels that start kernels cannot be traced on this GPU",
            "count a variant that starts its kernels from the host"),
    REFUSED(33, "VIRTUALIZED_DEVICE_NOT_SUPPORTED", "this is a virtual GPU whose type has no counters",
            "use a passed-through or bare GPU, or a vGPU type that supports profiling"),
    REFUSED(34, "CUDA_COMPILER_NOT_COMPATIBLE", "the code was built by a compiler too old for these counters",
            "compile again: bench run --compiler nvrtc"),
    REFUSED(35, "INSUFFICIENT_PRIVILEGES", "this user may not read the counters of the GPU (ERR_NVGPUCTRPERM)",
            "an administrator loads the driver with NVreg_RestrictProfilingToAdminUsers=0, or run as root or with CAP_SYS_ADMIN (in a "
            "container: --cap-add SYS_ADMIN)"),
    REFUSED(36, "OLD_PROFILER_API_INITIALIZED", "the old profiling interface is already in use in this process",
            "run without the tool that uses it"),
    REFUSED(37, "OPENACC_UNDEFINED_ROUTINE", "an OpenACC library lacks what profiling needs",
            "bench uses no OpenACC: unset what preloads it (LD_PRELOAD)"),
    REFUSED(38, "LEGACY_PROFILER_NOT_SUPPORTED", "the old profiling interface does not support this GPU, and CUDA 13 removed it",
            "sh ci/setup fetches the libcupti that bench is made for; bench doctor shows which one is loaded"),
    REFUSED(39, "MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED",
            "another profiler is attached to this process (nsys, ncu, cuda-gdb or a preloaded library)",
            "run bench alone; under those tools use bench exec, which does not count"),
    REFUSED(
        40, "VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES", "the hypervisor does not let this virtual machine read counters",
        "its administrator enables profiling for this vGPU (pciPassthru0.cfg.enable_profiling = 1 or enable_profiling of the vGPU plugin)"),
    REFUSED(41, "CONFIDENTIAL_COMPUTING_NOT_SUPPORTED", "the GPU runs in confidential computing mode, which hides its counters",
            "the administrator sets the mode to devtools or off and resets the GPU"),
    REFUSED(42, "CMP_DEVICE_NOT_SUPPORTED", "CUPTI does not count on mining boards", "use another GPU"),
    REFUSED(43, "MIG_DEVICE_NOT_SUPPORTED", "the GPU is split (MIG) and this slice has no counters",
            "run on a GPU without MIG, or on a slice that holds the whole GPU"),
    REFUSED(44, "SLI_DEVICE_NOT_SUPPORTED", "GPUs joined by SLI have no counters", "switch SLI off in the driver's settings"),
    REFUSED(45, "WSL_DEVICE_NOT_SUPPORTED", "this GPU has no counters under WSL",
            "enable counters for all users in the NVIDIA control panel of Windows, update WSL and driver, or boot Linux"),
    REFUSED(46, "INVALID_CHIP_NAME", "libcupti does not support this chip",
            "bench counters --chip '?' lists the supported chips; a newer libcupti may support more (BENCH_LIBRARY_PATH)"),
    ASKED(999, "UNKNOWN", "CUPTI reports an internal error without an explanation"),
    {0, NULL, false, NULL, NULL},
};

const struct cupti_cause *cupti_cause(int code)
{
    for (const struct cupti_cause *c = cupti_causes; c->name; c++)
        if (c->code == code)
            return c;
    return NULL;
}

bool cupti_ok(int code, const char *call, struct error *err)
{
    if (!code)
        return true;
    const struct cupti_cause *c = cupti_cause(code);
    if (!c)
        return error_set(err, ERROR_INTERNAL, "%s: CUPTI error %d, which bench does not know", call, code);
    error_set(err, c->machine ? ERROR_ENVIRONMENT : ERROR_INTERNAL, "%s: %s (CUPTI error %d, %s)", call, c->what, code, c->name);
    if (c->cure[0])
        error_hint(err, "%s", c->cure);
    return false;
}
