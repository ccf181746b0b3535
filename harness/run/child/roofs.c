/* The ceilings of a machine, measured in a process of its own: an event `roofs`. */
#include "measure/roofs.h"
#include "run/child/private.h"

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
    w->emit(w->context, event_new(EVENT_ROOFS, "{s:s,s:s,s:o}", "note", note, "uuid", w->dev->uuid, "roofs", wire_roofs(&roofs)));
    return true;
}
