#include "run/message/frame.h"

bool frame_write(struct text *out, json_t *message)
{
    json_auto_t *packed = json_incref(json_object_get(message, FRAME_PACKED));
    size_t bytes = json_string_length(packed);
    if (packed)
        json_object_set_new(message, FRAME_PACKED, json_integer((json_int_t)bytes));
    SCOPED char *line = json_dumps(message, JSON_COMPACT);
    json_decref(message);
    if (!line)
        return false;
    text_add(out, line);
    text_add(out, "\n");
    text_add_bytes(out, bytes ? json_string_value(packed) : "", bytes);
    return true;
}

json_t *frame_read(const char *line, size_t length, size_t behind, size_t *packed)
{
    json_t *message = json_loadb(line, length, 0, NULL);
    json_int_t bytes = json_integer_value(json_object_get(message, FRAME_PACKED));
    *packed = bytes > 0 ? (size_t)bytes : 0;
    if (*packed && *packed <= behind)
        json_object_set_new(message, FRAME_PACKED, json_stringn_nocheck(line + length + 1, *packed));
    return message;
}
