/* The parent's part of counting: selects the rows and sends their facts; handles refusals of the machine and workers that die. */
#include "base/spec.h"
#include "base/text.h"
#include "run/parent/parent.h"
#include "store/step_facts.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define START_LIMIT_S 120.0
#define DEATHS_MAX 3 /* of counting workers in one run */
/* Limits of rows and memory per count. Rows of several cases are counted together, because every count costs CUPTI half a second before
 * its first pass. They are all on the GPU, beside what the timing process has there. */
#define TOGETHER 160
#define TOGETHER_SHARE 0.5  /* of the GPU's memory */
#define TOGETHER_BYTES 24e9 /* where that is not known */

static bool asked_for(const struct counter_wish *wish)
{
    return wish->set || (wish->groups && wish->groups[0]) || (wish->metrics && wish->metrics[0]) || wish->source || wish->required;
}

bool session_counts(const struct session *s, bool *counts, struct error *err)
{
    const struct counter_wish *wish = &s->options->plan.counters;
    const char *why = NULL;
    *counts = false;
    if (wish->off || (s->asked.tune && !asked_for(wish))) /* a search has hundreds of configurations and ranks them only by time */
        return true;
    if (!spec_is_timed(s->device.spec))
        why = "this device has no hardware counters; emu has its own counts (emu.*)";
    else if (s->options->no_time)
        why = "--no-time only verifies";
    else if (s->options->inside)
        why = "--in-process has no second process, and counting in the timing process would disturb the times";
    *counts = !why;
    if (why && wish->required) {
        error_set(err, ERROR_ENVIRONMENT, "counters are required, but %s", why);
        return error_hint(err, spec_is_timed(s->device.spec) ? "omit that option" : "use --device cuda:0 on a machine with a GPU");
    }
    return true;
}

static void put_fact(json_t *facts, const char *name, double value)
{
    if (isfinite(value) && value >= 0)
        json_object_set_new(facts, name, json_real(value));
}

/* Facts of one launch that are known before it is counted. */
static void put_step_facts(json_t *facts, const struct row *row, int step)
{
    for (int i = 0; step_fact_names[i]; i++)
        put_fact(facts, step_fact_names[i], step_fact(&row->steps[step], row->cropped, step_fact_names[i]));
}

static double time_of(const struct row *row, int step, bool warm)
{
    for (int i = 0; i < row->time_count; i++) {
        const struct row_time *t = &row->times[i];
        if (t->step == step && row_time_mode(t) == (warm ? MODE_WARM : MODE_COLD))
            return t->median_ns;
    }
    return NAN;
}

/* The state in which rows are counted: that of the time beside the counts. */
static bool counts_warm(const struct session *s)
{
    const struct timing_plan *t = &s->plan.time;
    return !(t->load[LOAD_ISOLATED] && t->cache[CACHE_COLD]);
}

static bool is_slow(const struct session *s, int index, bool warm)
{
    const struct plan_row *rows = s->plan.rows;
    double fastest = INFINITY;
    int first = index;
    while (first > 0 && rows[first - 1].case_index == rows[index].case_index)
        first--;
    for (int i = first; i < s->plan.row_count && rows[i].case_index == rows[index].case_index; i++)
        if (s->rows[i])
            fastest = fmin(fastest, time_of(s->rows[i], -1, warm));
    return counter_row_is_slow(time_of(s->rows[index], -1, warm), fastest);
}

/* The facts of a launch belong to the row if the row has no other launch. */
static json_t *ask(const struct session *s, int index, bool warm)
{
    const struct row *row = s->rows[index];
    json_t *facts = json_object(), *steps = json_array(); /* null: a prepare step */
    int launches = 0, only = -1;
    for (int k = 0; k < row->step_count; k++) {
        json_t *own = row->steps[k].prepare ? json_null() : json_object();
        json_array_append_new(steps, own);
        if (row->steps[k].prepare)
            continue;
        launches++;
        only = k;
        put_step_facts(own, row, k);
        put_fact(own, "sm_count", s->device.chip.sm_count);
        put_fact(own, "time_ns", time_of(row, k, warm));
    }
    if (launches == 1)
        put_step_facts(facts, row, only);
    put_fact(facts, "sm_count", s->device.chip.sm_count);
    put_fact(facts, "flop", row->flop);
    put_fact(facts, "bytes", row->bytes);
    put_fact(facts, "time_ns", time_of(row, -1, warm));
    json_t *out = json_pack("{s:i,s:o,s:o}", "row", index, "facts", facts, "steps", steps);
    if (is_slow(s, index, warm))
        json_object_set_new(out, "slow", json_true());
    if (row->engine_number >= 0) /* the plan of the library that was timed */
        json_object_set_new(out, "plan", json_pack("[i,s,i]", row->engine_number, row->engine_heuristic, row->engine_rank));
    return out;
}

static bool is_counted(const struct row *row)
{
    return ANY_OF(i, row->metric_count, !strcmp(row->metrics[i].source, "cupti"));
}

