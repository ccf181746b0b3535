/* Commands about the machine: its GPUs, a device and what it can do. */
#include "base/spec.h"
#include "base/text.h"
#include "measure/time/gpu_monitor.h"
#include "measure/time/roofs.h"
#include "run/child/devices.h"
#include "run/child/serve.h"
#include "run/message/wire.h"
#include <stdio.h>
#include <stdlib.h>

/* The compiler's name and version: that of the bundle, whatever this machine has; "bundle" if several made it and this machine has none; ""
 * if the command did not ask. */
static bool probe_compiler(const struct message *m, char *out, size_t bytes, struct error *err)
{
    const char *bundle = m->bundle;
    out[0] = 0;
    if (!m->compiles)
        return true;
    if (bundle && !compile_bundle_use(bundle, err))
        return false;
    if ((bundle && compile_bundle_compiler(m->compiler, out, bytes)) || compile_version(m->compiler, out, bytes, err))
        return true;
    snprintf(out, bytes, "bundle");
    if (bundle)
        error_clear(err);
    return bundle;
}

static bool probe(struct worker *w, const struct message *m, struct error *err)
{
    char compiler[96];
    char why[512] = "", version[128] = "";
    if (!device_open(device_choose(m->device, m->emu, why, sizeof why), &w->job.dev, err) ||
        !probe_compiler(m, compiler, sizeof compiler, err))
        return false;
    vendor_open(&w->library, w->job.dev);
    SCOPED char *described = w->library.cudnn ? cudnn_device(w->library.cudnn) : NULL;
    if (w->library.cudnn)
        cudnn_version(w->library.cudnn, version, sizeof version);
    w->emit(w->context, event_new(EVENT_DEVICE, &(struct message){.spec = w->job.dev->spec,
                                                                  .about = w->job.dev->about,
                                                                  .uuid = w->job.dev->uuid,
                                                                  .driver = w->job.dev->driver,
                                                                  .library = version,
                                                                  .library_device = described,
                                                                  .library_state = w->library.state,
                                                                  .compiler = compiler,
                                                                  .why = why,
                                                                  .chip = wire_chip(&w->job.dev->chip)}));
    return true;
}

static bool tell_gpus(struct worker *w, struct error *err)
{
    struct cuda_gpu *gpus = NULL;
    int count = device_cuda_list(&gpus, err);
    if (count < 0)
        return false;
    json_t *list = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(list, json_pack("{s:s,s:s}", "uuid", gpus[i].uuid, "pci", gpus[i].pci));
    free(gpus);
    w->emit(w->context, event_new(EVENT_GPUS, &(struct message){.gpus = list}));
    return true;
}

/* Reports which GPU a run would open without opening it, so that a run that waits for a GPU does not use it. */
static bool tell_uuid(struct worker *w, const struct message *m, struct error *err)
{
    char uuid[64] = "", why[8];
    const char *spec = m->device;
    bool here = spec ? spec_is_timed(spec) : device_cuda_present(why, sizeof why);
    if (here && !device_cuda_uuid(spec_option(spec), uuid, sizeof uuid, err))
        return false;
    w->emit(w->context, event_new(EVENT_UUID, &(struct message){.uuid = uuid}));
    return true;
}

static bool measure_roofs(struct worker *w, const struct message *m, struct error *err)
{
    const char *spec = m->device, *bundle = m->bundle;
    struct ceiling_list roofs;
    char note[512];
    if (bundle && !compile_bundle_use(bundle, err))
        return false;
    if ((!w->job.dev && !device_open(spec ? spec : "cuda:0", &w->job.dev, err)) ||
        !roofs_measure(w->job.dev, m->compiler, m->waits ? &w->job : NULL, &roofs, note, sizeof note, err))
        return false;
    w->emit(w->context, event_new(EVENT_ROOFS, &(struct message){.note = note, .uuid = w->job.dev->uuid, .roofs = wire_roofs(&roofs)}));
    return true;
}

static bool check_gpu(struct worker *w, struct error *err)
{
    struct ceiling_list found;
    struct board board = {0};
    if (!roofs_check(w->job.dev, w->job.options.compiler, &found, err))
        return false;
    board_begin(&board, w->job.dev);
    w->emit(w->context,
            event_new(EVENT_ROOFS,
                      &(struct message){.note = text_get(&board.others.said), .uuid = w->job.dev->uuid, .roofs = wire_roofs(&found)}));
    others_free(&board.others);
    return true;
}

bool worker_machine(struct worker *w, enum command what, const struct message *m, struct error *err)
{
    switch (what) {
    case COMMAND_UUID: return tell_uuid(w, m, err);
    case COMMAND_GPUS: return tell_gpus(w, err);
    case COMMAND_PROBE: return probe(w, m, err);
    case COMMAND_ROOFS: return measure_roofs(w, m, err);
    default: return check_gpu(w, err);
    }
}
