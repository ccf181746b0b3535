# No room for nvcc's files is no verdict on a kernel: exit status 5 with the folder's name, no row broken, and --resume runs them all.
need nvrtc
need nvcc
[ "$(id -u)" = 0 ] || skip 'needs root for a small file system'
mkdir small
export BENCH_CACHE=$PWD/cache
mount -t tmpfs -o size=8k tmpfs small 2>/dev/null || skip 'no tmpfs can be mounted here'
trap 'umount small 2>/dev/null || :' EXIT
cat >s.yaml <<'X'
scenario: s
layers:
  a: {op: conv2d, n: 1, c: 4, k: 4, h: 9, w: 11, kernel: 3, pad: 1, dtype: f32, layout: NCHW}
variants: [conv2d/naive]
X
status=0
TMPDIR=$PWD/small bench run s.yaml -d emu --compiler nvcc -o out --no-report >log 2>&1 || status=$?
[ $status = 5 ] || { tail -n 5 log >&2; fail "exit status $status with a full TMPDIR"; }
grep -q "$PWD/small" log || { tail -n 5 log >&2; fail 'it does not say where'; }
! bench export -o out --format csv | csv_columns status | grep -q broken || fail 'a kernel is called broken'
umount small
status=0
bench run s.yaml -d emu --compiler nvcc -o out --no-report --resume >log 2>&1 || status=$?
[ $status = 0 ] || { tail -n 5 log >&2; fail "exit status $status on resume"; }
bench export -o out --format csv | csv_columns status | grep -v 'ok\|skipped' >&2 && fail 'not all rows are verified'
# A shell's limit on file sizes is told as what it is.
status=0
(ulimit -f 20; bench run s.yaml -d emu -o limited --no-report >log 2>&1) || status=$?
[ $status = 5 ] && grep -qi 'too large\|full\|failed' log || { tail -n 3 log >&2; fail "exit status $status with ulimit -f"; }
