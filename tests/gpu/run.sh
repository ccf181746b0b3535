#!/bin/sh
# tests/gpu/run.sh BENCH: everything that needs a GPU, in one go; results under $OUT. Called on the GPU machine after `sh .carry/unpack DIR`.
#   doctor, the adversaries, EDSR and the notebook timed, PyTorch's times beside bench's, compute-sanitizer over each variant once, the hardware counters of
#   known kernels, counted again and again, by source line, refused, against emu's and against ncu's.
set -u
bench=$1
here=$(cd "$(dirname "$0")/../.." && pwd)
out=${OUT:-/tmp/bench-gpu}
db=/tmp/bench-run
mkdir -p "$out"
step() { printf '\n== %s (%s s)\n' "$1" "$(($(date +%s) - began))"; }
began=$(date +%s)
only=${STEPS:-doctor adversaries smoke edsr notebook peers sanitizer counters counting source choices refused calibrate ncu}
want() { case " $only " in *" $1 "*) step "$1" ;; *) return 1 ;; esac; }

want doctor && { "$bench" doctor -o $db; nvidia-smi -q -d CLOCK,POWER,PERFORMANCE | head -60 >"$out/nvidia-smi.txt"; }
want adversaries && {
    PATH=$(dirname "$bench"):$PATH sh "$here/tests/adversaries/check" cuda:0 $db-bad
    echo "exit $?"
}
want smoke && { "$bench" run smoke --device cuda:0 -o $db --budget 3; echo "exit $?"; }
want edsr && { timeout 400 "$bench" run edsr --device cuda:0 -o $db --budget "${BUDGET:-6}"; echo "exit $?"; }
want notebook && { timeout 200 "$bench" run notebook --device cuda:0 -o $db --budget 4; echo "exit $?"; }
want peers && {
    "$bench" run peers --device cuda:0 -o $db --budget 4 --no-report
    "$bench" export peers -o $db --format json --to "$out/peers.json"
    python3 "$here/tests/gpu/torch_peers.py" "$here/scenarios/peers.yaml" "$out/peers.json" | tee "$out/torch.txt"
}
want sanitizer && sh "$here/tests/gpu/sanitize.sh" "$bench" "$out/sanitizer" # BUNDLES= where there is no compiler
# Built here: COUNTERS, the program of counters.c, and FAKE, a folder with the stand-in libcupti.so.13 (the heads of both files say how).
want counters && [ -x "${COUNTERS:-}" ] && "$COUNTERS" "$here/tests/gpu/counters.cu" | tee "$out/counters.txt" | grep -E '^(WRONG|all groups|sweep)|wrong$'
# Counting outlives cases whose modules are gone: it died about once in eight such counts before sessions rested. The stack of one that dies is kept.
want counting && {
    for i in 1 2 3 4 5; do BENCH_BACKTRACE=$out "$bench" run smoke --device cuda:0 -o $db-counting$i --budget 0.02 --no-report -q 2>&1 | tee "$out/counting$i.txt" | tail -n 1; done
    ! grep -l 'died at' "$out"/counting?.txt
}
# Samples and executed instructions by source line, of two cases in one worker.
want source && {
    "$bench" run "$here/tests/gpu/compare.yaml" --only 'cudnn,mma_sync,tiled_halo,d2s_native,d2s_transpose_2pass' --device cuda:0 --source -o $db-source --budget 0.05 --no-report -q
    "$bench" show compare/body mma_sync -o $db-source >"$out/source.txt"
    grep -c 'long_scoreboard.*; ran ' "$out/source.txt"
}
# A rule's choices: measured by the first run, stored for the second, by its conditions with --choose rule.
want choices && {
    python3 "$here/ci/random-layers" 1 6 --wide >"$out/choices.yaml"
    for how in measured stored rule; do
        [ $how = rule ] && by="--choose rule" || by=
        "$bench" run "$out/choices.yaml" --device cuda:0 -o $db-choices --budget 0.05 --no-counters --no-report -q $by \
            >"$out/choices-$how.txt" 2>&1
        "$bench" export random_1 --format csv -o $db-choices | python3 -c '
import csv, sys
rows = [r for r in csv.DictReader(sys.stdin) if r["variant"].startswith("conv2d/auto") and r["status"] == "ok"]
print(sys.argv[1], sum(r["chosen_by"] == sys.argv[1] for r in rows), "of", len(rows))' $how
    done
}
want refused && [ -f "${FAKE:-}/libcupti.so.13" ] && sh "$here/tests/gpu/refused.sh" "$bench" "$FAKE" | tee "$out/refused.txt" | tail -n 1
want calibrate && { # both devices into one database; the table is reports/emu-calibration.md
    for device in emu:GH100 cuda:0; do
        (cd "$here" && "$bench" run tests/gpu/calibration/calibrate.yaml --variants calibration=tests/gpu/calibration --device $device \
            --metrics "$("$bench" counters --pair-metrics)" -o $db-calibrate --budget 0.05 --no-report -q)
    done
    "$bench" report calibrate --calibration -o $db-calibrate --to "$out/emu-calibration.md"
}
want ncu && [ -x "${COUNTERS:-}" ] && python3 "$here/tests/gpu/ncu_compare.py" "$bench" "$COUNTERS" "$out/ncu"
for s in smoke edsr notebook; do "$bench" export $s -o $db --format json --to "$out/$s.json" 2>/dev/null; done
rm -f $db/bench.db-wal $db/bench.db-shm
cp $db/bench.db "$out/bench.db" 2>/dev/null
[ -d $db ] && tar -C $db -czf "$out/reports.tar.gz" --exclude bench.db --exclude dump . 2>/dev/null
step done
