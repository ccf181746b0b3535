#include "op/epilogue.h"
#include "op/shape.h"
#include <math.h>

struct epilogue_shape epilogue_shape_at(const struct work *work, int item)
{
    struct tensor raw;
    work->op->raw_output(work, &raw);
    int64_t dim[4];
    tensor_fold(&raw, dim);
    struct epilogue_shape s = {.c = dim[1], .h = dim[2], .w = dim[3], .layout = raw.layout};
    for (int i = 0; i < item && i < work->epilogue_count; i++) {
        const struct epilogue *e = &work->epilogue[i];
        if (e->kind == EPILOGUE_DEPTH_TO_SPACE) {
            s.c /= e->block * e->block;
            s.h *= e->block;
            s.w *= e->block;
        } else if (e->kind == EPILOGUE_LAYOUT) {
            s.layout = e->layout;
        }
    }
    return s;
}

static bool check_item(const struct work *work, int i, struct error *err)
{
    const struct epilogue *e = &work->epilogue[i];
    struct epilogue_shape s = epilogue_shape_at(work, i);
    if (e->kind == EPILOGUE_LEAKY_RELU && !isfinite(e->alpha))
        return error_set(err, ERROR_USAGE, "epilogue leaky_relu: the slope is not a finite number");
    if (e->kind == EPILOGUE_CLIP && !(e->alpha < e->most && isfinite(e->alpha) && isfinite(e->most)))
        return error_set(err, ERROR_USAGE, "epilogue clip: the least value %g is not below the largest, %g", e->alpha, e->most);
    if (e->kind == EPILOGUE_RESIDUAL && !isfinite(e->scale))
        return error_set(err, ERROR_USAGE, "epilogue residual: the scale is not a finite number");
    if (e->kind == EPILOGUE_LAYOUT && e->layout != LAYOUT_NCHW && e->layout != LAYOUT_NHWC)
        return error_set(err, ERROR_USAGE, "epilogue layout: the result must be NCHW or NHWC, not %s", layout_name(e->layout));
    if (e->kind != EPILOGUE_DEPTH_TO_SPACE)
        return true;
    if (e->block < 1 || e->block > 64)
        return error_set(err, ERROR_USAGE, "epilogue depth_to_space: block %ld is not between 1 and 64", (long)e->block);
    if (e->mode != D2S_DCR && e->mode != D2S_CRD) {
        error_set(err, ERROR_USAGE, "epilogue depth_to_space: no mode");
        return error_hint(err, "mode is DCR (ONNX, TensorFlow) or CRD (PyTorch)");
    }
    if (s.c % (e->block * e->block))
        return error_set(err, ERROR_USAGE, "epilogue depth_to_space: %ld channels cannot be divided by block %ld squared (%ld)", (long)s.c,
                         (long)e->block, (long)(e->block * e->block));
    return true;
}

bool epilogue_check(const struct work *work, struct error *err)
{
    if (work->epilogue_count < 0 || work->epilogue_count > WORK_MAX_EPILOGUE)
        return error_set(err, ERROR_USAGE, "the epilogue has %d items; at most %d are allowed", work->epilogue_count, WORK_MAX_EPILOGUE);
    for (int i = 0; i < work->epilogue_count; i++) {
        enum epilogue_kind kind = work->epilogue[i].kind;
        if (kind < 0 || kind >= EPILOGUE_COUNT || !(work->op->epilogues >> kind & 1))
            return error_set(err, ERROR_USAGE, "%s cannot be followed by %s", work->op->name, epilogue_name(kind));
        if (work_epilogue_find(work, kind) != i)
            return error_set(err, ERROR_USAGE, "the epilogue lists %s twice", epilogue_name(kind));
        if (!check_item(work, i, err))
            return false;
    }
    return true;
}
