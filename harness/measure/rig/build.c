#include "measure/rig/build.h"
#include "base/file.h"
#include "base/text.h"
#include "measure/rig/rig.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CODE_MAX_BYTES (1u << 30)

/* KEY.ptx.cubin of kernels/python/bench.py is the machine code that the tool made from the PTX. Its registers and spills count even if emu
 * runs the PTX. On a GPU the driver compiles the PTX, possibly with others. */
static void load_beside(const struct unit *u, struct compiled *c)
{
    SCOPED char *path = text_format("%s.cubin", u->path);
    c->cubin = (unsigned char *)file_read(path, CODE_MAX_BYTES, &c->cubin_bytes, NULL);
}

/* The caller brings compiled code: its bytes are the image. The rig opens a library. */
static bool load_code(const struct job *job, const struct unit *u, struct compiled *c, struct error *err)
{
    size_t bytes;
    char *code = u->code == CODE_LIBRARY ? NULL : file_read(u->path, CODE_MAX_BYTES, &bytes, err);
    snprintf(c->compiler, sizeof c->compiler, "foreign %s", strrchr(u->path, '.') + 1);
    if (u->code == CODE_PTX) {
        c->ptx = code;
        c->ptx_bytes = bytes;
        if (job_interprets(job)) /* a worker that only compiles has no device */
            load_beside(u, c);
    } else if (u->code == CODE_CUBIN) {
        c->cubin = (unsigned char *)code;
        c->cubin_bytes = bytes;
    }
    return code || u->code == CODE_LIBRARY;
}

struct compile_request build_request(const struct job *job, const struct unit *u)
{
    return (struct compile_request){.path = u->path,
                                    .include = u->include,
                                    .label = u->label,
                                    .defines = (const char *const *)u->defines,
                                    .define_count = u->define_count,
                                    .arch = job->plan.chip.arch,
                                    .compiler = job->options.compiler};
}

static bool make_units(const struct job *job, const struct program *program, bool ptx_only, struct build *build, struct error *err)
{
    *build = (struct build){.count = program->unit_count};
    build->units = xcalloc((size_t)program->unit_count, sizeof *build->units);
    build->images = xcalloc((size_t)program->unit_count, sizeof *build->images);
    for (int i = 0; i < program->unit_count; i++) {
        const struct unit *u = &program->units[i];
        struct compiled *c = &build->units[i];
        if (!u->path)
            continue;
        bool cuda = u->code == CODE_CUDA, machine = cuda || u->code == CODE_CUBIN;
        struct compile_request request = cuda ? build_request(job, u) : (struct compile_request){0};
        request.ptx_only = ptx_only;
        if (!(cuda ? compile(&request, c, err) : load_code(job, u, c, err))) {
            build_free(build);
            return false;
        }
        build->images[i] = (struct device_image){.label = u->label,
                                                 .path = u->path,
                                                 .ptx = c->ptx,
                                                 .ptx_bytes = c->ptx_bytes,
                                                 .cubin = machine ? c->cubin : NULL,
                                                 .cubin_bytes = machine ? c->cubin_bytes : 0,
                                                 .log = cuda ? c->log : NULL};
    }
    return true;
}

bool build_make(const struct job *job, const struct program *program, struct build *build, struct error *err)
{
    return make_units(job, program, job->options.no_ptxas, build, err);
}

bool build_make_values(const struct job *job, const struct program *program, struct build *build, struct error *err)
{
    return make_units(job, program, job_interprets(job), build, err);
}

void build_scan(struct build *build)
{
    struct error ignored = {0}; /* the error recurs and is reported when the image is loaded */
    for (int i = 0; i < build->count; i++)
        if (!build->images[i].memory)
            build->images[i].memory = rig_scan_image(&build->images[i], &ignored);
}

void build_drop(struct build_cache *cache)
{
    for (int i = 0; i < cache->count; i++)
        build_free(&cache->kept[i]);
    free(cache->kept);
    *cache = (struct build_cache){0};
}

void build_keep(struct build_cache *cache, const struct job *job, int row, struct build *build)
{
    const struct plan_row *p = &job->plan.rows[row];
    if (!job->dev->ops->keeps_time || p->kind != PLAN_LAYER)
        return;
    if (cache->kept && cache->kept_case != p->case_index)
        build_drop(cache);
    if (!cache->kept)
        cache->kept = xcalloc((size_t)job->plan.row_count, sizeof *cache->kept);
    cache->count = job->plan.row_count;
    cache->kept_case = p->case_index;
    build_free(&cache->kept[row]);
    cache->kept[row] = *build;
    *build = (struct build){0};
}

bool build_kept(struct build_cache *cache, int row, struct build *build)
{
    if (!cache->kept || !cache->kept[row].count)
        return false;
    *build = cache->kept[row];
    cache->kept[row] = (struct build){0};
    return true;
}

void build_free(struct build *build)
{
    for (int i = 0; i < build->count; i++) {
        compiled_free(&build->units[i]);
        rig_scan_free((struct device_memory *)(uintptr_t)build->images[i].memory);
    }
    free(build->units);
    free(build->images);
    *build = (struct build){0};
}
