# A worker that is killed from outside is no verdict on its kernel: exit status 5 with the reason; --resume tries it again, no row is lost or doubled.
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
# Nothing is known of the kernel: no verdict, the row waits with its reason, or the run ends with it.
case $status in 0) ;; 5) grep -q 'killed by signal 9' log || fail "exit status 5 without a reason: $(tail -n 2 log)" ;; *) tail -n 5 log >&2; fail "exit status $status" ;; esac
! bench export -o out --format csv | csv_columns status | grep -qE 'crashed|hung|broken' || fail 'a verdict on a kernel whose process was killed'
status=0
bench run "$TOP/scenarios/smoke.yaml" --device emu -o out --no-report --resume >log 2>&1 || status=$?
[ $status = 0 ] || { tail -n 20 log >&2; fail "exit status $status on resume"; }
bench run "$TOP/scenarios/smoke.yaml" --device emu -o fresh --no-report >/dev/null 2>&1 || fail 'a fresh run fails'
ids() { bench export -o "$1" --format csv | csv_columns id | sort -u; }
ids out >out.ids; ids fresh >fresh.ids
cmp -s out.ids fresh.ids || { diff fresh.ids out.ids >&2; fail 'rows are missing or too many'; }
# The same at a known place: the process is killed while the row runs.
need gcc
mkdir my
cat >my/victim.c <<'X'
#include "foreign.h"
#include <signal.h>
#include <unistd.h>
int victim(struct bench_call *call)
{
    if (access("THE_FILE", F_OK) == 0)
        raise(SIGKILL);
    const float *x = call->tensors[0].data;
    float *y = (float *)call->tensors[call->tensor_count - 1].data;
    for (int i = 0; i < 60; i++)
        y[i % 20 * 3 + i / 20] = x[i];
    return 0;
}
X
sed -i "s|THE_FILE|$PWD/kill|" my/victim.c
gcc -shared -fPIC -O1 -I "$TOP/harness/op" -o my/victim.so my/victim.c
cat >my/victim.yaml <<'X'
op: layout
what: a layout change whose process is killed when a file is there
source: victim.so
on: [emu]
layout: {input: NCHW, output: NHWC}
dtype: {input: f32, output: same}
steps:
  - call: victim
X
printf 'scenario: v\nlayers:\n  a: {op: layout, n: 1, c: 3, h: 4, w: 5, to: NHWC, layout: NCHW, dtype: f32}\nvariants: [my/victim]\n' >v.yaml
: >kill
status=0
bench run v.yaml -d emu -V my=my -o v --no-report >log 2>&1 || status=$?
[ $status = 5 ] || { tail -n 20 log >&2; fail "exit status $status when the process of a row is killed"; }
grep -q 'killed by signal 9' log || fail 'no reason is shown'
rm kill
bench run v.yaml -d emu -V my=my -o v --no-report --resume >log 2>&1 || { tail -n 20 log >&2; fail 'the row is not tried again'; }
bench export -o v --format csv | csv_columns id status | grep -q 'victim.*ok' || fail 'the kernel was not verified then'
