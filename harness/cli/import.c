/* The verb import-ops: lists of operations of other tools as scenarios. */
#include "base/file.h"
#include "base/text.h"
#include "cli/cli.h"
#include "scenario/op_lines.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The scenario's name from the file's: what a name may not hold becomes `_`. */
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

int cli_import_ops(const struct verb *verb, int argc, char **argv)
{
    const char *name = NULL, *to = NULL, **rest = xcalloc((size_t)argc + 1, sizeof *rest);
    const struct option options[] = {
        {"--name", 0, OPTION_TEXT, "NAME", "of the scenario; default: the file's", &name},
        {"--to", 0, OPTION_TEXT, "FILE", "write there instead of to stdout", &to},
        {0},
    };
    struct error err = {0};
    struct text t = {0};
    char *text = NULL, *own = NULL;
    size_t bytes;
    int count, code;
    if (!cli_options(verb, options, argc, argv, rest, &count, NULL, &code))
        goto done;
    if (count != 1) {
        code = cli_usage(verb, count ? "one file at a time" : "which file?");
        goto done;
    }
    own = name ? xstrdup(name) : name_of(rest[0]);
    text = file_read(rest[0], OP_LINES_MAX_BYTES, &bytes, &err);
    if (!text || !op_lines_scenario(rest[0], text, bytes, own, &t, &err) || (to && !file_write(to, t.data, t.len, &err))) {
        code = cli_fail(&err);
        goto done;
    }
    if (!to)
        cli_print(&t);
    code = 0;
done:
    free(own);
    free(text);
    text_free(&t);
    free(rest);
    return code;
}
