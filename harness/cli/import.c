/* The verb import: databases of other machines, times of other tools, lists of operations as scenarios. */
#include "base/file.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/fields.h"
#include "plan/scenario/onnx.h"
#include "plan/scenario/op_lines.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* The scenario's name, from the file's name: characters that a name may not have become `_`. */
static char *name_of(const char *path)
{
    char *name = xstrdup(file_base(path)), *dot = strrchr(name, '.');
    if (dot && dot != name)
        *dot = 0;
    for (char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '-' && *c != '_')
            *c = '_';
    return name;
}

/* Everything of the database `from` into the one of out_dir. */
static int cli_import_database(const char *from, const char *out_dir)
{
    struct store *store = NULL;
    struct error err = {0};
    struct merge_counts n;
    SCOPED char *database = cli_database(out_dir);
    bool ok = file_make_dirs(out_dir, &err) && store_open(database, false, &store, &err) && store_merge(store, from, &n, &err);
    if (ok) {
        const struct named_count counts[] = {{"runs_added", n.runs},
                                             {"rows_added", n.rows},
                                             {"runs_known", n.runs_known},
                                             {"tuned_added", n.wisdom},
                                             {"tuned_known", n.wisdom_older}};
        json_t *file = fields_item(fields_list(fields("import"), "files"));
        fields_text(file, "kind", "database");
        fields_text(file, "path", from);
        fields_counts(file, counts, sizeof counts / sizeof *counts);
        cli_say(stdout, "%s: %d run%s with %d row%s added, %d already stored", from, n.runs, text_s(n.runs), n.rows, text_s(n.rows),
                n.runs_known);
        if (n.wisdom || n.wisdom_older)
            cli_say(stdout, "; %d tuned configuration%s added, %d already stored or older", n.wisdom, text_s(n.wisdom), n.wisdom_older);
        cli_say(stdout, "\n");
    }
    store_close(store);
    return ok ? 0 : cli_fail(&err);
}

/* What `import --join` says of its files; printed when a file is stored. */
struct joining {
    const char *path;
    struct text said, warned;
    json_t *parts;
    int64_t *runs; /* joined runs that a part came to */
    int run_count;
    bool apart;
};

static void tell_part(void *context, const struct join_part *p)
{
    struct joining *j = context;
    text_addf(&j->said, "%s: shard %d/%d, %lld row%s added, %lld already stored\n", j->path, p->shard, p->shards, (long long)p->rows,
              p->rows == 1 ? "" : "s", (long long)p->known);
    if (p->conflicts)
        text_addf(&j->warned, "bench: %s: %d row%s of two parts differ; the kept row has a note:\n", j->path, p->conflicts,
                  text_s(p->conflicts));
    for (int i = 0; i < p->shown_count; i++)
        text_addf(&j->warned, "  %s\n", p->shown[i]);
    if (p->conflicts > p->shown_count)
        text_addf(&j->warned, "  and %d more\n", p->conflicts - p->shown_count);
    if (p->apart)
        text_addf(&j->warned, "bench: %s: not joined with earlier parts, but run %lld of its own: %s\n", j->path, (long long)p->joined,
                  p->apart);
    j->apart = j->apart || p->apart;
    bool known = ANY_OF(i, j->run_count, j->runs[i] == p->joined);
    if (!known)
        *APPEND(j->runs, j->run_count) = p->joined;
    if (j->parts)
        json_array_append_new(j->parts,
                              json_pack("{s:s,s:s,s:I,s:i,s:i,s:I,s:I,s:i,s:s?}", "kind", "part", "path", j->path, "run",
                                        (json_int_t)p->joined, "shard", p->shard, "shards", p->shards, "rows_added", (json_int_t)p->rows,
                                        "rows_known", (json_int_t)p->known, "conflicts", p->conflicts, "apart", p->apart));
}

