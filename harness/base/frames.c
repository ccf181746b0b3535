#include "base/frames.h"
#include "base/file.h"
#include "base/text.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_BYTES 1024 /* of a Y4M header */

enum source { SOURCE_PICTURES, SOURCE_PICTURE, SOURCE_PNM, SOURCE_Y4M, SOURCE_RAW };
/* The layout of the planes in a Y4M or raw frame. */
struct planes {
    int64_t w, h;
    bool packed;            /* rgb24: three samples a pixel */
    int count;              /* planes: 1 or 3 */
    int shrink_x, shrink_y; /* of the chroma planes */
    int most, sample_bytes; /* 16-bit samples are little-endian */
};
struct frames {
    enum source kind;
    char *name;
    FILE *file;
    bool own;
    struct planes planes;
    int64_t w, h; /* of the first frame; 0: none yet */
    int number;   /* of the next frame, from 0 */
    int first;    /* SOURCE_PICTURES: number of the first file */
};

/* ---- formats ---- */

static bool set_raw(struct frames *f, const char *raw, struct error *err)
{
    long long w = 0, h = 0;
    int used = 0;
    if (sscanf(raw, "%lldx%lld:%n", &w, &h, &used) < 2 || !used || w < 1 || h < 1 || w > 65535 || h > 65535) {
        error_set(err, ERROR_USAGE, "'%.60s' is not a raw format", raw);
        return error_hint(err, "--raw 1280x720:yuv420p (or gray, rgb24)");
    }
    const char *format = raw + used;
    f->kind = SOURCE_RAW;
    f->planes = (struct planes){.w = w, .h = h, .count = 1, .shrink_x = 1, .shrink_y = 1, .most = 255, .sample_bytes = 1};
    if (!strcmp(format, "rgb24")) {
        f->planes.packed = true;
    } else if (!strcmp(format, "yuv420p")) {
        f->planes.count = 3;
        f->planes.shrink_x = f->planes.shrink_y = 2;
    } else if (strcmp(format, "gray")) {
        error_set(err, ERROR_USAGE, "no raw format '%.40s'", format);
        return error_hint(err, "gray, rgb24 or yuv420p");
    }
    return true;
}

/* "420jpeg", "422p10", "444", "mono", "mono16". */
static bool set_colours(struct frames *f, const char *c, struct error *err)
{
    struct planes *p = &f->planes;
    size_t digits = strspn(c, "0123456789");
    const char *rest = c + digits;
    p->count = 3;
    if (!strncmp(c, "420", digits) && digits == 3) {
        p->shrink_x = p->shrink_y = 2;
    } else if (!strncmp(c, "422", digits) && digits == 3) {
        p->shrink_x = 2, p->shrink_y = 1;
    } else if (!strncmp(c, "411", digits) && digits == 3) {
        p->shrink_x = 4, p->shrink_y = 1;
    } else if (!strncmp(c, "444", digits) && digits == 3) {
        p->shrink_x = p->shrink_y = 1;
    } else if (!strncmp(c, "mono", 4)) {
        p->count = 1, p->shrink_x = p->shrink_y = 1;
        rest = c + 4;
        if (*rest)
            rest--; /* mono16: parsed like p16 */
    } else {
        return error_set(err, ERROR_USAGE, "%s: Y4M colours '%.20s' are not supported; use 420, 422, 411, 444 or mono with 8 to 16 bits",
                         f->name, c);
    }
    int bits = *rest && isdigit((unsigned char)rest[1]) ? atoi(rest + 1) : 8;
    if (!strcmp(c, "444alpha") || bits < 8 || bits > 16)
        return error_set(err, ERROR_USAGE, "%s: Y4M colours '%.20s' are not supported; use 420, 422, 411, 444 or mono with 8 to 16 bits",
                         f->name, c);
    p->most = (1 << bits) - 1;
    p->sample_bytes = bits > 8 ? 2 : 1;
    return true;
}

static bool read_line(struct frames *f, char *line, bool *end, struct error *err)
{
    size_t n = 0;
    int c = getc(f->file);
    *end = c == EOF;
    for (; c != EOF && c != '\n'; c = getc(f->file)) {
        if (n == LINE_MAX_BYTES - 1)
            return error_set(err, ERROR_USAGE, "%s: a Y4M line longer than %d bytes", f->name, LINE_MAX_BYTES - 1);
        line[n++] = (char)c;
    }
    line[n] = 0;
    return *end || c == '\n' || error_set(err, ERROR_USAGE, "%s ends too early", f->name);
}

