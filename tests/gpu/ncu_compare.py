#!/usr/bin/env python3
"""ncu_compare.py BENCH COUNTERS OUT: bench's hardware counters against ncu's, on the same kernels, and what both cost. Needs a GPU and ncu.
ncu_compare.py --rows BENCH OUT [SECONDS]: the rows alone, without the sweep and its cost; begins no row after so many seconds (50).
ncu_compare.py --table OUT: writes the table again from the two CSV files of an earlier run, and says in short what holds.

BENCH is the executable, COUNTERS the program of tests/gpu/counters.c. Every verified row of tests/gpu/compare.yaml, cuDNN's too, is counted by
`bench run --metrics` and then alone under `ncu` (five runs of the row, or NCU_REPEAT of them); a sweep of 100 launches of known kernels is timed without a profiler, in
process, and under ncu. Writes OUT/ncu_compare.csv, every pair of numbers, OUT/ncu_cost.csv, and OUT/ncu_compare.md, the table. Exit 1 when a promise is broken:

  equal    instructions, requests, sectors, local operations: the same number; where ncu's own runs differ (kernels that spin), inside their span widened by it
  spread   wavefronts, conflicts, bytes: inside what ncu's own five runs span, widened by that span (at least 2 %, 4 KiB or 64 on either side)
  points   percentages: within 2 points of the median of ncu's runs
  state    nothing is promised: ncu empties the caches before every kernel, bench fills L2 with clean lines before the row, as before a cold time. So what DRAM is
           written differs, and in a row of several kernels what the second finds in L2.
  @cold    bytes, and whatever missed under a promise as first written, under an ncu that leaves the caches alone and runs `bench exec` again for each pass (--replay-mode application --cache-control
           none), which flushes as bench does: within what five launches span, widened by that (at least 2 %, 4 KiB)

These are looser than the promises as they were first written: `equal` was every one of ncu's runs the same, and there was no `state`. The table also says how many pairs
hold under those, and lists each that does not with its cause.
"""
import csv, json, os, re, statistics, subprocess, sys, time

EQUAL = """smsp__inst_executed.sum smsp__thread_inst_executed.sum smsp__inst_executed_op_shared_ld.sum smsp__inst_executed_op_shared_st.sum
 smsp__inst_executed_op_local_ld.sum smsp__inst_executed_op_local_st.sum smsp__inst_executed_op_ldsm.sum smsp__inst_executed_op_branch.sum
 l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum l1tex__t_requests_pipe_lsu_mem_global_op_st.sum l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum
 l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum
 sm__inst_executed_pipe_tensor.sum smsp__sass_thread_inst_executed_op_ffma_pred_on.sum sm__ctas_launched.sum smsp__warps_launched.sum
 smsp__sass_data_bytes_mem_global_op_ld.sum smsp__sass_data_bytes_mem_global_op_ldgsts.sum smsp__sass_data_bytes_mem_global_op_st.sum""".split()
SPREAD = """l1tex__data_pipe_lsu_wavefronts_mem_shared.sum l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum
 l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum
 l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum dram__bytes_read.sum dram__bytes_write.sum l1tex__t_bytes.sum lts__t_bytes.sum""".split()
POINTS = """gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed sm__warps_active.avg.pct_of_peak_sustained_active
 smsp__issue_active.avg.pct_of_peak_sustained_active lts__t_sectors.avg.pct_of_peak_sustained_elapsed
 l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed
 sm__pipe_tensor_type_hmma_hgmma_qgmma_imma_igmma_bmma_bgmma_cycles_active.avg.pct_of_peak_sustained_active sm__throughput.avg.pct_of_peak_sustained_elapsed gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed""".split()
