/* `bench emulate KERNEL.cu LAUNCH.yaml --device cuda:0`: makes an op, a head and a scenario of the launch, in a folder of their own, so
 * that it is timed, counted, stored, shown and compared like any row. Outputs are checked against the launch's expectations; buffers
 * without one, against emu's results. */
#include "base/file.h"
#include "base/npy.h"
#include "cli/cli.h"
#include "cli/emulate_device.h"
#include "op/file/ops.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool write_text(const char *dir, const char *name, const char *suffix, struct text *t, struct error *err)
{
    SCOPED char *path = text_format("%s/%s%s", dir, name, suffix);
    bool ok = file_write(path, text_get(t), t->len, err);
    text_free(t);
    return ok;
}

static bool write_array(const char *dir, const char *op, const struct emulate_buffer *b, const char *what, enum dtype type,
                        const void *values, struct error *err)
{
    SCOPED char *path = text_format("%s/%s_%s%s.npy", dir, op, b->name, what);
    return npy_write_as(path, b->dim, b->rank, type, values, err);
}

static void add_tensor(struct text *t, const char *op, const struct emulate_buffer *b, bool read)
{
    text_addf(t, "  %s: {shape: [", b->name);
    for (int i = 0; i < b->rank; i++)
        text_addf(t, "%s%lld", i ? ", " : "", (long long)b->dim[i]);
    text_addf(t, "], dtype: %s", dtype_name(b->type));
    if (read)
        text_addf(t, ", data: {npy: %s_%s_before.npy}", op, b->name);
    text_add(t, !b->node ? ", constant: yes}\n" : !b->written ? "}\n" : read ? ", written: in place}\n" : ", written: yes}\n");
}

/* An op reads something: a launch that reads nothing changes its first buffer in place. */
static bool add_tensors(struct text *t, const char *dir, const char *op, const struct emulate_result *r, struct error *err)
{
    bool reads = ANY_OF(i, r->buffer_count, r->buffers[i].read);
    text_add(t, "tensors:\n");
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < r->buffer_count; i++) {
            const struct emulate_buffer *b = &r->buffers[i];
            bool read = b->read || (!reads && i == 0);
            if (read != (pass == 0) || (!read && !b->written))
                continue;
            add_tensor(t, op, b, read);
            if (read && !write_array(dir, op, b, "_before", b->type, b->before, err))
                return false;
        }
    return true;
}

/* What emu computed or the launch expects, and how far off it a result may be. */
static bool add_reference(struct text *t, const char *dir, const char *op, const struct emulate_result *r, struct error *err)
{
    bool any = false;
    for (int i = 0; i < r->buffer_count; i++) {
        const struct emulate_buffer *b = &r->buffers[i];
        if (!b->written)
            continue;
        text_addf(t, "%s%s: %s_%s_expected.npy, %s_bound: %s_%s_allowed.npy", any ? ", " : "reference: {npy: {", b->name, op, b->name,
                  b->name, op, b->name);
        any = true;
        if (!write_array(dir, op, b, "_expected", DTYPE_F64, b->expected, err) ||
            !write_array(dir, op, b, "_allowed", DTYPE_F64, b->allowed, err))
            return false;
    }
    text_add(t, "}}\n");
    return any || error_set(err, ERROR_USAGE, "the launch writes none of its buffers");
}

static bool write_op(const char *dir, const char *op, const struct emulate_launch_of *of, const struct emulate_result *r, struct error *err)
{
    struct text t = {0};
    text_addf(&t, "about: \"%s, launched as in %s%s%s. Written by bench emulate.\"\n", file_base(of->source), file_base(of->launch),
              r->fields[0] ? ": " : "", r->fields);
    text_add(&t, "fields:\n  launch: {default: 1, what: the launch}\n");
    if (!add_tensors(&t, dir, op, r, err) || !add_reference(&t, dir, op, r, err)) {
        text_free(&t);
        return false;
    }
    text_addf(&t, "dtype: f32\nmath: none\nexact: no\nbytes: %.0f\n",
              emulate_counter(r, "emu.unique_bytes_read") + emulate_counter(r, "emu.unique_bytes_written"));
    text_add(&t, "trial:\n  it: {}\n");
    return write_text(dir, op, ".yaml", &t, err);
}

static void add_three(struct text *t, const char *key, const uint32_t v[3])
{
    text_addf(t, "    %s: %u, %u, %u\n", key, v[0], v[1], v[2]);
}

static void add_list(struct text *t, const char *key, int count, const uint64_t *v, uint64_t unit)
{
    text_addf(t, ", %s: [", key);
    for (int i = 0; i < count; i++)
        text_addf(t, "%s%llu", i ? ", " : "", (unsigned long long)(v[i] / unit));
    text_add(t, "]");
}

static void add_maps(struct text *t, const struct emulate_result *r)
{
    for (int i = 0; i < r->map_count; i++) {
        const struct tensor_map *m = &r->maps[i];
        const uint64_t box[5] = {m->box[0], m->box[1], m->box[2], m->box[3], m->box[4]};
        text_addf(t, "%s  map_%d: {of: %s", i ? "" : "tensor_maps:\n", i, r->buffers[m->buffer.index].name);
        add_list(t, "dims", m->rank, m->dim, 1);
        add_list(t, "box", m->rank, box, 1);
        if (m->rank > 1)
            add_list(t, "strides", m->rank - 1, m->stride_bytes + 1, dtype_bytes(m->dtype));
        text_addf(t, ", swizzle: %d}\n", m->swizzle);
    }
}

