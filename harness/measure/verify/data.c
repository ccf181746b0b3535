#include "measure/verify/data.h"
#include "base/file.h"
#include "base/text.h"
#include "measure/verify/reference.h"
#include "op/reference/data.h"
#include <stdlib.h>
#include <string.h>

#define MEMORY_SHARE 0.9 /* of what is free */
#define MEMORY_ASKED 1e9 /* smaller works are not asked about */
#define CPU_FLOP 1e11    /* what 16 cores compute in double in a few seconds */
#define AHEAD_SHARE 3    /* data of cases that are not current occupy at most this fraction (1/AHEAD_SHARE) of the free memory */

void data_open(struct data_store *d, struct job *job)
{
    *d = (struct data_store){.job = job};
    for (int i = 0; i < DATA_SETS * DATA_SLOTS; i++)
        d->data_case[i / DATA_SLOTS][i % DATA_SLOTS] = d->host_case[i / DATA_SLOTS][i % DATA_SLOTS] = -1;
}

void data_drop(struct data_store *d, int set, int slot)
{
    struct op_data *data = &d->data[set][slot];
    if (d->data_case[set][slot] < 0)
        return;
    card_data_free(data->card);
    op_data_free(data);
    d->data_case[set][slot] = -1;
}

/* A device that keeps time checks outputs itself. If it cannot, the reason is reported and the CPU checks. */
struct card *data_card(struct data_store *d)
{
    struct error err = {0};
    if (d->card_tried || !d->job->dev->ops->keeps_time)
        return d->card;
    d->card_tried = true;
    if (!card_open(d->job->dev, d->job->options.compiler, &d->card, &err))
        job_environment(d->job, "cpu_checks", err.text);
    return d->card;
}

void data_cross_check(struct data_store *d, const struct op *op)
{
    struct device *dev = d->job->dev;
    struct error err = {0};
    if (d->witness || !dev->ops->keeps_time || !reference_source(op))
        return;
    if (!job_open_emu(d->job, &d->witness, &err))
        job_environment(d->job, "no_witness", err.text);
    dev->witness = d->witness;
}

int data_slot(enum data_part part)
{
    return part & DATA_FULL ? DATA_SLOTS - 1 : (int)part;
}

struct work data_work(const struct job *job, int in_case, enum data_part *part, int set)
{
    struct work work = *plan_verified_work(&job->plan, in_case);
    work.set_seed = set ? job_seed(job) + (uint64_t)set : 0;
    if (!(*part & DATA_FULL) || work.chain || work.op->file)
        return work;
    work.mask = (struct mask){0};
    *part = (enum data_part)((int)*part & ~(int)DATA_FULL);
    return work;
}

/* Returns the case's data without zeros. False: they depend on its mask. */
static bool full_key(const struct job *job, int in_case, char key[HASH_TEXT])
{
    enum data_part part = (enum data_part)(DATA_PART_PRECISION | DATA_FULL);
    struct work work = data_work(job, in_case, &part, 0);
    work_key(&work, key);
    return !(part & DATA_FULL);
}

bool data_is_shared(const struct job *job, int one, int other, int slot)
{
    char keys[2][HASH_TEXT];
    return one >= 0 && other >= 0 && slot == data_slot((enum data_part)(DATA_PART_PRECISION | DATA_FULL)) && full_key(job, one, keys[0]) &&
           full_key(job, other, keys[1]) && !strcmp(keys[0], keys[1]);
}

bool data_is_sound(const struct op_data *data, bool *sound, struct error *err)
{
    *sound = true;
    return !data->card || card_untouched(data->card, sound, err);
}

/* ---- data made in advance ---- */

/* Data of that case, or of another case with equal data. */
static bool is_of(const struct data_store *d, const struct early_data *e, int in_case, int set, int slot)
{
    return e->set == set && e->slot == slot && (e->in_case == in_case || data_is_shared(d->job, e->in_case, in_case, slot));
}

bool data_has_early(const struct data_store *d, int in_case, int set, int slot)
{
    return ANY_OF(i, d->early_count, is_of(d, &d->early[i], in_case, set, slot));
}

