/* Rows as an H200 and a laptop return them, for the tests of row/ and report/. Times, registers and shared memory of the sparse case were
 * measured; the other values are plausible. */
#ifndef BENCH_TESTS_FIXTURE_ROWS_H
#define BENCH_TESTS_FIXTURE_ROWS_H

#include "store/family.h"
#include "base/text.h"
#include "store/store.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fixture {
    struct run run;
    struct row **rows;
    int count;
};

static inline void fixture_free(struct fixture *f)
{
    run_clear(&f->run);
    rows_free(f->rows, f->count);
    *f = (struct fixture){0};
}

static inline void fixture_run(struct run *run, const char *scenario, const char *device, const char *about)
{
    snprintf(run->started, sizeof run->started, "2026-11-21T09:14:03Z");
    snprintf(run->ended, sizeof run->ended, "2026-11-21T09:20:15Z");
    run->id = 1;
    run->scenario = xstrdup(scenario);
    run->scenario_path = text_format("scenarios/%s.yaml", scenario);
    run->scenario_hash = xstrdup("9f2c6d0e7b1a4c58b3d0e6f7a8192a3b4c5d6e7f8091a2b3c4d5e6f708192a3b");
    run->scenario_text = text_format("scenario: %s\n", scenario);
    run->argv = text_format("bench run scenarios/%s.yaml", scenario);
    run->verb = xstrdup("run");
    run->commit = xstrdup("1a2b3c4+dirty");
    run->device = xstrdup(device);
    run->product = xstrdup(about);
    run->device_about = xstrdup(about);
    run->compiler = xstrdup("nvrtc 13.0.88");
    run->cpu = xstrdup("2 x some CPU");
    run->environment = xstrdup("{\"cudnn\": \"cudnn 9.19.0\", \"sm_clock_mhz\": 1980}");
    run->seed = 1;
    if (strncmp(device, "cuda", 4) == 0) {
        run->uuid = xstrdup("GPU-00000000-1111-2222-3333-444444444444");
        run->driver = xstrdup("580.65.06");
    }
}

/* "a=1,b=2" as axes or parameters. */
static inline void fixture_pairs(struct row *row, const char *text,
                                 void (*add)(struct row *row, const char *name, const char *value, double number))
{
    char *copy = xstrdup(text), *rest = copy;
    for (char *one; (one = strsep(&rest, ","));) {
        char *value = strchr(one, '=');
        if (value) {
            double number = NAN;
            *value = 0;
            text_to_real(value + 1, &number);
            add(row, one, value + 1, number);
        }
    }
    free(copy);
}

static inline const struct row_list *fixture_list(enum column_group group)
{
    const struct row_list *l = row_lists;
    while (l->group != group)
        l++;
    return l;
}

/* "mask=blobs24:0.10:3" is also what a plan says of the mask. */
static inline void fixture_axes(struct row *row, const char *axes)
{
    char word[32];
    long long radius, seed;
    row_list_empty(fixture_list(COLUMN_AXIS), row);
    row_set(&row->axes, NULL);
    fixture_pairs(row, axes, row_add_axis);
    const char *mask = row_axis(row, "mask");
    if (!mask || !strcmp(mask, "none"))
        return;
    int found = sscanf(mask, "%31[a-z]%lld", word, &radius);
    row_set(&row->mask_pattern, word);
    row->mask_radius = found == 2 ? radius : -1;
    row->mask_seed = sscanf(mask, "%*[^:]:%*[^:]:%lld", &seed) == 1 ? seed : 1;
}

/* "conv2d/cudnn + pointwise/epilogue" */
static inline void fixture_variant(struct row *row, const char *variant)
{
    row_list_empty(fixture_list(COLUMN_PART), row);
    for (const char *from = variant, *plus; from; from = plus ? plus + 3 : NULL) {
        plus = strstr(from, " + ");
        char *one = xstrndup(from, plus ? (size_t)(plus - from) : strlen(from));
        row_add_part(row, one, one + (strchr(one, '/') ? strcspn(one, "/") + 1 : 0));
        free(one);
    }
    const char *own = row->parts[0].variant, *slash = strrchr(own, '/');
    row->library = strncmp(slash ? slash + 1 : own, "cudnn", 5) == 0;
    row_set(&row->variant, variant);
}

