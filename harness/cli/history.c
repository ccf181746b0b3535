/* bench history: one number of a row over the stored runs. */
#include "base/file.h"
#include "base/spec.h"
#include "base/text.h"
#include "cli/cli.h"
#include "gate/history.h"
#include "report/page/why.h"
#include <stdlib.h>
#include <string.h>

struct past {
    struct stored_run r; /* its store only */
    struct runs runs;
    struct gate_side *sides;
    int side_count, left_out;
};

/* Drops the rows of base from a run with two sides, whose ids are those of head. Returns how many remain. */
static int keep_one_side(struct row **rows, int count)
{
    int kept = 0;
    for (int i = 0; i < count; i++)
        if (rows[i]->side && *rows[i]->side && strcmp(rows[i]->side, "head") != 0)
            row_free(rows[i]);
        else
            rows[kept++] = rows[i];
    return kept;
}

/* The id of the row that the words name, in the newest run that has it; malloc'd. *kind: the kind of that run's device. */
static char *find_id(struct past *p, const char *words, const char *device, const char **kind, struct error *err)
{
    struct error first = {0};
    for (int i = p->runs.count - 1; i >= 0; i--) {
        struct error why = {0};
        struct row **rows = NULL;
        const char *on = p->runs.items[i].device ? p->runs.items[i].device : "";
        if (device && strcmp(device, on) != 0)
            continue;
        int count = store_rows_pick(p->r.store, p->runs.items[i].id, &(struct store_pick){.brief = true}, &rows, &why);
        count = keep_one_side(rows, count);
        int index = count > 0 ? why_find(rows, count, words, &why) : -1;
        char *id = index >= 0 ? xstrdup(rows[index]->id) : NULL;
        rows_free(rows, count);
        if (id) {
            *kind = spec_kind(on);
            return id;
        }
        if (first.kind == ERROR_NONE)
            first = why;
    }
    if (first.kind == ERROR_NONE)
        error_set(&first, ERROR_USAGE, "no run has a row '%s'", words);
    *err = first;
    return NULL;
}

/* Of a run of two sides, head's. */
static bool take_run(struct past *p, int i, const char *id, struct error *err)
{
    struct row **rows = NULL;
    int count = store_rows_pick(p->r.store, p->runs.items[i].id, &(struct store_pick){.id = id}, &rows, err), own = 0, head = 0;
    for (int k = 0; k < count; k++) {
        bool sided = rows[k]->side && *rows[k]->side, same = !strcmp(rows[k]->id, id);
        own += same && !sided;
        head += same && sided && !strcmp(rows[k]->side, "head");
    }
    if (!own && !head) {
        if (count >= 0)
            rows_free(rows, count);
        return count >= 0;
    }
    struct gate_side *side = APPEND(p->sides, p->side_count);
    *side = (struct gate_side){.name = text_format("run %lld", (long long)p->runs.items[i].id)};
    return gate_side_take(side, &p->runs.items[i], rows, count, own ? NULL : "head", err) && gate_side_sort(side, err);
}

/* "POSITION:SHA ..." of the runs' revisions that git knows, in topological order; NULL: none. Revisions from a database are hexadecimal, or
 * not asked for. */
static char *commits_of(const struct past *p)
{
    SCOPED_TEXT names = {0}, pattern = {0};
    for (int i = 0; i < p->side_count; i++) {
        const char *stored = p->sides[i].parts[0]->run.revision, *revision = stored ? stored : "";
        size_t digits = strspn(revision, "0123456789abcdef");
        SCOPED char *name = text_format(" %.*s", (int)digits, revision);
        if (digits < 7 || digits > 64 || (revision[digits] && revision[digits] != '+') || strstr(text_get(&names), name))
            continue;
        text_add(&names, name);
        text_addf(&pattern, "%s%s", pattern.len ? "|" : "", name + 1);
    }
    SCOPED char *command =
        text_format("for r in%s; do git rev-parse --verify --quiet \"$r^{commit}\" 2>/dev/null; done | git rev-list --topo-order --reverse "
                    "--stdin 2>/dev/null | grep -nE '^(%s)' | tr '\\n' ' '",
                    text_get(&names), text_get(&pattern));
    return names.len ? cli_git_line(".", command) : NULL;
}

static bool take_runs(struct past *p, const char *id, const char *kind, struct error *err)
{
    if (ANY_OF(i, p->runs.count, spec_is(p->runs.items[i].device, kind) && !take_run(p, i, id, err)))
        return false;
    /* Runs on another GPU, or counts for another chip, do not belong to this history. */
    for (int i = p->side_count - 2; i >= 0; i--) {
        const struct gate_side *last = &p->sides[p->side_count - 1];
        if ((last->about && p->sides[i].about && strcmp(last->about, p->sides[i].about)) ||
            (last->arch && p->sides[i].arch && strcmp(last->arch, p->sides[i].arch))) {
            gate_side_free(&p->sides[i]);
            memmove(&p->sides[i], &p->sides[i + 1], (size_t)(--p->side_count - i) * sizeof *p->sides);
            p->left_out++;
        }
    }
    SCOPED char *commits = commits_of(p);
    history_order(p->sides, p->side_count, commits);
    return true;
}

