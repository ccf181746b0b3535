/* What heads say, in full: the program of every shipped variant on random works, and of every row of the shipped scenarios, a line each.
 * Two trees of heads mean the same when the output is the same: BENCH_HOME=TREE build/programs SEED COUNT, once for each (ci/same-heads).
 */
#include "base/text.h"
#include "plan/rows/choose.h"
#include "plan/rows/plan.h"
#include "kernel/head/load.h"
#include "op/file/ops.h"
#include "kernel/bind/variant_bind.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state;
static int64_t below(int64_t n) /* xorshift64* */
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (int64_t)((state * 2685821657736338717u) >> 33) % n;
}

static int64_t pick(const int64_t *values, int count)
{
    return values[below(count)];
}
#define PICK(...) pick((const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

static struct epilogue random_item(enum epilogue_kind kind)
{
    return (struct epilogue){
        .kind = kind, .alpha = 0.1, .block = PICK(2, 2, 3, 4), .mode = below(2) ? D2S_CRD : D2S_DCR, .layout = LAYOUT_NCHW};
}

static void random_epilogue(struct work *w)
{
    static const enum epilogue_kind order[] = {EPILOGUE_BIAS, EPILOGUE_RESIDUAL, EPILOGUE_RELU, EPILOGUE_DEPTH_TO_SPACE};
    for (int i = 0; i < 4; i++)
        if ((w->op->epilogues >> order[i] & 1) && below(i == 1 || i == 3 ? 3 : 2) == 0)
            w->epilogue[w->epilogue_count++] = random_item(order[i] == EPILOGUE_RELU && below(2) ? EPILOGUE_LEAKY_RELU : order[i]);
}

