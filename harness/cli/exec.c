/* bench exec: one row alone, in this process or under another tool. */
#include "base/file.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/fields.h"
#include "device/device.h"
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Says where a tool of CUDA lies that is not a command on PATH. */
static void say_where(const char *tool)
{
    const char *home = getenv("CUDA_HOME");
    SCOPED char *own = text_format("%s/bin/%s", home && *home ? home : "/usr/local/cuda", tool);
    SCOPED char *kit = text_format("/usr/local/cuda*/bin/%s", tool), *alone = text_format("/opt/nvidia/*/*/%s", tool);
    SCOPED char *below = text_format("/opt/nvidia/*/*/bin/%s", tool);
    const char *const patterns[] = {own, kit, alone, below};
    glob_t found = {0};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        glob(patterns[i], i ? GLOB_APPEND : 0, NULL, &found);
    if (found.gl_pathc) {
        SCOPED_TEXT word = {0};
        text_add_word(&word, found.gl_pathv[0]);
        cli_say(stderr, "hint: it is not a command on PATH, but here: bench exec ... -- %s\n", text_get(&word));
    } else {
        cli_say(
            stderr,
            "hint: it is not a command on PATH, nor in $CUDA_HOME/bin, /usr/local/cuda*/bin (the CUDA toolkit) or /opt/nvidia/*/* (Nsight "
            "Compute, Nsight Systems); if it is elsewhere, name it with its path: bench exec ... -- /PATH/TO/%s\n",
            tool);
    }
    globfree(&found);
}

/* COMMAND bench exec SCENARIO ROW options: the other tool starts this executable again, which then runs the row. */
static int exec_under(char **command, int argc, char **argv, int tail)
{
    int words = 0, at = 0;
    while (command[words])
        words++;
    char **line = xcalloc((size_t)(words + argc + 2), sizeof *line);
    for (int i = 0; i < words; i++)
        line[at++] = command[i];
    line[at++] = xstrdup(file_self());
    line[at++] = xstrdup("exec");
    for (int i = 1; i < tail - 1 && i < argc; i++)
        line[at++] = argv[i];
    execvp(line[0], line);
    bool missing = errno == ENOENT;
    cli_say(stderr, "bench: %s: %s\n", line[0], strerror(errno));
    if (missing &&
        (!strcmp(line[0], "ncu") || !strcmp(line[0], "nsys") || !strcmp(line[0], "compute-sanitizer") || !strcmp(line[0], "cuda-gdb")))
        say_where(line[0]);
    return 5;
}

/* "41:A0" */
static bool take_engine(const char *text, struct library_plan *which, struct error *err)
{
    int end = 0;
    if (!text || (sscanf(text, "%d:%c%d%n", &which->engine, &which->heuristic, &which->rank, &end) == 3 && !text[end]))
        return true;
    error_set(err, ERROR_USAGE, "--engine '%.60s' is not a plan", text);
    return error_hint(err, "--engine 41:A0: the row's engine_number, engine_heuristic and engine_rank");
}

int cli_exec(const struct verb *verb, int argc, char **argv)
{
    struct library_plan which;
    SCOPED_BY(cli_plan_free) struct plan_arguments a = {0};
    int repeat = 1, count, tail, code;
    struct option options[PLAN_OPTION_COUNT + 5] = {{0}};
    SCOPED const char **rest = xcalloc((size_t)argc + 1, sizeof *rest);
    const char *engine = NULL, *out = NULL, *save = NULL;
    struct error err = {0};
    struct alone told = {0};
    SCOPED_BY(cli_row_words_free) struct row_words row = {0};
    SCOPED char *path = NULL;
    cli_plan_options(&a, options);
    options[PLAN_OPTION_COUNT] = (struct option){"--repeat", 'n', OPTION_INT, "N", "launches; default 1", &repeat};
    options[PLAN_OPTION_COUNT + 1] = (struct option){
        "--engine", 0, OPTION_TEXT, "N:HRANK", "cuDNN plan by engine, heuristic and rank, such as 41:A0; default its first", &engine};
    options[PLAN_OPTION_COUNT + 2] =
        (struct option){"--out", 'o', OPTION_TEXT, "DIR", "folder of the database, for a row without a scenario; default ./.bench", &out};
    options[PLAN_OPTION_COUNT + 3] =
        (struct option){"--save", 0, OPTION_TEXT, "DIR", "write its tensors, inputs and results, to DIR/NAME.npy, in logical order", &save};
    if (!cli_options(verb, options, argc, argv, rest, &count, &tail, &code))
        return code;
    if (!count)
        return cli_usage(verb, "which row? bench exec edsr body_1 naive");
    if (tail && argv[tail])
        return exec_under(argv + tail, argc, argv, tail);
    bool named = take_engine(engine, &which, &err) && cli_row_words(&a, rest, count, cli_out_dir(out), &row, &err);
    a.device = a.device ? a.device : row.device;
    bool right = named && cli_plan_arguments(&a, row.scenario, &path, &err) &&
                 worker_alone(&a.plan, row.words, repeat, engine ? &which : NULL, save, &told, &err);
    if (told.id.len) {
        json_t *o = fields("exec");
        fields_text(o, "row", text_get(&told.id));
        json_object_set_new(o, "right", right || err.kind == ERROR_WRONG ? json_boolean(right) : json_null());
        fields_text(o, "says", text_get(&told.says));
        json_object_set_new(o, "launches", json_integer(repeat));
        fields_text(o, "device", text_get(&told.device));
    }
    if (!right && !told.id.len)
        cli_row_needs(&row, &a, &err);
    code = right ? 0 : cli_fail(&err);
    if (right)
        cli_say(stdout, "%s  %s\n", text_get(&told.id), text_get(&told.says));
    text_free(&told.id);
    text_free(&told.says);
    text_free(&told.device);
    return code;
}
