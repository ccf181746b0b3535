# A worker that is killed while it runs frames leaves that row to be tried again, with the frame it was at; after Ctrl-C in the next one --resume keeps the rows that are
# done and runs the rest, to the same results as a run that was left alone.
need nvrtc
cat >frames.yaml <<X
scenario: frames
defaults: {op: conv2d, n: 1, h: 64, w: 64, kernel: 3, stride: 1, pad: 1, dtype: f32, layout: NHWC}
layers: {a: {c: 8, k: 8, epilogue: [bias, relu]}, b: {c: 8, k: 8, epilogue: [bias]}}
sequences: {s: {of: [a, b], frames: 50, changes: {pattern: box, density: 0.1}, threshold: 0.01, truncate: {max: 0.01}, bound: 0.1}}
variants: [conv2d/naive, {conv2d/sparse_naive: {ROWS: [1, 4, 8]}}]
X
rows() { bench export -o "$1" --format csv | csv_columns id status check state_bytes sequence.output_bits sequence.density_layer2 | sort; }
# Without a terminal there is no line of progress: the moment is taken from the rows that are stored.
stored() { bench export -o out --format csv 2>/dev/null | csv_columns id | wc -l; }
until_stored() { # COUNT
    for i in $(seq 600); do
        [ "$(stored)" -lt "$1" ] || return 0
        kill -0 $pid 2>/dev/null || return 1
        sleep 0.05
    done
    return 1
}
begun=$(date +%s%N)
bench run frames.yaml --layer s --device emu -o whole --no-report >log 2>&1 || { tail -n 5 log >&2; fail 'left alone'; }
pause=$(awk -v ns=$(($(date +%s%N) - begun)) 'BEGIN { print ns / 8e9 }') # the middle of one of four rows, most of which is frames
bench run frames.yaml --layer s --device emu -o out --no-report >log 2>&1 &
pid=$!
until_stored 1 || fail "the first row: $(tail -n 2 log)"
sleep "$pause"
hits=0
for child in $(cat "/proc/$pid/task/$pid/children"); do
    if grep -qa worker "/proc/$child/cmdline"; then kill -KILL "$child" && hits=$((hits + 1)); fi
done
[ $hits = 1 ] || fail "$hits workers"
until_stored 2 || fail "the row of a worker that was killed: $(tail -n 2 log)"
sleep "$pause"
kill -INT $pid
status=0
wait $pid || status=$?
[ $status = 130 ] || { tail -n 3 log >&2; fail "exit status $status instead of 130"; }
bench export -o out --format csv | csv_columns status reason | grep '^planned' >dead || fail "no row waits: $(rows out)"
# pixels: the moment before a frame, in which its input is drawn
grep -qE "during '(frame [0-9]*/50|pixels)'.*signal 9" dead || fail "where it was killed: $(cat dead)"
status=0
bench run frames.yaml --layer s --device emu -o out --no-report --resume >log 2>&1 || status=$?
[ $status = 0 ] || { tail -n 5 log >&2; fail "exit status $status on resume"; }
grep -q ': 1 row kept, 0 repeated .*, 3 unfinished or not started' log || fail "resume: $(grep resume log)"
[ "$(bench list runs -o out | wc -l)" = 1 ] || fail "more than one run: $(bench list runs -o out)"
rows whole | cut -f 1 >whole.ids; rows out | cut -f 1 | diff whole.ids - >&2 || fail 'rows lost or doubled'
rows whole | grep '	ok	' >whole.ok; rows out | grep '	ok	' | comm -23 - whole.ok >other
[ ! -s other ] || { cat other >&2; fail 'another result'; }
