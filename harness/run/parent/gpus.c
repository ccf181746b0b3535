/* The GPUs of this host, and the process of each. */
#include "base/spec.h"
#include "base/text.h"
#include "run/message/options.h"
#include "run/message/wire.h"
#include "run/parent/fleet.h"
#include <ctype.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define GPUS_MAX 1024
#define LIST_LIMIT_S 90.0
#define OPEN_LIMIT_S 90.0
#define END_LIMIT_S 10.0

/* ---- which ---- */

/* "0,2", "0-3" as numbers; "all" up to `there`. -1: not such a list. Malloc'd. */
static int numbers_of(const char *option, int there, int **numbers)
{
    SCOPED char *copy = xstrdup(option);
    int count = 0;
    *numbers = NULL;
    for (int i = 0; !strcmp(option, "all") && i < there; i++)
        *APPEND(*numbers, count) = i;
    if (!strcmp(option, "all"))
        return count;
    for (char *word, *rest = copy; (word = strsep(&rest, ","));) {
        char *dash = strchr(word, '-');
        long long from, to;
        if (dash)
            *dash = 0;
        if (!text_to_int(word, &from) || !text_to_int(dash ? dash + 1 : word, &to) || from < 0 || to < from || to - from >= GPUS_MAX ||
            to > 1 << 20)
            return -1;
        for (long long i = from; i <= to; i++) {
            if (ANY_OF(k, count, (*numbers)[k] == i))
                return -1;
            *APPEND(*numbers, count) = (int)i;
        }
    }
    return count > GPUS_MAX ? -1 : count;
}

static json_t *ask_list(struct child *keep, volatile sig_atomic_t *interrupted, struct error *err)
{
    json_auto_t *command = command_new(COMMAND_GPUS, NULL);
    return child_ask("the list of GPUs", command, EVENT_GPUS, LIST_LIMIT_S, keep, interrupted, err);
}

/* A GPU by its number; `at`: its entry in the list of this machine's, NULL: not known. */
static void name_gpu(struct gpu *g, int number, const char *device, const json_t *at)
{
    bool timed = !device || spec_is_timed(device);
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    g->child = CHILD_NONE;
    g->place_in_list = number;
    snprintf(g->number, sizeof g->number, "%d", number);
    if (timed)
        snprintf(g->spec, sizeof g->spec, "cuda:%d", number);
    else
        snprintf(g->spec, sizeof g->spec, "%.60s", device);
    snprintf(g->place, sizeof g->place, timed ? "cuda:%d" : "emu#%d", number);
    snprintf(g->where, sizeof g->where, "%s/%s", host, g->place);
    snprintf(g->uuid, sizeof g->uuid, "%s", at ? json_string_value(json_object_get(at, "uuid")) : "");
    snprintf(g->pci, sizeof g->pci, "%s", at ? json_string_value(json_object_get(at, "pci")) : "");
}

/* The GPUs that the option names, of those in the list (NULL: of emu). */
static bool take_list(const char *option, const char *device, const json_t *list, struct gpu **gpus, int *count, struct error *err)
{
    SCOPED int *numbers = NULL;
    int there = (int)json_array_size(list);
    if (list && device && *spec_option(device))
        return error_set(err, ERROR_USAGE, "--device %.60s names one GPU, and --gpus several: leave one of them out", device);
    int found = numbers_of(option, there, &numbers);
    if (found <= 0) {
        error_set(err, ERROR_USAGE, "--gpus %.60s: all, or numbers from 0 such as 0,2 or 0-3, each once, are expected", option);
        return list ? false : error_hint(err, "emu emulates as many GPUs as are named: --gpus 0-3");
    }
    for (int i = 0; list && i < found; i++)
        if (numbers[i] >= there)
            return error_set(err, ERROR_ENVIRONMENT, "there is no GPU %d: this machine has %d, counted from 0", numbers[i], there);
    *gpus = xcalloc((size_t)found, sizeof **gpus);
    *count = found;
    for (int i = 0; i < found; i++)
        name_gpu(&(*gpus)[i], numbers[i], device, json_array_get(list, (size_t)numbers[i]));
    return true;
}

