/* The cuDNN adaptor: each kind of graph against a straightforward sum in double at sampled places, and the headline layer timed. */
#include "probe.h"
#include "base/dtype.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OPS (p->dev->ops)
#define SAMPLES 3000

struct layer {
    const char *name;
    struct cudnn_conv conv;
};
struct tensors {
    size_t count[5]; /* x, w, y, bias, residual: elements */
    double *value[5];
    uint64_t at[5], workspace;
};

static uint64_t state = 0x9E3779B97F4A7C15u;
static uint64_t draw(void)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
}
static double uniform(void)
{
    return (double)(draw() >> 11) * 0x1p-53;
}

/* Values representable in t, about normal. */
static void random_values(double *v, size_t n, double scale, enum dtype t)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t r = draw();
        double x = scale * ((double)((r & 0xffff) + (r >> 16 & 0xffff) + (r >> 32 & 0xffff) + (r >> 48)) / 65536 - 2) * 1.7320508;
        v[i] = t == DTYPE_F16 ? f16_to_f32(f16_from_f64(x)) : t == DTYPE_BF16 ? bf16_to_f32(bf16_from_f32((float)x)) : (double)(float)x;
    }
}

static size_t index_of(enum layout l, const int64_t d[4], int64_t n, int64_t c, int64_t h, int64_t w)
{
    return (size_t)(l == LAYOUT_NHWC ? ((n * d[2] + h) * d[3] + w) * d[1] + c : ((n * d[1] + c) * d[2] + h) * d[3] + w);
}

static bool upload(struct probe *p, const struct cudnn_conv *c, struct tensors *t, struct error *err)
{
    size_t counts[5] = {(size_t)(c->n * c->c * c->h * c->w), (size_t)(c->k * c->c / c->groups * c->r * c->s),
                        (size_t)(c->n * c->k * c->p * c->q), (size_t)c->k, c->residual ? (size_t)(c->n * c->k * c->p * c->q) : 1};
    for (int i = 0; i < 5; i++) {
        enum dtype type = i == 3 ? DTYPE_F32 : c->dtype;
        size_t bytes = counts[i] * dtype_bytes(type);
        t->count[i] = counts[i];
        t->value[i] = xcalloc(counts[i], sizeof(double));
        if (!OPS->alloc(p->dev, "cudnn tensor", bytes, &t->at[i], err))
            return false;
        if (i == 2) {
            if (!OPS->fill(p->dev, t->at[i], 0x7FE57FE5, bytes, err))
                return false;
            continue;
        }
        random_values(t->value[i], counts[i], i == 1 ? 1 / sqrt((double)(c->c / c->groups * c->r * c->s)) : 1,
                      c->dtype); /* bias in the data's type */
        void *typed = xmalloc(bytes);
        for (size_t k = 0; k < counts[i]; k++)
            dtype_set(type, typed, k, t->value[i][k]);
        bool ok = OPS->write(p->dev, t->at[i], typed, bytes, err);
        free(typed);
        if (!ok)
            return false;
    }
    return true;
}

static void release(struct probe *p, struct tensors *t)
{
    for (int i = 0; i < 5; i++) {
        if (t->at[i])
            OPS->release(p->dev, t->at[i]);
        free(t->value[i]);
    }
    if (t->workspace)
        OPS->release(p->dev, t->workspace);
    *t = (struct tensors){0};
}

static double reference(const struct cudnn_conv *c, const struct tensors *t, int64_t n, int64_t k, int64_t y, int64_t x)
{
    const int64_t xd[4] = {c->n, c->c, c->h, c->w}, wd[4] = {c->k, c->c / c->groups, c->r, c->s}, yd[4] = {c->n, c->k, c->p, c->q};
    int64_t per_group = c->c / c->groups, first = k / (c->k / c->groups) * per_group;
    double sum = 0;
    for (int64_t i = 0; i < per_group; i++)
        for (int64_t r = 0; r < c->r; r++)
            for (int64_t s = 0; s < c->s; s++) {
                int64_t h = y * c->stride - c->pad + r * c->dilation, w = x * c->stride - c->pad + s * c->dilation;
                if (h >= 0 && h < c->h && w >= 0 && w < c->w)
                    sum += t->value[0][index_of(c->layout, xd, n, first + i, h, w)] * t->value[1][index_of(c->layout, wd, k, i, r, s)];
            }
    if (c->bias)
        sum += t->value[3][k];
    if (c->residual)
        sum += t->value[4][index_of(c->layout, yd, n, k, y, x)];
    return c->activation && sum < 0 ? (c->activation == 2 ? c->alpha * sum : 0) : sum;
}

