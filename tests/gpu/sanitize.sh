#!/bin/sh
# tests/gpu/sanitize.sh BENCH [OUT]: compute-sanitizer over every shipped kernel, on the small odd shapes that the tests run on emu.
#   OUT/sanitizer.md     which variant ran how many rows under which tool, and what was found
#   OUT/JOB-TOOL.log     what the tool said where it found something; OUT/JOB-TOOL.txt what bench printed
#   TOOLS="racecheck memcheck synccheck"  LANES=1 processes at once (a run of bench waits for another that has the GPU)  LIMIT=60 seconds for one
#   DEADLINE: seconds after which none begins  ONLY=GLOB of a job's name  BUNDLES=DIR of what --bundles wrote
# sanitize.sh BENCH --bundles DIR: compiles the kernels there, LANES jobs at once, for a machine without the pinned compiler; needs no GPU.
# Exit 1 if a tool found something, a job gave no result, or a variant ran in none.
# initcheck is left out: bench fills every buffer before a launch (data, canary, poison), so that the tool sees no unwritten byte. A kernel that uses poison
# is wrong in `bench run`, and on emu a read of what nobody wrote is an error at its line.
set -u
bench=$(realpath "$1")
here=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/home" "$work/none" "$work/rows"

# NAME FILE [LAYERS]: one process each.
cat >"$work/jobs" <<'JOBS'
every_body ci/gate/every_variant.yaml body,block,wide,wide_d2s
every_conv ci/gate/every_variant.yaml few_in,few_out,chw,f32,f32_chw,f32_one,tf32,i8
every_more ci/gate/every_variant.yaml first,second,dense_1,dense_2,depth,volume,deconv,deconv_few,resize
every_moved ci/gate/every_variant.yaml up,bilinear,bilin_chw,shuffle,unshuffle,turn,turn_rgb,add,concat,densify,truncate,pool,average,change,point,point_mask,truncate_mask
every_file ci/gate/every_variant.yaml softmax,rmsnorm,reduce,transpose,gemm
stages tests/gpu/sanitize_stages.yaml
chains tests/cli/chains-resident/net.yaml
masked tests/cli/chains-masked/nets.yaml
halves tests/cli/sequences/halves.yaml noise
fragment tests/cli/sequences/fragment.yaml exact,held,ends
deconv tests/cli/transposed/t.yaml
upsample tests/cli/upsample-conv/upsample_conv.yaml a,b,c,d,e,g,h
doubled tests/cli/upsample-conv/transposed.yaml a,b,c,e,f
few_in tests/cli/few-channels/few_in.yaml
few_out tests/cli/few-channels/few_out.yaml a,b,c,d,e,f,g
dense_16 scenarios/dense_small.yaml c16,c64,c80
dense_wide scenarios/dense_small.yaml k320,c128,d2s_dcr
dense_more tests/gpu/sanitize_dense.yaml
dense_shape scenarios/dense_small.yaml bf,k1,k5,k35,stride2,dil
dense_few scenarios/dense_small.yaml few_in,few_in2,few_out,i8,i8_k5
dense_chw scenarios/dense_small.yaml chw,chw_odd,d2s,group,depth,depth_d2
dense_32 scenarios/dense_small.yaml f32,f32_chw,f32_one,f32_vec,tf32
moved scenarios/dense_small.yaml up,up_chw,bilinear,bilin_chw,shuffle,shuffle3,shuffle_rgb,unshuffle_hwc,unshuffle,turn,back,turn_rgb,turn_odd
more tests/gpu/sanitize.yaml
changes tests/cli/changes/changes.yaml
volumes tests/cli/conv3d/volumes.yaml
contract tests/cli/sparse-contract/contract.yaml
sparse_16 tests/cli/sparse-kernels/kernels.yaml body,batch,narrow,deep
sparse_shape tests/cli/sparse-kernels/kernels.yaml one,five,half,stride,strided,far,three,tf32
sparse_32 tests/cli/sparse-kernels/kernels.yaml f32,seven,dilated,depth,deconv,deconv6,up,act
JOBS
# The scenarios as they are, without the library's rows; of the networks every kernel that takes links together.
while read -r name file layers; do
    case $name in
    chains) sed 's/^variants:.*/variants: [conv2d\/naive, chain\/resident: {KB: 16}, chain\/resident_bulk: {KB: 16, CLUSTER: [1, 2]}, chain\/resident_peers: {CHANNELS: 16}]/' "$here/$file" ;;
    *) sed '/^ *- .*cudnn[a-z0-9_]*$/d' "$here/$file" ;;
    esac >"$work/$name.yaml"