/* "x2:16, x4:1" */
static inline void fixture_networks(struct row *row, const char *networks)
{
    char *copy = xstrdup(networks ? networks : ""), *rest = copy;
    row_list_empty(fixture_list(COLUMN_NETWORK), row);
    row_set(&row->networks, NULL);
    for (char *one; (one = strsep(&rest, ","));) {
        char *name = one + strspn(one, " "), *colon = strchr(name, ':');
        if (colon) {
            *colon = 0;
            row_add_network(row, name, strtoll(colon + 1, NULL, 10));
        }
    }
    free(copy);
}

/* A kernel that CUPTI saw. */
static inline void fixture_launch(struct row *row, const char *name, struct row_launch launch)
{
    struct row_launch *l = row_add_launch(row);
    free(l->name);
    *l = launch;
    l->name = xstrdup(name);
    row->launched = row->launch_count;
}

/* A row of the case that `case_index` counts. */
static inline struct row *fixture_row(struct fixture *f, int case_index, const char *layer, const char *axes, const char *work,
                                      const char *variant, const char *params, enum row_status status)
{
    struct row *row = row_new();
    int same = 0;
    for (int i = 0; i < f->count; i++)
        same += f->rows[i]->case_index == case_index;
    row->case_index = case_index;
    row->row_index = same;
    row->scenario = xstrdup(f->run.scenario);
    row->layer = xstrdup(layer);
    fixture_axes(row, axes);
    row->cropped = strchr(layer, '@') != NULL;
    row->case_name = text_format(axes[0] ? "%s[%s]" : "%s", layer, axes);
    row->case_id = text_format("%s/%s", f->run.scenario, row->case_name);
    fixture_variant(row, variant);
    fixture_pairs(row, params, row_add_param);
    row->id = params[0] ? text_format("%s/%s[%s]", row->case_id, variant, params) : text_format("%s/%s", row->case_id, variant);
    row->device = xstrdup(f->run.device);
    row->work = xstrdup(work);
    row->op = xstrdup(strncmp(work, "depth", 5) == 0 ? "depth_to_space" : "conv2d");
    row->dtype = xstrdup("f16");
    row->math = xstrdup("f16_acc32");
    row->layout = xstrdup("NHWC");
    row->algorithm = xstrdup("direct");
    row->compiler = xstrdup("nvrtc 13.0.88");
    row->arch = xstrdup("sm_90a");
    row->status = status;
    if (status == ROW_OK) {
        row->check = xstrdup("exact + 0.1 tol");
        row->error_over_bound = 0.1;
    }
    hash_bytes(row->id, strlen(row->id), row->key);
    f->rows = xrealloc(f->rows, (size_t)(f->count + 1) * sizeof *f->rows);
    f->rows[f->count++] = row;
    return row;
}

static inline struct row_step *fixture_step(struct row *row, const char *name, int registers, int spill, int smem_kib, double occupancy,
                                            const char *limit)
{
    struct row_step *s = row_add_step(row);
    row_set(&s->name, name);
    snprintf(s->kind, sizeof s->kind, "%s",
             strncmp(name, "fill", 4) == 0        ? "fill"
             : strcmp(row->variant, "cudnn") == 0 ? "cudnn"
                                                  : "kernel");
    if (strcmp(s->kind, "fill") == 0)
        return s;
    s->grid[0] = 80, s->grid[1] = 90, s->grid[2] = 1;
    s->block[0] = 256, s->block[1] = s->block[2] = 1;
    s->registers = registers;
    s->spill_store_bytes = s->spill_load_bytes = spill;
    s->static_smem = 0;
    s->dynamic_smem = smem_kib * 1024;
    s->stack_bytes = spill;
    s->code_bytes = 6016;
    s->occupancy = occupancy;
    s->warps_per_sm = (int)lround(occupancy * 64);
    s->blocks_per_sm = s->warps_per_sm / 8;
    snprintf(s->limit, sizeof s->limit, "%s", limit);
    s->waves = 7.3;
    if (strcmp(row->variant, "cudnn") != 0) {
        const char *slash = strrchr(row->variant, '/');
        snprintf(s->file, sizeof s->file, "kernels/variants/conv2d/%s.cu", slash ? slash + 1 : row->variant);
    }
    hash_bytes(row->id, strlen(row->id), s->sass_hash);
    return s;
}

