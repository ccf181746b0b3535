/* measure/verify/device_check on emu: the device's data and references against the CPU's, for works drawn at random each time. The
 * comparison must find single wrong elements, and the sample a falsified reference. */
#include "card_world.h"
#include "measure/verify/device_check_private.h"
#include "works.h"
#include "base/file.h"
#include "base/text.h"
#include "device/compile/compile.h"
#include "measure/rig/rig.h"
#include "op/epilogue.h"
#include "op/shape.h"
#include "op/reference/data.h"
#include "op/file/ops.h"
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static uint64_t state;

static int64_t below(int64_t n)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int64_t)((state >> 33) % (uint64_t)n);
}

static void data_gone(struct op_data *host)
{
    card_data_free(host->card);
    op_data_free(host);
}

#define is_called(w, by) (!strcmp((w)->op->name, by))
static struct work any_work(void)
{
    static const char *const ops[] = {
        "conv2d",        "conv2d",       "conv2d",    "conv_transpose2d",  "upsample_conv2d", "depth_to_space", "depth_to_space",
        "upsample",      "layout",       "pointwise", "upsample_bilinear", "pool_max",        "pool_average",   "resize_nearest",
        "resize_linear", "resize_cubic", "pad"};
    static const enum dtype types[] = {DTYPE_F32, DTYPE_F16, DTYPE_BF16};
    struct work w =
        conv_work(1 + below(6) + 8 * below(2), 4 * (1 + below(3)), 5 + below(7), 5 + below(9) + (below(4) ? 0 : 32), 1 + 2 * below(2));
    w.op = op_find(ops[below(sizeof ops / sizeof *ops)]);
    w.n = 1 + below(2);
    w.dtype = types[below(3)];
    w.layout = below(2) ? LAYOUT_NHWC : LAYOUT_NCHW;
    w.seed = (uint64_t)below(1000);
    if (!w.op->has_filter) {
        w = simple_work(w.op->name, 4 * (1 + below(3)), w.h, w.w);
        if (w.op->tap_sums)
            w.r = 2 + below(2), w.s = 1 + below(3), w.stride = 1 + below(2), w.pad = below(2) && w.s > 1, w.dilation = 1 + below(2);
        draw_fields(&w, below);
        w.mode = w.op->task != TASK_DEPTH_TO_SPACE ? D2S_NONE : below(2) ? D2S_CRD : D2S_DCR;
        w.to = w.op->task == TASK_LAYOUT ? w.layout == LAYOUT_NCHW ? LAYOUT_NHWC : LAYOUT_NCHW : w.to;
        if (w.op->epilogues && below(2))
            add_item(&w, EPILOGUE_BIAS);
        if (w.op->task == TASK_POINTWISE)
            add_item(&w, EPILOGUE_RELU);
        return w;
    }
    w.math = w.dtype == DTYPE_F32 && below(2) ? MATH_TF32 : math_default(w.dtype);
    w.block = is_called(&w, "upsample_conv2d") ? 2 : 0;
    if (is_called(&w, "conv2d") && below(2))
        w.stride = 1 + below(2), w.dilation = 1 + below(2);
    w.stride = w.op->spreads ? 2 : w.stride;
    if (below(3) == 0 && is_called(&w, "conv2d")) /* each side is its own */
        w.apart[SIDE_stride_x] = below(2), w.apart[SIDE_dilation_x] = below(2), w.apart[SIDE_pad_right] = below(3);
    if (below(2))
        add_item(&w, EPILOGUE_BIAS);
    if (below(2))
        add_item(&w, below(2) ? EPILOGUE_RELU + below(2) : EPILOGUE_PRELU + below(EPILOGUE_COUNT - EPILOGUE_PRELU));
    if (below(2))
        add_item(&w, EPILOGUE_RESIDUAL), w.epilogue[w.epilogue_count - 1].scale = below(2) ? 0.3 : 0;
    if (below(2) && w.k % 4 == 0)
        add_item(&w, EPILOGUE_DEPTH_TO_SPACE);
    if (is_called(&w, "conv2d") && below(3) == 0)
        w.mask = (struct mask){.pattern = MASK_IID, .density = 0.2, .seed = (uint64_t)below(100)};
    return w;
}