/* Largest |got - want| over sampled outputs, corners always among them; infinity for NaN or unwritten. */
static double worst_error(struct probe *p, const struct cudnn_conv *c, const struct tensors *t, struct error *err)
{
    const int64_t yd[4] = {c->n, c->k, c->p, c->q};
    size_t bytes = t->count[2] * dtype_bytes(c->dtype);
    void *typed = xmalloc(bytes);
    double worst = 0;
    if (!OPS->read(p->dev, t->at[2], typed, bytes, err)) {
        free(typed);
        return INFINITY;
    }
    for (int i = 0; i < SAMPLES; i++) {
        int64_t n = (int64_t)(uniform() * (double)c->n), k = (int64_t)(uniform() * (double)c->k), y = (int64_t)(uniform() * (double)c->p),
                x = (int64_t)(uniform() * (double)c->q);
        if (i < 8) {
            k = i & 1 ? c->k - 1 : 0;
            y = i & 2 ? c->p - 1 : 0;
            x = i & 4 ? c->q - 1 : 0;
        }
        double got = dtype_get(c->dtype, typed, index_of(c->layout, yd, n, k, y, x)), difference = fabs(got - reference(c, t, n, k, y, x));
        if (!(difference <= worst))
            worst = isnan(difference) ? INFINITY : difference;
    }
    free(typed);
    return worst;
}

static bool workspace_for(struct probe *p, struct cudnn_plan **plans, int count, struct tensors *t, struct error *err)
{
    uint64_t most = 0;
    for (int i = 0; i < count; i++)
        if (cudnn_plan_facts(plans[i])->workspace_bytes > most)
            most = cudnn_plan_facts(plans[i])->workspace_bytes;
    return most == 0 || OPS->alloc(p->dev, "workspace", most, &t->workspace, err);
}

static bool execute(struct cudnn *h, struct cudnn_plan *plan, const struct cudnn_conv *c, const struct tensors *t, struct error *err)
{
    return cudnn_execute(h, plan, t->at[0], t->at[1], t->at[2], c->bias ? t->at[3] : 0, c->residual ? t->at[4] : 0, t->workspace, err);
}

static double cold_us(struct probe *p, struct cudnn *h, struct cudnn_plan *plan, const struct cudnn_conv *c, const struct tensors *t,
                      struct device_event *e[2], int count, double *low, struct error *err)
{
    double ns[200];
    bool ok = true;
    for (int i = 0; i < count && ok; i++)
        ok = OPS->flush(p->dev, err) && OPS->record(p->dev, e[0], err) && execute(h, plan, c, t, err) && OPS->record(p->dev, e[1], err) &&
             OPS->sync(p->dev, err) && OPS->elapsed(p->dev, e[0], e[1], &ns[i], err);
    double median = ok ? probe_median(ns, count) / 1e3 : NAN;
    *low = ok ? probe_low(ns, count) / 1e3 : NAN;
    return median;
}

