# If only the join of a job's parts is killed, whoever waits joins the same parts again: no row is missing, and the exit status is that of the rows.
need nvrtc; need pgrep; need python3
bench run smoke -d emu --layer to_nhwc -o out --no-report -q >log 2>&1 || fail "$(tail -n 3 log)" # makes the database
python3 -c '
import sqlite3, time
db = sqlite3.connect("out/bench.db", isolation_level=None)
db.execute("BEGIN IMMEDIATE")
print("held", flush=True)
time.sleep(600)' >held & # a join waits for it, up to 5 s
holder=$!
bench run smoke -d emu --layer conv --only naive --on local:shards=1 --wait -o out >log 2>&1 &
pid=$! join= tries=0
until join=$(pgrep -f "import --join -o .*$PWD/out" || pgrep -P $pid -f 'import --join') || [ $((tries += 1)) -gt 3000 ]; do sleep 0.02; done
[ -n "$join" ] || fail "no join: $(cat log)"
kill -s KILL $join
kill -s KILL $holder
status=0
wait $pid || status=$?
[ $status = 0 ] || fail "exit status $status: $(cat log)"
[ "$(bench export -o out --format csv | csv_columns status | grep -c ok)" -ge 1 ] && grep -q 'rows of job' log || fail "$(cat log)"
