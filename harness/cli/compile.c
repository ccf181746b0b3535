/* bench compile: the kernels of a plan, compiled without a GPU. */
#include "base/file.h"
#include "base/pool.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/fields.h"
#include "cli/region.h"
#include "device/compile/compile.h"
#include "device/compile/cubin.h"
#include "measure/verify/device_check.h"
#include "measure/verify/reference.h"
#include "measure/time/roofs.h"
#include "plan/rows/choose.h"
#include "report/form/terminal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* The kernel that a head's `predict` speaks of: its last one. */
static const struct step *predicted_step(const struct program *p)
{
    const struct step *last = NULL;
    for (int i = 0; i < p->step_count; i++)
        if (p->steps[i].kind == STEP_KERNEL && p->steps[i].unit == 0 && !p->steps[i].prepare)
            last = &p->steps[i];
    return last;
}

static bool predicts(const struct program *p)
{
    return ANY_OF(i, PREDICT_COUNT, p->predicted[i] >= 0);
}

static struct table *prediction_table(void)
{
    struct table *t = table_new();
    table_column(t, "row", "predicted / actual", ALIGN_LEFT);
    for (int i = 0; i < PREDICT_COUNT; i++)
        table_column(t, "predicted", predict_names[i], ALIGN_RIGHT);
    table_column(t, "reason", "", ALIGN_LEFT); /* why not */
    return t;
}

/* Adds a row's predicted resources and, if it compiled, the actual ones of its last kernel. c NULL: a condition refuses the row; its
 * reason is shown. */
static bool add_prediction(struct table **table, const struct plan *plan, int row, const struct compiled *c, struct error *err)
{
    const struct program *p = plan_program(plan, row);
    const struct step *last = predicted_step(p);
    struct kernel_facts *facts = NULL, *own = NULL;
    if (!predicts(p) || (c && !last))
        return true;
    int count = c ? cubin_read(c->cubin, c->cubin_bytes, &facts, err) : 0;
    for (int i = 0; i < count; i++)
        if (!strcmp(facts[i].name, last->name))
            own = &facts[i];
    struct table *t = *table = *table ? *table : prediction_table();
    json_t *o = fields_item(fields_list(fields("compile"), "predictions")), *predicted = fields_object(o, "predicted"),
           *actually = fields_object(o, "actual");
    fields_text(o, "row", plan_id(plan, row));
    table_row(t, LINE_PLAIN);
    table_cell(t, PAINT_NONE, "%s", plan_id(plan, row));
    for (int i = 0; i < PREDICT_COUNT; i++) {
        long long actual = !own                   ? -1
                           : i == PREDICT_THREADS ? (long long)last->block[0] * last->block[1] * last->block[2]
                           : i == PREDICT_SMEM    ? own->static_smem + (long long)last->smem
                                                  : own->registers;
        fields_count(predicted, predict_names[i], (long long)p->predicted[i]);
        fields_count(actually, predict_names[i], actual);
        if (p->predicted[i] < 0)
            table_cell(t, PAINT_NONE, " ");
        else if (actual < 0)
            table_cell(t, PAINT_NONE, "%lld", (long long)p->predicted[i]);
        else
            table_cell(t, PAINT_NONE, "%lld / %lld", (long long)p->predicted[i], actual);
    }
    fields_text(o, "reason", c ? NULL : p->reason);
    fields_text(o, "derivation", c ? NULL : p->derivation);
    if (!c)
        table_rest(t, PAINT_NONE, p->reason);
    free(facts);
    return count >= 0;
}

static void kernel_fields(const char *label, const struct compiled *c, const struct kernel_facts *f)
{
    json_t *k = fields_item(fields_list(fields("compile"), "kernels"));
    const struct named_count counts[] = {{"registers", f->registers},
                                         {"spill_store_bytes", f->spill_store_bytes},
                                         {"spill_load_bytes", f->spill_load_bytes},
                                         {"stack_bytes", f->stack_bytes},
                                         {"static_smem", f->static_smem},
                                         {"code_bytes", f->code_bytes}};
    fields_text(k, "unit", label);
    fields_text(k, "kernel", f->name);
    fields_counts(k, counts, sizeof counts / sizeof *counts);
    fields_text(k, "sass_hash", f->sass_hash);
    json_object_set_new(k, "cached", json_boolean(c->from_cache));
}

