#include "cli/cli.h"
#include "base/text.h"
#include "base/version.h"
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static const struct verb verbs[] = {
    {"run", "SCENARIO", "verify, time and count every variant of every case of a scenario", cli_run, false,
     "SCENARIO is a .yaml file, or the name of a shipped one (bench list scenarios). Each row is stored as soon as it is known; after "
     "Ctrl-C or a "
     "crash, --resume goes on."},
    {"try", "FILE.cu", "one variant file against the baseline and `naive` on its op's standard layers", cli_try, false,
     "The file needs a head (bench new makes one). --loop runs again whenever the file is saved."},
    {"list", "WHAT [NAME]", "ops, op NAME, variants, variant NAME, scenarios, devices, chips, columns, runs; `bench history ROW`", cli_list,
     false,
     "`bench list runs` tells what the database holds, oldest first; `bench history ROW`, or `bench list history ROW`, one number of a row "
     "over "
     "them: where it changed, by how much, and what crept since the last release."},
    {"plan", "SCENARIO...", "the expanded cases with FLOP, bytes, floor, rows and an estimate of the run", cli_plan, false,
     "--check says of each scenario whether it and every head it uses is valid, on emu and on a GPU, and runs nothing."},
    {"new", "OP FILE.cu|.ptx", "print the file with a head filled in from its kernel's signature; for PTX, the sidecar beside it", cli_new,
     false, "Nothing is changed unless --write is given (a .cu only): bench new conv2d my.ptx >my.yaml"},
    {"compile", "SCENARIO", "compile a plan's kernels without a GPU; registers, spills, shared memory", cli_compile, false,
     "--bundle FILE keeps PTX and cubins for `bench run --bundle FILE` on a machine with a GPU and no compiler."},
    {"emulate", "KERNEL.cu|.ptx [LAUNCH.yaml]", "run any kernel without a GPU: exact counters, memory safety, what each line costs",
     cli_emulate, false,
     "Without LAUNCH.yaml it prints one to begin with, from the kernel's parameters: bench emulate k.cu >k.yaml. docs/EMU.md tells the "
     "rest.\n"
     "Exit status 4 when the safety checks found something, a value is not the expected one, or the kernel did not finish."},
    {"exec", "[FILE.db] [SCENARIO] ROW [-- COMMAND...]", "run one row alone, under ncu, nsys, cuda-gdb, compute-sanitizer ...", cli_exec,
     false,
     "ROW is a row id, or words of it that mean exactly one (\"body_1 naive\"). Without a scenario it is a row of the last stored run. "
     "Without a COMMAND the row runs in this process."},
    {"tune", "[SCENARIO]", "search the parameters of variants, in one run with the library; remember the best of each layer", cli_tune,
     false,
     "All values of a parameter are tried unless the scenario names some. Configurations that the variant's conditions, spills or limits "
     "rule out "
     "are rows with their reason.\n"
     "`bench run --tuned` takes what was found; --list prints it, --export writes it to a file, --import reads such a file."},
    {"import", "FILE...", "what other runs and tools know: a database, times in JSON, or a list of convolutions", cli_import, false,
     "FILE.db: its runs, rows and tuned configurations are added to the database. Runs that are there already are left alone; of two "
     "findings for "
     "the same layer, variant, chip and compiler the newer stays.\n"
     "FILE.json: times of another tool, measured beside a run on the same GPU, as rows marked foreign. tests/gpu/torch_peers.py "
     "SCENARIO.yaml -o FILE.json times PyTorch's own ops for the layers of a scenario. Such rows are not verified, have no paired ratio, "
     "and count in no sum.\n"
     "Any other FILE: convolutions in Boda's format, one to a line, printed as a scenario. A layer for each different line; its repeat is "
     "how often the line stood there. An error names FILE:LINE:COLUMN."},
    {"show", "[FILE.db] [SCENARIO] [CASE | ROW]", "the tables of a stored run again; of one case all, of one row every kernel and counter",
     cli_show, false, NULL},
    {"report", "[FILE.db] [SCENARIO | RUN... --compare]",
     "a stored run, or several side by side, as Markdown or as one HTML page with plots", cli_report, false, NULL},
    {"export", "[FILE.db] [SCENARIO]", "a stored run as JSON or CSV with a versioned schema (docs/EXPORT.md)", cli_export, false, NULL},
    {"compare", "BASE HEAD", "two runs, revisions, folders, bundles or baselines, row by row, and what changed at which line", cli_compare,
     false,
     "BASE and HEAD are each a baseline file, a stored run (12, or 12/head for one of its sides, FILE.db:12), a bundle, a folder (. is the "
     "working tree), or a git revision. What is not stored is run, on emu unless a device is named: bench compare main . -s edsr\n"
     "A ratio is base's time over head's: above 1 is faster. Two rows of one run are paired round by round; those of two runs get the "
     "wider "
     "interval."},
    {"gate", "[RULES.yaml]", "fail when a row got slower, wrong or went missing since a revision or a baseline", cli_gate, false,
     "RULES.yaml says what is run, against what, how much may change and what is waived until when (docs/GATE.md). Needs no GPU: the same "
     "launches of the same image are SAME; else the compiler's facts and emu's exact counts are compared.\n"
     "3: SLOWER, MISSING, or not promoted yet; 4: WRONG; 5: cannot be judged here; 6: UNDECIDED where the rules want a decision."},
    {"baseline", "save|show|diff|promote [RULES.yaml] [FILE]", "the facts of a run in a file that is kept under version control",
     cli_baseline, false,
     "FILE is the rules' `against` where that is a .yaml, else ci/baselines/DEVICE.yaml. promote shows what is other and takes it over; "
     "what --scenario, --layer and --only leave out stays."},
    {"counters", "[GROUP]", "counter groups: what they tell, and with --chip their passes, without a GPU", cli_counters, false,
     "GROUP is a shipped group or a .yaml of your own. --chip counts all groups that are named, or all there are, in as few passes as "
     "CUPTI "
     "can."},
    {"mask", "FRAMES --to FILE", "the frames of a video to mask files: where each changed", cli_mask, false,
     "FRAMES is a Y4M file, pictures (PGM, PPM, PNG) numbered by %03d, or - for a pipe: ffmpeg -i street.mp4 -f yuv4mpegpipe - | bench "
     "mask - --to m_%03d.png\n"
     "A pixel is active when it differs from what it was when it was last active, so that slow changes add up. The first frame is active "
     "everywhere."},
    {"why", "[FILE.db] [SCENARIO] ROW", "the bottleneck of a row, where its time goes, and what the fastest does better", cli_why, false,
     "ROW is a row id, or words of it that mean exactly one (\"body_1 naive\"; SCENARIO#body_1 too), of the newest run that has it. "
     "It needs no GPU: everything comes from the database.\n"
     "--measure runs the row again, with every counter, and prints all that explains it: code, counters, source lines, launch bounds "
     "too. Without a scenario it is a row of the last stored run. Its rows are kept in DIR/profile."},
    {"doctor", "", "what works on this machine, what does not, and what to do about it", cli_doctor, false,
     "--roofs prints what this machine was measured to do at the most: copy, L2, shared memory, FLOP by type, an empty launch. bench run "
     "measures a machine once, when its database has no figures; --measure does it again. Every row's roof is made of them."},
    {"history", "[FILE.db] [SCENARIO] ROW", "one number of a row over the stored runs: where it changed", cli_history, true,
     "Change points by E-divisive with Student's t-test; what crept under a gate's margin since the last release is said. ROW as in bench "
     "why."},
    {"worker", "", "started by bench itself", cli_worker, true, NULL},
    {NULL, NULL, NULL, NULL, false, NULL},
};

