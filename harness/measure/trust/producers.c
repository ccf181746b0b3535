#include "measure/trust/producers.h"
#include "base/text.h"
#include "measure/trust/writers.h"
#include "measure/verify/verify.h"
#include "op/program.h"
#include <stdlib.h>

#define PICKED 4    /* groups of the last kernel */
#define PRODUCE 2e7 /* of the groups before it, in units of count/blocks */
#define RUN_S 3.0
#define TILE ((size_t)1 << 20) /* bytes of poison, of which a large buffer has copies */

/* ---- buffers that run steps write: tensors, then scratch ---- */
static int buffer_count(const struct program *p)
{
    return p->tensor_count + p->scratch_count;
}

static struct buffer_ref buffer_at(const struct program *p, int i)
{
    bool tensor = i < p->tensor_count;
    return (struct buffer_ref){tensor ? BUFFER_TENSOR : BUFFER_SCRATCH, tensor ? i : i - p->tensor_count, 0};
}

static bool is_between(const struct program *p, int i)
{
    return i < p->tensor_count ? p->tensors[i].written : p->scratch[i - p->tensor_count].kind == SCRATCH_WORK;
}

/* A launch starts with what the prepare steps left, and changes it. */
static bool keeps_state(const struct program *p)
{
    return ANY_OF(i, p->scratch_count, p->scratch[i].kind == SCRATCH_STATE);
}

static size_t bytes_at(const struct program *p, int i)
{
    return i < p->tensor_count ? tensor_bytes(&p->tensors[i]) : scratch_bytes(&p->scratch[i - p->tensor_count]);
}

static size_t sectors_at(const struct program *p, int i)
{
    return (bytes_at(p, i) + 31) / 32;
}

/* Some step before `step` uses the buffer. */
static bool used_before(const struct program *p, int step, int buffer)
{
    return ANY_OF(s, step, !p->steps[s].prepare && program_step_uses(p, &p->steps[s], buffer_at(p, buffer)));
}

struct finding {
    struct device *dev;
    struct rig *rig;
    const struct program *program;
    struct producers *out;
    uint8_t **open; /* by buffer: sectors that are read and whose writers are not yet found */
    double cost;    /* of the groups, on a device that computes */
};

static bool run_groups(struct finding *f, int step, struct device_sample *sample)
{
    struct error ignored = {0};
    f->dev->ops->clear(f->dev);
    rig_time_limit(f->rig, RUN_S);
    return rig_run_sample(f->rig, step, sample, &ignored);
}

/* Opens the sectors that a step has read in buffers that earlier steps use. */
static void open_reads(struct finding *f, int step)
{
    const struct program *p = f->program;
    for (int b = 0; b < buffer_count(p); b++) {
        const size_t sectors = sectors_at(p, b);
        if (!is_between(p, b) || !program_step_uses(p, &p->steps[step], buffer_at(p, b)) || !used_before(p, step, b))
            continue;
        const uint8_t *read = f->dev->ops->touched(f->dev, rig_address(f->rig, buffer_at(p, b)), false);
        f->open[b] = f->open[b] ? f->open[b] : xcalloc(sectors + 8, 1);
        f->out->needs[b] = f->out->needs[b] ? f->out->needs[b] : xcalloc(sectors + 8, 1);
        uint8_t *open = f->open[b], *needs = f->out->needs[b];
        for (size_t s = 0; s < sectors; s++) {
            open[s] |= read[s] != 0;
            needs[s] |= read[s] != 0;
        }
    }
}

static bool is_open(const struct finding *f, int buffer)
{
    const size_t sectors = sectors_at(f->program, buffer);
    return f->open[buffer] && ANY_OF(s, sectors, f->open[buffer][s]);
}

/* Closes the sectors that a step wrote. False: it also read some, so that they may lack what other blocks add. */
static bool close_written(struct finding *f, int buffer)
{
    const uint64_t address = rig_address(f->rig, buffer_at(f->program, buffer));
    const uint8_t *written = f->dev->ops->touched(f->dev, address, true), *read = f->dev->ops->touched(f->dev, address, false);
    const size_t sectors = sectors_at(f->program, buffer);
    uint8_t *open = f->open[buffer];
    for (size_t s = 0; s < sectors; s++) {
        if (open[s] && written[s] && read[s])
            return false;
        open[s] &= !written[s];
    }
    return true;
}

static const char too_dear[] = "blocks of its earlier kernels take long";

static const char *find_of_step(struct finding *f, int step)
{
    const struct program *p = f->program;
    struct device_sample *sample = &f->out->steps[step];
    bool writes = false;
    for (int b = 0; b < buffer_count(p); b++) {
        if (!is_open(f, b) || !program_step_uses(p, &p->steps[step], buffer_at(p, b)))
            continue;
        if (p->steps[step].kind != STEP_KERNEL || p->steps[step].cooperative)
            return "blocks of an earlier kernel wait for each other";
        double cost = 0;
        writes = writers_of(f->dev, f->rig, step, rig_address(f->rig, buffer_at(p, b)), f->open[b], sectors_at(p, b), f->out->picked == 1,
                            PRODUCE - f->cost, &cost, sample) ||
                 writes;
        f->cost += cost;
        if (f->cost > PRODUCE)
            return too_dear;
    }
    if (!writes)
        return NULL; /* it only reads them, or the sectors stay open */
    if (!run_groups(f, step, sample))
        return "blocks of its kernels cannot run alone";
    for (int b = 0; b < buffer_count(p); b++)
        if (is_open(f, b) && !close_written(f, b))
            return "blocks of an earlier kernel add to each other's results";
    open_reads(f, step);
    return NULL;
}