static void print_facts(struct text *t, const char *label, const struct compiled *c, struct error *err)
{
    SCOPED struct kernel_facts *facts = NULL;
    int count = cubin_read(c->cubin, c->cubin_bytes, &facts, err);
    if (count < 0 || !cubin_add_log(c->log, facts, count, err)) {
        text_addf(t, "%s: %s\n", label, err->text);
        count = 0;
    }
    for (int i = 0; i < count; i++) {
        text_addf(t, "%-34s %-28s %3d regs  spills %d/%d B  stack %d B  smem %d B  code %d B %.12s", label, facts[i].name,
                  facts[i].registers, facts[i].spill_store_bytes, facts[i].spill_load_bytes, facts[i].stack_bytes, facts[i].static_smem,
                  facts[i].code_bytes, facts[i].sass_hash);
        text_addf(t, "  %s\n", c->from_cache ? "cached" : "compiled");
        kernel_fields(label, c, &facts[i]);
    }
}

/* The same of a cubin that bench has not compiled: there is no log, which would tell the bytes of spills. */
static bool print_foreign(struct text *t, const char *label, const struct compiled *c, struct error *err)
{
    SCOPED struct kernel_facts *facts = NULL;
    int count = cubin_read(c->cubin, c->cubin_bytes, &facts, err);
    if (count < 0)
        text_addf(t, "%s: %s\n", label, err->text);
    for (int i = 0; i < count; i++) {
        const struct kernel_facts *f = &facts[i];
        text_addf(t, "%-34s %-28s %3d regs  stack %d B  smem %d B  code %d B %.12s  as built\n", label, f->name, f->registers,
                  f->stack_bytes, f->static_smem, f->code_bytes, f->sass_hash);
        if (f->sass_total > 0)
            text_addf(t, "%-34s SASS: %d instructions, %d FFMA, %d HFMA2, %d MMA, %d GMMA, %d LDG, %d STG, %d LDS, %d STS, %d BAR\n", "",
                      f->sass_total, f->sass_ffma, f->sass_hfma2, f->sass_mma, f->sass_gmma, f->sass_ldg, f->sass_stg, f->sass_lds,
                      f->sass_sts, f->sass_bar);
        kernel_fields(label, c, f);
    }
    return count >= 0;
}

static void register_fields(const char *label, const struct step *s, const struct register_point *points, int count)
{
    json_t *k = fields_item(fields_list(fields("compile"), "launch_bounds")), *list = fields_list(k, "points");
    fields_text(k, "unit", label);
    fields_text(k, "kernel", s->name);
    for (int i = 0; i < count; i++) {
        const struct register_point *p = &points[i];
        const struct named_count counts[] = {{"blocks_asked", p->blocks ? p->blocks : -1}, /* null: as the source says */
                                             {"registers_allowed", p->blocks ? p->allowed : -1},
                                             {"registers", p->failed ? -1 : p->registers},
                                             {"spill_store_bytes", p->failed ? -1 : p->spill_store_bytes},
                                             {"spill_load_bytes", p->failed ? -1 : p->spill_load_bytes},
                                             {"blocks_per_sm", p->failed ? -1 : p->blocks_per_sm}};
        json_t *point = fields_item(list);
        json_object_set_new(point, "compiles", json_boolean(!p->failed));
        fields_counts(point, counts, sizeof counts / sizeof *counts);
    }
}

/* Compiles every kernel of every row under other launch bounds; equal kernels of one file and configuration once. */
static bool print_registers(const struct plan *plan, const char *compiler, struct text *t, struct error *err)
{
    SCOPED char **seen = NULL;
    int seen_count = 0;
    bool ok = true;
    for (int i = 0; ok && i < plan->row_count; i++) {
        const struct plan_row *r = &plan->rows[i];
        const struct program *p = plan_program(plan, i);
        for (int k = 0; ok && !r->broken && p->feasible && k < p->step_count; k++) {
            const struct step *s = &p->steps[k];
            const struct unit *u = s->kind == STEP_KERNEL ? &p->units[s->unit] : NULL;
            if (!u || !u->path || u->code != CODE_CUDA)
                continue;
            SCOPED_TEXT key = {0};
            text_addf(&key, "%s %s", u->label, s->name);
            for (int d = 0; d < u->define_count; d++)
                text_addf(&key, " %s", u->defines[d]);
            text_addf(&key, " block %ux%ux%u smem %zu", s->block[0], s->block[1], s->block[2], (size_t)s->smem);
            bool known = ANY_OF(n, seen_count, !strcmp(seen[n], text_get(&key)));
            if (!known) {
                struct register_point points[REGISTER_POINTS];
                int count = worker_registers(plan, i, k, compiler, points, err);
                ok = count >= 0;
                register_fields(u->label, s, points, count);
                text_addf(t, "%s %s  block %ux%ux%u  %zu B dynamic shared memory\n", u->label, s->name, s->block[0], s->block[1],
                          s->block[2], (size_t)s->smem);
                cli_print_launch_bounds(t, points, count);
                *APPEND(seen, seen_count) = text_take(&key);
            }
        }
    }
    for (int i = 0; i < seen_count; i++)
        free(seen[i]);
    return ok;
}

