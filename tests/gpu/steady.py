#!/usr/bin/env python3
"""Does a time stay what it is: alone and beside others, from process to process, of one file under six names, and beside PyTorch's?

usage: steady.py alone|copies|peers [--bench BENCH] [-o DIR] [--processes N] [--seconds S] [--layers NAME,NAME] [--from DIR]

alone   the library's row of five layers, by itself and beside two power-hungry kernels, each in processes of its own: medians, how far they lie apart, and the
        clock, power and throttling of their rounds. Wanted: alone and beside within 0.5 %, ten processes within 0.5 % (1 % below 30 us).
copies  six copies of wgmma_pixels and one whose blocks wait about 1 % of its time first, on five layers, as many rounds as bench takes by itself: the share of
        pairs of copies whose interval excludes 1 (wanted: 5 % in the mean, no process above 10 %), how often a copy whose times are all made 1 % longer
        is told from another (wanted: 90 %), and how often the waiting one is. The intervals are those of harness/base/stats, compiled here; what the
        wait really costs is the mean of the middle 60 % of all processes' log ratios. --rounds N looks at the first N rounds only.
peers   PyTorch's time of the layers of scenarios/peers.yaml and bench's, in turns, with PyTorch's own cuDNN. Wanted: within 1 % where both launch the same
        kernels: PyTorch's benchmark mode takes now one plan, now another, so a process of it in which a layer ran other kernels than bench's is another
        program there, and its times are said apart. What a plan of cuDNN fills before its kernel is no kernel: bench does not list it.

Prints its table; stops after S seconds with the processes it has. --layers takes some of the layers only. DIR gets the exports; --from DIR runs nothing and
reads those of an earlier run. Exit 1 where a table would be empty.
"""
import argparse
import ctypes
import glob
import itertools
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
BEGAN = time.time()
DEFAULTS = "defaults: {op: conv2d, n: 1, kernel: 3, stride: 1, pad: 1, dtype: f16, layout: NHWC%s}\n"
MAX_HZ = 1.98e9


class Bench:
    def __init__(self, a):
        self.bench, self.out, self.seconds, self.longest = a.bench, a.output, a.seconds, 0
        self.stored, self.work = a.stored, tempfile.mkdtemp()
        os.makedirs(self.out, exist_ok=True)

    def time_left(self):
        return self.stored or time.time() - BEGAN + 1.2 * self.longest < self.seconds

    def run(self, scenario, name, *options, env=None, counted=False):
        """One process; the export's rows by layer and variant, conv2d/ left out: their cold, isolated time. None where it failed."""
        if self.stored:
            return self.rows(os.path.join(self.stored, name + ".json"))
        start = time.time()
        base = [self.bench, "run", scenario, "-o", self.work, "--no-report", "-q", *([] if counted else ["--no-counters"]), *options]
        done = subprocess.run(base, env=env, capture_output=True, text=True)
        file = os.path.join(self.out, name + ".json")
        stem = os.path.splitext(os.path.basename(scenario))[0]
        subprocess.run([self.bench, "export", stem, "-o", self.work, "--format", "json", "--to", file], env=env, capture_output=True)
        self.longest = max(self.longest, time.time() - start)
        if done.returncode or not os.path.exists(file):
            print(f"{name}: exit {done.returncode}: {done.stderr[-400:]}")
            return None
        return self.rows(file)

    @staticmethod
    def rows(file):
        rows = {}
        for row in json.load(open(file))["rows"] if os.path.exists(file) else []:
            for t in row["times"]:
                if t["cache"] == "cold" and t["load"] == "isolated" and t["time_step"] == -1:
                    kernels = [f"{k['kernel']} {[k['grid_' + x] for x in 'xyz']} {[k['block_' + x] for x in 'xyz']}" for k in row["launches"]]
                    rows.setdefault(row["layer"], {})[row["variant"].removeprefix("conv2d/")] = {**t, "engine": row["engine"], "kernels": kernels}
        return rows or None

    def scenario(self, name, text):
        path = os.path.join(self.work, name + ".yaml")
        open(path, "w").write(f"scenario: {name}\n" + text)
        return path


def chosen(a, layers):
    unknown = set(a.layers or layers) - set(layers)
    if unknown:
        sys.exit(f"no layer is called {', '.join(sorted(unknown))}; there are {', '.join(layers)}")
    return {name: layer for name, layer in layers.items() if name in (a.layers or layers)}


def without(rows, wanted):
    """A table that nobody filled is no result: what the exports hold instead is said."""
    found = sorted({v for process in rows for layer in process.values() for v in layer})
    sys.exit(f"steady.py: no row of {wanted} in any export; there are {', '.join(found) or 'none at all'}")


def spread(values):
    return 100 * (max(values) - min(values)) / statistics.median(values) if values else float("nan")


