#include "measure/trust/layer_counts.h"
#include "base/text.h"
#include "measure/count/blocks.h"
#include "measure/count/code.h"
#include "measure/trust/failure.h"
#include "measure/trust/layer_values.h"
#include "op/reference/data.h"
#include "store/family.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MOST ((size_t)1 << 27) /* elements of all inputs of an op from a file, whose values are all made: 0.5 GiB */
#define STAGE_S 120.0
#define METRIC_NAME sizeof(((struct row_metric *)0)->name)
#define ALIKE 0.01 /* instructions on two sets of inputs, of a kernel that does not look at values */

struct counting {
    const struct job *job;
    struct device *dev;
    const struct program *program;
    const struct build *build;
    struct row *row;
    struct rig *rig;
    int step;
    struct blocks blocks;
    struct marks marks; /* `in` is owned */
    struct blocks last; /* of the last kernel */
    double cost;        /* its instructions, */
    double before;      /* and those of the kernels before it */
    bool whole_before;  /* all of their blocks ran */
};

static void take_metric(void *context, const struct device_counter *c, int line, double value)
{
    const struct counting *k = context;
    if (value != 0 || line == 0)
        row_add_member(k->row, c->warp ? FAMILY_WARP : FAMILY_EMU, k->step, line, c->word, c->unit, "emu", value);
}

/* Why the layer was not counted: the words of the column `part_because`, and what the row's note says. */
struct refusal {
    const char *word, *says;
};
static const struct refusal no_refusal,
    by_values = {"values", "the values of its inputs decide which pixels are active"}, by_library = {"library", "a library runs a step"},
    by_size = {"size", "its inputs are too large to be made here"}, by_wish = {"asked", "--no-counters was given"};

static struct refusal refuses(const struct job *job, const struct program *p)
{
    const struct work *w = &p->work;
    size_t all = 0;
    if (job->options.counters.off)
        return by_wish;
    if (w->op->settle)
        return by_values;
    for (int i = 0; w->chain && i < w->chain->count; i++)
        if (w->chain->links[i].work.op->settle)
            return by_values;
    for (int i = 0; i < p->step_count; i++)
        if (p->steps[i].kind == STEP_CALL)
            return by_library;
    for (int i = 0; i < p->tensor_count; i++)
        all += p->tensors[i].written ? 0 : tensor_elements(&p->tensors[i]);
    return w->op->file && all > FILE_MOST ? by_size : no_refusal;
}

/* Keeps what the mask marks, for a program that looks at it. */
static void keep_marks(struct counting *k, const struct op_data *data)
{
    const struct program *p = k->program;
    for (int i = 0; i < p->tensor_count && p->uses_mask && !k->marks.in; i++) {
        const struct tensor_role *role = p->tensors[i].role;
        const float *from = data->at[role->slot].value;
        size_t bytes = tensor_elements(&p->tensors[i]) * sizeof *from;
        if (p->tensors[i].written || !tensor_role_is_mask(role) || !from)
            continue;
        bool outputs = p->work.mask.marks_output;
        k->marks = (struct marks){memcpy(xmalloc(bytes), from, bytes), p->work.n, outputs ? p->work.p : p->work.h,
                                  outputs ? p->work.q : p->work.w};
    }
}

/* Small whole numbers, which show errors bit by bit. But a search or a sort goes where its values lead it: results that are only moved are
 * equal bit by bit for all values, so those count that a GPU is timed on. */
enum data_part layer_counts_part(const struct work *work)
{
    return work->op->file && work->mask.pattern == MASK_NONE && !work_terms(work) ? DATA_PART_PRECISION : DATA_PART_EXACT;
}

/* The inputs of a layer; rows of one layer follow each other, so those of the last one are kept. NULL (err): there are none. */
static const struct op_data *inputs_of(struct counted_layers *known, const struct work *work, struct error *err)
{
    char key[HASH_TEXT];
    work_key(work, key);
    if (strcmp(known->inputs_of, key)) {
        op_data_free(&known->inputs);
        known->inputs_of[0] = 0;
        if (!(work->op->file ? op_data_inputs : op_data_reserve)(work, layer_counts_part(work), &known->inputs, err))
            return NULL;
        memcpy(known->inputs_of, key, sizeof key);
    }
    return &known->inputs;
}

