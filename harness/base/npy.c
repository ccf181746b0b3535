#include "base/npy.h"
#include "base/dtype.h"
#include "base/file.h"
#include "base/text.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NPY_MAX_BYTES ((size_t)1 << 33)

/* Version 1.0: magic, header length, a Python dict padded so that the data start at a multiple of 64. */
static bool write_bytes(const char *path, const char *descr, size_t bytes, const int64_t *dim, int rank, const void *values,
                        struct error *err)
{
    char header[320];
    size_t count = 1;
    int length = snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    for (int i = 0; i < rank; i++) {
        length += snprintf(header + length, sizeof header - (size_t)length, "%s%ld", i ? ", " : "", (long)dim[i]);
        count *= (size_t)dim[i];
    }
    length += snprintf(header + length, sizeof header - (size_t)length, "%s), }", rank == 1 ? "," : "");
    int padded = (10 + length + 1 + 63) / 64 * 64 - 10;
    unsigned char start[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)(padded & 255), (unsigned char)(padded >> 8)};
    FILE *f = fopen(path, "wb");
    bool ok = f && fwrite(start, 1, sizeof start, f) == sizeof start && fprintf(f, "%-*s\n", padded - 1, header) == padded &&
              fwrite(values, bytes, count, f) == count;
    if (f && fclose(f))
        ok = false;
    return ok ? true : error_set(err, ERROR_ENVIRONMENT, "cannot write %s: %s", path, strerror(errno));
}

bool npy_write(const char *path, const int64_t *dim, int rank, const float *values, struct error *err)
{
    return write_bytes(path, "<f4", sizeof *values, dim, rank, values, err);
}

bool npy_write_as(const char *path, const int64_t *dim, int rank, enum dtype type, const void *values, struct error *err)
{
    static const char *const descr[DTYPE_COUNT] = {
        [DTYPE_F32] = "<f4", [DTYPE_F16] = "<f2", [DTYPE_F64] = "<f8", [DTYPE_I8] = "|i1",  [DTYPE_U8] = "|u1",  [DTYPE_I32] = "<i4",
        [DTYPE_U32] = "<u4", [DTYPE_U16] = "<u2", [DTYPE_I64] = "<i8", [DTYPE_U64] = "<u8", [DTYPE_BOOL] = "|b1"};
    if (descr[type])
        return write_bytes(path, descr[type], dtype_bytes(type), dim, rank, values, err);
    size_t count = 1;
    for (int i = 0; i < rank; i++)
        count *= (size_t)dim[i];
    SCOPED float *wide = xmalloc(count * sizeof *wide);
    for (size_t i = 0; i < count; i++)
        wide[i] = (float)dtype_get(type, values, i);
    return npy_write(path, dim, rank, wide, err);
}

void npy_free(struct npy *a)
{
    free(a->value);
    free(a->bits);
    *a = (struct npy){0};
}

/* The text after 'KEY': in the header; NULL: none. */
static const char *header_value(const char *header, const char *key)
{
    char quoted[32];
    snprintf(quoted, sizeof quoted, "'%s':", key);
    const char *at = strstr(header, quoted);
    at = at ? at + strlen(quoted) : NULL;
    return at ? at + strspn(at, " ") : NULL;
}

/* "(3, 4)", "(3,)", "()" */
static bool read_dims(const char *s, struct npy *out)
{
    if (!s || *s++ != '(')
        return false;
    out->count = 1;
    for (s += strspn(s, " "); *s != ')'; s += strspn(s, ", ")) {
        char *end;
        long long size = strtoll(s, &end, 10);
        if (end == s || size < 0 || out->rank == NPY_MAX_RANK || (size && out->count > NPY_MAX_BYTES / (size_t)size))
            return false;
        out->dim[out->rank++] = size;
        out->count *= (size_t)size;
        s = end;
    }
    return true;
}

