/* probe [--bundle FILE] [--write-bundle FILE] [--source probe.cu] [--out FILE.json]   (see probe.h; built by `make probe`)
 * probe ping | spin | trap | wild | crooked: what the children do. */
#include "probe.h"
#include "worker/devices.h"
#include "base/file.h"
#include "base/throttle.h"
#include "device/cuda/cuda.h"
#include "device/cuda/nvml.h"
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;
static const char *source = "tests/gpu/probe.cu", *out_path, *bundle;

double probe_now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double probe_median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, by_value);
    return count ? 0.5 * (values[(count - 1) / 2] + values[count / 2]) : NAN;
}

double probe_low(double *values, int count)
{
    return count ? values[count / 20] : NAN;
}

static void save(struct probe *p)
{
    struct text t = {0};
    text_addf(&t, "{%s\n}\n", text_get(&p->json));
    if (out_path)
        file_write(out_path, text_get(&t), t.len, NULL);
    text_free(&t);
}

void probe_number(struct probe *p, const char *name, double value, const char *unit)
{
    printf("%-46s %14.6g %s\n", name, value, unit);
    if (isfinite(value))
        text_addf(&p->json, "%s\n  \"%s\": {\"value\": %.9g, \"unit\": \"%s\"}", p->json.len ? "," : "", name, value, unit);
    save(p);
    fflush(stdout);
}

void probe_note(struct probe *p, const char *name, const char *text)
{
    printf("%-46s %s\n", name, text);
    text_addf(&p->json, "%s\n  \"%s\": \"", p->json.len ? "," : "", name);
    for (const char *c = text; *c; c++)
        text_addf(&p->json, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c == '\n' ? ' ' : *c);
    text_add(&p->json, "\"");
    save(p);
    fflush(stdout);
}

bool probe_check(struct probe *p, const char *name, bool ok, const struct error *err)
{
    p->checks++;
    p->failures += !ok;
    printf("%s %s%s%s\n", ok ? "ok    " : "FAILED", name, ok || !err || !err->text[0] ? "" : ": ", ok || !err ? "" : err->text);
    if (!ok) {
        char *member = text_format("failed.%s", name);
        probe_note(p, member, err ? err->text : "");
        free(member);
    }
    fflush(stdout);
    return ok;
}

struct device_function *probe_function(struct probe *p, const char *name)
{
    struct error err = {0};
    struct device_function *f = NULL;
    if (!p->dev->ops->function(p->dev, p->module, name, &f, &err))
        probe_check(p, name, false, &err);
    return f;
}

bool probe_launch(struct probe *p, const char *name, uint32_t grid, uint32_t threads, const void *params, size_t bytes, struct error *err)
{
    struct device_function *f = probe_function(p, name);
    struct device_launch l = {
        .grid = {grid ? grid : 1, 1, 1}, .block = {threads, 1, 1}, .carveout = -1, .params = params, .param_bytes = bytes};
    return f && p->dev->ops->launch(p->dev, f, &l, err);
}

static bool open_device(struct probe *p, struct error *err)
{
    char *path = realpath(source, NULL);
    struct compile_request r = {.path = path ? path : source, .label = "probe", .arch = "sm_90a"};
    bool ok = (!bundle || compile_bundle_use(bundle, err)) && compile(&r, &p->code, err) && device_open("cuda:0", &p->dev, err);
    if (ok) {
        struct device_image image = {.label = "probe",
                                     .path = source,
                                     .ptx = p->code.ptx,
                                     .ptx_bytes = p->code.ptx_bytes,
                                     .cubin = p->code.cubin,
                                     .cubin_bytes = p->code.cubin_bytes};
        ok = p->dev->ops->load(p->dev, &image, &p->module, err);
    }
    free(path);
    return ok;
}

/* What a child does: one launch, "ready" or the error on its standard output. */
static int child(const char *what)
{
    struct probe p = {0};
    struct error err = {0};
    uint64_t buffer = 0;
    bool ping = strcmp(what, "ping") == 0;
    if (!open_device(&p, &err) || !p.dev->ops->alloc(p.dev, "buffer", 4096, &buffer, &err) ||
        !p.dev->ops->fill(p.dev, buffer, 0, 4096, &err)) {
        printf("setup: %s\n", err.text);
        return 3;
    }
    bool spin = strcmp(what, "spin") == 0;
    bool ok = probe_launch(&p, ping ? "empty" : what, spin ? (uint32_t)p.dev->chip.sm_count * 2 : 1, 64, &buffer,
                           ping || strcmp(what, "trap") == 0 ? 0 : 8, &err);
    if (spin && ok) {
        printf("ready\n");
        fflush(stdout);
    }
    ok = ok && p.dev->ops->sync(p.dev, &err);
    struct error later = {0};
    bool dead = !p.dev->ops->write(p.dev, buffer, "x", 1, &later);
    printf("%s%s kind %d lost %d later %d\n", ok ? "ok" : "", err.text, err.kind, cuda_is_lost(p.dev), dead);
    device_close(p.dev);
    return 0;
}