static void begin_again(struct finding *f)
{
    producers_free(f->out);
    pointers_free(f->open, buffer_count(f->program));
    f->open = xcalloc((size_t)buffer_count(f->program), sizeof *f->open);
    *f->out = (struct producers){.steps = xcalloc((size_t)f->program->step_count, sizeof *f->out->steps),
                                 .step_count = f->program->step_count,
                                 .buffer_count = buffer_count(f->program),
                                 .needs = xcalloc((size_t)buffer_count(f->program), sizeof *f->out->needs)};
    f->cost = 0;
}

/* For the first so many picked groups of the last kernel. */
static const char *find(struct finding *f, const struct blocks *last, int picked)
{
    const int end = f->program->step_count - 1;
    struct device_sample sample = {0};
    const char *why = NULL;
    begin_again(f);
    f->out->picked = picked;
    for (int i = 0; i < picked; i++)
        *APPEND(sample.groups, sample.count) = (struct device_group){.number = last->picked[i]};
    if (run_groups(f, end, &sample))
        open_reads(f, end);
    else
        why = "blocks of its kernels cannot run alone";
    device_sample_free(&sample);
    for (int s = end - 1; s >= 0 && !why; s--)
        if (!f->program->steps[s].prepare)
            why = find_of_step(f, s);
    for (int b = 0; b < buffer_count(f->program) && !why; b++)
        why = is_open(f, b) ? "no blocks were found that write what its last kernel reads" : NULL;
    return why;
}

const char *producers_find(struct device *dev, struct rig *rig, const struct blocks *last, struct producers *found)
{
    struct finding f = {.dev = dev, .rig = rig, .program = rig_program(rig), .out = found};
    const char *why = too_dear;
    if (keeps_state(f.program))
        return "its kernels use each other's results and keep state";
    for (int i = 0; i < f.program->step_count - 1; i++)
        if (!f.program->steps[i].prepare && f.program->steps[i].kind != STEP_KERNEL && f.program->steps[i].kind != STEP_SYMBOL)
            return "a step between its kernels is no kernel";
    f.open = xcalloc((size_t)buffer_count(f.program), sizeof *f.open);
    for (int picked = last->picked_count < PICKED ? last->picked_count : PICKED; picked && why == too_dear; picked /= 2)
        why = find(&f, last, picked);
    pointers_free(f.open, buffer_count(f.program));
    return why;
}

/* Every word that is needed has been written. */
static bool all_written(struct device *dev, uint64_t address, const uint8_t *needs, size_t bytes, struct error *err)
{
    for (size_t s = 0; s * 32 < bytes; s++) {
        uint32_t words[8];
        const size_t count = bytes - s * 32 < 32 ? bytes - s * 32 : 32;
        if (!needs[s])
            continue;
        if (!dev->ops->read(dev, address + s * 32, words, count, err))
            return false;
        for (size_t i = 0; i < count / 4; i++)
            if (words[i] == VERIFY_POISON)
                return error_set(err, ERROR_USAGE, "the blocks that were found leave gaps in what its last kernel reads");
    }
    return true;
}

static bool poison(struct device *dev, struct rig *rig, const struct producers *p, struct error *err)
{
    const struct program *program = rig_program(rig);
    SCOPED uint32_t *page = xmalloc(TILE);
    bool ok = true;
    for (size_t i = 0; i < TILE / sizeof *page; i++)
        page[i] = VERIFY_POISON;
    return ok && ALL_OF(b, buffer_count(program),
                        !p->needs[b] || dev->ops->repeat(dev, rig_address(rig, buffer_at(program, b)), page, TILE, err));
}

bool producers_run(struct device *dev, struct rig *rig, const struct producers *p, struct error *err)
{
    const struct program *program = rig_program(rig);
    bool ok = poison(dev, rig, p, err);
    for (int s = 0; ok && s < program->step_count - 1; s++) {
        struct device_sample again = {0};
        for (int i = 0; i < p->steps[s].count; i++)
            *APPEND(again.groups, again.count) = (struct device_group){.number = p->steps[s].groups[i].number};
        rig_time_limit(rig, RUN_S);
        if (program->steps[s].kind == STEP_SYMBOL && !program->steps[s].prepare)
            ok = rig_run_step(rig, s, err);
        else
            ok = !again.count || rig_run_sample(rig, s, &again, err);
        device_sample_free(&again);
    }
    return ok && ALL_OF(b, buffer_count(program),
                        !p->needs[b] || all_written(dev, rig_address(rig, buffer_at(program, b)), p->needs[b], bytes_at(program, b), err));
}

bool producers_sufficed(struct device *dev, struct rig *rig, const struct producers *p)
{
    const struct program *program = rig_program(rig);
    for (int b = 0; p->needs && b < buffer_count(program); b++) {
        if (!p->needs[b])
            continue;
        const uint8_t *read = dev->ops->touched(dev, rig_address(rig, buffer_at(program, b)), false);
        const size_t sectors = sectors_at(program, b);
        if (ANY_OF(s, sectors, read[s] && !p->needs[b][s]))
            return false;
    }
    return true;
}

void producers_free(struct producers *p)
{
    for (int i = 0; i < p->step_count && p->steps; i++)
        device_sample_free(&p->steps[i]);
    pointers_free(p->needs, p->buffer_count);
    free(p->steps);
    *p = (struct producers){0};
}