static bool feed_layer(struct counting *k, struct counted_layers *known, struct error *err)
{
    const struct work *work = &k->program->work;
    const struct op_data *data = inputs_of(known, work, err);
    if (!data || !rig_feed_small(k->rig, data, work->op->file ? SIZE_MAX : LAYER_VALUES_MOST, err))
        return false;
    keep_marks(k, data);
    return !work->op->file || layer_values_poison(k->dev, k->rig, err);
}

/* ---- launches that were counted ---- */
/* The code and the numbers of a network's launch, which decide its counts. Runs of one layer differ only in their buffers, which are left
 * out. Empty: it is no such launch. */
static void launch_key(const struct counting *k, char out[HASH_TEXT])
{
    const struct program *p = k->program;
    const struct step *s = &p->steps[k->step];
    out[0] = 0;
    if (s->kind != STEP_KERNEL || !p->work.chain || p->uses_mask) /* marks decide, too */
        return;
    const uint64_t digest = unit_digest(&p->units[s->unit]);
    struct hash *h = hash_begin();
    hash_add(h, &digest, sizeof digest);
    hash_add_text(h, s->name);
    hash_add(h, s->grid, sizeof s->grid);
    hash_add(h, s->block, sizeof s->block);
    hash_add(h, s->cluster, sizeof s->cluster);
    hash_add(h, &s->smem, sizeof s->smem);
    for (int i = 0; i < s->arg_count; i++) {
        const struct arg *a = &s->args[i];
        const struct tensor_map *m = a->kind == ARG_TENSOR_MAP && a->map != ARG_NO_MAP ? &p->tensor_maps[a->map] : NULL;
        hash_add(h, &a->kind, sizeof a->kind);
        hash_add(h, &a->i, a->kind == ARG_INT ? sizeof a->i : 0);
        hash_add(h, &a->d, a->kind == ARG_REAL ? sizeof a->d : 0);
        for (int d = 0; m && d < m->rank; d++) {
            hash_add(h, &m->dim[d], sizeof m->dim[d]);
            hash_add(h, &m->stride_bytes[d], sizeof m->stride_bytes[d]);
            hash_add(h, &m->box[d], sizeof m->box[d]);
        }
    }
    hash_end(h, out);
}

static const char *buffer_of(const struct program *p, const struct arg *a)
{
    const struct buffer_ref *b = a->kind == ARG_BUFFER                               ? &a->buffer
                                 : a->kind == ARG_TENSOR_MAP && a->map != ARG_NO_MAP ? &p->tensor_maps[a->map].buffer
                                                                                     : NULL;
    return !b || b->kind == BUFFER_NONE ? NULL : b->kind == BUFFER_TENSOR ? p->tensors[b->index].role->name : p->scratch[b->index].name;
}

/* The bytes requested of a buffer: by its name in the row, and by the argument that it is. */
struct requested {
    char name[METRIC_NAME], argument[METRIC_NAME];
};

/* Those of the arguments that have a buffer. Returns how many. */
static int find_requested(const struct counting *k, struct requested out[STEP_MAX_ARGS])
{
    const struct step *s = &k->program->steps[k->step];
    int count = 0;
    for (int i = 0; i < s->arg_count; i++) {
        const char *buffer = buffer_of(k->program, &s->args[i]);
        if (!buffer)
            continue;
        snprintf(out[count].name, METRIC_NAME, METRIC_EMU "requested_bytes.%s", buffer);
        snprintf(out[count++].argument, METRIC_NAME, METRIC_EMU "requested_bytes.#%d", i);
    }
    return count;
}

