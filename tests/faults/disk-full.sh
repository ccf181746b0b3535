# No room for the database: one clear error, no crash, and what was there stays readable.
need nvrtc
[ "$(id -u)" = 0 ] || skip 'needs root for a small file system'
mkdir small
mount -t tmpfs -o size=200k tmpfs small 2>/dev/null || skip 'no tmpfs can be mounted here'
trap 'umount small' EXIT
status=0
bench run "$TOP/scenarios/edsr.yaml" --device emu -o small/out --no-report >log 2>&1 || status=$?
case $status in 1 | 2 | 5) ;; *) tail -n 5 log >&2; fail "exit status $status on a full disk" ;; esac
grep -qiE 'full|no space' log || { tail -n 5 log >&2; fail 'it does not say that the disk is full'; }