/* Verbs of earlier versions, and their present names. */
static const struct {
    const char *old, *now;
} renamed[] = {
    {"validate", "plan --check"}, {"wisdom", "tune --list"},   {"merge", "import"}, {"import-ops", "import"},
    {"profile", "why --measure"}, {"roofs", "doctor --roofs"}, {"sequence", "run"},
};

static void usage(struct text *t)
{
    text_add(t, "bench: why a GPU kernel is as fast as it is\n\nusage: bench VERB [ARGUMENTS] [OPTIONS]\n\n");
    for (const struct verb *v = verbs; v->name; v++)
        if (!v->hidden)
            text_addf(t, "  %-11s %s\n", v->name, v->about);
    text_add(t, "\nbench VERB --help says more of each.  First steps: bench doctor; bench run smoke\n\n");
    cli_exit_codes(t);
}

/* Output that could not be written is an error. */
static int all_written(int code)
{
    struct error err = {0};
    if (!fflush(stdout) && !ferror(stdout))
        return code;
    error_set(&err, ERROR_ENVIRONMENT, "not everything could be written to stdout (is the disk full?)");
    return code ? code : cli_fail(&err);
}

static int bench(int argc, char **argv)
{
    struct text t = {0};
    const char *names[64];
    size_t count = 0;
    struct error err = {0};
    bool asks_help = argc > 2 && !strcmp(argv[1], "help");
    char word[] = "--help", *about[] = {argv[0], asks_help ? argv[2] : NULL, word, NULL};
    if (argc < 2 || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || (!strcmp(argv[1], "help") && !asks_help)) {
        usage(&t);
        cli_say(argc < 2 ? stderr : stdout, "%s", text_get(&t));
        text_free(&t);
        return all_written(argc < 2 ? 2 : 0);
    }
    if (!strcmp(argv[1], "--version")) {
        cli_say(stdout, "bench %s (%s)\n", BENCH_NUMBER, bench_version());
        return all_written(0);
    }
    if (!cli_environment(&err))
        return cli_fail(&err);
    if (asks_help) /* bench help VERB */
        argv = about, argc = 3;
    if (argc > 2 && !strcmp(argv[1], "list") && !strcmp(argv[2], "history")) /* bench list history ROW: a verb of its own */
        argv++, argc--;
    for (const struct verb *v = verbs; v->name; v++) {
        if (!strcmp(v->name, argv[1])) {
            int code = v->run(v, argc - 1, argv + 1);
            cli_finish(v, code);
            return all_written(code);
        }
        if (!v->hidden)
            names[count++] = v->name;
    }
    error_set(&err, ERROR_USAGE, "no verb '%.60s'", argv[1]);
    for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++)
        if (!strcmp(renamed[i].old, argv[1])) {
            error_set(&err, ERROR_USAGE, "'%s' is `bench %s` now", argv[1], renamed[i].now);
            error_hint(&err, "bench %.*s --help", (int)strcspn(renamed[i].now, " "), renamed[i].now);
            return cli_fail(&err);
        }
    const char *near = text_nearest(argv[1], names, count);
    error_hint(&err, near ? "bench %s" : "bench --help lists the verbs%s", near ? near : "");
    return cli_fail(&err);
}

