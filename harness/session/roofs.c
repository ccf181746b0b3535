/* The ceilings of a machine: measured once, in a process of its own, kept by GPU in the database, and the roof that they are for each row.
 */
#include "base/text.h"
#include "message/wire.h"
#include "model/floor.h"
#include "session/parent.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOFS_LIMIT_S 120.0

bool session_roofs_measure(const char *spec, const char *compiler, const char *bundle, volatile sig_atomic_t *interrupted,
                           struct roofs *out, char *note, size_t note_bytes, struct error *err)
{
    json_t *command = json_pack("{s:s,s:s?,s:s?,s:s?}", "do", "roofs", "device", spec, "compiler", compiler, "bundle", bundle);
    json_t *event = child_ask("the process that measures the ceilings", command, "roofs", ROOFS_LIMIT_S, interrupted, err);
    json_decref(command);
    if (!event)
        return false;
    const char *said = json_string_value(json_object_get(event, "note"));
    wire_roofs_read(json_object_get(event, "roofs"), out);
    snprintf(note, note_bytes, "%s", said ? said : "");
    json_decref(event);
    return true;
}

void session_roofs(struct session *s)
{
    struct error err = {0};
    char note[512] = "";
    bool timed = !s->options->no_time && !strncmp(s->device.spec, "cuda", 4);
    if (!timed || !s->device.uuid[0] || s->options->inside || store_roofs(s->store, s->device.uuid, &s->roofs, &err))
        return;
    if (err.kind == ERROR_NONE) {
        session_progress(s, "the ceilings of this machine, once");
        if (session_roofs_measure(s->device.spec, s->options->plan.compiler, s->options->plan.bundle, s->options->interrupted, &s->roofs,
                                  note, sizeof note, &err))
            store_roofs_put(s->store, s->device.uuid, &s->roofs, &err);
    }
    if (err.kind != ERROR_NONE)
        session_note(s, "the ceilings of this machine are not known, and no row has a roof: %s", err.text);
    else if (note[0])
        session_note(s, "ceilings that could not be measured: %s", note);
}

void session_row_roof(const struct session *s, int index)
{
    struct row *row = s->rows[index];
    const struct work *work = &s->plan.cases[s->plan.rows[index].case_index].work;
    struct ceilings c = ceilings_of(&s->roofs);
    bool masked = row->flop_useful >= 0 && row->bytes_useful >= 0; /* as the floor: what the mask leaves */
    enum math math;
    double times = plan_arithmetic(row, work, &math);
    struct floor f = roof_of(&c, times * (masked ? row->flop_useful : row->flop), masked ? row->bytes_useful : row->bytes, (int)math, 0);
    if (f.by == FLOOR_UNKNOWN)
        return;
    row_add_metric(row, -1, 0, "model.roof_ns", "ns", "model", f.ns);
    if (f.compute_ns > 0)
        row_add_metric(row, -1, 0, "model.roof_compute_ns", "ns", "model", f.compute_ns);
    row_add_metric(row, -1, 0, "model.roof_memory_ns", "ns", "model", f.memory_ns);
    row_add_metric(row, -1, 0, "model.roof_launch_ns", "ns", "model", f.launch_ns);
}
