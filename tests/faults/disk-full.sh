# No room for the database: one clear error, no crash, and what was there stays readable. The hint names a way on that the command has.
need nvrtc
[ "$(id -u)" = 0 ] || skip 'needs root for a small file system'
mkdir small
mount -t tmpfs -o size=2000k tmpfs small 2>/dev/null || skip 'no tmpfs can be mounted here'
trap 'umount small' EXIT
# full COMMAND ...: fails because the disk is full; its output is in log.
full() {
    status=0
    "$@" >log 2>&1 || status=$?
    case $status in 1 | 2 | 5) ;; *) tail -n 5 log >&2; fail "exit status $status on a full disk: $*" ;; esac
    grep -qiE 'full|no space' log || { tail -n 5 log >&2; fail "it does not say that the disk is full: $*"; }
}
# leave KIB: so much of the disk is free.
leave() {
    rm -f small/rest
    cat /dev/zero >small/rest 2>/dev/null || :
    truncate -s "-$1K" small/rest
}
leave 500
full bench run "$TOP/scenarios/edsr.yaml" --only naive --device emu -o small/out --no-report
grep -q '^hint: .*the same command with --resume' log || fail "no way on: $(cat log)"
rm -rf small/*
# A verb without --resume does not name it.
bench run smoke -d emu --layer to_nhwc -o small/out --no-report -q >log 2>&1 || fail "$(tail -n 3 log)"
for i in 1 2; do bench run smoke -d emu -o part$i --layer shuffle,to_nhwc --shard $i/2 --no-report -q >log 2>&1 || fail "$(tail -n 3 log)"; done
for how in '--join part1 part2' part1/bench.db; do
    leave 8
    full bench import $how -o small/out
    ! grep -qe '--resume\|bench run' log || fail "import $how names an option that it does not have: $(cat log)"
    grep -q '^hint: .*try again' log || fail "import $how gives no way on: $(cat log)"
done
rm small/rest
bench list runs -o small/out >log 2>&1 || fail "what was stored before: $(cat log)"
