/* cli/cli: verbs, options, printing, exit codes; the only place that prints or exits.
 *
 * To add a verb: one function in a .c here and one line in the table of main.c. */
#pragma once

#include "base/error.h"
#include "report/report.h"
#include "run/parent/session.h"
#include "run/child/worker.h"
#include <stdbool.h>

/* One option of a verb. --help is generated from the table. */
enum option_kind { OPTION_FLAG, OPTION_TEXT, OPTION_INT, OPTION_REAL, OPTION_LIST };
struct option {
    const char *name; /* "--device"; */
    char letter;      /* 'd', or 0 */
    enum option_kind kind;
    const char *argument; /* "DEVICE"; NULL for a flag */
    const char *help;
    void *to; /* bool *, const char **, int *, double *, struct option_list * */
};
struct option_list {
    const char **items; /* NULL-terminated once anything was given; else NULL */
    int count;
};
void option_list_free(struct option_list *list);
/* Runs a verb; returns the exit code. */
struct verb;
typedef int cli_verb(const struct verb *verb, int argc, char **argv);
struct verb {
    const char *name;
    const char *arguments; /* "SCENARIO [OPTIONS]" */
    const char *about;     /* one line */
    cli_verb *run;
    bool hidden;
    const char *more; /* a paragraph for its --help; may be NULL */
};

/* Parses argv[1..]. Positional arguments go to the front of `rest` (argc strings at most). `tail` returns the index in argv of the first
 * word after `--` (0: none; NULL: `--` is refused). Prints help and returns 0 in *exit_code for --help. False: stop with *exit_code. */
bool cli_options(const struct verb *verb, const struct option *options, int argc, char **argv, const char **rest, int *rest_count,
                 int *tail, int *exit_code);