WEIGHTS = ["gpu__time_duration.sum", "sm__cycles_active.avg"]
ALL = EQUAL + SPREAD + POINTS + WEIGHTS
# What depends on the caches, counted once more where they are as bench leaves them.
COLD = "dram__bytes_read.sum dram__bytes_write.sum lts__t_bytes.sum".split()
# What the sweep counts: 16 metrics that a first look takes.
CORE = """gpu__time_duration.sum sm__cycles_elapsed.max sm__warps_active.avg.pct_of_peak_sustained_active smsp__issue_active.avg.pct_of_peak_sustained_active
 smsp__inst_executed.sum smsp__inst_executed_op_local_ld.sum smsp__inst_executed_op_local_st.sum dram__bytes_read.sum dram__bytes_write.sum
 gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed
 sm__pipe_tensor_type_hmma_hgmma_qgmma_imma_igmma_bmma_bgmma_cycles_active.avg.pct_of_peak_sustained_active
 l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum
 l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum sm__cycles_active.avg""".split()
REPEAT, SWEEP = int(os.environ.get("NCU_REPEAT", "5")), 100
FEWER, MORE = 20, 400  # launches, for what a kernel costs beyond the start: under ncu, in process
again = len(sys.argv) > 2 and sys.argv[1] == "--table"
alone = len(sys.argv) in (4, 5) and sys.argv[1] == "--rows"
if not again and not alone and len(sys.argv) != 4:
    sys.exit(__doc__)
bench, counters, out = (None, None, sys.argv[2]) if again else (sys.argv[2], None, sys.argv[3]) if alone else sys.argv[1:4]
began_all, most_seconds = time.monotonic(), float(sys.argv[4]) if alone and len(sys.argv) == 5 else 50.0
here = os.path.dirname(os.path.abspath(__file__))
ncu = os.environ.get("NCU", "ncu")


def run(argv, must=True):
    began = time.monotonic()
    done = subprocess.run(argv, capture_output=True, text=True)
    seconds = time.monotonic() - began
    if must and done.returncode:
        sys.exit("%s: exit %d\n%s\n%s" % (" ".join(argv), done.returncode, done.stdout[-2000:], done.stderr[-2000:]))
    return done.stdout, seconds


def number(text):
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def ncu_kernels(metrics, argv, *more):
    """One dictionary a profiled kernel, in order, and the wall time of it all."""
    text, seconds = run([ncu, "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none", "--metrics", ",".join(metrics), *more, *argv])
    lines = [l for l in text.splitlines() if l.startswith('"')]
    table = list(csv.reader(lines))
    if len(table) < 3:
        sys.exit("ncu profiled nothing: %s\n%s" % (" ".join(argv), text[-2000:]))
    head = table[0]
    kernels = [{name: cell for name, cell in zip(head, line)} for line in table[2:]]  # behind the head stand the units
    return [{"name": k["Kernel Name"], **{m: number(k.get(m, "")) for m in metrics}} for k in kernels], seconds


def combine(metric, kernels):
    """As counter/combine.c."""
    values = [k[metric] for k in kernels]
    if any(v is None for v in values):
        return None
    if len(values) == 1 or re.search(r"\.(sum|avg|max|min)$", metric):
        return sum(values)
    weights = [k[WEIGHTS[1] if metric.endswith("_active") else WEIGHTS[0]] for k in kernels]
    return sum(v * w for v, w in zip(values, weights)) / sum(weights)


def judge(metric, kernels, ours, theirs):
    """(class, holds, how far off)"""
    middle, low, high = statistics.median(theirs), min(theirs), max(theirs)
    points = metric.removesuffix("@cold") in POINTS
    off = ours - middle if points else (ours - middle) / middle if middle else (0.0 if ours == middle else float("inf"))
    memory = re.match("dram|lts|gpu__dram|gpu__compute_memory", metric) and not metric.endswith("@cold")
    if metric == "dram__bytes_write.sum" or (kernels > 1 and memory):
        return "state", True, off
    if points:
        return "points", abs(off) <= 2, off
    if metric in EQUAL:
        return "equal", low - (high - low) <= ours <= high + (high - low), off
    slack = max(high - low, 0.02 * abs(middle), 4096 if "bytes" in metric else 64)
    return "spread", low - slack <= ours <= high + slack, off