def conditions(times):
    """Clock, power and throttling of all rounds of these times."""
    hz = [v for t in times for v in t.get("samples_clock_hz") or [] if v]
    power = [v for t in times for v in t.get("samples_power_w") or [] if v is not None]
    bits = [int(v) for t in times for v in t.get("samples_throttle") or [] if v is not None]
    held = sum(1 for b in bits if b & 0xFC)
    return (f"clock {min(hz) / 1e6:.0f} to {max(hz) / 1e6:.0f} MHz" if hz else "no clock") + (
        f", power {min(power):.0f} to {max(power):.0f} W" if power else ", no power") + (
        f", held down in {held} of {len(bits)} rounds" if bits else "") + (
        f", {sum(t.get('retaken') or 0 for t in times)} taken again, {sum(t.get('kept_low') or 0 for t in times)} kept low")


def alone(b, a):
    layers = chosen(a, {"l64": "c: 64, k: 64, h: 720, w: 1280", "l256": "c: 256, k: 256, h: 339, w: 510", "l128": "c: 64, k: 128, h: 720, w: 1280",
                        "short": "c: 64, k: 64, h: 270, w: 480", "least": "c: 64, k: 64, h: 180, w: 320"})
    text = DEFAULTS % "" + "layers:\n" + "".join(f"  {name}: {{{is_}}}\n" for name, is_ in layers.items()) + """\
time: {budget: 1 s per layer, rounds: [60, 200]}
variants: """
    kinds = {"alone": "[cudnn]\n", "beside": "[cudnn, conv2d/auto, conv2d/wgmma_rs]\n"}
    paths = {k: b.scenario("steady_" + k, text + v) for k, v in kinds.items()}
    got = {k: [] for k in kinds}
    for p in range(a.processes):
        for kind in kinds:
            if b.time_left() and (kind == "beside" or p % 2 == 0):
                rows = b.run(paths[kind], f"{kind}{p}")
                if rows:
                    got[kind].append(rows)
    print(f"{len(got['alone'])} processes alone, {len(got['beside'])} beside; medians of the library's row, us")
    for layer in layers:
        t = {k: [rows[layer]["cudnn"] for rows in got[k] if "cudnn" in rows.get(layer, {})] for k in kinds}
        m = {k: [x["median_ns"] / 1e3 for x in t[k]] for k in kinds}
        if not m["alone"] or not m["beside"]:
            without([rows for kind in kinds for rows in got[kind]], f"cudnn on {layer}, alone and beside")
        x, y = statistics.median(m["alone"]), statistics.median(m["beside"])
        print(f"{layer:6s} alone {x:8.2f} (apart {spread(m['alone']):.2f} %)  beside {y:8.2f} (apart {spread(m['beside']):.2f} %)  beside/alone {100 * (y / x - 1):+.2f} %")
        for k in kinds:
            print(f"       {k}: {conditions(t[k])}; {' '.join('%.2f' % v for v in m[k])}")


class Estimate(ctypes.Structure):
    _fields_ = [(n, ctypes.c_double) for n in ("median", "low", "high", "p05", "p95")] + [("count", ctypes.c_int)]


def estimator(work):
    library = os.path.join(work, "estimate.so")
    sources = [os.path.join(TOP, "harness", "base", "stats", f + ".c") for f in ("estimate", "dependence", "quantile")]
    subprocess.run(["gcc", "-std=gnu17", "-O2", "-shared", "-fPIC", "-I" + os.path.join(TOP, "harness"), *sources,
                    os.path.join(TOP, "harness", "base", "text.c"), "-lm", "-o", library], check=True)
    call = ctypes.CDLL(library).estimate_ratio_grouped
    call.restype = Estimate
    call.argtypes = [ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_int), ctypes.c_int, ctypes.c_int]

    def ratio(x, y, longer=1, rounds=10**9):
        n = min(x["rounds"], y["rounds"], rounds)
        doubles = lambda t, by=1: (ctypes.c_double * n)(*[by * v for v in t["samples_ns"][:n]])  # noqa: E731
        places = (ctypes.c_int * n)(*map(int, x["samples_place"][:n])) if x.get("samples_place") else None
        return call(doubles(x, longer), doubles(y), places, n, 1)

    return ratio


# The last is the time that the wait is 1 % of; where an H200 hid a part of the wait it is more: it cost 0.85 % on c24, nothing that could be seen on n4.
COPIES = {"c24": (24, 24, 1, 333, 777, 36), "c48": (48, 48, 1, 333, 777, 33), "c64": (64, 64, 1, 270, 480, 25), "n4": (64, 64, 4, 48, 48, 20),
          "big": (96, 96, 1, 720, 1280, 235)}


