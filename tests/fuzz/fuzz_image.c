/* Pictures and streams of frames. The first byte picks: a picture (a mask file), a stream with its own header, or one of the raw formats.
 */
#include "base/frames.h"
#include "fuzz/common.h"
#include <string.h>

void fuzz_one(const uint8_t *data, size_t bytes)
{
    static const char *const raw[] = {NULL, NULL, "3x2:gray", "5x3:yuv420p", "2x2:rgb24"};
    struct error err = {0};
    struct image image;
    if (bytes < 2)
        return;
    if (image_read_memory("fuzz.png", data, bytes, &image, &err)) {
        for (int64_t i = 0; i < image.w * image.h * image.channels; i++)
            if (image.at[i] > image.most && image.most < 255)
                abort();
        image_free(&image);
    } else {
        must_explain(&err);
    }
    FILE *file = fmemopen((void *)(uintptr_t)data, bytes, "r");
    error_clear(&err);
    struct frames *f = frames_of(file, "fuzz", raw[data[bytes - 1] % 5], &err);
    int got = f ? 1 : -1;
    for (int n = 0; got == 1 && n < 16; n++) {
        got = frames_next(f, &image, &err);
        if (got == 1)
            image_free(&image);
    }
    if (got < 0)
        must_explain(&err);
    frames_close(f);
    fclose(file);
}
