# kill -9 at random moments of a run with a network and a sequence, of a search and of a sequence alone: each goes on to the same rows, and what it left behind is shown.
need nvrtc
cat >net.yaml <<X
scenario: net
layers:
  a: {op: conv2d, n: 1, c: 8, h: 44, w: 44, k: 8, kernel: 3, pad: 1, epilogue: [bias, relu]}
  b: {op: conv2d, n: 1, c: 8, h: 44, w: 44, k: 8, kernel: 3, pad: 1, epilogue: [bias]}
network: {order: [a, {repeat: 6, of: [b]}], launch: [stream, graph]}
sequences: {s: {of: [a, b], frames: 24, changes: {pattern: box, density: 0.1}, bound: 0.1}}
variants: [conv2d/naive, conv2d/reg_tiled, {conv2d/tiled_halo: {BLOCK: [8, 16], CC: [2, 4], KPT: 4}}]
X
rows() { bench export -o "$1" --format csv | csv_columns id status check | sort; }
# What an interrupted run left is explained and shown like any other.
shown() {
    for verb in 'show' 'report' 'report --to page.html' 'export --format json --to x.json' 'list runs'; do
        # shellcheck disable=SC2086
        bench $verb -o out >shown 2>&1 || fail "$1: bench $verb: $(tail -n 2 shown)"
    done
    row=$(bench export -o out --format csv | csv_columns id status | awk -F '\t' '$2 == "ok" { print $1; exit }')
    [ -z "$row" ] || bench why "$row" out/bench.db >shown 2>&1 || fail "$1: bench why $row: $(tail -n 2 shown)"
}
go_on() { # NAME COMMAND...: to its end through kills
    name=$1; shift
    "$@" -o whole >log 2>&1 || fail "$name, left alone: $(tail -n 2 log)"
    kills=0 tries=0 within=500
    while :; do
        random_below $within # ms
        within=$((within * 6 / 5)) # a slow or busy machine gets through too
        kill_after "$random" "$@" -o out --resume >log 2>&1
        tries=$((tries + 1))
        [ "$killed" = 1 ] || break
        kills=$((kills + 1))
        [ -n "${SHORT:+x}" ] && [ $kills -gt 2 ] || [ ! -f out/bench.db ] || [ "$(bench list runs -o out 2>/dev/null | wc -l)" = 0 ] || shown "$name"
        [ "$tries" -lt 40 ] || fail "$name: it never gets through"
    done
    [ "$ended" = 0 ] || { cat log >&2; fail "$name, try $tries: exit status $ended after a kill"; }
    [ "$(bench list runs -o out | wc -l)" = 1 ] || fail "$name: more than one run: $(bench list runs -o out)"
    rows whole >whole.rows; rows out >out.rows
    cmp -s whole.rows out.rows || { diff whole.rows out.rows >&2; fail "$name: rows lost, doubled or changed after $tries tries"; }
    echo "$name: $kills kills"
    all=$((${all:-0} + kills))
    rm -rf whole out
}
go_on network bench run net.yaml --device emu --no-report
go_on tune bench tune net.yaml --device emu --no-time --only tiled_halo --layer a
go_on sequence bench run net.yaml --device emu --no-report --layer s
[ "$all" -gt 2 ] || fail "only $all kills hit: the moments are wrong"