static bool tell_joined(struct store *store, int64_t run, struct error *err)
{
    struct join_state state;
    if (!store_join_state(store, run, &state, err))
        return false;
    json_t *item = fields_item(fields_list(fields("import"), "joined")), *missing = fields_list(item, "missing");
    SCOPED_TEXT t = {0};
    fields_count(item, "run", run);
    fields_text(item, "plan_hash", state.plan_hash);
    fields_count(item, "shards", state.shards);
    fields_count(item, "rows", state.rows);
    fields_count(item, "planned", state.planned);
    text_addf(&t, "run %lld: ", (long long)run);
    if (state.shards)
        text_addf(&t, "%d of %d shard%s", state.shards - state.missing_count, state.shards, text_s(state.shards));
    else
        text_add(&t, "shards of several partitions");
    for (int i = 0; i < state.missing_count; i++) {
        if (missing)
            json_array_append_new(missing, json_integer(state.missing[i]));
        text_addf(&t, "%s%d", i ? ", " : " (missing ", state.missing[i]);
    }
    text_addf(&t, "%s, %lld of %lld rows\n", state.missing_count ? ")" : "", (long long)state.rows, (long long)state.planned);
    cli_print(&t);
    free(state.missing);
    return true;
}

#define JOIN_MUCH_BYTES (64 << 20)

static double files_bytes(const char **files, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++) {
        struct stat st;
        SCOPED char *path = file_is_dir(files[i]) ? cli_database(files[i]) : xstrdup(files[i]);
        sum += stat(path, &st) ? 0 : (double)st.st_size;
    }
    return sum;
}

/* Joins the parts in the files. A file that cannot be read does not keep the others out. */
static int cli_join(const char **files, int count, const char *out_dir)
{
    struct joining j = {.parts = fields_list(fields("import"), "files")};
    struct store *store = NULL;
    struct error err = {0};
    SCOPED char *database = cli_database(out_dir);
    int code = 0;
    if (!file_make_dirs(out_dir, &err) || !store_open(database, false, &store, &err))
        return cli_fail(&err);
    bool much = files_bytes(files, count) > JOIN_MUCH_BYTES;
    if (much && !store_join_much(store, true, &err))
        code = cli_fail(&err);
    for (int i = 0; i < count; i++) {
        struct error why = {0};
        SCOPED char *path = file_is_dir(files[i]) ? cli_database(files[i]) : xstrdup(files[i]);
        size_t parts = json_array_size(j.parts);
        j.path = path;
        if (store_join(store, path, tell_part, &j, &why)) {
            cli_print(&j.said);
            if (j.warned.len)
                cli_say(stderr, "%s", text_get(&j.warned));
        } else {
            while (json_array_size(j.parts) > parts)
                json_array_remove(j.parts, parts);
            int failed = cli_fail(&why);
            code = code && code != 2 ? code : failed;
        }
        text_free(&j.said);
        text_free(&j.warned);
    }
    if (much && !store_join_much(store, false, &err))
        code = cli_fail(&err);
    for (int i = 0; i < j.run_count; i++)
        if (!tell_joined(store, j.runs[i], &err) && !code)
            code = cli_fail(&err);
    store_close(store);
    free(j.runs);
    return code ? code : j.apart ? 5 : 0;
}

static int import_ops(const char *path, const char *name, const char *to)
{
    struct error err = {0};
    SCOPED_TEXT t = {0};
    size_t bytes;
    SCOPED char *own = name ? xstrdup(name) : name_of(path), *text = file_read(path, OP_LINES_MAX_BYTES, &bytes, &err);
    bool ok = text && op_lines_scenario(path, text, bytes, own, &t, &err);
    if (ok) { /* before it is printed, which may empty it */
        json_t *file = fields_item(fields_list(fields("import"), "files"));
        fields_text(file, "kind", "convolutions");
        fields_text(file, "path", path);
        fields_text(file, "to", to);
        if (file)
            json_object_set_new(file, "scenario", fields_of_file("import.yaml", text_get(&t)));
    }
    ok = ok && cli_put(to, &t, false, &err);
    if (text && !ok && !err.hint[0])
        error_hint(&err, "a file that is neither a database nor JSON must be a list of convolutions; times of another tool are JSON "
                         "(docs/FOREIGN.md, Times)");
    return ok ? 0 : cli_fail(&err);
}