void data_put_early(struct data_store *d, int in_case, int set, int slot, const struct op_data *data)
{
    struct early_data *made = APPEND(d->early, d->early_count);
    *made = (struct early_data){in_case, set, slot, *data};
}

static void free_early(struct early_data *e)
{
    card_data_free(e->data.card);
    op_data_free(&e->data);
}

static bool find_early(struct data_store *d, int in_case, int set, int slot, struct op_data *data)
{
    bool found = false;
    for (int i = d->early_count - 1; i >= 0; i--) {
        struct early_data *e = &d->early[i];
        bool wanted = !found && is_of(d, e, in_case, set, slot);
        if (wanted) {
            *data = e->data;
            card_data_moved(data->card, data);
            found = true;
        } else if (e->in_case < in_case && !d->keeps) { /* its case is over and did not use it */
            free_early(e);
        }
        if (wanted || (e->in_case < in_case && !d->keeps))
            *e = d->early[--d->early_count];
    }
    return found;
}

/* Only if the device's copy is still sound. */
static bool take_early(struct data_store *d, int in_case, int set, int slot, struct op_data *data)
{
    struct error ignored = {0}; /* of a lost device: the error recurs when the data are made */
    bool sound;
    if (!find_early(d, in_case, set, slot, data))
        return false;
    if (data_is_sound(data, &sound, &ignored) && sound)
        return true;
    card_data_free(data->card);
    op_data_free(data);
    return false;
}

/* Returns the current data if the wanted case has equal data. */
static bool take_shared(struct data_store *d, int in_case, int set, int slot)
{
    struct error ignored = {0};
    bool sound;
    if (!data_is_shared(d->job, d->data_case[set][slot], in_case, slot) || !data_is_sound(&d->data[set][slot], &sound, &ignored) || !sound)
        return false;
    d->data_case[set][slot] = in_case;
    return true;
}

static bool take_host(struct data_store *d, int in_case, int set, int slot, struct op_data *host)
{
    if (d->host_case[set][slot] < 0)
        return false;
    bool wanted = d->host_case[set][slot] == in_case;
    d->host_case[set][slot] = -1;
    if (wanted)
        *host = d->host[set][slot];
    else
        op_data_free(&d->host[set][slot]);
    return wanted;
}

void data_put_host(struct data_store *d, int in_case, int set, int slot, const struct op_data *host)
{
    if (d->host_case[set][slot] >= 0)
        op_data_free(&d->host[set][slot]);
    d->host_case[set][slot] = in_case;
    d->host[set][slot] = *host;
}

double data_room_ahead(struct data_store *d)
{
    double spare = d->card && d->job->dev->ops->spare ? (double)d->job->dev->ops->spare(d->job->dev) : 0;
    if (!(d->least_spare > 0))
        d->least_spare = spare - spare / AHEAD_SHARE;
    return spare - d->least_spare;
}

/* Drops data in hand, or keeps them for their case. */
static void put_aside(struct data_store *d, int set, int slot)
{
    int in_case = d->data_case[set][slot];
    if (in_case < 0 || !d->keeps || !(data_room_ahead(d) > 0)) {
        data_drop(d, set, slot);
        return;
    }
    data_put_early(d, in_case, set, slot, &d->data[set][slot]);
    d->data_case[set][slot] = -1;
}

static void data_drop_ahead(struct data_store *d)
{
    for (int i = 0; i < DATA_SETS * DATA_SLOTS; i++) {
        if (d->host_case[i / DATA_SLOTS][i % DATA_SLOTS] >= 0)
            op_data_free(&d->host[i / DATA_SLOTS][i % DATA_SLOTS]);
        d->host_case[i / DATA_SLOTS][i % DATA_SLOTS] = -1;
    }
    for (int i = 0; i < d->early_count; i++)
        free_early(&d->early[i]);
    free(d->early);
    d->early = NULL;
    d->early_count = 0;
}

/* ---- in hand ---- */

/* Memory that is free where the data are made; 0: not known. */
static double free_memory(const struct data_store *d)
{
    struct device *dev = d->job->dev;
    return d->card && dev->ops->spare ? (double)dev->ops->spare(dev) : file_memory_available();
}