def first(metric, ours, theirs):
    """(holds under the promises as first written, else why not)"""
    middle, low, high = statistics.median(theirs), min(theirs), max(theirs)
    if metric in POINTS:
        holds = abs(ours - middle) <= 2
    elif metric in EQUAL:
        holds = ours == low == high
    else:
        slack = max(high - low, 0.02 * abs(middle), 4096 if "bytes" in metric else 64)
        holds = low - slack <= ours <= high + slack
    if holds:
        return True, ""
    if re.match("dram|lts|gpu__dram|gpu__compute_memory", metric):
        return False, "another state of the caches: ncu empties them before every kernel, bench fills L2 with clean lines before the row"
    if metric in EQUAL and low != high:
        return False, "ncu's own runs differ" + (", bench lies between" if low <= ours <= high else "")
    if metric in POINTS:
        return False, "another state of the caches: it is a share of the kernel's time, and that is another"
    return False, "not known"


def compare_cold(results, row, n, metrics, ours, argv):
    theirs, _ = ncu_kernels(metrics + WEIGHTS, argv, "--nvtx", "--nvtx-include", "launches/", "--replay-mode", "application", "--cache-control", "none")
    if len(theirs) != n * REPEAT:
        sys.exit("%s: ncu saw %d kernels in %d launches of %d each, caches left alone" % (row, len(theirs), REPEAT, n))
    for metric in metrics:
        results.append((row, n, metric + "@cold", ours.get(metric), [combine(metric, theirs[i * n:(i + 1) * n]) for i in range(REPEAT)]))


def compare_rows(results):
    scenario = os.path.join(here, "compare.yaml")
    db = os.path.join(out, "compare-db")
    run([bench, "run", scenario, "--device", "cuda:0", "-o", db, "--no-report", "-q", "--require-counters", "--metrics", ",".join(ALL)])
    text, _ = run([bench, "export", "compare", "-o", db, "--format", "json"])
    cost = []
    for row in json.loads(text)["rows"]:
        n = int(row["launched"] or len(row["launches"]))
        if row["status"] != "ok" or not n:
            continue
        if alone and time.monotonic() - began_all > most_seconds:
            print("%s and what follows: no time left" % row["id"])
            break
        ours = {m["metric"]: m["value"] for m in row["metrics"] if m["source"] == "cupti" and m["metric_step"] == -1}
        argv = [bench, "exec", scenario, row["id"], "--device", "cuda:0", "--repeat", str(REPEAT)]
        if row["engine_heuristic"]:
            argv += ["--engine", f"{row['engine_number']}:{row['engine_heuristic']}{row['engine_rank']}"]
        plain = 0 if alone else run(argv)[1]
        theirs, seconds = ncu_kernels(ALL, argv, "--nvtx", "--nvtx-include", "launches/")  # not what makes the data, prepares or checks
        if len(theirs) != n * REPEAT:
            sys.exit("%s: ncu saw %d kernels in %d launches of %d each: %s" % (row["id"], len(theirs), REPEAT, n, sorted({t["name"] for t in theirs})))
        runs = [theirs[i * n:(i + 1) * n] for i in range(REPEAT)]
        for metric in EQUAL + SPREAD + POINTS:
            results.append((row["id"], n, metric, ours.get(metric), [combine(metric, r) for r in runs]))
        compare_cold(results, row["id"], n, COLD, ours, argv)
        doubted = [m for m in EQUAL + SPREAD + POINTS if m not in COLD and ours.get(m) is not None and not first(m, ours[m], [combine(m, r) for r in runs])[0]]
        if doubted:
            compare_cold(results, row["id"], n, doubted, ours, argv)
        if not alone:
            cost.append((row["id"], n, ours["hw.passes"], 1e3 * ours["hw.cost_s"], 1e3 * (seconds - plain) / REPEAT))
        store(results, cost, None)  # who is stopped has what was compared
    return cost


