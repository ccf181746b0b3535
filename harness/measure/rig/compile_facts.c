#include "measure/rig/compile_facts.h"
#include "base/file.h"
#include "base/text.h"
#include "device/chip/occupancy.h"
#include "device/compile/cubin.h"
#include "device/ptx/query.h"
#include "store/family.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CODE_MAX_BYTES (1u << 30)

static void add_sass(struct row *row, int step, const struct kernel_facts *f)
{
    const struct {
        enum metric_family family;
        const char *word;
        int value;
    } counts[] = {
#define SASS(word) {FAMILY_SASS, #word, f->sass_##word}
        SASS(total),
        SASS(ffma),
        SASS(hfma2),
        SASS(mma),
        SASS(gmma),
        SASS(ldg),
        SASS(stg),
        SASS(lds),
        SASS(sts),
        SASS(ldl),
        SASS(stl),
        SASS(ldsm),
        SASS(ldgsts),
        SASS(bar),
        {FAMILY_STATIC, "spill_instructions", f->spill_instructions},
        {FAMILY_STATIC, "barriers", f->barriers},
#undef SASS
    };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (counts[i].value >= 0)
            row_add_member(row, counts[i].family, step, 0, counts[i].word, "instructions", "compiler", counts[i].value);
}

/* Adds what `limit` and `waves` leave out: each limiter by itself, the shared memory of an SM, the last wave, clusters. */
static void add_limits(struct row *row, int index, const struct step *step, const struct occupancy *o, const struct chip *chip,
                       double waves)
{
    static const enum occupancy_limit limits[] = {LIMIT_REGISTERS, LIMIT_SMEM, LIMIT_WARPS, LIMIT_BLOCKS};
    struct occupancy_tail tail;
    int cluster = (int)(step->cluster[0] * step->cluster[1] * step->cluster[2]);
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        char name[40];
        snprintf(name, sizeof name, "blocks_by_%s", occupancy_limit_name(limits[i]));
        row_add_member(row, FAMILY_MODEL, index, 0, name, "blocks", "model", o->blocks_by[limits[i]]);
    }
    row_add_member(row, FAMILY_MODEL, index, 0, "smem_block_bytes", "B", "model", (double)o->smem_per_block);
    row_add_member(row, FAMILY_MODEL, index, 0, "smem_sm_bytes", "B", "model", (double)o->smem_per_block * o->blocks_per_sm);
    if (occupancy_tail(waves, &tail)) {
        row_add_member(row, FAMILY_MODEL, index, 0, "last_wave", "share", "model", tail.last);
        row_add_member(row, FAMILY_MODEL, index, 0, "idle_places", "share", "model", tail.idle);
    }
    if (cluster > 1) {
        row_add_member(row, FAMILY_MODEL, index, 0, "cluster_blocks", "blocks", "model", cluster);
        row_add_member(row, FAMILY_MODEL, index, 0, "clusters_at_most", "clusters", "model", occupancy_clusters(chip, o, cluster));
    }
}

static void add_occupancy(struct row *row, int index, const struct step *step, const struct kernel_facts *f, const struct chip *chip)
{
    struct row_step *out = &row->steps[index];
    struct occupancy_query query = {.block_threads = (int)(step->block[0] * step->block[1] * step->block[2]),
                                    .registers = f->registers,
                                    .static_smem = f->static_smem > 0 ? (size_t)f->static_smem : 0,
                                    .dynamic_smem = step->smem,
                                    .carveout = step->carveout};
    if (f->registers < 0 || f->static_smem < 0)
        return;
    struct occupancy o = occupancy_of(chip, &query);
    out->blocks_per_sm = o.blocks_per_sm;
    out->warps_per_sm = o.warps_per_sm;
    out->occupancy = o.share;
    snprintf(out->limit, sizeof out->limit, "%s", occupancy_limit_name(o.limit));
    snprintf(out->lift, sizeof out->lift, "%s", o.lift);
    if (o.possible && !row->cropped) /* the grid of a cropped layer does not predict the waves of the whole layer */
        out->waves = occupancy_waves(chip, &o, (double)step->grid[0] * step->grid[1] * step->grid[2]);
    add_limits(row, index, step, &o, chip, out->waves);
}

/* True if `name` is the kernel's name in C++ mangling, with its parameter types: _Z7my_convPKf. */
static bool is_mangled(const char *name, const char *kernel)
{
    size_t digits = strspn(name + 2, "0123456789");
    return !strncmp(name, "_Z", 2) && digits && (size_t)atoi(name + 2) == strlen(kernel) &&
           !strncmp(name + 2 + digits, kernel, strlen(kernel));
}

/* Reports that the source lacks the kernel that the head names, and which kernels it has. Returns false. */
static bool no_such_kernel(const struct kernel_facts *facts, int count, const char *kernel, struct error *err)
{
    SCOPED_TEXT has = {0};
    for (int i = 0; i < count; i++) {
        if (is_mangled(facts[i].name, kernel))
            return error_set(err, ERROR_USAGE, "kernel '%s' has a mangled C++ name: put extern \"C\" before its `__global__ void`", kernel);
        text_addf(&has, "%s%s", i ? ", " : "", facts[i].name);
    }
    error_set(err, ERROR_USAGE, "the source has no kernel '%s'; it has %s", kernel,
              has.len ? text_get(&has) : "none (a template needs an instance)");
    return false;
}

