/* bench export: a stored run as JSON or CSV, or as one file to send. */
#include "base/file.h"
#include "base/text.h"
#include "cli/stored.h"
#include "report/form/document.h"
#include "report/view/number.h"
#include "report/report.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool share(const struct stored *s, struct error *err)
{
    char *data, kib[NUMBER_TEXT];
    size_t bytes = 0;
    bool ok = store_share(s->database, s->r.run.id, &data, &bytes, err) && file_write_named(s->share, data, bytes, err);
    free(data);
    if (ok)
        cli_say(stderr,
                "bench: %s: run %lld of %s, %d rows, %s KiB; without the machine's name and with ~ for the home folder, but with the "
                "scenario's text, the command line and other paths\nhint: to read the file: bench report %s\n",
                s->share, (long long)s->r.run.id, s->r.run.scenario, s->r.count, number_3((double)bytes / 1024, kib), s->share);
    return ok;
}

static bool make_export(struct stored *s, struct text *t, struct error *err)
{
    if (s->share)
        return share(s, err);
    s->json = cli_json() || !s->format || !strcmp(s->format, "json");
    if (s->json)
        report_json(t, &s->r.run, s->r.rows, s->r.count);
    else if (!strcmp(s->format, "csv"))
        report_csv(t, &s->r.run, s->r.rows, s->r.count);
    else if (!strcmp(s->format, "stored"))
        report_stored(t, &s->r.run, s->r.rows, s->r.count);
    else
        return stored_unknown_format(s, "--format json, --format csv or --format stored", err);
    return true;
}

int cli_export(const struct verb *verb, int argc, char **argv)
{
    struct stored s = {0};
    const struct option own[] = {{"--format", 'f', OPTION_TEXT, "json|csv|stored",
                                  "default json; stored: times by the hash of machine code, for reports/stored", &s.format},
                                 {"--share", 0, OPTION_TEXT, "FILE", "one run in one file to send; bench report FILE opens it", &s.share}};
    return stored_verb(verb, argc, argv, &s, own, 2, make_export);
}
