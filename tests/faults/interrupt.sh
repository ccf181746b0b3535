# Ctrl-C: exit 130, what was stored stays, --resume goes on; no worker is left behind.
need nvrtc
bench run "$TOP/scenarios/edsr.yaml" --device emu -o out --no-report >log 2>&1 &
pid=$!
sleep 1.5
kill -INT $pid
status=0
wait $pid || status=$?
[ $status = 130 ] || { tail -n 3 log >&2; fail "exit status $status instead of 130"; }
grep -q -- '--resume' log || fail 'it does not say how to go on'
sleep 0.5
if ps -eo pid,args 2>/dev/null | grep -v grep | grep -F "$PWD" | grep -q worker; then fail 'a worker is left behind'; fi
bench history -o out | grep -q interrupted || fail 'history does not know'