/* Prints "bench: text" and "hint: ..." to stderr; returns the exit code of its kind. */
int cli_fail(const struct error *err);
/* "bench VERB: too many arguments" and the like: exit 2. */
int cli_usage(const struct verb *verb, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Options that every verb has. */
extern const struct option cli_shared[];
/* True with --json: the functions below then collect their output, and cli_finish prints it as one document. */
bool cli_json(void);
/* Prints a line of the result to stdout. */
void cli_print(const struct text *t);
/* What cli_fail and cli_print do with a line: no control character of a name or a log reaches the terminal. */
void cli_say(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Writes results to the file of --to, else to stdout, paged (cli_page) or, for JSON, as they are. */
bool cli_put(const char *to, struct text *t, bool json, struct error *err);
/* What can be long: through $PAGER (less) where a terminal shows it and it is longer than that. */
void cli_page(const struct text *t);
/* Takes the blocks; takes the table. */
struct document;
struct table;
void cli_document(struct document *d);
void cli_table(struct table *table);
/* A verb's own JSON, in place of the document. */
void cli_print_json(const struct text *t);
/* At the end of every verb. */
void cli_finish(const struct verb *verb, int code);
/* Colour, widths and signs of stdout. */
struct report_style cli_style(void);
/* The output folder of this run: -o DIR, else $BENCH_OUT, else ./.bench */
const char *cli_out_dir(const char *given);
/* DIR/bench.db. Caller frees. */
char *cli_database(const char *out_dir);
/* Opens the database for reading. If there is none, the hint names the command that makes one: "bench run SCENARIO". */
bool cli_store(const char *database, const char *maker, struct store **store, struct error *err);
/* A stored run and its rows. Close it even if opening failed. */
struct stored_run {
    struct store *store;
    struct run run;
    struct row **rows;
    int count;
};
bool cli_run_open(struct stored_run *r, const char *database, int64_t id, struct error *err);
void cli_run_close(struct stored_run *r);
void cli_exit_codes(struct text *t);

/* Options of all verbs that make a plan. */
struct plan_arguments {
    struct plan_options plan;
    struct option_list ops, variants, set, groups, metrics;
    const char *layers, *only, *device, *compiler, *bundle, *seed;
    double budget_s;
    struct counter_wish counters;
    bool no_ptxas;
    char **made; /* texts that the lists point into */
    int made_count;
};
/* Is it FILE.py or FILE.py:KERNEL? */
bool cli_is_python(const char *s);
/* The cache folder of the sidecars of such a file (kernels/python/bench.py writes it). And the folder of its ops; NULL: it has none. Caller
 * frees. */
char *cli_python_folder(const char *given, struct error *err);
char *cli_python_ops(const char *folder);
/* Replaces the Python files of --variants by such folders, and adds their ops. */
bool cli_python_variants(struct plan_arguments *a, struct error *err);
#define PLAN_OPTION_COUNT 10
/* Fills options[0..PLAN_OPTION_COUNT) so that they write into `a`. */
void cli_plan_options(struct plan_arguments *a, struct option *options);
/* Options of verbs that count; options[0..COUNTER_OPTION_COUNT). */
#define COUNTER_OPTION_COUNT 6
void cli_counter_options(struct plan_arguments *a, struct option *options);
/* After parsing: puts everything into a->plan. A bare scenario name ("edsr") is looked up in the installation. Caller frees *path. */
bool cli_plan_arguments(struct plan_arguments *a, const char *scenario, char **path, struct error *err);

/* Takes the database that is named before or after the other words out of them; NULL: none is named. */
const char *cli_database_word(const char **rest, int *count);
/* The words of a row as every verb takes them: "[FILE.db] [SCENARIO | SCENARIO.yaml] ROW", with the database first or last. Removes the
 * database from `rest` (NULL: none was named). A scenario's file means the scenario of that name. Returns "" if no word is left. Caller
 * frees. */
char *cli_words(const char **rest, int *count, const char **database);
/* The row that words name, for verbs that run it: a row of a scenario ("edsr body_1 naive"). Without a scenario it is a row of the last
 * stored run (in FILE.db if given), with that run's scenario and device. Free it even on failure. */
struct row_words {
    char *scenario, *words;
    char *device; /* of the stored row; NULL where a scenario was named */
    char *asked;  /* the stored run's own ops and folders of variants, as options; NULL: none */
};
bool cli_row_words(struct plan_arguments *a, const char **rest, int count, const char *out, struct row_words *r, struct error *err);
/* If the row is not found because options of its run are missing, the hint names them. */
void cli_row_needs(const struct row_words *r, const struct plan_arguments *a, struct error *err);
void cli_row_words_free(struct row_words *r);

void cli_plan_free(struct plan_arguments *a);
/* The chip of that name, GH100 for NULL. `option` ("--chip ") precedes the nearest name in the hint. */
const struct chip *cli_chip(const char *name, const char *option, struct error *err);

/* Appends the shipped scenarios, with layers, that a variant (of this op) of the options' folders fits: "notebook (image); smoke (conv)".
 * Returns how many; 0: none. */
int cli_fits(const struct plan_options *like, const char *variant, const char *op, struct text *t);
/* Runs a session, prints its progress and results, returns the exit code. RESUMES: the verb has --resume, which a hint may name. */
enum cli_show {
    CLI_SHOW_CASES = 1,
    CLI_SHOW_PAGES = 2,
    CLI_SHOW_BEGIN = 4,
    CLI_SHOW_UNTRIED = 8,
    CLI_SHOW_PROGRESS = 16,
    CLI_RESUMES = 32
};
/* session_options.predict: by the model of the chip. */
void cli_predict(const struct run *run, struct row *const *rows, int count, double *ns);
int cli_session(struct session_options *o, int show);
/* Runs a session and prints progress and notes only; the rows are in its database. */
bool cli_session_rows(struct session_options *o, struct session_result *result, struct error *err);
/* True after Ctrl-C or SIGTERM during a session. */
bool cli_interrupted(void);
/* The command line again, for provenance. Caller frees. */
char *cli_line(int argc, char **argv);
/* A sidecar for the PTX at `path`, filled in from its entry `kernel` (NULL: the first). */
struct op;
bool cli_sidecar(const struct op *op, const char *path, const char *kernel, struct text *t, struct error *err);
/* The lines of worker_registers, for compile and profile. */
void cli_print_launch_bounds(struct text *t, const struct register_point *points, int count);

/* The revision of a folder that git tracks: "1a2b3c4d5e", "1a2b3c4d5e+dirty"; NULL: not known. `below`: only if git tracks this path in
 * it. */
char *cli_revision(const char *folder, const char *below);
/* The tree of a revision of this repository, from this folder down: a malloc'd path below out_dir. NULL with an error: there is no such
 * revision. *name: how it is called ("main (1a2b3c4d5e)"). */
char *cli_revision_tree(const char *word, const char *out_dir, char **name, char short_sha[12], struct error *err);
/* The first line that a shell command with git prints in the folder. Caller frees; NULL: it printed nothing. */
char *cli_git_line(const char *folder, const char *command);
/* Times of another tool into the last run of their scenario, or into run `run_id`. */
int cli_import_rows(const char *path, const char *out_dir, int run_id);
struct ceilings_arguments {
    bool measure;
    const char *device, *compiler, *bundle;
};
int cli_ceilings(const struct ceilings_arguments *a, const char *out_dir);
/* `argv`: the command, for provenance. */
int cli_noise(const struct ceilings_arguments *a, const char *out_dir, const char *argv);
/* Runs one row again with every counter; `words` as in the verb's help. Takes the options that make a plan from `a`. */
int cli_profile(struct plan_arguments *a, const char **words, int count, const char *out_dir);

/* Checks the environment variables that bench reads (BENCH_THREADS ...). Else ERROR_USAGE, with the nearest word. */
bool cli_environment(struct error *err);
cli_verb cli_run, cli_try, cli_list, cli_plan, cli_new, cli_compile, cli_emulate, cli_exec, cli_show, cli_report, cli_export, cli_counters,
    cli_mask, cli_why, cli_doctor, cli_tune, cli_import, cli_compare, cli_gate, cli_baseline, cli_history, cli_jobs, cli_worker;
