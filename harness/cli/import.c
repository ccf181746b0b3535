/* The verb import: databases of other machines, times of other tools, lists of operations as scenarios. */
#include "base/file.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/fields.h"
#include "plan/scenario/op_lines.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

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

enum import_kind { IMPORT_DATABASE, IMPORT_ROWS, IMPORT_OPS };
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
    return head[strspn(head, " \t\r\n")] == '{' || text_ends(path, ".json") ? IMPORT_ROWS : IMPORT_OPS;
}

int cli_import(const struct verb *verb, int argc, char **argv)
{
    SCOPED const char **rest = xcalloc((size_t)argc + 1, sizeof *rest);
    const char *name = NULL, *to = NULL, *out = NULL;
    int run_id = 0, count, code, lists = 0;
    const struct option options[] = {
        {"--out", 'o', OPTION_TEXT, "DIR", "folder of the database; default ./.bench", &out},
        {"--run", 0, OPTION_INT, "N", "times: add to this run instead of the last run of the scenario", &run_id},
        {"--name", 0, OPTION_TEXT, "NAME", "convolutions: name of the scenario; default: from the file name", &name},
        {"--to", 0, OPTION_TEXT, "FILE", "convolutions: write the scenario to this file instead of stdout", &to},
        {0},
    };
    if (!cli_options(verb, options, argc, argv, rest, &count, NULL, &code))
        return code;
    for (int i = 0; i < count; i++)
        lists += import_kind(rest[i]) == IMPORT_OPS;
    if (!count || (lists && count > 1))
        return cli_usage(verb, count ? "only one list of convolutions is expected" : "which file?");
    out = cli_out_dir(out);
    code = 0;
    for (int i = 0; i < count && !code; i++)
        switch (import_kind(rest[i])) {
        case IMPORT_DATABASE: code = cli_import_database(rest[i], out); break;
        case IMPORT_ROWS: code = cli_import_rows(rest[i], out, run_id); break;
        case IMPORT_OPS: code = import_ops(rest[i], name, to); break;
        }
    return code;
}
