/* Output: text for a terminal, a pipe or a pager, or one JSON document, on stdout; errors on stderr. */
#include "base/file.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/fields.h"
#include "report/form/document.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define PIPE_COLUMNS 120 /* of a table that no terminal shows */

/* State of the one verb that this process runs. */
static struct {
    bool json, wide;
    bool printed;             /* its JSON is printed already */
    struct document document; /* what --json prints at the end */
    json_t *fields, *errors;  /* or this object; and the errors */
} shared;

const struct option cli_shared[] = {
    {"--json", 0, OPTION_FLAG, NULL, "one JSON document on stdout (docs/schema)", &shared.json},
    {"--wide", 0, OPTION_FLAG, NULL, "all columns of the tables at full width, with the equivalent Nsight Compute metrics", &shared.wide},
    {0},
};

bool cli_json(void)
{
    return shared.json;
}

/* Length of a colour sequence of report/form/terminal at s; 0: none. */
static size_t colour(const char *s)
{
    size_t n = s[0] == '\033' && s[1] == '[' ? 2 + strspn(s + 2, "0123456789;") : 0;
    return n && s[n] == 'm' ? n + 1 : 0;
}

/* All output passes through here. Names in a database and compiler logs may contain control characters, which a terminal would obey, now
 * or when the file is shown later: all but our own colours (terminals only) become '?'. */
static void print_to(FILE *out, bool colours, const char *s)
{
    while (*s) {
        size_t plain = 0, control = 0;
        for (size_t n = 1; n; plain += n) /* stderr has no buffer: as much at a time as can be */
            n = colours && colour(s + plain) ? colour(s + plain) : s[plain] && !text_control(s + plain);
        fwrite(s, 1, plain, out);
        if ((control = text_control(s += plain)))
            fputc('?', out);
        s += control;
    }
}

void cli_say(FILE *out, const char *format, ...)
{
    SCOPED_TEXT t = {0};
    TEXT_ADD_ARGUMENTS(&t, format);
    if (out == stdout && shared.json)
        cli_print(&t);
    else
        print_to(out, isatty(fileno(out)), text_get(&t));
}

/* An error goes to stderr and, with --json, into the document. */
static void add_error(const char *text, const char *hint)
{
    if (!shared.json)
        return;
    shared.errors = shared.errors ? shared.errors : json_array();
    json_t *error = json_object();
    json_object_set_new(error, "text", json_text(text));
    if (*hint)
        json_object_set_new(error, "hint", json_text(hint));
    json_array_append_new(shared.errors, error);
}

int cli_fail(const struct error *err)
{
    add_error(err->text, err->hint);
    cli_say(stderr, err->hint[0] ? "bench: %s\nhint: %s\n" : "bench: %s%s\n", err->text, err->hint);
    return error_exit_code(err->kind);
}

int cli_usage(const struct verb *verb, const char *format, ...)
{
    SCOPED_TEXT t = {0};
    TEXT_ADD_ARGUMENTS(&t, format);
    add_error(text_get(&t), "");
    cli_say(stderr, "bench %s: %s\nhint: bench %s --help\n", verb->name, text_get(&t), verb->name);
    return 2;
}

struct report_style cli_style(void)
{
    struct report_style style = {.table = PIPE_COLUMNS, .ncu = shared.wide};
    const char *none = getenv("NO_COLOR"), *term = getenv("TERM"), *language = getenv("LC_ALL"), *given = getenv("COLUMNS");
    struct winsize w;
    bool terminal = isatty(STDOUT_FILENO);
    style.color = terminal && !shared.json && !(none && *none) && term && strcmp(term, "dumb");
    if (terminal && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) && w.ws_col)
        style.width = w.ws_col;
    else if (given && atoi(given) > 0)
        style.width = atoi(given);
    if (style.width)
        style.table = style.width;
    if (shared.wide)
        style.table = 0;
    style.ascii = language && !strcmp(language, "C");
    return style;
}

/* ---- stdout ---- */

void cli_print(const struct text *t)
{
    if (shared.json) {
        if (t->len)
            document_code(&shared.document, text_get(t), DETAIL_ALWAYS);
        return;
    }
    print_to(stdout, isatty(STDOUT_FILENO), text_get(t));
    fflush(stdout);
}

/* The pager for long results; NULL: none is wanted or installed. */
static const char *pager(void)
{
    const char *own = getenv("PAGER");
    if (own)
        return *own && strcmp(own, "cat") ? own : NULL;
    return system("command -v less >/dev/null 2>&1") == 0 ? "less" : NULL;
}

void cli_page(const struct text *t)
{
    struct winsize w = {0};
    int lines = 0;
    const char *command = NULL;
    for (const char *p = text_get(t); *p; p++)
        lines += *p == '\n';
    if (!shared.json && isatty(STDOUT_FILENO) && isatty(STDIN_FILENO) && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) && w.ws_row &&
        lines >= w.ws_row)
        command = pager();
    setenv("LESS", "FRX", 0); /* colours, and no screen of its own */
    FILE *f = command ? popen(command, "w") : NULL;
    if (!f) {
        cli_print(t);
        return;
    }
    signal(SIGPIPE, SIG_IGN); /* who has read enough leaves */
    print_to(f, true, text_get(t));
    int status = pclose(f);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127) /* there is no such command */
        cli_print(t);
}

void cli_document(struct document *d)
{
    if (shared.json) {
        for (int i = 0; i < d->count; i++)
            *APPEND(shared.document.blocks, shared.document.count) = d->blocks[i];
        free(d->blocks);
        *d = (struct document){0};
        return;
    }
    struct report_style style = cli_style();
    SCOPED_TEXT t = {0};
    form_terminal.write(&t, d, &style);
    cli_page(&t);
    document_free(d);
}

void cli_table(struct table *table)
{
    struct document d = {0};
    document_table(&d, table, DETAIL_ALWAYS);
    cli_document(&d);
}

bool cli_put(const char *to, struct text *t, bool json, struct error *err)
{
    if (to && strcmp(to, "-")) {
        text_neutralise(t, 0);
        return file_write_named(to, text_get(t), t->len, err);
    }
    if (json)
        cli_print_json(t);
    else if (to)
        cli_print(t); /* -: as a file has it */
    else
        cli_page(t);
    return true;
}

json_t *fields(const char *name)
{
    char schema[64];
    if (shared.json && !shared.fields) {
        snprintf(schema, sizeof schema, "bench.%s", name);
        shared.fields = json_pack("{s:s,s:s}", "schema", schema, "version", "1.0.0");
    }
    return shared.fields;
}

void cli_print_json(const struct text *t)
{
    shared.printed = true;
    fputs(text_get(t), stdout);
}

void cli_finish(const struct verb *verb, int code)
{
    if (shared.json && !shared.printed) {
        SCOPED_TEXT t = {0};
        json_t *own = shared.fields ? shared.fields : document_json(&shared.document), *root = json_object();
        static const char *const first[] = {"schema", "version"};
        for (size_t i = 0; i < sizeof first / sizeof *first; i++)
            json_object_set(root, first[i], json_object_get(own, first[i]));
        json_object_update_new(root, json_pack("{s:s,s:i}", "verb", verb->name, "exit", code));
        if (shared.errors)
            json_object_set(root, "errors", shared.errors);
        json_object_update_missing(root, own);
        json_decref(own);
        json_write(&t, root);
        fputs(text_get(&t), stdout);
    }
    json_decref(shared.errors);
    document_free(&shared.document);
}
