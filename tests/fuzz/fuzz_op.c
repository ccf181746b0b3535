/* The file of an op. If bench accepts it, its sizes become small; for an op of images the values of its formula are computed, with and
 * without a mask. */
#include "fuzz/common.h"
#include "op/file/private.h"
#include "op/reference/data.h"
#include <string.h>

/* Sizes that follow from the bytes: 1 to 7, or what the field has at least. */
static bool small_work(const struct op *op, uint8_t salt, struct work *w)
{
    *w = (struct work){.op = op, .dtype = DTYPE_F32, .layout = LAYOUT_NCHW, .mode = D2S_CRD, .to = LAYOUT_NHWC, .seed = salt};
    for (int t = DTYPE_COUNT - 1; t > 0; t--)
        w->dtype = op->dtypes >> t & 1 ? (enum dtype)t : w->dtype;
    w->layout = op->layouts >> LAYOUT_NCHW & 1 ? LAYOUT_NCHW : LAYOUT_LINEAR;
    for (const struct op_field *f = op->fields; f->name; f++) {
        int64_t size = 1 + (salt * 7 + f->name[0]) % 7, *at = (int64_t *)(void *)((char *)w + f->offset);
        size = size < f->min ? f->min : size > f->max ? f->max : size;
        if (f->kind == FIELD_INT && size > 64)
            return false;
        if (f->kind == FIELD_INT)
            *at = size;
        if (!strcmp(f->name, "kernel"))
            w->s = w->t = size;
        if (f->kind == FIELD_REAL)
            *(double *)(void *)at = f->real;
    }
    w->epilogue_count = op->epilogues & 1;
    struct error err = {0};
    if (!work_finish(w, &err)) {
        must_explain(&err);
        return false;
    }
    return true;
}

static void compute(struct work *w)
{
    struct error err = {0};
    struct op_data data;
    const char *why;
    if (w->n * w->k * w->p * w->q > 20000 || w->n * w->c * w->h * w->w > 20000)
        return;
    for (int masked = 0; masked <= (w->op->masks != NULL); masked++) {
        w->mask = (struct mask){.pattern = masked ? MASK_IID : MASK_NONE, .density = 0.3};
        for (int part = 0; part < DATA_PART_COUNT; part++) {
            if (!op_data_make(w, (enum data_part)part, &data, &err))
                must_explain(&err);
            else
                op_data_free(&data);
            error_clear(&err);
        }
    }
    if (!op_degenerate(w, &why, &err))
        must_explain(&err);
}

void fuzz_one(const uint8_t *data, size_t bytes)
{
    char path[64];
    struct error err = {0};
    struct work w;
    snprintf(path, sizeof path, "/dev/shm/fuzzed_op%d.yaml", (int)getpid());
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, bytes, f) != bytes || fclose(f))
        abort();
    struct op_file *op = op_file_read(path, &err);
    unlink(path);
    if (!op) {
        must_explain(&err);
        return;
    }
    if (small_work(&op->op, bytes ? data[bytes / 2] : 0, &w) && op->op.image)
        compute(&w);
    op_file_free(op);
}