def compare_sweep(results):
    source = os.path.join(here, "counters.cu")
    names = re.findall(r'__global__ void (?:__\w+\([^)]*\) )?(\w+)\(', open(source).read())
    _, plain = run([counters, source, "plain", str(SWEEP)])
    text, ours = run([counters, source, "sweep", str(SWEEP), ",".join(CORE)])
    inside = float(re.search(r"^sweep .* ([0-9.]+) s$", text, re.M).group(1))
    passes = int(re.search(r"^sweep .* ([0-9]+) passes", text, re.M).group(1))
    _, more = run([counters, source, "sweep", str(MORE), ",".join(CORE)])
    # The flush and the first launch of each kernel are not profiled.
    select = ["--kernel-name", "regex:^(%s)$" % "|".join(names), "--launch-skip", str(len(names))]
    theirs, seconds = ncu_kernels(CORE, [counters, source, "plain", str(SWEEP)], *select)
    if len(theirs) != SWEEP:
        sys.exit("ncu saw %d kernels of the sweep, not %d" % (len(theirs), SWEEP))
    _, fewer = ncu_kernels(CORE, [counters, source, "plain", str(SWEEP)], *select, "--launch-count", str(FEWER))
    mine = {}
    for line in text.splitlines():
        if line.startswith("value,"):
            _, r, name, metric, value = line.split(",")
            mine.setdefault((name, metric), []).append(float(value))
    for (name, metric), values in mine.items():
        if metric in EQUAL + SPREAD + POINTS:
            against = [t[metric] for t in theirs if t["name"] == name]
            results.append(("sweep/" + name, 1, metric, statistics.median(values), [min(against), statistics.median(against), max(against)]))
    return passes, plain, ours, inside, seconds, more, fewer


def about():
    gpu, _ = run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"])
    version, _ = run([bench, "--version"])
    ncu_version, _ = run([ncu, "--version"])
    return [time.strftime("%Y-%m-%d", time.gmtime()), gpu.strip(), version.strip().splitlines()[0], "ncu " + re.search(r"Version ([0-9.]+)", ncu_version).group(1)]


def store(results, cost, sweep):
    with open(os.path.join(out, "ncu_compare.csv"), "w", newline="") as f:
        w = csv.writer(f, lineterminator="\n")
        w.writerow(["row", "kernels", "metric", "bench"] + ["ncu_%d" % i for i in range(REPEAT)])
        for row, n, metric, ours, theirs in results:
            w.writerow([row, n, metric, ours, *theirs])
    with open(os.path.join(out, "ncu_cost.csv"), "w", newline="") as f:
        w = csv.writer(f, lineterminator="\n")
        w.writerow(["about", *about()])
        if sweep:
            w.writerow(["sweep", *sweep])
        for line in cost:
            w.writerow(["row", *line])


def load():
    results, cost, sweep, what = [], [], None, None
    with open(os.path.join(out, "ncu_compare.csv"), newline="") as f:
        for line in list(csv.reader(f))[1:]:
            values = [float(v) if v else None for v in line[3:]]
            theirs = [v for v in values[1:] if v is not None]
            metric, n = line[2], int(line[1])
            verdict = judge(metric, n, values[0], theirs) if values[0] is not None and theirs else ("absent", values[0] is None and not theirs, 0.0)
            results.append((line[0], metric, *verdict, values[0], theirs, n))
    with open(os.path.join(out, "ncu_cost.csv"), newline="") as f:
        for line in csv.reader(f):
            if line[0] == "about":
                what = line[1:]
            elif line[0] == "sweep":
                sweep = [float(v) for v in line[1:]]
            else:
                cost.append((line[1], *[float(v) for v in line[2:]]))
    return results, cost, sweep, what


