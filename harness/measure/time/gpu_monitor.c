#include "measure/time/gpu_monitor.h"
#include "base/clock.h"
#include "base/text.h"
#include "device/cuda/nvml.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIDS 64
#define FAMILY 4 /* a worker, its GPU's process, the command, and one more */
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

static bool board_read(const struct device *dev, struct nvml_sample *s)
{
    return board_opened() && nvml_read(dev->uuid, s);
}

/* Returns the pid's parent, and its name in `name` (16 bytes). 0: this process cannot see it. */
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
    return ANY_OF(i, others->count, others->pids[i] == pid);
}

/* Do both processes run the same file? */
static bool same_program(long a, long b)
{
    struct stat of_a, of_b;
    SCOPED char *path_a = text_format("/proc/%ld/exe", a), *path_b = text_format("/proc/%ld/exe", b);
    return !stat(path_a, &of_a) && !stat(path_b, &of_b) && of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

/* This process's parent, and the bench processes that started it: a GPU's process of several has a parent, which also compiles. */
static int family_of(long self, long family[FAMILY])
{
    int count = 0;
    char name[16];
    family[count++] = getppid();
    for (long up; count < FAMILY && (up = parent_of(family[count - 1], name)) && same_program(up, self);)
        family[count++] = up;
    return count;
}

void others_add(const long *pids, int count, struct others *others)
{
    long self = getpid(), family[FAMILY];
    int family_count = family_of(self, family);
    bool seen = false; /* true if NVML uses our pids; in a container it may not, and then bench cannot identify processes */
    for (int i = 0; i < count; i++)
        seen |= pids[i] == self;
    for (int i = 0; i < count && seen; i++) {
        char name[16] = "";
        long parent = parent_of(pids[i], name);
        bool own = pids[i] == self;
        for (int k = 0; k < family_count; k++)
            own |= pids[i] == family[k] || parent == family[k];
        if (own || is_told(others, pids[i]))
            continue;
        text_addf(&others->said, "%spid %ld%s%s", others->count ? ", " : "", pids[i], *name ? " " : "", name);
        *APPEND(others->pids, others->count) = pids[i];
    }
}

void others_free(struct others *others)
{
    text_free(&others->said);
    free(others->pids);
    *others = (struct others){0};
}

void board_begin(struct board *board, const struct device *dev)
{
    others_free(&board->others);
    board->dev = dev;
    board_look(board);
}

void board_look(struct board *board)
{
    long pids[PIDS];
    if (!board->dev->ops->keeps_time || !board_opened())
        return;
    others_add(pids, nvml_processes(board->dev->uuid, pids, PIDS), &board->others);
}

void board_restart(struct board *board)
{
    board->sensed_s = board->looked_s = 0;
}

/* NVML samples the board no more often than this, so one reading serves all rounds until the next. */
void board_sense(struct board *board, double *power_w, double *throttle)
{
    struct nvml_sample s;
    if (!board->sensed_s || clock_s() - board->sensed_s > SENSE_S) {
        bool there = board_read(board->dev, &s);
        board->power_w = there && s.power_w >= 0 ? s.power_w : NAN;
        board->throttle = there && s.throttle >= 0 ? (double)s.throttle : NAN;
        board->sensed_s = clock_s();
        if (board->sensed_s - board->looked_s > LOOK_S) {
            board_look(board);
            board->looked_s = clock_s();
        }
    }
    *power_w = board->power_w;
    *throttle = board->throttle;
}

void board_report(const struct board *board, struct row *const *rows, int count)
{
    struct nvml_sample s;
    if (!board_read(board->dev, &s))
        return;
    for (int i = 0; i < count; i++)
        if (rows[i]->time_count) {
            rows[i]->memory_clock_mhz = s.memory_clock_hz >= 0 ? s.memory_clock_hz / 1e6 : NAN;
            rows[i]->temperature_c = s.temperature_c >= 0 ? s.temperature_c : NAN;
        }
}