/* Copies the counts of a step; by arguments where the other row calls buffers otherwise. Lines: those of source lines, and the code. */
static void copy_step(const struct counting *k, struct row *to, int to_step, const struct row *from, int from_step, bool keeps, bool lines)
{
    struct requested requested[STEP_MAX_ARGS];
    int count = find_requested(k, requested);
    for (int i = 0; i < from->metric_count; i++) {
        struct row_metric m = from->metrics[i];
        if (m.step != from_step || strcmp(m.source, "emu") || (m.line && !lines))
            continue;
        m.step = to_step;
        for (int r = 0; r < count; r++) {
            const char *old = keeps ? requested[r].name : requested[r].argument;
            if (strcmp(m.name, old) != 0)
                continue;
            snprintf(m.name, sizeof m.name, "%s", keeps ? requested[r].argument : requested[r].name);
            break;
        }
        *row_add_metric(to, -1, 0, "", "", "", 0) = m;
    }
    for (int i = 0; i < from->code_count && lines; i++) {
        struct row_code copy = from->code[i];
        if (copy.step != from_step)
            continue;
        copy.step = to_step;
        copy.text = xstrdup(copy.text);
        struct row_code *code = row_add_code(to);
        free(code->text);
        *code = copy;
    }
}

static void keep_step(struct counted_layers *known, const struct counting *k, const char *key, const struct blocks *blocks)
{
    struct counted_step *s = APPEND(known->steps, known->step_count);
    *s = (struct counted_step){.row = row_new(), .blocks = *blocks, .last = known->asked};
    memcpy(s->key, key, sizeof s->key);
    copy_step(k, s->row, 0, k->row, k->step, true, true);
}

/* Takes what an equal launch counted, of this row or an earlier one. */
static bool take_step(struct counted_layers *known, struct counting *k, const char *key, struct blocks *blocks)
{
    for (int i = 0; i < known->step_count && key[0]; i++) {
        struct counted_step *s = &known->steps[i];
        const bool first = s->last != known->asked;
        if (strcmp(s->key, key))
            continue;
        *blocks = s->blocks;
        blocks->ran = first ? blocks->ran : 0;
        copy_step(k, k->row, k->step, s->row, 0, false, first);
        s->last = known->asked;
        return true;
    }
    return false;
}

static void add_blocks(struct blocks *to, const struct blocks *of)
{
    to->all += of->all;
    to->ran += of->ran;
    to->classes = of->classes > to->classes ? of->classes : to->classes;
    for (int i = 0; i < 2; i++) {
        to->sum[i] += of->sum[i];
        to->variance[i] += of->variance[i];
        to->unsure[i] += of->unsure[i];
    }
    to->sampled = to->sampled || of->sampled || of->all > of->ran;
    to->few = to->few || of->few;
}

static bool run_steps(struct counting *k, struct counted_layers *known, struct error *err)
{
    const struct program *p = k->program;
    int last = p->step_count - 1;
    while (last >= 0 && p->steps[last].kind != STEP_KERNEL) /* no count needs what comes after */
        last--;
    if (!rig_prepare(k->rig, NULL, err))
        return false;
    k->whole_before = true;
    for (k->step = 0; k->step <= last; k->step++) {
        const struct step *s = &p->steps[k->step];
        struct blocks one = {0};
        char key[HASH_TEXT];
        if (s->prepare)
            continue;
        launch_key(k, key);
        if (take_step(known, k, key, &one)) {
            add_blocks(&k->blocks, &one);
            continue;
        }
        k->dev->ops->clear(k->dev);
        struct blocks_how how = {k->dev, k->marks.in ? &k->marks : NULL, p->work.op->file != NULL, k->row->steps[k->step].blocks_per_sm,
                                 k->step == last || (p->work.chain && !p->uses_mask)};
        if (!(s->kind == STEP_KERNEL ? blocks_count(k->rig, k->step, &how, &one, err) : rig_run_step(k->rig, k->step, err)))
            return false;
        if (p->work.chain && p->uses_mask && k->step != last && one.ran < one.all) /* marks of the next layer */
            return error_set(err, ERROR_USAGE, "all blocks of step %s have to run, which takes too long", s->name);
        k->whole_before = k->whole_before && k->last.ran == k->last.all;
        k->before += k->cost;
        k->cost = code_instructions(k->dev);
        k->last = one;
        add_blocks(&k->blocks, &one);
        if (code_instructions(k->dev) > 0) {
            k->dev->ops->counters(k->dev, take_metric, k);
            if (one.unequal)
                unequal_add(k->row, k->step, &one.dispatch);
            if (s->kind == STEP_KERNEL)
                code_of_emu(k->dev, &k->build->images[s->unit], k->row, k->step);
            if (key[0])
                keep_step(known, k, key, &one);
        }
    }
    return true;
}