/* The whole of what the device has, against what the CPU makes of the same work. Every other time the CPU's part was made ahead. */
static void same_as_the_cpu(const struct work *w, enum data_part part)
{
    static bool ahead;
    struct error err = {0};
    struct op_data host = {0}, want;
    struct text t = {0};
    work_describe(w, &t);
    bool begun = (ahead = !ahead) && card_host_make(w, part, &host);
    if (!(begun ? card_data_finish : card_data_make)(card, w, part, &host, &err))
        fail_msg("%s: %s", text_get(&t), err.text);
    assert_true(op_data_make(w, part, &want, &err));
    for (int slot = 0; slot < OP_MAX_TENSORS; slot++) {
        const struct card_values *there = &host.card->at[slot];
        const struct op_values *v = &want.at[slot];
        if (!there->reference)
            continue;
        assert_true(there->elements == v->elements && (there->bound != 0) == (v->bound != NULL));
        double *y = xmalloc(v->elements * sizeof *y);
        float *e = xcalloc(v->elements, sizeof *e);
        assert_true(dev->ops->read(dev, there->reference, y, v->elements * sizeof *y, &err));
        assert_true(!v->bound || dev->ops->read(dev, there->bound, e, v->elements * sizeof *e, &err));
        for (size_t i = 0; i < v->elements; i++) {
            double bound = v->bound ? (double)v->bound[i] : 0;
            if (!(fabs(y[i] - v->reference[i]) <= 0x1p-18 * bound) || !(fabs((double)e[i] - bound) <= 0x1p-10 * bound))
                fail_msg("%s, part %d, element %zu: %.17g +-%.6g, the CPU has %.17g +-%.6g", text_get(&t), (int)part, i, y[i], (double)e[i],
                         v->reference[i], bound);
        }
        free(y);
        free(e);
    }
    text_free(&t);
    op_data_free(&want);
    data_gone(&host);
}

/* Every element type is stored there as the CPU stores it, and compared as the CPU compares it. */
static void types_agree(void **arg)
{
    need_card();
    static const char *const ops[] = {"thumbnails", "frames", "reduce"};
    for (int i = 0; i < 3; i++) {
        struct error err = {0};
        struct work w = {.op = op_find(ops[i]), .dtype = DTYPE_F32, .layout = i ? LAYOUT_LINEAR : LAYOUT_NHWC, .seed = 5};
        const int64_t values[3][6] = {{2, 30, 40, 5, 13, 11}, {1, 12, 16, 7, 9, 0}, {3, 50, 0, 0, 0, 0}};
        struct op_data host = {0}, inputs = {0};
        struct tensor list[OP_MAX_TENSORS];
        memcpy(w.value, values[i], sizeof values[i]);
        finish(&w);
        if (!op_data_inputs(&w, DATA_PART_PRECISION, &inputs, &err) || !card_data_make(card, &w, DATA_PART_PRECISION, &host, &err) ||
            !card_fetch(host.card, &err))
            fail_msg("%s: %s", ops[i], err.text);
        struct program p = program_of(&w);
        for (int k = 0, count = w.op->tensors(&w, list); k < count; k++) {
            size_t bytes = tensor_bytes(&list[k]), elements = tensor_elements(&list[k]);
            unsigned char *want = xcalloc(bytes, 1), *got = xcalloc(bytes, 1);
            struct op_values *v = &host.at[list[k].role->slot];
            uint64_t address;
            struct verdict verdict;
            bool right;
            assert_true(dev->ops->alloc(dev, "storage", bytes, &address, &err));
            for (size_t e = 0; list[k].written && e < elements; e++) {
                size_t at = tensor_index(&list[k], e);
                dtype_set(list[k].dtype, want, at, v->reference[e]);
            }
            if (!list[k].written) {
                tensor_pack(&list[k], inputs.at[list[k].role->slot].value, want);
                assert_true(card_feed(host.card, &list[k], -1, address, &err) && dev->ops->sync(dev, &err));
                assert_true(dev->ops->read(dev, address, got, bytes, &err));
                if (memcmp(want, got, bytes))
                    fail_msg("%s: %s is stored otherwise than by the CPU", ops[i], list[k].role->name);
            } else {
                assert_true(dev->ops->write(dev, address, want, bytes, &err));
                assert_true(card_verify(host.card, &p, k, address, &right, &verdict, &err) && right);
                memset(want + bytes / 2, 0x3a, bytes - bytes / 2);
                assert_true(dev->ops->write(dev, address, want, bytes, &err));
                assert_true(card_verify(host.card, &p, k, address, &right, &verdict, &err) && !right);
            }
            dev->ops->release(dev, address);
            free(want);
            free(got);
        }
        program_free(&p);
        data_gone(&host);
        op_data_free(&inputs);
    }
}

