#!/usr/bin/env python3
"""source_compare.py BENCH OUT [ROW,ROW]: what `bench run --source` says of each instruction against ncu's source page of the same rows. Needs a GPU and ncu.
source_compare.py --table OUT: writes the table again from what an earlier run left there.

Of each row of tests/gpu/compare.yaml's layer `body` that is named (mma_sync,tiled_halo,cudnn) OUT gets bench's export (source.json.xz) and ncu's pages
(ncu-ROW.csv.xz: section SourceCounters of the launches of `bench exec --repeat 3`), and OUT/source_compare.md the table. Exit 1 when a promise is broken:

  executed  of every instruction that bench keeps, how often a warp ran it: the same number
  samples   how the samples fall to these instructions: half the sum of the differences of their shares is no more than twice what as many samples drawn
            twice from one distribution would differ by
  waits     the share of each reason to wait, over all instructions: within 2 points, where ncu has 10,000 samples (it has some 1,500 of a short kernel)
"""
import csv, json, lzma, math, os, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))
# bench's names are CUPTI's, ncu's page shortens them
REASONS = {"long_sb": "long_scoreboard", "short_sb": "short_scoreboard", "math": "math_pipe_throttle", "mio": "mio_throttle", "lg": "lg_throttle", "tex": "tex_throttle",
           "imc": "imc_miss", "no_inst": "no_instructions", "dispatch": "dispatch_stall", "sleep": "sleeping"}


def run(argv):
    done = subprocess.run(argv, capture_output=True, text=True)
    if done.returncode:
        sys.exit("%s: exit %d\n%s\n%s" % (" ".join(argv), done.returncode, done.stdout[-2000:], done.stderr[-2000:]))
    return done.stdout


def collect(bench, out, rows):
    scenario, db, ncu = os.path.join(HERE, "compare.yaml"), os.path.join(out, "db"), os.environ.get("NCU", "ncu")
    run([bench, "run", scenario, "--layer", "body", "--only", ",".join(rows), "--device", "cuda:0", "--source", "-o", db, "--budget", "0.05", "--no-report", "-q"])
    text = run([bench, "export", "compare", "-o", db, "--format", "json"])
    with lzma.open(os.path.join(out, "source.json.xz"), "wt") as f:
        f.write(text)
    for row in json.loads(text)["rows"]:
        name = row["variant"].split("/")[-1]
        if row["status"] != "ok" or name not in rows:
            continue
        argv = [bench, "exec", scenario, row["id"], "--device", "cuda:0", "--repeat", "3"]
        if row["engine_heuristic"]:
            argv += ["--engine", f"{row['engine_number']}:{row['engine_heuristic']}{row['engine_rank']}"]
        file = os.path.join(out, "ncu-" + name)
        run([ncu, "--clock-control", "none", "--nvtx", "--nvtx-include", "launches/", "--section", "SourceCounters", "-f", "-o", file, *argv])
        with lzma.open(file + ".csv.xz", "wt") as f:
            f.write(run([ncu, "--import", file + ".ncu-rep", "--page", "source", "--csv", "--print-source", "sass"]))
        os.remove(file + ".ncu-rep")


def pages(file):
    """A list of (kernel, [instruction as a dictionary]) in ncu's order."""
    found, head = [], None
    for line in csv.reader(lzma.open(file, "rt")):
        if line[:1] == ["Kernel Name"]:
            found.append((line[1], []))
        elif line[:1] == ["Address"]:
            head = line
        elif line and found:
            found[-1][1].append(dict(zip(head, line)))
    return found


def number(text):
    return float(text) if text and text != "-" else 0.0


def waits_of(row):
    """bench's samples by reason, of the row's first step: of lines, and of the step itself where nothing has a line."""
    found = {}
    for m in row["metrics"]:
        if m["metric"].startswith("hw.samples_") and m["metric"] != "hw.samples_dropped" and m["metric_step"] == 0:
            found[m["metric"][11:]] = found.get(m["metric"][11:], 0) + m["value"]
    return found


