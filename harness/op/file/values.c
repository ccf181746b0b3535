#include "op/file/values.h"
#include "base/frames.h"
#include "base/npy.h"
#include "base/text.h"
#include "op/convert.h"
#include "op/op_file.h"
#include "op/stage/stage.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Converts a video frame (luma and two chroma channels, BT.601, full range) to red, green and blue; or, for a picture that becomes NV12,
 * back. */
static void convert_colours(struct image *image, bool to_rgb)
{
    double most = image->most, half = (most + 1) / 2;
    for (int64_t i = 0; i < image->w * image->h; i++) {
        uint16_t *p = image->at + 3 * i;
        double a = p[0], b = p[1], c = p[2], y = 0.299 * a + 0.587 * b + 0.114 * c;
        const double rgb[3] = {a + 1.402 * (c - half), a - 0.344136 * (b - half) - 0.714136 * (c - half), a + 1.772 * (b - half)},
                     yuv[3] = {y, (c - y) / 1.772 + half, (a - y) / 1.402 + half};
        for (int k = 0; k < 3; k++)
            p[k] = (uint16_t)fmin(fmax(rint(to_rgb ? rgb[k] : yuv[k]), 0), most);
    }
}

/* Storage of a frame: as the tensor's channels; as luma followed by chroma of every 2 x 2 pixels, interleaved (NV12) or one plane after the
 * other (I420). */
enum samples { SAMPLES_WHOLE, SAMPLES_NV12, SAMPLES_I420 };

/* Chroma sample `i`, of those stored below the luma of a frame that is w pixels wide and `bright` high. */
static uint16_t colour_of(const struct image *image, enum samples as, int64_t i, int64_t bright, int64_t w)
{
    int64_t quarter = bright / 2 * (w / 2), pair = as == SAMPLES_NV12 ? i / 2 : i % quarter,
            which = as == SAMPLES_NV12 ? i % 2 : i / quarter;
    return image->at[(2 * (pair / (w / 2)) * image->w + 2 * (pair % (w / 2))) * 3 + 1 + which];
}

/* Copies image `n` from the upper left corner of a larger picture. */
static bool put_picture(const struct image *image, const struct tensor *t, enum samples as, int64_t n, float *to)
{
    int64_t c = t->dim[1], h = t->dim[2], w = t->dim[3], bright = as ? h * 2 / 3 : h;
    if (image->w < w || image->h < bright || image->channels != (as ? 3 : c) || (as && (w % 2 || bright % 2 || bright * 3 != h * 2)))
        return false;
    for (int64_t i = 0; i < c * h * w; i++) {
        int64_t x = i % w, y = i / w % h, channel = i / w / h;
        to[n * c * h * w + i] = y < bright ? (float)image->at[(y * image->w + x) * image->channels + channel]
                                           : (float)colour_of(image, as, (y - bright) * w + x, bright, w);
    }
    return true;
}

/* Reads a picture, or the frames of a video: image i of the batch is frame i, and after the last frame the first follows again. */
static bool picture_values(const struct work *work, const char *path, const struct tensor *t, float *to, struct error *err)
{
    const struct op_file *f = work->op->file;
    const char *first = f->stages ? f->stages[0].stage->name : "";
    enum samples as = !strcmp(first, "nv12") ? SAMPLES_NV12 : !strcmp(first, "i420") ? SAMPLES_I420 : SAMPLES_WHOLE;
    bool yuv = as || !strcmp(first, "yuv"), video = text_ends(path, ".y4m"), fits = t->rank == 4;
    int64_t images = fits ? t->dim[0] : 0, size = images ? (int64_t)tensor_elements(t) / images : 0, frames_read = 0;
    struct frames *frames = frames_open(path, NULL, err);
    struct image image;
    int got = frames ? 1 : -1;
    while (got > 0 && fits && frames_read < images && (got = frames_next(frames, &image, err)) > 0) {
        if (image.channels == 3 && video != yuv)
            convert_colours(&image, video);
        fits = put_picture(&image, t, as, frames_read++, to) && image.most == (t->dtype == DTYPE_U16 ? 65535 : 255);
        if (!fits)
            error_set(err, ERROR_USAGE,
                      "%s is a picture of %d channels, %lld x %lld pixels (width x height), samples up to %d; %s needs %lld, %lld x %lld",
                      path, image.channels, (long long)image.w, (long long)image.h, image.most, t->role->name,
                      as ? 3ll : (long long)t->dim[1], (long long)t->dim[3], (long long)(as ? t->dim[2] * 2 / 3 : t->dim[2]));
        image_free(&image);
    }
    frames_close(frames);
    for (int64_t i = frames_read * size; frames_read && i < images * size; i++)
        to[i] = to[i - frames_read * size];
    if (got >= 0 && fits && !frames_read)
        error_set(err, ERROR_USAGE, "%s has no picture", path);
    return got >= 0 && fits && frames_read > 0;
}

static bool npy_values(const char *path, const struct tensor *t, float *to, double *wide, struct error *err)
{
    struct npy a;
    if (!npy_read_shape(path, t->dim, t->rank, &a, err))
        return false;
    for (size_t i = 0; i < a.count; i++)
        to[i] = (float)a.value[i];
    if (wide)
        memcpy(wide, a.value, a.count * sizeof *wide);
    npy_free(&a);
    return true;
}

bool op_file_values(const struct work *work, const struct tensor *t, float *to, double *wide, struct error *err)
{
    const char *own = op_file_tensor(work->op, t->role)->values_file, *path = own ? own : work->picture;
    if (!(text_ends(path, ".npy") ? npy_values(path, t, to, wide, err) : picture_values(work, path, t, to, err)))
        return false;
    convert_round(t->dtype, to, tensor_elements(t));
    return true;
}

bool op_file_values_fit(const struct work *work, struct error *err)
{
    struct tensor list[OP_MAX_TENSORS];
    bool ok = true;
    for (int i = 0, count = work->op->file ? work->op->tensors(work, list) : 0; ok && i < count; i++) {
        const struct op_file_tensor *of = op_file_tensor(work->op, list[i].role);
        bool drawn = !of->values_file && !(work->picture[0] && list[i].role->values == VALUES_INPUT);
        const char *result = list[i].written && work->op->file->from == REFERENCE_NPY ? of->reference_npy : NULL;
        SCOPED_BY(npy_free) struct npy a = {0}, SCOPED_BY(npy_free) sizes = {0};
        SCOPED float *values = list[i].written || drawn ? NULL : malloc(tensor_elements(&list[i]) * sizeof *values);
        ok = (!values || op_file_values(work, &list[i], values, NULL, err)) &&
             (!result || npy_read_shape(result, list[i].dim, list[i].rank, &a, err)) &&
             (!of->sizes_npy || npy_read_shape(of->sizes_npy, list[i].dim, list[i].rank, &sizes, err));
    }
    return ok;
}

/* ---- those that were read ---- */