/* Every plan right, the best one's time. */
static void try_layer(struct probe *p, struct cudnn *h, const struct layer *l, int most, int rounds)
{
    struct error err = {0};
    struct cudnn_plan **plans = NULL;
    struct tensors t = {0};
    struct device_event *e[2] = {0};
    char name[128];
    double start = probe_now_s(), best = INFINITY, low = NAN;
    int count = cudnn_plans(h, &l->conv, most, &plans, &err), best_at = -1;
    snprintf(name, sizeof name, "cudnn.%s.plans", l->name);
    probe_number(p, name, count, "");
    snprintf(name, sizeof name, "cudnn.%s.find_s", l->name);
    probe_number(p, name, probe_now_s() - start, "s");
    if (count == 0) {
        snprintf(name, sizeof name, "cudnn.%s.none", l->name);
        probe_note(p, name, err.text);
        return;
    }
    bool ok = upload(p, &l->conv, &t, &err) && workspace_for(p, plans, count, &t, &err) && OPS->event(p->dev, &e[0], &err) &&
              OPS->event(p->dev, &e[1], &err);
    double tolerance = l->conv.dtype == DTYPE_F32    ? (l->conv.math == MATH_TF32 ? 8e-3 : 2e-4)
                       : l->conv.dtype == DTYPE_BF16 ? 4e-2
                                                     : 6e-3,
           worst = 0;
    if (ok && l->conv.bias && !cudnn_prepare(h, plans[0], t.at[3], &err))
        ok = false;
    for (int i = 0; i < count && ok; i++) {
        ok = OPS->fill(p->dev, t.at[2], 0x7FE57FE5, t.count[2] * dtype_bytes(l->conv.dtype), &err) &&
             execute(h, plans[i], &l->conv, &t, &err);
        double error = ok ? worst_error(p, &l->conv, &t, &err) : INFINITY;
        if (!(error <= tolerance)) {
            printf("       %s: error %g with %s [%s]\n", l->name, error, cudnn_plan_facts(plans[i])->text,
                   cudnn_plan_facts(plans[i])->notes);
            ok = false;
        }
        worst = error > worst ? error : worst;
        double us = ok ? cold_us(p, h, plans[i], &l->conv, &t, e, 9, &low, &err) : NAN;
        if (us < best) {
            best = us;
            best_at = i;
        }
        if (i == 0 && ok) {
            snprintf(name, sizeof name, "cudnn.%s.first_plan_us", l->name);
            probe_number(p, name, us, "us");
        }
    }
    snprintf(name, sizeof name, "cudnn %s: every plan right at %d places", l->name, SAMPLES);
    probe_check(p, name, ok, &err);
    if (best_at >= 0) {
        const struct cudnn_plan_facts *f = cudnn_plan_facts(plans[best_at]);
        double us = cold_us(p, h, plans[best_at], &l->conv, &t, e, rounds, &low, &err);
        snprintf(name, sizeof name, "cudnn.%s.best_cold_isolated_us", l->name);
        probe_number(p, name, us, "us");
        snprintf(name, sizeof name, "cudnn.%s.best_p05_us", l->name);
        probe_number(p, name, low, "us");
        snprintf(name, sizeof name, "cudnn.%s.worst_error", l->name);
        probe_number(p, name, worst, "");
        char *text =
            text_format("%c%d %s, workspace %llu [%s]", f->mode, f->rank, f->text, (unsigned long long)f->workspace_bytes, f->notes);
        snprintf(name, sizeof name, "cudnn.%s.best", l->name);
        probe_note(p, name, text);
        free(text);
    }
    for (int i = 0; i < 2; i++)
        if (e[i])
            OPS->event_free(p->dev, e[i]);
    for (int i = 0; i < count; i++)
        cudnn_plan_free(plans[i]);
    free(plans);
    release(p, &t);
}

