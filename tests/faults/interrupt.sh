# Ctrl-C: exit 130, what was stored stays, --resume goes on; no worker is left behind.
need nvrtc
bench run "$TOP/scenarios/edsr.yaml" --device emu -o out --no-report >log 2>&1 &
pid=$!
sleep 1.5
[ -n "$(cat "/proc/$pid/task/$pid/children")" ] || fail 'no worker runs: the moment is wrong'
kill -INT $pid
status=0
wait $pid || status=$?
[ $status = 130 ] || { tail -n 3 log >&2; fail "exit status $status instead of 130"; }
grep -q -- '--resume' log || fail 'it does not say how to go on'
sleep 0.5
here=$(pwd -P)
for process in /proc/[0-9]*; do # workers begin in the folder of their run
    [ "$(readlink "$process/cwd" 2>/dev/null)" != "$here" ] || ! grep -qa worker "$process/cmdline" || fail 'a worker is left behind'
done
bench list runs -o out | grep -q interrupted || fail 'history does not know'
bench show -o out >log || fail 'show of an interrupted run'
grep -q '^[0-9]* of [0-9]* rows: .*, the run has not ended' log || fail "show does not say so: $(tail -n 1 log)"
