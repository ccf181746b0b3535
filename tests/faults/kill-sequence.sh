# If a worker is killed while it runs frames, its row is tried again, and the reason names the frame; after Ctrl-C in the next run --resume
# keeps the finished rows and runs the rest, with the results of an undisturbed run.
need nvrtc
need terminal
cat >frames.yaml <<X
scenario: frames
defaults: {op: conv2d, n: 1, h: 64, w: 64, kernel: 3, stride: 1, pad: 1, dtype: f32, layout: NHWC}
layers: {a: {c: 8, k: 8, epilogue: [bias, relu]}, b: {c: 8, k: 8, epilogue: [bias]}}
sequences: {s: {of: [a, b], frames: 80, changes: {pattern: box, density: 0.1}, threshold: 0.01, truncate: {max: 0.01}, bound: 0.1}}
variants: [conv2d/naive, {conv2d/sparse_naive: {ROWS: [1, 4, 8]}}]
X
rows() { bench export -o "$1" --format csv | csv_columns id status check state_bytes sequence.output_bits sequence.density_layer2 | sort; }
# The moment is taken from the line of progress, which only a terminal gets.
until_frames() { # ROWS: it was drawn inside a frame with so many rows done
    for i in $(seq 1200); do
        ! grep -qa "\[$1/4\] \(pixels\|frame\)" drawn || return 0
        kill -0 $terminal 2>/dev/null || return 1
        sleep 0.05
    done
    return 1
}
bench run frames.yaml --layer s --device emu -o whole --no-report >log 2>&1 || { tail -n 5 log >&2; fail 'left alone'; }
script -qfec "echo \$\$ >pid; exec '$BENCH' run frames.yaml --layer s --device emu -o out --no-report" drawn </dev/null >/dev/null 2>&1 &
terminal=$!
until_frames 1 || fail "the second row: $(tail -n 2 drawn)"
pid=$(cat pid)
hits=0
for child in $(cat "/proc/$pid/task/$pid/children"); do
    if grep -qa worker "/proc/$child/cmdline"; then kill -KILL "$child" && hits=$((hits + 1)); fi
done
[ $hits = 1 ] || fail "$hits workers"
until_frames 2 || fail "the row after that of a worker that was killed: $(tail -n 2 drawn)"
kill -INT "$pid"
status=0
wait $terminal || status=$?
[ $status = 130 ] || { tail -n 3 drawn >&2; fail "exit status $status instead of 130"; }
bench export -o out --format csv | csv_columns status reason | grep '^planned' >dead || fail "no row waits: $(rows out)"
# pixels: its input is drawn before a frame; verify: its output is compared behind it
grep -qE "during '(frame [0-9]*/80|pixels|verify)'.*signal 9" dead || fail "where it was killed: $(cat dead)"
status=0
bench run frames.yaml --layer s --device emu -o out --no-report --resume >log 2>&1 || status=$?
[ $status = 0 ] || { tail -n 5 log >&2; fail "exit status $status on resume"; }
grep -q ': 1 row kept, 0 repeated .*, 3 unfinished or not started' log || fail "resume: $(grep resume log)"
[ "$(bench list runs -o out | wc -l)" = 1 ] || fail "more than one run: $(bench list runs -o out)"
rows whole | cut -f 1 >whole.ids; rows out | cut -f 1 | diff whole.ids - >&2 || fail 'rows lost or doubled'
rows whole | grep '	ok	' >whole.ok; rows out | grep '	ok	' | comm -23 - whole.ok >other
[ ! -s other ] || { cat other >&2; fail 'another result'; }