static double element(char kind, size_t bytes, const unsigned char *at)
{
    uint64_t bits = 0;
    memcpy(&bits, at, bytes);
    if (kind == 'f')
        return bytes == 2 ? f16_to_f32((uint16_t)bits) : dtype_get(bytes == 4 ? DTYPE_F32 : DTYPE_F64, &bits, 0);
    if (kind == 'i' && bytes < 8 && bits >> (8 * bytes - 1))
        bits |= ~UINT64_C(0) << (8 * bytes);
    return kind == 'i' ? (double)(int64_t)bits : (double)bits;
}

static bool read_array(const char *file, size_t bytes, struct npy *out, const char **why)
{
    const unsigned char *u = (const unsigned char *)file;
    *why = "it is not a .npy file";
    if (bytes < 12 || memcmp(file, "\x93NUMPY", 6))
        return false;
    size_t start = u[6] == 1 ? 10 : 12, length = u[6] == 1 ? (size_t)u[8] | (size_t)u[9] << 8
                                                           : (size_t)u[8] | (size_t)u[9] << 8 | (size_t)u[10] << 16 | (size_t)u[11] << 24;
    if (length > bytes - start)
        return false;
    SCOPED char *header = xstrndup(file + start, length);
    const char *type = header_value(header, "descr"), *order = header_value(header, "fortran_order");
    bool shaped = read_dims(header_value(header, "shape"), out), plain = type && strlen(type) > 4 && strchr("'\"", type[0]);
    char kind = plain ? type[2] : 0;
    size_t each = plain && type[3] > '0' && type[3] <= '8' && strchr("'\"", type[4]) ? (size_t)(type[3] - '0') : 0;
    bool known = kind == 'f' ? each == 2 || each == 4 || each == 8
                             : kind && strchr("iub", kind) && (each == 1 || each == 2 || each == 4 || each == 8);
    bool straight = order && !strncmp(order, "False", 5) && (!plain || type[1] != '>');
    if (!shaped)
        *why = "its shape cannot be read";
    else if (!known)
        *why = "its elements are neither floats nor integers";
    else if (!straight)
        *why = "it is in Fortran order or big-endian; convert it with numpy.ascontiguousarray(a).astype('<f4')";
    else if ((bytes - start - length) / each < out->count)
        *why = "it ends too early";
    else if ((bytes - start - length) / each != out->count || (bytes - start - length) % each)
        *why = "it has bytes behind its last element: its header does not describe all of it";
    else
        *why = NULL;
    if (*why)
        return false;
    out->value = xmalloc((out->count + 1) * sizeof *out->value);
    for (size_t i = 0; i < out->count; i++)
        out->value[i] = element(kind, each, u + start + length + i * each);
    if (each == 8 && kind != 'f')
        out->bits = memcpy(xmalloc(out->count * 8 + 8), u + start + length, out->count * 8);
    out->natural = kind == 'u';
    return true;
}

bool npy_read(const char *path, struct npy *out, struct error *err)
{
    size_t bytes;
    const char *why;
    *out = (struct npy){0};
    SCOPED char *file = file_read(path, NPY_MAX_BYTES, &bytes, err);
    return file && (read_array(file, bytes, out, &why) || error_set(err, ERROR_USAGE, "%s: %s", path, why));
}

bool npy_read_shape(const char *path, const int64_t *dim, int rank, struct npy *out, struct error *err)
{
    SCOPED_TEXT want = {0}, is = {0};
    bool same = npy_read(path, out, err);
    if (!same)
        return false;
    same = rank == out->rank;
    for (int i = 0; i < rank; i++) {
        text_addf(&want, "%s%lld", i ? " x " : "", (long long)dim[i]);
        same = same && out->dim[i] == dim[i];
    }
    for (int i = 0; i < out->rank; i++)
        text_addf(&is, "%s%lld", i ? " x " : "", (long long)out->dim[i]);
    if (!same) {
        error_set(err, ERROR_USAGE, "%s: its shape is %s, but the op's is %s", path, text_get(&is), text_get(&want));
        npy_free(out);
    }
    return same;
}
