#include "base/file.h"
#include "base/npy.h"
#include "base/text.h"
#include "measure/verify/verify_private.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Writes one grey pixel per output pixel: black is right; brighter pixels have more wrong channels. */
static bool write_map(const char *path, const struct verify_look *look, const float *got, int64_t n, struct error *err)
{
    const int64_t *d = look->fold;
    size_t pixels = (size_t)(d[2] * d[3]);
    SCOPED unsigned char *map = xcalloc(pixels, 1);
    for (size_t i = 0; i < pixels; i++) {
        int64_t wrong = 0;
        for (int64_t c = 0; c < d[1]; c++) {
            size_t at = (size_t)(n * d[1] + c) * pixels + i;
            wrong += !verify_right(look, at, got[at]);
        }
        if (look->mask &&
            look->mask[(size_t)n * (size_t)(d[2] / look->block) * (size_t)(d[3] / look->block) +
                       i / (size_t)d[3] / (size_t)look->block * (size_t)(d[3] / look->block) + i % (size_t)d[3] / (size_t)look->block] == 0)
            wrong = 0; /* an inactive pixel */
        map[i] = wrong ? (unsigned char)(96 + 159 * wrong / d[1]) : 0;
    }
    FILE *f = fopen(path, "wb");
    bool ok = f && fprintf(f, "P5\n%ld %ld\n255\n", (long)d[3], (long)d[2]) > 0 && fwrite(map, 1, pixels, f) == pixels;
    if (f && fclose(f))
        ok = false;
    return ok ? true : error_set(err, ERROR_ENVIRONMENT, "cannot write %s: %s", path, strerror(errno));
}

bool verify_dump(const struct program *program, int tensor, const struct op_data *data, const void *storage, const char *dir,
                 struct error *err)
{
    struct verify_look look;
    verify_begin(&look, program, tensor, data, storage);
    if (!file_make_dirs(dir, err))
        return false;
    const char *name = look.t.role->name;
    bool result = look.t.role->result; /* the files of the main result have the documented names */
    size_t count = tensor_elements(&look.t);
    SCOPED float *values = xmalloc(count * sizeof *values);
    char *path = text_format("%s/%s.npy", dir, name);
    tensor_unpack(&look.t, storage, values);
    bool ok = npy_write(path, look.t.dim, look.t.rank, values, err);
    free(path);
    for (int64_t n = 0; ok && look.t.layout != LAYOUT_BITS && n < look.fold[0]; n++) {
        char number[24] = "";
        if (n)
            snprintf(number, sizeof number, "_%ld", (long)n);
        path = text_format("%s/%s%serror%s.pgm", dir, result ? "" : name, result ? "" : "_", number);
        ok = write_map(path, &look, values, n, err);
        free(path);
    }
    for (size_t i = 0; look.want->reference && i < count; i++)
        values[i] = (float)look.want->reference[i];
    path = text_format("%s/%s%sreference.npy", dir, result ? "" : name, result ? "" : "_");
    ok = ok && (!look.want->reference || npy_write(path, look.t.dim, look.t.rank, values, err));
    free(path);
    return ok;
}