/* us; the ratio to row 0 with its interval; 0: this is row 0. */
static inline struct row_time *fixture_time(struct row *row, int step, double us, double half_us, double ratio, double low, double high)
{
    struct row_time *t = row_add_time(row);
    t->step = step;
    snprintf(t->cache, sizeof t->cache, "cold");
    snprintf(t->load, sizeof t->load, "isolated");
    t->median_ns = us * 1e3;
    t->rounds = 42;
    if (half_us > 0) {
        t->low_ns = (us - half_us) * 1e3;
        t->high_ns = (us + half_us) * 1e3;
        t->p05_ns = (us - 3 * half_us) * 1e3;
        t->p95_ns = (us + 4 * half_us) * 1e3;
    }
    if (ratio > 0) {
        t->ratio = ratio;
        t->ratio_low = low;
        t->ratio_high = high;
    }
    return t;
}

static inline void fixture_work(struct row *row, double gflop, double mbytes, double floor_us, const char *by, double roof_us)
{
    row->flop = gflop * 1e9;
    row->bytes = mbytes * 1e6;
    row->floor_ns = floor_us * 1e3;
    snprintf(row->floor_by, sizeof row->floor_by, "%s", by);
    if (roof_us > 0)
        row_add_member(row, FAMILY_MODEL, -1, 0, "roof_ns", "ns", "model", roof_us * 1e3);
}

/* The sparse case of the target experience, on an H200. */
static inline void fixture_sparse_case(struct fixture *f, int index)
{
    const char *work = "conv2d 64->64 3x3 +bias+relu  1x720x1280 f16 acc32 NHWC", *axes = "mask=blobs24:0.10:1";
    int first = f->count;
    struct row *r = fixture_row(f, index, "body_1", axes, work, "cudnn", "", ROW_OK);
    r->engine = xstrdup("engine 62 TILE_SIZE=4 TILEK=0 CGA_M=8");
    r->engine_number = 62;
    r->noise = 0.0031;
    r->workspace_bytes = 131;
    fixture_step(r, "sm90_xmma_fprop_implicit_gemm", 168, 0, 198, 0.12, "regs");
    fixture_time(r, -1, 154.7, 0.4, 1, 1, 1);
    r = fixture_row(f, index, "body_1", axes, work, "conv2d/wgmma_rs", "", ROW_INFEASIBLE);
    row_set(&r->reason, "needs: mask == none");
    r = fixture_row(f, index, "body_1", axes, work, "conv2d/sparse_tile", "", ROW_OK);
    r->what = xstrdup("8x8 output tiles from the tile bitmap, tensor cores on the dense inside of a tile");
    snprintf(fixture_step(r, "sparse_tile", 232, 0, 184, 0.19, "regs")->lift, 160, "8 fewer registers (224) give 2 blocks per SM");
    fixture_time(r, -1, 17.1, 0.1, 9.05, 8.98, 9.12);
    r = fixture_row(f, index, "body_1", axes, work, "conv2d/delta_tile", "", ROW_OK);
    fixture_step(r, "delta_tile", 128, 0, 8, 0.25, "regs");
    fixture_time(r, -1, 294, 1, 0.526, 0.524, 0.529);
    for (int th = 8; th <= 16; th += 8) {
        for (int tw = 16; tw <= 32; tw += 16) {
            char params[64];
            bool wrong = th == 16 && tw == 32;
            snprintf(params, sizeof params, "CC=16,TH=%d,TW=%d", th, tw);
            r = fixture_row(f, index, "body_1", axes, work, "my/halo_regs", params, wrong ? ROW_WRONG : ROW_INFEASIBLE);
            row_set(&r->reason, wrong ? "output(0,719,1270,63) = 0.412, want 0.731 ±0.004; 40,960 of 58,982,400 elements, all in row 719"
                                      : "where: smem <= smem_per_block_optin (smem 247808, smem_per_block_optin 232448)");
            if (wrong) {
                row_set(&r->dump, ".bench/dump/7c1e");
                fixture_step(r, "conv3x3_halo_regs", 64, 100, 77, 0.5, "regs");
                fixture_time(r, -1, 12.5, 0.1, 12.4, 12.3, 12.5); /* must never be ranked */
            }
        }
    }
    r = fixture_row(f, index, "body_1", axes, work, "my/tile_list", "BPS=2,CC=16", ROW_OK);
    r->what = xstrdup("two launches: list the active 8x8 output tiles, then a persistent grid convolves only those");
    fixture_step(r, "fill count", 0, 0, 0, 0, "");
    fixture_step(r, "list_tiles", 43, 0, 0, 0.62, "regs")->waves = 0.86;
    snprintf(fixture_step(r, "conv_tiles", 80, 0, 43, 0.38, "regs")->lift, 160, "16 fewer registers (64) give 4 blocks per SM");
    fixture_time(r, -1, 230, 1, 0.67, 0.67, 0.68);
    fixture_time(r, 0, 1.5, 0, 0, 0, 0);
    fixture_time(r, 1, 4.6, 0, 0, 0, 0);
    fixture_time(r, 2, 223, 0, 0, 0, 0);
    r->scratch_bytes = 57604;
    row_add_metric(r, -1, 0, "tiles_active", "", "variant", 1599);
    for (int i = first; i < f->count; i++) {
        fixture_work(f->rows[i], 67.9, 25, 7.0, "compute", 9.5);
        f->rows[i]->repeat = 16;
        fixture_networks(f->rows[i], "edsr_x2:16");
        f->rows[i]->density_in = 0.1;
        f->rows[i]->density_out = 0.111;
    }
}

