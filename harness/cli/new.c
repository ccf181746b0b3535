/* bench new: a head, or an op file, made from a kernel's signature. */
#include "base/file.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/fields.h"
#include "op/file/ops.h"
#include "kernel/new/new.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The JSON object: `text` is the whole file, `head` what was filled in. */
static void new_fields(const char *kind, const char *op, const char *path, const char *text, bool written)
{
    json_t *o = fields("new");
    if (!o)
        return;
    fields_text(o, "kind", kind);
    fields_text(o, "op", op);
    fields_text(o, "path", path);
    json_object_set_new(o, "written", json_boolean(written));
    json_object_set_new(o, "head", fields_of_file(strcmp(kind, "head") ? "new.yaml" : path, text));
    fields_text(o, "text", text);
}

/* Prints an op file for an op that does not exist yet, from the kernel in `path`. */
static int print_op(const char *op, const char *path, const char *kernel)
{
    struct error err = {0};
    size_t bytes;
    SCOPED char *source = file_text(path, 8u << 20, &bytes, &err), *text = source ? variant_new_op(op, source, kernel, &err) : NULL;
    if (source && !text)
        error_where(&err, "%s", path);
    int code = text ? 0 : cli_fail(&err);
    if (text)
        new_fields("op file", op, path, text, false);
    cli_say(stdout, "%s", text ? text : "");
    return code;
}

/* No op has that name. */
static void no_op(const char *name, const char *path, struct error *err)
{
    const char *near = op_nearest(name);
    error_set(err, ERROR_USAGE, "no op '%s'", name);
    error_hint(err, "%s%s%s%s%sto define your own op: bench new %s %s --op >%s.yaml, fill it in, then use --ops %s.yaml",
               near ? "bench new " : "", near ? near : "", near ? " " : "", near ? path : "", near ? "; " : "", name, path, name, name);
}

int cli_new(const struct verb *verb, int argc, char **argv)
{
    bool write = false, new_op = false;
    SCOPED_BY(option_list_free) struct option_list ops = {0};
    SCOPED const char **rest = xcalloc((size_t)argc + 1, sizeof *rest);
    const char *kernel = NULL;
    const struct option options[] = {
        {"--kernel", 'k', OPTION_TEXT, "NAME", "use this __global__ function; default: the first", &kernel},
        {"--write", 'w', OPTION_FLAG, NULL, "write the head into the file", &write},
        {"--ops", 0, OPTION_LIST, "FILE", "your own op file, or a folder of them (docs/OP.md)", &ops},
        {"--op", 0, OPTION_FLAG, NULL, "print a template file for a new op", &new_op},
        {0},
    };
    struct error err = {0};
    int count, code;
    size_t bytes;
    if (!cli_options(verb, options, argc, argv, rest, &count, NULL, &code))
        return code;
    if (count != 2)
        return cli_usage(verb, "an op and a file are expected: bench new conv2d my.cu");
    if (new_op && op_load(ops.items, &err) && op_find(rest[0])) {
        error_set(&err, ERROR_USAGE, "the op '%s' already exists: %s", rest[0], op_find(rest[0])->about);
        error_hint(&err, "bench new %s %s makes a head for a kernel of it; a new op needs another name", rest[0], rest[1]);
        return cli_fail(&err);
    }
    if (new_op)
        return err.kind == ERROR_NONE ? print_op(rest[0], rest[1], kernel) : cli_fail(&err);
    const struct op *op = op_load(ops.items, &err) ? op_find(rest[0]) : NULL;
    if (!op && err.kind == ERROR_NONE)
        no_op(rest[0], rest[1], &err);
    if (!op)
        return cli_fail(&err);
    if (text_ends(rest[1], ".ptx")) {
        SCOPED_TEXT sidecar = {0};
        code = cli_sidecar(op, rest[1], kernel, &sidecar, &err) ? 0 : cli_fail(&err);
        if (code == 0)
            new_fields("sidecar", op->name, rest[1], text_get(&sidecar), false);
        cli_print(&sidecar);
        return code;
    }
    if (text_ends(rest[1], ".cubin")) {
        error_set(&err, ERROR_USAGE, "%s: a cubin does not contain the names and types of its parameters", rest[1]);
        error_hint(
            &err,
            "run bench new %s on the .cu or .ptx of the same kernel, then set `source: %s` and the types of the numbers (docs/FOREIGN.md)",
            rest[0], file_base(rest[1]));
        return cli_fail(&err);
    }
    SCOPED char *source = file_text(rest[1], 8u << 20, &bytes, &err);
    if (source && !source[strspn(source, " \t\r\n")]) { /* bench new conv2d my.cu >my.cu: the shell empties it first */
        error_set(&err, ERROR_USAGE, "%s is empty", rest[1]);
        error_hint(&err, "bench new %s %s --write writes the head into the file; `>%s` would empty it before it is read", rest[0], rest[1],
                   rest[1]);
        return cli_fail(&err);
    }
    SCOPED char *text = source ? variant_new(op, source, kernel, &err) : NULL;
    if (source && !text)
        error_where(&err, "%s", rest[1]);
    if (!text || (write && !file_write_named(rest[1], text, strlen(text), &err)))
        return cli_fail(&err);
    new_fields("head", op->name, rest[1], text, write);
    SCOPED_TEXT with = {0};
    for (int i = 0; i < ops.count; i++)
        text_addf(&with, " --ops %s", ops.items[i]);
    if (write)
        cli_say(stderr, "bench: %s has a head now\nhint: bench try %s%s\n", rest[1], rest[1], text_get(&with));
    else
        cli_say(stdout, "%s", text);
    return 0;
}
