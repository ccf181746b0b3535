/* The ceilings of a machine: measured once, in a process of its own, kept by GPU in the database, and the roof that they are for each row.
 */
#include "base/text.h"
#include "measure/roofs.h"
#include "model/floor.h"
#include "session/parent.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOFS_LIMIT_S 120.0

json_t *roofs_json(const struct roofs *roofs)
{
    json_t *out = json_pack("{s:s}", "measured", roofs->measured);
    for (int i = 0; i < roofs->count; i++) {
        const struct roof *r = &roofs->items[i];
        json_object_set_new(out, r->name, json_pack("{s:f,s:s,s:s}", "value", r->value, "unit", r->unit, "how", r->how));
    }
    return out;
}

/* In the worker: an event `roofs`. */
bool worker_roofs(struct worker *w, const json_t *command, struct error *err)
{
    const char *spec = json_string_value(json_object_get(command, "device")),
               *compiler = json_string_value(json_object_get(command, "compiler"));
    const char *bundle = json_string_value(json_object_get(command, "bundle"));
    struct roofs roofs;
    char note[512];
    if (bundle && !compile_bundle_use(bundle, err))
        return false;
    if (!device_open(spec ? spec : "cuda:0", &w->dev, err) || !roofs_measure(w->dev, compiler, &roofs, note, sizeof note, err))
        return false;
    w->emit(w->context, json_pack("{s:s,s:s,s:s,s:o}", "event", "roofs", "note", note, "uuid", w->dev->uuid, "roofs", roofs_json(&roofs)));
    return true;
}

static void read_roofs(const json_t *json, struct roofs *out)
{
    const char *name, *measured = json_string_value(json_object_get(json, "measured"));
    json_t *one;
    *out = (struct roofs){0};
    snprintf(out->measured, sizeof out->measured, "%s", measured ? measured : "");
    json_object_foreach((json_t *)json, name, one)
    {
        const char *unit = json_string_value(json_object_get(one, "unit")), *how = json_string_value(json_object_get(one, "how"));
        if (!json_is_object(one) || !unit || out->count == ROOFS_MAX)
            continue;
        struct roof *r = &out->items[out->count++];
        snprintf(r->name, sizeof r->name, "%s", name);
        snprintf(r->unit, sizeof r->unit, "%s", unit);
        snprintf(r->how, sizeof r->how, "%s", how ? how : "");
        r->value = json_number_value(json_object_get(one, "value"));
    }
}

bool session_roofs_measure(const char *spec, const char *compiler, const char *bundle, volatile sig_atomic_t *interrupted,
                           struct roofs *out, char *note, size_t note_bytes, struct error *err)
{
    json_t *command = json_pack("{s:s,s:s?,s:s?,s:s?}", "do", "roofs", "device", spec, "compiler", compiler, "bundle", bundle);
    json_t *event = child_ask("the process that measures the ceilings", command, "roofs", ROOFS_LIMIT_S, interrupted, err);
    json_decref(command);
    if (!event)
        return false;
    const char *said = json_string_value(json_object_get(event, "note"));
    read_roofs(json_object_get(event, "roofs"), out);
    snprintf(note, note_bytes, "%s", said ? said : "");
    json_decref(event);
    return true;
}

void session_roofs(struct session *s)
{
    struct error err = {0};
    char note[512] = "";
    bool timed = !s->options->no_time && !strncmp(s->device.spec, "cuda", 4);
    if (!timed || !s->device.uuid[0] || s->options->in_process || store_roofs(s->store, s->device.uuid, &s->roofs, &err))
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
