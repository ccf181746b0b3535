/* base/image: pictures from files: PBM, PGM, PPM (plain and binary) and PNG (libpng); and masks into files.
 *
 * Hostile input gets one error: broken headers, more than IMAGE_MAX_PIXELS, files that end too early. */
#pragma once

#include "base/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define IMAGE_MAX_PIXELS (INT64_C(1) << 26)
#define IMAGE_MAX_BYTES (512u << 20) /* of a PNG file */
struct image {
    int64_t w, h;
    int channels; /* 1 or 3, interleaved */
    int most;     /* the largest value a sample may have: white */
    uint16_t *at; /* h * w * channels */
};
/* By the file's first bytes. A 1 of a PBM (black) is the largest value: as a mask it is active. The alpha of a PNG is over black. */
bool image_read(const char *path, struct image *out, struct error *err);
bool image_read_memory(const char *name, const void *bytes, size_t count, struct image *out, struct error *err);
/* Reads one PNM picture from a stream that may hold several. End of file before its first byte: false, *end set, err untouched. */
bool image_read_pnm(const char *name, FILE *file, struct image *out, bool *end, struct error *err);
void image_free(struct image *image);
/* Writes h * w values, nonzero = active = white; .pgm, .pbm or .png by the name. Through a temporary file. */
bool image_write_mask(const char *path, const float *mask, int64_t h, int64_t w, struct error *err);
