/* Checks the outputs of timed launches: of the first launch on each input set, of a launch whose output bits differ, and of one launch
 * after the timed ones. */
#include "base/text.h"
#include "measure/time/group.h"

/* Checks a timed launch whose output bits differ from the verified launch. Different bits are not a fault if they are also right (a sum in
 * another order). A row that is wrong here was right at verification. */
bool timing_recheck(void *context, int candidate, int set, enum rig_left left, bool *right, struct error *err)
{
    static const char *const harms[] = {
        [RIG_OTHER_INPUT] = "changed its input in a timed launch", [RIG_OTHER_PREPARED] = "changed its prepared data in a timed launch"};
    struct timing_group *b = context;
    int i = candidate == b->count ? 0 : candidate;
    struct row *row = b->rows[i];
    struct op_data *data;
    if (!timing_data(b, i, set, &data, err))
        return false;
    if (left == RIG_OTHER_INPUT || left == RIG_OTHER_PREPARED) {
        SCOPED_TEXT where = {0};
        bool ok = rig_check_guards(b->rigs[i], &where, err);
        row->status = ROW_UNSAFE;
        if (where.len)
            text_add(&where, "in a timed launch");
        row_set(&row->reason, where.len ? text_get(&where) : harms[left]);
        *right = false;
        ok = ok && rig_restore(b->rigs[i], data, err);
        timing_announce(b, -1);
        return ok;
    }
    bool first = left == RIG_UNSEEN,
         replays = rig_checksum_matches_set(b->rigs[i]) >= 0; /* on a set without a verified launch this output may be the correct one */
    if ((first || !replays) &&
        !timing_check(b, i, data, first ? timing_first_on(set) : "(the output of a timed launch; the verified launch was right)", err))
        return false;
    if (replays && !(first && timing_is_sound(b, i))) {
        row->status = ROW_WRONG;
        row_set(&row->reason, "replays: a timed launch wrote the result of other inputs than its own; the verified launch was right");
    }
    *right = timing_is_sound(b, i);
    if (first && *right) {
        rig_checksum_accept_last(b->rigs[i]);
        if (!set)
            first_launch_compare(b->timing->first, b->index[i], b->rigs[i], row);
    }
    timing_announce(b, -1);
    return true;
}

/* Checks the variables of a row's module. */
static bool check_state(struct timing_group *b, int i, struct error *err)
{
    SCOPED_TEXT changed = {0};
    job_stage(b->timing->job, b->blame, "verify", DATA_LIMIT_S);
    bool ok = rig_state_check(b->rigs[i], &changed, err);
    if (changed.len) {
        text_add(&changed, " (in the timed loop)");
        b->rows[i]->status = ROW_STATEFUL;
        row_set(&b->rows[i]->reason, text_get(&changed));
    }
    return ok;
}

bool timing_check_again(struct timing_group *b, int i, struct error *err)
{
    struct rig *rig = b->rigs[i];
    struct op_data *data;
    int set = buffer_pool_sets(b->pool) - 1;
    b->blame = b->index[i];
    for (int k = 0; k <= set && timing_is_sound(b, i); k++) { /* checks sets on which it was never launched because its warm-up was cut
                                                                 short */
        rig_select(rig, k, 0);
        if (rig_checksum_awaits(rig) && !(timing_data(b, i, k, &data, err) && rig_poison_all(rig, err) && timing_try(b, i, k, data, err)))
            return false;
    }
    if (!timing_is_sound(b, i))
        return true;
    if (b->looks[i] == LOOKS_EACH && buffer_pool_check(b->pool))
        return check_state(b, i, err);
    rig_select(rig, set, buffer_pool_replicas(b->pool) - 1);
    return timing_data(b, i, set, &data, err) && rig_poison_all(rig, err) && rig_prepare(rig, NULL, err) && rig_run(rig, err) &&
           timing_check(b, i, data, "(after the timed loop)", err);
}
