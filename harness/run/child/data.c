/* What the rows of a case are fed and held to: made once, kept until another case is asked for. */
#include "base/text.h"
#include "measure/reference.h"
#include "op/op_file.h"
#include "op/reference/data.h"
#include "run/child/private.h"
#include <stdlib.h>
#include <string.h>

/* Gives back what a slot holds. */
void worker_data_drop(struct worker *w, int set, int slot)
{
    struct op_data *data = &w->data[set][slot];
    if (w->data_case[set][slot] < 0)
        return;
    card_data_free(data->card);
    op_data_free(data);
    w->data_case[set][slot] = -1;
}

/* A device that keeps time checks for itself; what stands in the way is told, and the CPU does it. */
struct card *worker_card(struct worker *w)
{
    struct error err = {0};
    if (w->card_tried || !w->dev->ops->keeps_time)
        return w->card;
    w->card_tried = true;
    if (!card_open(w->dev, w->options.compiler, &w->card, &err))
        w->emit(w->context, event_new(EVENT_ENVIRONMENT, "{s:s,s:s}", "name", "cpu_checks", "value", err.text));
    return w->card;
}

void worker_witness(struct worker *w, const struct op *op)
{
    int count;
    const struct chip *chips = chip_table(&count);
    struct error err = {0};
    char *spec = NULL;
    if (w->witness || !w->dev->ops->keeps_time || !reference_source(op))
        return;
    for (int i = 0; i < count && !spec; i++)
        if (!strcmp(chips[i].arch, w->dev->chip.arch))
            spec = text_format("emu:%s", chips[i].name);
    if (!device_open(spec ? spec : "emu", &w->witness, &err))
        w->emit(w->context, event_new(EVENT_ENVIRONMENT, "{s:s,s:s}", "name", "no_witness", "value", err.text));
    w->dev->witness = w->witness;
    free(spec);
}

uint64_t worker_secret(const struct worker *w)
{
    return w->options.seed ? strtoull(w->options.seed, NULL, 0) : 0;
}

int worker_slot(enum data_part part)
{
    return part & DATA_FULL ? WORKER_DATA - 1 : (int)part;
}

struct work worker_data_work(const struct worker *w, int in_case, enum data_part *part, int set)
{
    struct work work = w->plan.cases[in_case].work;
    work.set_seed = set ? worker_secret(w) + (uint64_t)set : 0;
    if (!(*part & DATA_FULL) || work.chain || work.op->file)
        return work;
    work.mask = (struct mask){0};
    *part = (enum data_part)((int)*part & ~(int)DATA_FULL);
    return work;
}

/* Of a case's data without zeros. False: they depend on its mask. */
static bool full_key(const struct worker *w, int in_case, char key[HASH_TEXT])
{
    enum data_part part = (enum data_part)(DATA_PART_PRECISION | DATA_FULL);
    struct work work = worker_data_work(w, in_case, &part, 0);
    work_key(&work, key);
    return !(part & DATA_FULL);
}

bool worker_data_shared(const struct worker *w, int one, int other, int slot)
{
    char keys[2][HASH_TEXT];
    return one >= 0 && other >= 0 && slot == worker_slot((enum data_part)(DATA_PART_PRECISION | DATA_FULL)) && full_key(w, one, keys[0]) &&
           full_key(w, other, keys[1]) && !strcmp(keys[0], keys[1]);
}

bool worker_data_make(struct worker *w, int in_case, enum data_part part, int set, struct op_data *data, struct error *err)
{
    int slot = worker_slot(part);
    struct work work = worker_data_work(w, in_case, &part, set);
    struct card *card = worker_card(w);
    worker_witness(w, work.op);
    bool unjudged = work.chain && part == DATA_PART_EXACT; /* small whole numbers do not stay small through a network */
    bool begun = card && worker_ahead_host(w, in_case, set, slot, data);
    return (unjudged ? card ? card_data_inputs(card, &work, part, data, err) : op_data_inputs(&work, part, data, err)
            : begun ? card_data_finish(card, &work, part, data, err)
            : card   ? card_data_make(card, &work, part, data, err)
                     : reference_data_make(w->dev, w->options.compiler, &work, part, data, err)) ||
           error_where(err, "data of %s", w->plan.cases[in_case].id);
}

bool worker_data_set(struct worker *w, int row, enum data_part part, int set, struct op_data **data, struct error *err)
{
    int wanted = w->plan.rows[row].case_index, slot = worker_slot(part);
    struct op_data *own = &w->data[set][slot];
    if (w->data_case[set][slot] != wanted && !worker_own_share(w, wanted, set, slot)) {
        worker_data_drop(w, set, slot);
        if (!worker_own_take(w, wanted, set, slot, own) && !worker_data_make(w, wanted, part, set, own, err))
            return false;
        w->data_case[set][slot] = wanted;
    }
    *data = own;
    return true;
}

bool worker_data(struct worker *w, int row, enum data_part part, struct op_data **data, struct error *err)
{
    return worker_data_set(w, row, part, 0, data, err);
}

enum data_part worker_timed_part(const struct worker *w, int row)
{
    const struct program *p = &w->plan.rows[row].program;
    const struct mask *mask = &w->plan.cases[w->plan.rows[row].case_index].work.mask;
    bool full = mask->pattern != MASK_NONE && !mask->marks_output && !p->uses_mask;
    return full ? (enum data_part)(DATA_PART_PRECISION | DATA_FULL) : DATA_PART_PRECISION;
}

enum data_part worker_verified_part(const struct worker *w, int row, enum data_part part)
{
    bool dense = worker_timed_part(w, row) & DATA_FULL;
    return dense && w->plan.rows[row].kind == PLAN_CHAIN ? (enum data_part)(part | DATA_FULL) : part;
}