static void say(struct counting *k)
{
    const struct blocks *b = &k->blocks;
    struct row *row = k->row;
    struct text t = {0};
    row_add_member(row, FAMILY_EMU, -1, 0, "blocks", "block", "emu", b->all);
    row_add_member(row, FAMILY_EMU, -1, 0, "blocks_counted", "block", "emu", b->ran);
    if (b->sampled) {
        row_add_member(row, FAMILY_EMU, -1, 0, "block_classes", "class", "emu", b->classes);
        row_add_member(row, FAMILY_EMU, -1, 0, "sample_error", "share", "emu", blocks_error(b));
        text_addf(&t, "%.0f of %.0f blocks, %d class%s", b->ran, b->all, b->classes, b->classes == 1 ? "" : "es");
        if (blocks_error(b) > 0)
            text_addf(&t, " (±%.2g %%)", blocks_error(b) * 100);
    } else {
        text_add(&t, "all");
    }
    row_set(&row->ran, text_get(&t));
    text_free(&t);
}

static void drop_counts(struct row *row)
{
    int kept = 0;
    for (int i = 0; i < row->metric_count; i++)
        if (strcmp(row->metrics[i].source, "emu"))
            row->metrics[kept++] = row->metrics[i];
    row->metric_count = kept;
    for (int i = 0; i < row->code_count; i++)
        free(row->code[i].text);
    row->code_count = 0;
}

/* The instructions of the part on zeros, of which most inputs of the layer were; 0: not known. */
static double count_zeros(const struct counting *k, const struct program *part)
{
    struct rig *rig = NULL;
    struct error why = {0};
    struct op_data data = {0};
    bool same = part->unit_count == k->program->unit_count && op_data_reserve(&part->work, DATA_PART_EXACT, &data, &why);
    same = same && ALL_OF(i, part->unit_count, unit_same(&part->units[i], &k->program->units[i]));
    k->dev->ops->clear(k->dev);
    bool ran = same && rig_open(k->dev, NULL, part, k->build->images, false, &rig, &why) && rig_feed_small(rig, &data, 0, &why) &&
               rig_prepare(rig, NULL, &why) && rig_run(rig, &why);
    double instructions = ran ? code_instructions(k->dev) : 0;
    rig_close(rig);
    op_data_free(&data);
    return instructions;
}

void layer_counts_compare(struct device *dev, struct row *row, double *executed)
{
    double now = row ? code_instructions(dev) : 0, before = *executed;
    if (!(now > 0) || !(before > 0 && fabs(now / before - 1) > ALIKE)) {
        *executed = now > 0 ? now : before;
        return;
    }
    drop_counts(row);
    row_set(&row->ran, NULL);
    snprintf(row->part_because, sizeof row->part_because, "%s", by_values.word);
    row_add_note(row, "it has no counts: it executed %.0f instructions on one set of inputs and %.0f on another of equal sizes", before,
                 now);
}

/* The counts will be those of the part. */
static void count_part(const struct work *part, struct refusal why, struct row *row)
{
    char *size = text_format("a part of %lldx%lld", (long long)part->h, (long long)part->w);
    drop_counts(row);
    row_set(&row->ran, part->op->file ? "a part" : size);
    snprintf(row->part_because, sizeof row->part_because, "%s", why.word);
    row_add_note(row, "counts are those of the part that was verified: %s", why.says);
    free(size);
}

static void copy_counts(struct row *to, const struct row *from)
{
    for (int i = 0; i < from->metric_count; i++)
        if (!strcmp(from->metrics[i].source, "emu"))
            *row_add_metric(to, -1, 0, "", "", "", 0) = from->metrics[i];
    for (int i = 0; i < from->code_count; i++) {
        struct row_code *code = row_add_code(to);
        free(code->text);
        *code = from->code[i];
        code->text = xstrdup(code->text);
    }
    row_set(&to->ran, from->ran);
    row_set(&to->uncompared, from->uncompared);
    to->compared = from->compared;
}

