/* The works of ops that are files, and the list of these ops. */
#include "op/file_private.h"
#include "base/file.h"
#include "base/frames.h"
#include "base/npy.h"
#include "base/source.h"
#include "base/text.h"
#include "op/convert.h"
#include "op/generate.h"
#include "op/shape.h"
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ---- a work's values ---- */

static bool file_name(void *context, const char *name, struct value *out, struct error *err)
{
    (void)err;
    return work_symbol(context, name, out);
}

bool op_file_value(const struct work *work, const struct expr *e, struct value *out, struct error *err)
{
    struct work *w = (struct work *)(uintptr_t)work;
    const struct expr_env env = {w, file_name, NULL, work_symbol_names(work->op)};
    return expr_eval(e, &env, out, err);
}

bool op_file_int(const struct work *work, const struct expr *e, int64_t *out, struct error *err)
{
    struct work *w = (struct work *)(uintptr_t)work;
    const struct expr_env env = {w, file_name, NULL, work_symbol_names(work->op)};
    return expr_eval_int(e, &env, out, err);
}

static double file_real(const struct work *work, const struct expr *e)
{
    struct value v;
    if (!op_file_value(work, e, &v, NULL) || v.kind == VALUE_TEXT)
        return 0;
    return v.kind == VALUE_INT ? (double)v.i : v.d;
}

static bool file_needs(const struct op_file *f, struct work *work, struct error *err)
{
    const struct expr_env env = {work, file_name, NULL, f->symbol_names};
    for (int i = 0; i < f->need_count; i++) {
        bool truth;
        char why[400];
        if (!expr_test(f->needs[i], &env, &truth, why, sizeof why, err))
            return false;
        if (!truth)
            return f->need_says[i] ? error_set(err, ERROR_USAGE, "%s (%s)", f->need_says[i], why)
                                   : error_set(err, ERROR_USAGE, "%s needs %s", f->op.name, why);
    }
    return true;
}

/* The rows of a volume are those of all its planes. */
static bool stack_planes(struct work *work, struct error *err)
{
    if (work->d * work->plane > SHAPE_MAX_ELEMENTS)
        return error_set(err, ERROR_USAGE, "%s: %ld planes of %ld rows are more than %ld", work->op->name, (long)work->d, (long)work->plane,
                         (long)SHAPE_MAX_ELEMENTS);
    work->h = work->d * work->plane;
    work->p = work->o * work->plane_out;
    return true;
}

/* What the file says of a work's FLOP, bytes and terms is a number, and not below 0: else what is judged by them would be. */
static bool counts_fit(const struct op_file *f, const struct work *work, struct error *err)
{
    const struct expr *const counts[] = {f->flop, f->bytes, f->terms};
    for (int i = 0; i < 3; i++) {
        struct value v = {.kind = VALUE_INT};
        if (counts[i] && !(i == 2 ? op_file_int(work, counts[i], &v.i, err) : op_file_value(work, counts[i], &v, err)))
            return false;
        double x = v.kind == VALUE_INT ? (double)v.i : v.kind == VALUE_TEXT ? -1 : v.d;
        if (!(x >= 0 && x <= DBL_MAX))
            return expr_fail(counts[i], err, "%s: %g is not a number from 0 on", i == 0 ? "flop" : i == 1 ? "bytes" : "terms", x);
    }
    return true;
}

bool op_file_finish(struct work *work, struct error *err)
{
    const struct op_file *f = work->op->file ? work->op->file : work->op->image;
    int64_t *const usual[] = {&work->stride, &work->dilation, &work->groups};
    for (int i = 0; i < 3 && work->op->has_filter; i++) /* where the file says nothing of them */
        *usual[i] = *usual[i] ? *usual[i] : 1;
    for (int i = 0; i < f->let_count; i++)
        if (!op_file_int(work, f->lets[i], (int64_t *)(void *)((char *)work + f->let_offsets[i]), err))
            return false;
    if (!file_needs(f, work, err) || (work->op->volume && !stack_planes(work, err)))
        return false;
    for (int i = 0; i < f->tensor_count; i++)
        for (int k = 0; k < f->tensors[i].rank; k++) {
            int64_t size;
            if (!op_file_int(work, f->tensors[i].shape[k], &size, err))
                return false;
        }
    if (work->op->settle && (work->p != work->h || work->q != work->w))
        return error_set(err, ERROR_INTERNAL, "%s: outputs that are not where their inputs are cannot be left out", work->op->name);
    if (work->op->task == TASK_POINTWISE && !work->epilogue_count)
        return error_set(err, ERROR_USAGE, "%s: it is its epilogue, and that is empty", work->op->name);
    return counts_fit(f, work, err) && (!f->stages || stage_fits(work, err));
}

