#!/bin/sh
# tests/gpu/sanitize.sh BENCH [OUT]: compute-sanitizer over every shipped kernel on small odd shapes; one line a variant, scenario and tool in OUT/sanitizer.csv,
# the table in OUT/sanitizer.md, what was reported in OUT/SCENARIO-VARIANT-TOOL.log. Exit 1 if anything was, or if a variant did not run.
#   TOOLS="memcheck racecheck synccheck"  JOBS=8  LIMIT=40 seconds for a process  DEADLINE: none begins later ONLY=GLOB of SCENARIO/OP/VARIANT  BUNDLES=DIR with SCENARIO.bundle of --bundles
# sanitize.sh BENCH --bundles DIR: compiles them there, for a machine without the pinned compiler; needs no GPU.
# initcheck is left out: bench fills every buffer before a launch (data, canary, poison), so that the tool would see no unwritten byte. Who reads poison is
# wrong in `bench run`, and on emu a read of what nobody wrote is an error at its line.
set -u
bench=$(realpath "$1")
here=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/home"

# SCENARIO FILE: what the tests run on emu, so that shapes are written once.
scenarios="dense scenarios/dense_small.yaml
few_in tests/cli/few-channels/few_in.yaml
few_out tests/cli/few-channels/few_out.yaml
deconv tests/cli/transposed/t.yaml
upsample tests/cli/upsample-conv/upsample_conv.yaml
sparse tests/cli/sparse-kernels/kernels.yaml
contract tests/cli/sparse-contract/contract.yaml
changes tests/cli/changes/changes.yaml
volumes tests/cli/conv3d/volumes.yaml
chains tests/cli/chains-resident/net.yaml
halves tests/cli/sequences/halves.yaml
fragment tests/cli/sequences/fragment.yaml"
echo "$scenarios" | while read -r name file; do
    case $name in # the networks with every kernel that takes links together
    chains) sed 's/^variants:.*/variants: [conv2d\/naive, chain\/resident: {KB: 16}, chain\/resident_bulk: {KB: 16, CLUSTER: [1, 2]}, chain\/resident_peers: {CHANNELS: 16}]/' "$here/$file" ;;
    *) sed '/^ *- .*cudnn[a-z0-9_]*$/d' "$here/$file" ;;
    esac >"$work/$name.yaml"
done
if [ "${2:-}" = --bundles ]; then
    mkdir -p "$3"
    for file in "$work"/*.yaml; do
        "$bench" compile "$file" --chip H200 --bundle "$3/$(basename "$file" .yaml).bundle" >"$work/said" || { tail -n 5 "$work/said"; exit 1; }
    done
    exit
fi

out=$(realpath -m "${2:-/tmp/bench-sanitizer}")
mkdir -p "$out"
# Without the library: its kernels are not ours to check, and under these tools they take minutes. bench finds it in .deps and beside a python3.
ln -s "$here"/[a-z]* "$work/home"
export BENCH_HOME="$work/home" BENCH_LIBRARY_PATH="$here/.deps/nvidia/cu13/lib" PATH=/usr/local/cuda/bin:/usr/bin:/bin
unset VIRTUAL_ENV

# One line a process: SCENARIO TOOL VARIANT; the slow tool first.
echo "$scenarios" | while read -r name file; do
    case $name in halves | fragment) echo "$name sequence/delta" ;;
    *) "$bench" plan "$work/$name.yaml" --device cuda --rows |
        awk -v s="$name" '/^    [a-z0-9_]*\/[a-z]/ && !/ -- / && !/cudnn|\/copy|chain\/best|chain\/library/ {sub(/\[.*/, ""); print s, $1}' | sort -u ;;
    esac
done | while read -r name variant; do
    case $name/$variant in ${ONLY:-*}) echo "$name $variant" ;; esac
done >"$work/pairs"
for tool in ${TOOLS:-racecheck memcheck synccheck}; do sed "s/ / $tool /" "$work/pairs"; done >"$work/jobs"

cat >"$work/job" <<'JOB'
. "$here/tests/lib.sh"
name=$1 tool=$2 variant=$3
log=$out/$name-$(echo "$variant" | tr / _)-$tool.log
dir=$work/$name-$(echo "$variant" | tr / _)-$tool
mkdir -p "$dir"
if [ $(($(date +%s) - begun)) -ge "${DEADLINE:-100000}" ]; then echo "$name,$variant,$tool,0,,,0,not begun: ${DEADLINE} s are over"; exit; fi
verb=run; set -- --only "$variant" --no-time --no-counters --no-report
case $variant in chain/*) set -- --only "conv2d/naive,$variant" --no-time --no-counters --no-report ;; esac # naive runs the links that it leaves
[ "$variant" = sequence/delta ] && verb=sequence && set --
[ -f "${BUNDLES:-/none}/$name.bundle" ] && set -- "$@" --bundle "$BUNDLES/$name.bundle"
case $tool in racecheck) how='--racecheck-report all' ;; *) how= ;; esac
began=$(date +%s)
timeout -s INT -k 5 "${LIMIT:-40}" compute-sanitizer --tool "$tool" $how --log-file "$log" "$bench" $verb "$work/$name.yaml" "$@" --device cuda:0 --in-process -o "$dir" >"$dir/said" 2>&1
rc=$?
rows=$("$bench" export "$(sed -n 's/^scenario: *//p' "$work/$name.yaml")" -o "$dir" --format csv 2>/dev/null | csv_columns variant status |
    awk -F '\t' -v v="$variant" '$2 == "ok" && ($1 == v || v == "sequence/delta") {n++} END {print n + 0}')