int data_sets(struct data_store *d, int row)
{
    enum data_part part = DATA_PART_PRECISION;
    const struct work work = data_work(d->job, d->job->plan.rows[row].case_index, &part, 0);
    struct work_memory m = work_memory(&work);
    double left = free_memory(d), needed = DATA_SETS * (m.part + m.buffers) + m.making;
    if (work.chain && work_flop(&work) > CPU_FLOP &&
        !card_makes(&work)) /* of a network with ops whose reference the device does not make */
        return 1;
    if (left > 0 && needed > MEMORY_SHARE * left && !d->keeps) {
        data_drop_ahead(d);
        left = free_memory(d);
    }
    return left > 0 && needed > MEMORY_SHARE * left ? 1 : DATA_SETS;
}

/* What a case occupies already. */
static double held_bytes(const struct data_store *d, int in_case, double part)
{
    double held = 0;
    for (int i = 0; i < DATA_SETS * DATA_SLOTS; i++)
        held += d->data_case[i / DATA_SLOTS][i % DATA_SLOTS] == in_case ? part : 0;
    return held;
}

bool data_fits(struct data_store *d, int row, struct error *err)
{
    int in_case = d->job->plan.rows[row].case_index;
    enum data_part part = DATA_PART_PRECISION;
    const struct work work = data_work(d->job, in_case, &part, 0);
    struct work_memory m = work_memory(&work);
    double needed = work_memory_total(&m);
    if (work.chain || needed < MEMORY_ASKED)
        return true;
    const char *whose = data_card(d) ? "GPU" : "host";
    needed -= held_bytes(d, in_case, m.part);
    for (int i = 0; i < DATA_SETS * DATA_SLOTS && needed > free_memory(d); i++) /* of the case before */
        if (d->data_case[i / DATA_SLOTS][i % DATA_SLOTS] != in_case)
            data_drop(d, i / DATA_SLOTS, i % DATA_SLOTS);
    if (needed > free_memory(d))
        data_drop_ahead(d);
    double left = free_memory(d);
    return needed <= left || !(left > 0) ||
           error_set(err, ERROR_MACHINE,
                     "the layer needs %.1f GB of the %s's memory (%.1f for values and references, %.1f for buffers), and %.1f GB are free",
                     work_memory_total(&m) / 1e9, whose, (2 * m.part + m.making) / 1e9, m.buffers / 1e9, left / 1e9);
}

bool data_make(struct data_store *d, int in_case, enum data_part part, int set, struct op_data *data, struct error *err)
{
    int slot = data_slot(part);
    struct job *job = d->job;
    struct work work = data_work(job, in_case, &part, set);
    struct card *card = data_card(d);
    data_cross_check(d, work.op);
    bool unjudged = work.chain && part == DATA_PART_EXACT; /* in a network the values of exact data grow beyond exact integers */
    bool begun = card && take_host(d, in_case, set, slot, data);
    return (unjudged ? card ? card_data_inputs(card, &work, part, data, err) : op_data_inputs(&work, part, data, err)
            : begun ? card_data_finish(card, &work, part, data, err)
            : card   ? card_data_make(card, &work, part, data, err)
                     : reference_data_make(job->dev, job->options.compiler, &work, part, data, err)) ||
           error_where(err, "data of %s", job->plan.cases[in_case].id);
}

bool data_get(struct data_store *d, int row, enum data_part part, int set, struct op_data **data, struct error *err)
{
    int wanted = d->job->plan.rows[row].case_index, slot = data_slot(part);
    struct op_data *own = &d->data[set][slot];
    if (d->data_case[set][slot] != wanted && !take_shared(d, wanted, set, slot)) {
        put_aside(d, set, slot);
        if (!take_early(d, wanted, set, slot, own) && !data_make(d, wanted, part, set, own, err))
            return false;
        d->data_case[set][slot] = wanted;
    }
    *data = own;
    return true;
}

void data_forget(struct data_store *d)
{
    data_drop_ahead(d);
    for (int i = 0; i < DATA_SETS * DATA_SLOTS; i++)
        data_drop(d, i / DATA_SLOTS, i % DATA_SLOTS);
    card_close(d->card); /* it borrows the compiler's name */
    d->card = NULL;
    d->card_tried = false;
}
