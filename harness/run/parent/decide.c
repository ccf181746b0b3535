/* Measures what a rule's head leaves open (`race:`): a short race for each layer without a stored choice, in a session of its own whose
 * rows are not stored. Its times choose; the run then times the row anew, so that the samples that judge a choice are not those that made
 * it. */
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "run/parent/fleet.h"
#include <unistd.h>

/* Notes variants that failed in the race, which have no row in the run. */
static void note_failed(struct session *s, struct store *raced, int64_t run)
{
    struct error ignored = {0};
    struct row **rows = NULL;
    int count = store_rows(raced, run, &rows, &ignored);
    for (int i = 0; i < count; i++)
        if (row_status_failed(rows[i]->status))
            session_note(s, "%s is out of the race: %s%s%s", rows[i]->id, row_status_name(rows[i]->status), rows[i]->reason ? ", " : "",
                         rows[i]->reason ? rows[i]->reason : "");
    rows_free(rows, count > 0 ? count : 0);
}

/* Adds the choices that a session stored in the database `from` to the run's own. */
static bool take_choices(struct session *s, const char *from, int64_t run, int *count, struct error *err)
{
    struct wisdom *list = NULL;
    struct store *store = NULL;
    if (!store_open(from, true, &store, err))
        return false;
    int found = store_wisdom(store, &list, err);
    note_failed(s, store, run);
    store_close(store);
    store = NULL;
    bool ok = found >= 0 && (!found || store_open(s->options->database, false, &store, err));
    for (int i = 0; i < found && ok; i++)
        *count += ok = store_wisdom_put(store, &list[i], err);
    if (store)
        store_close(store);
    wisdom_free(list, found > 0 ? found : 0);
    return ok;
}

/* What the race shows of its progress. */
static void on_progress(void *context, int done, int total, double seconds, double eta_s, const char *what)
{
    struct session *s = context;
    SCOPED char *text = text_format("choosing: %s", what);
    if (s->sink->progress)
        s->sink->progress(s->sink->context, done, total, seconds, eta_s, text);
}

static void on_note(void *context, const char *text)
{
    struct session *s = context;
    session_note(s, "%s", text);
}

/* A session on the device of this one, or on its GPUs, which it has again afterwards; *lost: its worker died with it. */
static bool race_choices(struct session *s, const struct plan_options *plan, const char *database, int *count, bool *lost,
                         struct error *err)
{
    bool fleet = s->options->gpus, /* their processes race, if they wait for a plan; else the first GPU, whose process starts later */
        wait = fleet && s->fleet;
    struct session_kept *kept = wait ? fleet_lend(s->fleet) : fleet ? NULL : session_lend(s);
    struct session_sink sink = {.context = s, .progress = on_progress, .note = on_note};
    struct session_result result;
    struct session_options o = {.plan = *plan,
                                .database = database,
                                .verb = "tune",
                                .argv = s->options->argv,
                                .gpus = wait ? s->options->gpus : NULL,
                                .kept = fleet && !wait ? NULL : &kept,
                                .predict = s->options->predict,
                                .time_limit_s = s->options->time_limit_s,
                                .interrupted = s->options->interrupted};
    bool ok = session_run(&o, &sink, &result, err);
    for (int i = 0; ok && i < PHASE_COUNT; i++)
        phase_move(&s->clock, (enum phase)i, result.spent_s[i]);
    if (wait)
        fleet_take_back(s->fleet, kept);
    *lost = !fleet && !session_take_back(s, kept);
    return ok && take_choices(s, database, result.run_id, count, err);
}

bool session_decide(struct session *s, bool *decided, struct error *err)
{
    struct plan_options plan = s->asked;
    plan.tune = plan.choose = plan.layers_only = plan.counters.off = true;
    plan.device = s->device.spec;
    SCOPED char *folder = file_dir(s->options->database), *database = text_format("%s/choice-%d.db", folder, (int)getpid());
    struct error why = {0};
    int count = 0;
    bool lost = false;
    double began_s = clock_s();
    if (!file_make_dirs(folder, err))
        return false;
    bool ok = race_choices(s, &plan, database, &count, &lost, &why);
    static const char *const files[] = {"", "-wal", "-shm", ".lock"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        SCOPED char *file = text_format("%s%s", database, files[i]);
        unlink(file);
    }
    *decided = count > 0;
    if (*decided)
        session_note(s, "rules had no choice for %d layer%s (or masks): their variants raced for %.1f s; later runs take what %s has",
                     count, text_s(count), clock_s() - began_s, s->options->database);
    if (!ok && why.kind == ERROR_INTERRUPTED) {
        *err = why;
        return false;
    }
    if (!ok)
        session_note(s, "rules choose without measurement, because the race failed: %s", why.text);
    return !lost || session_find(s, err);
}
