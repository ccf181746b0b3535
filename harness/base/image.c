#include "base/image.h"
#include "base/file.h"
#include "base/text.h"
#include <ctype.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>

void image_free(struct image *image)
{
    free(image->at);
    *image = (struct image){0};
}

static bool make_room(const char *name, struct image *i, struct error *err)
{
    if (i->w < 1 || i->h < 1 || i->w > IMAGE_MAX_PIXELS / i->h)
        return error_set(err, ERROR_USAGE, "%s: %lld x %lld pixels; between 1 and %lld in total are supported", name, (long long)i->w,
                         (long long)i->h, (long long)IMAGE_MAX_PIXELS);
    i->at = malloc((size_t)(i->w * i->h * i->channels) * sizeof *i->at);
    return i->at ||
           error_set(err, ERROR_ENVIRONMENT, "%s: not enough memory for %lld x %lld pixels", name, (long long)i->w, (long long)i->h);
}

/* ---- PNM ---- */

/* The next number, after white space and # comments; -1: none, or an absurd one. Consumes the character after it, as the end of a binary
 * header requires. */
static long pnm_number(FILE *file)
{
    int c = getc(file);
    for (; isspace(c) || c == '#'; c = getc(file))
        if (c == '#')
            do
                c = getc(file);
            while (c != EOF && c != '\n');
    long value = -1;
    for (; c >= '0' && c <= '9'; c = getc(file)) {
        value = (value < 0 ? 0 : value) * 10 + (c - '0');
        if (value > 1 << 24)
            return -1;
    }
    if (c == '#')
        ungetc(c, file);
    return c == EOF || c == '#' || isspace(c) ? value : -1;
}

/* A plain PBM's digits need no space between them. */
static int pbm_digit(FILE *file)
{
    int c = getc(file);
    while (isspace(c))
        c = getc(file);
    return c == '0' || c == '1' ? c - '0' : -1;
}

static bool plain_samples(FILE *file, char kind, struct image *i)
{
    for (int64_t k = 0; k < i->w * i->h * i->channels; k++) {
        long v = kind == '1' ? pbm_digit(file) : pnm_number(file);
        if (v < 0 || v > i->most)
            return false;
        i->at[k] = (uint16_t)v;
    }
    return true;
}

static bool binary_samples(FILE *file, char kind, struct image *i)
{
    int64_t across = i->w * i->channels;
    size_t bytes = kind == '4' ? (size_t)(i->w + 7) / 8 : (size_t)across * (i->most > 255 ? 2 : 1);
    SCOPED unsigned char *row = xmalloc(bytes);
    bool ok = true;
    for (int64_t y = 0; y < i->h && ok; y++) {
        uint16_t *to = i->at + y * across;
        ok = fread(row, 1, bytes, file) == bytes;
        for (int64_t x = 0; x < across && ok; x++) {
            to[x] = kind == '4' ? row[x / 8] >> (7 - x % 8) & 1 : i->most > 255 ? (uint16_t)(row[2 * x] << 8 | row[2 * x + 1]) : row[x];
            ok = to[x] <= i->most;
        }
    }
    return ok;
}

bool image_read_pnm(const char *name, FILE *file, struct image *out, bool *end, struct error *err)
{
    *out = (struct image){.most = 1, .channels = 1};
    int first = getc(file);
    while (isspace(first)) /* between the pictures of a stream */
        first = getc(file);
    *end = first == EOF;
    if (*end)
        return false;
    int kind = getc(file);
    if (first != 'P' || kind < '1' || kind > '6')
        return error_set(err, ERROR_USAGE, "%s: not a PGM, PPM or PBM picture (P1 to P6), nor a PNG", name);
    bool bitmap = kind == '1' || kind == '4';
    out->w = pnm_number(file);
    out->h = pnm_number(file);
    long most = bitmap ? 1 : pnm_number(file);
    if (out->w < 1 || out->h < 1 || most < 1 || most > 65535)
        return error_set(err, ERROR_USAGE, "%s: a broken P%c header", name, kind);
    out->most = (int)most;
    out->channels = kind == '3' || kind == '6' ? 3 : 1;
    if (!make_room(name, out, err))
        return false;
    if (kind <= '3' ? plain_samples(file, (char)kind, out) : binary_samples(file, (char)kind, out))
        return true;
    int largest = out->most;
    image_free(out);
    return feof(file) ? error_set(err, ERROR_USAGE, "%s ends too early", name)
                      : error_set(err, ERROR_USAGE, "%s: a sample is not a number from 0 to %d", name, largest);
}

