/* bench sequence: the sequences of a scenario, and what came of each row in words. */
#include "base/text.h"
#include "cli/cli.h"
#include "report/number.h"
#include "session/sequence.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct shown {
    struct screen screen; /* first: the context of cli_progress too */
    int code;
};

static void add_row(struct text *t, const struct row *row, size_t width)
{
    char a[NUMBER_TEXT], b[NUMBER_TEXT], c[NUMBER_TEXT];
    const struct row_time *time = row_time(row, "warm", "isolated");
    const char *name = strrchr(row->id, '/') ? row->id + strlen(row->case_id) + 1 : row->id;
    text_addf(t, "  %-*s  ", (int)width, name);
    if (row->status != ROW_OK) {
        text_addf(t, "%s  %s\n", row_status_name(row->status), row->reason ? row->reason : "");
        return;
    }
    if (time) {
        number_pair(time->median_ns / 1e3, (time->high_ns - time->low_ns) / 2e3, a, b);
        text_addf(t, "%s%s%s us a frame", a, b[0] ? " ±" : "", b);
        if (time->ratio > 0)
            text_addf(t, ", x %s [%s %s]", number_3(time->ratio, a), number_3(time->ratio_low, b), number_3(time->ratio_high, c));
        text_add(t, "; ");
    }
    text_addf(t, "ok %s", row->check);
    text_addf(t, "%s%s\n", row->note ? "; " : "", row->note ? row->note : "");
}

static void print_rows(void *context, const struct run *run, struct row *const *rows, int count)
{
    struct text t = {0};
    size_t width = 0;
    struct shown *shown = context;
    cli_wipe(&shown->screen);
    for (int i = 0; i < count; i++) {
        size_t n = strlen(rows[i]->id) - strlen(rows[i]->case_id) - 1;
        width = n > width ? n : width;
    }
    text_addf(&t, "%s  %s\n%s\n", rows[0]->case_id, rows[0]->work, run->device_about ? run->device_about : "");
    for (int i = 0; i < count; i++)
        add_row(&t, rows[i], width);
    text_add(&t, "\n");
    cli_print(&t);
    text_free(&t);
    int own = session_exit_code(rows, count);
    shown->code = own ? own : shown->code;
}

static int run_sequences(struct session_options *o)
{
    struct shown shown = {.screen = {.style = cli_style(), .live = isatty(STDERR_FILENO)}};
    struct session_sink sink = {.context = &shown, .progress = cli_progress, .case_done = print_rows, .note = cli_note};
    struct session_result result;
    struct error err = {0};
    o->interrupted = cli_interruptible();
    bool ok = session_sequences(o, &sink, &result, &err);
    cli_wipe(&shown.screen);
    if (!ok)
        return cli_fail(&err);
    if (result.interrupted)
        fprintf(stderr, "bench: interrupted; what was stored stays\n");
    int code = result.interrupted ? 130 : shown.code;
    printf("%d rows in %s   %.1f s   exit %d\n", result.rows, o->database, result.seconds, code);
    return code;
}

int cli_sequence(const struct verb *verb, int argc, char **argv)
{
    struct plan_arguments a = {0};
    struct session_options o = {0};
    bool in_process = false;
    const char *out = NULL, **rest = xcalloc((size_t)argc + 1, sizeof *rest);
    struct option options[PLAN_OPTION_COUNT + 4] = {{0}};
    cli_plan_options(&a, options);
    const struct option own[] = {
        {"--out", 'o', OPTION_TEXT, "DIR", "where the database is; default: .bench", &out},
        {"--time-limit", 0, OPTION_REAL, "SECONDS", "for one launch of a row; default 10 on cuda, 60 on emu", &o.time_limit_s},
        {"--in-process", 0, OPTION_FLAG, NULL, "no worker process: for debuggers", &in_process},
    };
    memcpy(options + PLAN_OPTION_COUNT, own, sizeof own);
    struct error err = {0};
    char *path = NULL, *database = NULL, *line = cli_line(argc, argv);
    int count, code;
    if (!cli_options(verb, options, argc, argv, rest, &count, NULL, &code))
        goto done;
    if (count != 1 || a.layers || a.set.count) {
        code = cli_usage(verb, count != 1 ? "one scenario, please" : "layers and axes are not chosen here: a sequence names its layers");
        goto done;
    }
    if (!cli_plan_arguments(&a, rest[0], &path, &err)) {
        code = cli_fail(&err);
        goto done;
    }
    o.plan = a.plan;
    o.inside = in_process ? &worker_inside : NULL;
    o.database = database = cli_database(cli_out_dir(out));
    o.argv = line;
    code = run_sequences(&o);
done:
    free(line);
    cli_plan_free(&a);
    free(path);
    free(database);
    free(rest);
    return code;
}