bool gpu_list(const char *option, const char *device, struct child *keep, volatile sig_atomic_t *interrupted, struct gpu **gpus, int *count,
              struct error *err)
{
    bool timed = !device || spec_is_timed(device);
    json_auto_t *event = timed ? ask_list(keep, interrupted, err) : NULL;
    *gpus = NULL;
    if (timed && !event)
        return error_hint(err, "--device emu --gpus 0-3 runs four emulated GPUs"), false;
    return take_list(option, device, json_object_get(event, "gpus"), gpus, count, err);
}

/* ---- the process ---- */

/* "0-15,32-47" as a set of CPUs. */
static bool read_cpus(const char *path, cpu_set_t *cpus)
{
    char line[4096] = "";
    FILE *f = fopen(path, "r");
    bool read = f && fgets(line, sizeof line, f);
    if (f)
        fclose(f);
    CPU_ZERO(cpus);
    for (char *word, *rest = line; read && (word = strsep(&rest, ",\n"));) {
        int from, to, found = sscanf(word, "%d-%d", &from, &to);
        for (int i = from; found > 0 && i <= (found > 1 ? to : from) && i < CPU_SETSIZE; i++)
            CPU_SET(i, cpus);
    }
    return CPU_COUNT(cpus) > 0;
}

/* Binds a process (0: this one, and so its workers) to the cores that are next to the GPU, among those that it may use. */
static void bind_cpus(pid_t pid, const char *pci)
{
    char name[32];
    cpu_set_t beside, allowed, both;
    snprintf(name, sizeof name, "%s", pci);
    for (char *c = name; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    SCOPED char *path = text_format("/sys/bus/pci/devices/%s/local_cpulist", name);
    if (!*name || !read_cpus(path, &beside) || sched_getaffinity(0, sizeof allowed, &allowed))
        return;
    CPU_AND(&both, &beside, &allowed);
    if (CPU_COUNT(&both))
        sched_setaffinity(pid, sizeof both, &both);
}

struct process_member {
    struct child parent; /* its socket */
    struct session *s;
    double told_s,
        every_s;   /* time of the last progress message; the least time between two, so that many GPUs do not keep the parent busy */
    json_t *given; /* the last case, with its rows; NULL: none */
    json_t *again; /* the message with the plan that it runs; NULL: it runs the plan with which it began */
};

static void member_say(void *context, json_t *message)
{
    struct process_member *m = context;
    if (!child_send(&m->parent, message)) /* the parent is gone */
        _exit(1);
}

static int member_next(void *context, struct session_given *given)
{
    struct process_member *m = context;
    json_decref(m->given);
    m->given = NULL;
    member_say(m, json_pack("{s:b}", "next", 1));
    if (child_next(&m->parent, 0, m->s->options->interrupted, &m->given) != CHILD_EVENT)
        return FEED_END;
    *given = (struct session_given){json_object_get(m->given, FRAME_PACKED), (int)json_integer_value(json_object_get(m->given, "ahead"))};
    return (int)json_integer_value(json_object_get(m->given, "case"));
}

static void member_note(void *context, const char *text)
{
    member_say(context, json_pack("{s:s}", "note", text));
}

static void member_progress(void *context, int done, int total, double seconds, double eta_s, const char *what)
{
    struct process_member *m = context;
    if (seconds - m->told_s < m->every_s)
        return;
    m->told_s = seconds;
    member_say(m, json_pack("{s:s}", "doing", what));
}

/* Waits for the next plan of the command. False, without an error: there is none. */
static bool next_plan(struct process_member *m, struct session_options *o, const struct chip *chip, struct plan *plan, struct gpu *g,
                      struct error *err)
{
    json_t *event = NULL;
    json_auto_t *asked = options_write(&m->s->asked);
    const char *device = g->spec;
    if (child_next(&m->parent, 0, o->interrupted, &event) != CHILD_EVENT)
        return false;
    if (m->again)
        options_free(&o->plan);
    json_decref(m->again);
    m->again = event; /* the options are texts in it */
    m->told_s = 0;
    options_read(json_object_get(event, "options"), &o->plan);
    o->plan.device = device;
    wire_roofs_read(json_object_get(event, "roofs"), &g->roofs);
    g->ahead = (int)json_integer_value(json_object_get(event, "ahead"));
    const char *files = json_string_value(json_object_get(event, "files"));
    if (plan->row_count && !json_equal(asked, json_object_get(event, "options"))) {
        plan_free(plan);
        *plan = (struct plan){0};
    }
    return (plan->row_count || plan_make(&o->plan, spec_kind(device), chip, plan, err)) &&
           ((files && !strcmp(files, plan->files)) || error_set(err, ERROR_USAGE, "a file changed while the run began; start it again"));
}

/* Its worker lists the GPUs, this one among them, and the parent starts the processes of the others meanwhile. */
static bool list_early(struct process_member *m, struct session *s, struct gpu *g, struct error *err)
{
    json_auto_t *event = ask_list(&s->worker, s->options->interrupted, err);
    json_t *list = json_object_get(event, "gpus"), *at = json_array_get(list, (size_t)g->place_in_list);
    if (!at)
        return false;
    snprintf(g->uuid, sizeof g->uuid, "%s", json_string_value(json_object_get(at, "uuid")));
    snprintf(g->pci, sizeof g->pci, "%s", json_string_value(json_object_get(at, "pci")));
    member_say(m, json_pack("{s:O}", "gpus", list));
    bind_cpus(0, g->pci);
    bind_cpus(s->worker.pid, g->pci);
    return true;
}

/* Opens the GPU and tells the parent of it, which makes the plan; makes the same one and waits for the parent's, which may differ: stored
 * configurations come only with that. False, without an error: there is none. */
static bool open_early(struct process_member *m, struct session_options *o, const struct session_sink *sink, struct plan *plan,
                       struct gpu *g, struct session_kept **opened, struct error *err)
{
    struct session s = SESSION_OF(o, sink);
    s.fleet = m->s->fleet;
    bool ok = (g->uuid[0] || !spec_is_timed(g->spec) || list_early(m, &s, g, err)) && session_find(&s, err);
    if (ok) {
        snprintf(g->spec, sizeof g->spec, "%s", s.device.spec);
        member_say(m, json_pack("{s:o}", "device", session_device_write(&s.device)));
        o->plan.device = g->spec;
        ok = plan_make(&o->plan, spec_kind(g->spec), &s.device.chip, plan, err) && next_plan(m, o, &s.device.chip, plan, g, err);
    }
    *opened = session_lend(&s);
    return ok;
}

/* Runs in the process of the GPU, and ends it. */
static void become_member(struct session *s, struct gpu *g, int fd, int count)
{
    struct process_member m = {.parent = {.fd = fd, .errors = -1, .guarded = -1}, .s = s, .every_s = count > 100 ? count / 200.0 : 0.5};
    struct plan plan = s->plan;
    struct session_kept *kept = NULL, *opened = NULL;
    struct session_feed feed = {&m,      member_next, member_say, g->place, g->uuid,       &plan,
                                &opened, &g->roofs,   s->changed, g->ahead, g->threads > 0};
    struct session_sink sink = {.context = &m, .progress = member_progress, .note = member_note};
    struct session_options o = *s->options;
    struct session_result result;
    struct error err = {0};
    o.plan = s->asked;
    o.plan.device = g->spec;
    o.gpus = NULL;
    o.feed = &feed;
    o.shard = o.shards = 0;
    o.resume = o.tuned = o.decides = false;
    o.kept = s->options->kept || s->options->decides ? &kept : NULL; /* rules may race before the run */
    o.lacks = NULL;
    o.before = NULL;
    bind_cpus(0, g->pci);
    SCOPED char *threads = text_format("%d", g->threads);
    if (g->threads)
        setenv("BENCH_THREADS", threads, 1);
    bool ok = true, goes_on = !g->early || open_early(&m, &o, &sink, &plan, g, &opened, &err);
    while (goes_on) {
        feed.ahead = g->ahead;
        ok = session_run(&o, &sink, &result, &err);
        struct chip chip = plan.chip;
        plan = (struct plan){0}; /* the run has freed it */
        goes_on = ok && o.kept && !result.interrupted && next_plan(&m, &o, &chip, &plan, g, &err);
    }
    ok = ok && err.kind == ERROR_NONE;
    if (!ok)
        member_say(&m, json_pack("{s:o}", "failed",
                                 event_new(EVENT_FAILED, &(struct message){.kind = (int)err.kind, .text = err.text, .hint = err.hint})));
    member_say(&m, json_pack("{s:b}", "end", 1));
    session_kept_free(kept);
    session_kept_free(opened);
    _exit(ok ? 0 : 1);
}

bool gpu_again(const struct session *s, struct gpu *g, int ahead)
{
    g->early = false;
    if (g->child.pid <= 0)
        return false;
    g->asks = g->ended = g->given_up = g->rests = g->had_turn = false;
    g->running = g->rows = 0;
    g->last = -1;
    g->ahead = ahead;
    memset(g->run_s, 0, sizeof g->run_s);
    json_t *message = json_pack("{s:o,s:s,s:o,s:i}", "options", options_write(&s->asked), "files", s->plan.files, "roofs",
                                wire_roofs(&g->roofs), "ahead", ahead);
    if (child_send(&g->child, message))
        return true;
    child_stop(&g->child, NULL, 0);
    return false;
}

bool gpu_start(struct session *s, struct gpu *gpus, int count, int index, struct error *err)
{
    int ends[2];
    struct gpu *g = &gpus[index];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        return error_set(err, ERROR_ENVIRONMENT, "no socket for the process of %s: %s", g->place, strerror(errno));
    pid_t parent = getpid();
    fflush(NULL);
    g->child = (struct child){.fd = ends[0], .errors = -1, .guarded = -1, .pid = fork()};
    if (g->child.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(127);
        setpgid(0, 0); /* the parent passes Ctrl-C on */
        for (int i = 0; i < count; i++)
            if (gpus[i].child.fd >= 0)
                close(gpus[i].child.fd);
        child_leave(&s->worker); /* which listed the GPUs */
        store_forked(s->store);
        become_member(s, g, ends[1], count);
    }
    close(ends[1]);
    if (g->child.pid > 0)
        return true;
    close(ends[0]);
    g->child = CHILD_NONE;
    return error_set(err, ERROR_ENVIRONMENT, "no process for %s: %s", g->place, strerror(errno));
}

/* Until it closes its socket: on a busy machine it takes a second to free the memory of its worker. */
static void await_end(struct child *child, double until)
{
    json_t *event = NULL;
    while (child->pid > 0 && child_next(child, until, NULL, &event) == CHILD_EVENT)
        json_decref(event);
}

void fleet_stop(struct fleet *f)
{
    char how[512];
    double until = clock_s() + END_LIMIT_S;
    for (int k = 0; k < f->count; k++)
        if (f->gpus[k].child.pid > 0)
            shutdown(f->gpus[k].child.fd, SHUT_WR); /* it ends its worker, so that the worker's CPU time counts as this command's */
    for (int k = 0; k < f->count; k++) {
        if (f->shared && f->gpus[k].rests) /* others may be in the middle of a row; a driver takes long */
            await_end(&f->gpus[k].child, until);
        child_stop(&f->gpus[k].child, how, sizeof how);
        f->gpus[k].early = false;
    }
}

/* Each array has the processes for a time; o->plan.device lies in that of f. */
struct session_kept *fleet_lend(struct fleet *f)
{
    struct session_kept *kept = session_lend(f->s);
    struct gpu *lent = xcalloc((size_t)f->count, sizeof *lent);
    memcpy(lent, f->gpus, (size_t)f->count * sizeof *lent);
    for (int k = 0; k < f->count; k++)
        f->gpus[k].child = CHILD_NONE;
    session_kept_add(kept, lent, f->count);
    return kept;
}

void fleet_take_back(struct fleet *f, struct session_kept *kept)
{
    int count = 0;
    struct gpu *lent = session_kept_gpus(kept, &count);
    if (lent)
        memcpy(f->gpus, lent, (size_t)count * sizeof *lent);
    free(lent);
    session_kept_free(kept);
}

/* What the process of the first GPU says under that key; a new reference. NULL: it has failed or is gone. */
static json_t *hear_first(struct session *s, struct gpu *first, const char *key, double limit_s)
{
    double deadline = clock_s() + limit_s;
    while (first->child.pid > 0) {
        json_auto_t *event = NULL;
        if (child_next(&first->child, deadline, s->options->interrupted, &event) != CHILD_EVENT || json_object_get(event, "failed"))
            break;
        if (json_object_get(event, key))
            return json_incref(json_object_get(event, key));
        if (json_object_get(event, "note"))
            session_note(s, "%s: %s", first->place, json_string_value(json_object_get(event, "note")));
    }
    return NULL;
}

bool fleet_list(struct fleet *f, struct error *err)
{
    struct session *s = f->s;
    const struct session_options *o = s->options;
    const char *device = o->plan.device;
    SCOPED int *numbers = NULL;
    struct error why = {0};
    if ((device && !spec_is_timed(device)) || numbers_of(o->gpus, 1, &numbers) <= 0)
        return true;
    struct gpu first = {.early = true};
    name_gpu(&first, numbers[0], device, NULL);
    s->fleet = f;
    json_auto_t *list = gpu_start(s, &first, 1, 0, &why) ? hear_first(s, &first, "gpus", LIST_LIMIT_S) : NULL;
    bool ok = !list || take_list(o->gpus, device, list, &f->gpus, &f->count, err);
    if (list && ok)
        f->gpus[0].child = first.child;
    else
        child_stop(&first.child, NULL, 0);
    return ok;
}

bool fleet_open(struct fleet *f)
{
    struct session *s = f->s;
    struct error why = {0};
    s->fleet = f;
    for (int k = 0; k < f->count; k++) {
        f->gpus[k].early = true;
        if (f->gpus[k].child.pid <= 0 && !gpu_start(s, f->gpus, f->count, k, &why))
            break;
    }
    child_stop(&s->worker, NULL, 0); /* which listed them; its end takes the driver a while */
    json_auto_t *device = hear_first(s, f->gpus, "device", OPEN_LIMIT_S);
    if (!device || !session_device_read(device, &s->device, &why))
        fleet_stop(f);
    return s->device.spec[0];
}

json_t *gpu_spent(struct gpu *g, const json_t *spent)
{
    json_t *seconds = json_object();
    for (int i = 0; i < PHASE_COUNT; i++) {
        double more = json_number_value(json_object_get(spent, phase_name((enum phase)i)));
        g->spent_s[i] += more;
        g->run_s[i] += more;
        json_object_set_new(seconds, phase_name((enum phase)i), json_real(g->spent_s[i]));
    }
    return seconds;
}

void gpu_share_time(struct phase_clock *clock, const struct gpu *gpus, int count)
{
    double sum = 0;
    phase_settle(clock);
    double waited = clock->spent_s[PHASE_WAITING];
    for (int k = 0; k < count; k++)
        sum += phase_sum(gpus[k].run_s);
    for (int i = 0; i < PHASE_COUNT && sum > 0; i++)
        for (int k = 0; k < count; k++)
            if (i != PHASE_WAITING)
                phase_move(clock, (enum phase)i, waited * gpus[k].run_s[i] / sum);
}
