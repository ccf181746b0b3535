# kill -9 at random moments, then --resume: no row is lost or doubled, and the end is the same as of a run that was left alone.
need nvrtc
scenario=$TOP/scenarios/smoke.yaml
bench run "$scenario" --device emu -o whole --no-report >/dev/null 2>&1 || fail 'the run that is left alone fails'
rows() { bench export -o "$1" --format csv >"$1.csv" && csv_columns id step status <"$1.csv" | sort; }
rows whole >whole.rows
[ -s whole.rows ] || fail 'no rows'
kills=0
for round in 1 2 ${LONG:+3 4 5 6}; do
    rm -rf out
    tries=0 within=1500
    while :; do
        random_below $within # ms
        within=$((within * 6 / 5)) # a slow or busy machine gets through too
        # A cache of its own makes the first tries long enough to be hit while compiling too.
        kill_after "$random" env BENCH_CACHE="$PWD/cache$round" bench run "$scenario" --device emu -o out --no-report --resume >log 2>&1
        tries=$((tries + 1))
        if [ "$killed" = 0 ]; then
            [ "$ended" = 0 ] || { cat log >&2; fail "round $round, try $tries: exit status $ended after a kill"; }
            break
        fi
        kills=$((kills + 1))
        [ "$tries" -lt 40 ] || fail 'it never gets through'
    done
    rows out >out.rows
    cmp -s whole.rows out.rows || { diff whole.rows out.rows >&2; fail "round $round: rows lost, doubled or changed after $tries tries"; }
done
[ "$kills" -gt 2 ] || fail "only $kills kills hit: the moments are wrong"
echo "$kills kills"