/* ---- the stack ---- */
#define STACK_BYTES ((size_t)8 << 20)
struct started {
    int argc, code;
    char **argv;
};

static void *started(void *context)
{
    struct started *s = context;
    s->code = bench(s->argc, s->argv);
    return NULL;
}

/* If stdin, stdout or stderr is closed when bench starts (2>&-), opens /dev/null in its place: otherwise a file or a worker's socket
 * would get that number, and messages would go there. Writes to a stdout opened this way fail, and the end of the run reports it. */
static void keep_standard(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY) != fd)
            return;
}

/* A small stack limit (`ulimit -s 64`) must not change verdicts: everything then runs on a thread with a stack of its own, and so do its
 * threads. */
int main(int argc, char **argv)
{
    struct started s = {argc, 0, argv};
    struct rlimit limit;
    pthread_attr_t attr;
    pthread_t thread;
    keep_standard();
    signal(SIGXFSZ, SIG_IGN); /* a write beyond the shell's file size limit then fails like one to a full disk */
    if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur >= STACK_BYTES || pthread_attr_init(&attr) ||
        pthread_attr_setstacksize(&attr, STACK_BYTES) || pthread_setattr_default_np(&attr) || pthread_create(&thread, &attr, started, &s))
        return bench(argc, argv);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
    return s.code;
}