static inline void fixture_dense_case(struct fixture *f, int index, const char *layer, const char *work, int repeat, double gflop,
                                      double mbytes, double cudnn_us)
{
    static const struct {
        const char *variant, *params, *what;
        double times;
        int registers, spill, smem;
        double occupancy;
    } list[] = {
        {"cudnn", "", "", 1, 168, 0, 198, 0.12},
        {"conv2d/naive", "", "one thread an output, everything from global memory", 38.2, 40, 0, 0, 0.75},
        {"conv2d/naive_uncoalesced", "", "as naive, neighbours in a warp read across channels", 121, 40, 0, 0, 0.75},
        {"conv2d/tiled_halo", "TH=8,TW=16", "halo tile and weights in shared memory", 11.4, 64, 0, 43, 0.5},
        {"conv2d/reg_tiled", "", "no shared memory, 4x4 outputs a thread in registers", 7.9, 128, 16, 0, 0.25},
    };
    int first = f->count;
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        struct row *r = fixture_row(f, index, layer, "", work, list[i].variant, list[i].params, ROW_OK);
        row_set(&r->what, list[i].what);
        struct row_step *s = fixture_step(r, i ? strchr(list[i].variant, '/') + 1 : "sm90_xmma_fprop", list[i].registers, list[i].spill,
                                          list[i].smem, list[i].occupancy, "regs");
        if (i == 0) {
            r->engine = xstrdup("engine 62 TILE_SIZE=4 TILEK=0 CGA_M=8");
            r->engine_number = 62;
            r->noise = 0.0028;
        }
        if (list[i].spill)
            snprintf(s->lift, sizeof s->lift, "48 fewer registers (80) give 3 blocks per SM");
        double us = cudnn_us * list[i].times, x = 1 / list[i].times;
        if (strcmp(layer, "head") == 0 && i == 4) { /* three input channels: the library pads them */
            us = 38.5;
            x = cudnn_us / us;
        }
        fixture_time(r, -1, us, us * 0.003, x, 0.995 * x, 1.005 * x);
    }
    for (int i = first; i < f->count; i++) {
        fixture_work(f->rows[i], gflop, mbytes, fmax(gflop / 990 * 1e3, mbytes / 4.8),
                     gflop / 990 * 1e3 > mbytes / 4.8 ? "compute" : "memory", 0);
        f->rows[i]->repeat = repeat;
        row_add_network(f->rows[i], "edsr_x2", repeat);
    }
}

