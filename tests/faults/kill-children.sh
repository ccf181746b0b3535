# kill -9 of bench ends what a reference in Python started, too; and so does the end of a run that leaves something behind.
need nvrtc
cp -r "$TOP/tests/cli/ten-ops/." . && python3 make.py
cat >python <<'X'
#!/bin/sh
sleep 100000 &
echo $! >"$STARTED.part" && mv "$STARTED.part" "$STARTED"
[ -n "${LEAVES:-}" ] || wait
exit 1
X
chmod +x python
export BENCH_PYTHON="$PWD/python" STARTED="$PWD/started" BENCH_CACHE="$PWD/cache"
gone() { # WHEN
    looks=0
    while kill -0 "$(cat started)" 2>/dev/null && ! grep -q '^State:	Z' "/proc/$(cat started)/status" 2>/dev/null; do
        [ $((looks += 1)) -le 600 ] || { kill -KILL "$(cat started)"; fail "$1: what the reference started lives on"; }
        sleep 0.1
    done
}
bench try k/gelu.cu --ops ops/gelu.yaml --device emu -o t >log 2>&1 &
pid=$!
until [ -s started ]; do kill -0 $pid 2>/dev/null || { cat log >&2; fail 'bench ended before its reference began'; }; sleep 0.1; done
kill -KILL $pid
wait $pid || :
gone 'bench is killed'
rm started
LEAVES=1 bench try k/gelu.cu --ops ops/gelu.yaml --device emu -o t >log 2>&1 && fail 'a reference that failed is no error'
[ -s started ] || { cat log >&2; fail 'the reference did not begin'; }
gone 'bench has ended'