struct kid {
    pid_t pid;
    int out;
};

static bool kid_start(const char *self, const char *what, struct kid *k)
{
    int pipes[2];
    posix_spawn_file_actions_t actions;
    char *argv[] = {(char *)(uintptr_t)self,    (char *)(uintptr_t)what,   "--source", (char *)(uintptr_t)source,
                    bundle ? "--bundle" : NULL, (char *)(uintptr_t)bundle, NULL};
    if (pipe(pipes))
        return false;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipes[1], 1);
    posix_spawn_file_actions_addclose(&actions, pipes[0]);
    bool ok = posix_spawn(&k->pid, self, &actions, NULL, argv, environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    close(pipes[1]);
    k->out = pipes[0];
    return ok;
}

/* One line of the child within the limit; false when none came. */
static bool kid_line(struct kid *k, double limit_s, char *line, size_t bytes)
{
    double end = probe_now_s() + limit_s;
    size_t n = 0;
    line[0] = 0;
    while (n + 1 < bytes) {
        struct pollfd f = {k->out, POLLIN, 0};
        int left_ms = (int)((end - probe_now_s()) * 1e3);
        if (left_ms <= 0 || poll(&f, 1, left_ms) <= 0 || read(k->out, line + n, 1) != 1)
            break;
        if (line[n] == '\n') {
            line[n] = 0;
            return true;
        }
        line[++n] = 0;
    }
    return n > 0;
}

/* Kills and waits at most limit_s; the time until the process was gone, or -1. */
static double kid_kill(struct kid *k, double limit_s)
{
    double start = probe_now_s();
    kill(k->pid, SIGKILL);
    while (waitpid(k->pid, NULL, WNOHANG) == 0) {
        if (probe_now_s() - start > limit_s)
            return -1;
        usleep(500);
    }
    close(k->out);
    return probe_now_s() - start;
}

static double ping_s(const char *self, double limit_s)
{
    struct kid k;
    char line[512];
    double start = probe_now_s();
    if (!kid_start(self, "ping", &k))
        return -1;
    bool got = kid_line(&k, limit_s, line, sizeof line);
    double s = probe_now_s() - start;
    kid_kill(&k, 10);
    return got && strncmp(line, "ok", 2) == 0 ? s : -1;
}

static void kill_times(struct probe *p, const char *self)
{
    double base[3], gone[3], after[3];
    char line[512];
    for (int i = 0; i < 3; i++)
        base[i] = ping_s(self, 20);
    probe_number(p, "kill.ping_undisturbed_s", probe_median(base, 3), "s");
    for (int i = 0; i < 3; i++) {
        struct kid k;
        if (!kid_start(self, "spin", &k) || !kid_line(&k, 20, line, sizeof line) || strcmp(line, "ready")) {
            probe_note(p, "kill.spin_did_not_start", line);
            return;
        }
        usleep(500000);
        if (i == 0)
            probe_number(p, "kill.ping_while_another_spins_s", ping_s(self, 10), "s (-1: none in 10 s)");
        gone[i] = kid_kill(&k, 30);
        after[i] = ping_s(self, 30);
    }
    probe_number(p, "kill.until_the_process_is_gone_s", probe_median(gone, 3), "s");
    probe_number(p, "kill.until_the_process_is_gone_max_s", gone[2], "s");
    probe_number(p, "kill.next_context_runs_a_kernel_s", probe_median(after, 3), "s after that (undisturbed: see above)");
    probe_number(p, "kill.next_context_runs_a_kernel_max_s", after[2], "s");
}

static void sticky_errors(struct probe *p, const char *self)
{
    static const char *const bad[] = {"trap", "wild", "crooked"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct kid k;
        char line[512] = "", name[32], want[64];
        bool got = kid_start(self, bad[i], &k) && kid_line(&k, 30, line, sizeof line);
        kid_kill(&k, 10);
        snprintf(name, sizeof name, "sticky.%s", bad[i]);
        snprintf(want, sizeof want, "kind %d lost 1 later 1", ERROR_WRONG);
        probe_note(p, name, line);
        probe_check(p, name, got && strstr(line, want), NULL);
    }
}

