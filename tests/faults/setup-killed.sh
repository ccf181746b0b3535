# Workers that are killed from outside before they took up anything (out of memory, a person) cost nothing: others are started.
need nvrtc
bench run "$TOP/scenarios/smoke.yaml" --device emu -o whole --no-report >/dev/null 2>&1 || fail 'the run that is left alone fails'
# Kills workers as soon as they exist: the first two, which query the device; then, once the run has its plan, all present ones (the third,
# which stays and is being set up) and new ones (those that compile ahead, and the next), until the run reports one.
strike() { # PID
    before=2 seen=' ' planned=
    while kill -0 "$1" 2>/dev/null && ! grep -qs 'started again' log; do
        if [ ! "$planned" ] && grep -qs ' cases' log; then planned=1 seen=' '; fi
        read -r children <"/proc/$1/task/$1/children" || children=${children:-}
        for child in $children; do
            case $seen in *" $child "*) continue ;; esac
            seen="$seen$child "
            if [ "$before" -gt 0 ]; then before=$((before - 1)); elif [ ! "$planned" ] || grep -qs 'started again' log; then continue; fi
            kill -KILL "$child" 2>/dev/null || : # it has ended by itself
        done
    done 2>/dev/null
}
bench run "$TOP/scenarios/smoke.yaml" --device emu -o out --no-report >log 2>&1 &
pid=$!
strike $pid
status=0
wait $pid || status=$?
[ $status = 0 ] || { tail -n 5 log >&2; fail "exit status $status"; }
grep -q 'a worker died during its start: killed by signal 9 .*; started again' log || skip "no worker was hit while it was set up: $(head -n 3 log)"
rows() { bench export -o "$1" --format csv | csv_columns id status | sort; }
rows whole >whole.rows; rows out >out.rows
cmp -s whole.rows out.rows || { diff whole.rows out.rows >&2; fail 'rows are missing, too many or crashed'; }