const struct row *layer_counts_known(const struct counted_layers *known, const char *launch_hash)
{
    const struct row *found = NULL;
    for (int i = 0; i < known->count && launch_hash[0]; i++)
        found = strcmp(known->rows[i]->launch_hash, launch_hash) ? found : known->rows[i];
    return found;
}

/* An equal launch that was counted is not counted again. */
static bool take_known(const struct counted_layers *known, struct row *row)
{
    const struct row *found = layer_counts_known(known, row->launch_hash);
    if (found)
        copy_counts(row, found);
    return found != NULL;
}

static void keep_known(struct counted_layers *known, const struct row *row)
{
    if (!row->launch_hash[0] || row->status != ROW_PLANNED)
        return;
    struct row *kept = row_new();
    memcpy(kept->launch_hash, row->launch_hash, sizeof kept->launch_hash);
    copy_counts(kept, row);
    *APPEND(known->rows, known->count) = kept;
}

static void forget_steps(struct counted_layers *known)
{
    for (int i = 0; i < known->step_count; i++)
        row_free(known->steps[i].row);
    free(known->steps);
    known->steps = NULL;
    known->step_count = 0;
}

void layer_counts_free(struct counted_layers *known)
{
    for (int i = 0; i < known->count; i++)
        row_free(known->rows[i]);
    free(known->rows);
    free(known->wrong);
    forget_steps(known);
    op_data_free(&known->inputs);
    *known = (struct counted_layers){0};
}

void layer_counts_blame(const struct counted_layers *known, struct row *row)
{
    if (row->status != ROW_OK || !known->wrong)
        return;
    row->status = ROW_WRONG;
    row_set(&row->reason, known->wrong);
}

bool layer_counts(const struct job *job, struct device **counter, struct counted_layers *known, int index, const struct build *build,
                  struct row *row, bool *counted, double *executed, struct error *err)
{
    const struct plan_row *p = &job->plan.rows[index];
    struct counting k = {.job = job, .program = plan_program(&job->plan, index), .build = build, .row = row};
    struct error why = {0};
    *counted = false;
    free(known->wrong);
    known->wrong = NULL;
    known->asked++;
    if (known->steps_case != p->case_index) /* another process may count the cases before this one: they decide nothing */
        forget_steps(known);
    known->steps_case = p->case_index;
    for (int i = 0; i < k.program->step_count; i++)
        if (k.program->steps[i].kind == STEP_CUDNN) /* emu will skip the row */
            return true;
    struct refusal refused = refuses(job, k.program);
    if (refused.word) {
        count_part(&p->part->work, refused, row);
        return true;
    }
    if (take_known(known, row)) {
        *counted = true;
        return true;
    }
    job_stage(job, index, "count", STAGE_S);
    if (!*counter) {
        char *spec = text_format("emu:%s,no-check", job->plan.chip.name);
        bool opened = job->open(spec, counter, err);
        free(spec);
        if (!opened)
            return false;
    }
    k.dev = *counter;
    k.dev->ops->clear(k.dev);
    k.dev->ops->multiply(k.dev, k.program->work.op->file != NULL); /* values of the other ops' inputs decide nothing */
    bool ran =
        rig_open(k.dev, NULL, k.program, build->images, false, &k.rig, &why) && feed_layer(&k, known, &why) && run_steps(&k, known, &why);
    const struct device_report *reports;
    if (ran && k.dev->ops->reports(k.dev, &reports))
        failure_take_reports(k.dev, row);
    *counted = ran;
    if (ran)
        say(&k);
    if (ran && row->status == ROW_PLANNED)
        known->wrong = layer_values(&(struct layer_look){k.dev, job->dev, job->options.compiler, k.rig, build->images, &known->inputs,
                                                         &k.last, k.cost, k.before, k.whole_before},
                                    row);
    if (ran && !known->wrong)
        keep_known(known, row);
    if (!ran)
        count_part(&p->part->work, (struct refusal){"fault", why.text}, row);
    if (ran && !k.program->work.op->file && !k.program->work.chain) /* a network's layers have rows of their own */
        *executed = count_zeros(&k, p->part);
    rig_close(k.rig);
    free(k.marks.in);
    k.dev->ops->clear(k.dev);
    return true;
}
