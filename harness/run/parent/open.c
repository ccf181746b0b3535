/* Opens a run: finds the device, makes the plan, lets rules race for the choices that it lacks, opens the store. */
#include "base/date.h"
#include "base/file.h"
#include "base/spec.h"
#include "plan/rows/shard.h"
#include "run/parent/fleet.h"
#include <string.h>

/* Marks the rows of other shards. */
static void own_shard(struct session *s)
{
    int cases = 0, count = s->options->shards;
    s->owned = s->plan.row_count;
    if (s->options->feed) { /* nothing yet */
        s->elsewhere = xmalloc((size_t)s->plan.row_count + 1);
        memset(s->elsewhere, true, (size_t)s->plan.row_count);
    }
    if (!count || s->options->feed)
        return;
    SCOPED int *shard = xcalloc((size_t)s->plan.case_count + 1, sizeof *shard);
    plan_shards(&s->plan, spec_is_timed(s->device.spec), count, shard);
    s->elsewhere = xcalloc((size_t)s->plan.row_count + 1, sizeof *s->elsewhere);
    for (int i = 0; i < s->plan.row_count; i++) {
        s->elsewhere[i] = shard[s->plan.rows[i].case_index] != s->options->shard - 1;
        s->owned -= s->elsewhere[i];
    }
    for (int i = 0; i < s->plan.case_count; i++)
        cases += shard[i] == s->options->shard - 1;
    if (!s->follows)
        session_note(s, "shard %d/%d: %d of %d cases, %d of %d rows", s->options->shard, count, cases, s->plan.case_count, s->owned,
                     s->plan.row_count);
}

/* A GPU's process has the plan of its parent. */
static bool open_fed(struct session *s, struct error *err)
{
    const struct session_feed *feed = s->options->feed;
    struct chip chip = s->device.chip;
    s->plan = *feed->plan;
    s->roofs = *feed->roofs;
    own_shard(s);
    return !strcmp(chip.name, s->plan.chip.name) ||
           error_set(err, ERROR_ENVIRONMENT, "it is a %s, but the plan is for a %s: the GPUs of a run are of one kind", chip.name,
                     s->plan.chip.name);
}

/* Reads the stored configurations that the plan may use. */
static bool recall(struct session *s, const char *since, struct error *err)
{
    const struct session_options *o = s->options;
    if (!o->tuned && !o->decides)
        return true;
    session_remembered_free(s->remembered);
    s->remembered = NULL;
    if (!session_remembered(o->database, &s->device, o->tuned, since, &s->remembered, err))
        return false;
    s->asked.tuned = s->remembered;
    s->asked.tuned_rules = !o->tuned;
    return true;
}

static bool make_plan(struct session *s, struct error *err)
{
    if (!plan_make(&s->asked, spec_kind(s->device.spec), &s->device.chip, &s->plan, err))
        return false;
    session_forget_others(s->remembered, &s->plan);
    return true;
}

/* Measures the choices that the plan lacks, and makes it again with them. The first run of a command does so; a density that a break-even
 * adds has the choice of its case. */
static bool choose_first(struct session *s, struct error *err)
{
    const struct session_options *o = s->options;
    char since[32];
    bool asks = session_compares(s) && !o->plan.tune && !o->shards && !o->inside && !o->plan.sides && !o->on_every_gpu && !o->before,
         decided = false;
    if (!asks || !plan_undecided(&s->plan))
        return true;
    date_now(since);
    if (!session_decide(s, &decided, err))
        return false;
    if (!decided)
        return true;
    plan_free(&s->plan);
    return recall(s, since, err) && make_plan(s, err);
}

bool session_open(struct session *s, struct error *err)
{
    const struct session_options *o = s->options;
    if (!session_take_kept(s) && !s->device.spec[0] && !session_find(s, err))
        return false;
    if (o->feed)
        return open_fed(s, err);
    if (!recall(s, NULL, err))
        return false;
    if (s->follows && !o->gpus) /* the worker makes the same plan meanwhile, from the files of the previous run */
        session_launch(s, &s->worker, &(struct error){0});
    char files[HASH_TEXT];
    memcpy(files, s->plan.files, sizeof files);
    if (!make_plan(s, err) || !plan_masks_fit(&s->plan, err))
        return false;
    if (o->plan.tune && !spec_is_timed(s->device.spec) && !o->no_time && !(o->predict && plan_searches_rules(&s->plan))) {
        error_set(err, ERROR_ENVIRONMENT, "%s measures no time, so it cannot compare configurations", s->device.spec);
        return error_hint(
            err, "a search needs a GPU, but of rules (--only auto); bench tune --no-time verifies every configuration here and lists "
                 "the infeasible ones");
    }
    if (s->follows && strcmp(files, s->plan.files))
        return error_set(err, ERROR_USAGE, "the scenario or a variant file changed during the run; start it again");
    if (o->decides && !choose_first(s, err))
        return false;
    own_shard(s);
    if (o->lacks) {
        plan_lacks_free(o->lacks);
        *o->lacks = s->plan.lacks;
        s->plan.lacks = (struct plan_lacks){0};
    }
    SCOPED char *dir = file_dir(o->database);
    bool ok =
        file_make_dirs(dir, err) && (!o->out_dir || file_make_dirs(o->out_dir, err)) && store_open(o->database, false, &s->store, err);
    return ok && (!o->tuned || session_judge_remembered(s, err));
}
