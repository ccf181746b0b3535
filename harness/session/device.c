/* What a device is, asked in a process of its own: the parent never loads a driver. */
#include "base/file.h"
#include "base/text.h"
#include "session/parent.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROBE_LIMIT_S 90.0

static void take(char *to, size_t bytes, const json_t *event, const char *key)
{
    const char *s = json_string_value(json_object_get(event, key));
    snprintf(to, bytes, "%s", s ? s : "");
}

static bool read_answer(const json_t *event, struct session_device *out)
{
    const char *hex = json_string_value(json_object_get(event, "chip"));
    if (!hex || strlen(hex) != 2 * sizeof out->chip)
        return false;
    for (size_t i = 0; i < sizeof out->chip; i++) {
        unsigned byte;
        sscanf(hex + 2 * i, "%2x", &byte);
        ((unsigned char *)&out->chip)[i] = (unsigned char)byte;
    }
    take(out->spec, sizeof out->spec, event, "spec");
    take(out->about, sizeof out->about, event, "about");
    take(out->uuid, sizeof out->uuid, event, "uuid");
    take(out->driver, sizeof out->driver, event, "driver");
    take(out->library, sizeof out->library, event, "library");
    return true;
}

bool session_device(const char *spec, const char *emu_chip, struct session_device *out, struct error *err)
{
    struct child child;
    char how[512];
    bool ok = false;
    *out = (struct session_device){0};
    if (!child_start(&child, err))
        return false;
    child_send(&child, json_pack("{s:s,s:s?,s:s?}", "do", "probe", "device", spec, "emu", emu_chip));
    for (;;) {
        json_t *event = NULL;
        enum child_event what = child_next(&child, child_clock_s() + PROBE_LIMIT_S, NULL, &event);
        if (what != CHILD_EVENT) {
            child_stop(&child, how, sizeof how);
            error_set(err, ERROR_ENVIRONMENT, what == CHILD_LATE ? "the device did not answer within 90 s%s%s" : "the device probe died%s%s", how[0] ? ": " : "", how);
            break;
        }
        const char *name = json_string_value(json_object_get(event, "event")), *text = json_string_value(json_object_get(event, "text"));
        if (name && !strcmp(name, "device"))
            ok = read_answer(event, out);
        bool failed = name && !strcmp(name, "failed");
        if (failed) {
            bool usage = json_integer_value(json_object_get(event, "kind")) == ERROR_USAGE; /* a word that is no device */
            error_set(err, usage ? ERROR_USAGE : ERROR_ENVIRONMENT, "%s", text ? text : "the device cannot be opened");
            error_hint(err, "%s", json_string_value(json_object_get(event, "hint")));
        }
        json_decref(event);
        if (ok || failed)
            break;
    }
    child_stop(&child, NULL, 0);
    return ok;
}