/* space_to_depth, whose reference is a kernel, as reshape, transpose, reshape: the inverse of depth_to_space in both modes. */
static void space_to_depth_inverts(void **arg)
{
    need_card();
    const int64_t n = 2, C = 3, h = 5, w = 4;
    for (int64_t crd = 0; crd < 2; crd++)
        for (int64_t b = 2; b <= 4; b++) {
            struct error err = {0};
            struct work s = {.op = op_find("space_to_depth"), .dtype = DTYPE_F16, .layout = LAYOUT_NHWC, .seed = 4};
            const int64_t values[] = {n, C, h * b, w * b, b, crd};
            struct op_data d = {0}, inputs = {0};
            memcpy(s.value, values, sizeof values);
            finish(&s);
            if (!op_data_inputs(&s, DATA_PART_EXACT, &inputs, &err) || !card_data_make(card, &s, DATA_PART_EXACT, &d, &err) ||
                !card_fetch(d.card, &err))
                fail_msg("%s", err.text);
            const float *in = op_data_of(s.op, &inputs, "input")->value;
            const double *out = op_data_of(s.op, &d, "output")->reference;
            for (int64_t i = 0; i < n * C * h * b * w * b; i++) {
                int64_t x = i % (w * b), y = i / (w * b) % (h * b), c = i / (w * b * h * b) % C, image = i / (w * b * h * b * C);
                int64_t deep = crd ? (c * b + y % b) * b + x % b : (y % b * b + x % b) * C + c;
                assert_true(out[((image * C * b * b + deep) * h + y / b) * w + x / b] == (double)in[i]);
            }
            data_gone(&d);
            op_data_free(&inputs);
            s.value[2]++;
            refused(s, "space_to_depth needs h to be a multiple of block (h = ");
        }
}

static void references_agree(void **arg)
{
    need_card();
    state = (uint64_t)time(NULL) * 1000003 + (uint64_t)getpid();
    if (getenv("CARD_SEED"))
        state = strtoull(getenv("CARD_SEED"), NULL, 10);
    print_message("CARD_SEED=%llu\n", (unsigned long long)state);
    int tried = 0;
    for (int i = 0; i < 40; i++) {
        struct work w = any_work();
        struct error err = {0};
        if (!work_finish(&w, &err))
            continue;
        tried++;
        same_as_the_cpu(&w, DATA_PART_EXACT);
        same_as_the_cpu(&w, DATA_PART_PRECISION);
        if (w.mask.pattern != MASK_NONE)
            same_as_the_cpu(&w, (enum data_part)(DATA_PART_PRECISION | DATA_FULL));
    }
    assert_true(tried > 20);
    struct work moved = simple_work("layout", 4, 9, 7); /* takes no mask, so it need not say what an output reads */
    int64_t lines[9], row = 5;
    moved.to = LAYOUT_NCHW;
    finish(&moved);
    assert_int_equal(op_lines_read(&moved, &row, 1, lines), 1);
    assert_int_equal(lines[0], 5);
}