/* ---- PNG ---- */

static bool read_png(const char *name, const void *bytes, size_t count, struct image *out, struct error *err)
{
    png_image png = {.version = PNG_IMAGE_VERSION};
    if (!png_image_begin_read_from_memory(&png, bytes, count))
        return error_set(err, ERROR_USAGE, "%s: %s", name, png.message);
    bool color = png.format & PNG_FORMAT_FLAG_COLOR;
    *out = (struct image){.w = png.width, .h = png.height, .channels = color ? 3 : 1, .most = 255};
    png.flags |= PNG_IMAGE_FLAG_16BIT_sRGB; /* 16-bit values are scaled like 8-bit ones; no gamma */
    png.format = color ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
    if (!make_room(name, out, err)) {
        png_image_free(&png);
        return false;
    }
    size_t samples = (size_t)(out->w * out->h * out->channels);
    SCOPED unsigned char *raw = xcalloc(samples, 1);
    bool ok = png_image_finish_read(&png, NULL, raw, 0, NULL); /* frees its own memory, either way */
    for (size_t i = 0; i < samples && ok; i++)
        out->at[i] = raw[i];
    if (!ok) {
        image_free(out);
        error_set(err, ERROR_USAGE, "%s: %s", name, png.message);
    }
    return ok;
}

/* ---- files ---- */

static bool is_png(const void *bytes, size_t count)
{
    return count >= 4 && !memcmp(bytes, "\x89PNG", 4);
}

bool image_read_memory(const char *name, const void *bytes, size_t count, struct image *out, struct error *err)
{
    *out = (struct image){0};
    if (is_png(bytes, count))
        return read_png(name, bytes, count, out, err);
    FILE *file = count ? fmemopen((void *)(uintptr_t)bytes, count, "r") : NULL;
    bool end = true, ok = file && image_read_pnm(name, file, out, &end, err);
    if (file)
        fclose(file);
    return ok || !end ? ok : error_set(err, ERROR_USAGE, "%s: not a PGM, PPM or PBM picture: it is empty", name);
}

bool image_read(const char *path, struct image *out, struct error *err)
{
    size_t count;
    *out = (struct image){0};
    SCOPED char *bytes = file_read(path, IMAGE_MAX_BYTES, &count, err);
    return bytes && image_read_memory(path, bytes, count, out, err);
}

static bool write_png(const char *path, const unsigned char *grey, int64_t h, int64_t w, struct error *err)
{
    png_image png = {.version = PNG_IMAGE_VERSION, .width = (png_uint_32)w, .height = (png_uint_32)h, .format = PNG_FORMAT_GRAY};
    png_alloc_size_t bytes = 0;
    bool ok = false;
    SCOPED void *memory = NULL;
    if (png_image_write_to_memory(&png, NULL, &bytes, 0, grey, 0, NULL)) {
        memory = xmalloc(bytes);
        ok = png_image_write_to_memory(&png, memory, &bytes, 0, grey, 0, NULL);
    }
    if (!ok)
        error_set(err, ERROR_INTERNAL, "%s: %s", path, png.message);
    ok = ok && file_write_named(path, memory, bytes, err);
    return ok;
}

bool image_write_mask(const char *path, const float *mask, int64_t h, int64_t w, struct error *err)
{
    bool png = text_ends(path, ".png"), bitmap = text_ends(path, ".pbm");
    if (!png && !bitmap && !text_ends(path, ".pgm")) {
        error_set(err, ERROR_USAGE, "%s: a mask file must be .pgm, .pbm or .png", path);
        return false;
    }
    size_t across = bitmap ? (size_t)(w + 7) / 8 : (size_t)w, bytes = across * (size_t)h;
    SCOPED unsigned char *grey = xcalloc(bytes, 1);
    for (int64_t i = 0; i < h * w; i++)
        if (mask[i] != 0 && bitmap)
            grey[(size_t)(i / w) * across + (size_t)(i % w) / 8] |= (unsigned char)(0x80 >> i % w % 8);
        else if (mask[i] != 0)
            grey[i] = 255;
    bool ok;
    if (png) {
        ok = write_png(path, grey, h, w, err);
    } else {
        char header[64];
        int n = snprintf(header, sizeof header, bitmap ? "P4\n%lld %lld\n" : "P5\n%lld %lld\n255\n", (long long)w, (long long)h);
        SCOPED_TEXT t = {0};
        text_add_bytes(&t, header, (size_t)n);
        text_add_bytes(&t, (const char *)grey, bytes);
        ok = file_write_named(path, t.data, t.len, err);
    }
    return ok;
}
