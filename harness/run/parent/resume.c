/* Takes over rows that are stored: of the run that is resumed, then of every other run of the database. A row is known by its key. */
#include "base/spec.h"
#include "base/text.h"
#include "run/message/wire.h"
#include "run/parent/parent.h"
#include <string.h>

void session_row_key(const struct session *s, int row, const char *uuid, char out[HASH_TEXT])
{
    SCOPED char *device = text_format("%s %s %s", s->device.about, uuid ? uuid : "", s->device.library);
    plan_row_key(&s->plan, row, device, s->device.compiler, out);
}

static bool is_timed(const struct session *s)
{
    return !s->options->no_time && spec_is_timed(s->device.spec);
}

static bool row_final(const struct row *row, bool timed)
{
    bool ranked = row->status == ROW_OK || row->status == ROW_FOIL;
    return row->status != ROW_PLANNED && (!timed || !ranked || row->time_count > 0);
}

/* Updates the row's place and networks, which its key does not include. True if they have changed. */
static bool place_anew(struct row *old, struct row *planned)
{
    const char *a = old->networks ? old->networks : "", *b = planned->networks ? planned->networks : "";
    bool same =
        old->case_index == planned->case_index && old->row_index == planned->row_index && old->repeat == planned->repeat && !strcmp(a, b);
    struct row_network *network = old->network;
    int count = old->network_count;
    old->case_index = planned->case_index;
    old->row_index = planned->row_index;
    old->repeat = planned->repeat;
    row_set(&old->networks, planned->networks);
    old->network = planned->network; /* the planned row is discarded, so it gets the other list */
    old->network_count = planned->network_count;
    planned->network = network;
    planned->network_count = count;
    return !same;
}

/* Finds the row of that id and side, starting at `from`, where the next one is likely; -1: not found. */
static int find_row(struct row *const *rows, int count, const char *id, const char *side, int *from)
{
    for (int t = 0; t < count; t++) {
        int i = (*from + t) % count;
        if (rows[i] && !strcmp(rows[i]->id, id) && !strcmp(rows[i]->side ? rows[i]->side : "", side ? side : "")) {
            *from = i + 1;
            return i;
        }
    }
    return -1;
}

bool *session_known(const struct session *s, int first, int last, char (*keys)[HASH_TEXT])
{
    bool hands_over = s->former && s->options->resume;
    bool *known = hands_over || s->elsewhere ? xcalloc((size_t)(last - first) + 1, sizeof *known) : NULL;
    for (int k = first, from = first; known && k < last; k++) {
        const struct plan_row *p = &s->plan.rows[k];
        bool own = session_owns(s, k);
        int i = own && hands_over ? find_row(s->former, s->former_count, plan_id(&s->plan, k), p->side ? p->side->name : NULL, &from) : -1;
        known[k - first] = !own || (i >= 0 && !strcmp(s->former[i]->key, keys[k - first]) && row_final(s->former[i], is_timed(s)));
    }
    return known;
}

static void take_row(struct session *s, int row, struct row **stored, bool *stale)
{
    bool moved = place_anew(*stored, s->rows[row]);
    stale[row] = stale[row] || moved;
    row_free(s->rows[row]);
    s->rows[row] = *stored;
    s->kept[row] = true;
    *stored = NULL;
}

/* Was the row measured as it would be now, on another GPU of the same kind? */
static bool is_far(const struct session *s, int row, const struct row *stored)
{
    char key[HASH_TEXT];
    if (!stored->gpu_uuid || !strcmp(stored->gpu_uuid, s->device.uuid))
        return false;
    session_row_key(s, row, stored->gpu_uuid, key);
    return !strcmp(key, stored->key);
}

/* Takes the cases that another GPU has finished. A case never spans two GPUs, so one that is incomplete there runs again as a whole. */
static int take_far(struct session *s, struct row **rows, const int *far, bool *stale)
{
    int taken = 0;
    for (int first = 0, last; first < s->plan.row_count; first = last) {
        const char *uuid = NULL;
        bool whole = true;
        for (last = first; last < s->plan.row_count && s->plan.rows[last].case_index == s->plan.rows[first].case_index; last++) {
            const struct row *r = far[last] >= 0 ? rows[far[last]] : NULL;
            whole = whole && r && row_final(r, is_timed(s)) && (!uuid || !strcmp(uuid, r->gpu_uuid));
            uuid = r ? r->gpu_uuid : uuid;
        }
        for (int k = first; k < last && whole; k++, taken++)
            take_row(s, k, &rows[far[k]], stale);
    }
    return taken;
}

struct found {
    int kept, changed, others;
};