int op_file_tensors(const struct work *work, struct tensor out[OP_MAX_TENSORS])
{
    const struct op_file *f = work->op->file;
    int count = 0;
    for (int i = 0; i < f->tensor_count; i++) {
        const struct op_file_tensor *from = &f->tensors[i];
        if (from->when && file_real(work, from->when) == 0)
            continue;
        struct tensor *t = &out[count++];
        *t = (struct tensor){.role = &from->role,
                             .dtype = from->role.dtype != DTYPE_NONE ? from->role.dtype : work->dtype,
                             .layout = from->layout  ? from->layout
                                       : from->image ? work->layout
                                                     : LAYOUT_LINEAR,
                             .rank = from->rank,
                             .written = from->role.output};
        for (int k = 0; k < t->rank; k++)
            if (!op_file_int(work, from->shape[k], &t->dim[k], NULL))
                t->dim[k] = 0;
    }
    return count;
}

double op_file_flop(const struct work *work)
{
    const struct op_file *f = work->op->file ? work->op->file : work->op->image;
    return f->flop ? file_real(work, f->flop) : f->stages ? stage_flop(work) : 0;
}

/* Red, green and blue of a frame of a video, whose three channels are brightness and colours (BT.601, the full range); the other way round
 * for a picture that becomes NV12. */
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

/* How the samples of a frame lie: as the tensor's channels; brightness, below it of every 2 x 2 pixels the colours, in turn or one behind
 * the other. */
enum samples { SAMPLES_WHOLE, SAMPLES_NV12, SAMPLES_I420 };

/* Colour `i` of those below the brightness of a frame w pixels wide, `bright` high. */
static uint16_t colour_of(const struct image *image, enum samples as, int64_t i, int64_t bright, int64_t w)
{
    int64_t quarter = bright / 2 * (w / 2), pair = as == SAMPLES_NV12 ? i / 2 : i % quarter,
            which = as == SAMPLES_NV12 ? i % 2 : i / quarter;
    return image->at[(2 * (pair / (w / 2)) * image->w + 2 * (pair % (w / 2))) * 3 + 1 + which];
}

/* The samples of image `n`: the upper left corner of a larger picture. */
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

/* A picture, or the frames of a video: image i of the batch is frame i, and behind the last comes the first. */
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
                      "%s is a picture of %d channels, %lld x %lld pixels (width x height), samples up to %d; %s wants %lld, %lld x %lld",
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

static bool npy_values(const char *path, const struct tensor *t, float *to, struct error *err)
{
    struct npy a;
    if (!npy_read_shape(path, t->dim, t->rank, &a, err))
        return false;
    for (size_t i = 0; i < a.count; i++)
        to[i] = (float)a.value[i];
    npy_free(&a);
    return true;
}

bool op_file_values(const struct work *work, const struct tensor *t, float *to, struct error *err)
{
    const char *own = op_file_tensor(work->op, t->role)->values_file, *path = own ? own : work->picture;
    if (!(text_ends(path, ".npy") ? npy_values(path, t, to, err) : picture_values(work, path, t, to, err)))
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
        struct npy a = {0};
        SCOPED float *values = list[i].written || drawn ? NULL : malloc(tensor_elements(&list[i]) * sizeof *values);
        ok = (!values || op_file_values(work, &list[i], values, err)) &&
             (!result || npy_read_shape(result, list[i].dim, list[i].rank, &a, err));
        npy_free(&a);
    }
    return ok;
}

void op_file_box(const struct work *work, const struct op_file_tensor *of, size_t i, int64_t size[2])
{
    for (int k = 0; k < 2; k++) {
        int64_t within = 1;
        op_file_int(work, of->within[1 - k], &within, NULL);
        size[k] = of->sizes[i % (size_t)of->size_count][k];
        if (work->any_boxes)
            size[k] -= (int64_t)(generate_bits(work->seed, i, (uint64_t)k) % (uint64_t)(size[k] / 2 + 1));
        size[k] = size[k] < within ? size[k] : within;
    }
}

bool op_file_takes_picture(const struct op *op)
{
    for (int i = 0; op->file && i < op->file->tensor_count; i++) {
        const struct op_file_tensor *t = &op->file->tensors[i];
        if (t->role.values == VALUES_INPUT && !t->role.output)
            return t->image && (t->role.dtype == DTYPE_U8 || t->role.dtype == DTYPE_U16);
    }
    return false;
}

const struct op_file_tensor *op_file_tensor(const struct op *op, const struct tensor_role *role)
{
    return op->file ? &op->file->tensors[role->slot] : NULL;
}

void op_file_describe(const struct work *work, struct text *t)
{
    for (const struct op_field *f = work->op->fields; f->name; f++) {
        struct value v;
        char s[VALUE_TEXT_MAX + 8];
        if (!work_symbol(work, f->name, &v))
            continue;
        value_print(&v, s, sizeof s);
        text_addf(t, " %s %s", f->name, s);
    }
    text_addf(t, "  %s", dtype_name(work->dtype));
    if (work->op->layouts & (work->op->layouts - 1)) /* there is a choice */
        text_addf(t, " %s", layout_name(work->layout));
    if (work->picture[0])
        text_addf(t, "  %s", file_base(work->picture));
}

