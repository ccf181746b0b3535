#include "device/cupti/cupti.h"
#include "base/file.h"
#include "base/library.h"
#include "device/cupti/error.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Loaded once and kept: CUPTI does not like to be unloaded. */
static struct cupti_library {
    struct library library;
    struct cupti_shim shim;
    bool ready;
} cupti;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct cupti_chip {
    char *name;
    const uint8_t *availability;
    struct cupti_shim_host *host; /* for questions; a plan has its own, for what is added to one can not be taken back */
};

/* libcupti loads these by name when it is first used, and a folder of wheels is not on the loader's path. So bench first loads the files
 * next to it, which makes the names known. If one is missing, CUPTI reports that. */
static void open_companions(const char *library)
{
    static const char *const names[] = {"libnvperf_host.so", "libnvperf_target.so"};
    SCOPED char *dir = file_dir(library);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        SCOPED char *path = file_join(dir, names[i]);
        if (file_exists(path))
            dlopen(path, RTLD_NOW | RTLD_GLOBAL); /* stays for the life of the process */
    }
}

static bool load_locked(struct error *err)
{
    static const char *const sonames[] = {"libcupti.so.13", NULL};
    if (cupti.ready)
        return true;
    if (!cupti.library.handle && !library_open(&cupti.library, sonames, err)) {
        error_where(err, "no hardware counters");
        return false;
    }
    for (int i = 0; i < CUPTI_SHIM_CALLS; i++) {
        cupti.shim.call[i] = library_symbol(&cupti.library, cupti_shim_names[i], err);
        if (!cupti.shim.call[i])
            return false;
    }
    open_companions(cupti.library.path);
    cupti.ready = true;
    return true;
}

static bool cupti_load(struct error *err)
{
    pthread_mutex_lock(&lock);
    bool ok = load_locked(err);
    pthread_mutex_unlock(&lock);
    return ok;
}

const char *cupti_path(void)
{
    return cupti.ready ? cupti.library.path : "";
}

bool cupti_functions(const struct cupti_function *functions, size_t count, struct error *err)
{
    if (!cupti_load(err))
        return false;
    for (size_t i = 0; i < count; i++) {
        void *address = library_symbol(&cupti.library, functions[i].name, err);
        if (!address)
            return false;
        memcpy(functions[i].to, &address, sizeof address);
    }
    return true;
}

bool cupti_chips(const char *const **names, size_t *count, struct error *err)
{
    *names = NULL;
    *count = 0;
    if (!cupti_load(err))
        return false;
    return cupti_ok(cupti_shim_chips(&cupti.shim, names, count), cupti_shim_names[CUPTI_SHIM_CHIPS], err);
}

static bool unknown_chip(const char *chip, struct error *err)
{
    const char *const *names;
    size_t count;
    struct text all = {0};
    if (!cupti_chips(&names, &count, err))
        return false;
    const char *near = text_nearest(chip, names, count);
    text_add_list(&all, names, count);
    error_set(err, ERROR_USAGE, "CUPTI has no chip '%.60s'; it has %s", chip, text_get(&all));
    if (near)
        error_hint(err, "%s", near);
    text_free(&all);
    return false;
}

bool cupti_open(const char *chip, const uint8_t *availability, struct cupti_chip **chip_out, struct error *err)
{
    struct cupti_shim_host *host = NULL;
    const char *const *names;
    size_t count;
    *chip_out = NULL;
    if (!cupti_chips(&names, &count, err))
        return false;
    bool known = availability != NULL; /* a device's own image may describe a chip newer than this library's list */
    for (size_t i = 0; i < count && !known; i++)
        known = !strcmp(names[i], chip);
    int code = known ? cupti_shim_initialize(&cupti.shim, chip, availability, &host) : 46;
    if (code == 46)
        return unknown_chip(chip, err);
    if (!cupti_ok(code, cupti_shim_names[CUPTI_SHIM_INITIALIZE], err))
        return false;
    struct cupti_chip *c = xcalloc(1, sizeof *c);
    c->name = xstrdup(chip);
    c->availability = availability;
    c->host = host;
    *chip_out = c;
    return true;
}