/* Rooms that hold NaN but where op_data_fill_rows made values give the same rows of the reference, bit for bit, as whole inputs do. */
static void some_rows_of(const struct work *w, enum data_part part)
{
    struct error err = {0};
    struct op_data some, whole;
    struct tensor list[OP_MAX_TENSORS];
    struct text t = {0};
    int64_t rows[3] = {below((int)(w->n * w->p)), below((int)(w->n * w->p)), w->n * w->p - 1};
    work_describe(w, &t);
    assert_true(op_data_reserve(w, part, &some, &err) && op_data_make(w, part, &whole, &err));
    for (int i = 0, tensors = w->op->tensors(w, list); i < tensors; i++)
        if (list[i].role->slot == SLOT_INPUT || list[i].role->slot == SLOT_RESIDUAL)
            for (size_t k = 0; k < tensor_elements(&list[i]); k++)
                some.at[list[i].role->slot].value[k] = NAN;
    op_data_fill_rows(w, part, &some, rows, 3);
    assert_true(op_data_reference_rows(w, &some, rows, 3, &err));
    struct epilogue_shape last = epilogue_shape_at(w, w->epilogue_count);
    int64_t line = last.h / w->p * last.w;
    for (int r = 0; r < 3; r++)
        for (int64_t c = 0; c < last.c; c++) {
            size_t at = (size_t)((rows[r] / w->p * last.c + c) * last.h * last.w + rows[r] % w->p * line);
            if (memcmp(some.at[SLOT_OUTPUT].reference + at, whole.at[SLOT_OUTPUT].reference + at, (size_t)line * sizeof(double)) ||
                (whole.at[SLOT_OUTPUT].bound &&
                 memcmp(some.at[SLOT_OUTPUT].bound + at, whole.at[SLOT_OUTPUT].bound + at, (size_t)line * sizeof(float))))
                fail_msg("%s: row %lld, channel %lld", text_get(&t), (long long)rows[r], (long long)c);
        }
    for (int i = 0, tensors = w->op->tensors(w, list); i < tensors; i++) /* and any range of a tensor */
        if (!tensor_role_is_mask(list[i].role) && whole.at[list[i].role->slot].value) {
            size_t all = tensor_elements(&list[i]), first = (size_t)below((int)all), count = (size_t)below((int)(all - first)) + 1;
            op_data_fill(w, part, &some, &list[i], first, count);
            assert_memory_equal(some.at[list[i].role->slot].value + first, whole.at[list[i].role->slot].value + first,
                                count * sizeof(float));
        }
    op_data_free(&some);
    op_data_free(&whole);
    text_free(&t);
}

static void rows_need_little(void **arg)
{
    int tried = 0;
    for (int i = 0; i < 90; i++) {
        struct work w = any_work();
        struct error err = {0};
        if (is_called(&w, "conv2d") && below(3) == 0) { /* a volume */
            w.op = op_find("conv3d");
            w.d = 2 + below(4), w.t = 1 + below(3), w.plane = w.h, w.epilogue_count = 0;
        }
        if (w.op->on_card == REFERENCE_CPU || !work_finish(&w, &err))
            continue;
        tried++;
        some_rows_of(&w, DATA_PART_EXACT);
        some_rows_of(&w, DATA_PART_PRECISION);
        if (w.mask.pattern != MASK_NONE)
            some_rows_of(&w, (enum data_part)(DATA_PART_PRECISION | DATA_FULL));
    }
    assert_true(tried > 20);
}

struct looked {
    struct work w;
    struct op_data host;
    struct program p;
    struct tensor list[OP_MAX_TENSORS];
    unsigned char *storage;
    uint64_t address;
    size_t bytes;
    int output;
};

/* What the sample made, before references are made again. */
static void drop_references(struct op_data *host)
{
    for (int i = 0; i < OP_MAX_TENSORS; i++) {
        free(host->at[i].reference);
        free(host->at[i].bound);
        host->at[i].reference = NULL;
        host->at[i].bound = NULL;
    }
}

static void lay_out(struct looked *l, enum data_part part)
{
    struct error err = {0};
    finish(&l->w);
    if (!card_data_make(card, &l->w, part, &l->host, &err))
        fail_msg("%s", err.text);
    int64_t count = l->w.n * l->w.p, *rows = xcalloc((size_t)count, sizeof *rows);
    for (int64_t i = 0; i < count; i++)
        rows[i] = i;
    op_data_fill_rows(&l->w, part, &l->host, rows, (int)count);
    free(rows);
    drop_references(&l->host);
    assert_true(op_data_reference(&l->w, &l->host, &err)); /* whole, for the test */
    l->p = (struct program){
        .work = l->w, .algorithm = "direct", .checked = true, .uses_mask = l->w.mask.pattern != MASK_NONE, .tensors = l->list};
    l->p.tensor_count = l->w.op->tensors(&l->w, l->list);
    l->output = program_tensor(&l->p, "output");
    const struct tensor *t = &l->list[l->output];
    l->bytes = tensor_bytes(t);
    l->storage = xmalloc(l->bytes);
    float *values = xmalloc(tensor_elements(t) * sizeof *values);
    for (size_t i = 0; i < tensor_elements(t); i++)
        values[i] = (float)l->host.at[SLOT_OUTPUT].reference[i];
    tensor_pack(t, values, l->storage);
    free(values);
    assert_true(dev->ops->alloc(dev, "output", l->bytes, &l->address, &err));
}