/* EDSR-baseline x2 at 720p: five distinct layers, 36 convolutions; and the sparse case. */
static inline void fixture_h200(struct fixture *f)
{
    fixture_run(&f->run, "edsr_sparse", "cuda:0", "NVIDIA H200");
    fixture_dense_case(f, 0, "head", "conv2d 3->64 3x3 +bias  1x720x1280 f16 acc32 NHWC", 1, 3.19, 123, 46);
    fixture_dense_case(f, 1, "body_2", "conv2d 64->64 3x3 +bias+residual  1x720x1280 f16 acc32 NHWC", 17, 67.9, 354, 168);
    fixture_dense_case(f, 2, "body_1", "conv2d 64->64 3x3 +bias+relu  1x720x1280 f16 acc32 NHWC", 16, 67.9, 236, 154.7);
    fixture_sparse_case(f, 3);
    fixture_dense_case(f, 4, "up", "conv2d 64->256 3x3 +bias+depth_to_space(2 CRD)  1x720x1280 f16 acc32 NHWC", 1, 272, 590, 611);
    fixture_dense_case(f, 5, "tail", "conv2d 64->3 3x3 +bias  1x1440x2560 f16 acc32 NHWC", 1, 12.7, 494, 203);
    f->run.planned = f->count;
}

static inline void fixture_counts(struct row *r, double fma, double sectors_st, double requests_st, double moved)
{
    const char *e = "emu";
    row_add_member(r, FAMILY_WARP, -1, 0, "instructions", "", e, fma * 1.31);
    row_add_member(r, FAMILY_WARP, -1, 0, "fma", "", e, fma);
    row_add_member(r, FAMILY_EMU, -1, 0, "global_requests_st", "", e, requests_st);
    row_add_member(r, FAMILY_EMU, -1, 0, "global_sectors_st", "", e, sectors_st);
    row_add_member(r, FAMILY_EMU, -1, 0, "global_sectors_ideal_st", "", e, requests_st * 2);
    row_add_member(r, FAMILY_EMU, -1, 0, "global_requests_ld", "", e, requests_st * 3);
    row_add_member(r, FAMILY_EMU, -1, 0, "global_sectors_ld", "", e, moved * r->bytes / 32 - sectors_st);
    row_add_member(r, FAMILY_EMU, -1, 0, "global_sectors_ideal_ld", "", e, requests_st * 9);
    row_add_member(r, FAMILY_EMU, -1, 0, "shared_wavefronts_ld", "", e, 524288);
    row_add_member(r, FAMILY_EMU, -1, 0, "shared_wavefronts_ideal_ld", "", e, 262144);
    row_add_member(r, FAMILY_EMU, -1, 0, "shared_bank_conflicts", "", e, 262144);
}

static inline void fixture_line(struct row *r, int line, const char *suffix, double requests, double sectors, double ideal)
{
    char name[80];
    snprintf(name, sizeof name, "global_requests_%s", suffix);
    row_add_member(r, FAMILY_EMU, 0, line, name, "", "emu", requests);
    snprintf(name, sizeof name, "global_sectors_%s", suffix);
    row_add_member(r, FAMILY_EMU, 0, line, name, "", "emu", sectors);
    snprintf(name, sizeof name, "global_sectors_ideal_%s", suffix);
    row_add_member(r, FAMILY_EMU, 0, line, name, "", "emu", ideal);
}

