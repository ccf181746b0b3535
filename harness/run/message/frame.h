/* run/message/frame: a message as it goes through a socket: a line of JSON. In memory its member "packed" is a string of any bytes, such as
 * rows (run/message/wire.h). The line has only their number; the bytes follow it. */
#pragma once

#include "base/text.h"
#include <jansson.h>

#define FRAME_PACKED "packed"

/* Takes the reference to the message. False: a text of it is not UTF-8. */
bool frame_write(struct text *out, json_t *message);
/* Parses a line, without its end, which is followed by `behind` bytes. *packed: how many of them belong to it; if that is more than there
 * are, the rest has not arrived yet. NULL: no JSON. */
json_t *frame_read(const char *line, size_t length, size_t behind, size_t *packed);