done <"$work/jobs"

if [ "${2:-}" = --bundles ]; then
    cat >"$work/compile" <<'JOB'
"$bench" compile "$work/$1.yaml" ${3:+--layer "$3"} --chip H200 --bundle "$to/$1.bundle" >"$work/$1.said" 2>&1 && exit
tail -n 5 "$work/$1.said"
exit 1
JOB
    export bench work to="$3"
    mkdir -p "$to"
    xargs -P "${LANES:-1}" -L 1 sh "$work/compile" <"$work/jobs"
    exit
fi

out=$(realpath -m "${2:-/tmp/bench-sanitizer}")
mkdir -p "$out"
# The library's kernels are not ours to check, and under these tools they take minutes: bench finds one that has none of its functions.
ln -s "$(ldd "$bench" | sed -n 's/.*=> \(.*libm\.so[^ ]*\).*/\1/p')" "$work/none/libcudnn.so.9"
ln -s "$here"/[a-z]* "$work/home"
export BENCH_HOME="$work/home" BENCH_LIBRARY_PATH="$work/none:$here/.deps/nvidia/cu13/lib"

cat >"$work/job" <<'JOB'
. "$here/tests/lib.sh"
tool=$1 name=$2 layers=${4:-}
case $name in ${ONLY:-*}) ;; *) exit ;; esac
result() { echo "$name,$tool,$rows,$1,$(($(date +%s) - begun)),$2" >"$work/rows/$name-$tool"; }
rows=0 begun=$(date +%s)
[ "$begun" -lt $((started + ${DEADLINE:-1000000})) ] || { result '' "not begun, $DEADLINE s are over"; exit; }
log=$out/$name-$tool.log said=$out/$name-$tool.txt dir=$work/$name-$tool
set -- -o "$dir" --device cuda:0 --in-process ${layers:+--layer "$layers"}
set -- "$@" --no-time --no-counters --no-report
[ -f "${BUNDLES:-/none}/$name.bundle" ] && set -- "$@" --bundle "$BUNDLES/$name.bundle"
[ "$tool" = memcheck ] && barriers= || barriers='--num-cuda-barriers 65536'
timeout -k 3 "${LIMIT:-60}" compute-sanitizer --tool "$tool" $barriers --log-file "$log" \
    sh -c 'echo $$ >"$0"; exec "$@"' "$dir.pid" "$bench" run "$work/$name.yaml" "$@" >"$said" 2>&1
rc=$?
[ "$rc" -lt 124 ] || kill -9 "$(cat "$dir.pid")" # the tool lets go of what it ran, which would go on beside the next
"$bench" export "$(sed -n 's/^scenario: *//p' "$work/$name.yaml")" -o "$dir" --format csv 2>/dev/null | csv_columns variant status op | awk -F '\t' '
    $2 == "ok" {parts = split($3 == "sequence" ? "sequence/delta" : $1, part, / \+ /); for (i = 1; i <= parts; i++) n[part[i]]++} END {for (v in n) print v, n[v]}' >"$work/rows/$name-$tool.variants"