static void past_close(struct past *p)
{
    for (int i = 0; i < p->side_count; i++)
        gate_side_free(&p->sides[i]);
    free(p->sides);
    runs_free(&p->runs);
    store_close(p->r.store);
}

/* The commit of git's last tag, if a run has it. */
static char *last_release(const struct past *p, const char *since)
{
    SCOPED char *command =
        since ? text_format(
                    "git rev-parse --short=10 --verify --quiet --end-of-options \"$(printf %%s \"$BENCH_WORD\")^{commit}\" 2>/dev/null")
              : xstrdup("git rev-parse --short=10 --verify --quiet \"$(git describe --tags --abbrev=0 2>/dev/null)^{commit}\" 2>/dev/null");
    if (since)
        setenv("BENCH_WORD", since, 1);
    char *sha = cli_git_line(".", command);
    unsetenv("BENCH_WORD");
    bool known = since != NULL;
    for (int i = 0; sha && i < p->side_count; i++) {
        const char *revision = p->sides[i].parts[0]->run.revision;
        known |= revision && !strcmp(revision, sha);
    }
    if (sha && known && (!since || strspn(since, "0123456789") != strlen(since)))
        return sha;
    free(sha);
    return since ? xstrdup(since) : NULL;
}

static bool print_history(const struct history *h, const struct past *p, const char *out_dir, bool plot, struct error *err)
{
    struct document d = {0};
    SCOPED_TEXT t = {0};
    SCOPED char *problem = NULL, *dir = file_join(out_dir, "history");
    history_document(&d, h);
    cli_document(&d);
    if (p->left_out)
        text_addf(&t, "left out: %d run%s on other hardware\n", p->left_out, text_s(p->left_out));
    bool ok = !plot || history_plot(h, dir, &problem, err);
    if (ok && plot && problem)
        text_addf(&t, "plot  %s; data and script are in %s/plots\n", problem, dir);
    else if (ok && plot)
        text_addf(&t, "plot  %s/plots/01_history.svg\n", dir);
    cli_print(&t);
    return ok;
}

int cli_history(const struct verb *verb, int argc, char **argv)
{
    SCOPED const char **rest = xcalloc((size_t)argc + 1, sizeof *rest);
    const char *out = NULL, *of = NULL, *since = NULL, *device = NULL;
    double margin = 1;
    bool plot = false;
    const struct option options[] = {
        {"--out", 'o', OPTION_TEXT, "DIR", "folder of the database; default ./.bench", &out},
        {"--of", 0, OPTION_TEXT, "WHAT", "time, or a count: registers, emu.warp_instructions ...; default the time if there is one", &of},
        {"--since", 0, OPTION_TEXT, "RELEASE", "compare the last run with this revision or run; default the last git tag, if it was run",
         &since},
        {"--margin", 0, OPTION_REAL, "PER CENT", "margin of the gate, default 1; slow drift within it is reported", &margin},
        {"--device", 'd', OPTION_TEXT, "DEVICE", "runs on this device; default the device of the last run with the row", &device},
        {"--plot", 0, OPTION_FLAG, NULL, "also draw a plot (gnuplot): DIR/history/plots", &plot},
        {0},
    };
    SCOPED_BY(past_close) struct past p = {0};
    SCOPED_BY(history_free) struct history h = {0};
    struct error err = {0};
    const char *named = NULL;
    const char *kind = NULL;
    SCOPED char *id = NULL;
    int count, code;
    if (!cli_options(verb, options, argc, argv, rest, &count, NULL, &code))
        return code;
    SCOPED char *words = cli_words(rest, &count, &named);
    if (!*words)
        return cli_usage(verb, "which row? bench history body_1 naive");
    SCOPED char *database = named ? xstrdup(named) : cli_database(cli_out_dir(out));
    bool ok = cli_store(database, "bench run SCENARIO", &p.r.store, &err) && store_runs(p.r.store, &p.runs, &err) &&
              (id = find_id(&p, words, device, &kind, &err)) && take_runs(&p, id, kind, &err);
    SCOPED char *release = ok ? last_release(&p, since) : NULL;
    ok = ok && history_make(p.sides, p.side_count, id, of, margin / 100, release, &h, &err) &&
         print_history(&h, &p, cli_out_dir(out), plot, &err);
    return ok ? 0 : cli_fail(&err);
}
