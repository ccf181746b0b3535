#!/bin/sh
# tests/gpu/fleet.sh BENCH OUT: what several GPUs of one host do together (issues 34 and 36). Prints, and writes to OUT/fleet.txt:
#   rate    cases an hour of SCENARIOS in a run on one GPU and in one on all, and their ratio, all with one seed and after a run that
#           fills the caches, so that none compiles more than another; the share of a core that the parent takes, the host's cores in use
#   alone   rows of LAYER on each GPU alone against all GPUs busy with the same rows, in turns, REPEATS times: the median of the ratios, the share of rows within 0.2 and 0.5 %
#           and the spread of those rows on every GPU: the spread of a row over the GPUs; OUT/every.md is the page
#   aa      ci/gate-experiment over all GPUs: identical rows that a gate told apart
# STEPS="rate alone aa"  GPUS=all  SCENARIOS="edsr sparsity_small"  LAYER=body_1,tail  REPEATS=5  BUDGET=0.2 (s a layer, of alone and every)
# TURNS=2: how often one GPU and all take turns  LIMIT=500: seconds for one run of bench  EXTRA_edsr='--layer body_1': options of a scenario
# TOTAL=SECONDS: of all steps together; what does not fit any more is left out and named. Two GPUs in 480 s: TURNS=1 REPEATS=3 BUDGET=0.1 TOTAL=480
# DEVICE=emu GPUS=0-1 SCENARIOS=smoke tests it without a GPU: emu has no times, so `alone` and `every` compare nothing then, and `aa` is left out.
set -u
bench=$(realpath "$1") out=${2:-fleet}
top=$(cd "$(dirname "$0")/../.." && pwd)
total=${TOTAL:-100000} started=$(date +%s)
gpus=${GPUS:-all} limit=${LIMIT:-500} device=${DEVICE:+-d $DEVICE} budget=${BUDGET:-0.2}
mkdir -p "$out"
out=$(realpath "$out")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
: >"$out/fleet.txt"
say() { echo "$*" | tee -a "$out/fleet.txt"; }
run() { # NAME SCENARIO OPTION...: its rows in $work/NAME, its words in OUT/NAME.log
    name=$1 scenario=$2
    shift 2
    left=$((started + total - $(date +%s)))
    [ $left -gt 5 ] || { say "$name: left out, TOTAL=$total is over"; return; }
    timeout -s INT -k 10 $((left < limit ? left : limit)) "$bench" run "$scenario" $device -o "$work/$name" -q "$@" >"$out/$name.log" 2>&1 || say "$name: exit $?: $(tail -n 2 "$out/$name.log" | tr '\n' ' ')"
}
# Ticks of CPU of a process alone, and of the host's cores.
cpu_of() { [ -r "/proc/$1/stat" ] && awk '{ sub(/.*\) /, ""); printf "%d ", $12 + $13 }' "/proc/$1/stat" && awk 'NR == 1 { print $2 + $3 + $4 + $7 + $8 }' /proc/stat; }
watched() { # NAME SCENARIO OPTION...: as run, with $parent and $cores
    began=$(date +%s.%N) last= busy=$(awk 'NR == 1 { print $2 + $3 + $4 + $7 + $8 }' /proc/stat)
    run "$@" & shell=$!
    while kill -0 $shell 2>/dev/null; do
        pid=$(pgrep -P $shell timeout) && pid=$(pgrep -P "$pid" bench) && now=$(cpu_of "$pid" 2>/dev/null) && last=$now
        sleep 0.5
    done
    wait $shell
    set -- ${last:-0 0} "$busy" "$began" "$(date +%s.%N)"
    figures=$(echo "$@" | awk '{ s = $5 - $4; printf "%.1f s; the parent took %.1f %% of a core, the host %.1f cores", s, $1 / s, ($2 - $3) / 100 / s }')
}
rate() {
    for scenario in ${SCENARIOS:-edsr sparsity_small}; do
        rm -f "$work/$scenario.one"
        extra=$(eval echo "\${EXTRA_$scenario:-}")
        run warm "$scenario" --gpus "$gpus" --seed 7 --no-report $extra
        for which in $(for turn in $(seq "${TURNS:-2}"); do echo one "$gpus"; done); do
            rm -rf "$work/rate"
            watched rate "$scenario" $([ "$which" = one ] || echo --gpus "$which") --seed 7 --no-report $extra
            "$bench" export -o "$work/rate" >"$work/rate.json" 2>/dev/null && [ -s "$work/rate.json" ] || continue
            python3 - "$work/rate.json" "$which" "$scenario" "$work/$scenario.one" "$figures" <<'P' | tee -a "$out/fleet.txt"
import json, sys
file, which, scenario, one, figures = sys.argv[1:]
d = json.load(open(file))
run, rows = d["run"], [r for r in d["rows"] if r["status"] != "planned"]
cases = len({r["case"] for r in rows})
over = {w: sum(r["where"] == w for r in rows) for w in sorted({r["where"] for r in rows})}
wall = run["wall_s"] - sum(run.get(k) or 0 for k in ("start_up_s", "compiling_s"))
rate = 3600 * cases / wall
ratio = ""
if which == "one":
    open(one, "a").write("%f\n" % rate)
else:
    base = [float(x) for x in open(one)]
    ratio = "; %.2f x of one" % (rate / base[-1])
where = "one GPU" if which == "one" else "--gpus " + which
print("rate %s, %s: %d cases, %d rows, %.0f cases an hour without start-up and compiling%s; %s; rows by GPU %s"
      % (scenario, where, cases, len(rows), rate, ratio, figures, list(over.values())))
P
        done
    done
}
compare() { # alone and every: FILES of one GPU's rows and of all, by repeat
    python3 - "$@" <<'P' | tee -a "$out/fleet.txt"
import glob, json, os, re, statistics, sys
def times(file, key):
    out = {}
    for r in json.load(open(file))["rows"]:
        for t in r.get("times") or []:
            if t.get("time_step") == -1 and t.get("median_ns"):
                gpu = re.search(r"gpu=(\d+)", r["case"])
                out[(gpu.group(1) if gpu else "", re.sub(r",?gpu=\d+", "", r["id"]), t["cache"], t["load"])] = (t["median_ns"], t["low_ns"], t["high_ns"])
    return out
folder = sys.argv[1]
ratios, spread, apart, pairs = {}, {}, 0, 0
for file in sorted(glob.glob(folder + "/busy*.json")):
    busy, number = times(file, 0), re.search(r"busy(\d+)", file).group(1)
    for one in glob.glob("%s/alone%s-*.json" % (folder, number)):
        for k, v in times(one, 0).items():
            if k in busy:
                ratios.setdefault(k, []).append(busy[k][0] / v[0])
    rows = {}
    for k, v in busy.items():
        rows.setdefault(k[1:], {})[k[0]] = v
    for k, by in rows.items():
        if len(by) > 1:
            m = [v[0] for v in by.values()]
            spread.setdefault(k, []).append(max(m) / min(m) - 1)
            for a in by.values():
                for b in by.values():
                    if a is not b:
                        pairs += 1
                        apart += a[1] > b[2] or b[1] > a[2]
if ratios:
    m = {k: statistics.median(v) for k, v in ratios.items()}
    off = [abs(v - 1) for v in m.values()]
    print("alone: %d rows x GPUs, %d repeats: median ratio busy/alone %.4f; %d within 0.2 %%, %d within 0.5 %%; largest:" % (len(m), max(map(len, ratios.values())), statistics.median(m.values()), sum(o <= 0.002 for o in off), sum(o <= 0.005 for o in off)))
    for k in sorted(m, key=lambda k: -abs(m[k] - 1))[:5]:
        print("  %.4f gpu %s %s %s %s" % ((m[k],) + k))
else:
    print("alone: no times to compare")
if spread:
    m = {k: statistics.median(v) for k, v in spread.items()}
    print("every: %d rows on all GPUs: median spread %.2f %%, largest %.2f %%; %.1f %% of pairs of GPUs differ by more than their intervals" % (len(m), 100 * statistics.median(m.values()), 100 * max(m.values()), 100 * apart / max(pairs, 1)))
P
}
alone() {
    layer=${LAYER:-body_1,tail} scenario=$(echo ${SCENARIOS:-edsr} | cut -d' ' -f1)
    set -- $scenario --on-every-gpu -l "$layer" --budget "$budget" --no-counters
    run busy0 "$@" --gpus "$gpus" --no-report
    numbers=$("$bench" export -o "$work/busy0" | python3 -c 'import json, re, sys; print(*sorted({m.group(1) for r in json.loads(sys.stdin.read() or "{\"rows\":[]}")["rows"] for m in [re.search(r"gpu=(\d+)", r["case"])] if m}))')
    [ -n "$numbers" ] || { say "alone: left out, no rows"; return; }
    rm -rf "$work/busy0" "$work/json"
    mkdir "$work/json"
    for repeat in $(seq "${REPEATS:-5}"); do
        for k in $numbers; do
            run "alone$repeat-$k" "$@" --gpus "$k" --no-report
            "$bench" export -o "$work/alone$repeat-$k" >"$work/json/alone$repeat-$k.json"
        done
        run "busy$repeat" "$@" --gpus "$gpus"
        "$bench" export -o "$work/busy$repeat" >"$work/json/busy$repeat.json"
    done
    "$bench" report -o "$work/busy${REPEATS:-5}" >/dev/null 2>&1
    cp "$work/busy${REPEATS:-5}"/*.md "$out/every.md" 2>/dev/null || find "$work/busy${REPEATS:-5}" -name '*.md' -exec cp {} "$out/every.md" \;
    compare "$work/json"
}
aa() {
    [ -z "${DEVICE:-}" ] || { say 'aa: left out on emu'; return; }
    left=$((started + total - $(date +%s)))
    limit=$((left < limit ? left : limit))
    [ $limit -gt 120 ] || { say "aa: left out, TOTAL=$total is over"; return; }
    (cd "$out" && GPUS=$gpus timeout "$limit" sh "$top/ci/gate-experiment" "$bench" -s 3 -r 1 -e 2 -t $((limit - 100)) -o gate) 2>&1 | tee -a "$out/fleet.txt"
}
for step in ${STEPS:-rate alone aa}; do $step; done