found=$(sed -n 's/.*RACECHECK SUMMARY: \([0-9]*\) hazards.*/\1/p; s/.*ERROR SUMMARY: \([0-9]*\) error.*/\1/p' "$log" 2>/dev/null | tail -n 1)
[ "$rc" -ge 124 ] || [ "$rows" = 0 ] && found=
first=$(sed -n 's/^=* *\(Error: .*\|Warning: .*\|Invalid .*\|Barrier .*\|Program hit .*\)$/\1/p' "$log" 2>/dev/null | grep -v 'Program hit CUDA_ERROR_INVALID_VALUE' | head -n 1 | tr -d ',"')
[ -n "$found" ] || first="no result after $(($(date +%s) - began)) s (exit $rc) $(tail -n 1 "$dir/said" | cut -c1-80 | tr -d ',"')"
printf '%s,%s,%s,%s,%s,%s,%s,%s\n' "$name" "$variant" "$tool" "$rows" "$found" "$rc" "$(($(date +%s) - began))" "$first"
[ "$found" = 0 ] && rm -f "$log" || cp "$dir/said" "${log%.log}.txt"
rm -rf "$dir"
JOB
begun=$(date +%s)
export out work bench here begun
xargs -P "${JOBS:-8}" -L 1 sh "$work/job" <"$work/jobs" >"$work/rows"
{ echo scenario,variant,tool,rows_verified,findings,exit,seconds,first; sort "$work/rows"; } >"$out/sanitizer.csv"

# A variant that no scenario runs is a hole in this check, not a clean kernel.
(cd "$here/kernels/variants" && ls ./*/*.cu) | sed 's/^\.\///; s/\.cu$//' | grep -v '/cudnn\|/copy$' | while read -r variant; do
    grep -q ",$variant," "$out/sanitizer.csv" || echo "$variant"
done >"$work/missing"
[ -n "${ONLY:-}" ] && : >"$work/missing"
{
    echo '# compute-sanitizer over every shipped kernel'
    echo
    echo "Written by \`sh tests/gpu/sanitize.sh\` on $(date -u +%Y-%m-%d); $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -n 1 | sed 's/, / · driver /'); $(compute-sanitizer --version | sed -n 's/.*Version \([0-9.]*\).*/compute-sanitizer \1/p' | head -n 1); $("$bench" --version | head -n 1)."
    echo 'Cells: findings of the tool over the rows that ran, each verified twice against the CPU in the same process; `-` where the tool gave no result in its time.'
    echo
    awk -F, 'NR == 1 {next}
        {key = $2 " " $1; if (!(key in seen)) {seen[key] = 1; order[++n] = key} cell[key, $3] = ($5 == "" ? "-" : $5) " (" $4 " rows)"; tools[$3] = 1}
        END {split("memcheck racecheck synccheck initcheck", t, " "); line = "| variant | scenario |"; rule = "|---|---|"
            for (i = 1; i <= 4; i++) if (t[i] in tools) {line = line " " t[i] " |"; rule = rule "---|"}
            print line; print rule
            for (k = 1; k <= n; k++) {split(order[k], w, " "); line = "| " w[1] " | " w[2] " |"
                for (i = 1; i <= 4; i++) if (t[i] in tools) line = line " " cell[order[k], t[i]] " |"
                print line}}' "$out/sanitizer.csv"
    awk -F, 'NR > 1 && $5 != 0 && !seen[$2, $3]++ {if (!head++) print "\nWhat was said first:\n"; print "- " $2 ", " $3 ": " $8}' "$out/sanitizer.csv"
    [ -s "$work/missing" ] && echo && echo "Not run: $(tr '\n' ' ' <"$work/missing")"
} >"$out/sanitizer.md"
awk -F, 'NR > 1 {n++; rows += $4; if ($5 != 0) bad++} END {printf "%d processes, %d rows verified, %d with findings or without a result\n", n, rows, bad; exit bad > 0}' "$out/sanitizer.csv" && [ ! -s "$work/missing" ]
