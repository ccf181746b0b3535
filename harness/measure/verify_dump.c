#include "base/file.h"
#include "measure/verify_private.h"
#include "op/bound.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* NumPy's .npy, version 1.0: magic, header length, a Python dict padded so that the data start at a multiple of 64. */
static bool write_npy(const char *path, const int64_t dim[4], const float *values, struct error *err)
{
    char header[192];
    int length = snprintf(header, sizeof header, "{'descr': '<f4', 'fortran_order': False, 'shape': (%ld, %ld, %ld, %ld), }", (long)dim[0],
                          (long)dim[1], (long)dim[2], (long)dim[3]);
    int padded = (10 + length + 1 + 63) / 64 * 64 - 10;
    unsigned char start[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)(padded & 255), (unsigned char)(padded >> 8)};
    size_t count = (size_t)dim[0] * (size_t)dim[1] * (size_t)dim[2] * (size_t)dim[3];
    FILE *f = fopen(path, "wb");
    bool ok = f && fwrite(start, 1, sizeof start, f) == sizeof start && fprintf(f, "%-*s\n", padded - 1, header) == padded &&
              fwrite(values, sizeof *values, count, f) == count;
    if (f && fclose(f))
        ok = false;
    return ok ? true : error_set(err, ERROR_ENVIRONMENT, "cannot write %s: %s", path, strerror(errno));
}

/* One grey pixel per output pixel: black right, the brighter the more of its channels are wrong. */
static bool write_map(const char *path, const struct verify_look *look, const float *got, int64_t n, struct error *err)
{
    const int64_t *d = look->t.dim;
    size_t pixels = (size_t)(d[2] * d[3]);
    unsigned char *map = xcalloc(pixels, 1);
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
    free(map);
    return ok ? true : error_set(err, ERROR_ENVIRONMENT, "cannot write %s: %s", path, strerror(errno));
}

bool verify_dump(const struct program *program, const struct op_data *data, const void *storage, const char *dir, struct error *err)
{
    struct verify_look look = {.program = program, .data = data, .storage = storage, .block = 1, .mask = data->mask_out};
    look.t = program->tensors[program_tensor(program, ROLE_OUTPUT)];
    look.factor = bound_factor(program->algorithm, &program->work);
    if (look.mask && program->work.p > 0)
        look.block = look.t.dim[2] / program->work.p;
    if (!file_make_dirs(dir, err))
        return false;
    size_t count = tensor_elements(&look.t);
    float *values = xmalloc(count * sizeof *values);
    char *path = file_join(dir, "output.npy");
    tensor_unpack(&look.t, storage, values);
    bool ok = write_npy(path, look.t.dim, values, err);
    free(path);
    for (int64_t n = 0; ok && n < look.t.dim[0]; n++) {
        char name[64];
        snprintf(name, sizeof name, n ? "error_%ld.pgm" : "error.pgm", (long)n);
        path = file_join(dir, name);
        ok = write_map(path, &look, values, n, err);
        free(path);
    }
    for (size_t i = 0; i < count; i++)
        values[i] = (float)data->reference[i];
    path = file_join(dir, "reference.npy");
    ok = ok && write_npy(path, look.t.dim, values, err);
    free(path);
    free(values);
    return ok;
}