static bool is_right(struct looked *l, struct verdict *v)
{
    struct error err = {0};
    bool right;
    assert_true(dev->ops->write(dev, l->address, l->storage, l->bytes, &err));
    if (!card_verify(l->host.card, &l->p, l->output, l->address, &right, v, &err))
        fail_msg("%s", err.text);
    struct verdict cpu;
    verify_tensor(&l->p, l->output, &l->host, l->storage, &cpu);
    assert_int_equal(cpu.ok, right); /* the CPU's judgement of the same bits */
    if (right) {
        /* The CPU's bounds are sums of magnitudes in float, the device's in double. */
        assert_true(fabs(cpu.error_over_bound - v->error_over_bound) <= 1e-4 * cpu.error_over_bound);
        assert_true(cpu.error_over_bound > 0 || !strcmp(cpu.text, v->text));
        assert_int_equal(cpu.elements, v->elements);
    }
    return right;
}

static void take_away(struct looked *l)
{
    dev->ops->release(dev, l->address);
    free(l->storage);
    data_gone(&l->host);
}

static void one_element_is_seen(void **arg)
{
    need_card();
    for (int part = 0; part < 2; part++)
        for (int type = 0; type < 2; type++) {
            struct looked l = {.w = conv_work(3, 8, 9, 11, 3)};
            struct verdict v;
            l.w.dtype = type ? DTYPE_F32 : DTYPE_F16;
            l.w.n = 2;
            add_item(&l.w, EPILOGUE_BIAS);
            lay_out(&l, part ? DATA_PART_PRECISION : DATA_PART_EXACT);
            size_t size = type ? 4 : 2, count = l.bytes / size;
            assert_true(is_right(&l, &v));
            for (int i = 0; i < 12; i++) {
                size_t at = i == 0 ? 0 : i == 1 ? count - 1 : (size_t)below((int64_t)count);
                unsigned char was[4];
                memcpy(was, l.storage + at * size, size);
                if (i % 3 == 0)
                    memset(l.storage + at * size, 0xff, size); /* NaN */
                else if (i % 3 == 1)
                    l.storage[at * size + size - 1] ^= 0x80; /* the sign */
                else
                    memcpy(l.storage + at * size, (const uint32_t[]){VERIFY_POISON}, size);
                bool zero = i % 3 == 1 && dtype_get(l.w.dtype, was, 0) == 0; /* -0 counts as 0 */
                if (memcmp(was, l.storage + at * size, size) && !zero)
                    assert_false(is_right(&l, &v));
                memcpy(l.storage + at * size, was, size);
            }
            assert_true(is_right(&l, &v));
            take_away(&l);
        }
}

/* What every row is fed is as it was made, or that is known: to a bit, of each tensor, the last of an odd number of elements, too. */
static void wild_writes_are_known(void **arg)
{
    need_card();
    for (int part = 0; part < 2; part++) {
        struct looked l = {.w = conv_work(3, 7, 9, 13, 3)};
        struct error err = {0};
        bool untouched;
        add_item(&l.w, EPILOGUE_BIAS);
        l.w.mask = (struct mask){.pattern = MASK_IID, .density = 0.3, .seed = 4};
        lay_out(&l, part ? DATA_PART_PRECISION : DATA_PART_EXACT);
        const struct card_values *fed = l.host.card->at;
        const uint64_t places[] = {fed[SLOT_INPUT].value, fed[SLOT_FILTER].value, fed[SLOT_BIAS].value, fed[SLOT_MASK_IN].value,
                                   l.host.card->mask_out};
        const uint64_t elements[] = {3 * 9 * 13, 7 * 3 * 9, 7, 9 * 13, 9 * 13};
        for (int i = 0; i < 10; i++) {
            uint64_t at = places[i / 2] + (i % 2 ? 4 * elements[i / 2] - 1 : 13);
            unsigned char was, now;
            assert_true(dev->ops->read(dev, at, &was, 1, &err));
            now = was ^ 0x10;
            assert_true(card_untouched(l.host.card, &untouched, &err) && untouched);
            assert_true(dev->ops->write(dev, at, &now, 1, &err));
            assert_true(card_untouched(l.host.card, &untouched, &err) && !untouched);
            assert_true(dev->ops->write(dev, at, &was, 1, &err));
        }
        assert_true(card_untouched(l.host.card, &untouched, &err) && untouched);
        take_away(&l);
    }
}

