# Ctrl-C, or a terminal that goes away: exit 130, what was stored stays, --resume goes on; no worker is left behind. Under nohup a run goes on.
need nvrtc
child() { kill -0 $pid 2>/dev/null && [ -n "$(cat "/proc/$pid/task/$pid/children" 2>/dev/null)" ]; }
begun() { grep -qs ' cases' log && child; }
none_left() { # workers begin in the folder of their run
    for process in /proc/[0-9]*; do
        [ "$(readlink "$process/cwd" 2>/dev/null)" != "$here" ] || ! grep -qsa worker "$process/cmdline" || return 1
    done
}
here=$(pwd -P)
ends_by() { # SIGNAL
    rm -rf out
    env --default-signal=HUP bench run "$TOP/scenarios/edsr.yaml" --device emu -o out --no-report >log 2>&1 & # the tests, too, may run under nohup
    pid=$!
    until_true 60 begun || fail "no worker runs: $(tail -n 3 log)"
    kill -$1 $pid
    status=0
    wait $pid || status=$?
    [ $status = 130 ] || { tail -n 3 log >&2; fail "SIG$1: exit status $status instead of 130"; }
    grep -q -- '--resume' log || fail "SIG$1: it does not say how to go on"
    until_true 20 none_left || fail "SIG$1: a worker is left behind"
    bench list runs -o out | grep -q interrupted || fail "SIG$1: history does not know"
}
ends_by HUP
nohup bench run smoke --device emu -o kept --no-report >log 2>&1 & # some seconds, so that it is there when its worker is
pid=$!
until child || ! kill -0 $pid 2>/dev/null; do sleep 0.02; done
kill -HUP $pid
wait $pid || fail "nohup: $(tail -n 3 log)"
ends_by INT
bench show -o out >log || fail 'show of an interrupted run'
grep -q '^[0-9]* of [0-9]* rows: .*, the run has not ended' log || fail "show does not say so: $(tail -n 1 log)"
# A reference in Python ends with the run, and with it whatever it started; it has a time limit of its own.
mkdir -p slow; cd slow
printf '#!/bin/sh\nsleep 300 &\necho $$ $! >"%s/pids"\nwait\n' "$PWD" >python; chmod +x python
cp "$TOP/tests/cli/own-op/norm/layernorm.yaml" "$TOP/tests/cli/own-op/norm/k.cu" .
sed -i 's/^reference: .*/reference: {python: "ln.py:ln"}/' layernorm.yaml
echo 'def ln(input): return input' >ln.py
gone() { # the processes of `pids`, however they ended, within 5 s
    for i in 1 2 3 4 5 6 7 8 9 10; do
        left=
        for process in $(cat pids); do ! grep -q '^State:[[:space:]]*[RSD]' "/proc/$process/status" 2>/dev/null || left="$left $process"; done
        [ -n "$left" ] || return 0
        sleep 0.5
    done
    fail "$1: the reference still runs:$left"
}
BENCH_PYTHON=$PWD/python bench try --ops layernorm.yaml k.cu -d emu -o out >log 2>&1 &
pid=$!
while [ ! -s pids ]; do sleep 0.1; done
kill -INT $pid
status=0
wait $pid || status=$?
[ $status = 130 ] || fail "exit status $status instead of 130: $(cat log)"
gone interrupted
rm pids
expect_exit 2 env BENCH_REFERENCE_LIMIT=1 BENCH_PYTHON="$PWD/python" bench try --ops layernorm.yaml k.cu -d emu -o out >log 2>&1
grep -q 'ln.py:ln: Python did not end within 1 s' log || fail "$(cat log)"
gone late