/* Takes the rows of the run that is resumed. */
static void take_run(struct session *s, struct row **rows, int count, bool *stale, struct found *found)
{
    SCOPED int *far = xcalloc((size_t)s->plan.row_count + 1, sizeof *far);
    int distant = 0;
    for (int k = 0, from = 0; k < s->plan.row_count; k++) {
        int i = session_owns(s, k) ? find_row(rows, count, s->rows[k]->id, s->rows[k]->side, &from) : -1;
        bool same = i >= 0 && !strcmp(rows[i]->key, s->rows[k]->key);
        far[k] = i >= 0 && !same && is_far(s, k, rows[i]) ? i : -1;
        distant += far[k] >= 0;
        found->changed += i >= 0 && !same;
        if (same && row_final(rows[i], is_timed(s))) {
            take_row(s, k, &rows[i], stale);
            found->kept++;
        }
    }
    int taken = distant ? take_far(s, rows, far, stale) : 0;
    found->kept += taken;
    found->changed -= taken;
}

/* Takes the missing rows from every other run that has rows of their keys, the newest first. */
static bool take_others(struct session *s, int64_t except, bool *stale, struct found *found, struct error *err)
{
    SCOPED const char **keys = xcalloc((size_t)s->plan.row_count + 1, sizeof *keys);
    SCOPED int64_t *runs = NULL;
    int wanted = 0;
    for (int k = 0; k < s->plan.row_count; k++)
        if (!s->kept[k] && s->rows[k]->status == ROW_PLANNED)
            keys[wanted++] = s->rows[k]->key;
    int count = store_runs_with(s->store, keys, wanted, &runs, err);
    for (int r = 0; r < count && found->others < wanted; r++) {
        struct row **rows = NULL;
        int has = runs[r] == except ? 0 : store_rows(s->store, runs[r], &rows, err);
        if (has < 0) {
            count = -1;
            break;
        }
        for (int k = 0, from = 0; has && k < s->plan.row_count; k++) {
            int i = s->kept[k] || s->rows[k]->status != ROW_PLANNED ? -1 : find_row(rows, has, s->rows[k]->id, s->rows[k]->side, &from);
            if (i < 0 || strcmp(rows[i]->key, s->rows[k]->key) || !row_final(rows[i], is_timed(s)))
                continue;
            take_row(s, k, &rows[i], stale);
            stale[k] = true;
            found->others++;
        }
        rows_free(rows, has);
    }
    return count >= 0;
}

/* The last run of the same command, scenario, device and shard; false without err: none. */
static bool find_run(struct session *s, struct run *old, struct error *err)
{
    struct runs runs;
    const char *verb = s->asked.tune ? "tune" : "run";
    int shard = s->options->shards ? s->options->shard : 1, shards = s->options->shards ? s->options->shards : 1, last = -1;
    if (!store_runs(s->store, &runs, err))
        return false;
    for (int i = 0; i < runs.count; i++) {
        const struct run *r = &runs.items[i];
        bool older = !r->shards; /* before runs had shards */
        if (text_same(r->verb, verb) && text_same(r->scenario, s->plan.scenario->name) && text_same(r->device, s->device.spec) &&
            (older ? shards == 1 : r->shard == shard && r->shards == shards))
            last = i;
    }
    if (last >= 0) {
        *old = runs.items[last];
        runs.items[last] = (struct run){0};
    }
    runs_free(&runs);
    return last >= 0;
}

int session_resume(struct session *s, bool *same_run, bool *stale, struct error *err)
{
    struct run old = {0};
    struct found found = {0};
    struct error why = {0};
    *same_run = find_run(s, &old, &why);
    if (why.kind != ERROR_NONE) {
        *err = why;
        return -1;
    }
    struct row **rows = s->former;
    int count = rows ? s->former_count : *same_run ? store_rows(s->store, old.id, &rows, err) : 0;
    s->former = NULL;
    s->former_count = 0;
    if (count > 0)
        take_run(s, rows, count, stale, &found);
    rows_free(rows, count);
    bool ok = count >= 0 && take_others(s, old.id, stale, &found, err);
    if (*same_run) {
        s->run.id = old.id;
        s->run.wall_s = old.wall_s;
        memcpy(s->run.spent_s, old.spent_s, sizeof s->run.spent_s);
        json_auto_t *environment = json_loads(old.environment ? old.environment : "{}", 0, NULL);
        wire_parts_take(json_object_get(environment, "parts"), &s->clock);
    }
    found.changed = found.changed > found.others ? found.changed - found.others : 0;
    int left = s->owned - found.kept - found.others - found.changed;
    SCOPED char *others = found.others ? text_format(" (%d of them from other runs)", found.others) : xstrdup("");
    if (ok && *same_run && !s->asked.filter.extra) /* bench resumes the run itself to add densities: no note */
        session_note(s,
                     "resume: run %lld of %s: %d row%s kept%s, %d repeated because their source, compiler or settings changed, %d "
                     "unfinished or not started",
                     (long long)old.id, old.started, found.kept + found.others, text_s(found.kept + found.others), others, found.changed,
                     left);
    else if (ok && found.others && !s->asked.filter.extra)
        session_note(s, "resume: %d row%s of other runs kept, %d not started", found.others, text_s(found.others), left);
    run_clear(&old);
    return ok ? found.kept + found.others : -1;
}
