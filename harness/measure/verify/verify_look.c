/* The state of one check of an output: its reference, and the tolerance of an element. */
#include "measure/verify/verify_private.h"
#include "op/reference/bound.h"
#include <math.h>

/* The tolerance without a given magnitude is wider: for arbitrary sizes a correct kernel's sums may cancel (a row of two nearly equal
 * numbers minus its mean). The check then asks whether the kernel works; a broken kernel is farther off. */
#define GUESSED_ELSEWHERE 1024

double verify_tolerance_of(const struct verify_look *look, double want, double bound, double carried)
{
    bound = bound * look->factor + carried;
    if (!isfinite(want))
        return 0;
    if (dtype_is_whole(look->t.dtype)) /* rounds to the nearer integer; near the middle the bound decides */
        return bound + (want == rint(want) ? 0 : 0.5);
    if (bound == 0)
        return 0;
    double rounding = dtype_unit_roundoff(look->t.dtype) * (fabs(want) + bound) + dtype_underflow(look->t.dtype);
    return bound + look->roundings * rounding;
}

double verify_tolerance(const struct verify_look *look, size_t i)
{
    double bound = look->want->bound ? look->want->bound[i] : 0, carried = look->want->carried ? look->want->carried[i] : 0;
    return verify_tolerance_of(look, look->want->reference[i], bound, carried);
}

double verify_rounded(enum dtype t, double v)
{
    unsigned char storage[8];
    if (dtype_is_whole(t))
        return v;
    dtype_set(t, storage, 0, v);
    return dtype_get(t, storage, 0);
}

/* The range of a relu or a clip at the end of the epilogue, which holds exactly: a small negative value after a relu is an error that the
 * tolerance of the sum would hide. */
static void set_range(struct verify_look *look, const struct work *w)
{
    int last = w->epilogue_count - 1;
    look->least = -INFINITY, look->most = INFINITY;
    while (last >= 0 && (w->epilogue[last].kind == EPILOGUE_DEPTH_TO_SPACE || w->epilogue[last].kind == EPILOGUE_LAYOUT))
        last--;
    if (last < 0 || w->chain || tensor_role_is_mask(look->t.role))
        return;
    look->ranged = w->epilogue[last].kind == EPILOGUE_RELU || w->epilogue[last].kind == EPILOGUE_CLIP;
    if (w->epilogue[last].kind == EPILOGUE_RELU) {
        look->least = 0;
    } else if (w->epilogue[last].kind == EPILOGUE_CLIP) {
        look->least = verify_rounded(look->t.dtype, (float)w->epilogue[last].alpha);
        look->most = verify_rounded(look->t.dtype, (float)w->epilogue[last].most);
    }
}

bool verify_in_range(const struct verify_look *look, double got)
{
    return !look->ranged || (got >= look->least && got <= look->most);
}

bool verify_right(const struct verify_look *look, size_t i, double got)
{
    double want = look->want->reference[i], tolerance = verify_tolerance(look, i);
    if (tolerance == 0)
        want = verify_rounded(look->t.dtype, want);
    return got == want || (isnan(want) && isnan(got)) || (fabs(got - want) <= tolerance && verify_in_range(look, got));
}

bool verify_is_poison(enum dtype t, const void *row, int64_t i)
{
    if (dtype_bytes(t) == 2)
        return ((const uint16_t *)row)[i] == (uint16_t)VERIFY_POISON;
    const uint32_t *words = row;
    return dtype_bytes(t) == 4 ? words[i] == VERIFY_POISON
                               : dtype_bytes(t) == 8 && words[2 * i] == VERIFY_POISON && words[2 * i + 1] == VERIFY_POISON;
}

void verify_begin(struct verify_look *look, const struct program *p, int tensor, const struct op_data *data, const void *storage)
{
    const struct tensor *t = &p->tensors[tensor];
    *look = (struct verify_look){
        .program = p, .data = data, .storage = storage, .t = *t, .want = &data->at[t->role->slot], .block = 1, .first_wrong = SIZE_MAX};
    tensor_fold(t, look->fold);
    look->image = t->layout == LAYOUT_NCHW || t->layout == LAYOUT_NHWC;
    look->factor = (p->rounds ? bound_factor_rounded : bound_factor)(p->algorithm, &p->work) *
                   (look->want->guessed && data->elsewhere ? GUESSED_ELSEWHERE : 1);
    look->roundings = bound_roundings(p->algorithm);
    set_range(look, &p->work);
    verify_errors_begin(look);
    look->mask = t->role->share == SHARE_OUTPUTS ? data->mask_out : NULL;
    if (look->mask)
        look->block = look->fold[2] / p->work.p;
}