static bool open_y4m(struct frames *f, struct error *err)
{
    char line[LINE_MAX_BYTES], *rest = line;
    bool end;
    f->kind = SOURCE_Y4M;
    f->planes =
        (struct planes){.count = 3, .shrink_x = 2, .shrink_y = 2, .most = 255, .sample_bytes = 1}; /* what a stream without C means */
    if (!read_line(f, line, &end, err))
        return false;
    strsep(&rest, " ");
    for (char *word; (word = strsep(&rest, " "));) {
        long long v = 0;
        if ((*word == 'W' || *word == 'H') && text_to_int(word + 1, &v) && v >= 1 && v <= 65535)
            *(*word == 'W' ? &f->planes.w : &f->planes.h) = v;
        else if (*word == 'W' || *word == 'H')
            return error_set(err, ERROR_USAGE, "%s: Y4M size '%.20s'", f->name, word);
        else if (*word == 'C' && !set_colours(f, word + 1, err))
            return false;
    }
    if (!f->planes.w || !f->planes.h)
        return error_set(err, ERROR_USAGE, "%s: a Y4M header without width and height", f->name);
    return true;
}

/* ---- opening ---- */

struct frames *frames_of(FILE *file, const char *name, const char *raw, struct error *err)
{
    struct frames *f = xcalloc(1, sizeof *f);
    f->name = xstrdup(name);
    f->file = file;
    bool ok;
    if (raw) {
        ok = set_raw(f, raw, err);
    } else {
        int c = getc(file);
        ungetc(c, file);
        f->kind = SOURCE_PNM;
        ok = c == 'Y' ? open_y4m(f, err) : true;
    }
    if (ok)
        return f;
    frames_close(f);
    return NULL;
}

/* The file of a frame of numbered pictures: the one %d becomes the number. */
static char *picture_path(const char *pattern, int number)
{
    const char *percent = strchr(pattern, '%'), *end = percent + 1;
    int width = 0;
    bool zeros = *end == '0';
    for (; isdigit((unsigned char)*end); end++)
        width = width * 10 + (*end - '0');
    struct text t = {0};
    text_add_bytes(&t, pattern, (size_t)(percent - pattern));
    text_addf(&t, zeros ? "%0*d" : "%*d", width, number);
    text_add(&t, end + 1);
    return text_take(&t);
}

bool frames_numbered(const char *s)
{
    const char *percent = strchr(s, '%'), *end = percent ? percent + 1 : NULL;
    while (end && isdigit((unsigned char)*end))
        end++;
    return end && *end == 'd' && end - percent <= 3;
}

struct frames *frames_open(const char *source, const char *raw, struct error *err)
{
    struct frames *f = NULL;
    if (!strcmp(source, "-"))
        return frames_of(stdin, "standard input", raw, err);
    if (frames_numbered(source) && !raw) {
        f = xcalloc(1, sizeof *f);
        f->kind = SOURCE_PICTURES;
        f->name = xstrdup(source);
        SCOPED char *zero = picture_path(source, 0);
        f->first = file_exists(zero) ? 0 : 1;
        return f;
    }
    FILE *file = file_is_dir(source) ? NULL : fopen(source, "rb");
    if (!file) {
        error_set(err, ERROR_USAGE, "%s: %s", source, file_is_dir(source) ? "a folder" : strerror(errno));
        error_hint(err, "pictures of a folder: %s/frame_%%03d.pgm", file_is_dir(source) ? source : ".");
        return NULL;
    }
    int first = raw ? EOF : getc(file);
    ungetc(first, file);
    if (first == 0x89) { /* a PNG: one frame */
        fclose(file);
        f = xcalloc(1, sizeof *f);
        f->kind = SOURCE_PICTURE;
        f->name = xstrdup(source);
        return f;
    }
    f = frames_of(file, source, raw, err);
    if (f)
        f->own = true;
    else
        fclose(file);
    return f;
}

void frames_close(struct frames *f)
{
    if (!f)
        return;
    if (f->own)
        fclose(f->file);
    free(f->name);
    free(f);
}

/* ---- frames ---- */

static void take_plane(const struct planes *p, int plane, const unsigned char *raw, struct image *out)
{
    int64_t across = plane ? (p->w + p->shrink_x - 1) / p->shrink_x : p->w;
    for (int64_t y = 0; y < p->h; y++)
        for (int64_t x = 0; x < p->w; x++) {
            size_t at = (size_t)(plane ? y / p->shrink_y * across + x / p->shrink_x : y * across + x);
            uint16_t v = p->sample_bytes == 2 ? (uint16_t)(raw[2 * at] | raw[2 * at + 1] << 8) : raw[at];
            out->at[(y * p->w + x) * out->channels + plane] = v;
        }
}