/* The images compiled so far, each once, and the text about them. */
struct compiling {
    const char *compiler;
    struct compiled *items;
    int count, broken;
    struct text text;
    struct table *predictions;
    bool silent;       /* nothing more is printed */
    int share, shares; /* only this share of the requests, for the cache; 0: all, and the images are kept */
};

static void compiling_free(struct compiling *list)
{
    for (int i = 0; i < list->count; i++)
        compiled_free(&list->items[i]);
    free(list->items);
    text_free(&list->text);
}

/* The same for equal requests. */
static int share_of(const struct compile_request *request, int shares)
{
    unsigned sum = 0;
    for (const char *s = request->path; *s; s++)
        sum = sum * 31 + (unsigned char)*s;
    for (int i = 0; i < request->define_count; i++)
        for (const char *s = request->defines[i]; *s; s++)
            sum = sum * 31 + (unsigned char)*s;
    return (int)(sum % (unsigned)shares);
}

/* True with *c NULL: it does not compile; the error was printed and counted. Else the list keeps *c. */
static bool add_image(struct compiling *list, const struct compile_request *request, const struct compiled **c, struct error *err)
{
    struct compile_request own = *request;
    struct compiled made = {0};
    own.compiler = list->compiler;
    *c = NULL;
    if (list->shares) {
        if (share_of(request, list->shares) == list->share && compile(&own, &made, NULL))
            compiled_free(&made);
        return true; /* the errors come again */
    }
    if (!compile(&own, &made, err)) {
        if (err->kind == ERROR_ENVIRONMENT)
            return false;
        cli_fail(err);
        list->broken++;
        return true;
    }
    for (int k = 0; k < list->count && !*c; k++)
        if (!strcmp(list->items[k].key, made.key))
            *c = &list->items[k];
    if (*c) {
        compiled_free(&made);
        return true;
    }
    *APPEND(list->items, list->count) = made;
    *c = &list->items[list->count - 1];
    if (!list->silent)
        print_facts(&list->text, request->label, *c, err);
    return true;
}

/* Was this file a unit of an earlier row, or an earlier one of this row? */
static bool seen_before(const struct plan *plan, int row, int unit)
{
    const char *path = plan_program(plan, row)->units[unit].path;
    bool seen = false;
    for (int i = 0; i <= row; i++)
        for (int k = 0; k < (i < row ? plan_program(plan, i)->unit_count : unit); k++) {
            const char *before = plan_program(plan, i)->units[k].path;
            seen |= before && !strcmp(before, path);
        }
    return seen;
}

/* Code that bench does not compile: the facts of a cubin; of PTX and of a library, that there are none. */
static void add_foreign(struct compiling *list, const struct unit *u)
{
    struct error err = {0};
    if (u->code == CODE_PTX)
        text_addf(&list->text, "%-34s PTX: the driver compiles it on the GPU's machine\n", u->label);
    else if (u->code == CODE_LIBRARY)
        text_addf(&list->text, "%-34s a library: its kernels are not known before it runs\n", u->label);
    if (u->code != CODE_CUBIN)
        return;
    struct compiled cubin = {0};
    cubin.cubin = file_read(u->path, 1u << 30, &cubin.cubin_bytes, &err);
    if (!cubin.cubin)
        text_addf(&list->text, "%s: %s\n", u->label, err.text);
    else
        list->broken += !print_foreign(&list->text, u->label, &cubin, &err);
    list->broken += !cubin.cubin;
    free(cubin.cubin);
}