static int import_model(const char *path, const char *to, struct onnx_options o, bool weights)
{
    struct error err = {0};
    SCOPED_TEXT t = {0};
    size_t bytes;
    int unknown = 0;
    if (weights && (!to || file_is_stream(to)))
        return error_set(&err, ERROR_USAGE, "--weights writes a folder beside the scenario, so it needs --to FILE"), cli_fail(&err);
    if (weights && o.distinct)
        return error_set(&err, ERROR_USAGE, "--weights and --distinct exclude each other: equal layers have weights of their own"),
               cli_fail(&err);
    SCOPED char *own = o.name ? xstrdup(o.name) : name_of(path), *data = file_read(path, ONNX_MAX_BYTES, &bytes, &err);
    SCOPED char *folder = weights ? text_format("%.*s.weights", (int)(strlen(to) - (text_ends(to, ".yaml") ? 5 : 0)), to) : NULL;
    o.name = own, o.weights = folder;
    bool ok = data && onnx_scenario(path, data, bytes, &o, &t, &unknown, &err);
    if (ok) { /* before it is printed, which may empty it */
        json_t *file = fields_item(fields_list(fields("import"), "files"));
        fields_text(file, "kind", "model");
        fields_text(file, "path", path);
        fields_text(file, "to", to);
        fields_count(file, "unknown", unknown);
        if (file)
            json_object_set_new(file, "scenario", fields_of_file("import.yaml", text_get(&t)));
    }
    ok = ok && cli_put(to, &t, false, &err);
    if (ok && unknown)
        cli_say(stderr, "bench: %s: %d node%s not imported; the scenario names %s in comments\n", path, unknown,
                unknown == 1 ? " is" : "s are", unknown == 1 ? "it" : "them");
    return ok ? 0 : cli_fail(&err);
}

enum import_kind { IMPORT_DATABASE, IMPORT_ROWS, IMPORT_OPS, IMPORT_MODEL };
/* Decides by the first bytes or the name: a file that is neither a database nor JSON is a list. */
static enum import_kind import_kind(const char *path)
{
    static const char sqlite[] = "SQLite format 3";
    char head[64] = "";
    FILE *f = file_is_stream(path) ? NULL : fopen(path, "r"); /* a pipe would be waited for */
    size_t got = f ? fread(head, 1, sizeof head - 1, f) : 0;
    if (f)
        fclose(f);
    head[got] = 0;
    if (!strcmp(head, sqlite) || text_ends(path, ".db"))
        return IMPORT_DATABASE;
    if (text_ends(path, ".onnx"))
        return IMPORT_MODEL;
    return head[strspn(head, " \t\r\n")] == '{' || text_ends(path, ".json") ? IMPORT_ROWS : IMPORT_OPS;
}

int cli_import(const struct verb *verb, int argc, char **argv)
{
    SCOPED const char **rest = xcalloc((size_t)argc + 1, sizeof *rest);
    const char *name = NULL, *to = NULL, *out = NULL;
    int run_id = 0, count, code, lists = 0;
    bool join = false, weights = false;
    struct onnx_options model = {0};
    const struct option options[] = {
        {"--out", 'o', OPTION_TEXT, "DIR", "folder of the database; default ./.bench", &out},
        {"--join", 0, OPTION_FLAG, NULL, "join the databases (or their folders) that `bench run --shard` wrote into one run", &join},
        {"--run", 0, OPTION_INT, "N", "times: add to this run instead of the last run of the scenario", &run_id},
        {"--name", 0, OPTION_TEXT, "NAME", "convolutions, models: name of the scenario; default: from the file name", &name},
        {"--shape", 0, OPTION_TEXT, "NxCxHxW", "models: sizes of the input, where the file leaves them open", &model.shape},
        {"--distinct", 0, OPTION_FLAG, NULL, "models: one layer for all equal ones, instead of one for each node", &model.distinct},
        {"--weights", 0, OPTION_FLAG, NULL, "models: write the model's own weights to a folder beside --to, for bench to use", &weights},
        {"--to", 0, OPTION_TEXT, "FILE", "convolutions, models: write the scenario to this file instead of stdout", &to},
        {0},
    };
    if (!cli_options(verb, options, argc, argv, rest, &count, NULL, &code))
        return code;
    for (int i = 0; i < count && !join; i++)
        lists += import_kind(rest[i]) >= IMPORT_OPS;
    if (!count || (lists && count > 1))
        return cli_usage(verb, count ? "only one list of convolutions or model is expected" : "which file?");
    out = cli_out_dir(out);
    if (join)
        return cli_join(rest, count, out);
    code = 0;
    for (int i = 0; i < count && !code; i++)
        switch (import_kind(rest[i])) {
        case IMPORT_DATABASE: code = cli_import_database(rest[i], out); break;
        case IMPORT_ROWS: code = cli_import_rows(rest[i], out, run_id); break;
        case IMPORT_OPS: code = import_ops(rest[i], name, to); break;
        case IMPORT_MODEL: model.name = name, code = import_model(rest[i], to, model, weights); break;
        }
    return code;
}