def put_copies(folder):
    """The file six times, and once with a wait of 1 % of each layer's time in front of everything a block does."""
    source = open(os.path.join(TOP, "kernels/variants/conv2d/wgmma_pixels.cu")).read()
    os.makedirs(folder)
    for name in "abcdef":
        open(os.path.join(folder, name + ".cu"), "w").write(source)
    cycles = "0"
    for c, _, n, h, _, us in COPIES.values():
        cycles = f"select(c == {c} and n == {n} and h == {h}, {round(0.01 * us * MAX_HZ / 1e6)}, {cycles})"
    at = source.index("{\n", source.index("conv_wgmma_pixels(const"))
    waits = "{\n    for (long long from = clock64(); clock64() - from < WAIT_CYCLES;)\n        ;\n"
    waiting = source[:at] + waits + source[at + 2:]
    waiting = waiting.replace("define:\n", f"define:\n  WAIT_CYCLES: {cycles}\n", 1)
    open(os.path.join(folder, "waits.cu"), "w").write(waiting)


def copies(b, a):
    ratio = estimator(b.work)
    folder = os.path.join(b.work, "copies")
    put_copies(folder)
    taken = chosen(a, COPIES)
    layers = "".join(f"  {n}: {{c: {c}, k: {k}, n: {batch}, h: {h}, w: {w}}}\n" for n, (c, k, batch, h, w, _) in taken.items())
    path = b.scenario("steady_copies", DEFAULTS % ", epilogue: [bias, relu]" + f"layers:\n{layers}variants: [cudnn]\n"
                      "time: {budget: 5 s per layer}\n")
    runs = []
    for p in range(a.processes):
        if b.time_left():
            rows = b.run(path, f"copies{p}", "--variants", f"my={folder}")
            if rows:
                runs.append(rows)
    told, found, of, pairs, all_seen = [], 0, 0, 0, 0
    print(f"{len(runs)} processes; by layer: median us and how far the six lie apart, pairs told apart, what the wait costs, how often it is found")
    by_process = [[0, 0] for _ in runs]
    for layer in taken:
        here, here_pairs, here_found, here_of, all_ratios, medians, rounds, seen, widths = 0, 0, 0, 0, [], [], [], 0, []
        for p, rows in enumerate(runs):
            t = {v.removeprefix("my/"): x for v, x in rows.get(layer, {}).items()}
            six = [t[n] for n in "abcdef" if n in t]
            medians.append([x["median_ns"] / 1e3 for x in six])
            for x, y in itertools.combinations(six, 2):
                e = ratio(x, y, rounds=a.rounds)
                out = e.low > 1 or e.high < 1
                here, here_pairs = here + out, here_pairs + 1
                widths.append(50 * (e.high - e.low))
                seen += (ratio(x, y, 1.01, a.rounds).low > 1) + (ratio(y, x, 1.01, a.rounds).low > 1)
                by_process[p][0] += out
                by_process[p][1] += 1
            for x in six:
                if "waits" not in t:
                    continue
                e = ratio(t["waits"], x, rounds=a.rounds)
                here_found, here_of = here_found + (e.low > 1), here_of + 1
                all_ratios += [math.log(i / j) for i, j in zip(t["waits"]["samples_ns"], x["samples_ns"])]
                rounds.append(min(t["waits"]["rounds"], a.rounds))
        if not here_pairs:
            without(runs, f"the copies on {layer}")
        apart = max(spread(m) for m in medians)
        fifth, all_ratios = len(all_ratios) // 5, sorted(all_ratios)
        cost = 100 * math.expm1(statistics.mean(all_ratios[fifth:len(all_ratios) - fifth])) if all_ratios else float("nan")
        print(f"{layer:4s} {statistics.median(m for ms in medians for m in ms):7.2f} us, apart {apart:.2f} % at most; told apart {100 * here / here_pairs:.1f} % of {here_pairs} (+-{statistics.median(widths):.2f} %); "
              f"1 % more is found in {50 * seen / here_pairs:.0f} %; the wait costs {cost:.2f} %, found in {100 * here_found / max(here_of, 1):.0f} % of {here_of}; "
              f"rounds {min(rounds, default=0)} to {max(rounds, default=0)}")
        found, of, pairs, all_seen = found + here_found, of + here_of, pairs + here_pairs, all_seen + seen
        told.append(here)
    shares = [100 * x / n for x, n in by_process if n]
    if shares:
        print(f"told apart {100 * sum(told) / pairs:.1f} % of {pairs} pairs; by process {' '.join('%.1f' % s for s in shares)}; 1 % more found in {50 * all_seen / pairs:.1f} %; the wait found in {100 * found / max(of, 1):.1f} % of {of}")
        print(conditions([t for rows in runs for layer in rows.values() for t in layer.values()]))


def torch_cudnn():
    done = subprocess.run([sys.executable, "-c", "import nvidia.cudnn as c; print(list(c.__path__)[0])"], capture_output=True, text=True)
    return os.path.join(done.stdout.strip(), "lib") if done.returncode == 0 else None