/* The same plan after different preparations: what a protocol's choice of flush is worth. */
static void protocols(struct probe *p, struct cudnn *h)
{
    static const char *const names[] = {"flush", "two_flushes", "write_256MB_only", "warm", "write_256MB_then_flush"};
    struct error err = {0};
    struct cudnn_conv c = {.n = 1,
                           .c = 64,
                           .h = 720,
                           .w = 1280,
                           .k = 64,
                           .r = 3,
                           .s = 3,
                           .p = 720,
                           .q = 1280,
                           .stride = 1,
                           .pad = 1,
                           .dilation = 1,
                           .groups = 1,
                           .dtype = DTYPE_F16,
                           .layout = LAYOUT_NHWC,
                           .math = MATH_F16_ACC32};
    struct cudnn_plan **plans = NULL;
    struct tensors t = {0};
    struct device_event *e[2] = {0};
    struct device_graph *g = NULL;
    uint64_t big = 0;
    double ns[5][100], us, low;
    int count = cudnn_plans(h, &c, 1, &plans, &err);
    bool ok = count == 1 && upload(p, &c, &t, &err) && workspace_for(p, plans, count, &t, &err) && OPS->event(p->dev, &e[0], &err) &&
              OPS->event(p->dev, &e[1], &err) && OPS->alloc(p->dev, "256 MB", 256000000, &big, &err);
    for (int i = 0; i < 100 && ok; i++)
        for (int m = 0; m < 5 && ok; m++) { /* interleaved */
            if (m == 2 || m == 4)
                ok = OPS->fill(p->dev, big, (uint32_t)i, 256000000, &err);
            if (m == 0 || m == 1 || m == 4)
                ok = ok && OPS->flush(p->dev, &err);
            if (m == 1)
                ok = ok && OPS->flush(p->dev, &err);
            if (m == 3)
                ok = execute(h, plans[0], &c, &t, &err);
            ok = ok && OPS->record(p->dev, e[0], &err) && execute(h, plans[0], &c, &t, &err) && OPS->record(p->dev, e[1], &err) &&
                 OPS->sync(p->dev, &err) && OPS->elapsed(p->dev, e[0], e[1], &ns[m][i], &err);
        }
    for (int m = 0; m < 5 && ok; m++) {
        char name[64];
        snprintf(name, sizeof name, "protocol.after_%s_us", names[m]);
        probe_number(p, name, probe_median(ns[m], 100) / 1e3, "us");
    }
    ok = ok && OPS->graph_begin(p->dev, &err);
    for (int i = 0; i < 50 && ok; i++)
        ok = execute(h, plans[0], &c, &t, &err);
    ok = ok && OPS->graph_end(p->dev, &g, &err);
    for (int i = 0; i < 60 && ok; i++)
        ok = OPS->record(p->dev, e[0], &err) && OPS->graph_launch(p->dev, g, &err) && OPS->record(p->dev, e[1], &err) &&
             OPS->sync(p->dev, &err) && OPS->elapsed(p->dev, e[0], e[1], &ns[0][i], &err);
    if (ok) {
        us = probe_median(ns[0] + 30, 30) / 50e3;
        low = probe_low(ns[0] + 30, 30) / 50e3;
        probe_number(p, "protocol.sustained_graph_of_50_us", us, "us each");
        probe_number(p, "protocol.sustained_graph_of_50_p05_us", low, "us each");
    }
    for (int i = 0; i < 60 && ok; i++) /* some 0.4 s of load, looked at in its middle */
        ok = OPS->graph_launch(p->dev, g, &err);
    if (ok) {
        usleep(200000);
        probe_nvml(p, "under_load");
        ok = OPS->sync(p->dev, &err);
    }
    probe_check(p, "cudnn: protocols", ok, &err);
    if (g)
        OPS->graph_free(p->dev, g);
    for (int i = 0; i < 2; i++)
        if (e[i])
            OPS->event_free(p->dev, e[i]);
    OPS->release(p->dev, big);
    for (int i = 0; i < count; i++)
        cudnn_plan_free(plans[i]);
    free(plans);
    release(p, &t);
}

/* A bias that changes under an unprepared plan, and execution inside a graph. */
static void bias_and_graph(struct probe *p, struct cudnn *h)
{
    struct error err = {0};
    struct cudnn_conv c = {.n = 1,
                           .c = 64,
                           .h = 48,
                           .w = 48,
                           .k = 64,
                           .r = 3,
                           .s = 3,
                           .p = 48,
                           .q = 48,
                           .stride = 1,
                           .pad = 1,
                           .dilation = 1,
                           .groups = 1,
                           .dtype = DTYPE_F16,
                           .layout = LAYOUT_NHWC,
                           .math = MATH_F16_ACC32,
                           .bias = true,
                           .activation = 1};
    struct cudnn_plan **plans = NULL;
    struct tensors t = {0};
    struct device_graph *g = NULL;
    int count = cudnn_plans(h, &c, 1, &plans, &err);
    bool ok = count == 1 && upload(p, &c, &t, &err) && workspace_for(p, plans, count, &t, &err) && execute(h, plans[0], &c, &t, &err);
    ok = ok && worst_error(p, &c, &t, &err) <= 6e-3;
    for (int round = 0; round < 2 && ok; round++) { /* another bias: unprepared it is read anew, prepared only after cudnn_prepare */
        float narrow[64];
        random_values(t.value[3], 64, 3, DTYPE_F16);
        for (int i = 0; i < 64; i++)
            narrow[i] = (float)t.value[3][i];
        ok = OPS->write(p->dev, t.at[3], narrow, sizeof narrow, &err) && (round == 0 || cudnn_prepare(h, plans[0], t.at[3], &err)) &&
             execute(h, plans[0], &c, &t, &err);
        ok = ok && worst_error(p, &c, &t, &err) <= 1e-2;
    }
    probe_check(p, "cudnn: a changed bias is seen, with and without cudnn_prepare", ok, &err);
    ok = ok && OPS->fill(p->dev, t.at[2], 0x7FE57FE5, t.count[2] * 2, &err) && OPS->sync(p->dev, &err) && OPS->graph_begin(p->dev, &err);
    for (int i = 0; i < 5 && ok; i++)
        ok = execute(h, plans[0], &c, &t, &err);
    ok = ok && OPS->graph_end(p->dev, &g, &err) && OPS->graph_launch(p->dev, g, &err) && worst_error(p, &c, &t, &err) <= 1e-2;
    probe_check(p, "cudnn: in a captured graph", ok, &err);
    if (g)
        OPS->graph_free(p->dev, g);
    for (int i = 0; i < count; i++)
        cudnn_plan_free(plans[i]);
    free(plans);
    release(p, &t);
}