def table_sweep(p, passes, plain, ours, inside, theirs, more, fewer):
    each, their_each = (more - ours) / (MORE - SWEEP), (theirs - fewer) / (SWEEP - FEWER)
    p("A sweep of %d launches of those kernels in turn, each behind a flush, %d metrics (%d passes); wall time of the whole process less that without a profiler (%.2f s):\n"
      % (SWEEP, len(CORE), passes, plain))
    p("| | wall | per kernel |\n|---|---|---|")
    p("| ncu | %.2f s | %.1f ms |" % (theirs, 1e3 * (theirs - plain) / SWEEP))
    p("| in process | %.2f s | %.2f ms |" % (ours, 1e3 * (ours - plain) / SWEEP))
    p("| of it opening CUPTI, passes, reading | %.2f s | %.2f ms |" % (inside, 1e3 * inside / SWEEP))
    p("\nncu takes %.1f times as long for %d kernels. Beyond the start a kernel costs %.1f ms under ncu (%d launches against %d) and %.2f ms in process (%d against %d): %.1f times."
      % ((theirs - plain) / (ours - plain), SWEEP, 1e3 * their_each, SWEEP, FEWER, 1e3 * each, MORE, SWEEP, their_each / each))


def promised(results):
    """What is absent on both sides is no pair; what is on one alone is a broken one."""
    return [r for r in results if r[2] != "state" and not (r[2] == "absent" and r[3])]


def line_of(r):
    return "  %s  %s: bench %.10g, ncu %.10g to %.10g (%+.3g %s)" % (r[0], r[1], r[5], min(r[6]), max(r[6]), r[4] * (1 if r[1].removesuffix("@cold") in POINTS else 100), "points" if r[1].removesuffix("@cold") in POINTS else "%")


def say(results, broken, missed, first_count):
    """What holds, in so few lines that it can be read off."""
    judged = promised(results)
    kernels = {r[0]: r[7] for r in results}
    as_cold = {(r[0], r[1].removesuffix("@cold")): r[3] for r in results if r[1].endswith("@cold")}
    unexplained = [r for r in broken if not as_cold.get((r[0], r[1]))]
    print("%s: %d broken promises that do not hold @cold either" % ("FAIL" if unexplained else "PASS", len(unexplained)))
    print("%d of %d promised pairs hold, %d rows of %d kernels" % (len(judged) - len(broken), len(judged), len(kernels), sum(kernels.values())))
    for r in broken:
        agrees = "" if r[1].endswith("@cold") else {True: "; @cold it agrees", False: "; @cold it does not"}.get(as_cold.get((r[0], r[1])), "")
        print((line_of(r) if r[6] and r[5] is not None else "  %s  %s: bench %s, ncu %s" % (r[0], r[1], r[5], r[6])) + agrees)
    cold = [r for r in results if r[1].endswith("@cold") and r[2] != "absent"]
    print("%s: %d of %d pairs hold where the caches are as bench leaves them" % ("FAIL" if [r for r in cold if not r[3]] or not cold else "PASS", sum(r[3] for r in cold), len(cold)))
    print("%d of %d pairs hold under the promises as first written; of the others" % (first_count - len(missed), first_count))
    for words, which in (("by the caches' state, and agree @cold", lambda why, c: why.startswith("another") and c),
                         ("by the caches' state, not held @cold", lambda why, c: why.startswith("another") and c is None),
                         ("by the caches' state, and disagree @cold", lambda why, c: why.startswith("another") and c is False),
                         ("where ncu's own runs differ, and agree @cold", lambda why, c: why.startswith("ncu") and c),
                         ("where ncu's own runs differ, without @cold", lambda why, c: why.startswith("ncu") and c is None),
                         ("where ncu's own runs differ, and disagree @cold", lambda why, c: why.startswith("ncu") and c is False),
                         ("of unknown cause", lambda why, c: why.startswith("not known"))):
        those = [r for r, why, c in missed if which(why, c)]
        print("%4d %s" % (len(those), words))
        for r in those if not words.endswith(("and agree @cold", "without @cold")) else []:
            print(line_of(r))