def compare(out, row, lines):
    name = row["variant"].split("/")[-1]
    kernels = pages(os.path.join(out, f"ncu-{name}.csv.xz"))
    first = kernels[0][0]
    theirs = [page for kernel, page in kernels if kernel == first][-1]
    start = int(theirs[0]["Address"], 16)
    at = {int(i["Address"], 16) - start: i for i in theirs}
    ours = {i["address"]: i for i in row["instructions"] if i["language"] == "sass" and i["code_step"] == 0}
    broken, both = [], [a for a in ours if a in at]
    other = [a for a in both if ours[a]["executed"] != number(at[a]["Instructions Executed"])]
    if len(both) != len(ours) or other:
        broken.append("executed: %d instructions are not ncu's, %d ran another number of times" % (len(ours) - len(both), len(other)))
    x, y = {a: ours[a]["samples"] or 0 for a in both}, {a: number(at[a]["# Samples"]) for a in both}
    n, m = sum(x.values()), sum(y.values())
    apart = 0.5 * sum(abs(x[a] / n - y[a] / m) for a in both) if n and m else 0
    chance = 0.5 * sum(math.sqrt(2 / math.pi * (x[a] + y[a]) / (n + m) * (1 / n + 1 / m)) for a in both) if n and m else 0
    if apart > 2 * chance:
        broken.append("samples: %.3f apart, %.3f by chance" % (apart, chance))
    reasons, mine = {}, waits_of(row)
    for i in theirs:
        for column, value in i.items():
            if column.startswith("stall_") and not column.endswith(")"):
                reason = REASONS.get(column[6:], column[6:])
                reasons[reason] = reasons.get(reason, 0) + number(value)
    a, b = sum(mine.values()), sum(reasons.values())
    far, which = max((abs(mine.get(r, 0) / a - reasons[r] / b), r) for r in reasons) if a and b else (float("nan"), "")
    if b >= 10000 and not far <= 0.02:
        broken.append("waits: %s %.1f points off" % (which, 100 * far))
    lines.append("| %s | %d | %d | %d, %d | %s | %.1f points, %s | %d |" % (name, len(both), len(both) - len(other), n, m, "%.3f, %.3f" % (apart, chance) if both else "", 100 * far, which, b))
    return ["%s: %s" % (name, b) for b in broken]


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--table":
        out = sys.argv[2]
    elif len(sys.argv) in (3, 4):
        out = sys.argv[2]
        os.makedirs(out, exist_ok=True)
        collect(sys.argv[1], out, sys.argv[3].split(",") if len(sys.argv) == 4 else ["mma_sync", "tiled_halo", "cudnn"])
    else:
        sys.exit(__doc__)
    lines, broken, found = [], [], 0
    for row in json.load(lzma.open(os.path.join(out, "source.json.xz"), "rt"))["rows"]:
        if os.path.exists(os.path.join(out, "ncu-%s.csv.xz" % row["variant"].split("/")[-1])) and row["layer"] == "body":
            broken += compare(out, row, lines)
            found += 1
    if not found:
        sys.exit("source_compare.py: no row in " + out)
    with open(os.path.join(out, "source_compare.md"), "w") as f:
        print("# What --source says against ncu's source page\n\nWritten by `tests/gpu/source_compare.py`, whose head says what is promised. A row's own code only is kept by instruction: of a library's"
              " there are samples by reason.\n\n| row | instructions kept | run as often as by ncu | samples at them: bench, ncu | how far their shares lie apart, and by chance |"
              " farthest reason to wait, of all instructions | ncu's samples |\n|---|---|---|---|---|---|---|", *lines, sep="\n", file=f)
        print("\n%s" % ("Every promise holds." if not broken else "Broken: " + "; ".join(broken)), file=f)
    print("%d rows, %d promises broken; %s" % (found, len(broken), os.path.join(out, "source_compare.md")))
    return bool(broken)


sys.exit(main())
