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
     "SCENARIO is a .yaml file, or the name of a shipped one (bench list scenarios). Each row is stored when it is finished; after Ctrl-C "
     "or a crash, --resume continues."},
    {"try", "FILE.cu|.py", "run one variant file next to the baseline and `naive` on the standard layers of its op", cli_try, false,
     "The file needs a head (bench new writes one); a FILE.py has decorators (docs/PYTHON.md), and FILE.py:KERNEL is one of its kernels. "
     "--loop runs again each time the file is saved."},
    {"list", "WHAT [NAME]", "ops, op NAME, variants, variant NAME, scenarios, devices, chips, columns, runs; `bench history ROW`", cli_list,
     false,
     "`bench list runs` lists the runs in the database, oldest first. `bench history ROW`, or `bench list history ROW`, shows one number "
     "of a row over the runs: where it changed, by how much, and the drift since the last release."},
    {"plan", "SCENARIO...", "list the expanded cases with FLOP, bytes, speed of light, rows and the estimated duration", cli_plan, false,
     "--check reports whether each scenario and every head that it uses are valid, on emu and on a GPU, and runs nothing."},
    {"new", "OP FILE.cu|.ptx", "print the file with a head made from its kernel's signature; for PTX, the sidecar file", cli_new, false,
     "Without --write (.cu only) nothing is changed: bench new conv2d my.ptx >my.yaml"},
    {"compile", "SCENARIO", "compile the kernels of a scenario without a GPU; print registers, spills, shared memory", cli_compile, false,
     "--bundle FILE stores PTX and cubins for `bench run --bundle FILE` on a machine with a GPU but no compiler."},
    {"emulate", "KERNEL.cu|.ptx [LAUNCH.yaml]", "run any kernel without a GPU: exact counters, memory safety, the cost of each line",
     cli_emulate, false,
     "Without LAUNCH.yaml it prints a launch file made from the kernel's parameters: bench emulate k.cu >k.yaml. See docs/EMU.md.\nExit "
     "status 4 if a safety check failed, a value differs from the expected one, or the kernel did not finish."},
    {"exec", "[FILE.db] [SCENARIO] ROW [-- COMMAND...]", "run one row alone, under ncu, nsys, cuda-gdb, compute-sanitizer ...", cli_exec,
     false,
     "ROW is a row id, or words of it that match exactly one row (\"body_1 naive\"). Without a scenario it is a row of the last stored "
     "run. Without a COMMAND the row runs in this process."},
    {"tune", "[SCENARIO]", "search the parameters of variants, timed next to the library; store the best of each layer", cli_tune, false,
     "The search tries all values of a parameter unless the scenario lists some. A configuration that violates the variant's conditions, "
     "spills, or exceeds a limit is a row with that reason.\n`bench run --tuned` uses the results; --list prints them, --export writes "
     "them to a file, --import reads such a file."},
    {"import", "FILE...", "import a database, times of another tool (JSON), an ONNX model, or a list of convolutions", cli_import, false,
     "FILE.db: adds its runs, rows and tuned configurations to the database. Runs that are already stored stay unchanged; of two tuned "
     "configurations for the same layer, variant, chip and compiler the newer one is kept.\nFILE.json: times of another tool, measured on "
     "the same GPU as a stored run, become rows marked foreign. tests/gpu/torch_peers.py SCENARIO.yaml -o FILE.json times PyTorch's ops "
     "for the layers of a scenario. Such rows are not verified, have no paired ratio, and are left out of sums.\nAny other FILE: "
     "convolutions in Boda's format, one per line, printed as a scenario. Each distinct line becomes a layer, repeated as often as the "
     "line occurs. Errors name FILE:LINE:COLUMN."},
    {"show", "[FILE.db] [SCENARIO] [CASE | ROW]",
     "print the tables of a stored run; for one case everything, for one row every kernel and counter", cli_show, false, NULL},
    {"report", "[FILE.db] [SCENARIO | RUN... --compare]",
     "write a stored run, or several side by side, as Markdown or as one HTML page with plots", cli_report, false, NULL},
    {"export", "[FILE.db] [SCENARIO]", "write a stored run as JSON or CSV with a versioned schema (docs/EXPORT.md)", cli_export, false,
     NULL},
    {"compare", "BASE HEAD", "compare two runs, revisions, folders, bundles or baselines row by row, with the changed source lines",
     cli_compare, false,
     "BASE and HEAD are each a baseline file, a stored run (12, or 12/head for one of its sides, FILE.db:12), a bundle, a folder (. is the "
     "working tree), or a git revision. A side that is not stored is run, on emu unless a device is given: bench compare main . -s edsr\nA "
     "ratio is speed-up: base's time over head's; above 1 is faster. Two rows of one run are paired round by round; rows of two runs have "
     "a wider interval."},
    {"gate", "[RULES.yaml]", "fail if a row became slower, wrong or missing since a revision or a baseline", cli_gate, false,
     "RULES.yaml names the scenario, the base, the allowed changes and the waivers (docs/GATE.md). Needs no GPU: rows with the same "
     "launches of the same machine code are SAME; otherwise the gate compares compiler facts and emu's exact counts.\nExit codes: 3: "
     "SLOWER, MISSING, or not promoted yet; 4: WRONG; 5: cannot be judged here; 6: UNDECIDED and the rules ask for a decision."},
    {"baseline", "save|show|diff|promote [RULES.yaml] [FILE]", "keep the facts of a run in a file under version control", cli_baseline,
     false,
     "FILE defaults to `against` of the rules if that is a .yaml, else to ci/baselines/DEVICE.yaml. promote shows the differences and "
     "accepts them; rows outside --scenario, --layer and --only stay unchanged."},
    {"counters", "[GROUP]", "explain the counter groups, and with --chip their passes, without a GPU", cli_counters, false,
     "GROUP is a shipped group or your own .yaml. --chip plans the named groups, or all groups, in the fewest passes that CUPTI finds."},
    {"mask", "FRAMES --to FILE", "write mask files that mark where the frames of a video change", cli_mask, false,
     "FRAMES is a Y4M file, pictures (PGM, PPM, PNG) numbered by %03d, or - for a pipe: ffmpeg -i street.mp4 -f yuv4mpegpipe - | bench "
     "mask - --to m_%03d.png\nA pixel is active when it differs from its value when it was last active, so slow changes add up. In the "
     "first frame every pixel is active."},
    {"why", "[FILE.db] [SCENARIO] ROW", "explain a row: its bottleneck, where its time goes, and what the fastest row does better", cli_why,
     false,
     "ROW is a row id, or words of it that match exactly one row (\"body_1 naive\"; SCENARIO#body_1 too), of the newest run with that row. "
     "It needs no GPU: everything comes from the database.\n--measure runs the row again with every counter and also prints code, "
     "counters, source lines and launch bounds. Without a scenario it is a row of the last stored run. The rows are stored in "
     "DIR/profile."},
    {"doctor", "", "check what works on this machine, and how to fix the rest", cli_doctor, false,
     "--ceilings prints the measured ceilings of this machine: copy, L2, shared memory, FLOP by type, an empty launch. The speed of light "
     "of every row is computed from them. bench run measures them once per machine and database; --measure measures them again."},
    {"history", "[FILE.db] [SCENARIO] ROW", "show one number of a row over the stored runs, with its change points", cli_history, true,
     "Change points by E-divisive with Student's t-test; drift within the gate's margin since the last release is reported. ROW as in "
     "bench why."},
    {"jobs", "[list | show | wait | logs | cancel] [JOB] [SHARD]", "list the jobs of bench run --on, wait for one, show its tasks and logs",
     cli_jobs, false,
     "JOB is the beginning of a job's name; default: the newest. wait joins the parts that land into the database, submits lost shards "
     "again, "
     "and ends with the rows' exit code. An engine starts `bench jobs task FOLDER SHARD` on a node (docs/FLEET.md)."},
    {"worker", "", "started by bench itself", cli_worker, true, NULL},
    {NULL, NULL, NULL, NULL, false, NULL},
};

/* Verbs of earlier versions, and their present names. */
static const struct {
    const char *old, *now;
} renamed[] = {
    {"validate", "plan --check"}, {"wisdom", "tune --list"},      {"merge", "import"}, {"import-ops", "import"},
    {"profile", "why --measure"}, {"roofs", "doctor --ceilings"}, {"sequence", "run"},
};

static void usage(struct text *t)
{
    text_add(t, "bench: verify, time and explain GPU kernels\n\nusage: bench VERB [ARGUMENTS] [OPTIONS]\n\n");
    for (const struct verb *v = verbs; v->name; v++)
        if (!v->hidden)
            text_addf(t, "  %-11s %s\n", v->name, v->about);
    text_add(t, "\nbench VERB --help explains each verb.  First steps: bench doctor; bench run smoke\n\n");
    cli_exit_codes(t);
}

/* Output that could not be written is an error. */
static int all_written(int code)
{
    struct error err = {0};
    if (!fflush(stdout) && !ferror(stdout))
        return code;
    error_set(&err, ERROR_ENVIRONMENT, "the output to stdout is incomplete (is the disk full?)");
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