const char *op_file_hash(const struct op_file *f)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct op_file_hash *made = f->hash;
    pthread_mutex_lock(&lock);
    if (made->text) {
        struct hash *h = hash_begin();
        hash_add(h, made->text, made->bytes);
        source_add(h, f->source);
        for (int i = 0; i < f->tensor_count; i++) {
            source_add(h, f->tensors[i].values_file);
            source_add(h, f->tensors[i].reference_npy);
        }
        hash_end(h, made->hash);
        free(made->text);
        made->text = NULL;
    }
    pthread_mutex_unlock(&lock);
    return made->hash;
}

void op_file_key(const struct work *work, struct text *t)
{
    const struct op_file *f = work->op->file ? work->op->file : work->op->image;
    if (work->op->file || !f->installed)
        text_addf(t, "file=%s;", op_file_hash(f));
    for (int i = 0; i < f->field_count; i++) { /* those of images have their place in work_key */
        const struct op_field *field = &f->op.fields[i];
        if (field->offset >= offsetof(struct work, value) && field->offset < offsetof(struct work, value) + sizeof work->value)
            text_addf(t, "%s=%lld;", field->name, (long long)work->value[i]);
    }
    if (work->picture[0])
        text_addf(t, "picture=%s;", work->picture_hash);
    if (work->any_boxes)
        text_add(t, "any_boxes=1;");
}

const char *op_path(const struct op *op)
{
    const struct op_file *f = op->file ? op->file : op->image;
    return f ? f->path : NULL;
}

/* ---- those that were read ---- */

#define FILES_MAX 256
static struct {
    struct op_file *items[FILES_MAX];
    int count;
    bool installed;
    struct error broken; /* why the installed ones are not all there */
} files;

static bool add_file(const char *path, bool own, struct error *err)
{
    char *real = realpath(path, NULL), *name = xstrndup(file_base(path), strcspn(file_base(path), "."));
    bool known = false;
    for (int i = 0; i < files.count; i++)
        known |= !strcmp(files.items[i]->path, real ? real : path);
    const struct op *other = known ? NULL : op_find(name);
    struct op_file *f = NULL;
    bool ok = known;
    if (other)
        error_set(err, ERROR_USAGE, "%s: there is an op '%s' already%s%s", path, name, op_path(other) ? ": " : "",
                  op_path(other) ? op_path(other) : "");
    else if (!known && files.count == FILES_MAX)
        error_set(err, ERROR_USAGE, "%s: more than %d ops", path, FILES_MAX);
    else if (!known && (f = op_file_read(path, err))) {
        f->installed = !own;
        files.items[files.count++] = f;
        ok = true;
    }
    free(real);
    free(name);
    return ok;
}

/* Of the installation every op that can be read is there; the first error is kept. */
static bool add_folder(const char *dir, bool own, struct error *err)
{
    char **names;
    int count = file_list(dir, ".yaml", &names, err);
    bool ok = count >= 0;
    for (int i = 0; i < count; i++) {
        char *path = file_join(dir, names[i]);
        struct error later;
        if (ok)
            ok = add_file(path, own, err);
        else if (!own)
            add_file(path, false, &later);
        free(path);
        free(names[i]);
    }
    if (count >= 0)
        free(names);
    return ok && own && !count ? error_set(err, ERROR_USAGE, "--ops %s: the folder has no op (no .yaml)", dir) : ok;
}

/* Once, when the first op is asked for: an op of an installation is always there. */
static void add_installed(void)
{
    if (files.installed)
        return;
    files.installed = true;
    char *dir = file_share("kernels/ops");
    if (file_is_dir(dir))
        add_folder(dir, false, &files.broken);
    free(dir);
}

const struct op *op_file_at(int i)
{
    add_installed();
    return i < files.count ? &files.items[i]->op : NULL;
}

bool op_load(const char *const *extra, struct error *err)
{
    add_installed();
    if (files.broken.kind != ERROR_NONE) {
        if (err)
            *err = files.broken;
        return false;
    }
    for (int i = 0; extra && extra[i]; i++) {
        if (!file_exists(extra[i]))
            return error_set(err, ERROR_USAGE, "--ops %s: there is no such file or folder", extra[i]);
        if (!(file_is_dir(extra[i]) ? add_folder(extra[i], true, err) : add_file(extra[i], true, err)))
            return false;
    }
    for (int i = 0; i < files.count; i++) { /* now that all are there */
        const struct op *op = &files.items[i]->op;
        if (op->of_changes && !op_find(op->of_changes))
            return node_error(node_get(files.items[i]->root, "changes"), err, "changes: there is no op '%s'", op->of_changes);
    }
    return true;
}
