/* How a work is described to people, and the hashes that identify it (op/work.h). */
#include "base/file.h"
#include "base/image.h"
#include "op/op_file.h"
#include "op/shape.h"
#include "op/sides.h"
#include <stddef.h>
#include <stdlib.h>

static void describe_filter(const struct work *w, struct text *t)
{
    if (w->op->volume)
        text_addf(t, " %ldx%ldx%ld", (long)w->t, (long)w->r, (long)w->s);
    else
        text_addf(t, " %ldx%ld", (long)w->r, (long)w->s);
    bool padded = w->pad * 2 != w->dilation * (w->r - 1) || w->pad * 2 != w->dilation * (w->s - 1); /* not "same" padding */
    sides_describe(w, offsetof(struct work, stride), " s", w->stride != 1, t);
    sides_describe(w, offsetof(struct work, pad), " p", padded, t);
    sides_describe(w, offsetof(struct work, output_pad), " op", w->output_pad != 0, t);
    sides_describe(w, offsetof(struct work, dilation), " d", w->dilation > 1, t);
    if (w->groups > 1)
        text_addf(t, " g%ld", (long)w->groups);
}

void work_describe_epilogue(const struct work *w, struct text *t)
{
    for (int i = 0; i < w->epilogue_count; i++) {
        const struct epilogue *e = &w->epilogue[i];
        text_addf(t, "%s%s", i ? "+" : " +", epilogue_name(e->kind));
        if (e->kind == EPILOGUE_LEAKY_RELU)
            text_addf(t, ":%g", e->alpha);
        if (e->kind == EPILOGUE_CLIP)
            text_addf(t, ":%g:%g", e->alpha, e->most);
        if (e->kind == EPILOGUE_RESIDUAL && e->scale != 0 && e->scale != 1)
            text_addf(t, ":%g", e->scale);
        if (e->kind == EPILOGUE_DEPTH_TO_SPACE)
            text_addf(t, ":%ld:%s", (long)e->block, d2s_mode_name(e->mode));
        if (e->kind == EPILOGUE_LAYOUT)
            text_addf(t, ":%s", layout_name(e->layout));
    }
}

void work_describe(const struct work *w, struct text *t)
{
    text_add(t, w->op->name);
    if (w->op->file) {
        op_file_describe(w, t);
        return;
    }
    if (w->k != w->c || w->op->has_filter)
        text_addf(t, " %ld->%ld", (long)w->c, (long)w->k);
    else
        text_addf(t, " %ld", (long)w->c);
    if ((w->op->has_filter || w->op->tap_sums) && !w->chain)
        describe_filter(w, t);
    op_image_describe(w, t);
    if (w->above > 0) {
        struct value norm;
        text_addf(t, " %s > %g", work_symbol(w, "norm", &norm) && norm.kind == VALUE_TEXT ? norm.text : truncate_names[0], w->above);
    }
    if (w->chain)
        text_addf(t, " %d layer runs", w->chain->count);
    if (w->block)
        text_addf(t, " x%ld", (long)w->block);
    if (w->mode != D2S_NONE)
        text_addf(t, " %s", d2s_mode_name(w->mode));
    work_describe_epilogue(w, t);
    text_addf(t, "  %ldx", (long)w->n);
    if (w->op->volume)
        text_addf(t, "%ldx", (long)w->d);
    text_addf(t, "%ldx%ld %s", (long)(w->op->volume ? w->plane : w->h), (long)w->w, dtype_name(w->dtype));
    if (w->math == MATH_TF32)
        text_add(t, " tf32");
    if (w->math == MATH_F16_ACC32 || w->math == MATH_BF16_ACC32 || w->math == MATH_I8_ACC32)
        text_add(t, " acc32");
    if (w->math == MATH_F16_ACC16)
        text_add(t, " acc16");
    text_addf(t, " %s", layout_name(w->layout));
    if (w->to != LAYOUT_NONE)
        text_addf(t, "->%s", layout_name(w->to));
}

/* What the pattern ignores is left out, so that it cannot split equal works. A file counts by its content. */
static void key_mask(const struct mask *m, struct text *t)
{
    text_addf(t, "mask=%s;", mask_pattern_names[m->pattern]);
    if (m->pattern == MASK_NONE)
        return;
    text_addf(t, "mask.marks=%s;", mask_marks(m));
    unsigned keys = mask_pattern_keys[m->pattern];
    if (keys & MASK_DENSITY)
        text_addf(t, "mask.density=%.17g;", m->density);
    if (keys & MASK_SEED)
        text_addf(t, "mask.seed=%llu;", (unsigned long long)m->seed);
    if (keys & MASK_RADIUS)
        text_addf(t, "mask.radius=%ld;", (long)m->radius);
    if (!(keys & MASK_PATH))
        return;
    char hash[HASH_TEXT] = "unread", path[sizeof m->path + 32];
    size_t bytes;
    mask_frame_path(m, 0, path, sizeof path);
    char *content = file_read(path, IMAGE_MAX_BYTES, &bytes, NULL);
    if (content)
        hash_bytes(content, bytes, hash);
    free(content);
    text_addf(t, "mask.path=%s;mask.content=%s;", m->path, hash);
}