def plain(kernel):
    """A kernel's own name with its grid and block: one tool says it mangled, the other with its arguments."""
    name, sizes = kernel.split(" [", 1) if " [" in kernel else (kernel, "")
    if name.startswith("_Z"):
        at, parts = 3 if name.startswith("_ZN") else 2, []
        while at < len(name) and name[at].isdigit():
            digits = re.match(r"\d+", name[at:]).group()
            at += len(digits)
            parts.append(name[at:at + int(digits)])
            at += int(digits)
        name = parts[-1] if parts else name
    else:
        name = re.sub(r"^void ", "", name.split("<")[0].split("(")[0]).split("::")[-1]
    return f"{name} [{sizes}"


def peers(b, a):
    scenario, library = os.path.join(TOP, "scenarios", "peers.yaml"), torch_cudnn()
    theirs_only, ours_only = (["--layers", ",".join(a.layers)], ["--layer", ",".join(a.layers)]) if a.layers else ([], [])
    env = dict(os.environ, BENCH_LIBRARY_PATH=library) if library else None
    ours, theirs, said = {}, {}, ""  # by layer: (us, kernels) of each process
    for p in range(a.processes):
        if not b.time_left():
            break
        file, start = os.path.join(b.out, f"torch{p}.json"), time.time()
        if b.stored:
            file, failed = os.path.join(b.stored, f"torch{p}.json"), None
        else:
            done = subprocess.run([sys.executable, os.path.join(HERE, "torch_peers.py"), scenario, "-o", file, *theirs_only], capture_output=True, text=True)
            said, failed = (done.stdout.split("\n")[0], None) if done.returncode == 0 else ("", done.stderr[-400:])
        if failed:
            print(f"torch{p}: {failed}")
        for row in json.load(open(file))["rows"] if os.path.exists(file) else []:
            theirs.setdefault(row["layer"], []).append((statistics.median(row["samples_ns"]) / 1e3, [plain(k) for k in row.get("kernels") or [] if not k.startswith("Memset")]))
        torch_s = time.time() - start
        rows = b.run(scenario, f"peers{p}", "--only", "cudnn", "--budget", "1", *ours_only, env=env, counted=True)
        b.longest = max(b.longest, torch_s + time.time() - start)
        for layer, variants in (rows or {}).items():
            best = min((t for v, t in variants.items() if v.startswith("cudnn")), key=lambda t: t["median_ns"], default=None)
            if best:
                ours.setdefault(layer, []).append((best["median_ns"] / 1e3, [plain(k) for k in best["kernels"]]))
    print(f"{said or 'stored'}; bench with {library or 'the newest cuDNN'}; medians of {max(map(len, theirs.values()), default=0)} processes, us")
    if not set(theirs) & set(ours):
        without([{layer: {"bench's" for _ in v} for layer, v in ours.items()}, {layer: {"PyTorch's" for _ in v} for layer, v in theirs.items()}], "both")
    for layer in theirs:
        if layer in ours:
            peers_line(layer, theirs[layer], ours[layer])


def peers_line(layer, theirs, ours):
    """The layer's times where both launched the same kernels, and PyTorch's where it launched others."""
    kernels = ours[-1][1]
    same, mine = [us for us, k in theirs if k and k == kernels], [us for us, k in ours if k == kernels]
    y = statistics.median(mine)
    said = f"{layer:14s} bench {y:8.2f} (apart {spread(mine):.2f} %)"
    if same:
        x = statistics.median(same)
        said += f"  PyTorch {x:8.2f} (apart {spread(same):.2f} %)  bench/PyTorch {100 * (y / x - 1):+.2f} %, the same kernels in {len(same)} of {len(theirs)} processes"
    print(said)
    others = {}
    for us, k in theirs:
        if not k or k != kernels:
            others.setdefault(" + ".join(k) or "kernels that nobody saw", []).append(us)
    for k, times in others.items():
        x = statistics.median(times)
        print(f"{'':14s} in {len(times)} PyTorch ran {k}: {x:.2f}, bench/PyTorch {100 * (y / x - 1):+.2f} %")
    if others:
        print(f"{'':14s} bench ran {' + '.join(kernels) or 'kernels that nobody saw'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["alone", "copies", "peers"])
    parser.add_argument("--bench", default="bench")
    parser.add_argument("-o", "--output", default=".")
    parser.add_argument("--processes", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=110)
    parser.add_argument("--rounds", type=int, default=10**9)
    parser.add_argument("--layers", type=lambda text: text.split(","))
    parser.add_argument("--from", dest="stored", metavar="DIR")
    a = parser.parse_args()
    {"alone": alone, "copies": copies, "peers": peers}[a.what](Bench(a), a)


main()
