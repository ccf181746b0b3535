# A run cut over a real Slurm of four nodes, while kill -9 ends workers, runs, tasks, slurmd, the waiting parent and the join at random:
# every row is there once, with the status and key of an undisturbed run. KILLS=200 SCENARIO=sparsity_small SHARDS=16: the figure of
# docs/FLEET.md.
need nvrtc; need pgrep
. "$TOP/tests/slurm.sh"
slurm_start "$PWD/slurm" 4
kills=${KILLS:-8} shards=${SHARDS:-6}
if [ -n "${SCENARIO:-}" ]; then set -- "$SCENARIO"; else set -- sparsity_small --layer batch --only naive,sparse_naive,sparse_tile; fi
rows() { bench export -o "$1" --format csv | csv_columns id status key | sort; }
bench run "$@" -d emu --seed 5 -o whole --no-report >log 2>&1 || fail "$(tail -n 5 log)"
rows whole >wanted
# Processes whose program is that file and whose words match.
processes() { # FILE WORDS
    for p in $(pgrep -f "$2"); do [ "$(readlink "/proc/$p/exe")" = "$1" ] && echo "$p"; done
    return 0
}
hit() { # KIND PID
    kill -s KILL "$2" 2>/dev/null || return 0
    echo "$1" >>hits
}
one_of() { random_below $#; shift "$random"; echo "$1"; }
: >hits
job=0
while [ "$(wc -l <hits)" -lt "$kills" ]; do
    job=$((job + 1)) turns=0
    out=$PWD/out$job
    bench run "$@" -d emu --seed 5 --on "slurm:shards=$shards,every=1,retries=1000" -o "$out" >log 2>&1 || fail "$(cat log)"
    folder=$(echo "$out"/jobs/*)
    parent=
    while :; do
        if [ -z "$parent" ] || ! kill -0 "$parent" 2>/dev/null; then
            [ -z "$parent" ] || { ended=0; wait "$parent" || ended=$?; [ $ended != 0 ] || break; [ $ended = 137 ] || [ $ended = 5 ] || fail "exit $ended: $(tail -n 20 log)"; }
            bench jobs wait -o "$out" >>log 2>&1 &
            parent=$!
        fi
        random_below 10
        sleep "0.$random"
        turns=$((turns + 1))
        [ $turns -lt 3000 ] || fail "no end: $(tail -n 5 log; squeue; bench jobs show -o "$out")"
        [ "$(wc -l <hits)" -lt "$kills" ] || continue
        random_below 6
        kind=$random
        case $kind in
        0) name=worker; set_of=$(processes "$folder/bin/bench" 'bench worker') ;;
        1) name=run; set_of=$(processes "$folder/bin/bench" ' run .*--shard') ;;
        2) name=task; set_of=$(processes "$folder/bin/bench" 'jobs task') ;;
        3) name=parent; set_of=$parent ;;
        4) name=join # it is short
            for i in $(seq 50); do
                set_of=$(processes "$(readlink -f "$(command -v bench)")" "import --join -o $out")
                [ -z "$set_of" ] && kill -0 "$parent" 2>/dev/null || break
                sleep 0.02
            done ;;
        5) name=slurmd; set_of= ;;
        esac
        if [ $name = slurmd ]; then
            random_below 4; node=n$((random + 1))
            hit slurmd "$(cat "$slurm_dir/$node.pid")"
            slurm_node $node
        elif [ -n "$set_of" ]; then
            hit $name "$(one_of $set_of)"
        fi
    done
    rows "$out" >got
    cmp -s wanted got || { diff wanted got >&2; fail "job $job: rows lost or doubled"; }
    [ "$(bench list runs -o "$out" | wc -l)" = 1 ] || fail "$(bench list runs -o "$out")"
done
echo "$(wc -l <hits) kills in $job jobs of $(wc -l <wanted) rows: $(sort hits | uniq -c | tr '\n' ' ')"
