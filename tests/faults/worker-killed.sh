# A worker that is killed from outside costs its own row at most; the run goes on and says so.
need nvrtc
bench run "$TOP/scenarios/smoke.yaml" --device emu -o out --no-report >log 2>&1 &
pid=$!
hits=0
tries=0
# The first worker only looks at the device; the run has begun when it says how many cases there are.
until grep -q ' cases' log || [ $((tries += 1)) -gt 300 ]; do sleep 0.02; done
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    sleep 0.05
    for child in $(cat "/proc/$pid/task/$pid/children" 2>/dev/null); do
        if [ $hits = 0 ] && grep -qa worker "/proc/$child/cmdline" 2>/dev/null; then kill -KILL "$child" && hits=1; fi
    done
done
status=0
wait $pid || status=$?
[ $hits = 1 ] || skip 'the run was over before a worker could be hit'
case $status in 0 | 4) ;; *) tail -n 5 log >&2; fail "exit status $status" ;; esac
bench export -o out --format csv | awk -F, 'NR > 1' | grep -q . || fail 'no rows'
bench run "$TOP/scenarios/smoke.yaml" --device emu -o out --no-report --resume >log 2>&1 || { tail -n 5 log >&2; fail 'resume does not heal it'; }