static struct work random_work(const struct op *op)
{
    int64_t r = PICK(1, 1, 3, 3, 3, 5, 7, 9), d = PICK(1, 2, 4, 9);
    struct work w = {
        .op = op,
        .n = PICK(1, 1, 2, 4),
        .c = PICK(1, 2, 3, 8, 12, 16, 24, 32, 48, 64, 64, 80, 96, 128, 160, 256, 512),
        .h = PICK(7, 16, 48, 56, 100, 360, 720),
        .w = PICK(8, 14, 48, 63, 64, 128, 339, 1280),
        .k = PICK(1, 2, 3, 8, 12, 16, 24, 32, 48, 64, 64, 96, 128, 144, 160, 192, 256, 512),
        .r = r,
        .s = below(5) ? r : PICK(1, 3, 5),
        .stride = PICK(1, 1, 1, 2, 3),
        .pad = PICK(0, r / 2, r / 2),
        .dilation = PICK(1, 1, 1, 2),
        .groups = 1,
        .block = PICK(2, 2, 3, 4),
        .norm = below(3),
        .above = 0.1,
        .slope = 1,
        .mode = below(2) ? D2S_CRD : D2S_DCR,
        .dtype = (enum dtype)PICK(DTYPE_F16, DTYPE_F16, DTYPE_BF16, DTYPE_F32, DTYPE_I8),
        .layout = below(3) ? LAYOUT_NHWC : LAYOUT_NCHW,
        .math = (enum math)PICK(MATH_F16_ACC32, MATH_F16_ACC32, MATH_BF16_ACC32, MATH_F32, MATH_TF32, MATH_F16_ACC16, MATH_I8_ACC32),
        .seed = 1};
    w.to = w.layout == LAYOUT_NHWC ? LAYOUT_NCHW : LAYOUT_NHWC;
    w.groups = below(5) ? 1 : below(2) ? w.c : 2;
    w.k = w.groups == w.c ? w.c : w.k;
    if (op->volume)
        w.d = d, w.t = PICK(1, 3), w.o = d, w.plane = w.h, w.h *= d;
    if (below(2))
        w.mask = (struct mask){.pattern = MASK_IID, .density = 0.1, .seed = 1, .marks_output = below(4) == 0};
    random_epilogue(&w);
    return w;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void print_buffer(struct buffer_ref b)
{
    printf(" %d.%d", b.kind, b.index);
}

static void print_step(const struct step *s)
{
    printf("\n  step %d%s unit %d grid %u,%u,%u block %u,%u,%u cluster %u,%u,%u smem %u %d %d %d args", s->kind,
           s->prepare ? " prepare" : "", s->unit, s->grid[0], s->grid[1], s->grid[2], s->block[0], s->block[1], s->block[2], s->cluster[0],
           s->cluster[1], s->cluster[2], s->smem, s->cooperative, s->pdl, s->carveout);
    for (int i = 0; i < s->arg_count; i++)
        if (s->args[i].kind == ARG_BUFFER)
            print_buffer(s->args[i].buffer);
        else if (s->args[i].kind == ARG_TENSOR_MAP)
            printf(" map%d", s->args[i].map);
        else
            printf(" %lld/%g", (long long)s->args[i].i, s->args[i].d);
    printf(" move");
    print_buffer(s->to);
    print_buffer(s->from);
    printf(" %u %llu %s", s->fill, (unsigned long long)s->bytes, s->kind == STEP_KERNEL ? "" : s->name);
}

static void print_map(const struct tensor_map *m)
{
    printf("\n  map");
    print_buffer(m->buffer);
    for (int i = 0; i < m->rank; i++)
        printf(" %llu:%llu:%u:%u", (unsigned long long)m->dim[i], (unsigned long long)m->stride_bytes[i], m->box[i], m->element_stride[i]);
    printf(" %d %d %d %d", m->swizzle, m->interleave, m->l2_promotion, m->oob_nan);
}

static void print_program(const struct program *p)
{
    printf(" = %s [%s]", p->variant, p->params);
    if (!p->feasible) {
        printf(" not: %s\n", p->reason);
        return;
    }
    printf(" %s exact %d claims %d checked %d mask %d %d %d tile %lld %lld %lld %lld %lld predicted %lld %lld %lld ablate %d%d%d",
           p->algorithm, p->exact, p->claims, p->checked, p->uses_mask, p->reads_inactive, p->inactive, (long long)p->tile.h,
           (long long)p->tile.w, (long long)p->tile.every, (long long)p->tile.d, (long long)p->tile_weight_bytes,
           (long long)p->predicted[0], (long long)p->predicted[1], (long long)p->predicted[2], p->ablations[0], p->ablations[1],
           p->ablations[2]);
    for (int i = 0; i < p->tensor_count; i++)
        printf(" t%d:%d:%d", p->tensors[i].role->slot, p->tensors[i].layout, p->tensors[i].dtype);
    for (int i = 0; i < p->scratch_count; i++)
        printf(" s%d:%lld", p->scratch[i].dtype, (long long)p->scratch[i].elements);
    for (int i = 0; i < p->column_count; i++) {
        printf(" %s", p->columns[i].name);
        print_buffer(p->columns[i].buffer);
    }
    for (int u = 0; u < p->unit_count; u++) {
        printf("\n  unit %s", p->units[u].label);
        qsort(p->units[u].defines, (size_t)p->units[u].define_count, sizeof *p->units[u].defines, by_text);
        for (int i = 0; i < p->units[u].define_count; i++)
            printf(" %s", p->units[u].defines[i]);
    }
    for (int i = 0; i < p->tensor_map_count; i++)
        print_map(&p->tensor_maps[i]);
    for (int i = 0; i < p->step_count; i++)
        print_step(&p->steps[i]);
    printf("\n");
}

/* One random configuration of each variant of the op, every other time its default. */
static void print_variants(const struct variant_set *set, const struct work *w, const struct chip *chip)
{
    for (int i = 0; i < set->count; i++) {
        struct variant_config *configs = NULL;
        struct error err = {0};
        struct program p = {0};
        if (set->items[i]->op != w->op)
            continue;
        int count = below(2) ? variant_configs(set->items[i], NULL, &configs, &err) : variant_space(set->items[i], NULL, &configs, &err);
        int64_t at = below(1 << 20) % (count > 0 ? count : 1);
        printf("%s", set->items[i]->name);
        if (count < 1 || !variant_bind(set, &configs[at], w, chip, &p, &err))
            printf(" error: %s\n", strrchr(err.text, ':') ? strrchr(err.text, ':') : err.text);
        else
            print_program(&p);
        program_free(&p);
        variant_configs_free(configs, count > 0 ? count : 0);
    }
}

static int print_scenario(const char *path, const struct chip *chip)
{
    struct plan_options options = {.scenario_path = path};
    struct error err = {0};
    struct plan plan;
    if (!plan_make(&options, "cuda", chip, &plan, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    for (int i = 0; i < plan.row_count; i++) {
        const struct plan_row *row = &plan.rows[i];
        if (row->chain && (row->chain->pick != CHAIN_KERNEL || !choose_unseen(&plan, i, &err)))
            continue;
        printf("%s", plan_id(&plan, i));
        if (row->broken)
            printf(" broken: %s\n", row->broken->text);
        else
            print_program(plan_program(&plan, i));
    }
    plan_free(&plan);
    return 0;
}

int main(int argc, char **argv)
{
    struct variant_set set;
    struct error err = {0};
    const struct chip *chip = chip_find("GH100");
    if (argc < 3) {
        fprintf(stderr, "usage: programs SEED COUNT [SCENARIO...]\n");
        return 2;
    }
    state = strtoull(argv[1], NULL, 0) * 2654435761u + 88172645463325252u;
    if (!variant_set_load(NULL, &set, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    for (int i = 0; op_at(i); i++)
        for (int64_t k = 0, tries = 0; k < atoll(argv[2]) && tries < 100000; tries++) {
            struct work w = random_work(op_at(i));
            struct text t = {0};
            if (!strcmp(op_at(i)->name, "chain") || !work_finish(&w, &err))
                continue;
            work_describe(&w, &t);
            printf("%s\n", text_get(&t));
            text_free(&t);
            print_variants(&set, &w, chip);
            k++;
        }
    variant_set_free(&set);
    int code = 0;
    for (int i = 3; i < argc; i++)
        code |= print_scenario(argv[i], chip);
    return code;
}