def table(results, cost, sweep, what):
    judged = promised(results)
    broken = [r for r in results if not r[3]]
    with open(os.path.join(out, "ncu_compare.md"), "w") as f:
        p = lambda *a: print(*a, file=f)
        p("# bench's counters against ncu's\n")
        p("Written by `tests/gpu/ncu_compare.py` from `ncu_compare.csv` and `ncu_cost.csv`, measured on %s: %s. Rows of `tests/gpu/compare.yaml`" % (what[0], "; ".join(what[1:])))
        p("and the kernels of `tests/gpu/counters.cu`. What `equal`, `spread`, `points` and `state` promise stands at the head of the script.\n")
        p("| metric | promise | rows | hold | farthest off | where |\n|---|---|---|---|---|---|")
        for metric in EQUAL + SPREAD + POINTS + sorted({r[1] for r in results if r[1].endswith("@cold")}):
            mine = [r for r in results if r[1] == metric and r[2] not in ("absent", "state")] or [r for r in results if r[1] == metric and r[2] == "state"]
            if mine:
                worst = max(mine, key=lambda r: (not r[3], abs(r[4])))
                far = "%+.2f points" % worst[4] if metric.removesuffix("@cold") in POINTS else "%+.3g %%" % (100 * worst[4])
                holds = "" if mine[0][2] == "state" else sum(r[3] for r in mine)
                p("| %s | %s | %d | %s | %s | %s |" % (metric, mine[0][2], len(mine), holds, far if worst[4] else "0", worst[0] if worst[4] else ""))
        p("\n%d of %d promised pairs hold." % (len(judged) - len(broken), len(judged)))
        if broken:
            p("\n| broken: row | metric | bench | ncu, lowest | ncu, highest |\n|---|---|---|---|---|")
            for r in broken:
                p("| %s | %s | %s | %s | %s |" % (r[0], r[1], "%.10g" % r[5] if r[5] is not None else "", "%.10g" % min(r[6]) if r[6] else "", "%.10g" % max(r[6]) if r[6] else ""))
        at_first = [(r, *first(r[1], r[5], r[6])) for r in results if r[2] != "absent" and not r[1].endswith("@cold")]
        as_cold = {(r[0], r[1][:-5]): r[3] for r in results if r[1].endswith("@cold")}
        missed = [r for r in at_first if not r[1]]
        p("\nUnder the promises as first written %d of %d pairs hold%s" % (len(at_first) - len(missed), len(at_first), "; the others:" if missed else "."))
        if missed:
            p("\n| row | metric | bench | ncu, lowest | ncu, highest | cause |\n|---|---|---|---|---|---|")
            for r, _, why in missed:
                why += {True: "; @cold it agrees", False: "; @cold it does not agree either"}.get(as_cold.get((r[0], r[1])), "")
                p("| %s | %s | %.10g | %.10g | %.10g | %s |" % (r[0], r[1], r[5], min(r[6]), max(r[6]), why))
        say(results, broken, [(r, why, as_cold.get((r[0], r[1]))) for r, _, why in missed], len(at_first))
        if not cost:
            return len(broken)
        p("\n## What it costs\n")
        if sweep:
            table_sweep(p, *sweep)
        p("\nThe rows of the comparison, %d metrics: `hw.cost_s` of the row against ncu's wall time for one of its five runs (process start taken off):\n" % len(ALL))
        p("| row | kernels | passes | bench, ms | ncu, ms | ratio |\n|---|---|---|---|---|---|")
        for row, n, row_passes, mine, other in cost:
            p("| %s | %d | %d | %.1f | %.0f | %.1f |" % (row, n, row_passes, mine, other, other / mine))
    return len(broken)


if not again:
    os.makedirs(out, exist_ok=True)
    found = []
    costs = compare_rows(found)
    store(found, costs, None if alone else compare_sweep(found))
sys.exit(table(*load()) > 0)
