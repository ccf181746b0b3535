/* What a device is, asked in a process of its own: the parent never loads a driver. */
#include "session/parent.h"
#include "message/wire.h"
#include <stdio.h>

#define PROBE_LIMIT_S 90.0

static void probe_take(char *to, size_t bytes, const json_t *event, const char *key)
{
    const char *s = json_string_value(json_object_get(event, key));
    snprintf(to, bytes, "%s", s ? s : "");
}

bool session_device(const struct session_probe *ask, volatile sig_atomic_t *interrupted, struct session_device *out, struct error *err)
{
    json_t *command = json_pack("{s:s,s:s?,s:s?,s:s?,s:s?,s:b}", "do", "probe", "device", ask->spec, "emu", ask->emu_chip, "compiler",
                                ask->compiler, "bundle", ask->bundle, "compiles", (int)ask->compiles);
    json_t *event = child_ask("the device probe", command, "device", PROBE_LIMIT_S, ask->keep, interrupted, err);
    *out = (struct session_device){0};
    json_decref(command);
    if (!event) { /* a word that is no device is the user's; everything else is the machine's */
        if (err && err->kind != ERROR_USAGE && err->kind != ERROR_INTERRUPTED)
            err->kind = ERROR_ENVIRONMENT;
        return false;
    }
    bool ok = wire_chip_read(json_object_get(event, "chip"), &out->chip) ||
              error_set(err, ERROR_INTERNAL, "the device probe answered without a chip");
    probe_take(out->spec, sizeof out->spec, event, "spec");
    probe_take(out->about, sizeof out->about, event, "about");
    probe_take(out->uuid, sizeof out->uuid, event, "uuid");
    probe_take(out->driver, sizeof out->driver, event, "driver");
    probe_take(out->library, sizeof out->library, event, "library");
    probe_take(out->compiler, sizeof out->compiler, event, "compiler");
    json_decref(event);
    return ok;
}