void work_key(const struct work *w, char out[HASH_TEXT])
{
    /* Names stand in the text and fields at 0 are left out: a field that is added later changes no key of works that do not use it. */
    SCOPED_TEXT t = {0};
    text_addf(&t, "work 1;op=%s;", w->op->name);
    if (w->op->file || w->op->image)
        op_file_key(w, &t);
    const struct {
        const char *name;
        int64_t value;
    } sizes[] = {{"n", w->n},           {"c", w->c},
                 {"h", w->h},           {"w", w->w},
                 {"k", w->k},           {"r", w->r},
                 {"s", w->s},           {"stride", w->stride},
                 {"pad", w->pad},       {"dilation", w->op->tap_sums && w->dilation == 1 ? 0 : w->dilation},
                 {"groups", w->groups}, {"output_pad", w->output_pad},
                 {"block", w->block},   {"norm", w->norm},
                 {"d", w->d},           {"t", w->t},
                 {"few", w->few},       {"specials", w->specials}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if (sizes[i].value)
            text_addf(&t, "%s=%ld;", sizes[i].name, (long)sizes[i].value);
    sides_key(w, &t);
    if (w->above > 0 || w->slope > 0)
        text_addf(&t, "above=%.17g;slope=%.17g;", w->above, w->slope);
    text_addf(&t, "dtype=%s;layout=%s;", dtype_name(w->dtype), layout_name(w->layout));
    if (w->mode != D2S_NONE)
        text_addf(&t, "mode=%s;", d2s_mode_name(w->mode));
    if (w->to != LAYOUT_NONE)
        text_addf(&t, "to=%s;", layout_name(w->to));
    if (w->math != MATH_NONE)
        text_addf(&t, "math=%s;", math_name(w->math));
    for (int i = 0; i < w->epilogue_count; i++) {
        const struct epilogue *e = &w->epilogue[i];
        text_addf(&t, "epilogue=%s", epilogue_name(e->kind));
        if (e->kind == EPILOGUE_LEAKY_RELU)
            text_addf(&t, ":%.17g", e->alpha);
        if (e->kind == EPILOGUE_CLIP)
            text_addf(&t, ":%.17g:%.17g", e->alpha, e->most);
        if (e->kind == EPILOGUE_RESIDUAL && e->scale != 0 && e->scale != 1)
            text_addf(&t, ":%.17g", e->scale);
        if (e->kind == EPILOGUE_DEPTH_TO_SPACE)
            text_addf(&t, ":%ld:%s", (long)e->block, d2s_mode_name(e->mode));
        if (e->kind == EPILOGUE_LAYOUT)
            text_addf(&t, ":%s", layout_name(e->layout));
        text_add(&t, ";");
    }
    for (int i = 0; w->chain && i < w->chain->count; i++) {
        const struct chain_link *l = &w->chain->links[i];
        char link[HASH_TEXT];
        work_key(&l->work, link);
        text_addf(&t, "link=%s:%d:%d:%d;", link, l->input, l->residual, l->layer);
    }
    key_mask(&w->mask, &t);
    if (work_sliced(w))
        text_addf(&t, "pitch=%lld:%lld:%lld;", (long long)w->pitch.input, (long long)w->pitch.other, (long long)w->pitch.output);
    if (w->weights[0])
        text_addf(&t, "weights=%s;", w->weights_hash);
    if (w->mean != 0)
        text_addf(&t, "mean=%a;", w->mean);
    if (w->larger != 0)
        text_addf(&t, "larger=%a;", w->larger);
    if (w->sweep.of)
        text_addf(&t, "sweep=%lld:%lld:%lld;", (long long)w->sweep.first, (long long)w->sweep.of, (long long)w->sweep.each);
    if (w->every_size)
        text_addf(&t, "every_size=%d;", (int)w->every_size);
    text_addf(&t, "data=%s;seed=%llu;", w->data < DATA_KIND_COUNT ? data_kind_names[w->data] : "?", (unsigned long long)w->seed);
    hash_bytes(text_get(&t), t.len, out);
}

void work_signature(const struct work *w, char out[HASH_TEXT])
{
    struct work layer = *w;
    layer.seed = 0;
    layer.data = DATA_NORMAL;
    layer.mask.seed = 0;
    layer.weights[0] = 0;
    work_key(&layer, out);
}