void probe_nvml(struct probe *p, const char *when)
{
    struct error err = {0};
    struct nvml_sample s;
    char name[64], driver[64] = "";
    if (!nvml_open(&err) || !nvml_read(p->dev->uuid, &s)) {
        probe_note(p, "nvml", err.text[0] ? err.text : "no such device");
        return;
    }
    const struct {
        const char *name;
        double value;
    } fields[] = {{"sm_clock_hz", s.sm_clock_hz},     {"memory_clock_hz", s.memory_clock_hz}, {"power_w", s.power_w},
                  {"power_limit_w", s.power_limit_w}, {"temperature_c", s.temperature_c},     {"throttle", (double)s.throttle}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        snprintf(name, sizeof name, "nvml.%s.%s", when, fields[i].name);
        probe_number(p, name, fields[i].value, "(negative: not available)");
    }
    struct text throttle = {0};
    throttle_text(s.throttle, &throttle);
    snprintf(name, sizeof name, "nvml.%s.throttle_text", when);
    probe_note(p, name, text_get(&throttle));
    text_free(&throttle);
    nvml_driver(driver, sizeof driver);
    probe_note(p, "nvml.driver", driver);
    double start = probe_now_s();
    for (int i = 0; i < 50; i++)
        nvml_read(p->dev->uuid, &s);
    probe_number(p, "nvml.read_us", (probe_now_s() - start) / 50 * 1e6, "us");
    nvml_close();
}

static void describe(struct probe *p)
{
    const struct chip *c = &p->dev->chip;
    probe_note(p, "device", p->dev->about);
    probe_note(p, "uuid", p->dev->uuid);
    probe_note(p, "driver", p->dev->driver);
    probe_note(p, "compiler", p->code.compiler);
    probe_note(p, "code_from", p->code.from_bundle ? "bundle" : p->code.from_cache ? "cache" : "compiled here");
    const struct {
        const char *name;
        double value;
    } limits[] = {{"cc", c->cc},
                  {"sm_count", c->sm_count},
                  {"threads_per_sm", c->threads_per_sm},
                  {"blocks_per_sm", c->blocks_per_sm},
                  {"registers_per_sm", c->registers_per_sm},
                  {"smem_per_sm", (double)c->smem_per_sm},
                  {"smem_per_block_optin", (double)c->smem_per_block_optin},
                  {"smem_reserved", (double)c->smem_reserved},
                  {"l2_bytes", (double)c->l2_bytes},
                  {"clock_max_hz", c->clock_max_hz},
                  {"dram_bytes_s", c->dram_bytes_s}};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        char name[64];
        snprintf(name, sizeof name, "chip.%s", limits[i].name);
        probe_number(p, name, limits[i].value, "");
    }
}

static bool wanted(const char *part)
{
    const char *parts = getenv("PROBE_PARTS");
    return !parts || strstr(parts, part);
}

int main(int argc, char **argv)
{
    const char *what = NULL, *write_bundle = NULL;
    struct probe p = {0};
    struct error err = {0};
    char *self = realpath("/proc/self/exe", NULL);
    for (int i = 1; i < argc; i++)
        if (i + 1 < argc && strcmp(argv[i], "--bundle") == 0)
            bundle = argv[++i];
        else if (i + 1 < argc && strcmp(argv[i], "--write-bundle") == 0)
            write_bundle = argv[++i];
        else if (i + 1 < argc && strcmp(argv[i], "--source") == 0)
            source = argv[++i];
        else if (i + 1 < argc && strcmp(argv[i], "--out") == 0)
            out_path = argv[++i];
        else
            what = argv[i];
    if (what)
        return child(what);
    if (write_bundle) {
        char *path = realpath(source, NULL);
        struct compile_request r = {.path = path ? path : source, .label = "probe", .arch = "sm_90a"};
        bool ok = compile(&r, &p.code, &err) && compile_bundle_write(write_bundle, &p.code, 1, &err);
        printf("%s\n", ok ? write_bundle : err.text);
        free(path);
        return !ok;
    }
    double start = probe_now_s();
    if (!open_device(&p, &err)) {
        printf("%s\n%s\n", err.text, err.hint);
        return 5;
    }
    probe_number(&p, "open.first_context_s", probe_now_s() - start, "s");
    describe(&p);
    probe_nvml(&p, "idle");
    if (wanted("hooks"))
        probe_hooks(&p);
    if (wanted("time"))
        probe_time(&p);
    if (wanted("cudnn"))
        probe_cudnn(&p);
    probe_nvml(&p, "after_load");
    if (wanted("sticky"))
        sticky_errors(&p, self);
    if (wanted("kill"))
        kill_times(&p, self);
    probe_number(&p, "checks", p.checks, "");
    probe_number(&p, "failures", p.failures, "");
    p.dev->ops->unload(p.dev, p.module);
    device_close(p.dev);
    compiled_free(&p.code);
    text_free(&p.json);
    free(self);
    return p.failures ? 4 : 0;
}
