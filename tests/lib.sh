# Sourced before every cli and fault case: the functions that cases use. A case runs in a scratch folder of its own, with
# `bench` on PATH, $TOP the source tree, HOME inside the scratch folder.

# `${LONG:+words}` are there when the case has time for all of its work (tests/run --long), `${SHORT:+words}` when it has not.
LONG=${LONG:-} SHORT=1
[ -z "$LONG" ] || SHORT=

# Fails the case, saying why.
fail() { echo "fail: $*" >&2; exit 1; }
# Skips the case, saying why.
skip() { echo "$*" >&2; exit 77; }
# Skips unless this machine has: nvrtc, gnuplot, gpu, nonroot, sqlite3 ...; terminal: `script`, and a pseudo-terminal for it, which a bare
# container may lack; built/PROGRAM: what make test builds beside bench, not older than it.
need() {
    case $1 in
    nvrtc)
        for need_nvrtc in "$TOP"/.deps/nvidia/*/lib/libnvrtc.so* /usr/local/cuda/lib64/libnvrtc.so*; do
            [ ! -e "$need_nvrtc" ] || return 0
        done
        skip 'no NVRTC here: sh ci/setup fetches it' ;;
    gpu) nvidia-smi -L 2>/dev/null | grep -q '^GPU' || skip 'no GPU here' ;;
    no-gpu) ! nvidia-smi -L 2>/dev/null | grep -q '^GPU' || skip 'this machine has a GPU' ;;
    built/*)
        [ -x "$BUILD/${1#built/}" ] || skip "$1 is not built: make test builds it"
        [ -z "$(find "$BUILD/libbench.a" -newer "$BUILD/${1#built/}")" ] || skip "$1 is older than this bench: make test builds it again" ;;
    terminal)
        need script
        script -qec true /dev/null </dev/null >/dev/null 2>&1 || skip 'no pseudo-terminal can be made here' ;;
    nonroot) [ "$(id -u)" != 0 ] || skip 'root may do everything' ;;
    *) command -v "$1" >/dev/null 2>&1 || skip "no $1 here" ;;
    esac
}
# Runs a command and fails unless it exits with the status.
expect_exit() { # STATUS COMMAND...
    expect_wanted=$1; shift
    expect_got=0
    "$@" || expect_got=$?
    [ "$expect_got" = "$expect_wanted" ] || fail "exit status $expect_got instead of $expect_wanted: $*"
}
# Runs a command with a limit of CPU seconds, which the load of the machine does not change. The runner ends one that
# waits for ever.
limited() { # SECONDS COMMAND...
    (ulimit -t $(($1 * ${SLOWER:-1})) && shift && exec "$@")
}
# Runs a command until it succeeds, five times a second; fails if it has not after so many seconds.
until_true() { # SECONDS COMMAND...
    until_turns=$(($1 * 5)); shift
    until "$@"; do
        [ $((until_turns -= 1)) -gt 0 ] || return 1
        sleep 0.2
    done
}
# Sets $cpu to the hundredths of a second of CPU time that the case's commands have used so far. Not for $(...), whose shell has used none.
cpu_time() {
    times >.times
    cpu=$(awk 'NR == 2 { gsub(/[ms]/, " "); print int(($1 * 60 + $2 + $3 * 60 + $4) * 100) }' .times)
}
# A number from 0 to BELOW - 1, the next of a repeatable series; SEED=N picks another series.
random_state=${SEED:-1}
random_below() { # BELOW -> $random
    random_state=$(((random_state * 1103515245 + 12345) % 2147483648))
    random=$((random_state / 65536))
    [ "$1" -le 32768 ] || { # one draw has 15 bits
        random_high=$random; random_below 32768; random=$((random_high * 32768 + random)); }
    random=$((random % $1))
}
# Starts a command in a process group of its own and kills the whole group with SIGKILL after some milliseconds, as a power cut would.
# Sets $killed to 1, or to 0 when the command had already ended; then $ended is its exit status.
kill_after() { # MILLISECONDS COMMAND...
    kill_ms=$1; shift
    setsid "$@" &
    kill_pid=$!
    sleep "$(awk -v ms="$kill_ms" 'BEGIN { printf "%.3f", ms / 1000 }')"
    killed=0
    if kill -0 "$kill_pid" 2>/dev/null; then
        kill -s KILL -- "-$kill_pid" 2>/dev/null && killed=1
    fi
    ended=0
    wait "$kill_pid" 2>/dev/null || ended=$?
    [ "$ended" = 137 ] || killed=0
}
# Runs a command that must refuse: this exit status, nothing on stdout, one line of error and at most one `hint:` line on stderr. The two lines
# go to stdout, for the case's expectation.
refused() { # STATUS COMMAND...
    refused_wanted=$1; shift
    refused_got=0
    "$@" >.refused.out 2>.refused.err || refused_got=$?
    [ "$refused_got" = "$refused_wanted" ] || { cat .refused.err >&2; fail "exit status $refused_got instead of $refused_wanted: $*"; }
    [ ! -s .refused.out ] || { head -n 5 .refused.out >&2; fail "something on stdout: $*"; }
    [ -s .refused.err ] || fail "not a word: $*"
    [ "$(grep -vc '^hint: ' .refused.err)" = 1 ] && [ "$(wc -l <.refused.err)" -le 2 ] || { cat .refused.err >&2; fail "not one error line and one hint: $*"; }
    cat .refused.err
}
# Makes driver/libcuda.so.1, which has two GPUs and runs nothing. Skips without cuda.h.
fake_driver() {
    include=$(dirname "$(find -L "$TOP/.deps" /usr/local/cuda/include -name cuda.h 2>/dev/null | head -1)")
    [ -f "$include/cuda.h" ] || skip 'no cuda.h'
    mkdir driver
    export BENCH_CACHE=$PWD/cache # NVRTC compiles beside the driver, whichever test ran before
    ${CC:-cc} -shared -fPIC -D_GNU_SOURCE -I"$TOP/harness" -isystem "$include" -o driver/libcuda.so.1 \
        "$TOP/tests/fake/cuda.c" "$TOP/tests/fake/cuda_rest.c"
}
# Prints the named columns of a CSV on stdin, a tab between them; quoted fields may hold commas and doubled quotes.
csv_columns() { # NAME...
    awk -v names="$*" '
        function split_line(line,    n, c, quoted, field, i) {
            n = 0; field = ""; quoted = 0
            for (i = 1; i <= length(line); i++) {
                c = substr(line, i, 1)
                if (quoted && c == "\"" && substr(line, i + 1, 1) == "\"") { field = field c; i++ }
                else if (c == "\"") quoted = !quoted
                else if (c == "," && !quoted) { cell[++n] = field; field = "" }
                else field = field c
            }
            cell[++n] = field
        }
        { sub(/\r$/, ""); split_line($0) }
        NR == 1 {
            wanted = split(names, name, " ")
            for (k = 1; k <= wanted; k++) {
                for (i in cell) if (cell[i] == name[k]) at[k] = i
                if (!(k in at)) { print "no column " name[k] > "/dev/stderr"; exit 1 }
            }
            next
        }
        { for (k = 1; k <= wanted; k++) printf "%s%s", cell[at[k]], k < wanted ? "\t" : "\n" }'
}