#define SIZE \
    .n = 1, .c = 64, .h = 720, .w = 1280, .k = 64, .r = 3, .s = 3, .p = 720, .q = 1280, .stride = 1, .pad = 1, .dilation = 1, .groups = 1
#define SMALL .n = 2, .c = 32, .h = 37, .w = 53, .k = 64, .r = 3, .s = 3, .p = 19, .q = 27, .stride = 2, .pad = 1, .dilation = 1
void probe_cudnn(struct probe *p)
{
    static const struct layer layers[] = {
        {"f16_nhwc", {SIZE, .dtype = DTYPE_F16, .layout = LAYOUT_NHWC, .math = MATH_F16_ACC32}},
        {"f16_nhwc_bias_relu", {SIZE, .dtype = DTYPE_F16, .layout = LAYOUT_NHWC, .math = MATH_F16_ACC32, .bias = true, .activation = 1}},
        {"f16_nhwc_bias_residual",
         {SIZE, .dtype = DTYPE_F16, .layout = LAYOUT_NHWC, .math = MATH_F16_ACC32, .bias = true, .residual = true}},
        {"f16_nhwc_bias_leaky",
         {SIZE, .dtype = DTYPE_F16, .layout = LAYOUT_NHWC, .math = MATH_F16_ACC32, .bias = true, .activation = 2, .alpha = 0.1}},
        {"f16_nchw", {SIZE, .dtype = DTYPE_F16, .layout = LAYOUT_NCHW, .math = MATH_F16_ACC32}},
        {"f32_nhwc_tf32", {SIZE, .dtype = DTYPE_F32, .layout = LAYOUT_NHWC, .math = MATH_TF32}},
        {"f32_nchw_strict", {SIZE, .dtype = DTYPE_F32, .layout = LAYOUT_NCHW, .math = MATH_F32}},
        {"small_bf16_nhwc_bias_relu",
         {SMALL, .groups = 1, .dtype = DTYPE_BF16, .layout = LAYOUT_NHWC, .math = MATH_BF16_ACC32, .bias = true, .activation = 1}},
        {"small_f32_nchw_bias_residual_leaky",
         {SMALL, .groups = 1, .dtype = DTYPE_F32, .layout = LAYOUT_NCHW, .math = MATH_F32, .bias = true, .residual = true, .activation = 2,
          .alpha = 0.2}},
        {"small_f16_nhwc_groups", {SMALL, .groups = 2, .dtype = DTYPE_F16, .layout = LAYOUT_NHWC, .math = MATH_F16_ACC32}},
    };
    struct error err = {0};
    struct cudnn *h = NULL;
    char version[64];
    double start = probe_now_s();
    if (!cudnn_open(p->dev, &h, &err)) {
        probe_check(p, "cudnn_open", false, &err);
        return;
    }
    probe_number(p, "cudnn.open_s", probe_now_s() - start, "s");
    cudnn_version(h, version, sizeof version);
    probe_note(p, "cudnn.version", version);
    bias_and_graph(p, h);
    protocols(p, h);
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        try_layer(p, h, &layers[i], i == 0 ? 40 : 8, i == 0 ? 100 : 30);
    cudnn_close(h);
}
