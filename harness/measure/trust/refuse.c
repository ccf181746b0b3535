#include "measure/trust/refuse.h"
#include "base/text.h"
#include <stdlib.h>
#include <string.h>

/* Configurations with equal hashes run identically, whatever their parameters are. */
static void hash_launches(const struct job *job, int index, const struct row *facts, char out[HASH_TEXT])
{
    const struct program *p = plan_program(&job->plan, index);
    const char **codes = xcalloc((size_t)p->step_count + 1, sizeof *codes);
    for (int i = 0; i < p->step_count; i++)
        codes[i] = p->steps[i].kind == STEP_KERNEL ? facts->steps[i].sass_hash : NULL;
    program_hash(p, &job->plan.cases[job->plan.rows[index].case_index].work, codes, out);
    free(codes);
}

static char *refusal(const struct job *job, int index, const struct row *facts)
{
    const struct program *p = plan_program(&job->plan, index);
    for (int i = 0; i < p->step_count; i++) {
        const struct row_step *f = &facts->steps[i];
        if (p->steps[i].kind != STEP_KERNEL)
            continue;
        if (f->spill_store_bytes > 0 || f->spill_load_bytes > 0)
            return text_format("%s spills: %d bytes per thread stored, %d loaded, at %d registers", f->name, f->spill_store_bytes,
                               f->spill_load_bytes, f->registers);
        if (f->blocks_per_sm == 0)
            return text_format("%s: no block fits on an SM, limited by %s: %lld threads with %d registers, %d bytes of shared memory",
                               f->name, f->limit, (long long)(f->block[0] * f->block[1] * f->block[2]), f->registers,
                               f->static_smem + f->dynamic_smem);
    }
    return NULL;
}

/* Returns the row of the earlier configuration with the same launches; -1: there is none, and this one is remembered. */
static int same_as(struct tried_list *tried, const struct job *job, int index, const struct row *facts)
{
    const struct plan_row *own = &job->plan.rows[index];
    char launches[HASH_TEXT];
    hash_launches(job, index, facts, launches);
    if (tried->count && job->plan.rows[tried->items[0].row].case_index != own->case_index)
        tried->count = 0;
    for (int i = 0; i < tried->count; i++) {
        const struct plan_row *other = &job->plan.rows[tried->items[i].row];
        if (tried->items[i].row != index && other->variant == own->variant && !strcmp(tried->items[i].launches, launches))
            return tried->items[i].row;
    }
    tried->items = xrealloc(tried->items, sizeof *tried->items * (size_t)(tried->count + 1));
    tried->items[tried->count].row = index;
    memcpy(tried->items[tried->count++].launches, launches, sizeof launches);
    return -1;
}

bool tried_refuse(struct tried_list *tried, const struct job *job, int index, struct row *row)
{
    if (plan_pinned(&job->plan, index) || !plan_program(&job->plan, index)->feasible)
        return false;
    char *why = plan_chooses(&job->plan, index) ? NULL : refusal(job, index, row); /* a rule takes what is fast, spills or not */
    int twin = why ? -1 : same_as(tried, job, index, row);
    if (twin >= 0) {
        why = text_format("same launches of the same machine code as %s", job->plan.rows[twin].config->label);
        row_set(&row->twin, plan_id(&job->plan, twin));
    }
    if (!why)
        return false;
    row->status = ROW_INFEASIBLE;
    row_set(&row->reason, why);
    free(why);
    return true;
}