bool build_kernel_facts(const struct compiled *c, const char *kernel, struct kernel_facts *out, struct error *err)
{
    struct kernel_facts *facts;
    int count = cubin_read(c->cubin, c->cubin_bytes, &facts, err);
    if (count < 0)
        return false;
    bool ok = cubin_add_log(c->log, facts, count, err), found = false;
    SCOPED char *entry = compile_entry(c->log, kernel);
    for (int i = 0; ok && i < count; i++)
        if (!strcmp(facts[i].name, entry)) {
            *out = facts[i];
            found = true;
        }
    if (ok && !found)
        ok = no_such_kernel(facts, count, kernel, err);
    free(facts);
    return ok;
}

/* Notes where the kernel spills, if it does. */
static void add_spill_lines(struct row *row, int step, const struct compiled *c, const char *kernel, const char *path)
{
    SCOPED struct spill_line *lines = NULL;
    SCOPED char *entry = compile_entry(c->log, kernel);
    int count = cubin_spill_lines(c->cubin, c->cubin_bytes, entry, path, &lines);
    for (int i = 0; i < count; i++) {
        if (lines[i].loads)
            row_add_member(row, FAMILY_STATIC, step, lines[i].line, "spill_loads", "instructions", "compiler", lines[i].loads);
        if (lines[i].stores)
            row_add_member(row, FAMILY_STATIC, step, lines[i].line, "spill_stores", "instructions", "compiler", lines[i].stores);
    }
}

static const char *const kind_names[] = {"kernel", "fill", "copy", "symbol", "cudnn", "call"};

static void put_launch(struct row_step *out, const struct step *step, const char *path)
{
    for (int k = 0; k < 3; k++) {
        out->grid[k] = step->grid[k];
        out->block[k] = step->block[k];
    }
    out->dynamic_smem = (int)step->smem;
    snprintf(out->file, sizeof out->file, "%s", path);
    size_t bytes;
    SCOPED char *text = file_read(path, CODE_MAX_BYTES, &bytes, NULL);
    if (text)
        hash_bytes(text, bytes, out->file_hash);
}

void build_launch_hash(const struct build *build, const struct program *p, const struct work *work, struct row *row)
{
    char(*images)[HASH_TEXT] = xcalloc((size_t)build->count + 1, sizeof *images);
    SCOPED const char **codes = xcalloc((size_t)p->step_count + 1, sizeof *codes);
    bool known = true;
    for (int i = 0; i < build->count; i++) {
        const struct compiled *c = &build->units[i];
        if (p->units[i].path && c->cubin)
            known = cubin_image_hash(c->cubin, c->cubin_bytes, images[i], NULL) && known;
        else if (p->units[i].path && c->ptx) {
            SCOPED char *code = ptx_code(c->ptx);
            hash_bytes(code, strlen(code), images[i]);
        }
    }
    for (int i = 0; i < p->step_count; i++) {
        bool has_code = p->steps[i].kind == STEP_KERNEL || p->steps[i].kind == STEP_SYMBOL;
        codes[i] = has_code ? images[p->steps[i].unit] : NULL;
        known = known && (!has_code || codes[i][0]) && p->steps[i].kind != STEP_CUDNN && p->steps[i].kind != STEP_CALL;
    }
    if (known)
        program_hash(p, work, codes, row->launch_hash);
    free(images);
}

bool build_facts(const struct build *build, const struct program *p, const struct chip *chip, struct row *row, struct error *err)
{
    for (int i = 0; i < build->count; i++)
        if (build->units[i].seconds > 0)
            row->build_s = (isnan(row->build_s) ? 0 : row->build_s) + build->units[i].seconds;
    for (int i = 0; i < p->step_count; i++) {
        const struct step *step = &p->steps[i];
        struct row_step *out = row_add_step(row);
        row_set(&out->name, step->name);
        snprintf(out->kind, sizeof out->kind, "%s", kind_names[step->kind]);
        out->prepare = step->prepare;
        if (step->kind != STEP_KERNEL)
            continue;
        struct kernel_facts f;
        struct error unknown = {0};
        bool ptx = p->units[step->unit].code == CODE_PTX, /* the driver compiles it when it loads it */
            known = build->units[step->unit].cubin && build_kernel_facts(&build->units[step->unit], step->name, &f, ptx ? &unknown : err);
        if (!known && !ptx && build->units[step->unit].cubin)
            return program_where(p, step, step->line, step->column, err);
        put_launch(out, step, p->units[step->unit].path);
        if (!known) /* PTX, or --no-ptxas */
            continue;
        out->registers = f.registers;
        out->spill_store_bytes = f.spill_store_bytes;
        out->spill_load_bytes = f.spill_load_bytes;
        out->stack_bytes = f.stack_bytes;
        out->static_smem = f.static_smem;
        out->constant_bytes = f.constant_bytes;
        out->code_bytes = f.code_bytes;
        snprintf(out->sass_hash, sizeof out->sass_hash, "%s", f.sass_hash);
        add_occupancy(row, i, step, &f, chip);
        add_sass(row, i, &f);
        if (f.spill_store_bytes > 0 || f.spill_load_bytes > 0)
            add_spill_lines(row, i, &build->units[step->unit], step->name, p->units[step->unit].path);
    }
    return true;
}
