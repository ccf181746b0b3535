# A worker that is killed from outside costs its own row at most, or ends the run with the reason; --resume goes on, no row is lost or doubled.
need nvrtc
bench run "$TOP/scenarios/smoke.yaml" --device emu -o out --no-report >log 2>&1 &
pid=$!
hits=0
tries=0
# The first worker only looks at the device; the run has begun when it says how many cases there are.
until grep -qs ' cases' log || [ $((tries += 1)) -gt 300 ]; do sleep 0.02; done
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    sleep 0.05
    for child in $(cat "/proc/$pid/task/$pid/children" 2>/dev/null); do
        if [ $hits = 0 ] && grep -qa worker "/proc/$child/cmdline" 2>/dev/null; then kill -KILL "$child" && hits=1; fi
    done
done
status=0
wait $pid || status=$?
[ $hits = 1 ] || skip 'the run was over before a worker could be hit'
case $status in 0 | 4) ;; 1) grep -q 'killed by signal 9' log || fail "exit status 1 without a reason: $(tail -n 2 log)" ;; *) tail -n 5 log >&2; fail "exit status $status" ;; esac
# --resume goes on from there; a row whose process was killed may stay crashed, with its reason.
status=0
bench run "$TOP/scenarios/smoke.yaml" --device emu -o out --no-report --resume >log 2>&1 || status=$?
case $status in 0) ;; 4) grep -qi 'killed by signal 9' log || { tail -n 20 log >&2; fail 'no reason in the table'; } ;; *) tail -n 5 log >&2; fail "exit status $status on resume" ;; esac
bench run "$TOP/scenarios/smoke.yaml" --device emu -o fresh --no-report >/dev/null 2>&1 || fail 'a fresh run fails'
ids() { bench export -o "$1" --format csv | csv_columns id | sort -u; }
ids out >out.ids; ids fresh >fresh.ids
cmp -s out.ids fresh.ids || { diff fresh.ids out.ids >&2; fail 'rows are missing or too many'; }