static bool compile_plan(struct plan *plan, const char *arch, struct compiling *list, struct error *err)
{
    for (int i = 0; i < plan->row_count; i++) {
        const struct program *p = plan_program(plan, i);
        struct error none = {0};
        if (!plan->rows[i].broken && !p->feasible && !add_prediction(&list->predictions, plan, i, NULL, err))
            return false;
        if (plan->rows[i].kind == PLAN_CHAIN && (plan->rows[i].chain->pick != CHAIN_KERNEL || !choose_unseen(plan, i, &none)))
            continue; /* only a kernel for several layers is not compiled by the layers' own rows */
        for (int u = 0; !plan->rows[i].broken && p->feasible && u < p->unit_count; u++) {
            struct compile_request request = {.path = p->units[u].path,
                                              .include = p->units[u].include,
                                              .label = p->units[u].label,
                                              .defines = (const char *const *)p->units[u].defines,
                                              .define_count = p->units[u].define_count,
                                              .arch = arch};
            const struct compiled *c;
            if (request.path && p->units[u].code != CODE_CUDA && !seen_before(plan, i, u))
                add_foreign(list, &p->units[u]);
            if (!request.path || p->units[u].code != CODE_CUDA)
                continue;
            if (!add_image(list, &request, &c, err) || (c && u == 0 && !add_prediction(&list->predictions, plan, i, c, err)))
                return false;
        }
    }
    return true;
}

/* Adds to the bundle the kernels that measure ceilings, check outputs and compute references on the other machine. */
static bool compile_own(const struct plan *plan, const char *arch, struct compiling *list, struct error *err)
{
    SCOPED char *ceilings = roofs_source();
    struct compile_request request = {.path = ceilings, .label = "roofs", .arch = arch};
    const struct compiled *c;
    list->silent = true;
    bool ok = add_image(list, &request, &c, err);
    for (int i = 0; ok && card_sources[i]; i++) {
        SCOPED char *path = file_share(card_sources[i]);
        request = (struct compile_request){.path = path, .label = "reference", .arch = arch};
        ok = add_image(list, &request, &c, err);
    }
    for (int i = 0; ok && i < plan->case_count; i++) {
        const struct work *work = &plan->cases[i].work;
        SCOPED char **defines = NULL;
        int count = reference_source(work->op) ? reference_defines(work, &defines, err) : 0;
        request = (struct compile_request){.path = reference_source(work->op),
                                           .label = "reference",
                                           .defines = (const char *const *)defines,
                                           .define_count = count,
                                           .arch = arch};
        ok = count >= 0 && (!request.path || add_image(list, &request, &c, err));
        while (count > 0)
            free(defines[--count]);
    }
    return ok;
}

/* Compiles everything into the cache, in a process a core. */
static void compile_ahead(struct plan *plan, const char *arch, const char *compiler)
{
    pid_t pids[64], parent = getpid();
    int shares = pool_threads() < 64 ? pool_threads() : 64;
    for (int i = 0; i < shares && shares > 1; i++) {
        struct compiling own = {.compiler = compiler, .silent = true, .share = i, .shares = shares};
        pids[i] = fork();
        if (pids[i] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            _exit(getppid() != parent || !compile_plan(plan, arch, &own, NULL) || !compile_own(plan, arch, &own, NULL));
        }
    }
    for (int i = 0; i < shares && shares > 1; i++)
        if (pids[i] > 0)
            waitpid(pids[i], NULL, 0);
}

/* How the numbers of the refused rows come about; of many rows, only the first ones. */
static void print_derivations(const struct plan *plan)
{
    enum { TOLD = 4 };
    int count = 0;
    for (int i = 0; i < plan->row_count; i++) {
        const struct program *p = plan_program(plan, i);
        if (!plan->rows[i].broken && !p->feasible && p->derivation && count++ < TOLD)
            cli_say(stdout, "\n%s, where\n%s", plan_id(plan, i), p->derivation);
    }
    if (count > TOLD)
        cli_say(stdout, "\n%d more rows are refused; --json has them all\n", count - TOLD);
}