static bool write_head(const char *dir, const char *op, const struct emulate_launch_of *of, const struct emulate_result *r,
                       struct error *err)
{
    struct text t = {0};
    const char *name = op + strlen("launch_");
    text_addf(&t, "op: %s\nwhat: \"%s\"\nsource: %s\nexact: no\n", op, r->kernel, of->source);
    for (int i = 0; i < of->define_count; i++) {
        const char *is = strchr(of->defines[i], '=');
        long long number;
        bool whole = is && text_to_int(is + 1, &number);
        text_addf(&t, "%s  %.*s: %s%s%s\n", i ? "" : "define:\n", (int)(is ? is - of->defines[i] : (long)strlen(of->defines[i])),
                  of->defines[i], whole || !is ? "" : "\"'", is ? is + 1 : "1", whole || !is ? "" : "'\"");
    }
    bool prepared = false;
    for (int i = 0; i < r->buffer_count; i++)
        if (!r->buffers[i].node) {
            text_addf(&t, "%s  - symbol: %s = %s\n", prepared ? "" : "prepare:\n", r->buffers[i].name, r->buffers[i].name);
            prepared = true;
        }
    add_maps(&t, r);
    text_add(&t, "steps:\n");
    text_addf(&t, "  - kernel: %s\n", r->kernel);
    add_three(&t, "grid", r->launch.grid);
    add_three(&t, "block", r->launch.block);
    if (r->launch.smem)
        text_addf(&t, "    smem: %u\n", r->launch.smem);
    text_addf(&t, "    args: [%s]\n", r->arguments);
    const uint32_t *c = r->launch.cluster;
    if (c[0] * c[1] * c[2] > 1 || r->launch.cooperative)
        text_addf(&t, "    attributes: {cluster: [%u, %u, %u], cooperative: %s}\n", c[0], c[1], c[2], r->launch.cooperative ? "yes" : "no");
    return write_text(dir, name, ".yaml", &t, err);
}

bool emulate_device_add(struct emulate_launch_of *of, const struct emulate_result *r, struct error *err)
{
    SCOPED char *op = of->points > 1 ? text_format("launch_%s_%d", of->name, of->point) : text_format("launch_%s", of->name);
    SCOPED char *layer = xstrdup(r->fields[0] ? r->fields : "launch");
    for (char *c = layer; *c; c++)
        *c = *c == ' ' || *c == '=' ? '_' : *c;
    text_addf(&of->layers, "  %s: {op: %s, dtype: f32}\n", layer, op);
    text_addf(&of->variants, "  - launch/%s\n", op + strlen("launch_"));
    if (!r->arguments)
        error_set(err, ERROR_USAGE, "an argument is infinite or NaN: such a launch cannot run on a device yet");
    return r->arguments && write_op(of->dir, op, of, r, err) && write_head(of->dir, op, of, r, err);
}

int emulate_device_run(struct emulate_launch_of *of, const char *device, const char *out, const char *line)
{
    struct error err = {0};
    struct text t = {0};
    text_addf(
        &t,
        "scenario: launch_%s\nabout: \"%s as %s launches it\"\nlayers:\n%svariants:\n%stime: {half_width: 1 %%, budget: 3 s per layer}\n",
        of->name, file_base(of->source), file_base(of->launch), text_get(&of->layers), text_get(&of->variants));
    SCOPED char *name = text_format("launch_%s", of->name), *file = text_format("%s.scenario", name),
                *path = text_format("%s/%s", of->dir, file);
    SCOPED char *database = cli_database(out);
    SCOPED const char **files = xcalloc((size_t)of->points + 1, sizeof *files), **sets = xcalloc((size_t)of->points + 1, sizeof *sets);
    for (int i = 0; i < of->points; i++) {
        char number[16] = "";
        if (of->points > 1)
            snprintf(number, sizeof number, "_%d", i);
        files[i] = text_format("%s/%s%s.yaml", of->dir, name, number);
        sets[i] = text_format("launch=%s/%s%s.yaml", of->dir, of->name, number);
    }
    struct session_options o = {
        .plan = {.scenario_path = path, .device = device, .op_files = files, .variant_dirs = sets, .compiler = of->compiler},
        .database = database,
        .out_dir = out,
        .argv = line,
        .verb = "emulate",
        .asked_out = strcmp(out, cli_out_dir(NULL)) ? out : NULL,
        .dump = true};
    int code =
        write_text(of->dir, file, "", &t, &err) && op_load(files, &err) ? cli_session(&o, CLI_SHOW_BEGIN | CLI_SHOW_CASES) : cli_fail(&err);
    for (int i = 0; i < of->points; i++) {
        free((char *)(uintptr_t)files[i]);
        free((char *)(uintptr_t)sets[i]);
    }
    return code;
}
