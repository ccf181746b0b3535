/* Networks whose concats are no copies: which outputs can be slices, by the rows that were chosen. */
#include "base/text.h"
#include "plan/rows/private.h"
#include "op/file/ops.h"
#include <stdlib.h>

bool plan_link_fit(const struct plan *plan, const struct chain_row *row, const struct work *work, int choice, struct link_fit *out,
                   struct error *err)
{
    struct program p = {0};
    const bool sliced = work_sliced(work);
    *out = (struct link_fit){.takes = !sliced};
    if ((!sliced && !work->follows) || choice < 0)
        return true;
    bool ok = plan_bind_link(plan, row->side, work, choice, &p, err);
    for (int i = 0; i < p.step_count; i++)
        out->overlaps |= p.steps[i].kind == STEP_KERNEL && p.steps[i].pdl;
    out->takes = ok && p.feasible;
    program_free(&p);
    return ok;
}

/* Marks the tensors of a link that its row takes only alone: its output, or that of the link that it reads. False: a broken head. */
static bool find_alone(const struct plan *plan, const struct chain_row *row, const struct chain_slice *slices, int link, int choice,
                       bool *alone, bool *changed, struct error *err)
{
    const struct chain *chain = row->work->chain;
    const struct work whole = chain_slice_work(chain, slices, link);
    const int from[] = {chain->links[link].input, chain->links[link].residual, link};
    struct link_fit fit;
    bool any = false;
    if (!plan_link_fit(plan, row, &whole, choice, &fit, err))
        return false;
    for (int pass = 0; !fit.takes && pass < 2 && !any; pass++) /* then all, if each alone is taken */
        for (int i = 0; i < 3; i++) {
            struct work one = whole;
            one.pitch = (struct pitches){i == 0 ? whole.pitch.input : 0, i == 1 ? whole.pitch.other : 0, i == 2 ? whole.pitch.output : 0};
            struct link_fit of = {0};
            if (!work_sliced(&one) || from[i] < 0)
                continue;
            if (!pass && !plan_link_fit(plan, row, &one, choice, &of, err))
                return false;
            if (!of.takes)
                any = alone[from[i]] = *changed = true;
        }
    return true;
}

struct chain_slice *plan_chain_slices(const struct plan *plan, const struct chain_row *row, const int *choice, struct error *err)
{
    const struct chain *chain = row->work->chain;
    struct chain_slice *out = xcalloc((size_t)chain->count, sizeof *out);
    SCOPED bool *alone = xcalloc((size_t)chain->count, sizeof *alone);
    for (bool changed = true; changed;) {
        changed = false;
        chain_slices(chain, alone, out);
        for (int i = 0; i < chain->count; i++) {
            struct pitches own = chain_slice_pitches(chain, out, i);
            bool seen = chain_joined(chain, out, i);
            for (int k = 0; k < i && !seen; k++) { /* the same layer has the same answer */
                struct pitches other = chain_slice_pitches(chain, out, k);
                seen = !changed && choice[k] == choice[i] && chain->links[k].name == chain->links[i].name && pitches_same(&own, &other);
            }
            if (!seen && !find_alone(plan, row, out, i, choice[i], alone, &changed, err)) {
                free(out);
                return NULL;
            }
        }
    }
    return out;
}

bool plan_bind_copies(const struct plan *plan, const struct chain_row *row, const struct chain_slice *slices, int link,
                      struct program copies[2], struct error *err)
{
    const struct chain *chain = row->work->chain;
    bool ok = true;
    for (int part = 0; ok && part < 2; part++) {
        struct work work = {.op = op_for(TASK_POINTWISE)};
        if (!chain_part_apart(chain, slices, link, part))
            continue;
        if (!chain_part_copy(chain, slices, link, part, &work, err))
            return false;
        work.follows = row->overlap;
        ok = plan_bind_default(plan, row->side, "pointwise/epilogue", "copies", &work, &copies[part], err);
        if (ok && !copies[part].feasible)
            ok = error_set(err, ERROR_USAGE, "network: %s cannot copy a part of '%s': %s", copies[part].variant, chain->links[link].name,
                           copies[part].reason);
    }
    return ok;
}
