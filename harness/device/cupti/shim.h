/* device/cupti/shim: CUPTI 13's host API as plain C. Its header, cupti_profiler_host.h, is C++ only, so one .cpp file wraps it.
 *
 * Every function returns CUPTI's own result code (0 = done; error.h puts it into words). Names and lists belong to CUPTI
 * and live as long as the host object, the chips as long as the library. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The functions of libcupti that the shim calls, in the order of cupti_shim_names. */
enum cupti_shim_call {
    CUPTI_SHIM_INITIALIZE,
    CUPTI_SHIM_DEINITIALIZE,
    CUPTI_SHIM_CHIPS,
    CUPTI_SHIM_BASE_METRICS,
    CUPTI_SHIM_SUB_METRICS,
    CUPTI_SHIM_PROPERTIES,
    CUPTI_SHIM_ADD_METRICS,
    CUPTI_SHIM_CONFIG_SIZE,
    CUPTI_SHIM_CONFIG,
    CUPTI_SHIM_PASSES,
    CUPTI_SHIM_EVALUATE,
    CUPTI_SHIM_CALLS
};
extern const char *const cupti_shim_names[CUPTI_SHIM_CALLS];
struct cupti_shim {
    void *call[CUPTI_SHIM_CALLS];
};
/* CUPTI's kinds of metric. */
enum cupti_shim_kind { CUPTI_SHIM_COUNTER, CUPTI_SHIM_RATIO, CUPTI_SHIM_THROUGHPUT, CUPTI_SHIM_KINDS };

struct cupti_shim_host; /* CUPTI's host object of one chip */

/* `availability` is the counter availability image of a device, NULL when there is none. */
int cupti_shim_initialize(const struct cupti_shim *shim, const char *chip, const uint8_t *availability, struct cupti_shim_host **host);
int cupti_shim_deinitialize(const struct cupti_shim *shim, struct cupti_shim_host *host);
int cupti_shim_chips(const struct cupti_shim *shim, const char *const **names, size_t *count);
int cupti_shim_base_metrics(const struct cupti_shim *shim, struct cupti_shim_host *host, enum cupti_shim_kind kind,
                            const char *const **names, size_t *count);
/* ".sum", ".avg.per_second": what may follow a metric's name. */
int cupti_shim_sub_metrics(const struct cupti_shim *shim, struct cupti_shim_host *host, enum cupti_shim_kind kind, const char *metric,
                           const char *const **names, size_t *count);
int cupti_shim_properties(const struct cupti_shim *shim, struct cupti_shim_host *host, const char *metric, enum cupti_shim_kind *kind,
                          const char **about, const char **unit);
int cupti_shim_add_metrics(const struct cupti_shim *shim, struct cupti_shim_host *host, const char *const *metrics, size_t count);
int cupti_shim_config_size(const struct cupti_shim *shim, struct cupti_shim_host *host, size_t *bytes);
int cupti_shim_config(const struct cupti_shim *shim, struct cupti_shim_host *host, uint8_t *config, size_t bytes);
int cupti_shim_passes(const struct cupti_shim *shim, const uint8_t *config, size_t bytes, size_t *passes);
/* The values of a decoded range; CUPTI takes the names as they were added. */
int cupti_shim_evaluate(const struct cupti_shim *shim, struct cupti_shim_host *host, const uint8_t *data, size_t bytes, size_t range,
                        const char *const *metrics, size_t count, double *values);

#ifdef __cplusplus
}
#endif
