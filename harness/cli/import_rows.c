/* bench import FILE.json: adds times that another tool measured in the same session on the same GPU as rows. */
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/fields.h"
#include "base/stats/estimate.h"
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IMPORT_MAX_BYTES (256u << 20)

struct import {
    const char *path, *out_dir;
    int run_id;
    char hash[HASH_TEXT];
    json_t *root, *provenance;
    char *database;
    struct store *store;
    struct run run;
    struct row **rows, **made; /* the run's rows, and the file's */
    int count, added;
};

static const char *text_at(const json_t *o, const char *key)
{
    return json_string_value(json_object_get(o, key));
}

static bool read_file(struct import *m, struct error *err)
{
    size_t bytes;
    json_error_t where;
    char *text = file_read(m->path, IMPORT_MAX_BYTES, &bytes, err);
    if (!text)
        return false;
    hash_bytes(text, bytes, m->hash);
    m->root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &where);
    free(text);
    if (!m->root)
        return error_set(err, ERROR_USAGE, "%s:%d:%d: %s", m->path, where.line, where.column, where.text);
    m->provenance = json_object_get(m->root, "provenance");
    if (json_integer_value(json_object_get(m->root, "bench_import")) != 1 || !text_at(m->root, "scenario") ||
        !json_is_object(m->provenance) || !text_at(m->provenance, "tool") || !text_at(m->provenance, "device") ||
        !json_is_array(json_object_get(m->root, "rows")))
        return error_set(err, ERROR_USAGE,
                         "%s: an import file must be {bench_import: 1, scenario, provenance: {tool, device, ..}, rows: [..]}", m->path);
    if (json_array_size(json_object_get(m->root, "rows")))
        return true;
    return error_set(err, ERROR_USAGE, "%s: it has no rows", m->path);
}

static bool open_run(struct import *m, struct error *err)
{
    const char *scenario = text_at(m->root, "scenario"), *uuid = text_at(m->provenance, "uuid");
    m->database = cli_database(cli_out_dir(m->out_dir));
    if (!file_exists(m->database)) {
        error_set(err, ERROR_USAGE, "%s: there is no database", m->database);
        return error_hint(err, "bench run SCENARIO creates one; -o DIR selects another folder");
    }
    if (!store_open(m->database, false, &m->store, err))
        return false;
    bool found = m->run_id ? store_run(m->store, m->run_id, &m->run, err) : store_last_run(m->store, NULL, scenario, NULL, &m->run, err);
    if (!found) {
        if (err->kind == ERROR_NONE)
            error_set(err, ERROR_USAGE, "%s has no run of scenario %s", m->database, scenario);
        return false;
    }
    if (strcmp(m->run.scenario, scenario))
        return error_set(err, ERROR_USAGE, "run %lld is of scenario %s, but the file is of %s", (long long)m->run.id, m->run.scenario,
                         scenario);
    if (!m->run.uuid || !m->run.uuid[0])
        return error_set(err, ERROR_USAGE, "run %lld was made on %s, which measures no time: imported times cannot be compared with it",
                         (long long)m->run.id, m->run.device);
    if (uuid && strcmp(uuid, m->run.uuid)) /* times of two GPUs are not compared */
        return error_set(err, ERROR_USAGE, "the file was measured on GPU %s, but run %lld on %s", uuid, (long long)m->run.id, m->run.uuid);
    m->count = store_rows(m->store, m->run.id, &m->rows, err);
    return m->count >= 0;
}

/* The baseline of the case that the entry means: by its id, or by the layer where that has one case. NULL + err. */
static const struct row *case_of(const struct import *m, const json_t *entry, struct error *err)
{
    const char *id = text_at(entry, "case"), *layer = text_at(entry, "layer");
    const struct row *found = NULL;
    for (int i = 0; i < m->count; i++) {
        const struct row *row = m->rows[i];
        if (!(id ? !strcmp(row->case_id, id) : layer && !strcmp(row->layer, layer)))
            continue;
        if (found && strcmp(found->case_id, row->case_id)) {
            error_set(err, ERROR_USAGE, "layer %s has several cases in the run: name one with `case`", layer);
            error_hint(err, "\"case\": \"%.200s\", or \"%.200s\"", found->case_id, row->case_id);
            return NULL;
        }
        found = found ? found : row;
    }
    if (!found)
        error_set(err, ERROR_USAGE, "the run has no case with that layer or id");
    return found;
}

static int next_index(const struct import *m, const struct row *like, const char *variant)
{
    int most = 0;
    for (int i = 0; i < m->count + m->added; i++) {
        const struct row *row = i < m->count ? m->rows[i] : m->made[i - m->count];
        if (row->case_index != like->case_index)
            continue;
        if (!strcmp(row->variant, variant))
            return row->row_index; /* imported before: replaced */
        most = row->row_index > most ? row->row_index : most;
    }
    return most + 1;
}