/* All values of every parameter, also those that the scenario does not name. */
static bool show_region(struct plan_options *options, const char *kind, const struct chip *chip, const struct plan *asked,
                        struct error *err)
{
    SCOPED const char **names = xcalloc((size_t)asked->row_count + 1, sizeof *names);
    SCOPED_BY(plan_free) struct plan plan = {0};
    int n = 0;
    for (int i = 0; i < asked->row_count; i++) {
        const struct plan_row *r = &asked->rows[i];
        bool known = r->kind != PLAN_LAYER || !r->config || !r->config->count;
        for (int k = 0; k < n && !known; k++)
            known = !strcmp(names[k], plan_row_variant(r));
        if (!known)
            names[n++] = plan_row_variant(r);
    }
    options->variant_names = names;
    options->tune = true;
    options->layers_only = true;
    bool made = plan_make(options, kind, chip, &plan, err);
    if (made)
        cli_region(&plan);
    else if (!err->hint[0])
        error_hint(err, "--only VARIANT selects the variants");
    options->variant_names = NULL;
    return made;
}

int cli_compile(const struct verb *verb, int argc, char **argv)
{
    SCOPED_BY(cli_plan_free) struct plan_arguments a = {0};
    SCOPED const char **rest = xcalloc((size_t)argc + 1, sizeof *rest);
    const char *chip_name = NULL, *bundle = NULL;
    bool full = false, registers = false, region = false;
    struct option options[PLAN_OPTION_COUNT + 5] = {{0}};
    SCOPED_BY(compiling_free) struct compiling list = {0};
    SCOPED_BY(plan_free) struct plan plan = {0};
    struct error err = {0};
    SCOPED char *path = NULL;
    int count, code;
    cli_plan_options(&a, options);
    options[PLAN_OPTION_COUNT - 1] = (struct option){"--bundle", 0, OPTION_TEXT, "FILE", "write PTX and cubins to this file", &bundle};
    options[PLAN_OPTION_COUNT] =
        (struct option){"--chip", 0, OPTION_TEXT, "CHIP", "target chip: GH100, sm_86, H200 ...; default GH100", &chip_name};
    options[PLAN_OPTION_COUNT + 1] =
        (struct option){"--emu", 0, OPTION_FLAG, NULL, "use the cropped shapes of emu instead of the shapes of a GPU", &full};
    options[PLAN_OPTION_COUNT + 2] = (struct option){
        "--registers", 0, OPTION_FLAG, NULL, "also show registers and spills of each kernel at other launch bounds", &registers};
    options[PLAN_OPTION_COUNT + 3] =
        (struct option){"--region",
                        0,
                        OPTION_FLAG,
                        NULL,
                        "only show which combinations of a variant's parameters the chip takes, and what refuses the others",
                        &region};
    if (!cli_options(verb, options, argc, argv, rest, &count, NULL, &code))
        return code;
    if (count != 1)
        return cli_usage(verb, "which scenario?");
    const char *kind = full ? "emu" : "cuda";
    const struct chip *chip = cli_chip(chip_name, "--chip ", &err);
    if (!chip || !cli_plan_arguments(&a, rest[0], &path, &err) || !plan_make(&a.plan, kind, chip, &plan, &err))
        return cli_fail(&err);
    if (region)
        return show_region(&a.plan, kind, chip, &plan, &err) ? 0 : cli_fail(&err);
    list.compiler = a.compiler;
    if (bundle)
        compile_ahead(&plan, chip->arch, a.compiler);
    bool ok = compile_plan(&plan, chip->arch, &list, &err) && (!registers || print_registers(&plan, a.compiler, &list.text, &err)) &&
              (!bundle || (compile_own(&plan, chip->arch, &list, &err) && compile_bundle_write(bundle, list.items, list.count, &err)));
    if (list.predictions) {
        text_add(&list.text, "\n");
        cli_print(&list.text);
        cli_table(list.predictions);
        print_derivations(&plan);
    } else {
        cli_print(&list.text);
    }
    code = ok ? list.broken ? 4 : 0 : cli_fail(&err);
    json_t *o = fields("compile");
    fields_list(o, "kernels"), fields_list(o, "launch_bounds"), fields_list(o, "predictions");
    fields_text(o, "arch", chip->arch);
    fields_count(o, "images", list.count);
    fields_count(o, "broken", list.broken);
    fields_text(o, "bundle", ok ? bundle : NULL);
    if (ok && bundle)
        cli_say(stdout, "%d images for %s in %s\n", list.count, chip->arch, bundle);
    return code;
}