static bool wanted(const struct session *s, int row)
{
    const struct row *r = s->rows[row];
    return (r->status == ROW_OK || r->status == ROW_FOIL) && s->plan.rows[row].kind == PLAN_LAYER && !r->uncounted && !is_counted(r);
}

static void mark(struct session *s, const char *why)
{
    for (int i = 0; i < s->uncounted_count; i++)
        if (wanted(s, s->uncounted_rows[i]))
            row_set(&s->rows[s->uncounted_rows[i]]->uncounted, why);
}

/* Includes at least one case. With --source each case is counted by itself, because all its rows stay loaded until their lines are
 * counted. */
bool session_count_due(const struct session *s)
{
    double memory = (double)s->device.chip.dram_bytes, most = memory > 0 ? TOGETHER_SHARE * memory : TOGETHER_BYTES;
    return s->uncounted_count >= TOGETHER || s->uncounted_bytes > most || (s->uncounted_count && s->options->plan.counters.source);
}

/* Does the row launch what an earlier one of its case launches, and that one waits to be counted, too? Its counts are those. */
static int twin_of(const struct session *s, int index)
{
    const struct row *row = s->rows[index];
    for (int k = 0; k < s->uncounted_count && s->uncounted_rows[k] < index; k++) {
        int i = s->uncounted_rows[k];
        if (row->launch_hash[0] && !strcmp(s->rows[i]->launch_hash, row->launch_hash) && s->rows[i]->status == row->status &&
            s->plan.rows[i].case_index == s->plan.rows[index].case_index && s->plan.rows[i].kind == s->plan.rows[index].kind)
            return i;
    }
    return -1;
}

void session_count_later(struct session *s, int first, int last)
{
    for (int i = first; i < last && s->counts; i++)
        if (wanted(s, i)) {
            *APPEND(s->uncounted_rows, s->uncounted_count) = i;
            s->uncounted_bytes += twin_of(s, i) < 0 ? (double)program_footprint_bytes(plan_program(&s->plan, i)) : 0;
        }
}

/* Ends counting in this run. */
static void give_up(struct session *s, const struct error *why)
{
    snprintf(s->uncounted, sizeof s->uncounted, "%.*s", (int)sizeof s->uncounted - 1, why->text);
    session_note(s, "no hardware counters: %s%s%s", why->text, why->hint[0] ? "\nhint: " : "", why->hint);
}

bool session_count_asked(const struct session *s)
{
    return s->counts && asked_for(&s->options->plan.counters);
}

/* To open counters takes the driver 0.3 s, in which the rows of all GPUs wait. So several GPUs open those that nobody named when they are
 * first needed, and only load the library before. */
static bool opens_early(const struct session *s)
{
    return !s->options->feed || session_count_asked(s);
}

static bool send_check(struct session *s)
{
    return child_send(&s->counter, command_new(COMMAND_COUNT_CHECK, &(struct message){.waits = !opens_early(s)}));
}

void session_count_launch(struct session *s)
{
    struct error told_later = {0};
    if (s->counts && !s->counter.ahead && session_launch(s, &s->counter, &told_later))
        s->counter.ahead = send_check(s);
}

static enum outcome check(struct session *s, struct error *why)
{
    if (!session_start(s, &s->counter, why))
        return OUTCOME_FAILED;
    if (!s->counter.ahead && !send_check(s))
        return OUTCOME_DIED;
    s->counter.ahead = false;
    return session_answer(s, &s->counter, START_LIMIT_S, NULL, why);
}

bool session_count_check(struct session *s, struct error *err)
{
    const struct counter_wish *wish = &s->options->plan.counters;
    struct error why = {0};
    char how[512];
    if (!s->counts || s->count_checked)
        return true;
    s->count_checked = true;
    enum phase former = phase_turn(&s->clock, PHASE_START_UP);
    enum outcome outcome = check(s, &why);
    phase_turn(&s->clock, former);
    if (outcome == OUTCOME_DONE)
        return true;
    s->interrupted = s->interrupted || outcome == OUTCOME_INTERRUPTED;
    child_stop(&s->counter, how, sizeof how);
    if (s->interrupted)
        return true;
    if (outcome != OUTCOME_FAILED)
        error_set(&why, ERROR_ENVIRONMENT, "the counters could not be opened: %s", outcome == OUTCOME_LATE ? "no answer" : how);
    if (wish->required || (asked_for(wish) && why.kind == ERROR_USAGE)) {
        *err = why;
        return false;
    }
    give_up(s, &why);
    return true;
}