static bool add_time(struct row *row, const json_t *entry, struct error *err)
{
    const json_t *samples = json_object_get(entry, "samples_ns");
    const char *cache = text_at(entry, "cache"), *load = text_at(entry, "load");
    int count = (int)json_array_size(samples);
    enum time_mode mode = mode_of(cache, load);
    if (count < 6 || mode == MODE_NONE)
        return error_set(err, ERROR_USAGE, "a row needs cache (cold, warm), load (isolated, sustained) and at least 6 samples_ns");
    struct row_time *t = row_add_time(row);
    t->step = -1;
    row_time_set_mode(t, mode);
    t->samples_ns = xcalloc((size_t)count, sizeof *t->samples_ns);
    t->rounds = count;
    for (int i = 0; i < count; i++) {
        t->samples_ns[i] = json_number_value(json_array_get(samples, (size_t)i));
        if (!(t->samples_ns[i] > 0 && t->samples_ns[i] < 1e12))
            return error_set(err, ERROR_USAGE, "samples_ns[%d] is not a time", i);
    }
    struct estimate e = estimate_median(t->samples_ns, count);
    t->median_ns = e.median;
    t->low_ns = e.low;
    t->high_ns = e.high;
    t->p05_ns = e.p05;
    t->p95_ns = e.p95;
    return true; /* no ratio: its rounds are not paired with the baseline's */
}

static bool import_rows_add_row(struct import *m, const json_t *entry, struct error *err)
{
    const struct row *like = case_of(m, entry, err);
    const char *variant = text_at(entry, "variant"), *what = text_at(entry, "what");
    if (!like)
        return false;
    if (!variant || !strchr(variant, '/'))
        return error_set(err, ERROR_USAGE, "a row needs a variant, TOOL/OP");
    struct row *row = row_new();
    for (const struct column *c = column_first(COLUMN_CASE); c; c = column_next(c)) {
        struct column_value v = column_get(c, like);
        column_set(c, row, &v);
    }
    for (const struct row_list *l = row_lists; l->table; l++)
        if (l->group == COLUMN_AXIS || l->group == COLUMN_NETWORK)
            row_list_copy(l, row, like);
    row_add_part(row, variant, variant_own_name(variant));
    SCOPED char *id = text_format("%s/%s", like->case_id, variant);
    const char *protocol = text_at(m->provenance, "protocol");
    SCOPED char *other = !protocol ? xstrdup("; its protocol is not named, so its times may not compare with bench's")
                         : strcmp(protocol, "bench")
                             ? text_format("; times of another protocol (%s), which do not compare with bench's", protocol)
                             : xstrdup("");
    SCOPED char *note =
        text_format("foreign: measured by %s, imported from %s (SHA-256 %.12s); not verified by bench, and not paired with its rounds%s",
                    text_at(m->provenance, "tool"), file_base(m->path), m->hash, other);
    row_set(&row->id, id);
    row_set(&row->variant, variant);
    row_set(&row->what, what ? what : "an op of another tool");
    row_add_note(row, "%s", note);
    row_set(&row->compiler, text_at(m->provenance, "tool"));
    row_set(&row->device, m->run.device);
    row_set(&row->check, "not verified");
    row_set(&row->engine, text_at(entry, "engine"));
    row->row_index = next_index(m, like, variant);
    row->floor_ns = like->floor_ns;
    snprintf(row->floor_by, sizeof row->floor_by, "%s", like->floor_by);
    snprintf(row->source_hash, sizeof row->source_hash, "%s", m->hash);
    row->status = ROW_FOIL;
    *APPEND(m->made, m->added) = row;
    return add_time(row, entry, err);
}

static bool import_all(struct import *m, struct error *err)
{
    size_t i;
    json_t *entry;
    SCOPED char *ended = xstrdup(m->run.ended); /* a later import is not a part of the run's duration */
    char *provenance = NULL, *text = NULL;
    json_array_foreach(json_object_get(m->root, "rows"), i, entry) /* all or none of them */
    {
        if (!import_rows_add_row(m, entry, err))
            return error_where(err, "%s: row %zu", m->path, i);
    }
    if (!store_run_begin(m->store, &m->run, err))
        return false;
    if (!ALL_OF(k, m->added, store_put(m->store, m->run.id, m->made[k], err)))
        return false;
    provenance = json_dumps(m->provenance, JSON_COMPACT);
    text = text_format("{\"imported_%.12s\":%s}", m->hash, provenance);
    bool ok = store_run_environment(m->store, m->run.id, text, err) && (!ended[0] || store_run_end(m->store, m->run.id, ended, err));
    free(provenance);
    free(text);
    return ok;
}

int cli_import_rows(const char *path, const char *out_dir, int run_id)
{
    struct import m = {.path = path, .out_dir = out_dir, .run_id = run_id};
    struct error err = {0};
    int code = read_file(&m, &err) && open_run(&m, &err) && import_all(&m, &err) ? 0 : cli_fail(&err);
    if (code == 0) {
        json_t *file = fields_item(fields_list(fields("import"), "files"));
        fields_text(file, "kind", "times");
        fields_text(file, "path", path);
        fields_text(file, "tool", text_at(m.provenance, "tool"));
        fields_text(file, "scenario", m.run.scenario);
        fields_count(file, "run", m.run.id);
        fields_count(file, "rows_added", m.added);
        cli_say(stdout, "%d row%s of %s in run %lld: bench show %s\n", m.added, text_s(m.added), text_at(m.provenance, "tool"),
                (long long)m.run.id, m.run.scenario);
    }
    if (m.rows)
        rows_free(m.rows, m.count);
    rows_free(m.made, m.added);
    run_clear(&m.run);
    if (m.store)
        store_close(m.store);
    json_decref(m.root);
    free(m.database);
    return code;
}
