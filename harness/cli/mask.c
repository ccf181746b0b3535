/* bench mask: the frames of a video to mask files, for `{pattern: file, path: ...}`. */
#include "base/frames.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/fields.h"
#include "op/mask/change.h"
#include "op/mask/mask.h"
#include "report/view/number.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

struct mask_arguments {
    const char *out, *raw, *size;
    double threshold;
    int dilate, frames;
};
struct mask_sums {
    int count;
    int64_t h, w;
    double least, most, sum; /* shares, without the first frame, which is all active */
};

static bool parse_size(const char *text, int64_t *h, int64_t *w, struct error *err)
{
    long long a = 0, b = 0;
    int used = 0;
    *h = *w = 0;
    if (!text)
        return true;
    if (sscanf(text, "%lldx%lld%n", &a, &b, &used) < 2 || text[used] || a < 1 || b < 1 || a > 65535 || b > 65535) {
        error_set(err, ERROR_USAGE, "--size: WIDTHxHEIGHT is expected, not '%.40s'", text);
        return error_hint(err, "--size 1280x720");
    }
    *w = a;
    *h = b;
    return true;
}

/* Writes the mask of one frame, at the size asked for, and prints a line about it. */
static bool one_frame(const struct mask_arguments *a, struct change *change, const struct image *frame, int number, int64_t h, int64_t w,
                      struct mask_sums *sums, struct error *err)
{
    struct mask name = {.pattern = MASK_FILE};
    char path[sizeof name.path + 128], p[NUMBER_TEXT];
    SCOPED float *mask = xmalloc((size_t)(frame->w * frame->h) * sizeof *mask), *fitted = NULL;
    if (!change_step(change, frame, mask, err))
        return false;
    if (h && (h != frame->h || w != frame->w)) {
        fitted = xmalloc((size_t)(h * w) * sizeof *fitted);
        change_fit(mask, frame->h, frame->w, fitted, h, w);
    }
    sums->h = fitted ? h : frame->h;
    sums->w = fitted ? w : frame->w;
    double share = mask_density(fitted ? fitted : mask, (size_t)(sums->h * sums->w));
    snprintf(name.path, sizeof name.path, "%s", a->out);
    mask_frame_path(&name, number, path, sizeof path);
    bool ok = image_write_mask(path, fitted ? fitted : mask, sums->h, sums->w, err);
    if (ok) {
        json_t *file = fields_item(fields_list(fields("mask"), "masks"));
        fields_text(file, "path", path);
        fields_number(file, "active_share", share);
        cli_say(stdout, "%s  %s %%%s\n", path, number_percent(share, p), number ? "" : "  every pixel of the first frame is active");
        sums->least = number == 1 || share < sums->least ? share : sums->least;
        sums->most = number == 1 || share > sums->most ? share : sums->most;
        sums->sum += number ? share : 0;
        sums->count++;
    }
    return ok;
}

static bool all_frames(const struct mask_arguments *a, struct frames *frames, int64_t h, int64_t w, struct mask_sums *sums,
                       struct error *err)
{
    struct change change = {.threshold = a->threshold, .dilate = a->dilate};
    struct image frame;
    bool ok = true, numbered = frames_numbered(a->out);
    int got = 1;
    for (int number = 0; ok && (a->frames < 0 || number < a->frames); number++) {
        got = frames_next(frames, &frame, err);
        if (got != 1)
            break;
        if (number && !numbered) {
            ok = error_set(err, ERROR_USAGE, "--to %s names one file, but there are several frames", a->out);
            error_hint(err, "--to masks/frame_%%03d.png");
        }
        ok = ok && one_frame(a, &change, &frame, number, h, w, sums, err);
        image_free(&frame);
    }
    change_end(&change);
    if (ok && got == 0 && !sums->count)
        return error_set(err, ERROR_USAGE, "there are no frames");
    return ok && got >= 0;
}

static void print_end(const struct mask_arguments *a, const struct mask_sums *s)
{
    char least[NUMBER_TEXT], most[NUMBER_TEXT], mean[NUMBER_TEXT];
    SCOPED_TEXT t = {0};
    json_t *o = fields("mask");
    fields_count(o, "height", s->h);
    fields_count(o, "width", s->w);
    fields_number(o, "active_share_least", s->count > 1 ? s->least : NAN);
    fields_number(o, "active_share_most", s->count > 1 ? s->most : NAN);
    fields_number(o, "active_share_mean", s->count > 1 ? s->sum / (s->count - 1) : NAN);
    text_addf(&t, "%d mask%s of %lld x %lld pixels", s->count, text_s(s->count), (long long)s->w, (long long)s->h);
    if (s->count > 1)
        text_addf(&t, ", %s to %s %% active after the first frame, %s %% on average", number_percent(s->least, least),
                  number_percent(s->most, most), number_percent(s->sum / (s->count - 1), mean));
    if (s->count > 1)
        text_addf(&t, "\nhint: mask: {pattern: file, path: %s, frame: {from: 1, to: %d}}", a->out, s->count - 1);
    text_add(&t, "\n");
    cli_print(&t);
}

int cli_mask(const struct verb *verb, int argc, char **argv)
{
    struct mask_arguments a = {.threshold = 0.05, .frames = -1};
    SCOPED const char **rest = xcalloc((size_t)argc + 1, sizeof *rest);
    const struct option options[] = {
        {"--to", 0, OPTION_TEXT, "FILE", "file name of the masks, with %03d and ending in .pgm, .pbm or .png", &a.out},
        {"--threshold", 't', OPTION_REAL, "SHARE",
         "a pixel is active if a channel changed by more than this share of white, 0 to 1; default 0.05", &a.threshold},
        {"--dilate", 0, OPTION_INT, "PIXELS", "grow the active regions by this many pixels on every side", &a.dilate},
        {"--size", 's', OPTION_TEXT, "WxH", "size of the masks; a pixel is active if any pixel that it covers is active", &a.size},
        {"--frames", 'n', OPTION_INT, "COUNT", "at most this many frames; default: all", &a.frames},
        {"--raw", 0, OPTION_TEXT, "WxH:FORMAT", "frames without a header, in the format gray, rgb24 or yuv420p", &a.raw},
        {0},
    };
    struct error err = {0};
    struct frames *frames = NULL;
    struct mask_sums sums = {0};
    int64_t h, w;
    int count, code;
    if (!cli_options(verb, options, argc, argv, rest, &count, NULL, &code))
        return code;
    if (count != 1 || !a.out)
        return cli_usage(verb, count > 1 ? "only one source of frames is expected"
                               : !count  ? "which frames? A Y4M file, numbered pictures, or - for a pipe"
                                         : "--to is missing: --to masks/frame_%%03d.png");
    if (!a.frames || a.threshold > 1 || a.dilate > 4096 || strlen(a.out) >= sizeof((struct mask *)0)->path)
        return cli_usage(verb, !a.frames         ? "--frames 0 selects nothing; without the option all frames are used"
                               : a.threshold > 1 ? "--threshold must be a share of white, 0 to 1"
                               : a.dilate > 4096 ? "--dilate must be at most 4096 pixels"
                                                 : "the name after --to is too long");
    bool ok = parse_size(a.size, &h, &w, &err) && (frames = frames_open(rest[0], a.raw, &err)) && all_frames(&a, frames, h, w, &sums, &err);
    if (ok)
        print_end(&a, &sums);
    frames_close(frames);
    return ok ? 0 : cli_fail(&err);
}