void cupti_close(struct cupti_chip *chip)
{
    if (!chip)
        return;
    cupti_shim_deinitialize(&cupti.shim, chip->host);
    free(chip->name);
    free(chip);
}

const char *cupti_name(const struct cupti_chip *chip)
{
    return chip->name;
}

/* A metric's roll-up begins at the last dot behind which, or before which, CUPTI offers the rest: ".sum", ".avg.per_second". */
static bool has_rollup(struct cupti_chip *chip, enum cupti_shim_kind kind, const char *metric)
{
    const char *const *rollups;
    size_t count, length = strlen(metric);
    if (cupti_shim_sub_metrics(&cupti.shim, chip->host, kind, metric, &rollups, &count))
        return false;
    for (size_t i = 0; i < count; i++) {
        size_t n = strlen(rollups[i]);
        if (n < length && !strcmp(metric + length - n, rollups[i]))
            return true;
    }
    return false;
}

static bool cupti_find(struct cupti_chip *chip, const char *metric, struct cupti_metric *out)
{
    if (cupti_shim_properties(&cupti.shim, chip->host, metric, &out->kind, &out->about, &out->unit) ||
        (unsigned)out->kind >= CUPTI_SHIM_KINDS)
        return false;
    return has_rollup(chip, out->kind, metric);
}

bool cupti_has(struct cupti_chip *chip, const char *metric)
{
    struct cupti_metric m;
    return cupti_find(chip, metric, &m);
}

/* `metric` up to where its roll-up seems to begin: the first dot behind the `__` of its unit ("sm__cycles", "FE_A.TriageCompute.fe__x"). */
static char *base_name(const char *metric)
{
    const char *bar = strstr(metric, "__"), *dot = strchr(bar ? bar : metric, '.');
    return dot ? xstrndup(metric, (size_t)(dot - metric)) : xstrdup(metric);
}

static bool wrong_rollup(struct cupti_chip *chip, enum cupti_shim_kind kind, const char *base, const char *metric, struct error *err)
{
    const char *const *rollups;
    size_t count;
    if (!cupti_ok(cupti_shim_sub_metrics(&cupti.shim, chip->host, kind, base, &rollups, &count), cupti_shim_names[CUPTI_SHIM_SUB_METRICS],
                  err))
        return false;
    const char *given = metric + strlen(base), *near = *given ? text_nearest(given, rollups, count) : NULL;
    SCOPED_TEXT some = {0};
    text_add_list(&some, rollups, count < 12 ? count : 12);
    error_set(err, ERROR_USAGE,
              *given ? "metric '%.200s': %s has no such roll-up; it has %s%s" : "metric '%.200s' needs a roll-up: %s has %s%s", metric,
              base, text_get(&some), count > 12 ? ", ..." : "");
    if (near || count)
        error_hint(err, "%s%s", base, near ? near : kind == CUPTI_SHIM_COUNTER ? ".sum" : rollups[0]);
    return false;
}

/* The nearest of all names of the chip, by CUPTI's own lists. */
static const char *nearest(struct cupti_chip *chip, const char *base)
{
    SCOPED const char **all = NULL;
    size_t total = 0;
    for (int kind = 0; kind < CUPTI_SHIM_KINDS; kind++) {
        const char *const *names;
        size_t count;
        if (cupti_shim_base_metrics(&cupti.shim, chip->host, (enum cupti_shim_kind)kind, &names, &count))
            continue;
        all = xrealloc(all, (total + count + 1) * sizeof *all);
        for (size_t i = 0; i < count; i++)
            all[total++] = names[i];
    }
    return total ? text_nearest(base, all, total) : NULL;
}

bool cupti_describe(struct cupti_chip *chip, const char *metric, struct cupti_metric *out, struct error *err)
{
    if (cupti_find(chip, metric, out))
        return true;
    SCOPED char *base = base_name(metric);
    struct cupti_metric m;
    bool ok = cupti_shim_properties(&cupti.shim, chip->host, base, &m.kind, &m.about, &m.unit) == 0 && *base;
    if (ok) {
        wrong_rollup(chip, m.kind, base, metric, err);
    } else {
        const char *near = nearest(chip, base), *rollup = metric + strlen(base);
        error_set(err, ERROR_USAGE, "%s has no metric '%.200s'", chip->name, metric);
        if (near)
            error_hint(err, "%s%s", near, rollup);
        else
            error_hint(err, "bench counters --chip %s --list '*' names them all", chip->name);
    }
    return false;
}

