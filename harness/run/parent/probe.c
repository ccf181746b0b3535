/* Queries a device in a process of its own: the parent never loads a driver. */
#include "base/spec.h"
#include "run/parent/parent.h"
#include "run/message/wire.h"
#include "store/lock.h"
#include <stdio.h>

#define PROBE_LIMIT_S 90.0

struct waiting {
    const struct session_sink *sink;
    volatile sig_atomic_t *interrupted;
    bool told;
};

static bool still_waiting(void *context, long long pid)
{
    struct waiting *w = context;
    char text[96] = "another run of bench uses the GPU: waiting for it to end";
    if (pid > 0)
        snprintf(text, sizeof text, "another run of bench uses the GPU (pid %lld): waiting for it to end", pid);
    if (!w->told && w->sink->note)
        w->sink->note(w->sink->context, text);
    w->told = true;
    return !w->interrupted || !*w->interrupted;
}

bool session_lock(const char *uuid, const struct session_sink *sink, volatile sig_atomic_t *interrupted, int *fd, struct error *err)
{
    struct waiting waiting = {sink, interrupted, false};
    *fd = -1;
    return !uuid || !*uuid || lock_gpu(uuid, still_waiting, &waiting, fd, err);
}

bool session_hold(const char *spec, const struct session_sink *sink, struct child *keep, volatile sig_atomic_t *interrupted, int *fd,
                  struct error *err)
{
    struct error ignored = {0}; /* opening the device reports the error */
    *fd = -1;
    if (spec && !spec_is_timed(spec))
        return true;
    json_auto_t *command = command_new(COMMAND_UUID, &(struct message){.device = spec});
    json_auto_t *event = child_ask("the device probe", command, EVENT_UUID, PROBE_LIMIT_S, keep, interrupted, &ignored);
    SCOPED_BY(message_free) struct message m;
    message_read(event, &m);
    return session_lock(m.uuid, sink, interrupted, fd, err);
}

static json_t *question(const struct session_probe *ask, bool compiles)
{
    return command_new(
        COMMAND_PROBE,
        &(struct message){
            .device = ask->spec, .emu = ask->emu_chip, .compiler = ask->compiler, .bundle = ask->bundle, .compiles = compiles});
}

void session_probe_launch(const struct session_probe *ask, struct child *child)
{
    struct error told_later = {0};
    child->opens = child_start(child, &told_later) && child_send(child, question(ask, false));
}

bool session_device(const struct session_probe *ask, volatile sig_atomic_t *interrupted, struct session_device *out, struct error *err)
{
    json_auto_t *command = question(ask, ask->compiles);
    json_auto_t *event = child_ask("the device probe", command, EVENT_DEVICE, PROBE_LIMIT_S, ask->keep, interrupted, err);
    if (!event) { /* an unknown device name is the user's error; all others are the machine's */
        if (err && err->kind != ERROR_USAGE && err->kind != ERROR_INTERRUPTED)
            err->kind = ERROR_ENVIRONMENT;
        return false;
    }
    return session_device_read(event, out, err);
}

bool session_device_read(const json_t *event, struct session_device *out, struct error *err)
{
    SCOPED_BY(message_free) struct message m;
    message_read(event, &m);
    *out = (struct session_device){0};
    const struct {
        char *to;
        size_t bytes;
        const char *text;
    } texts[] = {{out->spec, sizeof out->spec, m.spec},
                 {out->about, sizeof out->about, m.about},
                 {out->uuid, sizeof out->uuid, m.uuid},
                 {out->driver, sizeof out->driver, m.driver},
                 {out->library, sizeof out->library, m.library},
                 {out->library_device, sizeof out->library_device, m.library_device},
                 {out->library_state, sizeof out->library_state, m.library_state},
                 {out->compiler, sizeof out->compiler, m.compiler}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        snprintf(texts[i].to, texts[i].bytes, "%s", texts[i].text ? texts[i].text : "");
    return wire_chip_read(m.chip, &out->chip) || error_set(err, ERROR_INTERNAL, "the device probe answered without a chip");
}

json_t *session_device_write(const struct session_device *d)
{
    return event_new(EVENT_DEVICE, &(struct message){.spec = d->spec,
                                                     .about = d->about,
                                                     .uuid = d->uuid,
                                                     .driver = d->driver,
                                                     .library = d->library,
                                                     .library_device = d->library_device,
                                                     .library_state = d->library_state,
                                                     .compiler = d->compiler,
                                                     .chip = wire_chip(&d->chip)});
}
