#!/bin/sh
# tests/gpu/refused.sh BENCH FAKE: a run on a GPU whose counters are refused, by a stand-in libcupti (tests/fake/cupti.cpp, built into FAKE/libcupti.so.13)
# that fails with each code of CUPTI. The run goes on with times, each row says the sentence, --require-counters exits 5. Prints `ok` or `WRONG` a check.
set -u
bench=$1 fake=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export BENCH_LIBRARY_PATH="$fake${BENCH_LIBRARY_PATH:+:$BENCH_LIBRARY_PATH}"
wrong=0
check() { # TEXT COMMAND...
    text=$1
    shift
    if "$@"; then printf 'ok     %s\n' "$text"; else printf 'WRONG  %s\n' "$text"; wrong=$((wrong + 1)); fi
}
run() { "$bench" run smoke --device cuda:0 --layer to_nhwc --budget 0.05 --no-report -q -o "$dir/db" "$@" >"$dir/out" 2>"$dir/err"; }
said() { "$bench" export smoke -o "$dir/db" --format json | grep -q "$1"; }
# The machine refuses: every code that is the machine's.
for code in ${CODES:-2 8 9 11 12 14 15 23 26 27 33 34 35 36 38 39 40 41 42 43 44 45}; do
    for call in cuptiProfilerInitialize cuptiRangeProfilerEnable; do
        run_with="$call=$code"
        FAKE_CUPTI=$run_with run
        check "$run_with: the run goes on" test $? = 0
        check "$run_with: rows say why" said "CUPTI error $code, "
        check "$run_with: a note with the cure" grep -q '^hint: ' "$dir/err"
        [ -z "${QUICK:-}" ] || break
    done
done
FAKE_CUPTI=cuptiRangeProfilerEnable=35 run --require-counters
check 'required and refused: exit 5' test $? = 5
FAKE_CUPTI_SUPPORT=vGpu run --require-counters
check 'required on a virtual GPU: exit 5' test $? = 5
run --no-counters
check '--no-counters: nobody asks CUPTI' test $? = 0 -a "$(grep -c counters "$dir/err")" = 0
run --metrics sm__no_such.sum
check 'a metric that the chip lacks: exit 2' test $? = 2
printf '%d wrong\n' $wrong
[ $wrong = 0 ]