int cupti_list(struct cupti_chip *chip, const char *pattern, struct text *out, struct error *err)
{
    int found = 0;
    for (int kind = 0; kind < CUPTI_SHIM_KINDS; kind++) {
        const char *const *names;
        size_t count;
        if (!cupti_ok(cupti_shim_base_metrics(&cupti.shim, chip->host, (enum cupti_shim_kind)kind, &names, &count),
                      cupti_shim_names[CUPTI_SHIM_BASE_METRICS], err))
            return -1;
        for (size_t i = 0; i < count; i++) {
            if (!text_glob(pattern, names[i]))
                continue;
            struct cupti_metric m;
            bool known = !cupti_shim_properties(&cupti.shim, chip->host, names[i], &m.kind, &m.about, &m.unit);
            text_addf(out, "%-72s %-16s %s\n", names[i], known ? m.unit : "", known ? m.about : "");
            found++;
        }
    }
    return found;
}

/* Adds the metrics to the plan's host object and takes its config image and number of passes. */
static bool schedule(struct cupti_plan *plan, const char *const *metrics, size_t count, struct error *err)
{
    int call = CUPTI_SHIM_ADD_METRICS, code = cupti_shim_add_metrics(&cupti.shim, plan->host, metrics, count);
    if (!code) {
        call = CUPTI_SHIM_CONFIG_SIZE;
        code = cupti_shim_config_size(&cupti.shim, plan->host, &plan->config_bytes);
    }
    if (!code) {
        plan->config = xcalloc(plan->config_bytes + 1, 1);
        call = CUPTI_SHIM_CONFIG;
        code = cupti_shim_config(&cupti.shim, plan->host, plan->config, plan->config_bytes);
    }
    if (!code) {
        call = CUPTI_SHIM_PASSES;
        code = cupti_shim_passes(&cupti.shim, plan->config, plan->config_bytes, &plan->passes);
    }
    return cupti_ok(code, cupti_shim_names[call], err);
}

/* CUPTI puts a metric into the first pass with room for it. In this order the basic groups take 10 passes on GH100 and those of slow rows
 * 5, and not 11 and 6: metrics of the SM first, warp states last. */
static int part_of(const char *metric)
{
    return strstr(metric, "_stalled_") ? 2 : strncmp(metric, "sm__", 4) ? 1 : 0;
}

bool cupti_plan(struct cupti_chip *chip, const char *const *metrics, size_t count, struct cupti_plan *plan, struct error *err)
{
    *plan = (struct cupti_plan){0};
    struct cupti_metric m;
    if (!count)
        return error_set(err, ERROR_USAGE, "no metrics to plan");
    if (!ALL_OF(i, count, cupti_describe(chip, metrics[i], &m, err)))
        return false;
    if (!cupti_ok(cupti_shim_initialize(&cupti.shim, chip->name, chip->availability, &plan->host), cupti_shim_names[CUPTI_SHIM_INITIALIZE],
                  err))
        return false;
    SCOPED const char **order = xcalloc(count, sizeof *order);
    size_t placed = 0;
    for (int part = 0; part < 3; part++)
        for (size_t i = 0; i < count; i++)
            if (part_of(metrics[i]) == part)
                order[placed++] = metrics[i];
    if (!schedule(plan, order, count, err)) {
        cupti_plan_free(plan);
        return false;
    }
    return true;
}

void cupti_plan_free(struct cupti_plan *plan)
{
    if (plan->host)
        cupti_shim_deinitialize(&cupti.shim, plan->host);
    free(plan->config);
    *plan = (struct cupti_plan){0};
}

bool cupti_evaluate(const struct cupti_plan *plan, const uint8_t *data, size_t bytes, size_t range, const char *const *metrics,
                    size_t count, double *values, struct error *err)
{
    return cupti_ok(cupti_shim_evaluate(&cupti.shim, plan->host, data, bytes, range, metrics, count, values),
                    cupti_shim_names[CUPTI_SHIM_EVALUATE], err);
}