/* The same through a rig: what a run left is summed up and judged there, and what is wrong in the CPU's words; a spoilt input is said. */
static void a_rig_judges_by_the_card(void **arg)
{
    need_card();
    struct looked l = {.w = conv_work(3, 8, 9, 11, 3)};
    struct error err = {0};
    struct rig *rig;
    uint64_t sums[3];
    l.w.dtype = DTYPE_F16;
    lay_out(&l, DATA_PART_PRECISION);
    if (!rig_open(dev, NULL, &l.p, NULL, true, &rig, &err) || !rig_feed(rig, &l.host, &err))
        fail_msg("%s", err.text);
    uint64_t output = rig_address(rig, (struct buffer_ref){.kind = BUFFER_TENSOR, .index = l.output}),
             input = rig_address(rig, (struct buffer_ref){.kind = BUFFER_TENSOR, .index = program_tensor(&l.p, "input")});
    for (int i = 0; i < 3; i++) { /* right; one wrong element; right, and an input is another */
        struct verdict v;
        struct text unsafe = {0};
        unsigned char was[2];
        l.storage[41] ^= i == 1 ? 0x80 : 0;
        assert_true(dev->ops->write(dev, output, l.storage, l.bytes, &err));
        l.storage[41] ^= i == 1 ? 0x80 : 0;
        if (i == 2) {
            assert_true(dev->ops->read(dev, input + 10, was, 2, &err));
            was[1] ^= 0x40;
            assert_true(dev->ops->write(dev, input + 10, was, 2, &err));
        }
        if (!rig_check(rig, &l.host, &v, &unsafe, NULL, &err))
            fail_msg("%s", err.text);
        sums[i] = rig_output_sum(rig);
        assert_true(v.ok == (i != 1));
        assert_true(i == 1 ? strstr(v.text, "want") != NULL : v.error_over_bound > 0 && v.error_over_bound <= 1);
        assert_string_equal(text_get(&unsafe), i == 2 ? "changed its input: input, first at element 5 of its storage" : "");
        text_free(&unsafe);
    }
    assert_true(sums[0] == sums[2] && sums[0] != sums[1]);
    rig_close(rig);
    take_away(&l);
}

static void inactive_outputs_are_looked_at(void **arg)
{
    need_card();
    static const enum inactive declared[] = {INACTIVE_UNTOUCHED, INACTIVE_ZERO, INACTIVE_BIAS};
    for (int d = 0; d < 3; d++) {
        struct looked l = {.w = conv_work(3, 4, 8, 9, 3)};
        struct verdict v;
        l.w.mask = (struct mask){.pattern = MASK_BOX, .density = 0.1, .seed = 3};
        add_item(&l.w, EPILOGUE_BIAS);
        lay_out(&l, DATA_PART_EXACT);
        l.p.inactive = declared[d];
        size_t pixel = 0;
        while (l.host.mask_out[pixel] != 0)
            pixel++;
        uint16_t *at = (uint16_t *)(void *)l.storage;
        for (size_t i = 0; i < l.bytes / 2; i++)
            if (l.host.mask_out[i / 4] == 0 && d < 2)
                at[i] = d ? 0 : (uint16_t)VERIFY_POISON;
        assert_true(is_right(&l, &v));
        at[pixel * 4 + 1] ^= 0x4000;
        assert_false(is_right(&l, &v));
        take_away(&l);
    }
}

/* The sample must find that one element of the reference is wrong: if `active`, the first active output of its row, else the one at the
 * row's beginning or end. */
static void tampered_is_seen(const struct work *w, int64_t row, bool end, bool active)
{
    struct error err = {0};
    struct op_data host = {0};
    double value;
    assert_true(card_data_make(card, w, DATA_PART_PRECISION, &host, &err));
    int64_t column = end ? w->q - 1 : 0;
    while (active && host.mask_out[row * w->q + column] == 0)
        assert_true(++column < w->q);
    size_t at = (size_t)(((row / w->p * w->k + 5) * w->p + row % w->p) * w->q + column);
    uint64_t place = host.card->at[SLOT_OUTPUT].reference + at * sizeof value;
    assert_true(dev->ops->read(dev, place, &value, sizeof value, &err));
    value += 1e-3;
    assert_true(dev->ops->write(dev, place, &value, sizeof value, &err));
    struct card_layer g = {.p = w->p, .q = w->q, .out_c = w->k, .out_h = w->p, .out_w = w->q, .terms = 36};
    drop_references(&host);
    assert_true(card_sample_make(w, host.card->part, &host, &err) && !card_sample_agrees(host.card, w, &g, &err));
    assert_non_null(strstr(err.text, "reference of output"));
    error_clear(&err);
    data_gone(&host);
}

