/* The board while rows are timed: its clock, power and temperature, and who else computes on it: a time that was taken beside others is no
 * kernel's own. */
#include "base/clock.h"
#include "base/text.h"
#include "device/cuda/nvml.h"
#include "run/child/bout.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIDS 64
#define SENSE_S 0.02
#define LOOK_S 0.25

static bool board_opened(void)
{
    static bool tried, open;
    if (!tried)
        open = nvml_open(NULL);
    tried = true;
    return open;
}

static bool board_read(const struct worker *w, struct nvml_sample *s)
{
    return board_opened() && nvml_read(w->dev->uuid, s);
}

/* The pid's parent, and its name in `name` (16 bytes). 0: it cannot be seen from here. */
static long parent_of(long pid, char name[16])
{
    char path[48], line[512] = "";
    long parent = 0;
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(line, 1, sizeof line - 1, f) : 0;
    if (f)
        fclose(f);
    char *open = strchr(line, '('), *close = strrchr(line, ')');
    if (!n || !open || !close || sscanf(close + 1, " %*c %ld", &parent) != 1)
        return 0;
    snprintf(name, 16, "%.*s", (int)(close - open - 1), open + 1);
    return parent;
}

static bool is_told(const struct others *others, long pid)
{
    for (int i = 0; i < others->count; i++)
        if (others->pids[i] == pid)
            return true;
    return false;
}

void worker_others_of(const long *pids, int count, struct others *others)
{
    long self = getpid(), family = getppid();
    bool seen = false; /* NVML counts processes as we do: in a container it may not, and then who is who is not known */
    for (int i = 0; i < count; i++)
        seen |= pids[i] == self;
    for (int i = 0; i < count && seen; i++) {
        char name[16] = "";
        long parent = parent_of(pids[i], name);
        if (pids[i] == self || pids[i] == family || parent == family || is_told(others, pids[i]))
            continue;
        text_addf(&others->said, "%spid %ld%s%s", others->count ? ", " : "", pids[i], *name ? " " : "", name);
        *APPEND(others->pids, others->count) = pids[i];
    }
}

void worker_look_around(struct worker *w)
{
    long pids[PIDS];
    if (!w->dev->ops->keeps_time || !board_opened())
        return;
    worker_others_of(pids, nvml_processes(w->dev->uuid, pids, PIDS), &w->others);
}

void worker_others_free(struct others *others)
{
    text_free(&others->said);
    free(others->pids);
    *others = (struct others){0};
}

/* NVML itself looks at the board no more often than this: what was read stands for the rounds until then. */
void bout_sense(void *context, double *power_w, double *throttle)
{
    struct bout *b = context;
    struct nvml_sample s;
    if (!b->sensed_s || clock_s() - b->sensed_s > SENSE_S) {
        bool there = board_read(b->w, &s);
        b->power_w = there && s.power_w >= 0 ? s.power_w : NAN;
        b->throttle = there && s.throttle >= 0 ? (double)s.throttle : NAN;
        b->sensed_s = clock_s();
        if (b->sensed_s - b->looked_s > LOOK_S) {
            worker_look_around(b->w);
            b->looked_s = clock_s();
        }
    }
    *power_w = b->power_w;
    *throttle = b->throttle;
}

void bout_board(struct bout *b)
{
    struct nvml_sample s;
    if (!board_read(b->w, &s))
        return;
    for (int i = 0; i < b->count; i++)
        if (b->rows[i]->time_count) {
            b->rows[i]->memory_clock_mhz = s.memory_clock_hz >= 0 ? s.memory_clock_hz / 1e6 : NAN;
            b->rows[i]->temperature_c = s.temperature_c >= 0 ? s.temperature_c : NAN;
        }
}