static int next_planes(struct frames *f, struct image *out, struct error *err)
{
    const struct planes *p = &f->planes;
    int c = getc(f->file);
    if (c == EOF)
        return 0;
    ungetc(c, f->file);
    if (p->w > IMAGE_MAX_PIXELS / p->h) {
        error_set(err, ERROR_USAGE, "%s: frames of %lld x %lld pixels are more than %lld", f->name, (long long)p->w, (long long)p->h,
                  (long long)IMAGE_MAX_PIXELS);
        return -1;
    }
    int channels = p->packed ? 3 : p->count;
    *out = (struct image){.w = p->w, .h = p->h, .channels = channels, .most = p->most};
    out->at = xmalloc((size_t)(p->w * p->h * channels) * sizeof *out->at);
    SCOPED unsigned char *raw = xmalloc((size_t)(p->w * p->h) * (p->packed ? 3 : (size_t)p->sample_bytes));
    bool ok = true;
    for (int i = 0; i < p->count && ok; i++) {
        int64_t pixels = i ? (p->w + p->shrink_x - 1) / p->shrink_x * ((p->h + p->shrink_y - 1) / p->shrink_y) : p->w * p->h;
        size_t bytes = (size_t)pixels * (p->packed ? 3 : (size_t)p->sample_bytes);
        ok = fread(raw, 1, bytes, f->file) == bytes;
        for (size_t k = 0; p->packed && ok && k < bytes; k++)
            out->at[k] = raw[k];
        if (ok && !p->packed)
            take_plane(p, i, raw, out);
    }
    if (ok)
        return 1;
    image_free(out);
    error_set(err, ERROR_USAGE, "%s ends too early, inside frame %d", f->name, f->number);
    return -1;
}

static int next_y4m(struct frames *f, struct image *out, struct error *err)
{
    char line[LINE_MAX_BYTES];
    bool end;
    if (!read_line(f, line, &end, err))
        return -1;
    if (end)
        return 0;
    if (strncmp(line, "FRAME", 5) || (line[5] && line[5] != ' ')) {
        error_set(err, ERROR_USAGE, "%s: frame %d does not begin with FRAME", f->name, f->number);
        return -1;
    }
    int got = next_planes(f, out, err);
    if (got == 0) {
        error_set(err, ERROR_USAGE, "%s ends too early, inside frame %d", f->name, f->number);
        return -1;
    }
    return got;
}

static int next_picture(struct frames *f, struct image *out, struct error *err)
{
    SCOPED char *path = picture_path(f->name, f->first + f->number);
    return !file_exists(path) && f->number > 0 ? 0 : image_read(path, out, err) ? 1 : -1;
}

static int next_pnm(struct frames *f, struct image *out, struct error *err)
{
    int first = getc(f->file);
    ungetc(first, f->file);
    bool end, ok = image_read_pnm(f->name, f->file, out, &end, err);
    if (!ok && !end && f->number == 0 && first != 'P')
        error_hint(err, "frames must be Y4M or pictures; convert another video: ffmpeg -i VIDEO -pix_fmt yuv420p frames.y4m");
    return ok ? 1 : end ? 0 : -1;
}

int frames_next(struct frames *f, struct image *out, struct error *err)
{
    int got = 0;
    *out = (struct image){0};
    switch (f->kind) {
    case SOURCE_PICTURES: got = next_picture(f, out, err); break;
    case SOURCE_PICTURE: got = f->number ? 0 : image_read(f->name, out, err) ? 1 : -1; break;
    case SOURCE_PNM: got = next_pnm(f, out, err); break;
    case SOURCE_Y4M: got = next_y4m(f, out, err); break;
    case SOURCE_RAW: got = next_planes(f, out, err); break;
    }
    if (got == 1 && f->w && (out->w != f->w || out->h != f->h)) {
        error_set(err, ERROR_USAGE, "%s: frame %d has %lld x %lld pixels, but the earlier frames have %lld x %lld", f->name, f->number,
                  (long long)out->w, (long long)out->h, (long long)f->w, (long long)f->h);
        image_free(out);
        return -1;
    }
    if (got == 1) {
        f->w = out->w;
        f->h = out->h;
        f->number++;
    }
    return got;
}