/* Handles a worker that failed, hung or died: attributes the fault and decides whether to go on. */
static void take_blow(struct session *s, enum outcome outcome, const struct error *why)
{
    char how[512] = "", text[640];
    int row = s->stage_row;
    bool one = false; /* the worker was counting one of these rows */
    for (int i = 0; i < s->uncounted_count; i++)
        one |= s->uncounted_rows[i] == row;
    const char *what = one ? s->rows[row]->id : s->rows[s->uncounted_rows[0]]->case_id;
    child_stop(&s->counter, how, sizeof how);
    /* If the machine refuses to open the counters, it does so for every case; a later failure belongs to the case. */
    if (outcome == OUTCOME_FAILED && !strcmp(s->stage, PHASE_STAGE_COUNTERS) &&
        (why->kind == ERROR_ENVIRONMENT || why->kind == ERROR_USAGE)) {
        give_up(s, why);
        return;
    }
    snprintf(text, sizeof text, "counting %s at '%s'%s%.300s",
             outcome == OUTCOME_LATE   ? "hung"
             : outcome == OUTCOME_DIED ? "died"
                                       : "failed",
             s->stage, why->text[0] || how[0] ? ": " : "", why->text[0] ? why->text : how);
    if (!s->counter_again) { /* an earlier row may have left CUPTI in a bad state: a new worker tries all rows once more */
        s->counter_again = true;
        session_note(s, "%s: %s; repeated in a new process", what, text);
        return;
    }
    if (one)
        row_set(&s->rows[row]->uncounted, text);
    else
        mark(s, text);
    session_note(s, "%s: %s", what, text);
    if (++s->counter_deaths >= DEATHS_MAX) {
        struct error last_word = {0};
        error_set(&last_word, ERROR_INTERNAL, "%d counting workers failed; %s", s->counter_deaths, text);
        give_up(s, &last_word);
    }
}

static void drop_cost(struct row *row)
{
    for (int m = 0; m < row->metric_count; m++)
        if (!strcmp(row->metrics[m].name, "hw.cost_s"))
            row->metrics[m] = row->metrics[--row->metric_count];
}

static void take_counted(struct session *s, const json_t *event)
{
    session_event(s, event);
    SCOPED_BY(message_free) struct message m;
    message_read(event, &m);
    int row = event_of(event) == EVENT_ROW ? m.row : -1;
    for (int k = 0; row >= 0 && k < s->uncounted_count; k++) {
        int i = s->uncounted_rows[k];
        if (!wanted(s, i) || twin_of(s, i) != row)
            continue;
        wire_row_merge(m.packed, s->rows[i]);
        drop_cost(s->rows[i]); /* it was counted at no cost of its own */
    }
}

/* True if the remaining rows should be tried again. */
static bool count_once(struct session *s)
{
    bool warm = counts_warm(s);
    struct error why = {0};
    json_t *rows = json_array();
    for (int slow = 0; slow < 2; slow++) /* slow rows together: each change of metrics costs CUPTI a fifth of a second */
        for (int k = 0; k < s->uncounted_count; k++) {
            int i = s->uncounted_rows[k];
            int twin = twin_of(s, i);
            if (wanted(s, i) && is_slow(s, i, warm) == slow && !(twin >= 0 && wanted(s, twin)))
                json_array_append_new(rows, ask(s, i, warm));
        }
    if (!json_array_size(rows)) {
        json_decref(rows);
        return false;
    }
    s->stage_row = -1;
    snprintf(s->stage, sizeof s->stage, "start");
    if (!session_start(s, &s->counter, &why)) {
        json_decref(rows);
        if (!s->interrupted)
            give_up(s, &why);
        return false;
    }
    json_t *message = command_new(COMMAND_COUNT, &(struct message){.warm = warm, .requests = rows});
    enum outcome outcome = session_command(s, &s->counter, message, START_LIMIT_S, take_counted, &why);
    if (outcome == OUTCOME_DONE)
        return false;
    if (outcome == OUTCOME_INTERRUPTED) {
        s->interrupted = true;
        return false;
    }
    take_blow(s, outcome, &why);
    return !s->uncounted[0];
}

/* Notes which counters a slow row lacks, and how to get them. */
static void note_slow(struct session *s, int index)
{
    static const char few[] = "slow: counters that need many passes were left out (bench why --measure counts all)";
    if (s->plan.counters.unasked && is_counted(s->rows[index]) && is_slow(s, index, counts_warm(s)))
        row_add_note(s->rows[index], "%s", few);
}

bool session_count(struct session *s, struct error *err)
{
    bool ok = true;
    s->counter_again = false;
    while (s->uncounted_count && !s->uncounted[0] && !s->interrupted && count_once(s))
        continue;
    for (int k = 0; k < s->uncounted_count; k++)
        note_slow(s, s->uncounted_rows[k]);
    if (!s->interrupted)
        mark(s, s->uncounted[0] ? s->uncounted : "CUPTI returned nothing");
    for (int k = 0; s->options->plan.counters.required && !s->interrupted && ok && k < s->uncounted_count; k++) {
        const struct row *row = s->rows[s->uncounted_rows[k]];
        if (row->uncounted && row->launched != 0) { /* copies alone have nothing to count */
            error_set(err, ERROR_ENVIRONMENT, "%s was not counted: %s", row->id, row->uncounted);
            ok = error_hint(err, "--require-counters stops here; without it the run continues with times only");
        }
    }
    for (int k = 0; k < s->uncounted_count && ok; k++) /* a process that is fed has them in any order */
        ok = session_put(s, s->uncounted_rows[k], s->uncounted_rows[k] + 1, err);
    free(s->uncounted_rows);
    s->uncounted_rows = NULL;
    s->uncounted_count = 0;
    s->uncounted_bytes = 0;
    return ok;
}
