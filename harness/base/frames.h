/* base/frames: the frames of a video, one after another: numbered pictures, a stream of pictures, Y4M, or raw samples; from files or
 * standard input. */
#pragma once

#include "base/image.h"

/* Does the name have %d or %0Nd for a frame's number? */
bool frames_numbered(const char *name);
/* `source`: a Y4M or PNM file, one PNG, a picture's name with %d or %0Nd for the frame's number (from 0 or 1 on), or `-` for standard
 * input. `raw` (may be NULL): the source is headerless, "640x360:yuv420p", formats gray, rgb24, yuv420p. All frames have one size. */
struct frames;
struct frames *frames_open(const char *source, const char *raw, struct error *err);
/* From an open stream; the caller closes it after frames_close. */
struct frames *frames_of(FILE *file, const char *name, const char *raw, struct error *err);
/* 1: a frame (free it with image_free); 0: no more; -1: an error. Y4M and YUV frames have three channels at full size, chroma repeated. */
int frames_next(struct frames *frames, struct image *out, struct error *err);
void frames_close(struct frames *frames);