rows=$(awk '{n += $2} END {print n + 0}' "$work/rows/$name-$tool.variants") # a row of two steps is a row of both variants
found=$(sed -n 's/.*RACECHECK SUMMARY: \([0-9]*\) hazards.*/\1/p; s/.*ERROR SUMMARY: \([0-9]*\) error.*/\1/p' "$log" | tail -n 1)
if [ -z "$found" ]; then
    result '' "ended after ${LIMIT:-60} s (exit $rc); $(grep -c 'Error: ' "$log") errors until then"
elif [ "$found" = 0 ] && [ "$rows" = 0 ]; then
    result '' "verified no row: $(tail -n 1 "$said" | tr -d ,)"
elif [ "$found" = 0 ]; then
    result 0 "$(grep -m1 -o 'Warning: .*' "$log" | tr -d ,)"
    rm -f "$log" "$said"
else
    result "$found" "$(sed -n 's/^=* *\(Error: .*\|Warning: .*\|Invalid .*\|Barrier .*\|Divergent .*\|Program hit .*\)$/\1/p' "$log" | head -n 1 | tr -d ,)"
fi
JOB
started=$(date +%s)
export out work bench here started
for tool in ${TOOLS:-racecheck memcheck synccheck}; do sed "s/^/$tool /" "$work/jobs"; done | xargs -P "${LANES:-1}" -L 1 sh "$work/job"

# A variant that no job ran is a hole in this check, not a clean kernel.
tools=$(echo ${TOOLS:-racecheck memcheck synccheck})
cat "$work"/rows/*check | sort >"$work/results"
for file in "$work"/rows/*.variants; do
    tool=${file##*-} && tool=${tool%.variants}
    grep -q ",$tool,[0-9]*,[0-9]" "${file%.variants}" && sed "s/$/ $tool/" "$file"
done >"$work/ran"
(cd "$here/kernels/variants" && ls ./*/*.cu) | sed 's/^\.\///; s/\.cu$//' | grep -v '/cudnn\|/copy$' >"$work/shipped"
echo sequence/delta >>"$work/shipped"
{
    echo '# compute-sanitizer over every shipped kernel'
    echo
    echo "\`sh tests/gpu/sanitize.sh\` wrote this page on $(date -u +%Y-%m-%d); $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -n 1 | sed 's/, / · driver /'); compute-sanitizer $(compute-sanitizer --version | sed -n 's/.*Version \([0-9.]*\).*/\1/p' | head -n 1); bench $("$bench" --version | sed -n 's/^bench *//p' | head -n 1)."
    echo
    echo '| job | tool | rows verified | findings | s | |'
    echo '|---|---|---|---|---|---|'
    awk -F, '{printf "| %s | %s | %s | %s | %s | %s |\n", $1, $2, $3, $4 == "" ? "-" : $4, $5, $6}' "$work/results"
    echo
    echo "Rows of each variant in jobs with a result, by tool. bench compares each row with the CPU in the same process, and launches it several times."
    echo
    echo "| variant | $(echo "$tools" | sed 's/ / | /g') |"
    echo "|---|$(echo "$tools" | sed 's/[a-z]* */---|/g')"
    awk -v tools="$tools" 'FILENAME ~ /ran$/ {n[$1, $3] += $2; next}
        {line = "| " $1 " |"; count = split(tools, t, " "); for (i = 1; i <= count; i++) line = line " " (n[$1, t[i]] ? n[$1, t[i]] : "-") " |"; print line}' "$work/ran" "$work/shipped"
} >"$out/sanitizer.md"
missing=$(awk 'FILENAME ~ /ran$/ {seen[$1] = 1; next} !($1 in seen)' "$work/ran" "$work/shipped" | tr '\n' ' ')
[ -z "$missing" ] || echo "in no job: $missing"
awk -F, '{rows += $3; if ($4 == "") none++; else found += $4} END {printf "%d jobs, %d rows verified, %d findings, %d without a result\n", NR, rows, found, none; exit found + none > 0}' \
    "$work/results" && [ -z "$missing" ]