static void data_are_made(const struct work *w)
{
    struct op_data host = {0};
    struct error err = {0};
    if (!card_data_make(card, w, DATA_PART_PRECISION, &host, &err))
        fail_msg("%s: %s", w->op->name, err.text);
    data_gone(&host);
}

/* Magnitudes of 19,600 products are a thousandth apart where the CPU adds them up in float: that is no disagreement. */
static void long_sums_agree(void **unused)
{
    need_card();
    struct work w = conv_work(400, 1, 9, 10, 7);
    w.dtype = DTYPE_F16, w.math = MATH_F16_ACC32, w.layout = LAYOUT_NHWC;
    add_item(&w, EPILOGUE_BIAS);
    add_item(&w, EPILOGUE_RELU);
    finish(&w);
    data_are_made(&w);
}

static void a_tampered_reference_is_seen(void **arg)
{
    need_card();
    struct work high = conv_work(4, 8, 40, 24, 3), wide = conv_work(4, 8, 10, 300, 3), marked; /* more than a sample takes */
    high.n = wide.n = 3;
    marked = wide;
    marked.mask = (struct mask){.pattern = MASK_IID, .density = 0.01, .seed = 7};
    finish(&high);
    finish(&wide);
    finish(&marked);
    for (int border = 0; border < 4; border++) {
        int64_t image = border / 2 * 2;
        tampered_is_seen(&high, image * high.p + border % 2 * (high.p - 1), border % 2, false);
        tampered_is_seen(&wide, image * wide.p + border % 2 * (wide.p - 1), border % 2, false);
    }
    tampered_is_seen(&marked, 0, false, true);
    tampered_is_seen(&marked, 3 * marked.p - 1, false, true);
}

/* Of long rows the CPU makes some columns only: those that are looked at, and what they read, whatever the op makes of columns. */
static void long_rows_are_sampled(void **arg)
{
    need_card();
    static const char *const ops[] = {"conv2d",         "conv_transpose2d",  "upsample_conv2d",
                                      "depth_to_space", "upsample_bilinear", "pool_average"};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        const int grows = i == 1 || i == 2 || i == 4 ? 2 : 1, high = 40 / grows, wide = 150 / grows; /* in both directions */
        const struct op *op = op_find(ops[i]);
        struct work w = op->has_filter ? conv_work(3, 12, high, wide, 3) : simple_work(ops[i], 12, high, wide);
        struct card_sample s;
        w.op = op;
        if (w.op->task == TASK_DEPTH_TO_SPACE)
            w.mode = D2S_CRD;
        if (w.op->tap_sums)
            w.r = w.s = 3, w.stride = 1, w.pad = 1;
        else if (!is_called(&w, "conv2d") && !w.op->spreads)
            w.block = 2;
        if (w.op->spreads)
            w.stride = 2;
        if (is_called(&w, "conv2d")) { /* the residual is read behind the depth_to_space */
            add_item(&w, EPILOGUE_BIAS);
            add_item(&w, EPILOGUE_DEPTH_TO_SPACE);
            add_item(&w, EPILOGUE_RESIDUAL);
        }
        finish(&w);
        card_sample_draw(&w, NULL, &s);
        assert_non_null(s.columns);
        card_sample_free(&s);
        data_are_made(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(types_agree),
                                       cmocka_unit_test(space_to_depth_inverts),
                                       cmocka_unit_test(references_agree),
                                       cmocka_unit_test(rows_need_little),
                                       cmocka_unit_test(one_element_is_seen),
                                       cmocka_unit_test(a_rig_judges_by_the_card),
                                       cmocka_unit_test(wild_writes_are_known),
                                       cmocka_unit_test(inactive_outputs_are_looked_at),
                                       cmocka_unit_test(a_tampered_reference_is_seen),
                                       cmocka_unit_test(long_sums_agree),
                                       cmocka_unit_test(long_rows_are_sampled)};
    return cmocka_run_group_tests(tests, card_set_up, card_tear_down);
}