/* The cropped case on a laptop. */
static inline void fixture_emu(struct fixture *f)
{
    const char *work = "conv2d 64->64 3x3 +bias+relu  1x48x48 f16 acc32 NHWC", *axes = "mask=none";
    fixture_run(&f->run, "edsr_sparse", "emu:GH100", "emu, GH100 (H200 SXM), 132 SMs");
    struct row *r = fixture_row(f, 0, "body_1@48x48", axes, work, "cudnn", "", ROW_SKIPPED);
    row_set(&r->reason, "not on emu");
    r = fixture_row(f, 0, "body_1@48x48", axes, work, "my/halo_regs", "CC=16,TH=8,TW=16", ROW_OK);
    fixture_work(r, 0.17, 0.664, 2.1, "launch", 0);
    snprintf(fixture_step(r, "conv3x3_halo_regs", 105, 0, 48, 0.25, "regs")->lift, 160, "25 fewer registers (80) give 3 blocks per SM");
    fixture_counts(r, 2654208, 18432, 1152, 3.0);
    fixture_line(r, 88, "st", 1152, 18432, 2304);
    row_add_member(r, FAMILY_EMU, 0, 68, "shared_wavefronts_ld", "", "emu", 524288);
    row_add_member(r, FAMILY_EMU, 0, 68, "shared_wavefronts_ideal_ld", "", "emu", 262144);
    r = fixture_row(f, 0, "body_1@48x48", axes, work, "my/halo_regs", "CC=16,TH=16,TW=32", ROW_OK);
    fixture_work(r, 0.17, 0.664, 2.1, "launch", 0);
    fixture_step(r, "conv3x3_halo_regs", 64, 100, 77, 0.5, "regs");
    fixture_counts(r, 3538944, 18432, 1152, 1.6);
    fixture_line(r, 88, "st", 1152, 18432, 2304);
    f->run.planned = f->count;
}

/* The notebook: one image, one channel, kernel 3..15 by 2, block 8..32 as a parameter, four variants. */
static inline void fixture_notebook(struct fixture *f, const char *device)
{
    bool times = strncmp(device, "cuda", 4) == 0;
    static const char *const variants[] = {"conv2d/naive", "conv2d/tiled_nohalo", "conv2d/tiled_constmem", "conv2d/tiled_halo"};
    static const double factor[] = {1, 0.82, 0.61, 0.44};
    fixture_run(&f->run, "notebook", device, times ? "NVIDIA H200" : "emu, GH100 (H200 SXM), 132 SMs");
    for (int k = 3, c = 0; k <= 15; k += 2, c++) {
        char axes[32], work[128];
        snprintf(axes, sizeof axes, "kernel=%d", k);
        snprintf(work, sizeof work, "conv2d 1->1 %dx%d  1x1000x2000 f32 acc32 NCHW", k, k);
        for (int v = 0; v < 4; v++) {
            for (int b = 8; b <= 32; b += 8) {
                char params[32];
                snprintf(params, sizeof params, "BLOCK=%d", b);
                bool fits = v != 3 || b + k <= 44;
                struct row *r = fixture_row(f, c, "image", axes, work, variants[v], params, fits ? ROW_OK : ROW_INFEASIBLE);
                fixture_work(r, 4e-3 * k * k, 8, 1.9, "memory", 0);
                if (!fits) {
                    row_set(&r->reason, "where: threads <= 1024 (threads 1156)");
                    continue;
                }
                fixture_step(r, strchr(variants[v], '/') + 1, 24 + v * 8, 0, v == 3 ? 4 : 0, b == 8 ? 1 : 0.75, "warps");
                double us = (4 + 0.35 * k * k) * factor[v] * (b == 8 ? 1.2 : b == 24 ? 1.1 : 1);
                if (times) {
                    double ratio = (4 + 0.35 * k * k) * 1.2 / us;
                    fixture_time(r, -1, us, us * 0.01, ratio, ratio * 0.99, ratio * 1.01);
                } else {
                    fixture_counts(r, 125000.0 * k * k * 1.1, 500000, 125000, 1 + factor[v] * k * k / 8);
                }
            }
        }
    }
    f->run.planned = f->count;
}

#endif
